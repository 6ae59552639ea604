"""Scores of rows that were left out of training, by whatever method."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mixpul._util.cross_validation import cross_validate
from mixpul._util.progress import progress_bar
from mixpul._util.random import number_folds
from mixpul.base import PUClassifier

__all__ = [
    "N_FOLDS",
    "OutOfFold",
    "Scorer",
    "cross_validate",
    "fit_on_all_rows",
    "score_out_of_fold",
]

N_FOLDS = 5

# Takes rows, perhaps changed ones, and their places in the fit.
Scorer = Callable[[NDArray, NDArray[np.intp]], NDArray]


class OutOfFold(NamedTuple):
    """A classifier fitted on all rows, and the scores of rows by scorers that have not seen them.

    Attributes
    ----------
    classifier : PUClassifier
    scores : ndarray of shape (n,)
        Logits.
    folds : ndarray of shape (n,)
        For each row the number of the scorer that has not seen it.
    scorers : list of callable
        Each takes rows of its fold, perhaps changed ones, and their places in the fit, and returns
        their logits.
    """

    classifier: PUClassifier
    scores: NDArray[np.float32]
    folds: NDArray[np.int32]
    scorers: list[Scorer]

    def take(self, rows: NDArray[np.intp]) -> "OutOfFold":
        """Return the same of some rows only, which are then counted anew."""
        scorers = [_find_places(score, rows) for score in self.scorers]
        return self._replace(scores=self.scores[rows], folds=self.folds[rows], scorers=scorers)

    @property
    def shares(self) -> NDArray[np.float32]:
        """The scores on the scale of `predict_proba`."""
        return expit(self.scores)


def fit_on_all_rows(
    classifier: Any,
    rows: NDArray,
    is_positive: NDArray[np.bool_],
    verbose: int,
    is_negative: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> None:
    """Fit a classifier in place; if it can show its progress, it does so by `verbose`."""
    params = classifier.get_params()
    if "verbose" in params:
        classifier.set_params(verbose=verbose)
    classifier.fit(rows, is_positive.astype(int), **_name_arguments(is_negative, weights))
    if "verbose" in params:
        # How loud this fit was is not a setting of the model to keep.
        classifier.set_params(verbose=params["verbose"])


def _name_arguments(
    is_negative: NDArray[np.bool_] | None, weights: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Return what there is as arguments of `fit`."""
    known = {"negative": is_negative, "sample_weight": weights}
    return {name: array for name, array in known.items() if array is not None}


def score_out_of_fold(
    classifier: Any,
    rows: NDArray,
    is_positive: NDArray[np.bool_],
    n_folds: int,
    seed: int,
    verbose: int,
    is_negative: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> OutOfFold:
    """Return the out-of-fold scores that a fitted classifier has, or fit one copy per fold."""
    # Some classifiers come with scores of rows by fits that have not seen them.
    if hasattr(classifier, "oof_scores_"):
        scorers = classifier._list_left_out_scorers()
        return OutOfFold(classifier, classifier.oof_scores_, classifier.oof_folds_, scorers)
    folds = number_folds(is_positive, n_folds, seed, is_negative)
    with progress_bar(int(folds.max()) + 1, type(classifier).__name__, verbose, "folds") as advance:
        scores, parts = cross_validate(
            classifier,
            rows,
            is_positive.astype(int),
            folds,
            advance=advance,
            n_jobs=n_jobs,
            **_name_arguments(is_negative, weights),
        )
    scorers = [_ignore_places(part.decision_function) for part in parts]
    return OutOfFold(classifier, scores.astype(np.float32), folds, scorers)


def _ignore_places(score: Callable[[NDArray], NDArray]) -> Scorer:
    return lambda rows, places: score(rows)


def _find_places(score: Scorer, kept: NDArray[np.intp]) -> Scorer:
    """Return a scorer for which rows are counted among those that were kept."""
    return lambda rows, places: score(rows, kept[places])
