"""Class priors: the share of positives among the unlabeled rows, estimated from PU data.

Without an assumption the prior cannot be known from such data: unlabeled rows that look like
positives might be negatives. All estimators assume that the labeled positives are a random sample
of the positives and that some region holds hardly any negatives. Where no region does, they err
upward. Ask two before you rely on one.
"""

import copy
import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from mixpul._names import PRIORS
from mixpul._util.random import RandomStateLike, seed_parts
from mixpul._util.validation import split_labels
from mixpul.priors._bbe import BBEPrior, bbe
from mixpul.priors._bounds import largest_prior, warn_if_impossible
from mixpul.priors._dedpul import DEDPULPrior, dedpul
from mixpul.priors._elkan_noto import ElkanNotoPrior, elkan_noto, label_frequency
from mixpul.priors._km import KMPrior, km
from mixpul.priors._pen_l1 import PenL1Prior, pen_l1
from mixpul.priors._subtypes import (
    Subtype,
    find_subtypes,
    prior_by_subtype,
    propensity_weights,
)
from mixpul.priors._tice import TIcEPrior, tice
from mixpul.priors.base import PriorEstimator

__all__ = [
    "PRIORS",
    "BBEPrior",
    "DEDPULPrior",
    "ElkanNotoPrior",
    "KMPrior",
    "PenL1Prior",
    "PriorEstimator",
    "Subtype",
    "TIcEPrior",
    "bbe",
    "dedpul",
    "elkan_noto",
    "find_subtypes",
    "km",
    "label_frequency",
    "largest_prior",
    "pen_l1",
    "prior_by_subtype",
    "propensity_weights",
    "resolve_prior",
    "tice",
    "warn_if_impossible",
]


def resolve_prior(
    prior: float | str | PriorEstimator, X: Any, y: ArrayLike, random_state: RandomStateLike = None
) -> tuple[float, Any]:
    """Turn what users give as `prior` into a number, by an estimator if need be.

    Parameters
    ----------
    prior : float in (0, 1), str or PriorEstimator
        The share of positives among the unlabeled rows; or a name in `PRIORS` or an estimator,
        of which a copy is fitted. A copy without `random_state` gets one.
    X : array-like or CSR matrix of n rows
    y : array-like of shape (n,)
        PU labels, of which the estimator's `pos_label` names the positive one. Or a mask of bool,
        in which True means labeled positive, whatever `pos_label` the estimator has.
    random_state : int, RandomState, Generator or None, default=None
        Randomness of the estimator.

    Returns
    -------
    value : float
        Above 0 and below 1; an estimate of less than one unlabeled row, or of all but less than
        one, becomes one row with a warning.
    estimator : PriorEstimator or None
        The fitted estimator, if there was one.

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul.priors import resolve_prior
    >>> resolve_prior(0.3, None, None)
    (0.3, None)
    >>> X, y = datasets.load("krvskp", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.4, random_state=0)
    >>> value, estimator = resolve_prior("dedpul", pu.X, pu.s, random_state=0)
    >>> value == estimator.prior_
    True
    """
    if isinstance(prior, Real) and 0 < float(prior) < 1:
        return float(prior), None
    # It also refuses numbers that are no share.
    estimator = _make_estimator(prior)
    if np.asarray(y).dtype == bool and getattr(estimator, "pos_label", None) not in (None, True):
        estimator = _copy_for_masks(estimator)
    if isinstance(estimator, BaseEstimator):
        seed_parts(estimator, random_state, deep=False)
    estimator.fit(X, y)
    _, is_positive = split_labels(y, getattr(estimator, "pos_label", None))
    # One row rather than a fixed share: .001 is much of a million rows and nothing of a hundred.
    # At least two: with one unlabeled row the limits of the clip would cross.
    one_row = 1 / max(2, int((~is_positive).sum()))
    value = float(np.clip(estimator.prior_, one_row, 1 - one_row))
    if value != estimator.prior_:
        warnings.warn(
            f"{type(estimator).__name__} estimates a prior of {estimator.prior_:.4g}, which "
            f"leaves one class empty among the unlabeled rows; {value:.4g}, one row, is used. "
            "Hardly any row of that class may be predicted. Give the prior as a number if you "
            "know better.",
            UserWarning,
            stacklevel=3,
        )
    return value, estimator


def _make_estimator(prior: Any) -> Any:
    """Return a new estimator of this name, or a copy of the given one."""
    if isinstance(prior, str) and prior in PRIORS:
        return PRIORS[prior]()
    if hasattr(prior, "fit") and not isinstance(prior, type):
        # What follows the protocol without being scikit-learn's is used as it is.
        return clone(prior) if isinstance(prior, BaseEstimator) else prior
    raise ValueError(
        "prior must be the share of positives among the unlabeled rows, in (0, 1), one of "
        f"{', '.join(map(repr, PRIORS))}, or an estimator of it; got {prior!r}."
    )


def _copy_for_masks(estimator: Any) -> Any:
    """Return a copy that takes True as positive.

    Its `pos_label` is a value of the user's labels, and a classifier hands on a mask instead. It
    becomes True and not None, because a user's own estimator may compare labels with it.
    """
    estimator = copy.copy(estimator)
    estimator.pos_label = True
    return estimator
