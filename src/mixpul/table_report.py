"""What was found out on a user's own table as a page: how good is it, and where do we cut?

A page carries what it shows as JSON, the same that `--json` prints, and its script reads it.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from mixpul import __version__, charts
from mixpul.report import render
from mixpul.report._figures import terms

__all__ = ["comparison_page", "readout", "table_page"]

Assessment = Mapping[str, Any]

RATES = ("recall", "precision", "f1")
# The suggested cuts: what a button says, and why one would want it.
CUTS = {
    "default": ("default", "Where the classifier itself draws the line."),
    "prior": ("as many as expected", "Flags as many rows as there should be positives."),
    "recall_90": ("finds 90 %", "The highest cut that still finds nine positives out of ten."),
    "f1": ("best F1", "The best balance of recall and precision."),
}
VERDICTS = {"good": ("✓", "fine"), "caution": ("!", "look closer"), "bad": ("✗", "problem")}
# The share of pairs in which a positive comes before a negative, and what to call it.
GRADES = ((0.9, "very well"), (0.75, "well"), (0.6, "only fairly well"), (-math.inf, "poorly"))
# What training curves are curves of; other methods have terms of their own.
TERMS = {
    "L_PN": "L_PN, positives and negatives",
    "L_U": "L_U, mixtures of unlabeled rows",
    "L_PU": "L_PU, positives above unlabeled",
}
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
LONGEST_TEXT = 44
MOST_BARS = 15
UNKNOWN = "–"


def table_page(assessment: Assessment) -> str:
    """An assessment as one HTML page that loads nothing.

    Parameters
    ----------
    assessment : dict
        What `mixpul fit --json` prints: plain values, with None for what is not known. NaN and
        infinity are refused, JSON has neither.

    Returns
    -------
    str
        The page. It holds the whole assessment as JSON in the element with the id 'assessment'.

    Examples
    --------
    >>> from mixpul import MixPULClassifier, datasets
    >>> from mixpul.assess import assess
    >>> from mixpul.table_report import table_page
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
        answer=_answer(assessment, start),
        unknown=_unknown(assessment),
        checks=_checks(assessment["checks"]),
        start=start,
        now=readout(assessment, start),
        is_impossible=_is_impossible(assessment, start),
        cuts=_cuts(assessment),
        panels=_cut_panels(assessment, start),
        training=_training_panels(assessment["history"]),
        importance=_importance(assessment["importance"]),
        top_columns=list(assessment["top"][0]["values"]) if assessment["top"] else [],
        top_csv=_top_csv(assessment),
        percent=percent,
        count=count,
        score_text=score_text,
        most_bars=MOST_BARS,
        clipped=_clipped,
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
    >>> from mixpul.table_report import comparison_page
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
        chart=_leaderboard(ranked, comparison["recommended"]),
        number=_thousandths,
        source=source,
        command=command,
        version=__version__,
    )


def readout(assessment: Assessment, place: int) -> dict[str, str]:
    """What the page says of the cut at `place` of the 200: every number as it is shown.

    The script of the page does the same sums when the slider moves.
    """
    curves, data = assessment["thresholds"], assessment["data"]
    at = {
        name: {part: curves[name][part][place] for part in ("value", "low", "high")}
        for name in (*RATES, "flagged")
    }
    n_flagged = _whole(at["flagged"]["value"] * data["unlabeled"])
    n_positive = assessment["prior"]["used"] * data["unlabeled"]
    recall, precision = at["recall"]["value"], at["precision"]["value"]
    shown = {"cut": cut_text(curves["threshold"][place])}
    for name in RATES:
        shown[name] = percent(at[name]["value"])
        shown[f"{name}_span"] = span(at[name]["low"], at[name]["high"])
    return shown | {
        "flagged": f"{n_flagged:,}",
        "flagged_share": percent(at["flagged"]["value"]),
        "flagged_span": _row_span(at["flagged"]["low"], at["flagged"]["high"], data["unlabeled"]),
        "found": count(n_flagged * min(1, precision or 0)),
        "missed": count(n_positive * max(0, 1 - recall)),
        "false_alarms": count(0 if precision is None else n_flagged * max(0, 1 - precision)),
        "exact": str(curves["threshold"][place]),
    }


def _is_impossible(assessment: Assessment, place: int) -> bool:
    """Whether more positives are expected above a cut than there are rows, beyond chance."""
    curves = assessment["thresholds"]
    most = curves["flagged"]["high"][place]
    found = assessment["prior"]["used"] * curves["recall"]["value"][place]
    return most is not None and found > most


def nearest(points: Sequence[float], value: float) -> int:
    """The number of the point that is nearest to `value`, the first of two."""
    return min(range(len(points)), key=lambda place: abs(points[place] - value))


# -- numbers as text ------------------------------------------------------------------------

# Half is rounded up, as the script does: Python alone would round it to even.


def percent(share: float | None) -> str:
    """A share with one decimal.

    >>> percent(0.8125)
    '81.3\\xa0%'
    """
    return UNKNOWN if share is None else f"{_tenths(share)}\xa0%"


