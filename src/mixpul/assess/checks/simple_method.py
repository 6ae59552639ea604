"""Is the model worth its trouble: does it rank better than a simple method?"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.checks.verdicts import Check, Question
from mixpul.assess.intervals import estimate_auc_difference

__all__ = ["QUESTION", "check_simple_method"]

QUESTION = Question(
    "comparison with a simple method", "Does it rank better than a logistic regression?"
)


def check_simple_method(
    is_positive: NDArray[np.bool_], scores: NDArray, simple_scores: NDArray, classifier: Any
) -> Check:
    """Compare out-of-fold scores with those of a logistic regression on the same folds."""
    gain = estimate_auc_difference(is_positive, scores, simple_scores)
    # Zero is added to what rounds to -0.0.
    value, low, high = (f"{round(x, 3) + 0.0:+.3f}" for x in (gain.value, gain.low, gain.high))
    numbers = f"{value} PU-AUC, {low} to {high}"
    title = type(classifier).__name__.removesuffix("Classifier")
    if gain.low > 0:
        return QUESTION.answer(
            "good", f"{title} ranks better than a balanced logistic regression ({numbers})."
        )
    if gain.high < 0:
        return QUESTION.answer(
            "bad",
            f"A balanced logistic regression on the same columns ranks better ({title} has "
            f"{numbers}). Use that, or find out what hinders {title} with `mixpul compare`.",
        )
    return QUESTION.answer(
        "caution",
        "A balanced logistic regression on the same columns ranks as well, as far as these rows "
        f"can tell ({title} has {numbers}). It is easier to explain.",
    )
