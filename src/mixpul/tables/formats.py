"""Which format a file has, by its name and its first bytes."""

import re
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from mixpul._util.errors import MissingTable, TableError
from mixpul.tables.opening import is_remote, is_stream, open_bytes

__all__ = [
    "FORMATS",
    "WRITTEN",
    "find_delimiter",
    "find_format",
    "recognise_content",
    "split_place",
    "split_suffixes",
]

# What is written, too.
WRITTEN = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".tab": "CSV",
    ".txt": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".feather": "Feather",
    ".arrow": "Feather",
}
FORMATS = WRITTEN | {
    ".xlsx": "Excel",
    ".xlsm": "Excel",
    ".jsonl": "JSON Lines",
    ".ndjson": "JSON Lines",
    ".json": "JSON Lines",
    ".sqlite": "SQLite",
    ".sqlite3": "SQLite",
    ".db3": "SQLite",
    ".duckdb": "DuckDB",
    ".ddb": "DuckDB",
}
TEXT_FORMATS = ("CSV", "JSON Lines")
# Formats that hold several tables, one of which is named after `::`.
DATABASES = ("SQLite", "DuckDB")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
# The delimiter of a CSV file, where its suffix tells.
DELIMITERS = {".tsv": "\t", ".tab": "\t"}
# The first bytes of files that are not text.
SIGNATURES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Feather",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "Excel",
    b"SQLite format 3\0": "SQLite",
    b"\xd0\xcf\x11\xe0": "old Excel",
    b"%PDF": "PDF",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
# DuckDB's mark comes after a checksum.
PLACE_OF_DUCK, DUCK = 8, b"DUCK"
BYTES_OF_HEAD = 16
TO_PYTHON = "read it in Python and write it as Parquet (DataFrame.to_parquet)"
# What is not read, and the way out.
NOT_READ = (
    {
        ".xls": "an old Excel file; save it as .xlsx",
        ".xlsb": "a binary Excel file; save it as .xlsx",
        ".ods": "an OpenDocument sheet; save it as .xlsx or .csv",
        ".numbers": "a Numbers sheet; export it as .xlsx or .csv",
        ".mdb": "an Access database; export the table as .csv",
        ".accdb": "an Access database; export the table as .csv",
        ".sav": f"an SPSS file; {TO_PYTHON.replace('read it', 'read it with pandas.read_spss')}",
        ".dta": f"a Stata file; {TO_PYTHON.replace('read it', 'read it with pandas.read_stata')}",
        ".sas7bdat": f"a SAS file; {TO_PYTHON.replace('read it', 'read it with pandas.read_sas')}",
        ".rds": "an R file; write it in R with write.csv or arrow::write_parquet",
        ".rdata": "an R file; write it in R with write.csv or arrow::write_parquet",
        ".orc": f"an ORC file; {TO_PYTHON.replace('read it', 'read it with pandas.read_orc')}",
        ".avro": "an Avro file; write it as Parquet",
        ".xml": "XML; write its rows as .csv or .jsonl",
        ".html": "a web page; write its table as .csv",
        ".pdf": "a PDF; write its table as .csv",
        ".arff": "an ARFF file; write it as .csv",
        ".zip": "a zip archive; unpack it, and name the file in it",
        ".7z": "an archive; unpack it, and name the file in it",
        ".tar": "an archive; unpack it, and name the file in it",
        ".tgz": "an archive; unpack it, and name the file in it",
        ".bz2": "packed with bzip2; unpack it, or pack it with gzip",
        ".xz": "packed with xz; unpack it, or pack it with gzip",
    }
    | dict.fromkeys(
        (".pkl", ".pickle", ".joblib"), f"a pickle, which can run any code when opened; {TO_PYTHON}"
    )
    | dict.fromkeys(
        (".h5", ".hdf5", ".hdf", ".npy", ".npz", ".mat", ".nc"), f"of arrays; {TO_PYTHON}"
    )
)
READ = "CSV, Parquet, Feather, Excel (.xlsx), JSON Lines, SQLite and DuckDB files are read"
PLACE = re.compile(
    r"(.+?\.(?:xlsx|xlsm|db|db3|sqlite|sqlite3|duckdb|ddb))::(.*)", re.IGNORECASE | re.DOTALL
)


