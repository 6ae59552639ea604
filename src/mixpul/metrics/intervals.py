"""Confidence intervals by the bootstrap, positives and unlabeled rows resampled separately."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixpul._util.random import RandomStateLike, as_generator
from mixpul._util.validation import check_scores, split_labels
from mixpul.metrics._rates import MetricLike, Numbers, PURates, find_metric, read_predictions
from mixpul.metrics.checks import (
    MEANING_OF_PRIOR,
    check_enough_rows,
    check_level,
    check_prior_range,
    check_prior_se,
    explain_few_positives,
    explain_outside,
)
from mixpul.metrics.ranking import Estimate, corrected_auc, pu_auc

RANKING = {"pu_auc": "PU-AUC", "corrected_auc": "corrected AUC"}


def pu_interval(
    metric: MetricLike,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    prior: float | None = None,
    prior_se: float = 0.0,
    threshold: float | None = None,
    n_bootstrap: int = 1000,
    level: float = 0.95,
    pos_label: Any = None,
    random_state: RandomStateLike = None,
) -> Estimate:
    """Estimate a metric with its standard error and percentile interval, by the bootstrap.

    Labeled positives and unlabeled rows are resampled separately, as they were drawn. Of 0/1
    predictions a resample is two counts, which are drawn as such (they are binomial): the work
    does not grow with the number of rows. The AUCs are resampled row by row.

    Parameters
    ----------
    metric : str or callable
        ``'recall'``, ``'flagged_share'``, ``'lee_liu'``, ``'pu_auc'``, and with a prior
        ``'precision'``, ``'f1'``, ``'accuracy'``, ``'balanced_accuracy'``,
        ``'matthews_corrcoef'``, ``'false_positive_rate'``, ``'zero_one_risk'``,
        ``'corrected_auc'``. Or a function that gets `PURates` of arrays and returns an array.
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive. At least two rows
        of each.
    y_pred : array of shape (n,)
        Predictions (the two labels themselves, or 0 and 1); scores for the AUCs and
        if `threshold` is given.
    prior : float in (0, 1), optional
        Share of positives among the unlabeled rows (not among all rows).
    prior_se : float, default=0.0
        Standard error of `prior`, if it was estimated. Each resample then draws a prior from
        the Beta distribution with this mean and standard deviation.
    threshold : float, optional
        Rows that score above it are predicted positive. None takes `y_pred` as predictions.
    n_bootstrap : int, default=1000
        Number of resamples.
    level : float in (0, 1), default=0.95
        Coverage of the interval.
    pos_label : optional
        The value of `y_true` that means labeled positive.
    random_state : int, RandomState, Generator or None, default=None
        An int for a repeatable interval.

    Returns
    -------
    Estimate
        `se` is the standard deviation of the resamples. Nothing is clipped: a value outside the
        range of its metric comes with a warning.

    Notes
    -----
    If all labeled positives are predicted alike, so are all resamples of them, and the interval
    of the recall has no width: the sample is too small to show an error, not free of it.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.metrics import pu_interval
    >>> labels = np.repeat([1, 1, 0, 0], [40, 10, 70, 130])
    >>> predicted = np.repeat([1, 0, 1, 0], [40, 10, 70, 130])
    >>> f1 = pu_interval("f1", labels, predicted, prior=0.3, random_state=0)
    >>> print(f"{f1.value:.2f} +- {f1.se:.2f}, from {f1.low:.2f} to {f1.high:.2f}")
    0.74 +- 0.06, from 0.62 to 0.86
    """
    check_level(level)
    check_bootstrap(n_bootstrap)
    if prior is None and prior_se:
        raise ValueError(f"prior_se={prior_se!r} needs the prior that it belongs to; got none.")
    check_prior_se(prior_se, prior)
    generator = as_generator(random_state)
    if isinstance(metric, str) and metric in RANKING:
        check_auc_needs(metric, prior, threshold)
        _, is_positive = split_labels(y_true, pos_label)
        scores = check_scores(y_pred, is_positive)
        check_enough_rows(is_positive)
        title, low, high = RANKING[metric], 0.0, 1.0
        # The PU-AUC itself does not depend on the prior, so none is drawn for it.
        used = prior if metric == "corrected_auc" else None
        priors = resample_prior(used, prior_se, n_bootstrap, generator)
        plain = np.fromiter(resample_auc(is_positive, scores, n_bootstrap, generator), float)
        value = corrected_auc(pu_auc(is_positive, scores), used or 0.0)
        draws = corrected_auc(plain, 0.0 if priors is None else priors)
    else:
        of, title, low, high, *_ = find_metric(metric, prior, also=tuple(RANKING))
        is_positive, is_flagged = find_flagged(y_true, y_pred, threshold, pos_label)
        check_enough_rows(is_positive)
        rates = PURates.from_masks(is_positive, is_flagged, prior)
        value = float(of(rates))
        draws = of(resample_rates(rates, is_positive, prior_se, n_bootstrap, generator))
    doubts = explain_few_positives(is_positive), explain_outside(title, value, low, high, prior)
    for sentence in filter(None, doubts):
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return percentile_estimate(value, draws, level)


def check_bootstrap(n_bootstrap: int) -> None:
    """Refuse so few resamples that they have no spread."""
    if n_bootstrap < 2:
        raise ValueError(f"n_bootstrap must be at least 2, better 1000; got {n_bootstrap!r}.")


def check_auc_needs(metric: str, prior: float | None, threshold: float | None = None) -> None:
    """Refuse a threshold, and the corrected AUC without a prior."""
    if threshold is not None:
        raise ValueError(f"{metric!r} ranks scores without a threshold; leave threshold out.")
    if prior is not None:
        check_prior_range(prior)
    elif metric == "corrected_auc":
        raise ValueError(f"{MEANING_OF_PRIOR}; {metric!r} cannot do without. Got None.")


def find_flagged(
    y_true: ArrayLike, y_pred: ArrayLike, threshold: float | None, pos_label: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the masks of labeled positives and of rows predicted positive."""
    if threshold is None:
        return read_predictions(y_true, y_pred, pos_label)
    _, is_positive = split_labels(y_true, pos_label)
    return is_positive, check_scores(y_pred, is_positive) > threshold


