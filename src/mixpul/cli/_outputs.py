"""Files to write: refused before any work if they could not be written after it."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

__all__ = ["check_outputs", "check_result_folder", "explain_full_disk"]


def check_outputs(paths: Sequence[Path], inputs: Sequence[str], force: bool) -> None:
    """Refuse files that could not be written, or that are there already."""
    # Imported here: it takes seconds, --help should not.
    from mixpul.tables.formats import split_place

    files = [split_place(name)[0] for name in inputs]
    for path in paths:
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"There is no folder {str(path.parent)!r} to write {path.name!r} into; create it "
                "first."
            )
        # Before --force is looked at: not even that may replace an input.
        if path.exists() and any(os.path.exists(file) and path.samefile(file) for file in files):
            raise ValueError(
                f"{str(path)!r} is an input of this command; name another file to write."
            )
        # Files are written by renaming, which would replace a device such as /dev/null.
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise ValueError(f"{str(path)!r} is a folder or a device; name a file to write.")
        if path.exists() and not force:
            raise FileExistsError(f"{str(path)!r} exists; pass --force to replace it.")
        # The folder counts, not the file: a new file takes the place of the old one.
        if not os.access(path.parent, os.W_OK):
            raise PermissionError(f"The folder {str(path.parent)!r} is not writable.")
    if len({path.resolve() for path in paths}) < len(paths):
        raise typer.BadParameter("The model and the page cannot be the same file.")


def check_result_folder(path: Path) -> None:
    """Refuse a folder that is a file, or that could not be made."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{str(path)!r} is a file; name a folder for the results.")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(path.resolve().parent)!r} to make {path.name!r} in; create "
            "it first."
        )


@contextmanager
def explain_full_disk(
    what: str, way_out: str = "Nothing is left of it; make room and run the command again."
) -> Iterator[None]:
    """Say what was not written, and what to do, if the disk is full within the block."""
    try:
        yield
    except OSError as error:
        # A quota and a limit on file sizes end a write in the same way as a full disk.
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        reason = os.strerror(error.errno)
        raise OSError(f"{what} was not written: {reason}. {way_out}") from error