def span(low: float | None, high: float | None) -> str:
    """An interval of shares."""
    return UNKNOWN if low is None or high is None else f"{_tenths(low)} to {percent(high)}"


def _row_span(low: float | None, high: float | None, n: int) -> str:
    return UNKNOWN if low is None or high is None else f"{count(low * n)} to {count(high * n)}"


def count(number: float) -> str:
    """A number of rows."""
    return f"{_whole(number):,}"


def cut_text(threshold: float) -> str:
    """A score at which to cut."""
    return f"{math.floor(1000 * threshold + 0.5) / 1000:.3f}"


def score_text(score: float) -> str:
    """The score of a row; one that is all but certain is not certain."""
    return f"{score:.4f}" if score < 0.99995 else "> 0.9999"


def _thousandths(value: float) -> str:
    # Zero is added to what rounds to -0.0.
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")


def _tenths(share: float) -> str:
    return f"{math.floor(1000 * share + 0.5) / 10:.1f}".replace("-", "−")


def _whole(number: float) -> int:
    return math.floor(number + 0.5)


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


# -- the answer -----------------------------------------------------------------------------


def _answer(a: Assessment, start: int) -> list[Markup]:
    """How well it ranks, how many positives there are, what the first cut gives."""
    return [_ranking(a), _positives(a), _first_cut(a, start)]


def _ranking(a: Assessment) -> Markup:
    pu_auc, corrected = a["pu_auc"], a["corrected_auc"]
    quality = (corrected or pu_auc)["value"]
    if quality > 1:
        grade = "too well to be true"
    elif pu_auc["low"] is not None and pu_auc["low"] <= 0.5:
        grade = "no better than chance, as far as these data can tell"
    else:
        grade = next(word for least, word in GRADES if quality >= least)
    text = Markup(
        "It ranks <strong>{}</strong>: a known positive it was not trained on scores above an "
        "unlabeled row in {} of pairs ({})"
    ).format(grade, percent(pu_auc["value"]), span(pu_auc["low"], pu_auc["high"]))
    if not corrected:
        return text + "."
    low, high = corrected["low"], corrected["high"]
    if quality > 1:
        return text + (
            f". Against truly negative rows that would make {percent(quality)}, which cannot be: "
            "a column may give the label away, or the share of positives is estimated too high."
        )
    # An interval that reaches beyond 100 % has an end that says nothing.
    around = f"at least {percent(low)}" if low is not None and (high or 0) > 1 else span(low, high)
    return text + f", and above a truly negative row in about {percent(quality)} ({around})."


def _positives(a: Assessment) -> Markup:
    prior, n = a["prior"], a["data"]["unlabeled"]
    estimate = prior.get(prior["from"])
    text = Markup(
        "Of the {} unlabeled rows about <strong>{}</strong> are probably positive"
    ).format(count(n), count(prior["used"] * n))
    if not isinstance(estimate, Mapping) or estimate["low"] is None:
        return text + f" ({percent(prior['used'])}, as given)."
    low, high = (count(estimate[end] * n) for end in ("low", "high"))
    return text + f" ({percent(prior['used'])}; {low} to {high} rows)."


def _first_cut(a: Assessment, place: int) -> Markup:
    now = readout(a, place)
    where = "the default of " if a["suggested"].get("default") is not None else ""
    return Markup(
        "Cut at {}, it flags <strong>{}</strong> of them; expect <strong>{}</strong> of the "
        "flagged to be positive ({}), and <strong>{}</strong> of all positives to be found ({})."
    ).format(
        where + now["cut"], now["flagged"], now["precision"], now["precision_span"],
        now["recall"], now["recall_span"],
    )  # fmt: skip


def _unknown(a: Assessment) -> list[str]:
    """What no number on the page can tell."""
    prior = a["prior"]
    known = {name: prior[name] for name in ("bbe", "dedpul") if prior.get(name)}
    estimates = ", ".join(
        f"{percent(one['value'])} by {name.upper()} ({span(one['low'], one['high'])})"
        for name, one in known.items()
    )
    shares = f" It was estimated as {estimates}." if estimates else ""
    return [
        "No row is known to be negative. Ranking and recall are measured on known positives that "
        "were held out; precision, F1 and the number of positives also rest on the share of "
        f"positives among the unlabeled rows.{shares}",
        "Whether the known positives are typical. If easy cases were labeled first, fewer of the "
        "others are found than it says here.",
        "Which flagged rows are right. Check some of them by hand, drawn at random: a hundred tell "
        "the precision to within ten percentage points.",
    ]


# -- checks and cuts ------------------------------------------------------------------------


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
    found = []
    for key, value in a["suggested"].items():
        if value is not None:
            place = nearest(a["thresholds"]["threshold"], value)
            name, why = CUTS.get(key, (key, ""))
            found.append(Cut(key, name, why, place, readout(a, place)))
    return found


