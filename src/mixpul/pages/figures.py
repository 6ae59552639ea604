"""The charts of the pages."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from mixpul.pages import charts
from mixpul.pages.numbers import Assessment
from mixpul.pages.render import terms

__all__ = ["MOST_BARS", "cut_panels", "importance_chart", "leaderboard", "training_panels"]

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


def cut_panels(a: Assessment, start: int) -> list[Panel]:
    """What lies on either side of the cut."""
    curves, histogram, units = a["thresholds"], a["histogram"], f"{a['data']['unit']}s"
    at = curves["threshold"][start]
    scores = [
        charts.steps(name, histogram["edges"], [100 * share for share in histogram[key]], series)
        for key, name, series in (
            ("unlabeled", f"unlabeled {units}", 0),
            ("positives", "known positives, held out", 1),
        )
    ]
    rates = [
        _band(curves, key, name, series)
        for key, name, series in (("recall", "recall", 1), ("precision", "precision", 2),
                                  ("f1", "F1", 3))
    ]  # fmt: skip
    flagged = [_band(curves, "flagged", f"unlabeled {units} above the cut", 0)]
    return [
        _panel("Who scores what", scores, "score", f"% of {units}", x_ticks=SHARES, cursor_at=at),
        _panel("What a cut gives", rates, "cut", "%", x_ticks=SHARES, cursor_at=at,
               y_ticks=[100 * share for share in SHARES]),
        _panel("How many are flagged", flagged, "cut", f"% of unlabeled {units}", x_ticks=SHARES,
               cursor_at=at, y_ticks=[100 * share for share in SHARES]),
    ]  # fmt: skip


def training_panels(history: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Loss terms, and the held-out ranking, epoch by epoch."""
    if len(history) < 2:
        return []
    names = [name for name in history[0] if name not in NO_TERMS]
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
            _panel("Ranking of what is held out", [ranking], "epoch", "PU-AUC", y_ticks=ticks,
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


def importance_chart(importance: Sequence[Mapping[str, Any]]) -> Markup | None:
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


def leaderboard(ranked: Sequence[Mapping[str, Any]], best: str | None) -> Markup | None:
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
