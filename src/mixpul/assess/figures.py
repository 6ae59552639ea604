"""Figures that rest on the class prior: bounds where it is not known, estimates where it is.

With the prior pi, recall r and the flagged share q of the unlabeled rows, a share min(pi r, q) of
them is found: flagged and positive. The page repeats these equations in `static/fit.js`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.intervals import LEVEL
from mixpul.metrics import Estimate
from mixpul.metrics.ranking import corrected_auc
from mixpul.metrics.shares import combine_ends, logit_interval, wilson_interval

__all__ = [
    "bound_auc",
    "bound_counts",
    "bound_f1",
    "bound_precision",
    "compute_f1",
    "compute_precision",
    "count_looked_at",
]

Shares = NDArray[np.float64]
# Of the prior, recall and flagged share.
Figure = Callable[[Any, Any, Any], Shares]


def compute_precision(prior: Any, recall: Any, flagged: Any) -> Shares:
    """Return the share of positives among flagged rows, min(pi r, q) / q; NaN where none is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(prior * recall, flagged) / flagged


def compute_f1(prior: Any, recall: Any, flagged: Any) -> Shares:
    """Return the harmonic mean of precision and recall, 2 min(pi r, q) / (pi + q)."""
    found = np.minimum(prior * recall, flagged)
    with np.errstate(invalid="ignore"):
        # 0 also where there are neither positives nor flagged rows.
        return np.where(found > 0, 2 * found / (prior + flagged), 0.0)


def bound_precision(
    prior: Mapping[str, Any], recall: Shares, flagged: Shares, n_positive: int, n_unlabeled: int
) -> dict[str, Any]:
    """Return the precision at each threshold: at most, or estimated if the prior is known.

    Parameters
    ----------
    prior : dict
        What `mixpul.assess.priors.estimate_priors` returns.
    recall, flagged : ndarray
        Shares of the labeled positives and of the unlabeled rows above each threshold.
    n_positive, n_unlabeled : int
        Numbers of rows.

    Returns
    -------
    dict
        ``"kind"`` is ``"at most"`` or ``"estimate"``; ``"value"``, ``"low"`` and ``"high"`` have an
        entry for each threshold, NaN where no row is flagged.
    """
    if prior["source"] == "estimated":
        _, most = _bound_recall(recall, prior["upper"], n_positive, n_unlabeled)
        return _bound_above(compute_precision(prior["upper"], most, flagged))
    return _estimate(compute_precision, prior, recall, flagged, n_positive, n_unlabeled)


def bound_f1(
    prior: Mapping[str, Any], recall: Shares, flagged: Shares, n_positive: int, n_unlabeled: int
) -> dict[str, Any]:
    """Return F1 at each threshold, as `bound_precision` returns the precision."""
    if prior["source"] == "estimated":
        _, most = _bound_recall(recall, prior["upper"], n_positive, n_unlabeled)
        # F1 is largest where all flagged rows are positive; more positives would be missed ones.
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.minimum(prior["upper"], flagged / most)
        return _bound_above(compute_f1(best, most, flagged))
    return _estimate(compute_f1, prior, recall, flagged, n_positive, n_unlabeled)


def bound_counts(
    prior: Mapping[str, Any], recall: Any, flagged: Any, n_positive: int, n_unlabeled: int
) -> dict[str, Any]:
    """Return how many unlabeled rows are found, missed, and false alarms.

    If the prior is not known, at most so many are found, at most so many are missed, and at least
    so many are false alarms.
    """
    if prior["source"] == "estimated":
        share = prior["upper"]
        low, high = _bound_recall(recall, share, n_positive, n_unlabeled)
    else:
        share, low, high = prior["value"], recall, recall
    found = np.minimum(share * high, flagged)
    return {
        "found": n_unlabeled * found,
        "missed": n_unlabeled * (share - np.minimum(share * low, flagged)),
        "false_alarms": n_unlabeled * (flagged - found),
    }


def bound_auc(
    prior: Mapping[str, Any], pu_auc: Estimate, n_positive: int, n_unlabeled: int
) -> dict[str, Any]:
    """Return the AUC against negatives: between two ends, or estimated if the prior is known.

    Without positives among the unlabeled rows it would be the PU-AUC, so the least it can be is the
    lower end of that; the most is the correction by the upper limit of the prior. The interval of
    an estimate is that of the hidden positives, which are few themselves.
    """
    if prior["source"] == "estimated":
        # A prior of 1 leaves no negatives, and no limit but 1; nor can chance be corrected.
        most = max(_correct(pu_auc.value, prior["upper"]), pu_auc.value)
        return {"kind": "at most", "value": most, "low": pu_auc.low, "high": most}
    auc = _correct(pu_auc.value, prior["value"])
    n_looked_at = count_looked_at(prior["value"], n_positive, n_unlabeled)
    se = pu_auc.se * np.sqrt(n_positive / n_looked_at)
    ends_by_rows = logit_interval(pu_auc.value, se, n_looked_at, LEVEL)
    by_rows = (_correct(end, prior["value"]) for end in ends_by_rows)
    by_prior = (_correct(pu_auc.value, end) for end in _list_ends(prior))
    ends = combine_ends(auc, _span(*by_rows), _span(auc, *by_prior))
    low, high = (float(np.clip(end, 0.0, 1.0)) for end in ends)
    return {"kind": "estimate", "value": auc, "low": low, "high": high}


def _list_ends(prior: Mapping[str, Any]) -> list[float]:
    """Return the ends of a given prior; none if it is known exactly."""
    return [] if prior["low"] is None else [prior["low"], prior["high"]]


def _span(*values: Any) -> tuple[Any, Any]:
    """Return the least and the most, at each threshold."""
    return np.minimum.reduce(values), np.maximum.reduce(values)


def _correct(pu_auc: float, prior: float) -> float:
    return float(np.clip(corrected_auc(pu_auc, prior), 0.0, 1.0)) if prior < 1 else 1.0


def _bound_recall(
    recall: Shares, prior: float, n_positive: int, n_unlabeled: int
) -> tuple[Shares, Shares]:
    """Return the interval of the recall among the hidden positives."""
    return wilson_interval(recall, count_looked_at(prior, n_positive, n_unlabeled), LEVEL)


def count_looked_at(prior: float, n_positive: int, n_unlabeled: int) -> float:
    """Return of how many hidden positives the labeled ones are worth a look.

    Hidden positives are few themselves: what is known of n labeled ones is known of K hidden ones
    as if n K / (n + K) had been looked at.
    """
    n_hidden = prior * n_unlabeled
    return n_positive * n_hidden / (n_positive + n_hidden)


def _bound_above(most: Shares) -> dict[str, Any]:
    # Adding NaN where it is: nothing is known where no row is flagged.
    return {"kind": "at most", "value": most, "low": 0 * most, "high": most}


def _estimate(
    figure: Figure,
    prior: Mapping[str, Any],
    recall: Shares,
    flagged: Shares,
    n_positive: int,
    n_unlabeled: int,
) -> dict[str, Any]:
    value = figure(prior["value"], recall, flagged)
    ends = _bound_recall(recall, prior["value"], n_positive, n_unlabeled)
    by_recall = (figure(prior["value"], end, flagged) for end in ends)
    # F1 need not rise with the prior.
    by_prior = (figure(end, recall, flagged) for end in _list_ends(prior))
    low, high = combine_ends(value, _span(*by_recall), _span(value, *by_prior))
    return {
        "kind": "estimate",
        "value": value,
        "low": np.clip(low, 0.0, 1.0),
        "high": np.clip(high, 0.0, 1.0),
    }
