"""Do two estimates of the class prior agree, and how sharp are they?"""

from collections.abc import Mapping
from typing import Any

from mixpul.assess.checks.verdicts import Check, Question
from mixpul.metrics import Estimate

__all__ = ["QUESTION", "check_class_prior"]

QUESTION = Question("class prior", "Do two estimates of the class prior agree?")
# Two estimates agree if they differ by so little, or by at most this factor; beyond the second
# factor they are no help.
SMALL_DIFFERENCE, SMALL_FACTOR, LARGE_FACTOR = 0.03, 1.5, 2.5
# An interval that is narrower than this is sharp, however small the share is.
SHARP_WIDTH = 0.05


def check_class_prior(prior: Mapping[str, Any], unit: str = "row") -> Check:
    """Compare the two estimates of `estimate_priors`."""
    bbe, dedpul, used = prior["bbe"], prior["dedpul"], prior[prior["from"]]
    small, large = sorted((bbe.value, dedpul.value))
    agree = large - small <= SMALL_DIFFERENCE or large <= SMALL_FACTOR * small
    is_sharp = used.high - used.low <= max(SHARP_WIDTH, used.value)
    numbers = (
        f"Best bin estimation puts the share of positives among the unlabeled {unit}s at "
        f"{_write(bbe)}, DEDPUL at {_write(dedpul)}."
    )
    # Agreement at 0 or 1 is no good news: then both estimates have failed.
    if not 0.0 < used.value < 1.0:
        return QUESTION.answer(
            "bad", f"{numbers} That leaves one class empty: precision and F1 mean nothing here."
        )
    if agree and is_sharp:
        return QUESTION.answer(
            "good",
            f"{numbers} They agree. Both assume that some region of the data has hardly any "
            "negatives.",
        )
    if agree:
        return QUESTION.answer(
            "caution",
            f"{numbers} They agree, but the interval is wide, and so are the bands of precision "
            "and F1.",
        )
    return QUESTION.answer(
        "caution" if large <= LARGE_FACTOR * small else "bad",
        f"{numbers} They disagree: precision and F1, which depend on it, are rough. PU-AUC, "
        "recall and the flagged share do not depend on it.",
    )


def _write(estimate: Estimate) -> str:
    value, low, high = (
        f"{100 * share:.3g} %" for share in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})"
