"""Tables in files: CSV, Parquet and Feather, whole or in pieces, and what can be wrong."""

import codecs
import csv
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from mixpul._validation import _listed

__all__ = [
    "arrow_frame",
    "check_present",
    "check_unique",
    "import_tables",
    "read_table",
    "stream_table",
]

ROWS_PER_BATCH = 65_536
BYTES_PER_BLOCK = 4 * 2**20
BYTES_OF_HEAD = 2**20

FORMATS = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".tab": "CSV",
    ".txt": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".feather": "Feather",
    ".arrow": "Feather",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
# The first bytes of files that are no text.
SIGNATURES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Feather",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "Excel or zip",
}
DELIMITERS = ",;\t|"


class CSVStyle(NamedTuple):
    """How a CSV file is written; what is None is found out."""

    delimiter: str | None
    encoding: str
    decimal: str
    missing: Sequence[str]


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

    The format follows from the suffix; CSV files may end in .gz or .zst. An unknown suffix is
    decided by the first bytes.

    Parameters
    ----------
    path : str or path-like
        '-' is standard input, as CSV.
    kinds : mapping of column names to kinds, optional
        Read these columns only, in this order. Columns of a CSV file are read as what `kinds`
        says ('number', 'boolean', 'text' or 'date') rather than as what they look like, so that
        a column means the same in every file; see `TableInput.kinds_`.
    delimiter : str, optional
        What separates the cells of a CSV file; found out by default.
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
    style = CSVStyle(delimiter, encoding, decimal, missing)
    name = os.fspath(path)
    form, compression = _checked_format(name)
    with _explained(name, form, style, compression):
        if form == "CSV":
            table = _csv(name, compression, style, kinds, whole=True)
        else:
            batches = list(_binary_batches(name, form, kinds))
            table = pa.Table.from_batches(batches) if batches else None
    if table is None or not table.num_rows:
        raise ValueError(_without_rows(name))
    return arrow_frame(table, views=False)


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
    style = CSVStyle(delimiter, encoding, decimal, missing)
    name = os.fspath(path)
    form, compression = _checked_format(name)
    n_rows = 0
    with _explained(name, form, style, compression):
        if form == "CSV":
            batches = _csv(name, compression, style, kinds, whole=False)
        else:
            batches = _binary_batches(name, form, kinds)
        for batch in batches:
            n_rows += batch.num_rows
            yield batch
    if not n_rows:
        raise ValueError(_without_rows(name))


def import_tables() -> Any:
    """pyarrow, with pandas installed beside it; or the way to get them."""
    try:
        import pandas  # noqa: F401
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "Tables are read through pandas and pyarrow: pip install 'mixpul[tables]'."
        ) from error
    return pyarrow


def arrow_frame(table: Any, *, views: bool) -> Any:
    """A data frame of an Arrow table or record batch; `views` into it are quick but read-only."""
    import pandas as pd
    import pyarrow as pa

    for j, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):  # else a Python object per cell
            numbers = table.column(j).cast(pa.float64())
            table = table.set_column(j, pa.field(field.name, pa.float64()), numbers)
    return table.to_pandas(
        types_mapper={pa.bool_(): pd.BooleanDtype()}.get,  # else objects where some are missing
        date_as_object=False,
        ignore_metadata=True,  # a stored index is a column like the others
        split_blocks=views,
    )


def check_unique(names: Sequence[str], where: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f"{where} has more than one column named {_listed(twice)}; "
            "column names must differ, rename or remove the others."
        )


def check_present(wanted: Sequence[str], names: Sequence[str], where: str) -> None:
    """Refuse a table that lacks some of the `wanted` columns; say which ones come near."""
    absent = [name for name in wanted if name not in set(names)]
    if not absent:
        return
    by_lower = {name.lower(): name for name in reversed(names)}
    near = {
        name: [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=1)]
        for name in absent
    }
    meant = [match for matches in near.values() for match in matches]
    hint = f"did you mean {_listed(meant)}?" if meant else f"it has {_listed(list(names))}."
    plural = "s" if len(absent) > 1 else ""
    raise ValueError(f"{where} has no column{plural} {_listed(absent)}; {hint}")


# -- which format it is ---------------------------------------------------------------------


