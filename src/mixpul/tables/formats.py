"""Which format a file has, by its name and its first bytes."""

from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

__all__ = [
    "FORMATS",
    "find_delimiter",
    "find_format",
    "is_stream",
    "recognise_content",
    "show_name",
    "split_suffixes",
]

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
# The delimiter of a CSV file, where its suffix tells.
DELIMITERS = {".tsv": "\t", ".tab": "\t"}
# The first bytes of files that are not text.
SIGNATURES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Feather",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "Excel or zip",
}


def find_format(name: str) -> tuple[str, str | None]:
    """Return the format by the suffix and the compression, if the first bytes agree with them."""
    # Parquet and Feather keep their index at the end, where a stream cannot jump to.
    if is_stream(name):
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
    content = recognise_content(head)
    suffix, compression = split_suffixes(name)
    if compression:
        if content != compression:
            _refuse_content(name, compression, content)
        return "CSV", compression
    by_suffix = FORMATS.get(suffix)
    expected = by_suffix or (content if content in {"Parquet", "Feather"} else "CSV")
    if content != (None if expected == "CSV" else expected):
        _refuse_content(name, by_suffix, content)
    return expected, None


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
    if content == "Excel or zip":
        way_out = "save the sheet as CSV"
    else:
        way_out = f"rename it to end in {right or '.csv'}, or write it anew as {expected or 'CSV'}"
    raise ValueError(
        f"{name!r} should be {expected or 'CSV, Parquet or Feather'}"
        f"{' by its name' if expected else ''}, but its first bytes are those of "
        f"{content or 'another kind of'} data; {way_out}."
    )


def recognise_content(head: bytes) -> str | None:
    """Return what the first bytes say that a file is; None for text."""
    return next((form for sign, form in SIGNATURES.items() if head.startswith(sign)), None)


def is_stream(name: str) -> bool:
    """Whether it can be read only once, as standard input or a named pipe."""
    return name == "-" or Path(name).is_fifo()


def show_name(name: str, *, first: bool = True) -> str:
    """Return a file for a sentence, as its first word or later."""
    return ("Standard input" if first else "standard input") if name == "-" else repr(name)
