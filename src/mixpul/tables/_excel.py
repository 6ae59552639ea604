"""Sheets of Excel files (.xlsx)."""

import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Any
from xml.parsers import expat

from mixpul._util.errors import TableError
from mixpul._util.validation import list_values
from mixpul.tables._cells import ROWS_PER_CHUNK, Chunk
from mixpul.tables.names import check_unique
from mixpul.tables.opening import open_bytes

__all__ = ["read_excel"]

# What the parts of a file may unpack to, as for packed text: a free amount, then times its size.
FREE_BYTES, MOST_TIMES = 256 * 2**20, 200
# The reader makes room for each cell of the rectangle that a sheet fills.
FREE_CELLS, MOST_TIMES_CELLS = 10_000_000, 3
SHEET = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)
PLACE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
SMALL_ENOUGH = 2.0**53


def read_excel(name: str, sheet: str | None) -> Iterator[Chunk]:
    """Yield the rows of a sheet in chunks; its first row that is not empty names the columns."""
    try:
        import python_calamine
    except ImportError as error:
        raise ImportError(
            "Excel files are read through python-calamine: pip install 'mixpul[excel]'."
        ) from error
    with open_bytes(name) as file:
        _check_size(file, name)
        file.seek(0)
        try:
            book = python_calamine.CalamineWorkbook.from_filelike(file)
            chosen = _choose_sheet(book, name, sheet)
            cells = book.get_sheet_by_name(chosen)
            first_column = (cells.start or (0, 0))[1]
            where = f"The sheet {chosen!r} of {name!r}"
            yield from _make_chunks(cells.iter_rows(), first_column, where)
        except TableError:
            raise
        # Its own errors, those of Python's files, and panics of Rust, which are BaseExceptions.
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
                raise
            message = " ".join(str(error).split())[:200]
            raise TableError(f"{name!r} is broken or not an Excel file: {message}") from error


def _check_size(file: Any, name: str) -> None:
    """Refuse what would unpack to far more than there is, before it is unpacked into memory."""
    try:
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
            packed = sum(part.compress_size for part in parts)
            unpacked = sum(part.file_size for part in parts)
            if unpacked > max(FREE_BYTES, MOST_TIMES * packed):
                raise TableError(
                    f"{name!r} has {packed:,} bytes and unpacks to {unpacked:,}, which sheets do "
                    "not do; save it anew, or as CSV."
                )
            for part in parts:
                # To its end: what has another size than it says is an error here.
                with archive.open(part) as stream:
                    if SHEET.fullmatch(part.filename):
                        _check_rectangle(stream, f"The sheet {part.filename!r} of {name!r}")
                    while stream.read(2**20):
                        pass
    except TableError:
        raise
    # zipfile lets errors of many kinds through: of zlib, of file names, of XML.
    except Exception as error:
        message = " ".join(str(error).split())[:200]
        raise TableError(f"{name!r} is broken or not an Excel file: {message}") from error


def _check_rectangle(stream: Any, where: str) -> None:
    """Refuse a sheet with few cells far apart."""
    n_cells = last_row = last_column = 0

    def see(tag: str, attributes: dict[str, str]) -> None:
        nonlocal n_cells, last_row, last_column
        if tag.rpartition(":")[2] != "c":
            return
        n_cells += 1
        if match := PLACE.fullmatch(attributes.get("r", "")):
            column = 0
            for letter in match[1].upper():
                column = 26 * column + ord(letter) - 64
            last_column, last_row = max(last_column, column), max(last_row, int(match[2]))

    parser = expat.ParserCreate()
    parser.StartElementHandler = see
    parser.ParseFile(stream)
    if last_row * last_column > max(FREE_CELLS, MOST_TIMES_CELLS * n_cells):
        raise TableError(
            f"{where} has {n_cells:,} cells, but they reach over {last_row:,} rows and "
            f"{last_column:,} columns; delete the cells far away, or save it as CSV."
        )


def _choose_sheet(book: Any, name: str, asked: str | None) -> str:
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    sheets = [one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
    names = [one.name for one in sheets]
    if asked:
        if asked in names:
            return asked
        raise TableError(f"{name!r} has no sheet {asked!r}; it has {list_values(names)}.")
    visible = [one.name for one in sheets if one.visible == SheetVisibleEnum.Visible] or names
    if not visible:
        raise TableError(f"{name!r} has no sheet with cells.")
    if len(visible) > 1:
        warnings.warn(
            f"{name!r} has {len(visible)} sheets; {visible[0]!r} is read. For another one add its "
            f"name: '{name}::{visible[1]}'.",
            UserWarning,
            stacklevel=2,
        )
    return str(visible[0])


def _make_chunks(rows: Iterator[list[Any]], first_column: int, where: str) -> Iterator[Chunk]:
    filled = (row for row in rows if any(cell != "" for cell in row))
    header = next(filled, None)
    if header is None:
        raise TableError(f"{where} is empty; a row of column names was expected.")
    if all(isinstance(cell, float) for cell in header if cell != ""):
        raise TableError(
            f"{where} has no header: every cell of its first row is a number "
            f"({list_values(list(map(str, header)))}); write the column names as the first row."
        )
    names = _name_columns(header, first_column)
    while chunk := list(islice(filled, ROWS_PER_CHUNK)):
        columns = list(zip_longest(*chunk, fillvalue=""))
        # Cells without a name beside the table are often empty.
        used = [j for j in range(len(names)) if header[j] != "" or any(c != "" for c in columns[j])]
        check_unique([names[j] for j in used], where)
        yield {names[j]: _make_whole(columns[j]) for j in used}


def _name_columns(header: list[Any], first_column: int) -> list[str]:
    """Return the names; a column without one is called by its letter."""
    names = []
    for j, cell in enumerate(header):
        if isinstance(cell, float) and cell.is_integer():
            cell = int(cell)
        names.append(str(cell).strip() or f"column {_write_letter(first_column + j)}")
    return names


def _write_letter(j: int) -> str:
    return ("" if j < 26 else _write_letter(j // 26 - 1)) + chr(65 + j % 26)


def _make_whole(cells: Sequence[Any]) -> list[Any]:
    """Return whole numbers as such: Excel itself knows floats only."""
    return [
        int(c) if isinstance(c, float) and abs(c) < SMALL_ENOUGH and c.is_integer() else c
        for c in cells
    ]
