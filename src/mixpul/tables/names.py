"""Names of columns: none twice, and those that are needed.

Names are compared as text everywhere: files and command lines know no others, and a data frame
may number its columns.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from mixpul._util.errors import MissingColumn, TableError
from mixpul._util.validation import list_values

__all__ = ["as_texts", "check_present", "check_unique", "choose_columns", "find_column"]


def as_texts(names: Iterable[Any]) -> list[str]:
    """Return names of columns as text."""
    return [str(name) for name in names]


def check_unique(names: Sequence[Any], where: str) -> None:
    """Refuse a table with two columns of one name."""
    twice = [name for name, count in Counter(as_texts(names)).items() if count > 1]
    if twice:
        raise TableError(
            f"{where} has more than one column named {list_values(twice)}; "
            "column names must differ, rename or remove the others."
        )


def check_present(wanted: Iterable[Any], names: Sequence[Any], where: str) -> None:
    """Refuse a table that lacks some of the `wanted` columns; say which ones come near."""
    known = as_texts(names)
    absent = [name for name in as_texts(wanted) if name not in set(known)]
    if not absent:
        return
    # Reversed: of names that differ in case only, the first one is suggested.
    by_lower = {name.lower(): name for name in reversed(known)}
    near = {
        name: [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=1)]
        for name in absent
    }
    meant = [match for matches in near.values() for match in matches]
    hint = f"did you mean {list_values(meant)}?" if meant else f"it has {list_values(known)}."
    plural = "s" if len(absent) > 1 else ""
    raise MissingColumn(f"{where} has no column{plural} {list_values(absent)}; {hint}")


def find_column(name: Any, names: Sequence[Any], where: str) -> int:
    """Return the place of the one column that has this name."""
    check_present([name], names, where)
    known = as_texts(names)
    check_unique([known_name for known_name in known if known_name == str(name)], where)
    return known.index(str(name))


def choose_columns(kinds: Mapping[Any, str] | None, names: list[str], where: str) -> list[str]:
    """Return all columns, or those that `kinds` names."""
    check_unique(names, where)
    if kinds is None:
        return names
    check_present(kinds, names, where)
    return as_texts(kinds)
