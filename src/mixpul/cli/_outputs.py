"""Files to write: refused before any work if they could not be written after it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from mixpul._util.files import FULL, check_place, find_target

__all__ = ["check_outputs", "check_result_folder", "explain_full_disk"]


def check_outputs(
    paths: Sequence[Path], inputs: Sequence[str | Sequence[str]], force: bool
) -> None:
    """Refuse files that could not be written, or that are there already."""
    # Imported here: it takes seconds, --help should not.
    from mixpul.tables.formats import split_place
    from mixpul.tables.parts import find_parts

    # An input may be many files.
    files = [split_place(part.name)[0] for one in inputs for part in find_parts(one)]
    for path in paths:
        find_target(path)
        # Before --force is looked at: not even that may replace an input.
        if path.exists() and any(os.path.exists(file) and path.samefile(file) for file in files):
            raise ValueError(
                f"{str(path)!r} is an input of this command; name another file to write."
            )
        if path.exists() and not force:
            raise FileExistsError(f"{str(path)!r} exists; pass --force to replace it.")
        check_place(path)
    if len({path.resolve() for path in paths}) < len(paths):
        raise typer.BadParameter("The model and the page cannot be the same file.")


def check_result_folder(path: Path) -> None:
    """Refuse a folder that is a file, or that could not be made."""
    # Not Path.resolve: it raises another error for links that lead in a circle.
    place = Path(os.path.realpath(path))
    try:
        is_there = os.path.isdir(place) or bool(os.stat(place))
    except FileNotFoundError:
        is_there = False
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise ValueError(f"{str(path)!r} cannot be a folder of results: {reason}.") from error
    if is_there and not place.is_dir():
        raise ValueError(f"{str(path)!r} is a file; name a folder for the results.")
    if not place.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(place.parent)!r} to make {path.name!r} in; create it first."
        )
    # A file in it, or the folder itself beside others, must be possible.
    check_place(place / "comparison.json" if is_there else place)


@contextmanager
def explain_full_disk(
    what: str, way_out: str = "Nothing is left of it; make room and run the command again."
) -> Iterator[None]:
    """Say what was not written, and what to do, if the disk is full within the block."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        reason = os.strerror(error.errno)
        raise OSError(f"{what} was not written: {reason}. {way_out}") from error
