"""CSV files and standard input as Arrow tables; delimiter and header are found out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, NoReturn, Self

from mixpul._util.errors import TableError
from mixpul._util.printable import shorten
from mixpul._util.validation import list_values
from mixpul.tables._casting import cast_cells
from mixpul.tables._text import cut_rows, read_text
from mixpul.tables.formats import find_delimiter
from mixpul.tables.names import choose_columns
from mixpul.tables.opening import is_stream, show_name

__all__ = ["CSVStyle", "infer_type", "read_csv", "stream_csv", "stream_csv_texts"]

DELIMITERS = ",;\t|"
# Enough to see which delimiter splits the lines evenly.
LINES_OF_SAMPLE, LETTERS_OF_SAMPLE = 100, 2**18
# Arrow's blocks are counted in 32 bits.
LARGEST_BLOCK = 2**30
RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
UNLIKE = re.compile(
    r"In CSV column #(\d+).*CSV conversion error to (\w+).*?(?:invalid value|in) '(.*)'", re.DOTALL
)
KINDS = {"double": "a number", "bool": "true or false", "int64": "a whole number"}


class CSVStyle(NamedTuple):
    """How a CSV file is written; what is None is found out."""

    delimiter: str | None
    encoding: str | None
    decimal: str
    missing: Sequence[str]

    @classmethod
    def make(
        cls,
        delimiter: str | None = None,
        encoding: str | None = None,
        decimal: str = ".",
        missing: Sequence[str] = (),
    ) -> Self:
        """Check what a user says of the file."""
        if delimiter == r"\t":  # a tab is hard to type
            delimiter = "\t"
        for what, sign in (("delimiter", delimiter), ("decimal sign", decimal)):
            # One byte: that is how Arrow splits and reads.
            if sign is not None and (len(sign) != 1 or not sign.isascii() or sign in '"\r\n\0'):
                raise ValueError(
                    f"The {what} of a CSV file is one character, such as a comma; got {sign!r}."
                )
        if delimiter == decimal:
            raise ValueError(
                f"The delimiter and the decimal sign cannot both be {decimal!r}; pass the right "
                "delimiter."
            )
        return cls(delimiter, encoding, decimal, missing)


class _OtherType(TableError):
    """A cell does not have the type of the cells before it."""


def read_csv(
    name: str, compression: str | None, style: CSVStyle, kinds: Mapping[str, str] | None
) -> Any:
    """Return a table, or None if it has no rows; types follow from all rows."""
    import pyarrow as pa

    if kinds is not None or not is_stream(name):
        try:
            batches = list(stream_csv(name, compression, style, kinds))
            return pa.Table.from_batches(batches) if batches else None
        except _OtherType:
            if kinds is not None:
                raise
    # All text at once, which takes more memory, but lets Arrow find a type that fits every cell.
    opened = _CSV(name, compression, style, kinds)
    text = b"".join(opened.blocks)
    return opened.parse(text) if text.strip() else None


def stream_csv(
    name: str, compression: str | None, style: CSVStyle, kinds: Mapping[str, str] | None
) -> Iterator[Any]:
    """Yield record batches; without `kinds` types follow from the first megabytes."""
    opened = _CSV(name, compression, style, kinds)
    for block in opened.blocks:
        table = opened.parse(block)
        if kinds is None:
            opened.types = {field.name: field.type for field in table.schema}
        opened.n_rows += table.num_rows
        yield from table.to_batches()


def stream_csv_texts(name: str, compression: str | None, style: CSVStyle) -> Iterator[Any]:
    """Yield record batches of text, gaps aside: what the cells stand for is decided later."""
    import pyarrow as pa

    opened = _CSV(name, compression, style, None)
    opened.types = {column: pa.string() for column in opened.names}
    for block in opened.blocks:
        table = opened.parse(block)
        opened.n_rows += table.num_rows
        yield from table.to_batches()


def infer_type(cells: Any, style: CSVStyle) -> Any:
    """Return text as what a CSV file of these cells would be read as.

    Examples
    --------
    >>> import pyarrow as pa
    >>> style = CSVStyle.make()
    >>> infer_type(pa.chunked_array([["1", None], ["2.5"]]), style).type
    DataType(double)
    >>> infer_type(pa.chunked_array([["1", None], ["a,b"]]), style).to_pylist()
    ['1', None, 'a,b']
    """
    import pyarrow as pa
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    # Arrow itself finds the type, so that it is that of a file which is read whole.
    csv.write_csv(pa.table({"cells": cells}), sink, csv.WriteOptions(include_header=False))
    text = sink.getvalue()
    return csv.read_csv(
        pa.BufferReader(text),
        read_options=csv.ReadOptions(
            column_names=["cells"],
            block_size=min(len(text) + 1, LARGEST_BLOCK),
            use_threads=False,
        ),
        # A gap is an empty line.
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=_make_convert_options(style),
    ).column(0)


def _make_convert_options(style: CSVStyle, **more: Any) -> Any:
    from pyarrow import csv

    return csv.ConvertOptions(
        null_values=[*csv.ConvertOptions().null_values, *style.missing],
        # Otherwise an empty cell of a text column would be a category of its own.
        strings_can_be_null=True,
        decimal_point=style.decimal,
        **more,
    )


class _CSV:
    """An opened file: its header, and blocks of the rows below it."""

    def __init__(
        self,
        name: str,
        compression: str | None,
        style: CSVStyle,
        kinds: Mapping[str, str] | None,
    ) -> None:
        import pyarrow as pa

        self.name, self.style, self.kinds = name, style, kinds
        pieces = read_text(name, compression, style.encoding)
        first = next(pieces)
        head = first.decode(errors="ignore")  # the last letter may be incomplete
        if not head.strip():
            raise TableError(
                f"{show_name(name)} is empty; a table with a line of column names was expected."
            )
        self.delimiter = style.delimiter or _choose_delimiter(head, name)
        quoted = _match_quoted(self.delimiter)
        blocks = cut_rows(chain([first], pieces), lambda b: _find_row_end(b, quoted), name)
        self.names, rest = self._read_header(next(blocks, b""))
        self.columns = choose_columns(kinds, self.names, show_name(name))
        self.blocks = (block for block in chain([rest], blocks) if block.strip(b"\r\n"))
        self.n_rows = 1  # the header is the first one
        # What it stands for follows below, so that every cell that a fit reads is read again.
        self.types = {str(column): pa.string() for column in kinds or ()}

    def _read_header(self, block: bytes) -> tuple[list[str], bytes]:
        """Return the column names and what follows; refuse a first line that cannot hold them."""
        text = block.decode()
        rows = ((row, end) for row, end in _split_rows(text, self.delimiter) if row)
        names, end = next(rows, ([], 0))
        if not names:
            raise TableError(
                f"{show_name(self.name)} has no line with column names; write one at its beginning."
            )
        if all(_is_number(cell) for cell in names if cell.strip()):
            raise TableError(
                f"{show_name(self.name)} has no header: every cell of its first line is a number "
                f"({list_values(names)}); write the column names as the first line."
            )
        return names, text[end:].encode()

    def parse(self, block: bytes) -> Any:
        """Return the rows of a block as a table."""
        import pyarrow as pa
        from pyarrow import csv

        try:
            table = csv.read_csv(
                pa.BufferReader(block),
                read_options=csv.ReadOptions(
                    column_names=self.names,
                    block_size=min(len(block) + 1, LARGEST_BLOCK),
                    use_threads=False,
                ),
                # Cells in quotes may hold line breaks, which Arrow does not expect by default.
                parse_options=csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                convert_options=_make_convert_options(
                    self.style, column_types=self.types, include_columns=self.columns
                ),
            )
            return cast_cells(table, self.kinds, self.names, self.style.decimal)
        except pa.ArrowInvalid as error:
            self._explain(error)

    def _explain(self, error: Exception) -> NoReturn:
        """Turn what Arrow says about a row into a sentence."""
        message, file = str(error), show_name(self.name, first=False)
        if match := RAGGED.search(message):
            row, expected, came = match.groups()
            # Arrow counts the rows of a block from 1.
            where = f"Row {self.n_rows + int(row)}" if row else "A row"
            raise TableError(
                f"{where} of {file} has {came} cell{'' if came == '1' else 's'} where the header "
                f"has {expected}; put quotes around cells that contain the delimiter, or pass the "
                "right delimiter."
            ) from error
        if match := UNLIKE.search(message):
            number, arrow_type, value = match.groups()
            # By its place among the names, or among those that are read.
            column = self.names[int(number)]
            raise _OtherType(
                f"In column {column!r} of {file} {KINDS.get(arrow_type, arrow_type)} was expected, "
                f"but {shorten(value)!r} came; correct it, or name it among the cells that stand "
                "for a missing value."
            ) from error
        raise TableError(
            f"{show_name(self.name)} is broken or not a CSV file: "
            f"{shorten(' '.join(message.split()), 200)}"
        ) from error


# -- rows and cells -------------------------------------------------------------------------


def _match_quoted(delimiter: str) -> re.Pattern[bytes]:
    """Match a cell in quotes, which may hold line breaks; without its last quote, if it is open."""
    sign = re.escape(delimiter.encode())
    # The quote comes first, which is quick to search for; what stands before it is looked at then.
    return re.compile(rb'"(?<![^\r\n' + sign + rb']")[^"]*+(?:""[^"]*+)*+("?)')


def _find_row_end(block: bytes, quoted: re.Pattern[bytes]) -> int:
    """Return the place after the last line break that is not in quotes; 0 if there is none."""
    if b'"' not in block:
        return block.rfind(b"\n") + 1
    end = after = 0
    for match in quoted.finditer(block):
        if (place := block.rfind(b"\n", after, match.start())) >= 0:
            end = place + 1
        after = match.end()
        # What closes the cell may be the first of two quotes that stand for one.
        if not match[1] or after == len(block):
            return end
    return max(end, block.rfind(b"\n", after) + 1)


def _split_rows(text: str, delimiter: str) -> Iterator[tuple[list[str], int]]:
    """Yield the cells of each row, none for an empty line, and the place where the row ends.

    The standard library's reader has a limit on cells, which holds for the whole process.
    """
    sign = re.escape(delimiter)
    cell = re.compile(
        rf'(?:"([^"]*+(?:""[^"]*+)*+)"([^\r\n{sign}]*)|([^\r\n{sign}]*))({sign}|\r\n|\r|\n|\Z)'
    )
    row: list[str] = []
    for match in cell.finditer(text):
        inside, behind, plain, end = match.groups()
        row.append(plain if inside is None else inside.replace('""', '"') + behind)
        if end != delimiter:
            if match.start() == len(text) and row == [""]:
                return
            yield [] if row == [""] and inside is None else row, match.end()
            row = []


def _choose_delimiter(head: str, name: str) -> str:
    """Return the delimiter that the name promises if the header has it, else the one sniffed."""
    promised = find_delimiter(name)
    if promised and promised in head.lstrip("\r\n").partition("\n")[0]:
        return promised
    return max(DELIMITERS, key=lambda delimiter: _measure_evenness(head, delimiter))


def _measure_evenness(head: str, delimiter: str) -> tuple[float, int]:
    """Return the share of lines with as many cells as the header, and how many these are."""
    rows = islice(_split_rows(head[:LETTERS_OF_SAMPLE], delimiter), LINES_OF_SAMPLE)
    counts = [len(row) for row, _ in rows if row] or [1]
    # A delimiter that the header lacks splits all lines evenly, into one cell each.
    if counts[0] == 1:
        return 0.0, 1
    return sum(count == counts[0] for count in counts) / len(counts), counts[0]


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
