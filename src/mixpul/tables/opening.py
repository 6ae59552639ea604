"""Where a table is: a file, a stream, or a URL."""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, cast

from mixpul._util.errors import MissingTable, TableError

__all__ = [
    "find_file_system",
    "is_remote",
    "is_stream",
    "open_bytes",
    "open_for_arrow",
    "show_name",
]


def is_stream(name: Any) -> bool:
    """Whether it can be read only once, as standard input or a named pipe; a list cannot."""
    if not isinstance(name, str | os.PathLike):
        return False
    return name == "-" or Path(name).is_fifo()


def is_remote(name: str) -> bool:
    """Whether it is a URL, such as s3://bucket/table.parquet."""
    return "://" in name


def show_name(name: str, *, first: bool = True) -> str:
    """Return a file for a sentence, as its first word or later."""
    return ("Standard input" if first else "standard input") if name == "-" else repr(name)


def open_bytes(name: str) -> AbstractContextManager[Any]:
    """Open a file, a URL or standard input to read bytes."""
    if name == "-":
        if sys.stdin is None:
            raise TableError("Standard input is closed; name a file instead of '-'.")
        return nullcontext(sys.stdin.buffer)  # which stays open
    if not is_remote(name):
        return open(name, "rb")
    system, path = find_file_system(name)
    try:
        return system.open(path, "rb")
    except FileNotFoundError as error:
        raise MissingTable(f"There is no file {name!r}; check the path.") from error
    # Each store has errors of its own.
    except Exception as error:
        raise TableError(f"{name!r} cannot be opened: {error}") from error


def open_for_arrow(name: str) -> AbstractContextManager[Any]:
    """Open the same for Arrow, which reads files of this machine by itself.

    From a file of Python it would ask for Python's lock at each read, and wait for it while other
    threads compute: reading took twice as long beside them.
    """
    if name == "-" or is_remote(name):
        return open_bytes(name)
    import pyarrow as pa

    open(name, "rb").close()  # whose errors say what is wrong in words that are known
    return cast("AbstractContextManager[Any]", pa.OSFile(os.fspath(name)))


def find_file_system(name: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError as error:
        raise ImportError(
            f"{name!r} is opened through fsspec: pip install fsspec, and what its store needs, "
            "such as s3fs or gcsfs."
        ) from error
    try:
        return fsspec.core.url_to_fs(name)
    except ImportError as error:  # the message names the package
        raise ImportError(f"{name!r} cannot be opened: {error}") from error
    except Exception as error:
        raise TableError(f"{name!r} cannot be opened: {error}") from error
