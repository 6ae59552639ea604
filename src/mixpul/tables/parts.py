"""A table in many files: a folder, a glob, a list, Hive partitions, on a disk or in a store."""

import glob
import os
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from mixpul._util.errors import TableError
from mixpul._util.validation import list_values
from mixpul.tables.formats import FORMATS, TEXT_FORMATS, split_place, split_suffixes
from mixpul.tables.ids import find_id_type
from mixpul.tables.opening import find_file_system, is_remote, is_stream

__all__ = [
    "Part",
    "find_partition_types",
    "find_parts",
    "make_absolute",
    "name_parts",
    "name_targets",
]

MAGIC = re.compile(r"[*?\[]")
HIVE = re.compile(r"([^=/]+)=([^/]*)")
HIVE_MISSING = "__HIVE_DEFAULT_PARTITION__"
# Files that lie beside tables more often than they are tables.
LESS_LIKELY = {".txt", ".json", *(s for s, form in FORMATS.items() if form in ("SQLite", "DuckDB"))}


class Part(NamedTuple):
    """One file of a table.

    Attributes
    ----------
    name : str
        Its path or URL, with the sheet or query in it.
    columns : mapping of str to str or None
        What its folders say, such as day=2026-01-01; None is missing.
    """

    name: str
    columns: Mapping[str, str | None]


def find_parts(table: Any) -> list[Part]:
    """Return the files of a table in order.

    Parameters
    ----------
    table : str, path-like, or a sequence of them
        A file, a folder (all tables in it and below it), a glob such as 'lake/*.parquet', a URL.

    Returns
    -------
    list of Part

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mixpul.tables.parts import find_parts
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "day=2026-01-01"
    >>> folder.mkdir()
    >>> _ = (folder / "a.csv").write_text("x\\n1\\n")
    >>> [part.columns for part in find_parts(folder.parent)]
    [{'day': '2026-01-01'}]
    """
    if isinstance(table, str | os.PathLike):
        names = _expand(os.fspath(table))
    else:
        names = [name for one in table for name in _expand(os.fspath(one))]
        if not names:
            raise TableError("The list of tables is empty; name at least one file.")
    return [Part(name, _read_folders(name)) for name in names]


