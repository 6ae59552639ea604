"""Scores of rows by copies of an estimator that have not seen them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
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
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], list[Any]]:
    """Fit one copy without each fold; return the scores of the folds left out, and the copies.

    With `train_on` the copies learn from these rows only; all rows are scored. Verified negatives
    (`negative`, for classifiers that take them) are learned from only by copies that do not score
    them. `sample_weight` is for estimators that take it. `score` says how a copy scores rows,
    `n_jobs` how many copies are fitted at a time.
    """
    scores, parts = np.empty(len(labels)), []
    jobs = []
    for k in range(int(folds.max()) + 1):
        is_seen = folds != k if train_on is None else train_on & (folds != k)
        known = {"negative": negative, "sample_weight": sample_weight}
        more = {name: array[is_seen] for name, array in known.items() if array is not None}
        jobs.append((clone(estimator), is_seen, more))
    fits = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit)(part, rows[is_seen], labels[is_seen], more) for part, is_seen, more in jobs
    )
    for k, part in enumerate(fits):
        scores[folds == k] = score(part, rows[folds == k])
        parts.append(part)
        advance({})
    return scores, parts


def _fit(part: Any, rows: Any, labels: NDArray, more: dict[str, Any]) -> Any:
    return part.fit(rows, labels, **more)
