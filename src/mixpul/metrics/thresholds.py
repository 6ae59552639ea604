"""Thresholds of scores: by a formula, by the prior, or by the best value of a metric."""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from mixpul._util.errors import MixpulError
from mixpul._util.validation import check_scores, split_labels
from mixpul.metrics._rates import MetricLike, PURates, find_metric
from mixpul.metrics.checks import check_prior_range, explain_outside

# Metrics that one kind of error does not touch.
TRIVIAL = ("recall", "flagged_share", "precision", "false_positive_rate")
# Metrics that divide by the flagged share.
RATIOS = ("matthews_corrcoef", "lee_liu")


def accuracy_threshold(prior: float, *, population_prior: float | None = None) -> float:
    r"""Compute the score above which predicting "positive" gives the highest accuracy.

    For scores :math:`g = p_+ / (p_+ + p_u)`, the optimum of the squared or the log loss on equally
    many positives and unlabeled rows. With :math:`k = (1-\pi_t) / \pi_t` the threshold of the
    density ratio :math:`p_+ / p_u` is :math:`r = k / (1 - \pi_U + k \pi_U)`, and that of the score
    :math:`r / (1 + r)`. It holds for scores that are g. The margin term stretches scores
    away from 0.5 (threefold at ``gamma=1``, ``margin=1``), so for `MixPULClassifier` either
    train with ``gamma=0`` or use `prior_threshold`.

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
    check_share("prior", prior)
    check_share("population_prior", target)
    k = (1 - target) / target
    ratio = k / (1 - prior + k * prior)
    return ratio / (1 + ratio)


def prior_threshold(
    y: ArrayLike, scores: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    """Find the score that a share `prior` of the unlabeled rows exceeds.

    A classifier with this threshold says "positive" as often as positives are expected; precision
    and recall are then equal on average. Only the order of the scores matters. Use held-out scores.

    Parameters
    ----------
    y : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    scores : array of shape (n,)
        Larger means more likely positive.
    prior : float in (0, 1)
        Share of positives among the unlabeled rows (not among all rows).
    pos_label : optional
        The value of `y` that means labeled positive.

    Returns
    -------
    float
        Predict positive where ``scores > threshold``. It lies halfway between two scores. Tied
        scores stay on one side; if that takes the share far from `prior`, a warning says so.

    Examples
    --------
    >>> from mixpul.metrics import prior_threshold
    >>> prior_threshold([1, 1, 0, 0, 0, 0, 0], [9, 7, 8, 6, 4, 3, 1], prior=0.4)
    5.0
    """
    check_prior_range(prior)
    _, is_positive = split_labels(y, pos_label)
    unlabeled = check_scores(scores, is_positive)[~is_positive]
    thresholds, flagged = list_thresholds(unlabeled, np.ones(len(unlabeled)))
    best = int(np.argmin(np.abs(flagged - prior)))
    # Without ties a threshold is at most half a row away from the prior.
    if abs(flagged[best] - prior) > max(0.05, 0.5 / len(unlabeled) + 1e-9):
        warnings.warn(
            f"A share {flagged[best]:.3g} of the unlabeled rows is above the nearest threshold, "
            f"not {prior:.3g}: too many of them have the same score.",
            UserWarning,
            stacklevel=2,
        )
    return float(thresholds[best])


def balanced_threshold(y: ArrayLike, scores: ArrayLike, *, pos_label: Any = None) -> float:
    r"""Find the score above which balanced accuracy is best; needs no prior.

    The recall of labeled positives less the share of unlabeled rows above a threshold is
    :math:`(1 - \pi) (TPR - FPR)`, so both are largest at the same threshold, whatever the prior.
    Its largest value is known up to a standard error only: the middle of the thresholds within one
    standard error of the best is taken.

    Parameters
    ----------
    y : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    scores : array of shape (n,)
        Larger means more likely positive. Use held-out scores.
    pos_label : optional
        The value of `y` that means labeled positive.

    Returns
    -------
    float
        Predict positive where ``scores > threshold``.

    Examples
    --------
    >>> from mixpul.metrics import balanced_threshold
    >>> balanced_threshold([1, 1, 1, 0, 0, 0, 0, 0], [9, 8, 7, 8.5, 3, 3, 2, 1])
    5.0
    """
    _, is_positive = split_labels(y, pos_label)
    scores = check_scores(scores, is_positive)
    thresholds, recall, flagged = list_thresholds(scores, is_positive, ~is_positive)
    gap = recall - flagged
    best = int(np.argmax(gap))
    n_positive, n_unlabeled = int(is_positive.sum()), int((~is_positive).sum())
    # One success and one failure more: a recall of 1 on a dozen rows is not certain.
    share = (recall[best] * n_positive + 1) / (n_positive + 2)
    variance = share * (1 - share) / n_positive
    variance += flagged[best] * (1 - flagged[best]) / n_unlabeled
    within = thresholds[gap >= gap[best] - variance**0.5]
    # The last threshold is -inf, which has no middle with another.
    within = within[np.isfinite(within)]
    return float((within[0] + within[-1]) / 2)


def recall_threshold(
    y: ArrayLike,
    scores: ArrayLike,
    recall: float = 0.9,
    *,
    confidence: float = 0.95,
    pos_label: Any = None,
) -> float:
    r"""Find a threshold with a promise: recall is at least `recall` with the given confidence.

    Of m held-out positives it takes the k-th smallest score, with the largest k for which
    :math:`P(Beta(k, m - k + 1) \le 1 - recall)` is at least `confidence`. It holds for any
    distribution of scores, if the labeled positives are a random sample of all positives.

    Parameters
    ----------
    y : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    scores : array of shape (n,)
        Larger means more likely positive. Use held-out scores.
    recall : float in (0, 1), default=0.9
        The share of all positives to find.
    confidence : float in (0, 1), default=0.95
        How often the promise is kept, over random draws of the labeled positives.
    pos_label : optional
        The value of `y` that means labeled positive.

    Returns
    -------
    float
        Predict positive where ``scores > threshold``.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.metrics import recall_threshold
    >>> labels, scores = np.repeat([1, 0], [50, 200]), np.arange(250.0)
    >>> bool(0.9 < recall_threshold(labels, scores) < 1)  # just below the 2nd smallest of 50
    True
    """
    _, is_positive = split_labels(y, pos_label)
    positive = np.sort(check_scores(scores, is_positive)[is_positive])
    depth = find_recall_depth(len(positive), recall, confidence)
    if depth == 0:
        raise MixpulError(explain_few_for_recall(len(positive), recall, confidence))
    return step_below(positive[depth - 1])


def find_recall_depth(n_positive: int, recall: float, confidence: float = 0.95) -> int:
    """Return which of the smallest scores of n positives promises the recall; 0 if none does.

    Examples
    --------
    >>> from mixpul.metrics.thresholds import find_recall_depth
    >>> [find_recall_depth(n, 0.9) for n in (28, 30, 50, 100, 200)]
    [0, 1, 2, 5, 13]
    """
    check_share("recall", recall)
    check_share("confidence", confidence)
    # The chance falls with the depth, so the last depth that is sure enough is a count.
    possible, impossible = 0, n_positive + 1
    while impossible - possible > 1:
        middle = (possible + impossible) // 2
        is_sure = betainc(middle, n_positive - middle + 1, 1 - recall) >= confidence
        possible, impossible = (middle, impossible) if is_sure else (possible, middle)
    return possible


def count_positives_needed(recall: float, confidence: float = 0.95) -> int:
    """Return how many labeled positives a promise of recall takes at least.

    The smallest of n scores promises it with confidence 1 - recall^n.

    Examples
    --------
    >>> from mixpul.metrics.thresholds import count_positives_needed
    >>> count_positives_needed(0.9), count_positives_needed(0.5)
    (29, 5)
    """
    check_share("recall", recall)
    check_share("confidence", confidence)
    # Less a little: rounding must not ask for one more.
    return max(1, math.ceil(math.log1p(-confidence) / math.log(recall) - 1e-9))


def explain_few_for_recall(n_positive: int, recall: float, confidence: float = 0.95) -> str:
    """Return the sentence for too few positives to promise a recall."""
    return (
        f"A recall of at least {recall:g} can be promised with {100 * confidence:g} % confidence "
        f"from {count_positives_needed(recall, confidence):,} labeled positives on; there are "
        f"{n_positive:,}."
    )


def step_below(score: float) -> float:
    """Return the largest number below a score that scores of single precision tell from it."""
    single = np.float32(score)
    # Rounded up, the score itself is already below the number.
    return float(np.nextafter(single, np.float32(-np.inf)) if single >= score else single)


def check_share(name: str, value: float) -> None:
    """Refuse what is not above 0 and below 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must be a share between 0 and 1; got {value!r}.")


