"""The model file itself: tensors and one description in JSON, as safetensors, with a checksum."""

import os
from typing import Any

from numpy.typing import NDArray

import mixpul
from mixpul._util.errors import DamagedFile
from mixpul._util.schema import (
    Anything,
    Flag,
    ListOf,
    MapOf,
    Maybe,
    Number,
    Record,
    Text,
    check_value,
)
from mixpul._util.tensor_files import Head, checksum, read_head, read_tensors, write_tensors

__all__ = ["FORMAT", "checksum", "open_file", "read_file", "refuse", "split_names", "write_file"]

# Raise it when a file written by the new code cannot be read by the old; keep reading old ones.
FORMAT = 3
# Portfolios inside portfolios: deeper ones are nobody's.
MOST_NESTED = 5
KEY = "mixpul"


# Of a classifier, be it the whole model or a candidate of a portfolio.
OF_CLASSIFIER = {
    "class": Text(),
    # Whatever has a row of such a size was bounded by the bytes of the file before.
    "row_shape": ListOf(Number(1, 2**31 - 1, whole=True), least=1, most=4),
    "params": MapOf(Anything()),
    "learned": MapOf(Anything()),
}
OF_COLUMN = Record({"column": Text(), "kind": Text(), "used": Flag()}, {"note": Text()})
OF_TABLE = {
    "steps": ListOf(Text()),
    "params": MapOf(Anything()),
    "learned": Record({}, {"report_": ListOf(OF_COLUMN)}),
}
WHOLE = Record(
    {"format": Number(1, whole=True), "version": Text(), **OF_CLASSIFIER},
    # Files of the first versions have neither.
    {"info": MapOf(Anything()), "table": Maybe(Record(OF_TABLE)), "sha256": Text()},
)


def write_file(
    path: str | os.PathLike, tensors: dict[str, NDArray], description: dict[str, Any]
) -> None:
    """Write a file, whole or not at all."""
    write_tensors(path, KEY, tensors, description)


def read_file(path: str | os.PathLike) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return the content of a file, if it is whole."""
    # The head first: a newer format may count its checksum differently.
    open_file(path)
    try:
        return read_tensors(path, KEY)
    except DamagedFile as error:
        raise refuse(path, "broken", error) from error


def open_file(path: str | os.PathLike) -> Head:
    """Return the head of a file: its description, and each tensor's type and shape."""
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"There is no model file {name!r}.")
    try:
        head = read_head(name, KEY)
    except DamagedFile as error:
        raise refuse(path, "broken, truncated or not a mixpul model file", error) from error
    description = head.description
    try:
        check_value(description, Record({"format": Number(1, whole=True)}))
    except DamagedFile as error:
        raise refuse(path, "a safetensors file, but not a mixpul model", error) from error
    if description["format"] > FORMAT:
        raise DamagedFile(
            f"{name!r} has format {description['format']}; this mixpul ({mixpul.__version__}) "
            f"reads up to {FORMAT}. Upgrade mixpul to load it."
        )
    try:
        check_value(description, WHOLE)
        _check_members(description)
    except DamagedFile as error:
        raise refuse(path, "not a whole mixpul model file", error) from error
    return head


def split_names(tensors: dict[str, NDArray]) -> dict[str, dict[str, NDArray]]:
    """Group tensors by what stands before the first dot of their names, in one pass."""
    groups: dict[str, dict[str, NDArray]] = {}
    for name, tensor in tensors.items():
        first, _, rest = name.partition(".")
        groups.setdefault(first, {})[rest] = tensor
    return groups


def refuse(path: str | os.PathLike, what: str, error: Exception) -> DamagedFile:
    """Make the exception that names the file, what it is, and the reason in one sentence."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DamagedFile(f"{os.fspath(path)!r} is {what}: {reason}")


def _check_members(description: dict[str, Any], depth: int = 0) -> None:
    """Check the descriptions of the members of a portfolio like that of a whole model."""
    members = description["learned"].get("members_", {})
    if not isinstance(members, dict) or depth > MOST_NESTED:
        raise DamagedFile("its members are not a portfolio.")
    for name, member in members.items():
        try:
            check_value(member, Record(OF_CLASSIFIER))
            _check_members(member, depth + 1)
        except DamagedFile as error:
            raise DamagedFile(f"of the candidate {name!r}, {error}") from None
