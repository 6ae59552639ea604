"""A page to check rows one at a time; it saves the answers as the queue with its verdicts."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from mixpul.pages.render import embed_json, render

__all__ = ["render_review_page"]


def render_review_page(
    queue: Mapping[str, Any],
    *,
    source: str | None = None,
    images: Sequence[str | None] | None = None,
) -> str:
    """Write rows to check as one HTML page that loads nothing.

    Parameters
    ----------
    queue : dict
        ``"id_column"`` or None, the columns ``"shown"``, and ``"lines"``, a dict of texts for each
        row: what `mixpul.assess.queues.make_queue` returns. The CSV file that the page saves has
        the same columns in the same order, with answers in ``"verdict"``.
    source : str, optional
        The name of the table, or of the folder.
    images : sequence of str or None, optional
        Where rows are images: for each a ``data:`` address to show, or None.

    Returns
    -------
    str

    Examples
    --------
    >>> from mixpul.pages import render_review_page
    >>> line = {"mixpul_row": "7", "age": "36", "verdict": ""}
    >>> page = render_review_page({"id_column": None, "shown": ["age"], "lines": [line]})
    >>> "Is this row positive?" in page
    True
    """
    lines = [dict(line) for line in queue["lines"]]
    columns = list(lines[0])
    rows = [list(line.values()) for line in lines]
    return render(
        "review.html.j2",
        source=source or ("A table" if images is None else "Images"),
        unit="row" if images is None else "image",
        n_rows=len(rows),
        data=embed_json(
            {
                # Answers are kept under this name: another queue has other ones.
                "key": "mixpul-review-" + _digest(rows),
                "columns": columns,
                "rows": rows,
                "id": queue["id_column"],
                "shown": list(queue["shown"]),
                "images": None if images is None else list(images),
            }
        ),
    )


def _digest(rows: list[list[str]]) -> str:
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]
