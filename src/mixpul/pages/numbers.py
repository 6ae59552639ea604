"""Numbers as text, and what the page says of a cut.

Half is rounded up, as the script of the page does: Python alone would round it to even.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "Assessment",
    "count",
    "cut_text",
    "is_impossible",
    "nearest",
    "percent",
    "readout",
    "score_text",
    "span",
    "thousandths",
]

Assessment = Mapping[str, Any]

RATES = ("recall", "precision", "f1")
UNKNOWN = "–"


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


def is_impossible(assessment: Assessment, place: int) -> bool:
    """Whether more positives are expected above a cut than there are rows, beyond chance."""
    curves = assessment["thresholds"]
    most = curves["flagged"]["high"][place]
    found = assessment["prior"]["used"] * curves["recall"]["value"][place]
    return most is not None and found > most


def nearest(points: Sequence[float], value: float) -> int:
    """The number of the point that is nearest to `value`, the first of two."""
    return min(range(len(points)), key=lambda place: abs(points[place] - value))


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
    """The score of a row; one that is all but certain is not certain.

    >>> score_text(0.99999), score_text(0.00001), score_text(0.25)
    ('> 0.9999', '< 0.0001', '0.2500')
    """
    if score < 0.00005:
        return "< 0.0001"
    return f"{score:.4f}" if score < 0.99995 else "> 0.9999"


def thousandths(value: float) -> str:
    # Zero is added to what rounds to -0.0.
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")


def _tenths(share: float) -> str:
    return f"{math.floor(1000 * share + 0.5) / 10:.1f}".replace("-", "−")


def _whole(number: float) -> int:
    return math.floor(number + 0.5)
