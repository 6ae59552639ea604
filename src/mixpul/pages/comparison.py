"""The page of a comparison: which method ranks best on these rows?"""

from collections.abc import Mapping
from typing import Any

from mixpul import __version__
from mixpul.pages.figures import draw_leaderboard
from mixpul.pages.numbers import format_thousandths
from mixpul.pages.render import embed_json, render

__all__ = ["render_comparison_page"]


def render_comparison_page(
    comparison: Mapping[str, Any], *, source: str | None = None, command: str | None = None
) -> str:
    """Write a comparison of methods as one HTML page that loads nothing.

    Parameters
    ----------
    comparison : dict
        What `mixpul compare --json` prints; the page holds it in the element 'comparison'.
    source : str, optional
        The name of the table.
    command : str, optional
        How the comparison was made.

    Examples
    --------
    >>> from mixpul.pages import render_comparison_page
    >>> auc = {"value": 0.8, "se": 0.01, "low": 0.78, "high": 0.82}
    >>> pnu = {"method": "pnu", "pu_auc": auc, "behind": None, "seconds": 0.3, "failure": None}
    >>> found = {"methods": [pnu], "recommended": "pnu", "sure": None, "folds": 5, "seed": 0,
    ...          "text": "Only pnu was fitted."}
    >>> "<strong>pnu</strong>" in render_comparison_page(found, source="leads.csv")
    True
    """
    ranked = [one for one in comparison["methods"] if one["pu_auc"] is not None]
    return render(
        "comparison.html.j2",
        c=comparison,
        embedded=embed_json(comparison),
        ranked=ranked,
        failed=[one for one in comparison["methods"] if one["failure"]],
        chart=draw_leaderboard(ranked, comparison["recommended"]),
        number=format_thousandths,
        source=source or "A table",
        command=command,
        version=__version__,
    )
