"""CSV files and standard input as Arrow tables; delimiter and header are found out."""

import atexit
import codecs
import csv
import io
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from mixpul._util.validation import list_values
from mixpul.tables._cells import convert_cells
from mixpul.tables.formats import find_delimiter, is_stream, recognise_content, show_name
from mixpul.tables.names import choose_columns

__all__ = ["CSVStyle", "open_text", "read_csv", "read_header"]

BYTES_PER_BLOCK = 4 * 2**20
BYTES_OF_HEAD = 2**20
DELIMITERS = ",;\t|"
# Seconds to wait at exit until Arrow's threads have left standard input: if one of them waits for
# more input, which may never come, and otherwise.
PATIENCE, LONG_PATIENCE = 1.0, 2.0


class CSVStyle(NamedTuple):
    """How a CSV file is written; what is None is found out."""

    delimiter: str | None
    encoding: str
    decimal: str
    missing: Sequence[str]

    @classmethod
    def make(
        cls, delimiter: str | None, encoding: str, decimal: str, missing: Sequence[str]
    ) -> Self:
        """Check what a user says of the file."""
        if delimiter == r"\t":  # a tab is hard to type
            delimiter = "\t"
        for what, sign in (("delimiter", delimiter), ("decimal sign", decimal)):
            if sign is not None and len(sign) != 1:
                raise ValueError(
                    f"The {what} of a CSV file is one character, such as a comma; got {sign!r}."
                )
        return cls(delimiter, encoding, decimal, missing)


def read_csv(
    name: str,
    compression: str | None,
    style: CSVStyle,
    kinds: Mapping[str, str] | None,
    *,
    whole: bool,
    threads: bool = True,
) -> Any:
    """Return a table, or with `whole=False` an iterator of record batches."""
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    head, source = open_text(name, compression)
    delimiter, names = read_header(head, name, style)
    nulls = pa_csv.ConvertOptions().null_values
    settings = {
        "read_options": pa_csv.ReadOptions(
            block_size=BYTES_PER_BLOCK, encoding=style.encoding, use_threads=threads
        ),
        # Cells in quotes may hold line breaks, which Arrow does not expect by default.
        "parse_options": pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": pa_csv.ConvertOptions(
            # What they stand for follows below, so that every cell that a fit reads is read again.
            column_types={str(name): pa.string() for name in kinds or ()},
            include_columns=choose_columns(kinds, names, show_name(name)),
            null_values=[*nulls, *style.missing],
            # Otherwise an empty cell of a text column would be a category of its own.
            strings_can_be_null=True,
            decimal_point=style.decimal,
        ),
    }
    result = (pa_csv.read_csv if whole else pa_csv.open_csv)(source, **settings)
    for field in result.schema:
        if pa.types.is_binary(field.type):  # what pyarrow makes of text that is not UTF-8
            raise UnicodeError(f"column {field.name!r}")
    return convert_cells(result, kinds, names, style.decimal)


def open_text(name: str, compression: str | None) -> tuple[bytes, Any]:
    """Return the first bytes of the text, and a stream of all of it."""
    import pyarrow as pa

    if is_stream(name):
        rest = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115, it stays open
        head = rest.read(BYTES_OF_HEAD)
        return head, pa.PythonFile(_Joined(head, rest), mode="r")
    with pa.input_stream(name, compression=compression) as source:
        head = source.read(BYTES_OF_HEAD)
    # Opened again: a compressed stream cannot be wound back.
    return head, pa.input_stream(name, compression=compression)


class _Use:
    """Whether a stream is being read, or may still be.

    An object of its own, because the exit keeps it: the stream itself should go when it is done.
    """

    def __init__(self) -> None:
        self.is_over = self.is_reading = False
        self.released = threading.Event()
        atexit.register(self.end)

    def end(self) -> None:
        """Say that the input is over, and wait until nobody reads."""
        self.is_over = True
        started = time.monotonic()
        while not self.released.wait(0.05):
            waited = time.monotonic() - started
            if waited > (PATIENCE if self.is_reading else LONG_PATIENCE):
                return


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest of the stream they came from.

    Arrow's threads read ahead, also after an error. If they return to an interpreter that is about
    to exit, they abort the process. So the exit tells them that the input is over, and waits.
    """

    def __init__(self, head: bytes, rest: Any) -> None:
        super().__init__()
        self.head, self.rest, self.use = io.BytesIO(head), rest, _Use()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.use.is_over:
            return 0
        self.use.is_reading = True
        piece = self.head.read(len(buffer)) or self.rest.read(len(buffer))
        self.use.is_reading = False
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        super().close()
        if self.rest is not sys.stdin.buffer:
            self.rest.close()
        self.use.released.set()


def _decode(head: bytes, encoding: str) -> str:
    """Return the first bytes as text, in which a wrong character does not matter."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError as error:
        raise ValueError(
            f"There is no encoding {encoding!r}; common ones are utf-8, latin-1, cp1252 and utf-16."
        ) from error
    # The last character may be incomplete; a byte order mark does not belong to the first name.
    return head.decode("utf-8-sig" if name == "utf-8" else name, errors="replace")


def _sniff_delimiter(text: str) -> str:
    """Return the delimiter that splits the first lines into equally many cells, and into most."""
    lines = text.splitlines()[:100]

    def measure_evenness(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row] or [1]
        # A delimiter that the header lacks splits all lines evenly, into one cell each.
        if counts[0] == 1:
            return 0.0, 1
        return sum(count == counts[0] for count in counts) / len(counts), counts[0]

    return max(DELIMITERS, key=measure_evenness)


def read_header(head: bytes, name: str, style: CSVStyle) -> tuple[str, list[str]]:
    """Return the delimiter and the column names; refuse a first line that cannot hold them."""
    text = _decode(head, style.encoding)
    if not text.strip():
        raise ValueError(
            f"{show_name(name)} is empty; a table with a line of column names was expected."
        )
    if "\0" in text:
        content = recognise_content(head)
        way_out = (
            f"its content is {content}, to be read from a file with that suffix"
            if content
            else "if it is UTF-16, pass encoding 'utf-16'"
        )
        raise ValueError(
            f"{show_name(name)} is not text in {style.encoding}: it has zero bytes; {way_out}."
        )
    delimiter = style.delimiter or _find_delimiter(text, name)
    names = next(row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row)
    if all(_is_number(cell) for cell in names if cell.strip()):
        raise ValueError(
            f"{show_name(name)} has no header: every cell of its first line is a number "
            f"({list_values(names)}); write the column names as the first line."
        )
    return delimiter, names


def _find_delimiter(text: str, name: str) -> str:
    """Return the delimiter that the name promises if the header has it, else the one sniffed."""
    promised = find_delimiter(name)
    if promised and promised in text.lstrip("\r\n").partition("\n")[0]:
        return promised
    return _sniff_delimiter(text)


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
