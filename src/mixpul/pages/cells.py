"""What comes from a user's own table: text for cells, and rows as a file to download.

Such text is never trusted: pages escape it, and spreadsheets must not run it.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from mixpul._util.spreadsheets import disarm_formula

__all__ = ["clip_path", "clip_text", "link_csv", "list_columns"]

LONGEST_TEXT = 44


def clip_text(value: Any) -> Markup:
    """Shorten a long text, with more of it in a tooltip.

    <bdi> keeps text of any direction from reordering what stands around it.
    """
    text = str(value)
    if len(text) <= LONGEST_TEXT:
        return Markup("<bdi>{}</bdi>").format(text)
    return Markup('<bdi title="{}">{}…</bdi>').format(text[:400], text[: LONGEST_TEXT - 1].rstrip())


def clip_path(name: str) -> Markup:
    """Shorten a path at its front: its end tells more than its beginning."""
    shown = name if len(name) <= LONGEST_TEXT else f"…{name[1 - LONGEST_TEXT :]}"
    return Markup('<bdi title="{}">{}</bdi>').format(name, shown)


def list_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the columns that rows are shown with; images have none."""
    return list(rows[0].get("values", ())) if rows else []


def link_csv(rows: Sequence[Mapping[str, Any]], heading: Any) -> str:
    """Write rows as an address that a link can offer as a file.

    `heading` is the name of the column that holds the ids.
    """
    if not rows:
        return ""
    columns = list_columns(rows)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(map(disarm_formula, [heading, "score", *columns]))
    for row in rows:
        values = [row["values"].get(column, "") for column in columns]
        writer.writerow([disarm_formula(row["id"]), row["score"], *map(disarm_formula, values)])
    # The mark at the front tells spreadsheets that it is UTF-8.
    return "data:text/csv;charset=utf-8," + quote("\ufeff" + file.getvalue())
