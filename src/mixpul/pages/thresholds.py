"""What a page says of each threshold, and what its slider needs.

Everything that is shown when the slider moves is written here, for each of the 200 thresholds; the
script of the page (`static/fit.js`) looks it up.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from mixpul.pages.numbers import (
    format_count,
    format_count_span,
    format_percent,
    format_span,
    format_threshold,
    round_half_up,
)

__all__ = [
    "AssessmentData",
    "Suggestion",
    "describe_threshold",
    "find_boundaries",
    "find_nearest",
    "find_start",
    "is_impossible",
    "list_suggestions",
    "prepare_slider",
]

# An assessment as plain values: what `Assessment.to_dict` returns.
AssessmentData = Mapping[str, Any]

RATES = ("recall", "precision", "f1")
# The suggested thresholds: what a button says, and what it does.
SUGGESTIONS = {
    "default": ("default", "The threshold that the classifier itself uses."),
    "prior": ("as many as expected", "Flags as many {units} as there should be positives."),
    "recall_90": ("finds 90 %", "The highest threshold that finds nine positives out of ten."),
    "f1": ("best F1", "The best balance of recall and precision."),
}


class Counts(NamedTuple):
    """How many of the unlabeled rows to expect on either side of a threshold."""

    flagged: int
    found: float
    false_alarms: float
    missed: float


class Suggestion(NamedTuple):
    """A threshold worth offering: its place among all thresholds and what the page says of it."""

    key: str
    name: str
    meaning: str
    place: int
    shown: dict[str, str]


def describe_threshold(assessment: AssessmentData, place: int) -> dict[str, str]:
    """Write what the page says of the threshold at `place`: every number as it is shown."""
    curves, n = assessment["thresholds"], assessment["data"]["unlabeled"]
    counts = _expect_counts(assessment, place)
    flagged = {part: curves["flagged"][part][place] for part in ("value", "low", "high")}
    shown = {"threshold": format_threshold(curves["threshold"][place])}
    for name in RATES:
        value, low, high = (curves[name][part][place] for part in ("value", "low", "high"))
        shown |= {name: format_percent(value), f"{name}_span": format_span(low, high)}
    return shown | {
        "flagged": format_count(counts.flagged),
        "flagged_share": format_percent(flagged["value"]),
        "flagged_span": format_count_span(flagged["low"], flagged["high"], n),
        "found": format_count(counts.found),
        "missed": format_count(counts.missed),
        "false_alarms": format_count(counts.false_alarms),
        "exact": str(curves["threshold"][place]),
    }


def _expect_counts(assessment: AssessmentData, place: int) -> Counts:
    curves, n = assessment["thresholds"], assessment["data"]["unlabeled"]
    flagged = round_half_up(curves["flagged"]["value"][place] * n)
    recall, precision = (curves[name]["value"][place] for name in ("recall", "precision"))
    return Counts(
        flagged,
        found=flagged * min(1, precision or 0),
        # Where nothing is flagged the precision may be unknown, but there are no false alarms.
        false_alarms=0 if precision is None else flagged * max(0, 1 - precision),
        missed=assessment["prior"]["used"] * n * max(0, 1 - recall),
    )


def is_impossible(assessment: AssessmentData, place: int) -> bool:
    """Tell whether more positives are expected above a threshold than rows, beyond chance."""
    curves = assessment["thresholds"]
    most = curves["flagged"]["high"][place]
    found = assessment["prior"]["used"] * curves["recall"]["value"][place]
    return most is not None and found > most


def find_boundaries(points: Sequence[float]) -> list[float]:
    """Find the numbers halfway between neighbouring points."""
    return [(low + high) / 2 for low, high in pairwise(points)]


def find_nearest(points: Sequence[float], value: float) -> int:
    """Find which of the sorted points is nearest to `value`, of two the lower one.

    This is the only rule for it: the page gets the boundaries and counts those below a number.

    >>> find_nearest([0.0, 0.4, 0.6], 0.5)
    1
    """
    return bisect_left(find_boundaries(points), value)


def find_start(assessment: AssessmentData) -> int:
    """Find the place at which the slider stands first: the classifier's own threshold."""
    default = assessment["suggested"].get("default")
    return find_nearest(assessment["thresholds"]["threshold"], 0.5 if default is None else default)


def list_suggestions(assessment: AssessmentData, units: str) -> list[Suggestion]:
    """List the suggested thresholds from the lowest to the highest, as on the slider."""
    found = []
    for key, value in assessment["suggested"].items():
        if value is not None:
            place = find_nearest(assessment["thresholds"]["threshold"], value)
            name, meaning = SUGGESTIONS.get(key, (key, ""))
            shown = describe_threshold(assessment, place)
            found.append(Suggestion(key, name, meaning.format(units=units), place, shown))
    return sorted(found, key=lambda suggestion: suggestion.place)


def prepare_slider(assessment: AssessmentData) -> dict[str, Any]:
    """Collect what the script of the page looks up when the threshold moves.

    Texts are rows of a table with the headings ``"names"``: names repeated 200 times would double
    their size.
    """
    points = assessment["thresholds"]["threshold"]
    places = range(len(points))
    texts = [describe_threshold(assessment, place) for place in places]
    counts = [_expect_counts(assessment, place) for place in places]
    return {
        "thresholds": points,
        "boundaries": find_boundaries(points),
        "names": list(texts[0]),
        "texts": [list(text.values()) for text in texts],
        "false_alarms": [count.false_alarms for count in counts],
        "missed": [count.missed for count in counts],
        "impossible": [place for place in places if is_impossible(assessment, place)],
    }
