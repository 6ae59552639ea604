"""Scores of rows by copies of an estimator that have not seen them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

__all__ = ["cross_validate"]


def cross_validate(
    estimator: Any,
    rows: Any,
    labels: NDArray,
    folds: NDArray[np.int32],
    *,
    train_on: NDArray[np.bool_] | None = None,
    negative: NDArray[np.bool_] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    score: Callable[[Any, Any], NDArray] = lambda part, rows: part.decision_function(rows),
    advance: Callable[[dict[str, float]], None] = lambda record: None,
) -> tuple[NDArray[np.float64], list[Any]]:
    """Fit one copy without each fold; return the scores of the folds left out, and the copies.

    With `train_on` the copies learn from these rows only; all rows are scored. Verified negatives
    (`negative`, for classifiers that take them) are learned from only by copies that do not score
    them. `sample_weight` is for estimators that take it. `score` says how a copy scores rows.
    """
    scores, parts = np.empty(len(labels)), []
    for k in range(int(folds.max()) + 1):
        is_left_out = folds == k
        is_seen = ~is_left_out if train_on is None else train_on & ~is_left_out
        known = {"negative": negative, "sample_weight": sample_weight}
        more = {name: array[is_seen] for name, array in known.items() if array is not None}
        part = clone(estimator).fit(rows[is_seen], labels[is_seen], **more)
        scores[is_left_out] = score(part, rows[is_left_out])
        parts.append(part)
        advance({})
    return scores, parts
