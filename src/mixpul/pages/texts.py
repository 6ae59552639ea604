"""The answer in words, and what no number can tell."""

import math
from collections.abc import Mapping

from mixpul.pages.numbers import format_count, format_percent, format_span
from mixpul.pages.thresholds import AssessmentData, count_unlabeled, is_known

__all__ = ["describe_prior", "explain_agreement", "grade_ranking", "list_unknowns", "name_unit"]

# The share of pairs in which a positive comes first, and what to call it.
GRADES = ((0.9, "very well"), (0.75, "well"), (0.6, "only fairly well"), (-math.inf, "poorly"))


def name_unit(assessment: AssessmentData) -> str:
    """Name what is scored: 'row' or 'image'."""
    return "row" if assessment["data"]["unit"] == "row" else "image"


def grade_ranking(assessment: AssessmentData) -> str:
    """Say how well the model ranks, by the PU-AUC: the AUC against negatives is no smaller."""
    pu_auc = assessment["pu_auc"]
    if pu_auc["low"] is not None and pu_auc["low"] <= 0.5:
        return "no better than chance, as far as these data can tell"
    return next(word for least, word in GRADES if pu_auc["value"] >= least)


def describe_prior(assessment: AssessmentData) -> dict[str, str]:
    """Write what the page says of the class prior, and of the AUC that rests on it."""
    prior, n, auc = (
        assessment["prior"],
        count_unlabeled(assessment["data"]),
        assessment["corrected_auc"],
    )
    least, value, most = (auc[part] for part in ("low", "value", "high"))
    is_limit = auc["kind"] == "at most"
    given = "" if is_limit else f"{round(100 * prior['value'], 4):g}"
    ends = "" if prior["low"] is None else f", {format_span(prior['low'], prior['high'])}"
    return {
        "prior": format_percent(prior["value"]) + ends,
        "positives": format_count(prior["value"] * n),
        "upper": format_percent(prior["upper"]),
        "most_positives": format_count(prior["upper"] * n),
        "auc": f"{format_span(least, value)} (depending on the class prior)"
        if is_limit
        else f"about {format_percent(value)} ({format_span(least, most)})",
        "typed": given,
        "source": "given" if is_limit else prior["source"],
    }


def explain_agreement(agreement: Mapping[str, float] | None) -> str:
    """Say what was lost where one network takes the place of the model that it has learned from.

    >>> measured = {"rank_correlation": 0.98321, "same_decision": 0.975, "n_rows": 4000}
    >>> "rank correlation of both is 0.9832, and 97.5% of" in explain_agreement(measured)
    True
    """
    if not agreement:
        return ""
    return (
        "One network has learned the scores of the whole model, and takes its place. On "
        f"{agreement['n_rows']:,} rows of the table, of which it has seen mixtures, the rank "
        f"correlation of both is {agreement['rank_correlation']:.4f}, and "
        f"{agreement['same_decision']:.1%} of the rows are on the same side of the threshold; "
        "expect somewhat less on new rows. Figures and thresholds are those of the whole model."
    )


def list_unknowns(assessment: AssessmentData) -> list[str]:
    """List what no number on the page can tell."""
    prior, unit = assessment["prior"], name_unit(assessment)
    estimates = " and ".join(
        f"{format_percent(value)} by {name.upper()}" for name, value in prior["estimates"].items()
    )
    unknown = (
        f" The class prior is not known, only its upper limit. Estimates ({estimates}) assume that "
        "some region holds hardly any negatives. Where classes overlap they are too high."
        if not is_known(assessment)
        else ""
    )
    return [
        f"No {unit} is known to be negative. Ranking and recall are measured on known positives "
        "that were left out of training. Precision, F1 and the number of positives also depend on "
        f"the class prior, the share of positives among the unlabeled {unit}s.{unknown}",
        "Nobody knows whether the known positives are typical. If easy cases were labeled first, "
        "the model finds fewer of the other positives than this page says.",
        f"Nobody has checked which of the flagged {unit}s are positive. Check some by hand: "
        "the command mixpul review draws them, and mixpul audit turns your verdicts into figures.",
    ]
