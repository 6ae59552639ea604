"""Ranking scores that need no labeled negatives.

All of them compare labeled positives with unlabeled rows. Compute them on held-out rows: a model
that has memorised its positives ranks those first whatever else it does.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.utils.validation import column_or_1d

from mixpul._validation import split_labels

__all__ = [
    "Estimate",
    "accuracy_threshold",
    "auc_interval",
    "corrected_auc_score",
    "pu_auc_score",
    "pu_auc_scorer",
]


class Estimate(NamedTuple):
    """A number with its standard error and a confidence interval.

    Attributes
    ----------
    value : float
    se : float
        Standard error of `value`.
    low, high : float
        Ends of the confidence interval.

    Examples
    --------
    >>> from mixpul.metrics import Estimate
    >>> Estimate(value=0.9, se=0.1, low=0.704, high=1.096).se
    0.1
    """

    value: float
    se: float
    low: float
    high: float


def pu_auc_score(is_positive: ArrayLike, scores: ArrayLike, *, pos_label: Any = None) -> float:
    """Share of (labeled positive, unlabeled) pairs in which the positive scores higher.

    Ties count half. For a fixed set of rows, models are in the same order by this score as by
    the AUC against true negatives, up to sampling error, so it selects models without a class
    prior. Its largest reachable value is ``1 - prior / 2``.

    Parameters
    ----------
    is_positive : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    scores : array of shape (n,)
        Larger means more likely positive.
    pos_label : optional
        The value of `is_positive` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import pu_auc_score
    >>> pu_auc_score([1, 1, 0, 0, 0], [0.9, 0.6, 0.7, 0.2, 0.1])
    0.833...
    """
    _, is_positive = split_labels(is_positive, pos_label)
    return _pu_auc(is_positive, _checked_scores(scores, is_positive))


def corrected_auc_score(
    is_positive: ArrayLike, scores: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    r"""AUC against true negatives, :math:`(AUC_{PU} - \pi/2) / (1 - \pi)`.

    Right on average if the labeled positives are a random sample of all positives. The value is
    never clipped: one outside [0, 1] comes with a warning.

    Parameters
    ----------
    is_positive : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    scores : array of shape (n,)
        Larger means more likely positive.
    prior : float in [0, 1)
        Share of positives among the unlabeled rows (not among all rows).
    pos_label : optional
        The value of `is_positive` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import corrected_auc_score
    >>> scores = [0.9, 0.6, 0.9, 0.6, 0.7, 0.2, 0.1]
    >>> corrected_auc_score([1, 1, 0, 0, 0, 0, 0], scores, prior=0.4)
    0.833...
    """
    _, is_positive = split_labels(is_positive, pos_label)
    _check_prior(prior)
    auc = _corrected(_pu_auc(is_positive, _checked_scores(scores, is_positive)), prior)
    _warn_outside_unit_interval(auc, prior)
    return auc


def auc_interval(
    is_positive: ArrayLike,
    scores: ArrayLike,
    *,
    prior: float = 0.0,
    prior_se: float = 0.0,
    level: float = 0.95,
    pos_label: Any = None,
) -> Estimate:
    r"""AUC with its standard error and confidence interval, by the method of DeLong.

    With structural components :math:`V_i` of the positives and :math:`W_j` of the unlabeled rows
    the PU-AUC has variance :math:`v = var(V)/n_P + var(W)/n_U`, and the corrected AUC

    .. math:: v / (1-\pi)^2 + ((AUC_{PU} - 1/2) / (1-\pi)^2)^2 \, se(\pi)^2 .

    Parameters
    ----------
    is_positive : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive. At least two rows
        of each.
    scores : array of shape (n,)
        Larger means more likely positive.
    prior : float in [0, 1), default=0.0
        Share of positives among the unlabeled rows; 0 gives the PU-AUC itself.
    prior_se : float, default=0.0
        Standard error of `prior`, if it was estimated.
    level : float in (0, 1), default=0.95
        Coverage of the interval.
    pos_label : optional
        The value of `is_positive` that means labeled positive.

    Returns
    -------
    Estimate
        The interval is the normal one and is not clipped to [0, 1].

    Notes
    -----
    If every positive outranks every unlabeled row (or none does), the standard error is 0, which
    says that the sample is too small to show an error, not that there is none.

    Examples
    --------
    >>> from mixpul.metrics import auc_interval
    >>> labels = [1] * 10 + [0] * 6
    >>> scores = [9, 8, 6, 7, 4, 9, 8, 5, 7, 6, 8, 6, 3, 2, 1, 5]
    >>> auc = auc_interval(labels, scores, prior=0.25)
    >>> print(f"{auc.value:.3f} +- {auc.se:.3f}, from {auc.low:.3f} to {auc.high:.3f}")
    0.911 +- 0.166, from 0.586 to 1.237
    """
    _, is_positive = split_labels(is_positive, pos_label)
    scores = _checked_scores(scores, is_positive)
    _check_prior(prior)
    if not 0 <= prior_se < np.inf:
        raise ValueError(f"prior_se must be a standard error, 0 or larger; got {prior_se!r}.")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, e.g. 0.95; got {level!r}.")
    _check_enough_rows(is_positive)
    pu_auc = _pu_auc(is_positive, scores)
    auc = _corrected(pu_auc, prior)
    _warn_outside_unit_interval(auc, prior)
    variance = _delong_variance(is_positive, scores) / (1 - prior) ** 2
    slope = (pu_auc - 0.5) / (1 - prior) ** 2
    se = float(np.sqrt(variance + (slope * prior_se) ** 2))
    half_width = float(ndtri((1 + level) / 2)) * se
    return Estimate(auc, se, auc - half_width, auc + half_width)


def pu_auc_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """PU-AUC of a fitted classifier, for ``scoring=`` in `cross_val_score` and `GridSearchCV`.

    The last of the estimator's `classes_` counts as labeled positive.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from mixpul import datasets
    >>> from mixpul.metrics import pu_auc_scorer
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.5, random_state=0)
    >>> model = LogisticRegression(class_weight="balanced")
    >>> bool(cross_val_score(model, pu.X, pu.s, scoring=pu_auc_scorer).mean() > 0.6)
    True
    """
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    else:
        scores = estimator.predict_proba(X)[:, 1]
    return pu_auc_score(y, scores, pos_label=estimator.classes_[1])


def accuracy_threshold(prior: float, *, population_prior: float | None = None) -> float:
    r"""Score above which predicting "positive" gives the highest accuracy.

    For scores :math:`g = p_+ / (p_+ + p_u)`, the optimum of the squared or the log loss on equally
    many positives and unlabeled rows. With :math:`k = (1-\pi_t) / \pi_t` the density ratio
    :math:`p_+ / p_u` to cut at is :math:`r = k / (1 - \pi_U + k \pi_U)`, and the score
    :math:`r / (1 + r)`. It holds for scores that are g. The margin term stretches scores
    away from 0.5 (threefold at ``gamma=1``, ``margin=1``), so for `MixPULClassifier` either
    train with ``gamma=0`` or cut where the expected share of held-out rows lies above.

    Parameters
    ----------
    prior : float in (0, 1)
        Share of positives among the unlabeled rows, :math:`\pi_U`.
    population_prior : float in (0, 1), optional
        Share of positives where the classifier will be used, :math:`\pi_t`; by default `prior`.

    Examples
    --------
    >>> from mixpul.metrics import accuracy_threshold
    >>> round(accuracy_threshold(0.1), 4)
    0.8333
    >>> accuracy_threshold(0.5)
    0.5
    """
    target = prior if population_prior is None else population_prior
    for name, value in (("prior", prior), ("population_prior", target)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be a share between 0 and 1; got {value!r}.")
    k = (1 - target) / target
    ratio = k / (1 - prior + k * prior)
    return ratio / (1 + ratio)


def _checked_scores(scores: ArrayLike, is_positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    checked: NDArray[np.float64] = column_or_1d(scores, dtype=np.float64)
    if len(checked) != len(is_positive):
        raise ValueError(
            "Labels and scores must have one entry per row; "
            f"there are {len(is_positive)} labels and {len(checked)} scores."
        )
    n_missing = int(np.isnan(checked).sum())
    if n_missing:
        raise ValueError(
            f"scores has NaN in {n_missing} of {len(checked)} rows, which cannot be ranked; "
            "look for NaN or infinity in the model or its input."
        )
    return checked


def _check_prior(prior: float) -> None:
    if not 0 <= prior < 1:
        raise ValueError(
            "prior must be the share of positives among the unlabeled rows, from 0 up to but "
            f"not including 1; got {prior!r}."
        )


def _check_enough_rows(is_positive: NDArray[np.bool_]) -> None:
    n_positive = int(is_positive.sum())
    n_unlabeled = len(is_positive) - n_positive
    if min(n_positive, n_unlabeled) < 2:
        raise ValueError(
            "A standard error needs at least 2 labeled positives and 2 unlabeled rows; got "
            f"{n_positive} and {n_unlabeled}. pu_auc_score gives the value alone."
        )
    if n_positive < 10:
        warnings.warn(
            f"With {n_positive} labeled positives the interval is hardly informative: its "
            "standard error is itself a guess below 10.",
            UserWarning,
            stacklevel=3,
        )


def _pu_auc(is_positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    n_positive = int(is_positive.sum())
    n_pairs = n_positive * (len(scores) - n_positive)
    rank_sum = float(rankdata(scores)[is_positive].sum())
    return (rank_sum - n_positive * (n_positive + 1) / 2) / n_pairs


def _corrected(pu_auc: float, prior: float) -> float:
    return (pu_auc - prior / 2) / (1 - prior)


def _warn_outside_unit_interval(auc: float, prior: float) -> None:
    rounding = 1e-9
    if not -rounding <= auc <= 1 + rounding:
        warnings.warn(
            f"The corrected AUC is {auc:.4g}, outside [0, 1]. Beyond chance in small samples this "
            f"means that prior={prior:.4g} is too large (is it the share among all rows instead of "
            "among the unlabeled ones?) or that the positives were not labeled at random.",
            UserWarning,
            stacklevel=3,
        )


def _delong_variance(is_positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Variance of the PU-AUC; each row's component is its rank among all less that in its group."""
    ranks = rankdata(scores)
    n_positive = int(is_positive.sum())
    n_unlabeled = len(scores) - n_positive
    positive = (ranks[is_positive] - rankdata(scores[is_positive])) / n_unlabeled
    unlabeled = (ranks[~is_positive] - rankdata(scores[~is_positive])) / n_positive
    return float(positive.var(ddof=1) / n_positive + unlabeled.var(ddof=1) / n_unlabeled)
