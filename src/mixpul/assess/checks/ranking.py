"""Does the model rank positives above unlabeled rows, and better than by chance?"""

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.checks.verdicts import Check, Question
from mixpul.metrics import pu_report
from mixpul.metrics.checks import explain_few_positives

__all__ = ["QUESTION", "check_better_than_chance"]

QUESTION = Question("ranking", "Does it rank better than chance?")


def check_better_than_chance(
    is_positive: NDArray[np.bool_], scores: NDArray, unit: str = "row"
) -> Check:
    """Compare the PU-AUC with chance, and look for scores that are all the same."""
    # Only AUCs and doubts are used, which need no resamples; 2 is the least it takes.
    report = pu_report(is_positive, scores, threshold=0.5, n_bootstrap=2)
    # The number of positives has a check of its own.
    few = explain_few_positives(is_positive)
    if doubts := [sentence for sentence in report["warnings"] if sentence != few]:
        return QUESTION.answer("bad", " ".join(doubts))
    auc = report["metrics"]["pu_auc"]["value"]
    return QUESTION.answer(
        "good",
        f"A labeled positive outranks an unlabeled {unit} in {100 * auc:.0f} % of the pairs "
        f"(PU-AUC {auc:.3f}); by chance it would be 50 %.",
    )