def resample_rates(
    rates: PURates,
    is_positive: NDArray[np.bool_],
    prior_se: float,
    n_bootstrap: int,
    generator: np.random.Generator,
) -> PURates:
    """Draw the rates of all resamples at once, as arrays of shape (n_bootstrap,)."""
    n_positive = int(is_positive.sum())
    n_unlabeled = len(is_positive) - n_positive
    # Of rows drawn with replacement the number of flagged ones is binomial: draw it directly.
    return PURates(
        generator.binomial(n_positive, rates.recall, n_bootstrap) / n_positive,
        generator.binomial(n_unlabeled, rates.flagged, n_bootstrap) / n_unlabeled,
        resample_prior(rates.prior, prior_se, n_bootstrap, generator),
    )


def resample_prior(
    prior: Any, prior_se: float, n_bootstrap: int, generator: np.random.Generator
) -> Numbers | None:
    """Draw a prior for each resample; one that is known exactly stays as it is."""
    if prior is None or not prior_se:
        return prior
    # A Beta and not a normal distribution: all its draws are shares between 0 and 1.
    weight = prior * (1 - prior) / prior_se**2 - 1
    return generator.beta(prior * weight, (1 - prior) * weight, n_bootstrap)


def resample_auc(
    is_positive: NDArray[np.bool_],
    scores: NDArray[np.float64],
    n_bootstrap: int,
    generator: np.random.Generator,
) -> Iterator[float]:
    """Yield the PU-AUC of one resample after the other; rows are sorted once, then counted."""
    distinct, place = np.unique(scores, return_inverse=True)
    positive, unlabeled = place[is_positive], place[~is_positive]
    for _ in range(n_bootstrap):
        n_wins, n_beaten = (
            np.bincount(generator.choice(rows, len(rows)), minlength=len(distinct))
            for rows in (positive, unlabeled)
        )
        below = np.cumsum(n_beaten) - n_beaten / 2  # ties count half
        yield float(n_wins @ below) / (len(positive) * len(unlabeled))


def percentile_estimate(value: float, draws: Numbers, level: float) -> Estimate:
    """Return a value with the standard error and the percentiles of its resamples."""
    tail = (1 - level) / 2
    # No interpolation: a resample may be infinite (precision if no unlabeled row is flagged).
    low, high = np.quantile(draws, [tail, 1 - tail], method="inverted_cdf")
    se = float(np.std(draws, ddof=1)) if np.isfinite(draws).all() else np.inf
    return Estimate(value, se, float(low), float(high))
