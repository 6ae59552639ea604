"""The answer in words, and what no number can tell."""

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from mixpul.pages.numbers import format_count, format_percent, format_span
from mixpul.pages.thresholds import AssessmentData, describe_threshold

__all__ = ["list_unknowns", "name_unit", "write_answer"]

# The share of pairs in which a positive comes before a negative, and what to call it.
GRADES = ((0.9, "very well"), (0.75, "well"), (0.6, "only fairly well"), (-math.inf, "poorly"))

# What may tell labeled from unlabeled by itself.
LEAKS = {"row": "a column", "image": "the source of the images"}


def name_unit(assessment: AssessmentData) -> str:
    """Name what is scored: 'row' or 'image'."""
    return "row" if assessment["data"]["unit"] == "row" else "image"


def write_answer(assessment: AssessmentData, start: int) -> list[Markup]:
    """Write how well the model ranks, how many positives there are, and what it flags at first."""
    unit = name_unit(assessment)
    return [
        _describe_ranking(assessment["pu_auc"], assessment["corrected_auc"], unit),
        _describe_positives(assessment, unit),
        _describe_start(assessment, start, unit),
    ]


def _describe_ranking(
    pu_auc: Mapping[str, Any], corrected: Mapping[str, Any] | None, unit: str
) -> Markup:
    quality = (corrected or pu_auc)["value"]
    if quality > 1:
        grade = "too well to be true"
    elif pu_auc["low"] is not None and pu_auc["low"] <= 0.5:
        grade = "no better than chance, as far as these data can tell"
    else:
        grade = next(word for least, word in GRADES if quality >= least)
    text = Markup(
        "The model ranks <strong>{}</strong>: a known positive that was left out of training "
        "scores above an unlabeled {} in {} of pairs ({})."
    ).format(
        grade, unit, format_percent(pu_auc["value"]), format_span(pu_auc["low"], pu_auc["high"])
    )
    if not corrected:
        return text
    if quality > 1:
        return text + (
            f" Against truly negative {unit}s this would be {format_percent(quality)}, which is "
            f"impossible. Either {LEAKS[unit]} gives the label away, or the share of positives "
            "is estimated too high."
        )
    low, high = corrected["low"], corrected["high"]
    around = format_span(low, high)
    if low is not None and (high or 0) > 1:
        # An end beyond 100 % says nothing.
        around = f"at least {format_percent(low)}"
    return text + (
        f" It would score above a truly negative {unit} in about {format_percent(quality)} "
        f"({around})."
    )


def _describe_positives(assessment: AssessmentData, unit: str) -> Markup:
    prior, n = assessment["prior"], assessment["data"]["unlabeled"]
    estimate = prior.get(prior["from"])
    text = Markup("About <strong>{}</strong> of the {} unlabeled {}s are probably positive").format(
        format_count(prior["used"] * n), format_count(n), unit
    )
    if not isinstance(estimate, Mapping) or estimate["low"] is None:
        return text + f" ({format_percent(prior['used'])}, as given)."
    low, high = (format_count(estimate[end] * n) for end in ("low", "high"))
    return text + f" ({format_percent(prior['used'])}; {low} to {high} {unit}s)."


def _describe_start(assessment: AssessmentData, place: int, unit: str) -> Markup:
    shown = describe_threshold(assessment, place)
    is_default = assessment["suggested"].get("default") is not None
    return Markup(
        "At {} threshold of {}, the model flags <strong>{}</strong> unlabeled {}s. Expect "
        "<strong>{}</strong> of them to be positive ({}), and <strong>{}</strong> of all positives "
        "to be found ({})."
    ).format(
        "the default" if is_default else "a", shown["threshold"], shown["flagged"], unit,
        shown["precision"], shown["precision_span"], shown["recall"], shown["recall_span"],
    )  # fmt: skip


def list_unknowns(assessment: AssessmentData) -> list[str]:
    """List what no number on the page can tell."""
    prior, unit = assessment["prior"], name_unit(assessment)
    estimates = " and ".join(
        f"{format_percent(prior[name]['value'])} by {name.upper()} "
        f"({format_span(prior[name]['low'], prior[name]['high'])})"
        for name in ("bbe", "dedpul")
        if prior.get(name)
    )
    estimated = f" It is estimated at {estimates}." if estimates else ""
    return [
        f"No {unit} is known to be negative. Ranking and recall are measured on known positives "
        "that were left out of training. Precision, F1 and the number of positives also depend on "
        f"the class prior, the share of positives among the unlabeled {unit}s.{estimated}",
        "Nobody knows whether the known positives are typical. If easy cases were labeled first, "
        "the model finds fewer of the other positives than this page says.",
        f"Nobody has checked which of the flagged {unit}s are positive. Check a random sample by "
        f"hand: a hundred {unit}s show the precision to within ten percentage points.",
    ]