def _checked_format(name: str) -> tuple[str, str | None]:
    """The format by the suffix and the compression, if the first bytes agree with them."""
    if name == "-":
        return "CSV", None
    path = Path(name)
    if path.is_dir():
        raise ValueError(f"{name!r} is a folder; give one CSV, Parquet or Feather file.")
    if not path.exists():
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        near = get_close_matches(path.name, beside, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "check the path."
        raise FileNotFoundError(f"There is no file {name!r}; {hint}")
    with path.open("rb") as file:
        head = file.read(8)
    if not head:
        raise ValueError(f"{name!r} is empty; a table with a line of column names was expected.")
    found = next((f for signature, f in SIGNATURES.items() if head.startswith(signature)), None)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression:
        if found != compression:
            _not_its_suffix(name, compression, found)
        return "CSV", compression
    by_suffix = FORMATS.get(suffixes[-1]) if suffixes else None
    expected = by_suffix or (found if found in {"Parquet", "Feather"} else "CSV")
    if found != (None if expected == "CSV" else expected):
        _not_its_suffix(name, expected, found)
    return expected, None


def _not_its_suffix(name: str, expected: str, found: str | None) -> NoReturn:
    suffixes = [*FORMATS.items(), *COMPRESSIONS.items()]
    right = next((suffix for suffix, form in suffixes if form == found), None)
    if found == "Excel or zip":
        way_out = "save the sheet as CSV"
    else:
        way_out = f"rename it to end in {right or '.csv'}, or write it anew as {expected}"
    raise ValueError(
        f"{name!r} should be {expected} by its name, "
        f"but its first bytes are those of {found or 'another kind of'} data; {way_out}."
    )


# -- Parquet and Feather --------------------------------------------------------------------


def _binary_batches(name: str, form: str, kinds: Mapping[str, str] | None) -> Iterator[Any]:
    import pyarrow as pa

    if form == "Parquet":
        import pyarrow.parquet as pq

        # Buffering ahead would hold the whole file in memory, and takes longer.
        with pq.ParquetFile(name, pre_buffer=False) as file:
            columns = _wanted(kinds, file.schema_arrow.names, name)
            for batch in file.iter_batches(ROWS_PER_BATCH, columns=columns):
                yield batch.select(columns)  # the file's order is kept by the reader
    else:
        with pa.memory_map(name) as source, pa.ipc.open_file(source) as file:
            columns = _wanted(kinds, file.schema.names, name)
            for k in range(file.num_record_batches):
                batch = file.get_batch(k).select(columns)
                for start in range(0, batch.num_rows, ROWS_PER_BATCH):
                    yield batch.slice(start, ROWS_PER_BATCH)


def _wanted(kinds: Mapping[str, str] | None, names: list[str], name: str) -> list[str]:
    check_unique(names, _shown(name))
    if kinds is None:
        return names
    check_present(list(kinds), names, _shown(name))
    return list(kinds)


# -- CSV ------------------------------------------------------------------------------------


def _csv(
    name: str,
    compression: str | None,
    style: CSVStyle,
    kinds: Mapping[str, str] | None,
    *,
    whole: bool,
    threads: bool = True,
) -> Any:
    """A table, or with `whole=False` an iterator of record batches."""
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    head, source = _opened(name, compression)
    delimiter = style.delimiter or _sniffed_delimiter(_text(head, style.encoding))
    names = _header(head, name, delimiter, style.encoding)
    types = {"number": pa.float64(), "boolean": pa.bool_()}  # text and dates are read as text
    nulls = pa_csv.ConvertOptions().null_values
    settings = {
        "read_options": pa_csv.ReadOptions(
            block_size=BYTES_PER_BLOCK, encoding=style.encoding, use_threads=threads
        ),
        "parse_options": pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": pa_csv.ConvertOptions(
            column_types={c: types.get(kind, pa.string()) for c, kind in (kinds or {}).items()},
            include_columns=_wanted(kinds, names, name),
            null_values=[*nulls, *style.missing],
            strings_can_be_null=True,
            decimal_point=style.decimal,
        ),
    }
    result = (pa_csv.read_csv if whole else pa_csv.open_csv)(source, **settings)
    for field in result.schema:
        if pa.types.is_binary(field.type):  # what pyarrow makes of text that is no UTF-8
            raise UnicodeError(f"column {field.name!r}")
    return result


