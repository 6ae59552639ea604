"""How much a ranking rests on each column."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul._util.shuffling import score_shuffled_columns
from mixpul.metrics.ranking import pu_auc_score

__all__ = ["measure_drops"]


def measure_drops(
    rows: Any,
    is_positive: NDArray[np.bool_],
    places: NDArray[np.intp],
    folds: NDArray[np.int32],
    scorers: Sequence[Callable[[Any, NDArray[np.intp]], NDArray]],
) -> NDArray[np.float64]:
    """Return the mean drop of the PU-AUC when a column is shuffled, and 0 where it rises.

    The same rows give the same numbers: the permutations have a seed of their own.
    """
    parts = [np.flatnonzero(folds == k) for k in range(len(scorers))]
    before = np.empty(len(places), dtype=np.float32)
    for part, scorer in zip(parts, scorers, strict=True):
        if len(part):
            before[part] = scorer(rows[part], places[part])
    used = [(part, scorer) for part, scorer in zip(parts, scorers, strict=True) if len(part)]
    auc = pu_auc_score(is_positive, before)
    drops = np.zeros(rows.shape[1])
    # A column of one value stays what it is.
    varying = [j for j in range(rows.shape[1]) if _varies(rows[:, [j]])]
    scored = score_shuffled_columns(
        rows,
        places,
        [(j, j + 1) for j in varying],
        [part for part, _ in used],
        [scorer for _, scorer in used],
        np.random.default_rng(0),
    )
    for j, shuffled in zip(varying, scored, strict=True):
        drops[j] = auc - np.mean([pu_auc_score(is_positive, one) for one in shuffled])
    return np.maximum(drops, 0.0)


def _varies(column: Any) -> bool:
    return bool(column.max() > column.min())
