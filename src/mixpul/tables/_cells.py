"""Values of Python, as sheets, JSON and SQLite hold them, as Arrow tables.

Such files have no types of columns, only of cells; here a column gets one that fits all its cells.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from mixpul._util.errors import TableError
from mixpul.tables._csv import CSVStyle
from mixpul.tables._numerals import PLAIN
from mixpul.tables._recognising import read_texts
from mixpul.tables.names import choose_columns
from mixpul.tables.opening import show_name

__all__ = [
    "ROWS_PER_CHUNK",
    "Chunk",
    "join_chunks",
    "join_types",
    "read_cells",
    "stream_cells",
    "stream_typed_cells",
]

ROWS_PER_CHUNK = 2**14
# Columns by name, all of the same length.
Chunk = dict[str, list[Any]]
BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
EXPECTED = {"number": "a number", "boolean": "true or false"}


def stream_cells(
    chunks: Iterable[Chunk], kinds: Mapping[str, str] | None, style: CSVStyle, name: str
) -> Iterator[Any]:
    """Yield a record batch for each chunk; without `kinds` the first one decides the types."""
    import pyarrow as pa

    schema: Any = None
    for chunk in chunks:
        if schema is None:
            columns = choose_columns(kinds, list(chunk), show_name(name))
        n_rows = len(next(iter(chunk.values()), []))
        arrays = {
            column: _make_array(chunk.get(column, [None] * n_rows), column, kinds, style, name)
            for column in columns
        }
        if schema is None:
            schema = pa.schema([(column, array.type) for column, array in arrays.items()])
        typed = [_cast(arrays[field.name], field, name) for field in schema]
        yield pa.RecordBatch.from_arrays(typed, schema=schema)


def read_cells(
    chunks: Iterable[Chunk], kinds: Mapping[str, str] | None, style: CSVStyle, name: str
) -> Any:
    """Return a table whose types fit all cells; None if there are no rows."""
    import pyarrow as pa

    if kinds is not None:
        batches = list(stream_cells(chunks, kinds, style, name))
        return pa.Table.from_batches(batches) if batches else None
    tables = list(stream_typed_cells(chunks, style, name))
    return join_chunks(tables) if tables else None


def stream_typed_cells(chunks: Iterable[Chunk], style: CSVStyle, name: str) -> Iterator[Any]:
    """Yield a table for each chunk, of types that fit its own cells."""
    import pyarrow as pa

    for chunk in chunks:
        choose_columns(None, list(chunk), show_name(name))
        arrays = {c: _make_array(cells, c, None, style, name) for c, cells in chunk.items()}
        yield pa.table(arrays)


def join_chunks(tables: list[Any]) -> Any:
    """Return the rows of all chunks as one table whose types fit all cells."""
    import pyarrow as pa

    columns = dict.fromkeys(column for table in tables for column in table.column_names)
    types = {
        column: join_types(
            {t.schema.field(column).type for t in tables if column in t.schema.names}
        )
        or pa.string()
        for column in columns
    }
    return pa.concat_tables([_widen(table, types) for table in tables])


def join_types(types: set[Any]) -> Any:
    """Return a type that holds all values of several; None if only text would."""
    import pyarrow as pa

    types = {t for t in types if not pa.types.is_null(t)}
    if len(types) <= 1:
        return types.pop() if types else pa.null()
    if all(pa.types.is_integer(t) for t in types):
        return pa.int64()
    if all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in types):
        return pa.float64()
    if all(pa.types.is_date(t) or (pa.types.is_timestamp(t) and t.tz is None) for t in types):
        return pa.timestamp("us")
    if all(pa.types.is_string(t) or pa.types.is_large_string(t) for t in types):
        return pa.large_string()
    return None


def _widen(table: Any, types: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    arrays = {}
    for column, wanted in types.items():
        if column not in table.column_names:
            arrays[column] = pa.nulls(table.num_rows, wanted)
        elif (own := table.column(column)).type == wanted:
            arrays[column] = own
        elif wanted == pa.string():
            arrays[column] = pa.array([_to_text(value) for value in own.to_pylist()], wanted)
        else:
            arrays[column] = own.cast(wanted)
    return pa.table(arrays)


def _cast(array: Any, field: Any, name: str) -> Any:
    import pyarrow as pa

    if array.type == field.type:
        return array
    if (join_types({array.type, field.type}) or pa.string()) == field.type:
        if field.type == pa.string():
            return pa.array([_to_text(value) for value in array.to_pylist()], field.type)
        return array.cast(field.type)
    raise TableError(
        f"In column {field.name!r} of {show_name(name, first=False)} values of type {array.type} "
        f"follow values of type {field.type}; give the whole column one type."
    )


def _make_array(
    cells: list[Any],
    column: str,
    kinds: Mapping[str, str] | None,
    style: CSVStyle,
    name: str,
) -> Any:
    """Return the cells of a column as an array: of their own type, or of that of the kind."""
    import pyarrow as pa

    missing = {"", *style.missing, *_list_null_words()}
    values = [None if _is_missing(cell, missing) else cell for cell in cells]
    kind = None if kinds is None else kinds[column]
    if kind is None or kind == "any":
        return _infer(values)
    if kind in EXPECTED:
        convert: Callable[[Any, str], Any] = _to_number if kind == "number" else _to_boolean
        try:
            converted = []
            for value in values:
                converted.append(None if value is None else convert(value, style.decimal))
        except (ValueError, TypeError, OverflowError) as error:
            raise TableError(
                f"In column {column!r} of {show_name(name, first=False)} {EXPECTED[kind]} was "
                f"expected, but {str(_to_text(value))[:60]!r} came; correct it, or name it among "
                "the cells that stand for a missing value."
            ) from error
        return pa.array(converted, pa.float64() if kind == "number" else pa.bool_())
    return pa.array([None if v is None else _to_text(v) for v in values], pa.string())


def _list_null_words() -> list[str]:
    from pyarrow import csv

    return list(csv.ConvertOptions().null_values)


def _is_missing(cell: Any, words: set[str]) -> bool:
    if isinstance(cell, str):
        return cell in words
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _infer(values: list[Any]) -> Any:
    import pyarrow as pa

    found = {type(value) for value in values if value is not None}
    if not found:
        return pa.nulls(len(values))
    if found == {bool}:
        return pa.array(values, pa.bool_())
    if found == {int} and all(v is None or -(2**63) <= v < 2**63 for v in values):
        return pa.array(values, pa.int64())
    if found <= {int, float, Decimal} and found != {int}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if found == {date}:
        return pa.array(values, pa.date32())
    if found <= {date, datetime}:
        times = [datetime(v.year, v.month, v.day) if type(v) is date else v for v in values]
        return pa.array(times, pa.timestamp("us"))
    if found == {timedelta}:
        return pa.array(values, pa.duration("us"))
    if found == {bytes}:
        return pa.array(values, pa.binary())
    return pa.array([None if v is None else _to_text(v) for v in values], pa.string())


def _to_number(value: Any, decimal: str) -> float:
    if isinstance(value, str):
        # As a column of a CSV file: a word for a gap is none that has to be corrected.
        numbers, is_bad = read_texts([value], PLAIN | {"decimal": decimal})
        if is_bad[0]:
            raise ValueError
        return float(numbers[0])
    if isinstance(value, int | float | Decimal):
        return float(value)
    if isinstance(value, timedelta):  # in seconds, as `TableInput` takes it
        return value.total_seconds()
    raise TypeError


def _to_boolean(value: Any, _decimal: str) -> bool:
    if isinstance(value, str):
        return BOOLEANS[value.strip().lower()] if value.strip().lower() in BOOLEANS else _refuse()
    if isinstance(value, bool) or value in (0, 1):
        return bool(value)
    raise TypeError


def _refuse() -> bool:
    raise ValueError


def _to_text(value: Any) -> str | None:
    """Return a value as a file would show it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)
