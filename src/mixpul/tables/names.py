"""Names of columns: none twice, and those that are needed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from mixpul._util.validation import list_values

__all__ = ["check_present", "check_unique", "wanted_columns"]


def check_unique(names: Sequence[str], where: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f"{where} has more than one column named {list_values(twice)}; "
            "column names must differ, rename or remove the others."
        )


def check_present(wanted: Sequence[str], names: Sequence[str], where: str) -> None:
    """Refuse a table that lacks some of the `wanted` columns; say which ones come near."""
    absent = [name for name in wanted if name not in set(names)]
    if not absent:
        return
    by_lower = {name.lower(): name for name in reversed(names)}
    near = {
        name: [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=1)]
        for name in absent
    }
    meant = [match for matches in near.values() for match in matches]
    hint = f"did you mean {list_values(meant)}?" if meant else f"it has {list_values(list(names))}"
    plural = "s" if len(absent) > 1 else ""
    raise ValueError(
        f"{where} has no column{plural} {list_values(absent)}; {hint}".rstrip(".") + "."
    )


def wanted_columns(kinds: Mapping[str, str] | None, names: list[str], where: str) -> list[str]:
    """All columns, or those that `kinds` names."""
    check_unique(names, where)
    if kinds is None:
        return names
    check_present(list(kinds), names, where)
    return list(kinds)
