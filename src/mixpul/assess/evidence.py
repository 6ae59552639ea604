"""What only a table can be asked: which columns matter or leak, and what a simple method does."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.importance import ShuffledScores, measure_importance, score_shuffled
from mixpul.assess.out_of_fold import OutOfFold
from mixpul.assess.simple_method import score_simple_method
from mixpul.tables import Leak, TableInput, leaks

__all__ = ["TableEvidence", "gather_evidence"]


class TableEvidence(NamedTuple):
    """What the columns of a table tell of a model.

    Attributes
    ----------
    table : TableInput
    shuffled : ShuffledScores
    importance : list of dict
        The drop of the PU-AUC for each used column, the most important one first.
    leaks : list of Leak
        Columns that give the label away.
    simple_scores : ndarray of shape (n,)
        Out-of-fold scores of a simple method.
    """

    table: TableInput
    shuffled: ShuffledScores
    importance: list[dict[str, Any]]
    leaks: list[Leak]
    simple_scores: NDArray[np.float64]


def gather_evidence(
    table: TableInput,
    frame: Any,
    rows: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    fitted: OutOfFold,
    random: np.random.Generator,
    advance: Callable[[dict[str, float]], None],
) -> TableEvidence:
    """Shuffle columns, look for leaks and fit the simple method.

    `advance` is called once for each used column and twice more.
    """
    shuffled = score_shuffled(table, rows, is_positive, fitted, random, advance)
    # Used columns only: what was dropped can no longer leak.
    leaking = leaks(frame[list(table.kinds_)], is_positive)
    advance({})
    simple_scores = score_simple_method(rows, is_positive, fitted.folds, random)
    advance({})
    return TableEvidence(
        table, shuffled, measure_importance(table, shuffled), leaking, simple_scores
    )
