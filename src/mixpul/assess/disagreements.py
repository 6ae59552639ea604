"""Checked rows of which people and scores say different things: what a model gets wrong."""

from typing import NamedTuple

from mixpul.assess.answered import Answered
from mixpul.assess.verdicts import NO, YES

__all__ = ["Disagreement", "Disagreements", "find_disagreements"]


class Disagreement(NamedTuple):
    """A checked row on the wrong side of a threshold.

    Attributes
    ----------
    row : int
    score : float
    cells : dict of str
        What people saw of it, by column.
    content : str
        The hash of its content in the queue.
    """

    row: int
    score: float
    cells: dict[str, str]
    content: str


class Disagreements(NamedTuple):
    """Rows on the wrong side of a threshold, the worst first.

    Attributes
    ----------
    false_alarms : list of Disagreement
        People said no, and the score is above the threshold.
    missed : list of Disagreement
        People said yes, and the score is not above it.
    """

    false_alarms: list[Disagreement]
    missed: list[Disagreement]


def find_disagreements(answered: Answered, threshold: float = 0.5) -> Disagreements:
    """Return the rows of all rounds whose verdict is not what the score says.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.assess import review
    >>> from mixpul.assess.answered import Answered
    >>> from mixpul.assess.disagreements import find_disagreements
    >>> drawn = review(np.linspace(0, 1, 9), np.zeros(9, dtype=bool), n=9, random_state=0)
    >>> verdicts = ["yes" if row in (0, 7, 8) else "no" for row in drawn.rows]
    >>> found = find_disagreements(Answered([drawn], [verdicts], "", [[{}] * 9], [[""] * 9]))
    >>> [one.row for one in found.false_alarms], [one.row for one in found.missed]
    ([6, 5], [0])
    """
    checked = [
        (verdict, Disagreement(int(row), float(score), cells, content))
        for review, verdicts, shown, contents in zip(
            answered.reviews, answered.verdicts, answered.shown, answered.contents, strict=True
        )
        for row, score, verdict, cells, content in zip(
            review.rows, review.scores, verdicts, shown, contents, strict=True
        )
    ]
    alarms = [one for verdict, one in checked if verdict == NO and one.score > threshold]
    missed = [one for verdict, one in checked if verdict == YES and one.score <= threshold]
    return Disagreements(
        sorted(alarms, key=lambda one: (-one.score, one.row)),
        sorted(missed, key=lambda one: (one.score, one.row)),
    )
