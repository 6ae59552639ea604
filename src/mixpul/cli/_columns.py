"""What became of the columns of a table, in sentences for the terminal."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["describe_columns"]


def describe_columns(report: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for columns that were left out or not read as they stand.

    Columns of which the same is to be said share a sentence.

    Examples
    --------
    >>> describe_columns(
    ...     [
    ...         {"column": "price", "used": True, "read_as": "money"},
    ...         {"column": "key", "used": False, "note": "looks like an id", "kept_by": "category"},
    ...     ]
    ... )
    ['price: money.', 'key left out: looks like an id; --category key keeps it.']
    """
    said: dict[tuple[str, str | None], list[str]] = {}
    for entry in report:
        # Model files of earlier versions do not have these entries.
        if not entry["used"]:
            note = entry["note"]
            words = f" {note}" if note.startswith("left out") else f" left out: {note}"
            said.setdefault((words, entry.get("kept_by")), []).append(entry["column"])
        elif entry.get("read_as"):
            said.setdefault((f": {entry['read_as']}", None), []).append(entry["column"])
    sentences = []
    for (words, kept_by), names in said.items():
        way_out = f"; --{kept_by} {shlex.quote(names[0])} keeps it" if kept_by else ""
        sentences.append(f"{', '.join(names)}{words}{way_out}.")
    # What is lost matters more than how the rest was read.
    return sorted(sentences, key=lambda sentence: " left out" in sentence)
