"""How much a ranking rests on each column."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul._util.shuffling import sample_rows, score_shuffled_columns
from mixpul.metrics.ranking import pu_auc_score

__all__ = ["WithImportances", "measure_drops"]

# Values of the rows kept in memory to measure the importance of columns.
MOST_KEPT = 2**21


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


class WithImportances:
    """What gives a classifier `feature_importances_`."""

    _row_shape: tuple[int, ...]
    # In memory only: rows, labels, places in the fit, folds; and what was measured on them.
    _sample: tuple[Any, NDArray[np.bool_], NDArray[np.intp], NDArray[np.int32]]
    _importances: NDArray[np.float64]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """By how much the PU-AUC of a sample of training rows drops if a column is shuffled.

        At least 0, and measured when it is asked for first. Methods with out-of-fold or out-of-bag
        scores measure it on rows that they have not seen; others on rows that they have.
        """
        if not hasattr(self, "_importances"):
            if not hasattr(self, "_sample"):
                raise AttributeError(self._explain_no_importances())
            rows, is_positive, places, folds = self._sample
            self._importances = measure_drops(
                rows, is_positive, places, folds, self._list_left_out_scorers()
            )
        return self._importances

    def _explain_no_importances(self) -> str:
        name = type(self).__name__
        if not hasattr(self, "classes_"):
            return f"This {name} is not fitted yet; call 'fit' before feature_importances_."
        if len(self._row_shape) > 1:
            return f"This {name} was fitted on images, which have no columns to be important."
        return (
            f"This {name} comes from a file, which holds no rows to measure feature_importances_ "
            "on; call mixpul.assess.permutation_importance(model, X, y)."
        )

    def _keep_sample(self, X: Any, is_positive: NDArray[np.bool_]) -> None:
        """Keep some rows, in memory only, for `feature_importances_`."""
        if X.ndim != 2:
            return
        # Of wide rows fewer, so that portfolios do not keep a multiple of their data.
        share = min(1.0, max(0.05, MOST_KEPT / (4_000 * X.shape[1])))
        rows = sample_rows(is_positive, np.random.default_rng(0), share)
        folds = getattr(self, "oof_folds_", np.zeros(len(is_positive), dtype=np.int32))
        self._sample = X[rows], is_positive[rows], rows, folds[rows]

    def _list_left_out_scorers(self) -> list[Callable[[Any, NDArray[np.intp]], NDArray]]:
        """Return for each fold what scores rows of it by fits that have not seen them.

        A scorer takes rows, perhaps changed ones, and their places in the fit. Without folds there
        is one, which has seen all rows.
        """
        model: Any = self
        if not hasattr(self, "oof_folds_"):
            return [_ignore_places(model.decision_function)]
        if hasattr(self, "make_fold_scorers"):
            return [_ignore_places(score) for score in model.make_fold_scorers()]
        return [
            partial(_score_fold, model, fold) for fold in range(int(model.oof_folds_.max()) + 1)
        ]


def _ignore_places(score: Callable[[Any], NDArray]) -> Callable[[Any, NDArray], NDArray]:
    return lambda rows, places: score(rows)


def _score_fold(model: Any, fold: int, rows: Any, places: NDArray[np.intp]) -> NDArray:
    # Trees score a row by those of them that have not seen it, hence its place in the fit.
    return model.score_left_out(rows, fold, places)
