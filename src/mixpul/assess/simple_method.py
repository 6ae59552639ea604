"""A simple method to compare with: logistic regression, unlabeled rows taken as negative."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from mixpul.assess.out_of_fold import cross_validate

__all__ = ["score_simple_method"]

# More unlabeled rows hardly change a logistic regression on some dozens of features.
MOST_UNLABELED = 20_000


def score_simple_method(
    rows: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    folds: NDArray[np.int32],
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Return out-of-fold scores of a logistic regression that weighs both kinds of rows equally."""
    used = is_positive.copy()
    used[random.permutation(np.flatnonzero(~is_positive))[:MOST_UNLABELED]] = True
    simple = LogisticRegression(C=0.3, class_weight="balanced", max_iter=1000)
    with warnings.catch_warnings():
        # Raised where positives can be separated; the scores are good enough by then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores, _ = cross_validate(simple, rows, is_positive, folds, train_on=used)
    return scores
