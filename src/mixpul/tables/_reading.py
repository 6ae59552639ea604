"""Tables in files, whole or in pieces."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from mixpul._util.errors import EmptyTable, TableError
from mixpul.tables._cells import (
    Chunk,
    join_types,
    read_cells,
    stream_cells,
    stream_typed_cells,
)
from mixpul.tables._csv import CSVStyle, read_csv, stream_csv, stream_csv_texts
from mixpul.tables._databases import read_sqlite, stream_duckdb
from mixpul.tables._excel import read_excel
from mixpul.tables._explaining import explain_errors
from mixpul.tables._json_lines import read_json_lines
from mixpul.tables.formats import find_format, split_place
from mixpul.tables.frames import from_arrow, import_tables, use_plain_types
from mixpul.tables.names import check_present, choose_columns
from mixpul.tables.opening import open_for_arrow, show_name
from mixpul.tables.parts import Part, find_partition_types, find_parts

__all__ = [
    "ROWS_PER_BATCH",
    "TYPED",
    "choose_batch_rows",
    "read_table",
    "stream_raw",
    "stream_table",
]

# At most. Threads that score small batches wait for each other at Python's lock.
ROWS_PER_BATCH = 131_072
BYTES_AT_ONCE = 2**20  # of a column of a Parquet file
# Several batches are in memory at a time, so those of wide tables have fewer rows.
CELLS_PER_BATCH, LEAST_ROWS = 2**22, 16_384
# Formats whose files say the types of their columns.
TYPED = ("Parquet", "Feather", "DuckDB")


def choose_batch_rows(n_columns: int) -> int:
    """Return how many rows of so many columns are a batch.

    A multiple of the rows that a classifier scores in one pass: `scoring` relies on it.
    """
    of_cells = CELLS_PER_BATCH // max(n_columns, 1) // LEAST_ROWS * LEAST_ROWS
    return min(ROWS_PER_BATCH, max(of_cells, LEAST_ROWS))


def read_table(
    path: str | os.PathLike | Sequence[str | os.PathLike],
    *,
    kinds: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    missing: Sequence[str] = (),
) -> Any:
    """Read a table from a CSV, Parquet, Feather, Excel, JSON Lines, SQLite or DuckDB file.

    The format follows from the suffix; CSV and JSON Lines files may also end in .gz or .zst. Where
    the suffix is unknown, the first bytes decide.

    Parameters
    ----------
    path : str, path-like, or a sequence of them
        A file; or many: a list, a folder, or a glob. Folders such as day=2026-01-01 are columns.
        '-' is standard input, as CSV; so is what comes through a named pipe. A sheet is named as
        'file.xlsx::Sheet', a table of a database as 'file.db::table', and a query as
        'file.db::SELECT ...'. A URL such as 's3://bucket/table.parquet' is opened through fsspec.
    kinds : mapping of column names to kinds, optional
        Read these columns only, in this order. Columns of a CSV file are read as what `kinds`
        says ('number', 'boolean', 'text' or 'date') rather than as what they look like, so that
        a column means the same in every file; see `TableInput.kinds_`.
    delimiter : str, optional
        What separates the cells of a CSV file; found out by default, a tab in .tsv and .tab files.
    encoding : str, optional
        Of CSV and JSON Lines files; by default UTF-8, and a guess, with a warning, if it is not.
    decimal : str, default='.'
        The decimal sign in CSV files.
    missing : sequence of str, default=()
        Cells of CSV files that stand for a missing value, besides empty ones, NA, NaN and null.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mixpul.tables import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("name;age\\nAda;36\\nAlan;?\\n")
    >>> read_table(path, missing=["?"])
       name   age
    0   Ada  36.0
    1  Alan   NaN
    """
    import_tables()
    style = CSVStyle.make(delimiter, encoding, decimal, missing)
    parts = find_parts(path)
    if len(parts) == 1 and not parts[0].columns:
        table = _read_part(parts[0].name, style, kinds)
    else:
        table = _join_parts(parts, style, kinds)
    if table is None or not table.num_rows:
        _refuse_empty(parts[0].name)
    return from_arrow(table, views=False)


def stream_table(
    path: str | os.PathLike | Sequence[str | os.PathLike],
    *,
    kinds: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    missing: Sequence[str] = (),
) -> Iterator[Any]:
    """Read a table piece by piece, so that it may be larger than memory.

    Parameters are those of `read_table`. Without `kinds` the types of a CSV file follow from its
    first megabytes, and a later cell of another type is an error.

    Yields
    ------
    pyarrow.RecordBatch

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mixpul.tables import stream_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("name,age\\nAda,36\\nAlan,41\\n")
    >>> [batch.num_rows for batch in stream_table(path, kinds={"age": "number"})]
    [2]
    """
    import_tables()
    style = CSVStyle.make(delimiter, encoding, decimal, missing)
    parts = find_parts(path)
    types = find_partition_types(parts)
    n_rows = 0
    for part in parts:
        for batch in _stream_part(part, types, style, kinds):
            n_rows += batch.num_rows
            yield batch
    if not n_rows:
        _refuse_empty(parts[0].name)


def _stream_part(
    part: Part, types: Mapping[str, Any], style: CSVStyle, kinds: Mapping[str, str] | None
) -> Iterator[Any]:
    """Yield the record batches of a file, with the columns that its folders tell."""
    name, place = split_place(part.name)
    form, compression = find_format(name)
    own = _leave_out(kinds, part.columns)
    with explain_errors(name, form):
        if form == "CSV":
            batches = stream_csv(name, compression, style, own)
        elif form in TYPED:
            batches = _stream_typed(name, place, form, own)
        else:
            chunks = _stream_chunks(name, place, form, compression, style)
            batches = stream_cells(chunks, own, style, name)
        for batch in batches:
            yield _add_columns(batch, part, types, kinds) if part.columns else batch


def stream_raw(part: Part, types: Mapping[str, Any], style: CSVStyle) -> Iterator[Any]:
    """Yield the rows of a file before what depends on all of them is decided.

    Cells of CSV files come as text. A batch of a sheet, of JSON or of SQLite has types that fit
    its own cells.
    """
    name, place = split_place(part.name)
    form, compression = find_format(name)
    with explain_errors(name, form):
        if form == "CSV":
            batches = stream_csv_texts(name, compression, style)
        elif form in TYPED:
            batches = _stream_typed(name, place, form, None)
        else:
            chunks = _stream_chunks(name, place, form, compression, style)
            batches = stream_typed_cells(chunks, style, name)
        for batch in batches:
            yield _add_columns(batch, part, types, None) if part.columns else batch


def _leave_out(
    kinds: Mapping[str, str] | None, columns: Mapping[str, Any]
) -> Mapping[str, str] | None:
    if kinds is None or not columns:
        return kinds
    own = {name: kind for name, kind in kinds.items() if name not in columns}
    # To count the rows of a file of which no column is wanted, all are read.
    return own or None


def _add_columns(
    batch: Any, part: Part, types: Mapping[str, Any], kinds: Mapping[str, str] | None
) -> Any:
    """Add what the folders of a part say; a column of the file itself comes first."""
    import pyarrow as pa

    for key, value in part.columns.items():
        if key in batch.schema.names or (kinds is not None and key not in kinds):
            continue
        values = pa.repeat(pa.scalar(value, pa.string()), batch.num_rows).cast(types[key])
        batch = batch.append_column(key, values)
    return batch if kinds is None else batch.select([str(name) for name in kinds])


def _read_part(name: str, style: CSVStyle, kinds: Mapping[str, str] | None) -> Any:
    """Return the table of one file; None if it has no rows."""
    import pyarrow as pa

    name, place = split_place(name)
    form, compression = find_format(name)
    with explain_errors(name, form):
        if form == "CSV":
            return read_csv(name, compression, style, kinds)
        if form in TYPED:
            batches = list(_stream_typed(name, place, form, kinds))
            return pa.Table.from_batches(batches) if batches else None
        chunks = _stream_chunks(name, place, form, compression, style)
        return read_cells(chunks, kinds, style, name)


def _join_parts(parts: list[Part], style: CSVStyle, kinds: Mapping[str, str] | None) -> Any:
    """Return the rows of all parts, their columns in the order of the first, of types that fit."""
    import pyarrow as pa

    types = find_partition_types(parts)
    tables: list[tuple[Part, Any]] = []
    for part in parts:
        table = _read_part(part.name, style, _leave_out(kinds, part.columns))
        if table is not None and table.num_rows:
            tables.append((part, _add_columns(table, part, types, kinds)))
    if not tables:
        return None
    first = tables[0][1].column_names
    for part, table in tables[1:]:
        check_present(first, table.column_names, show_name(part.name))
        check_present(table.column_names, first, show_name(tables[0][0].name))
    joined = {}
    for column in first:
        arrays = [table.column(column) for _, table in tables]
        unified = _unify(column, arrays, [part for part, _ in tables], style)
        joined[column] = pa.chunked_array([chunk for array in unified for chunk in array.chunks])
    return pa.table(joined)


def _unify(column: str, arrays: list[Any], parts: list[Part], style: CSVStyle) -> list[Any]:
    """Return the column of all parts in one type; cells of CSV files are read as text for it."""
    import pyarrow as pa

    plain = [
        array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
        for array in arrays
    ]
    found = list(dict.fromkeys(array.type for array in plain))
    if len(found) == 1:
        return plain
    wanted = join_types(set(found))
    if wanted is None:
        wanted = pa.string()
        for k, (array, part) in enumerate(zip(plain, parts, strict=True)):
            if array.type == wanted or pa.types.is_null(array.type):
                continue
            if find_format(split_place(part.name)[0])[0] != "CSV" or column in part.columns:
                others = next(t for t in found if t != array.type)
                raise TableError(
                    f"Column {column!r} of {show_name(part.name, first=False)} holds {array.type}, "
                    f"but {others} in other parts; write it with one type everywhere."
                )
            # What looks like a number there may have zeros in front.
            plain[k] = _read_part(part.name, style, {column: "text"}).column(column)
    return [array.cast(wanted, safe=False) for array in plain]


def _stream_chunks(
    name: str, place: str | None, form: str, compression: str | None, style: CSVStyle
) -> Iterator[Chunk]:
    """Yield the rows of a file whose columns have no types."""
    if form == "JSON Lines":
        return read_json_lines(name, compression, style.encoding)
    return read_excel(name, place) if form == "Excel" else read_sqlite(name, place)


def _stream_typed(
    name: str, place: str | None, form: str, kinds: Mapping[str, str] | None
) -> Iterator[Any]:
    """Yield the record batches of a file with types, its columns as `kinds` orders them."""
    if form == "DuckDB":
        yield from stream_duckdb(name, place, kinds, choose_batch_rows(len(kinds or ()) or 64))
        return
    with open_for_arrow(name) as file:
        batches = (_stream_parquet if form == "Parquet" else _stream_feather)(file, name, kinds)
        for batch in batches:
            # What a damaged file says of its own lengths is not believed: native code would be.
            batch.validate(full=True)
            yield use_plain_types(batch)


def _stream_parquet(file: Any, name: str, kinds: Mapping[str, str] | None) -> Iterator[Any]:
    import pyarrow.parquet as pq

    # Buffering ahead would hold the whole file in memory, and takes longer; without a size of the
    # buffer, whole columns of a row group would be read at once.
    with pq.ParquetFile(file, pre_buffer=False, buffer_size=BYTES_AT_ONCE) as opened:
        columns = choose_columns(kinds, opened.schema_arrow.names, show_name(name))
        n_rows = choose_batch_rows(len(columns))
        for batch in opened.iter_batches(n_rows, columns=columns, use_threads=False):
            yield batch.select(columns)  # the file's order is kept by the reader


def _stream_feather(file: Any, name: str, kinds: Mapping[str, str] | None) -> Iterator[Any]:
    import pyarrow as pa

    # Not a memory map: a file that changes while it is read would change what was checked.
    options = pa.ipc.IpcReadOptions(use_threads=False)
    with pa.ipc.open_file(file, options=options) as opened:
        columns = choose_columns(kinds, opened.schema.names, show_name(name))
        for k in range(opened.num_record_batches):
            batch = opened.get_batch(k).select(columns)
            n_rows = choose_batch_rows(len(columns))
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)


def _refuse_empty(name: str) -> NoReturn:
    raise EmptyTable(
        f"{show_name(name)} has no rows; a table to learn from or to score needs some."
    )
