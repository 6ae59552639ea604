"""What was found out on a user's own table as a page: how good is it, and where do we cut?

A page carries what it shows as JSON, the same that `--json` prints, and its script reads it.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from mixpul import __version__
from mixpul.pages.answer import answer, unknown
from mixpul.pages.figures import (
    MOST_BARS,
    cut_panels,
    importance_chart,
    leaderboard,
    training_panels,
)
from mixpul.pages.numbers import (
    Assessment,
    count,
    is_impossible,
    nearest,
    percent,
    readout,
    score_text,
    thousandths,
)
from mixpul.pages.render import render

__all__ = ["comparison_page", "table_page"]

# The suggested cuts: what a button says, and why one would want it.
CUTS = {
    "default": ("default", "Where the classifier itself draws the line."),
    "prior": ("as many as expected", "Flags as many as there should be positives."),
    "recall_90": ("finds 90 %", "The highest cut that still finds nine positives out of ten."),
    "f1": ("best F1", "The best balance of recall and precision."),
}
VERDICTS = {"good": ("✓", "fine"), "caution": ("!", "look closer"), "bad": ("✗", "problem")}
LONGEST_TEXT = 44


def table_page(assessment: Assessment, *, thumbnails: Mapping[str, str] | None = None) -> str:
    """An assessment as one HTML page that loads nothing.

    Parameters
    ----------
    assessment : dict
        What `mixpul fit --json` or `mixpul fit-images --json` prints: plain values, with None for
        what is not known. NaN and infinity are refused, JSON has neither.
    thumbnails : dict, optional
        Of pictures: ``data:`` addresses to show for the names in ``"top"`` and ``"bottom"``.

    Returns
    -------
    str
        The page. It holds the whole assessment as JSON in the element with the id 'assessment'.

    Examples
    --------
    >>> from mixpul import MixPULClassifier, datasets
    >>> from mixpul.assess import assess
    >>> from mixpul.pages import table_page
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.3, random_state=0)
    >>> found = assess(MixPULClassifier(n_epochs=3), pu.X, pu.s)
    >>> page = table_page(found.to_dict())
    >>> "Where to cut" in page
    True
    """
    default = assessment["suggested"].get("default")
    points = assessment["thresholds"]["threshold"]
    start = nearest(points, 0.5 if default is None else default)
    return render(
        "table.html.j2",
        a=assessment,
        embedded=_embedded(assessment),
        answer=answer(assessment, start),
        unknown=unknown(assessment),
        checks=_checks(assessment["checks"]),
        start=start,
        now=readout(assessment, start),
        is_impossible=is_impossible(assessment, start),
        cuts=_cuts(assessment),
        panels=cut_panels(assessment, start),
        training=training_panels(assessment["history"]),
        importance=importance_chart(assessment["importance"]),
        top_columns=_columns(assessment["top"]),
        top_csv=_top_csv(assessment),
        thumbnails=thumbnails or {},
        percent=percent,
        count=count,
        score_text=score_text,
        most_bars=MOST_BARS,
        clipped=_clipped,
        clipped_name=_clipped_name,
    )


def comparison_page(
    comparison: Mapping[str, Any], *, source: str | None = None, command: str | None = None
) -> str:
    """A comparison of methods as one HTML page that loads nothing.

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
    >>> from mixpul.pages import comparison_page
    >>> auc = {"value": 0.8, "se": 0.01, "low": 0.78, "high": 0.82}
    >>> pnu = {"method": "pnu", "pu_auc": auc, "behind": None, "seconds": 0.3, "failure": None}
    >>> found = {"methods": [pnu], "recommended": "pnu", "sure": None, "folds": 5, "seed": 0,
    ...          "text": "Only pnu was fitted."}
    >>> "<strong>pnu</strong>" in comparison_page(found, source="leads.csv")
    True
    """
    ranked = [one for one in comparison["methods"] if one["pu_auc"] is not None]
    return render(
        "compare.html.j2",
        c=comparison,
        embedded=_embedded(comparison),
        ranked=ranked,
        failed=[one for one in comparison["methods"] if one["failure"]],
        chart=leaderboard(ranked, comparison["recommended"]),
        number=thousandths,
        source=source,
        command=command,
        version=__version__,
    )


class Check(NamedTuple):
    """A check in words."""

    verdict: str
    icon: str
    word: str
    name: str
    text: str


def _checks(checks: Iterable[Mapping[str, str]]) -> list[Check]:
    """Problems first."""
    order = ("bad", "caution", "good")
    found = [Check(c["verdict"], *VERDICTS[c["verdict"]], c["name"], c["text"]) for c in checks]
    return sorted(found, key=lambda check: order.index(check.verdict))


class Cut(NamedTuple):
    """A cut worth offering: its place among the points and what it gives."""

    key: str
    name: str
    why: str
    place: int
    gives: dict[str, str]


def _cuts(a: Assessment) -> list[Cut]:
    """From the lowest to the highest, as the slider has them."""
    found = []
    for key, value in a["suggested"].items():
        if value is not None:
            place = nearest(a["thresholds"]["threshold"], value)
            name, why = CUTS.get(key, (key, ""))
            found.append(Cut(key, name, why, place, readout(a, place)))
    return sorted(found, key=lambda cut: cut.place)


def _columns(top: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns that rows are shown with; pictures have none."""
    return list(top[0].get("values", ())) if top else []


def _top_csv(a: Assessment) -> str:
    """The rows as an address that a link can offer as a file."""
    rows, columns = a["top"], _columns(a["top"])
    if not rows:
        return ""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    heading = a["data"].get("id")
    heading = a["data"]["unit"] if heading is None else heading
    writer.writerow(map(_inert, [heading, "score", *columns]))
    for row in rows:
        values = [row["values"].get(column, "") for column in columns]
        writer.writerow([_inert(row["id"]), row["score"], *map(_inert, values)])
    # The mark at the front tells spreadsheets that it is UTF-8.
    return "data:text/csv;charset=utf-8," + quote("\ufeff" + file.getvalue())


def _inert(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets an apostrophe in front."""
    text = str(value)
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return value


def _embedded(content: Mapping[str, Any]) -> Markup:
    """JSON that is safe within <script>: no <, > or & is left as it is."""
    return htmlsafe_json_dumps(content, allow_nan=False, sort_keys=False)


def _clipped(value: Any) -> Markup:
    """A cell of the user's table: cut if long, the rest on demand, and never in charge of its
    surroundings, whatever direction it is written in."""
    text = str(value)
    if len(text) <= LONGEST_TEXT:
        return Markup("<bdi>{}</bdi>").format(text)
    return Markup('<bdi title="{}">{}…</bdi>').format(text[:400], text[: LONGEST_TEXT - 1].rstrip())


def _clipped_name(name: str) -> Markup:
    """A path, of which the end tells more than the beginning."""
    shown = name if len(name) <= LONGEST_TEXT else f"…{name[1 - LONGEST_TEXT :]}"
    return Markup('<bdi title="{}">{}</bdi>').format(name, shown)
