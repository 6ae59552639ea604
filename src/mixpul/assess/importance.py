"""Which columns matter: by how much the ranking suffers if a column is shuffled."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mixpul.assess.intervals import estimate_auc_difference
from mixpul.assess.out_of_fold import OutOfFold
from mixpul.tables import TableInput

__all__ = ["ShuffledScores", "measure_importance", "score_shuffled"]

# Rows that are shuffled at most, and how often: enough for a standard error of some thousandths.
MOST_POSITIVES, MOST_UNLABELED, N_PERMUTATIONS = 1_000, 3_000, 3


class ShuffledScores(NamedTuple):
    """Scores of a sample of rows, as they are and with one column shuffled at a time.

    Attributes
    ----------
    rows, is_positive, scores
        The sample, its labels and its out-of-fold scores.
    without : list of ndarray of shape (N_PERMUTATIONS, n)
        For each used column the scores when it is shuffled.
    """

    rows: NDArray[np.float32]
    is_positive: NDArray[np.bool_]
    scores: NDArray[np.float32]
    without: list[NDArray[np.float32]]


def score_shuffled(
    table: TableInput,
    rows: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    fitted: OutOfFold,
    random: np.random.Generator,
    advance: Callable[[dict[str, float]], None],
) -> ShuffledScores:
    """Shuffle each column among rows that the scorer has not seen, and score them again.

    All features of a column are shuffled together, which is the same as shuffling the column:
    `TableInput` works row by row.
    """
    sample = _sample_rows(is_positive, random)
    held_out, labels = rows[sample], is_positive[sample]
    parts = [np.flatnonzero(fitted.folds[sample] == k) for k in range(len(fitted.scorers))]
    without, start = [], 0
    # One thread: several of them wait for each other with so few rows. Asked for once, because that
    # takes as long as to score a column.
    with threadpool_limits(1):
        for plan in table.plan_:
            stop = start + len(plan["endings"])
            # Within each part: a row gets values of rows that its scorer has not seen either.
            orders = [[random.permutation(part) for part in parts] for _ in range(N_PERMUTATIONS)]
            shuffled = np.empty((N_PERMUTATIONS, len(sample)), dtype=np.float32)
            for part, scorer, *own in zip(parts, fitted.scorers, *orders, strict=True):
                # All permutations at once: trees take longer to get ready than to score some rows.
                changed = np.tile(held_out[part], (N_PERMUTATIONS, 1))
                changed[:, start:stop] = held_out[np.concatenate(own), start:stop]
                scores = scorer(changed, np.tile(sample[part], N_PERMUTATIONS))
                shuffled[:, part] = scores.reshape(N_PERMUTATIONS, -1)
            without.append(shuffled)
            start = stop
            advance({})
    return ShuffledScores(held_out, labels, fitted.scores[sample], without)


def _sample_rows(is_positive: NDArray[np.bool_], random: np.random.Generator) -> NDArray[np.intp]:
    positive, unlabeled = (
        random.permutation(np.flatnonzero(kind))[:most]
        for kind, most in ((is_positive, MOST_POSITIVES), (~is_positive, MOST_UNLABELED))
    )
    return np.sort(np.concatenate([positive, unlabeled]))


def measure_importance(table: TableInput, shuffled: ShuffledScores) -> list[dict[str, Any]]:
    """Return the drop of the PU-AUC when a column is shuffled, the most important column first."""
    entries = []
    for plan, without in zip(table.plan_, shuffled.without, strict=True):
        drops = [
            estimate_auc_difference(shuffled.is_positive, shuffled.scores, one) for one in without
        ]
        entries.append(
            {
                "column": plan["column"],
                "drop": float(np.mean([drop.value for drop in drops])),
                # The permutations share their rows, so their mean is hardly surer than one.
                "se": float(np.sqrt(np.mean([drop.se**2 for drop in drops]))),
            }
        )
    return sorted(entries, key=lambda entry: -entry["drop"])
