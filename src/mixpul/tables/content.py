"""The content of a row as a short text, to see whether it is still the same."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mixpul.tables._kinds import as_numbers, code_categories, normalise_category
from mixpul.tables.names import as_texts, check_present

__all__ = ["hash_cells", "hash_rows"]

# Letters first: a spreadsheet would take digits for a number and round them.
PREFIX, LENGTH = "r", 12


def hash_rows(frame: Any, kinds: Mapping[str, str]) -> list[str]:
    """Return a short hash of the content of each row, the same however the table was read.

    Parameters
    ----------
    frame : pandas.DataFrame
    kinds : mapping of column names to kinds
        The columns that count, such as `TableInput.kinds_`. Others may change.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import pandas as pd
    >>> from mixpul.tables.content import hash_rows
    >>> kinds = {"age": "number", "city": "text"}
    >>> as_numbers = pd.DataFrame({"age": [36.0, 41.0], "city": ["Oslo", None], "note": ["a", "b"]})
    >>> as_text = pd.DataFrame({"city": ["Oslo", None], "age": ["36", "41"]})
    >>> hash_rows(as_numbers, kinds) == hash_rows(as_text, kinds)
    True
    """
    names = as_texts(frame.columns)
    check_present(kinds, names, "The table")
    columns = []
    for name in sorted(kinds):
        column = frame.iloc[:, names.index(name)]
        if kinds[name] == "text":
            codes, texts = code_categories(column)
            values = [None if k < 0 else normalise_category(texts[k]) for k in codes]
        else:
            numbers = as_numbers(column, kinds[name], name)
            values = [None if np.isnan(value) else repr(float(value)) for value in numbers]
        columns.append([[name, value] for value in values])
    return [_hash(row) for row in zip(*columns, strict=True)]


def hash_cells(cells: Iterable[Any]) -> str:
    """Return a short hash of cells as text, the same after a spreadsheet has saved them.

    Spreadsheets write numbers with fewer digits, dates in another order, and lose letters that
    their encoding does not have; none of this counts.

    Examples
    --------
    >>> from mixpul.tables.content import hash_cells
    >>> hash_cells(["007", "2024-02-29", "Zürich"]) == hash_cells(["7", "29.02.2024", "Z?rich"])
    True
    >>> hash_cells(["007"]) == hash_cells(["008"])
    False
    """
    return _hash([_normalise_cell(str(cell)) for cell in cells])


def _normalise_cell(text: str) -> str:
    text = text.strip().lstrip("'")
    if re.fullmatch(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}", text):
        return " ".join(sorted(re.findall(r"\d+", text), key=int)).replace(" 0", " ").lstrip("0")
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        plain = text.encode("ascii", "ignore").decode().replace("?", "")
        return " ".join(plain.lower().split())
    # Longer ones, and fractions, may come back rounded.
    is_short = abs(number) < 1e10 and number.is_integer()
    return str(int(number)) if is_short else f"{number:.5g}"


def _hash(values: Any) -> str:
    digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()
    return PREFIX + digest[: LENGTH - len(PREFIX)]