# -- figures --------------------------------------------------------------------------------


class Panel(NamedTuple):
    """A chart with its title and legend."""

    title: str
    legend: Markup
    chart: Markup


def _cut_panels(a: Assessment, start: int) -> list[Panel]:
    """What lies on either side of the cut."""
    curves, histogram = a["thresholds"], a["histogram"]
    at = curves["threshold"][start]
    scores = [
        charts.steps(name, histogram["edges"], [100 * share for share in histogram[key]], series)
        for key, name, series in (
            ("unlabeled", "unlabeled rows", 0),
            ("positives", "known positives, held out", 1),
        )
    ]
    rates = [
        _band(curves, key, name, series)
        for key, name, series in (("recall", "recall", 1), ("precision", "precision", 2),
                                  ("f1", "F1", 3))
    ]  # fmt: skip
    flagged = [_band(curves, "flagged", "unlabeled rows above the cut", 0)]
    return [
        _panel("Who scores what", scores, "score", "% of rows", x_ticks=SHARES, cursor_at=at),
        _panel("What a cut gives", rates, "cut", "%", x_ticks=SHARES, cursor_at=at,
               y_ticks=[100 * share for share in SHARES]),
        _panel("How many are flagged", flagged, "cut", "% of unlabeled rows", x_ticks=SHARES,
               cursor_at=at, y_ticks=[100 * share for share in SHARES]),
    ]  # fmt: skip


def _training_panels(history: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Loss terms, and the held-out ranking, epoch by epoch."""
    if len(history) < 2:
        return []
    names = [name for name in history[0] if name not in ("epoch", "pu_auc", "loss")]
    losses = [
        _curve(history, name, terms(TERMS.get(name, name)), series)
        for series, name in enumerate(names or ["loss"])
    ]
    ranking = _curve(history, "pu_auc", "held-out PU-AUC", 0)
    panels = []
    if any(len(line.x) for line in losses):
        panels.append(_panel("Loss terms", losses, "epoch", "mean over steps"))
    if len(ranking.x):
        best = ranking.x[max(range(len(ranking.y)), key=ranking.y.__getitem__)]
        # Room above and below: noise should look like noise.
        ticks = charts.nice_ticks(min(ranking.y) - 0.02, max(ranking.y) + 0.02)
        panels.append(
            _panel("Ranking of held-out rows", [ranking], "epoch", "PU-AUC", y_ticks=ticks,
                   dashed_at=best, dashed_label="highest")
        )  # fmt: skip
    return panels


def _panel(
    title: str, lines: Sequence[charts.Line], x_label: str, y_label: str, **options: Any
) -> Panel:
    chart = charts.line_chart(
        lines, title=title, x_label=x_label, y_label=y_label, marks=False, **options
    )
    return Panel(title, charts.legend(lines, marks=False), chart)


def _band(curves: Mapping[str, Any], key: str, name: str, series: int) -> charts.Line:
    """A rate against the cut in percent; kept between 0 and 100 for the eye, not in the numbers."""
    rate = curves[key]
    known = [place for place, value in enumerate(rate["value"]) if value is not None]

    def shown(part: str) -> list[float]:
        values = (rate[part][place] for place in known)
        filled = (
            rate["value"][place] if value is None else value
            for place, value in zip(known, values, strict=True)
        )
        return [100 * min(max(value, 0.0), 1.0) for value in filled]

    x = [curves["threshold"][place] for place in known]
    return charts.Line(name, x, shown("value"), shown("low"), shown("high"), series)


def _curve(history: Sequence[Mapping[str, Any]], key: str, name: str, series: int) -> charts.Line:
    points = [(one["epoch"], one[key]) for one in history if one.get(key) is not None]
    return charts.Line(name, [x for x, _ in points], [y for _, y in points], series=series)


def _importance(importance: Sequence[Mapping[str, Any]]) -> Markup | None:
    if not importance:
        return None
    most = importance[:MOST_BARS]
    return charts.bar_chart(
        [one["column"] for one in most],
        [one["drop"] for one in most],
        [one["se"] or 0.0 for one in most],
        title="Importance of the columns",
        label="loss of PU-AUC when the column is shuffled",
    )


def _leaderboard(ranked: Sequence[Mapping[str, Any]], best: str | None) -> Markup | None:
    if not ranked:
        return None
    names = [one["method"] for one in ranked]
    value, low, high = (
        [one["pu_auc"][part] for one in ranked] for part in ("value", "low", "high")
    )
    return charts.interval_chart(
        names, value, low, high,
        title="PU-AUC of each method",
        label="out-of-fold PU-AUC",
        emphasis=names.index(best) if best in names else None,
    )  # fmt: skip


# -- the highest-scored rows ----------------------------------------------------------------


def _top_csv(a: Assessment) -> str:
    """The rows as an address that a link can offer as a file."""
    rows = a["top"]
    if not rows:
        return ""
    columns = list(rows[0]["values"])
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    heading = "row" if a["data"]["id"] is None else a["data"]["id"]
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
