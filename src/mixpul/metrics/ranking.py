"""Ranking scores: how often labeled positives outrank unlabeled rows."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from mixpul._util.validation import check_scores, split_labels
from mixpul.metrics.checks import (
    check_auc_prior,
    check_enough_rows,
    check_level,
    check_prior_se,
    explain_few_positives,
    explain_outside,
)
from mixpul.metrics.shares import combine_ends, logit_interval


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
    """Return the share of (labeled positive, unlabeled) pairs in which the positive scores higher.

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
    return pu_auc(is_positive, check_scores(scores, is_positive))


def corrected_auc_score(
    is_positive: ArrayLike, scores: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    r"""Return the AUC against true negatives, :math:`(AUC_{PU} - \pi/2) / (1 - \pi)`.

    It is right on average if the labeled positives are a random sample of all positives. The value
    is never clipped: one outside [0, 1] comes with a warning.

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
    check_auc_prior(prior)
    auc = corrected_auc(pu_auc(is_positive, check_scores(scores, is_positive)), prior)
    if sentence := explain_outside("corrected AUC", auc, 0, 1, prior):
        warnings.warn(sentence, UserWarning, stacklevel=2)
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
    r"""Estimate the AUC with its standard error and confidence interval, as DeLong does.

    With structural components :math:`V_i` of the positives and :math:`W_j` of the unlabeled rows
    the PU-AUC has variance :math:`v = var(V)/n_P + var(W)/n_U`, and the corrected AUC

    .. math:: v / (1-\pi)^2 + ((AUC_{PU} - 1/2) / (1-\pi)^2)^2 \, se(\pi)^2 .

    The interval of the PU-AUC is the normal one on the scale of log-odds. That of the corrected AUC
    is what the correction makes of its ends; it is widened by the error of the prior and ends at
    0 and 1.

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
        The interval lies inside [0, 1]. The value is not clipped: one outside [0, 1] comes with a
        warning.

    Notes
    -----
    If every positive outranks every unlabeled row (or none does), the standard error is 0, which
    says that the sample is too small to show an error, not that there is none. The interval is
    then Wilson's, of a share of as many rows as the smaller kind has.

    Examples
    --------
    >>> from mixpul.metrics import auc_interval
    >>> labels = [1] * 10 + [0] * 6
    >>> scores = [9, 8, 6, 7, 4, 9, 8, 5, 7, 6, 8, 6, 3, 2, 1, 5]
    >>> auc = auc_interval(labels, scores, prior=0.25)
    >>> print(f"{auc.value:.3f} +- {auc.se:.3f}, from {auc.low:.3f} to {auc.high:.3f}")
    0.911 +- 0.166, from 0.454 to 1.000
    """
    _, is_positive = split_labels(is_positive, pos_label)
    scores = check_scores(scores, is_positive)
    check_auc_prior(prior)
    check_prior_se(prior_se)
    check_level(level)
    check_enough_rows(is_positive)
    estimate = delong(is_positive, scores, prior, prior_se, level)
    doubts = (
        explain_few_positives(is_positive),
        explain_outside("corrected AUC", estimate.value, 0, 1, prior),
    )
    for sentence in filter(None, doubts):
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return estimate


def pu_auc(is_positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Return the PU-AUC of scores that were checked, by the sum of the positives' ranks."""
    n_positive = int(is_positive.sum())
    n_pairs = n_positive * (len(scores) - n_positive)
    # Less its smallest value, the sum of the ranks counts the pairs won; ties count half.
    rank_sum = float(rankdata(scores)[is_positive].sum())
    return (rank_sum - n_positive * (n_positive + 1) / 2) / n_pairs


def corrected_auc(pu_auc: Any, prior: Any) -> Any:
    """Compute the equation itself, for numbers and for arrays of them."""
    return (pu_auc - prior / 2) / (1 - prior)


def delong(
    is_positive: NDArray[np.bool_],
    scores: NDArray[np.float64],
    prior: float,
    prior_se: float,
    level: float,
) -> Estimate:
    """Return what `auc_interval` returns, without its checks and warnings."""
    plain = pu_auc(is_positive, scores)
    plain_se = float(np.sqrt(_delong_variance(is_positive, scores)))
    # The delta method: an error of the prior moves the corrected AUC by the slope.
    by_prior = abs((plain - 0.5) / (1 - prior) ** 2) * prior_se
    auc = corrected_auc(plain, prior)
    n_fewer = int(min(is_positive.sum(), (~is_positive).sum()))
    ends = logit_interval(plain, plain_se, n_fewer, level)
    low, high = (corrected_auc(end, prior) for end in ends)
    reach = float(ndtri((1 + level) / 2)) * by_prior
    low, high = combine_ends(auc, (low, high), (auc - reach, auc + reach))
    se = float(np.hypot(plain_se / (1 - prior), by_prior))
    return Estimate(auc, se, *(float(np.clip(end, 0.0, 1.0)) for end in (low, high)))


def _delong_variance(is_positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Return the variance of the PU-AUC: that of the components of each kind over its rows."""
    positive, unlabeled = components(is_positive, scores)
    return float(positive.var(ddof=1) / len(positive) + unlabeled.var(ddof=1) / len(unlabeled))


def components(
    is_positive: NDArray[np.bool_], scores: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return DeLong's structural components, of the positives and of the unlabeled rows.

    A row's component is the share of the other kind that it wins against: its rank among all rows
    less its rank in its group counts them, at the cost of a sort instead of all pairs.
    """
    ranks = rankdata(scores)
    n_positive = int(is_positive.sum())
    positive = (ranks[is_positive] - rankdata(scores[is_positive])) / (len(scores) - n_positive)
    unlabeled = (ranks[~is_positive] - rankdata(scores[~is_positive])) / n_positive
    return positive, unlabeled
