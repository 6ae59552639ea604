"""What a page says of each threshold, and what its slider needs.

Everything that is shown when the slider moves is written here, for each of the 200 thresholds; the
script of the page (`static/fit.js`) looks it up. Only for a class prior that a user types does the
script compute, by the equations of `mixpul.assess.figures`.
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
)

__all__ = [
    "AssessmentData",
    "Suggestion",
    "describe_threshold",
    "explain_missing_promise",
    "find_boundaries",
    "find_nearest",
    "find_start",
    "is_impossible",
    "is_known",
    "is_unlimited",
    "list_suggestions",
    "prepare_slider",
]

# An assessment as plain values: what `Assessment.to_dict` returns.
AssessmentData = Mapping[str, Any]

RATES = ("recall", "precision", "f1")
COUNTS = ("found", "missed", "false_alarms")
# The suggested thresholds by the names that can be typed for them: what each of them does.
SUGGESTIONS = {
    "0.5": "The threshold that the classifier itself uses.",
    "prior": "Flags as many {units} as there are positives, by the class prior of the fit.",
    "recall>=0.9": "Finds at least nine positives out of ten, with 95 % confidence.",
    "f1": "The best balance of recall and precision, by the class prior of the fit.",
}
# What stands below a figure that is a limit.
LIMIT = "at most (95\xa0%)"


class Suggestion(NamedTuple):
    """A threshold worth offering: its place among all thresholds and what the page says of it."""

    key: str
    meaning: str
    place: int
    shown: dict[str, str]


def count_unlabeled(data: Mapping[str, Any]) -> int:
    """Count the unlabeled rows of the whole table, also if figures rest on a sample of it."""
    # Pages of earlier versions do not know of samples.
    return int((data.get("sample") or data)["unlabeled"])


def describe_threshold(assessment: AssessmentData, place: int) -> dict[str, str]:
    """Write what the page says of the threshold at `place`: every number as it is shown."""
    curves, n = assessment["thresholds"], count_unlabeled(assessment["data"])
    flagged = {part: curves["flagged"][part][place] for part in ("value", "low", "high")}
    shown = {"threshold": format_threshold(curves["threshold"][place])}
    for name in RATES:
        value, low, high = (curves[name][part][place] for part in ("value", "low", "high"))
        if curves[name].get("kind") == "at most" and value is not None:
            shown |= {name: f"≤ {format_percent(value)}", f"{name}_span": LIMIT}
        else:
            shown |= {name: format_percent(value), f"{name}_span": format_span(low, high)}
    return shown | {
        "flagged": format_count(flagged["value"] * n),
        "flagged_share": format_percent(flagged["value"]),
        "flagged_span": format_count_span(flagged["low"], flagged["high"], n),
        **_describe_counts(assessment, place),
        "exact": str(curves["threshold"][place]),
    }


def _describe_counts(assessment: AssessmentData, place: int) -> dict[str, str]:
    from mixpul.assess.figures import bound_counts

    curves, data = assessment["thresholds"], assessment["data"]
    recall, flagged = (curves[name]["value"][place] for name in ("recall", "flagged"))
    n_rows = (data["positives"], data["unlabeled"])
    counts = bound_counts(assessment["prior"], recall, flagged, *n_rows)
    scale = count_unlabeled(data) / data["unlabeled"]
    counts = {name: scale * counts[name] for name in COUNTS}
    if is_known(assessment):
        return {name: format_count(counts[name]) for name in COUNTS}
    signs = {"found": "≤ ", "missed": "≤ ", "false_alarms": "≥ "}
    return {name: signs[name] + format_count(counts[name]) for name in COUNTS}


def is_known(assessment: AssessmentData) -> bool:
    """Tell whether the class prior is known, so that figures are estimates and not bounds."""
    return bool(assessment["prior"]["source"] != "estimated")


def is_impossible(assessment: AssessmentData, place: int) -> bool:
    """Tell whether more positives are expected above a threshold than rows, beyond chance."""
    curves = assessment["thresholds"]
    most = curves["flagged"]["high"][place]
    found = assessment["prior"]["value"] * curves["recall"]["value"][place]
    return is_known(assessment) and most is not None and bool(found > most)


def is_unlimited(assessment: AssessmentData, place: int) -> bool:
    """Tell whether the precision at a threshold has no limit: all flagged rows may be positive."""
    precision = assessment["thresholds"]["precision"]["value"][place]
    return not is_known(assessment) and precision is not None and bool(precision >= 1)


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
    return find_nearest(assessment["thresholds"]["threshold"], 0.5)


def list_suggestions(assessment: AssessmentData, units: str) -> list[Suggestion]:
    """List the suggested thresholds from the lowest to the highest, as on the slider."""
    found = []
    for key, value in assessment["suggested"].items():
        if value is not None:
            place = find_nearest(assessment["thresholds"]["threshold"], value)
            meaning = SUGGESTIONS.get(key, "").format(units=units)
            found.append(Suggestion(key, meaning, place, describe_threshold(assessment, place)))
    return sorted(found, key=lambda suggestion: suggestion.place)


def explain_missing_promise(assessment: AssessmentData) -> str | None:
    """Say why no threshold promises a recall, if none does."""
    # Imported here: numpy and more should not be needed to read pages of results.
    from mixpul.assess.thresholds import PROMISE, PROMISED_RECALL
    from mixpul.metrics.thresholds import explain_few_for_recall

    if assessment["suggested"].get(PROMISE) is not None:
        return None
    return explain_few_for_recall(assessment["data"]["positives"], PROMISED_RECALL)


def prepare_slider(assessment: AssessmentData) -> dict[str, Any]:
    """Collect what the script of the page looks up when the threshold moves.

    Texts are rows of a table with the headings ``"names"``: names repeated 200 times would double
    their size. The rest is what the script needs to compute figures for a class prior that the
    user types.
    """
    from mixpul.assess.intervals import Z

    curves, data = assessment["thresholds"], assessment["data"]
    places = range(len(curves["threshold"]))
    texts = [describe_threshold(assessment, place) for place in places]
    return {
        "thresholds": curves["threshold"],
        "boundaries": find_boundaries(curves["threshold"]),
        "names": list(texts[0]),
        "texts": [list(text.values()) for text in texts],
        "impossible": [place for place in places if is_impossible(assessment, place)],
        "recall": curves["recall"]["value"],
        "flagged": curves["flagged"]["value"],
        "most_flagged": curves["flagged"]["high"],
        "positives": data["positives"],
        "unlabeled": data["unlabeled"],
        "all_unlabeled": count_unlabeled(data),
        "pu_auc": [assessment["pu_auc"][part] for part in ("value", "se", "low")],
        "upper": assessment["prior"]["upper"],
        "prior": assessment["prior"]["value"] if is_known(assessment) else None,
        "z": Z,
        "limit": LIMIT,
    }