def _opened(name: str, compression: str | None) -> tuple[bytes, Any]:
    """The first bytes of the text, and a stream of all of it."""
    import pyarrow as pa

    if name == "-":
        head = sys.stdin.buffer.read(BYTES_OF_HEAD)
        return head, pa.PythonFile(_Joined(head, sys.stdin.buffer), mode="r")
    with pa.input_stream(name, compression=compression) as source:
        head = source.read(BYTES_OF_HEAD)
    return head, pa.input_stream(name, compression=compression)


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest of the stream they came from."""

    def __init__(self, head: bytes, rest: Any) -> None:
        super().__init__()
        self.head, self.rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.head.read(len(buffer)) or self.rest.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def _text(head: bytes, encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
    except LookupError as error:
        raise ValueError(
            f"There is no encoding {encoding!r}; common ones are utf-8, latin-1, cp1252 and utf-16."
        ) from error
    # The last character may be cut; a byte order mark is no part of the first name.
    return head.decode("utf-8-sig" if name == "utf-8" else name, errors="replace")


def _sniffed_delimiter(text: str) -> str:
    """The delimiter that splits the first lines into equally many cells, the more the better."""
    lines = text.splitlines()[:100]

    def evenness(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row] or [1]
        if counts[0] == 1:
            return 0.0, 1
        return sum(count == counts[0] for count in counts) / len(counts), counts[0]

    return max(DELIMITERS, key=evenness)


def _header(head: bytes, name: str, delimiter: str, encoding: str) -> list[str]:
    """The column names, if the first line can be that."""
    text = _text(head, encoding)
    if not text.strip():
        raise ValueError(
            f"{_shown(name)} is empty; a table with a line of column names was expected."
        )
    if "\0" in text:
        found = next((f for signature, f in SIGNATURES.items() if head.startswith(signature)), None)
        raise ValueError(
            f"{_shown(name)} is no text in {encoding}: it has zero bytes; "
            + (f"its content is {found}." if found else "if it is UTF-16, pass encoding 'utf-16'.")
        )
    names = next(row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row)
    if all(_is_number(cell) for cell in names if cell.strip()):
        raise ValueError(
            f"{_shown(name)} has no header: every cell of its first line is a number "
            f"({_listed(names)}); write the column names as the first line."
        )
    check_unique(names, _shown(name))
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


# -- what went wrong ------------------------------------------------------------------------

RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
UNLIKE = re.compile(
    r"In CSV column #(\d+).*CSV conversion error to (\w+).*?(?:invalid value|in) '(.*)'"
)
KINDS = {"double": "a number", "bool": "true or false", "int64": "a whole number"}


@contextmanager
def _explained(name: str, form: str, style: CSVStyle, compression: str | None) -> Iterator[None]:
    """Say in a sentence what pyarrow says about a file it cannot read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, UnicodeError, pa.ArrowNotImplementedError) as error:
        message = " ".join(str(error).split())
        if isinstance(error, UnicodeError) or "invalid UTF8" in message:
            sentence = _undecodable(name, compression, style.encoding)
        elif form == "CSV" and (match := RAGGED.search(message)):
            sentence = _ragged(name, compression, style, match)
        elif form == "CSV" and (match := UNLIKE.search(message)):
            sentence = _unlike(name, compression, style, match)
        else:
            sentence = f"{_shown(name)} is broken or no {form} file: {message[:200]}"
        raise ValueError(sentence) from error
    except pa.ArrowCancelled:
        raise KeyboardInterrupt from None  # Arrow catches Ctrl-C itself while it reads
    except pa.ArrowException as error:
        raise ValueError(f"{_shown(name)} cannot be read as {form}: {error}") from error
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise OSError(f"{_shown(name)} is broken or cannot be read: {error}") from error


def _undecodable(name: str, compression: str | None, encoding: str) -> str:
    """Where the first byte is that the encoding does not know."""
    where = ""
    if name != "-":
        _, source = _opened(name, compression)
        decoder, line = codecs.getincrementaldecoder(encoding)(), 1
        try:
            while piece := source.read(BYTES_OF_HEAD):
                line += decoder.decode(piece).count("\n")
        except UnicodeDecodeError as error:
            line += error.object[: error.start].count(b"\n")
            where = f": byte 0x{error.object[error.start]:02x} in line {line}"
    others = "latin-1 or cp1252" if codecs.lookup(encoding).name == "utf-8" else "utf-8"
    return f"{_shown(name)} is not written in {encoding}{where}; pass its encoding, e.g. {others}."


def _ragged(name: str, compression: str | None, style: CSVStyle, match: re.Match) -> str:
    row, expected, came = match.groups()
    if row is None and name != "-":
        # Only one thread counts rows.
        import pyarrow as pa

        try:
            _csv(name, compression, style, None, whole=True, threads=False)
        except pa.ArrowInvalid as error:
            if again := RAGGED.search(str(error)):
                row, expected, came = again.groups()
    where = f"row {row} of {_shown(name)}" if row else f"A row of {_shown(name)}"
    return (
        f"{where[0].upper()}{where[1:]} has {came} cells where the header has {expected}; "
        "put quotes around cells that contain the delimiter, or pass the right delimiter."
    )


def _unlike(name: str, compression: str | None, style: CSVStyle, match: re.Match) -> str:
    number, arrow_type, value = match.groups()
    column = f"column {int(number) + 1}"
    if name != "-":
        head, _ = _opened(name, compression)
        delimiter = style.delimiter or _sniffed_delimiter(_text(head, style.encoding))
        column = f"column {_header(head, name, delimiter, style.encoding)[int(number)]!r}"
    expected = KINDS.get(arrow_type, arrow_type)
    return (
        f"In {column} of {_shown(name)} {expected} was expected, but {value!r} came; correct it, "
        "or name it among the cells that stand for a missing value."
    )


def _without_rows(name: str) -> str:
    return f"{_shown(name)} has no rows; a table to learn from or to score needs some."


def _shown(name: str) -> str:
    return "Standard input" if name == "-" else repr(name)
