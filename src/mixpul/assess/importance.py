"""Which columns matter: by how much the ranking suffers if a column is shuffled."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import inspection
from sklearn.utils import Bunch

from mixpul._util.shuffling import sample_rows, score_shuffled_columns
from mixpul.assess.intervals import estimate_auc_difference
from mixpul.assess.out_of_fold import OutOfFold
from mixpul.metrics import pu_auc_scorer
from mixpul.tables import TableInput
from mixpul.tables.frames import as_frame

__all__ = ["ShuffledScores", "measure_importance", "permutation_importance", "score_shuffled"]


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
    sample = sample_rows(is_positive, random)
    held_out, labels = rows[sample], is_positive[sample]
    parts = [np.flatnonzero(fitted.folds[sample] == k) for k in range(len(fitted.scorers))]
    ends = np.cumsum([0, *(len(plan["endings"]) for plan in table.plan_)]).tolist()
    without = []
    for scores in score_shuffled_columns(
        held_out, sample, pairwise(ends), parts, fitted.scorers, random
    ):
        without.append(scores)
        advance({})
    return ShuffledScores(held_out, labels, fitted.scores[sample], without)


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


def permutation_importance(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Bunch:
    """Measure by how much the PU-AUC drops if a column is shuffled.

    scikit-learn's function of that name with the PU-AUC as the score. Pass rows that the model has
    not seen: on its training rows it also needs columns that tell nothing.

    Parameters
    ----------
    model : classifier or Pipeline
        Fitted, with `decision_function`.
    X : data frame, Arrow table or array of shape (n_samples, n_columns)
    y : array-like of shape (n_samples,)
        PU labels: two values, of which the larger means labeled positive.
    n_repeats : int, default=5
        How often each column is shuffled.
    n_jobs : int or None, default=None
        Number of joblib workers; -1 is all cores.
    random_state : int or None, default=0

    Returns
    -------
    Bunch
        `importances_mean`, `importances_std`, `importances` of shape (n_columns, n_repeats), and
        the names of the `columns`.

    Examples
    --------
    >>> from mixpul import LogisticPUClassifier, datasets
    >>> from mixpul.assess import permutation_importance
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.3, random_state=0)
    >>> model = LogisticPUClassifier().fit(pu.X[::2], pu.s[::2])
    >>> found = permutation_importance(model, pu.X[1::2], pu.s[1::2])
    >>> found.importances_mean.shape == (pu.X.shape[1],)
    True
    """
    is_array = isinstance(X, np.ndarray | list)
    # scikit-learn's takes pandas' frames only.
    table: Any = np.asarray(X) if is_array else as_frame(X)
    found = inspection.permutation_importance(
        model,
        table,
        np.asarray(y),
        scoring=pu_auc_scorer,
        n_repeats=n_repeats,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    found["columns"] = (
        [f"x{j}" for j in range(table.shape[1])] if is_array else [str(c) for c in table.columns]
    )
    return found
