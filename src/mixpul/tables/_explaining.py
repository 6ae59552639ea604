"""Say in one sentence what is wrong with a file that cannot be read."""

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager

from mixpul.tables._csv import BYTES_OF_HEAD, CSVStyle, open_text, read_csv, read_header
from mixpul.tables.formats import is_stream, show_name

__all__ = ["explain_errors"]

RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
UNLIKE = re.compile(
    r"In CSV column #(\d+).*CSV conversion error to (\w+).*?(?:invalid value|in) '(.*)'"
)
KINDS = {"double": "a number", "bool": "true or false", "int64": "a whole number"}


@contextmanager
def explain_errors(
    name: str, form: str, style: CSVStyle, compression: str | None
) -> Iterator[None]:
    """Turn what pyarrow says about a file it cannot read into a sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, UnicodeError, pa.ArrowNotImplementedError) as error:
        message = " ".join(str(error).split())
        if isinstance(error, UnicodeError) or "invalid UTF8" in message:
            sentence = _explain_encoding(name, compression, style.encoding)
        elif form == "CSV" and (match := RAGGED.search(message)):
            sentence = _explain_ragged_row(name, compression, style, match)
        elif form == "CSV" and (match := UNLIKE.search(message)):
            sentence = _explain_cell(name, compression, style, match)
        else:
            sentence = f"{show_name(name)} is broken or not a {form} file: {message[:200]}"
        raise ValueError(sentence) from error
    except pa.ArrowCancelled:
        raise KeyboardInterrupt from None  # Arrow catches Ctrl-C itself while it reads
    except pa.ArrowException as error:
        raise ValueError(f"{show_name(name)} cannot be read as {form}: {error}") from error
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise OSError(f"{show_name(name)} is broken or cannot be read: {error}") from error


def _explain_encoding(name: str, compression: str | None, encoding: str) -> str:
    """Say where the first byte is that the encoding does not know."""
    where = ""
    if not is_stream(name):
        _, source = open_text(name, compression)
        # In pieces, since the file may be larger than memory; they may cut a character in two.
        decoder, line = codecs.getincrementaldecoder(encoding)(), 1
        try:
            while piece := source.read(BYTES_OF_HEAD):
                line += decoder.decode(piece).count("\n")
        except UnicodeDecodeError as error:
            line += error.object[: error.start].count(b"\n")
            where = f": byte 0x{error.object[error.start]:02x} in line {line}"
    others = "latin-1 or cp1252" if codecs.lookup(encoding).name == "utf-8" else "utf-8"
    file = show_name(name)
    return f"{file} is not written in {encoding}{where}; pass its encoding, e.g. {others}."


def _explain_ragged_row(
    name: str, compression: str | None, style: CSVStyle, match: re.Match
) -> str:
    """Say which row has more or fewer cells than the header."""
    row, expected, came = match.groups()
    if row is None and not is_stream(name):
        # Several threads do not know the number of the row, so one reads the file again.
        import pyarrow as pa

        try:
            read_csv(name, compression, style, None, whole=True, threads=False)
        except pa.ArrowInvalid as error:
            if again := RAGGED.search(str(error)):
                row, expected, came = again.groups()
    where = f"Row {row}" if row else "A row"
    cells = "cell" if came == "1" else "cells"
    return (
        f"{where} of {show_name(name, first=False)} has {came} {cells} where the header has "
        f"{expected}; put quotes around cells that contain the delimiter, or pass the right "
        "delimiter."
    )


def _explain_cell(name: str, compression: str | None, style: CSVStyle, match: re.Match) -> str:
    """Say which cell is not of the kind that its column has."""
    number, arrow_type, value = match.groups()
    column = f"column {int(number) + 1}"
    if not is_stream(name):
        head, _ = open_text(name, compression)
        column = f"column {read_header(head, name, style)[1][int(number)]!r}"
    expected = KINDS.get(arrow_type, arrow_type)
    return (
        f"In {column} of {show_name(name, first=False)} {expected} was expected, but {value!r} "
        "came; correct it, or name it among the cells that stand for a missing value."
    )