def best_threshold(
    y: ArrayLike,
    scores: ArrayLike,
    prior: float | None = None,
    *,
    metric: MetricLike = "accuracy",
    pos_label: Any = None,
) -> float:
    """Find the score above which predicting "positive" gives the best value of a metric.

    All thresholds between different scores are tried, at the cost of one sort. The value at the
    chosen threshold is flattered by the choice: judge it on other rows.

    Parameters
    ----------
    y : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    scores : array of shape (n,)
        Larger means more likely positive. Use held-out scores.
    prior : float in (0, 1), optional
        Share of positives among the unlabeled rows (not among all rows); only ``'lee_liu'``
        and functions can do without.
    metric : str or callable, default='accuracy'
        ``'accuracy'``, ``'f1'``, ``'balanced_accuracy'``, ``'matthews_corrcoef'``,
        ``'lee_liu'`` or ``'zero_one_risk'`` (the same as accuracy). Or a function that gets
        `PURates` of arrays and returns an array; larger is better.
    pos_label : optional
        The value of `y` that means labeled positive.

    Returns
    -------
    float
        Predict positive where ``scores > threshold``. It lies halfway between two scores, or is
        -inf if it is best to call every row positive. Of equally good ones the highest is taken.

    Notes
    -----
    ``'matthews_corrcoef'`` and ``'lee_liu'`` divide by the flagged share. Where few unlabeled
    rows are flagged (or few are not), chance makes them enormous. So for these two only thresholds
    with at least `n_unlabeled ** 0.5` unlabeled rows on either side are considered.

    Examples
    --------
    >>> from mixpul.metrics import best_threshold
    >>> labels, scores = [1, 1, 1, 0, 0, 0, 0, 0], [9, 7, 6, 8, 6.5, 4, 3, 1]
    >>> best_threshold(labels, scores, prior=0.4)
    5.0
    """
    found = find_metric(metric, prior)
    if metric in TRIVIAL:
        raise ValueError(
            f"{metric!r} is best at a threshold that flags everything or next to nothing; choose "
            "a metric that weighs both kinds of error, e.g. 'accuracy' or 'f1'."
        )
    _, is_positive = split_labels(y, pos_label)
    scores = check_scores(scores, is_positive)
    thresholds, recall, flagged = list_thresholds(scores, is_positive, ~is_positive)
    values = np.asarray(found.of(PURates(recall, flagged, prior)), dtype=np.float64)
    values = -values if found.is_loss else values
    if metric in RATIOS:
        n_unlabeled = int(np.sum(~is_positive))
        n_flagged = np.rint(flagged * n_unlabeled)
        # Shares of so few rows are mostly chance; if all are, there is nothing better.
        is_steady = np.minimum(n_flagged, n_unlabeled - n_flagged) >= int(n_unlabeled**0.5)
        values = np.where(is_steady, values, -np.inf) if is_steady.any() else values
    best = int(np.argmax(values))  # of equal values the first, at the highest threshold
    value = -float(values[best]) if found.is_loss else float(values[best])
    title = f"{found.title} at the best threshold"
    if sentence := explain_outside(title, value, found.low, found.high, prior):
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return float(thresholds[best])


def list_thresholds(
    scores: NDArray[np.float64], *groups: NDArray
) -> tuple[NDArray[np.float64], ...]:
    """List all thresholds from the highest down, and the share of each group above them.

    A group is an array of 0 and 1, or of weights. The first threshold has no row above it, the last
    one, -inf, has all of them; the others lie halfway between two different scores.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    is_last = np.append(ordered[1:] != ordered[:-1], True)  # of those with the same score
    upper, lower = ordered[is_last], np.append(ordered[is_last][1:], -np.inf)
    # Rounded to float32: scores of that type would round the threshold themselves, perhaps up to
    # the score above it.
    with np.errstate(invalid="ignore", over="ignore"):
        # Halved first: the sum of two huge scores would overflow.
        middle = (lower / 2 + upper / 2).astype(np.float32).astype(np.float64)
    middle = np.where((lower <= middle) & (middle < upper), middle, lower)
    thresholds = np.append(upper[:1], middle)
    is_useful = np.append(True, middle < upper)  # nothing is below a score of -inf
    counts = (np.append(0.0, np.cumsum(group[order])[is_last])[is_useful] for group in groups)
    shares = (n / group.sum() for n, group in zip(counts, groups, strict=True))
    return thresholds[is_useful], *shares
