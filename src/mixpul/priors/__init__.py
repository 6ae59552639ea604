"""Class priors: the share of positives among the unlabeled rows, estimated from PU data.

Without an assumption the prior cannot be known from such data: any share of the unlabeled rows
that look like positives might be negatives that look like positives. All estimators assume that
the labeled positives are a random sample of the positives and that some region holds hardly any
negatives; where it does not, they err upward. Ask two before you rely on one.
"""

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from mixpul._names import PRIORS
from mixpul._util.random import RandomStateLike, as_generator
from mixpul._util.validation import split_labels
from mixpul.priors._bbe import BBEPrior, bbe
from mixpul.priors._bounds import largest_prior, warn_if_impossible
from mixpul.priors._dedpul import DEDPULPrior, dedpul
from mixpul.priors._elkan_noto import ElkanNotoPrior, label_frequency
from mixpul.priors._km import KMPrior, km
from mixpul.priors._pen_l1 import PenL1Prior, pen_l1
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
    "TIcEPrior",
    "bbe",
    "dedpul",
    "km",
    "label_frequency",
    "largest_prior",
    "pen_l1",
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
        PU labels.
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
    if isinstance(prior, str) and prior in PRIORS:
        estimator: Any = PRIORS[prior]()
    elif hasattr(prior, "fit") and not isinstance(prior, type):
        estimator = clone(prior) if isinstance(prior, BaseEstimator) else prior
    else:
        raise ValueError(
            "prior must be the share of positives among the unlabeled rows, in (0, 1), one of "
            f"{', '.join(map(repr, PRIORS))}, or an estimator of it; got {prior!r}."
        )
    if isinstance(estimator, BaseEstimator):
        params = estimator.get_params(deep=False)
        if "random_state" in params and params["random_state"] is None:
            seed = int(as_generator(random_state).integers(2**31))
            estimator.set_params(random_state=seed)
    estimator.fit(X, y)
    _, is_positive = split_labels(y, getattr(estimator, "pos_label", None))
    one_row = 1 / max(2, int((~is_positive).sum()))
    value = float(np.clip(estimator.prior_, one_row, 1 - one_row))
    if value != estimator.prior_:
        warnings.warn(
            f"{type(estimator).__name__} estimates a prior of {estimator.prior_:.4g}, which "
            f"leaves one class empty among the unlabeled rows; {value:.4g}, one row, is used, and "
            "next to no row of that class may be predicted. Give the prior as a number if you "
            "know better.",
            UserWarning,
            stacklevel=3,
        )
    return value, estimator
