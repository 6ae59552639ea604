"""The text of a file as UTF-8, in blocks of whole rows, with bounds on what one file may ask for.

Nothing here runs in a thread: a reader of Arrow that calls back into Python from a thread of its
own can outlive the interpreter and abort the process at exit.
"""

import codecs
import gzip
import os
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from mixpul._util.errors import TableError
from mixpul.tables._encodings import check_encoding, find_mark, guess_encoding
from mixpul.tables.formats import recognise_content
from mixpul.tables.opening import is_remote, open_bytes, show_name

__all__ = ["cut_rows", "read_text"]

BYTES_PER_PIECE = 4 * 2**20
LONGEST_ROW = 64 * 2**20
# What a packed file may become: beyond so many bytes, at most so many times its size.
FREE_BYTES, MOST_TIMES = 256 * 2**20, 200


def read_text(name: str, compression: str | None, encoding: str | None) -> Iterator[bytes]:
    """Yield pieces of the text as UTF-8, its lines ended by line feeds; guess the encoding if None.

    The warning that says what was guessed comes with the first piece that needs it.
    """
    decoder: _Decoder | None = None
    only_returns = False
    with open_bytes(name) as raw, _unpack(raw, name, compression) as source:
        size = None if compression is None or is_remote(name) else os.path.getsize(name)
        n_read = 0
        while True:
            piece = source.read(BYTES_PER_PIECE)
            n_read += len(piece)
            if size is not None and n_read > max(FREE_BYTES, MOST_TIMES * size):
                _refuse_bomb(name, n_read, size)
            if decoder is None:
                decoder = _Decoder(name, piece, encoding)
                only_returns = b"\r" in piece and b"\n" not in piece
            text = decoder.decode(piece)
            # Old spreadsheets on a Mac end lines in this way.
            yield text.replace(b"\r", b"\n") if only_returns else text
            if not piece:
                return


@contextmanager
def _unpack(raw: Any, name: str, compression: str | None) -> Iterator[Any]:
    """Undo the compression; what is wrong with it is one kind of error."""
    import pyarrow as pa

    try:
        if compression == "gzip":
            with gzip.GzipFile(fileobj=raw) as source:
                yield source
        elif compression == "zstd":
            with pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd") as source:
                yield source
        else:
            yield raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{show_name(name)} is broken: {error}; write it anew.") from error


def _refuse_bomb(name: str, n_read: int, size: int) -> NoReturn:
    raise TableError(
        f"{show_name(name)} has {size:,} bytes and unpacks to more than {n_read:,}, which tables "
        "do not do; if it is right, unpack it first and name the unpacked file."
    )


class _Decoder:
    """Bytes to UTF-8. What looks like ASCII first, and is not UTF-8 later, is guessed there."""

    def __init__(self, name: str, head: bytes, encoding: str | None) -> None:
        self.name, self.is_said = name, encoding is not None
        self.encoding = "utf-8" if encoding is None else check_encoding(encoding)
        found = find_mark(head)
        if encoding is None and found is not None:
            self.encoding = found
        # A mark does not belong to the first column name.
        if self.encoding == "utf-8" and found == "utf-8-sig":
            self.encoding = "utf-8-sig"
        self.decoder = codecs.getincrementaldecoder(self.encoding)()
        self.n_lines, self.is_ascii = 1, True
        if b"\0" in head and self.encoding.startswith("utf-8"):
            self._refuse_zeros(head)

    def decode(self, piece: bytes) -> bytes:
        """Return a piece as UTF-8; the last one is empty."""
        held = self.decoder.getstate()[0]  # a letter that the last piece has begun
        try:
            text = self.decoder.decode(piece, final=not piece).encode()
        except UnicodeError as error:
            # Letters that are UTF-8 before this one: then it is damage, not another encoding.
            before = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
            if self.is_said or not self.is_ascii or not before.isascii():
                self._refuse(error)
            self._guess(held + piece, error)
            text = self.decoder.decode(held + piece, final=not piece).encode()
        self.n_lines += text.count(b"\n")
        self.is_ascii = self.is_ascii and text.isascii()
        return text

    def _guess(self, piece: bytes, error: UnicodeError) -> None:
        encoding = guess_encoding(piece)
        if encoding is None:
            self._refuse(error)
        # From here on it counts as said: it is not guessed twice.
        self.encoding, self.is_said = encoding, True
        self.decoder = codecs.getincrementaldecoder(encoding)()
        warnings.warn(
            f"{show_name(self.name)} is not UTF-8; it is read as {encoding}, which is a guess. If "
            "letters look wrong, name the encoding (--encoding).",
            UserWarning,
            stacklevel=2,
        )

    def _refuse(self, error: UnicodeError) -> NoReturn:
        """Say where the first byte is that the encoding does not know."""
        where = ""
        if isinstance(error, UnicodeDecodeError) and error.start < len(error.object):
            line = self.n_lines + error.object[: error.start].count(b"\n")
            where = f": byte 0x{error.object[error.start]:02x} in line {line}"
        others = "latin-1 or cp1252" if self.encoding.startswith("utf-8") else "utf-8"
        raise TableError(
            f"{show_name(self.name)} is not written in {self.encoding.removesuffix('-sig')}{where};"
            f" pass its encoding (--encoding), e.g. {others}."
        ) from error

    def _refuse_zeros(self, head: bytes) -> NoReturn:
        content = recognise_content(head)
        way_out = (
            f"its content is {content}, to be read from a file with that suffix"
            if content
            else "if it is UTF-16, pass encoding 'utf-16'"
        )
        raise TableError(
            f"{show_name(self.name)} is not text in utf-8: it has zero bytes; {way_out}."
        )


def cut_rows(
    pieces: Iterator[bytes], find_end: Callable[[bytes], int], name: str
) -> Iterator[bytes]:
    """Yield the same text in blocks that end where a row ends, as `find_end` finds it."""
    rest = b""
    for piece in pieces:
        block = rest + piece
        end = find_end(block)
        rest = block[end:]
        if len(rest) > LONGEST_ROW:
            raise TableError(
                f"A row of {show_name(name, first=False)} has more than {LONGEST_ROW:,} bytes; "
                "shorten its cells, or close the quotes that one of them opens."
            )
        if end:
            yield block[:end]
    if find_end(rest + b"\n") <= len(rest):
        raise TableError(
            f"A cell of {show_name(name, first=False)} begins with a quote that is never closed; "
            "close it, or write two quotes for one."
        )
    if rest.strip():
        yield rest