def _expand(name: str) -> list[str]:
    path, place = split_place(name)
    if is_stream(name) or place is not None:
        return [name]
    if is_remote(name):
        return _expand_remote(name)
    if Path(path).is_char_device() or Path(path).is_block_device():
        # Some have no end, such as /dev/zero.
        raise TableError(f"{name!r} is a device; a file was expected.")
    if os.path.isdir(path):
        found = [
            os.path.join(folder, file)
            for folder, _, files in os.walk(path)
            for file in files
            if not _is_hidden(os.path.relpath(os.path.join(folder, file), path))
        ]
        return _choose_tables(found, name)
    if MAGIC.search(path) and not os.path.exists(path):
        found = sorted(one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
        if not found:
            raise TableError(f"No file matches {name!r}; check the path.")
        return found
    return [name]


def _expand_remote(name: str) -> list[str]:
    system, path = find_file_system(name)
    protocol = name.partition("://")[0]

    def complete(found: Iterable[str]) -> list[str]:
        return [f"{protocol}://{one.lstrip('/') if protocol != 'file' else one}" for one in found]

    try:
        if MAGIC.search(path):
            found = sorted(one for one in system.glob(path) if system.isfile(one))
            if not found:
                raise TableError(f"No file matches {name!r}; check the path.")
            return complete(found)
        if system.isdir(path):
            found = [
                one for one in system.find(path) if not _is_hidden(posixpath.relpath(one, path))
            ]
            return complete(_choose_tables(found, name))
    except TableError:
        raise
    # Each store has errors of its own.
    except Exception as error:
        raise TableError(f"{name!r} cannot be opened: {error}") from error
    return [name]


def _is_hidden(path: str) -> bool:
    """Whether a file is no part: unfinished, or a note of the program that wrote the folder."""
    return any(piece.startswith((".", "_")) for piece in re.split(r"[/\\]", path))


def _choose_tables(files: Iterable[str], name: str) -> list[str]:
    """Return the tables among the files of a folder, which have one format."""
    by_format: dict[str, list[str]] = {}
    less_likely: list[str] = []
    for file in sorted(files):
        suffix, compression = split_suffixes(file)
        form = FORMATS.get(suffix)
        if form is None or (compression and form not in TEXT_FORMATS):
            continue
        if suffix in LESS_LIKELY:
            less_likely.append(file)
        else:
            by_format.setdefault(form, []).append(file)
    if len(by_format) > 1:
        raise TableError(
            f"The folder {name!r} holds {' and '.join(sorted(by_format))} files; name those that "
            "belong together by a glob, such as "
            f"{os.path.join(name, '*' + split_suffixes(next(iter(by_format.values()))[0])[0])!r}."
        )
    found = next(iter(by_format.values()), less_likely)
    if not found:
        raise TableError(
            f"The folder {name!r} has no table in it; tables end in {list_values(list(FORMATS))}"
        )
    return found


def _read_folders(name: str) -> dict[str, str | None]:
    folders = split_place(name)[0].replace("\\", "/").split("/")[:-1]
    matches = [match for folder in folders if (match := HIVE.fullmatch(folder))]
    values = {unquote(match[1]): unquote(match[2]) for match in matches}
    return {key: None if value == HIVE_MISSING else value for key, value in values.items()}


def make_absolute(name: str) -> str:
    """Return the name of a part for workers that run in another folder."""
    path, place = split_place(name)
    if is_remote(path) or is_stream(name):
        return name
    return os.path.abspath(path) + ("" if place is None else f"::{place}")


def find_partition_types(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the Arrow types of the columns that folders tell: whole numbers, dates or text."""
    import pyarrow as pa

    keys = dict.fromkeys(key for part in parts for key in part.columns)
    return {
        key: find_id_type([pa.array([part.columns.get(key) for part in parts], pa.string())])
        for key in keys
    }


def name_targets(parts: Sequence[Part], suffixes: Mapping[str, str]) -> list[PurePosixPath]:
    """Return a path for the scores of each part, like that of the part below their common folder.

    A suffix among `suffixes` stays; others become .parquet.
    """
    targets: list[PurePosixPath] = []
    taken: set[PurePosixPath] = set()
    for path in _find_paths(parts):
        target = path
        if split_suffixes(target.name)[0] not in suffixes:
            target = target.with_name(f"{target.name}.parquet")
        targets.append(_make_unique(target, taken))
    return targets


def name_parts(parts: Sequence[Part]) -> list[str]:
    """Return a name for each part that does not depend on where the table lies.

    That is its path below the common folder of all parts, with the sheet or query in it.

    Examples
    --------
    >>> from mixpul.tables.parts import Part, name_parts
    >>> name_parts([Part("lake/day=1/a.csv", {}), Part("lake/day=2/a.csv", {})])
    ['day=1/a.csv', 'day=2/a.csv']
    """
    names: list[str] = []
    taken: set[PurePosixPath] = set()
    for part, path in zip(parts, _find_paths(parts), strict=True):
        place = split_place(part.name)[1]
        name = path if place is None else path.with_name(f"{path.name}::{quote(place, safe='')}")
        names.append(str(_make_unique(name, taken)))
    return names


def _find_paths(parts: Sequence[Part]) -> list[PurePosixPath]:
    """Return the path of each part below their common folder."""
    paths = [split_place(part.name)[0].partition("://")[2] or part.name for part in parts]
    files = [Path(split_place(path)[0]) for path in paths]
    root = Path(os.path.commonpath([os.path.abspath(file.parent) for file in files]))
    # Folders that are columns stay, also if all parts lie in one of them.
    while HIVE.fullmatch(root.name):
        root = root.parent
    return [PurePosixPath(Path(os.path.abspath(f)).relative_to(root).as_posix()) for f in files]


def _make_unique(name: PurePosixPath, taken: set[PurePosixPath]) -> PurePosixPath:
    """Return the name, or one like it that is not taken, and take it."""
    unique, k = name, 1
    while unique in taken:
        k += 1
        unique = name.with_name(f"{k}-{name.name}")
    taken.add(unique)
    return unique
