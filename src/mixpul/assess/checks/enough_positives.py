"""Are there enough labeled positives?"""

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.checks.verdicts import Check, Question

__all__ = ["QUESTION", "check_enough_positives"]

QUESTION = Question(
    "labeled positives", "Are there enough labeled positives to learn from and to judge by?"
)
# With fewer than the first nothing can be learned; with fewer than the second, results depend on
# which ones they are; with the third, intervals are about as narrow as they get in practice.
LEAST_TO_LEARN, LEAST_TO_RELY_ON, ENOUGH = 5, 20, 100


def check_enough_positives(is_positive: NDArray[np.bool_]) -> Check:
    """Count the labeled positives."""
    n = int(is_positive.sum())
    if n < LEAST_TO_LEARN:
        return QUESTION.answer(
            "bad", f"{n} labeled positives are too few to learn from or to judge by."
        )
    if n < LEAST_TO_RELY_ON:
        return QUESTION.answer(
            "bad",
            f"With {n} labeled positives, results depend on which ones they are. Label at least "
            f"{LEAST_TO_RELY_ON}, better {ENOUGH}.",
        )
    if n < ENOUGH:
        return QUESTION.answer(
            "caution",
            f"{n} labeled positives are enough to start; with {ENOUGH} the intervals would be "
            "clearly narrower.",
        )
    return QUESTION.answer("good", f"{n} labeled positives are enough.")
