"""How many rows a table may have, without reading all of it."""

from collections.abc import Sequence
from typing import Any

from mixpul.tables.formats import TEXT_FORMATS, find_format, split_place
from mixpul.tables.opening import is_remote, is_stream, open_bytes
from mixpul.tables.parts import Part, find_parts

__all__ = ["has_at_most"]

BYTES_PER_PIECE = 2**24


def has_at_most(table: Any, n_rows: int) -> bool:
    """Tell whether a table surely has no more rows than that; False if it is not known.

    Parquet files say it. Lines of text are counted until there are too many.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mixpul.tables.counting import has_at_most
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("name,age\\nAda,36\\nAlan,41\\n")
    >>> has_at_most(path, 2), has_at_most(path, 1)
    (True, False)
    """
    if is_stream(table):
        return False
    for part in find_parts(table):
        n_rows -= _count_rows(part, n_rows)
        if n_rows < 0:
            return False
    return True


def _count_rows(part: Part, most: int) -> int:
    """Return the number of rows; if it is larger than `most` or not known, one that is larger."""
    name, place = split_place(part.name)
    form, compression = find_format(name)
    if form == "Parquet":
        return _count_parquet(name)
    is_plain = form in TEXT_FORMATS and place is None and compression is None
    return _count_lines(name, most) if is_plain else most + 1


def _count_parquet(name: str) -> int:
    import pyarrow.parquet as pq

    from mixpul.tables._explaining import explain_errors

    with (
        explain_errors(name, "Parquet"),
        open_bytes(name) as file,
        pq.ParquetFile(file, pre_buffer=False) as opened,
    ):
        return int(opened.metadata.num_rows)


def _count_lines(name: str, most: int) -> int:
    """Return the number of lines below the first one, or one that is larger than `most`."""
    if is_remote(name):  # reading it twice would cost more than counting saves
        return most + 1
    n_lines, last = 0, b"\n"
    ends: Sequence[bytes] = (b"\n", b"\r")
    with open_bytes(name) as file:
        while piece := file.read(BYTES_PER_PIECE):
            n_lines += max(piece.count(end) for end in ends)
            last = piece[-1:]
            if n_lines > most + 1:
                return most + 1
    # The first line has the names; the last one may lack its end.
    return max(n_lines - 1 + (last not in ends), 0)
