"""Which format a file has, by its name and its first bytes."""

from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

__all__ = ["COMPRESSIONS", "FORMATS", "checked_format", "content_of", "is_stream", "shown"]

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


def checked_format(name: str) -> tuple[str, str | None]:
    """The format by the suffix and the compression, if the first bytes agree with them."""
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
    found = content_of(head)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression:
        if found != compression:
            _not_its_suffix(name, compression, found)
        return "CSV", compression
    by_suffix = FORMATS.get(suffixes[-1]) if suffixes else None
    expected = by_suffix or (found if found in {"Parquet", "Feather"} else "CSV")
    if found != (None if expected == "CSV" else expected):
        _not_its_suffix(name, by_suffix, found)
    return expected, None


def _not_its_suffix(name: str, expected: str | None, found: str | None) -> NoReturn:
    """The name says something else than the first bytes, or nothing of a table."""
    suffixes = [*FORMATS.items(), *COMPRESSIONS.items()]
    right = next((suffix for suffix, form in suffixes if form == found), None)
    if found == "Excel or zip":
        way_out = "save the sheet as CSV"
    else:
        way_out = f"rename it to end in {right or '.csv'}, or write it anew as {expected or 'CSV'}"
    raise ValueError(
        f"{name!r} should be {expected or 'CSV, Parquet or Feather'}"
        f"{' by its name' if expected else ''}, but its first bytes are those of "
        f"{found or 'another kind of'} data; {way_out}."
    )


def content_of(head: bytes) -> str | None:
    """What the first bytes say that a file is, if it is no text."""
    return next((form for sign, form in SIGNATURES.items() if head.startswith(sign)), None)


def is_stream(name: str) -> bool:
    """Whether it can be read once only, as standard input or a named pipe."""
    return name == "-" or Path(name).is_fifo()


def shown(name: str, *, first: bool = True) -> str:
    """A file in a sentence, as its first word or later."""
    return ("Standard input" if first else "standard input") if name == "-" else repr(name)
