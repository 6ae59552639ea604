"""Scores of predictions, positive or not; the algebra is in `PURates`.

Throughout, `y_true` are PU labels and `y_pred` predictions of the same rows: the two labels
themselves, or 0 and 1.
"""

import warnings
from typing import Any

from numpy.typing import ArrayLike

from mixpul.metrics._rates import METRICS, Metric, PURates
from mixpul.metrics.checks import explain_outside


def pu_recall_score(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = None) -> float:
    """Return the share of the labeled positives that are predicted positive.

    It estimates the recall among all positives if the labeled ones are a random sample of them.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import pu_recall_score
    >>> pu_recall_score([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0])
    0.666...
    """
    return _score("recall", y_true, y_pred, None, pos_label)


def flagged_share(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = None) -> float:
    """Return the share of the *unlabeled* rows that are predicted positive.

    Labeled positives do not count. Of a perfect classifier it is the prior.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import flagged_share
    >>> flagged_share([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0])
    0.6
    """
    return _score("flagged_share", y_true, y_pred, None, pos_label)


def lee_liu_score(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = None) -> float:
    r"""Return Lee and Liu's score :math:`\gamma^2 / q`, recall squared by the flagged share.

    It is precision times recall divided by the prior, and so at most 1 / prior; the prior itself
    need not be known. Flagging every row gives 1, flagging at random the flagged share. It
    orders models by precision times recall, which is not the order of F1. The flagged share q is
    taken over the unlabeled rows, not over all rows as some do. It is 0 if no row is flagged.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import lee_liu_score
    >>> lee_liu_score([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0])
    0.740...
    """
    return _score("lee_liu", y_true, y_pred, None, pos_label)


def pu_precision_score(
    y_true: ArrayLike, y_pred: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    r"""Return the share of positives among the flagged unlabeled rows, :math:`\pi\gamma / q`.

    It is 0 if no row is flagged.

    Not clipped: a value outside [0, 1] comes with a warning.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    prior : float in (0, 1)
        Share of positives among the unlabeled rows (not among all rows).
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import pu_precision_score
    >>> pu_precision_score([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0], prior=0.4)
    0.444...
    """
    return _score("precision", y_true, y_pred, prior, pos_label)


def pu_f1_score(
    y_true: ArrayLike, y_pred: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    r"""Return the harmonic mean of precision and recall, :math:`2\pi\gamma / (\pi + q)`.

    Not clipped: a value outside [0, 1] comes with a warning.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    prior : float in (0, 1)
        Share of positives among the unlabeled rows (not among all rows).
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import pu_f1_score
    >>> pu_f1_score([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0], prior=0.4)
    0.533...
    """
    return _score("f1", y_true, y_pred, prior, pos_label)


def pu_accuracy_score(
    y_true: ArrayLike, y_pred: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    r"""Return the share of right answers on unlabeled rows, :math:`2\pi\gamma + 1 - q - \pi`.

    Not clipped: a value outside [0, 1] comes with a warning.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    prior : float in (0, 1)
        Share of positives among the unlabeled rows (not among all rows).
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import pu_accuracy_score
    >>> pu_accuracy_score([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0], prior=0.4)
    0.533...
    """
    return _score("accuracy", y_true, y_pred, prior, pos_label)


def pu_balanced_accuracy_score(
    y_true: ArrayLike, y_pred: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    r"""Return the mean of recall and specificity, :math:`(\gamma + 1 - FPR) / 2`.

    Even without a prior it can order models, by recall less flagged share.

    Not clipped: a value outside [0, 1] comes with a warning.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    prior : float in (0, 1)
        Share of positives among the unlabeled rows (not among all rows).
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import pu_balanced_accuracy_score
    >>> pu_balanced_accuracy_score([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0], prior=0.4)
    0.555...
    """
    return _score("balanced_accuracy", y_true, y_pred, prior, pos_label)


def pu_matthews_corrcoef(
    y_true: ArrayLike, y_pred: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    r"""Return the Matthews correlation, :math:`\sqrt{\pi(1-\pi) / (q(1-q))}\,(\gamma - FPR)`.

    It is 0 if all rows or none are flagged.

    Not clipped: a value outside [-1, 1] comes with a warning.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    prior : float in (0, 1)
        Share of positives among the unlabeled rows (not among all rows).
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import pu_matthews_corrcoef
    >>> pu_matthews_corrcoef([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0], prior=0.4)
    0.111...
    """
    return _score("matthews_corrcoef", y_true, y_pred, prior, pos_label)


def pu_false_positive_rate(
    y_true: ArrayLike, y_pred: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    r"""Return the share of negatives predicted positive, :math:`(q - \pi\gamma) / (1 - \pi)`.

    Not clipped: a value outside [0, 1] comes with a warning.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    prior : float in (0, 1)
        Share of positives among the unlabeled rows (not among all rows).
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import pu_false_positive_rate
    >>> pu_false_positive_rate([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0], prior=0.4)
    0.555...
    """
    return _score("false_positive_rate", y_true, y_pred, prior, pos_label)


def pu_zero_one_risk(
    y_true: ArrayLike, y_pred: ArrayLike, prior: float, *, pos_label: Any = None
) -> float:
    r"""Return the share of wrong answers on unlabeled rows, :math:`2\pi(1-\gamma) + q - \pi`.

    It is 1 minus `pu_accuracy_score`, and the quantity that unbiased PU learning minimises.

    Not clipped: a value outside [0, 1] comes with a warning.

    Parameters
    ----------
    y_true : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    y_pred : array of shape (n,)
        Predictions: the two labels themselves, or 0 and 1.
    prior : float in (0, 1)
        Share of positives among the unlabeled rows (not among all rows).
    pos_label : optional
        The value of `y_true` that means labeled positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import pu_zero_one_risk
    >>> pu_zero_one_risk([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0], prior=0.4)
    0.466...
    """
    return _score("zero_one_risk", y_true, y_pred, prior, pos_label)


def _score(
    name: str, y_true: ArrayLike, y_pred: ArrayLike, prior: float | None, pos_label: Any
) -> float:
    """Count the rates and compute one metric; a warning points at the caller's caller."""
    rates = PURates.from_predictions(y_true, y_pred, prior, pos_label=pos_label)
    # The warning points at the line that called the public function, four frames up.
    return score_rates(METRICS[name], rates, stacklevel=4)


def score_rates(metric: Metric, rates: PURates, stacklevel: int = 3) -> float:
    """Return the value of a metric, with a warning if the metric cannot have it."""
    value = float(metric.of(rates))
    if sentence := explain_outside(metric.title, value, metric.low, metric.high, rates.prior):
        warnings.warn(sentence, UserWarning, stacklevel=stacklevel)
    return value
