"""Which columns matter, and what they hold."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul.assess._scores import OutOfFold, auc_difference
from mixpul.tables import TableInput

N_TOP = 50
N_COLUMNS_OF_TOP = 6
# Rows on which the importance of columns is measured, and by how many permutations each.
POSITIVES_OF_IMPORTANCE, UNLABELED_OF_IMPORTANCE, N_PERMUTATIONS = 1_000, 3_000, 3


def cells(frame: Any, rows: NDArray[np.intp], columns: list[str]) -> list[dict[str, str]]:
    """Per row the values of some columns, as text."""
    shown = frame[columns].iloc[rows]
    return [
        {name: _text(value) for name, value in zip(columns, values, strict=True)}
        for values in shown.itertuples(index=False)
    ]


def _text(value: Any) -> str:
    if value is None or value != value or str(value) in ("<NA>", "NaT"):
        return ""
    if isinstance(value, float):
        # Whole numbers in full: 1205620, not 1.20562e+06.
        text = f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    else:
        text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


class Shuffled(NamedTuple):
    """Scores of a sample of rows, as they are and with one column shuffled at a time.

    Attributes
    ----------
    rows, is_positive, scores
        The sample, its labels and its out-of-fold scores.
    without : list of ndarray of shape (N_PERMUTATIONS, n)
        Per used column the scores when it is shuffled.
    log_odds : float
        What sampling added to the log-odds of a label.
    """

    rows: NDArray[np.float32]
    is_positive: NDArray[np.bool_]
    scores: NDArray[np.float32]
    without: list[NDArray[np.float32]]
    log_odds: float


def shuffled_scores(
    table: TableInput,
    rows: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    found: OutOfFold,
    random: np.random.Generator,
    advance: Callable[[dict[str, float]], None],
) -> Shuffled:
    """Shuffle each column among rows that the scorer has not seen.

    All features of a column are shuffled together, which is the same as shuffling the column:
    `TableInput` works row by row.
    """
    sample = np.sort(
        np.concatenate(
            [
                random.permutation(np.flatnonzero(kind))[:most]
                for kind, most in (
                    (is_positive, POSITIVES_OF_IMPORTANCE),
                    (~is_positive, UNLABELED_OF_IMPORTANCE),
                )
            ]
        )
    )
    held_out, labels = rows[sample], is_positive[sample]
    parts = [np.flatnonzero(found.folds[sample] == k) for k in range(len(found.scorers))]
    without, start = [], 0
    for plan in table.plan_:
        stop = start + len(plan["endings"])
        shuffled = np.empty((N_PERMUTATIONS, len(sample)), dtype=np.float32)
        for scores in shuffled:
            for part, scorer in zip(parts, found.scorers, strict=True):
                changed = held_out[part]
                changed[:, start:stop] = random.permutation(changed[:, start:stop])
                scores[part] = scorer(changed)
        without.append(shuffled)
        start = stop
        advance({})
    shares = [labels.sum() / is_positive.sum(), (~labels).sum() / (~is_positive).sum()]
    return Shuffled(
        held_out, labels, found.scores[sample], without, float(np.log(shares[0] / shares[1]))
    )


def column_importance(table: TableInput, shuffled: Shuffled) -> list[dict[str, Any]]:
    """Drop of the PU-AUC when a column is shuffled, the most important column first."""
    entries = []
    for plan, without in zip(table.plan_, shuffled.without, strict=True):
        drops = [auc_difference(shuffled.is_positive, shuffled.scores, one) for one in without]
        entries.append(
            {
                "column": plan["column"],
                "drop": float(np.mean([drop.value for drop in drops])),
                "se": float(np.sqrt(np.mean([drop.se**2 for drop in drops]))),
            }
        )
    return sorted(entries, key=lambda entry: -entry["drop"])
