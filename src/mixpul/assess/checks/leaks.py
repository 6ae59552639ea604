"""Does a single column give the label away?"""

from collections.abc import Sequence

from mixpul.assess.checks.verdicts import Check, Question
from mixpul.tables import Leak

__all__ = ["QUESTION", "check_leaks"]

QUESTION = Question("leaking columns", "Does a single column give the label away?")


def check_leaks(leaks: Sequence[Leak]) -> Check:
    """Name the columns that tell labeled from unlabeled rows."""
    if leaks:
        return QUESTION.answer("bad", " ".join(map(str, leaks)))
    return QUESTION.answer(
        "good",
        "No single column tells labeled from unlabeled rows, and no value or gap of one holds a "
        "fifth of the labeled rows and hardly any unlabeled one.",
    )
