"""The charts of the pages: which numbers are drawn, under which titles."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from mixpul.pages import charts
from mixpul.pages.render import typeset_terms
from mixpul.pages.texts import name_unit
from mixpul.pages.thresholds import AssessmentData

__all__ = [
    "MOST_BARS",
    "draw_importance",
    "draw_leaderboard",
    "draw_threshold_panels",
    "draw_training_panels",
]

# What training curves are curves of; other methods have terms of their own.
TERMS = {
    "L_PN": "L_PN, positives and negatives",
    "L_U": "L_U, mixtures of unlabeled",
    "L_PU": "L_PU, positives above unlabeled",
}
# What else a record of an epoch holds.
NO_TERMS = ("epoch", "loss", "pu_auc", "gap")
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_BARS = 15


class Panel(NamedTuple):
    """A chart with its title and legend."""

    title: str
    legend: Markup
    chart: Markup


def draw_threshold_panels(assessment: AssessmentData, start: int) -> list[Panel]:
    """Draw the scores, and the rates to expect at each threshold, with a cursor at `start`."""
    curves, units = assessment["thresholds"], f"{name_unit(assessment)}s"
    histogram = assessment["histogram"]
    scores = [
        charts.make_steps(name, histogram["edges"], [100 * s for s in histogram[key]], series)
        for key, name, series in (
            ("unlabeled", f"unlabeled {units}", 0),
            ("positives", "known positives, left out of training", 1),
        )
    ]
    rates = [
        _make_band(curves, key, name, series)
        for key, name, series in (("recall", "recall", 1), ("precision", "precision", 2),
                                  ("f1", "F1", 3))
    ]  # fmt: skip
    flagged = [_make_band(curves, "flagged", f"unlabeled {units} above the threshold", 0)]
    common: dict[str, Any] = {"x_ticks": SHARES, "cursor_at": curves["threshold"][start]}
    percent = {"y_ticks": [100 * share for share in SHARES]}
    return [
        _make_panel("Scores", scores, "score", f"% of {units}", **common),
        _make_panel("Recall, precision and F1", rates, "threshold", "%", **common, **percent),
        _make_panel(
            "Flagged", flagged, "threshold", f"% of unlabeled {units}", **common, **percent
        ),
    ]


def draw_training_panels(history: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Draw loss terms, and the ranking of held-out rows, epoch by epoch."""
    if len(history) < 2:
        return []
    names = [name for name in history[0] if name not in NO_TERMS]
    losses = [
        _make_curve(history, name, typeset_terms(TERMS.get(name, name)), series)
        for series, name in enumerate(names or ["loss"])
    ]
    ranking = _make_curve(history, "pu_auc", "held-out PU-AUC", 0)
    panels = []
    if any(len(line.x) for line in losses):
        panels.append(_make_panel("Loss terms", losses, "epoch", "mean over steps"))
    if len(ranking.x):
        best = ranking.x[max(range(len(ranking.y)), key=ranking.y.__getitem__)]
        # Room above and below: noise should look like noise.
        ticks = charts.choose_ticks(min(ranking.y) - 0.02, max(ranking.y) + 0.02)
        panels.append(
            _make_panel("Ranking of held-out data", [ranking], "epoch", "PU-AUC", y_ticks=ticks,
                        dashed_at=best, dashed_label="highest")
        )  # fmt: skip
    return panels


def _make_panel(
    title: str, lines: Sequence[charts.Line], x_label: str, y_label: str, **options: Any
) -> Panel:
    chart = charts.draw_lines(
        lines, title=title, x_label=x_label, y_label=y_label, marks=False, **options
    )
    return Panel(title, charts.draw_legend(lines, marks=False), chart)


def _make_band(curves: Mapping[str, Any], key: str, name: str, series: int) -> charts.Line:
    """Draw a rate in percent; it is kept between 0 and 100 for the eye, not in the numbers."""
    rate = curves[key]
    known = [place for place, value in enumerate(rate["value"]) if value is not None]

    def fill(part: str) -> list[float]:
        values = (rate[part][place] for place in known)
        filled = (
            rate["value"][place] if value is None else value
            for place, value in zip(known, values, strict=True)
        )
        return [100 * min(max(value, 0.0), 1.0) for value in filled]

    x = [curves["threshold"][place] for place in known]
    return charts.Line(name, x, fill("value"), fill("low"), fill("high"), series)


def _make_curve(
    history: Sequence[Mapping[str, Any]], key: str, name: str, series: int
) -> charts.Line:
    points = [(one["epoch"], one[key]) for one in history if one.get(key) is not None]
    return charts.Line(name, [x for x, _ in points], [y for _, y in points], series=series)


def draw_importance(importance: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Draw the columns that matter most."""
    if not importance:
        return None
    most = importance[:MOST_BARS]
    return charts.draw_bars(
        [one["column"] for one in most],
        [one["drop"] for one in most],
        [one["se"] or 0.0 for one in most],
        title="Importance of the columns",
        label="drop in PU-AUC when the column is shuffled",
    )


def draw_leaderboard(ranked: Sequence[Mapping[str, Any]], best: str | None) -> Markup | None:
    """Draw the PU-AUC of each method with its interval."""
    if not ranked:
        return None
    names = [one["method"] for one in ranked]
    value, low, high = (
        [one["pu_auc"][part] for one in ranked] for part in ("value", "low", "high")
    )
    return charts.draw_intervals(
        names, value, low, high,
        title="PU-AUC of each method",
        label="out-of-fold PU-AUC",
        emphasis=names.index(best) if best in names else None,
    )  # fmt: skip
