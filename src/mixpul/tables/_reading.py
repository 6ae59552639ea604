"""Tables in files: CSV, Parquet and Feather, whole or in pieces."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from mixpul.tables._csv import CSVStyle, read_csv
from mixpul.tables._explaining import explain_errors
from mixpul.tables.formats import find_format, show_name
from mixpul.tables.frames import from_arrow, import_tables
from mixpul.tables.names import choose_columns

__all__ = ["ROWS_PER_BATCH", "read_table", "stream_table"]

# A multiple of the rows that a classifier scores in one pass: `scoring` relies on it.
ROWS_PER_BATCH = 65_536


def read_table(
    path: str | os.PathLike,
    *,
    kinds: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    missing: Sequence[str] = (),
) -> Any:
    """Read a table from a CSV, Parquet or Feather file.

    The format follows from the suffix; CSV files may also end in .gz or .zst. Where the suffix is
    unknown, the first bytes decide.

    Parameters
    ----------
    path : str or path-like
        '-' is standard input, as CSV; so is what comes through a named pipe.
    kinds : mapping of column names to kinds, optional
        Read these columns only, in this order. Columns of a CSV file are read as what `kinds`
        says ('number', 'boolean', 'text' or 'date') rather than as what they look like, so that
        a column means the same in every file; see `TableInput.kinds_`.
    delimiter : str, optional
        What separates the cells of a CSV file; found out by default, a tab in .tsv and .tab files.
    encoding : str, default='utf-8'
        Of CSV files.
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
    pa = import_tables()
    style = CSVStyle.make(delimiter, encoding, decimal, missing)
    name = os.fspath(path)
    form, compression = find_format(name)
    with explain_errors(name, form, style, compression):
        if form == "CSV":
            table = read_csv(name, compression, style, kinds, whole=True)
        else:
            batches = list(_read_batches(name, form, kinds))
            table = pa.Table.from_batches(batches) if batches else None
    if table is None or not table.num_rows:
        _refuse_empty(name)
    return from_arrow(table, views=False)


def stream_table(
    path: str | os.PathLike,
    *,
    kinds: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
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
    name = os.fspath(path)
    form, compression = find_format(name)
    n_rows = 0
    with explain_errors(name, form, style, compression):
        if form == "CSV":
            batches = read_csv(name, compression, style, kinds, whole=False)
        else:
            batches = _read_batches(name, form, kinds)
        for batch in batches:
            n_rows += batch.num_rows
            yield batch
    if not n_rows:
        _refuse_empty(name)


def _read_batches(name: str, form: str, kinds: Mapping[str, str] | None) -> Iterator[Any]:
    """Yield the record batches of a Parquet or Feather file, its columns as `kinds` orders them."""
    import pyarrow as pa

    if form == "Parquet":
        import pyarrow.parquet as pq

        # Buffering ahead would hold the whole file in memory, and takes longer.
        with pq.ParquetFile(name, pre_buffer=False) as file:
            columns = choose_columns(kinds, file.schema_arrow.names, show_name(name))
            for batch in file.iter_batches(ROWS_PER_BATCH, columns=columns):
                yield batch.select(columns)  # the file's order is kept by the reader
    else:
        with pa.memory_map(name) as source, pa.ipc.open_file(source) as file:
            columns = choose_columns(kinds, file.schema.names, show_name(name))
            for k in range(file.num_record_batches):
                batch = file.get_batch(k).select(columns)
                for start in range(0, batch.num_rows, ROWS_PER_BATCH):
                    yield batch.slice(start, ROWS_PER_BATCH)


def _refuse_empty(name: str) -> NoReturn:
    raise ValueError(
        f"{show_name(name)} has no rows; a table to learn from or to score needs some."
    )