def split_place(name: str) -> tuple[str, str | None]:
    """Return a file, and the sheet, table or query in it that is named after `::`.

    >>> split_place("shop.db::SELECT * FROM orders")
    ('shop.db', 'SELECT * FROM orders')
    >>> split_place("orders.csv")
    ('orders.csv', None)
    """
    if match := PLACE.fullmatch(name):
        return match[1], match[2].strip()
    file, sign, place = name.partition("::")
    if sign and not Path(name).exists() and Path(file).is_file():
        return file, place.strip()
    return name, None


def find_format(name: str) -> tuple[str, str | None]:
    """Return the format by the suffix and the compression, if the first bytes agree with them."""
    # Parquet and Feather keep their index at the end, where a stream cannot jump to.
    if is_stream(name):
        return "CSV", None
    suffix, compression = split_suffixes(name)
    head = _read_head(name, suffix)
    content = recognise_content(head)
    by_suffix = FORMATS.get(suffix)
    if compression:
        if content != compression:
            _refuse_content(name, compression, content)
        if by_suffix not in (*TEXT_FORMATS, None):
            raise TableError(
                f"{name!r} is a packed {by_suffix} file; unpack it, only CSV and JSON Lines files "
                "are read as they are packed."
            )
        return by_suffix or "CSV", compression
    expected = by_suffix or (str(content) if content in FORMATS.values() else "CSV")
    if by_suffix in DATABASES and content in DATABASES:
        expected = str(content)  # their suffixes are mixed up often
    if content != (None if expected in TEXT_FORMATS else expected):
        _refuse_content(name, by_suffix, content)
    if suffix == ".json" and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        raise TableError(
            f"{name!r} is one JSON array; write one object per line as .jsonl, e.g. with "
            "`jq -c '.[]'` or DataFrame.to_json(orient='records', lines=True)."
        )
    return expected, None


def _read_head(name: str, suffix: str) -> bytes:
    """Return the first bytes of a file; refuse what is not there, or of a kind that is not read."""
    path = Path(name)
    if not is_remote(name):
        if path.is_dir():
            raise TableError(f"{name!r} is a folder; a file was expected.")
        if not path.exists():
            beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            near = get_close_matches(path.name, beside, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "check the path."
            raise MissingTable(f"There is no file {name!r}; {hint}")
    if suffix in NOT_READ:
        raise TableError(f"{name!r} is {NOT_READ[suffix]}. {READ}.")
    with open_bytes(name) as file:
        head = file.read(BYTES_OF_HEAD)
    if not head:
        raise TableError(f"{name!r} is empty; a table with a line of column names was expected.")
    return bytes(head)


def split_suffixes(name: str) -> tuple[str, str | None]:
    """Return the suffix that tells the format, and the compression by the suffix after it."""
    # Padded, so that a name without suffixes can be indexed, too.
    suffixes = ["", "", *(suffix.lower() for suffix in Path(name).suffixes)]
    compression = COMPRESSIONS.get(suffixes[-1])
    return suffixes[-2 if compression else -1], compression


def find_delimiter(name: str) -> str | None:
    """Return the delimiter that the name of a CSV file promises, if it does."""
    return DELIMITERS.get(split_suffixes(name)[0])


def _refuse_content(name: str, expected: str | None, content: str | None) -> NoReturn:
    """Refuse a file whose first bytes are not what its name says, or not those of a table."""
    suffixes = [*FORMATS.items(), *COMPRESSIONS.items()]
    right = next((suffix for suffix, form in suffixes if form == content), None)
    if content in ("old Excel", "PDF"):
        way_out = "save the sheet as .xlsx or .csv"
    elif content in ("bzip2", "xz"):
        way_out = "unpack it"
    else:
        way_out = f"rename it to end in {right or '.csv'}, or write it anew as {expected or 'CSV'}"
    raise TableError(
        f"{name!r} should be {expected or 'a table'}"
        f"{' by its name' if expected else ''}, but its first bytes are those of "
        f"{content or 'another kind of'} data; {way_out}."
    )


def recognise_content(head: bytes) -> str | None:
    """Return what the first bytes say that a file is; None for text."""
    if head[PLACE_OF_DUCK:].startswith(DUCK):
        return "DuckDB"
    return next((form for sign, form in SIGNATURES.items() if head.startswith(sign)), None)
