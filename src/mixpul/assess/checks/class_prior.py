"""Is the class prior known, and what do the rows say of it?"""

from collections.abc import Mapping
from typing import Any

from mixpul.assess.checks.verdicts import Check, Question

__all__ = ["QUESTION", "check_class_prior"]

QUESTION = Question("class prior", "Is the share of positives among the unlabeled known?")


def check_class_prior(prior: Mapping[str, Any], unit: str = "row") -> Check:
    """Say what is known of the class prior, and how to learn more.

    Two estimates that agree prove nothing: all of them assume that some region holds hardly any
    negatives, and err together where none does.
    """
    upper = f"{100 * prior['upper']:.3g} %"
    learn_more = (
        f"If you know the share, give it with --prior. Otherwise check some {unit}s with `mixpul "
        "review` and `mixpul audit`."
    )
    if prior["source"] != "estimated":
        return QUESTION.answer(
            "good",
            f"It was {prior['source']}: {100 * prior['value']:.3g} %. That agrees with the scores, "
            f"which allow at most {upper} (95 % confidence).",
        )
    if prior["upper"] >= 1:
        return QUESTION.answer(
            "caution",
            "No: by the scores alone it may be anything up to 100 %. Precision, F1 and the number "
            f"of positives are not known either. {learn_more}",
        )
    return QUESTION.answer(
        "caution",
        f"Only an upper limit: at most {upper} of the unlabeled {unit}s are positive (95 % "
        "confidence). It may be far less, because negatives may look like positives. So precision, "
        f"F1 and the number of positives are shown as “at most”. {learn_more}",
    )
