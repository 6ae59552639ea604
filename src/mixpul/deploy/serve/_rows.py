"""Rows in JSON: read within limits, checked cell by cell, and turned into a data frame."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["BadRequest", "Limits", "describe_request", "make_frame", "read_rows"]

# Whole numbers with more digits are no codes, and may take forever to read.
MOST_DIGITS = 18


class Limits(NamedTuple):
    """How much a request may hold.

    Attributes
    ----------
    bytes : int
        Of the whole body.
    rows : int
    cell : int
        Characters of a text.
    """

    bytes: int = 10_000_000
    rows: int = 10_000
    cell: int = 10_000


class BadRequest(ValueError):
    """A request that cannot be answered, with the status code that says so."""

    def __init__(self, sentence: str, status: int = 422) -> None:
        # Half of a character, which JSON allows, cannot be sent back.
        super().__init__(sentence.encode("utf-8", "replace").decode())
        self.status = status


# What JSON calls the values of each kind of column; null is a gap.
TYPES: dict[str, tuple[str, ...]] = {
    "number": ("number",),
    "boolean": ("boolean",),
    "date": ("string",),
    "text": ("string", "number", "boolean"),
}
EXPECTED = {
    "number": "a number or null",
    "boolean": "true, false or null",
    "date": "a date of ISO 8601 as text, such as 2024-02-29, or null",
    "text": "text or null",
}


def describe_request(plans: list[dict[str, Any]], limits: Limits) -> dict[str, Any]:
    """Return the JSON schema of a request."""
    columns = {plan["column"]: _describe_cell(plan, limits) for plan in plans}
    row = {"type": "object", "properties": columns, "required": list(columns)}
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": limits.rows}
    return {
        "type": "object",
        "properties": {"rows": rows},
        "required": ["rows"],
        "additionalProperties": False,
    }


def _describe_cell(plan: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    types = _list_types(plan)
    # No format is promised for dates: the model reads other ways to write them, and gaps, too.
    what = "date of ISO 8601" if plan["kind"] == "date" else plan["kind"]
    about = {"type": [*types, "null"], "description": f"A {what}; null if it is missing."}
    return about | ({"maxLength": limits.cell} if "string" in types else {})


def _list_types(plan: Mapping[str, Any]) -> tuple[str, ...]:
    # Cells that the table wrote in a style of its own, such as $4.50, may come as text or number.
    return ("string", "number", "boolean") if "style" in plan else TYPES[plan["kind"]]


def read_rows(body: bytes, limits: Limits) -> list[dict[str, Any]]:
    """Return the rows of a request; raise BadRequest if there are none."""
    try:
        content = json.loads(body, parse_int=_read_whole, parse_constant=_refuse_constant)
    # Decoding errors are ValueErrors; lists nested a thousand deep are a RecursionError.
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not JSON: {error}.") from error
    if not isinstance(content, dict) or content.keys() != {"rows"}:
        raise BadRequest('The body must be an object with one entry, {"rows": [...]}.')
    rows = content["rows"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadRequest('"rows" must be a list of objects, one for each row.')
    if not 1 <= len(rows) <= limits.rows:
        raise BadRequest(f'"rows" must hold 1 to {limits.rows:,} rows; got {len(rows):,}.')
    return rows


def _read_whole(text: str) -> int | float:
    return int(text) if len(text) <= MOST_DIGITS else float(text)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not in JSON; send null where a value is missing")


def make_frame(rows: list[dict[str, Any]], plans: list[dict[str, Any]], limits: Limits) -> Any:
    """Return rows as a data frame with the columns of the model; others are left out."""
    import pandas as pd

    columns = {}
    for plan in plans:
        name, kind = plan["column"], plan["kind"]
        types = _list_types(plan)
        cells = [_check_cell(row, k, name, kind, types, limits) for k, row in enumerate(rows)]
        if kind == "text":
            columns[name] = pd.Series([_write_text(cell) for cell in cells], dtype=object)
        elif types == ("number",):
            numbers = [np.nan if cell is None else float(cell) for cell in cells]
            columns[name] = pd.Series(numbers, dtype=np.float64)
        elif types == ("boolean",):
            columns[name] = pd.Series(cells, dtype="boolean")
        else:
            columns[name] = pd.Series(cells, dtype=object)
    return pd.DataFrame(columns)


def _check_cell(
    row: dict[str, Any], k: int, name: str, kind: str, types: tuple[str, ...], limits: Limits
) -> Any:
    if name not in row:
        raise BadRequest(f"Row {k} has no column {name!r}; send null where a value is missing.")
    cell = row[name]
    if cell is None:
        return None
    # In Python a bool is an int, so it is asked first.
    found = (
        "boolean" if isinstance(cell, bool)
        else "number" if isinstance(cell, int | float)
        else "string" if isinstance(cell, str)
        else "list or object"
    )  # fmt: skip
    if found not in types:
        raise BadRequest(f"Row {k}: the column {name!r} takes {EXPECTED[kind]}; got a {found}.")
    if found == "string" and len(cell) > limits.cell:
        raise BadRequest(
            f"Row {k}: the column {name!r} holds {len(cell):,} characters; {limits.cell:,} are "
            "the limit."
        )
    return cell


def _write_text(cell: Any) -> str | None:
    """Return a category as text; 7 and 7.0 are the same code, and an empty cell is a gap."""
    if cell is None or cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return str(cell)
