"""How to weigh candidates and combine their scores without a negative label: the equations."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

__all__ = [
    "LIMIT",
    "PairedDifferences",
    "compare_with_best",
    "compute_placements",
    "drop_small",
    "extend_score_table",
    "make_score_table",
    "to_normal_scores",
    "weigh",
    "weigh_candidates",
]

# Normal scores end here: a row far beyond all others says no more than that.
LIMIT = 4.0
# Knots of a table of scores: between two of them a straight line is close enough.
MOST_KNOTS = 1000
# With at least so many unlabeled rows per positive, their share of the variance is negligible.
MANY_UNLABELED = 10


class PairedDifferences(NamedTuple):
    """How candidates compare with the best of them, by the same labeled positives.

    Attributes
    ----------
    pu_auc : ndarray of shape (n_candidates,)
    own_error : ndarray of shape (n_candidates,)
        Standard error of the PU-AUC.
    standard_error : ndarray of shape (n_candidates,)
        Of the difference to the best candidate; 0 for the best itself.
    z : ndarray of shape (n_candidates,)
        The difference to the best in units of its standard error.
    """

    pu_auc: NDArray[np.float64]
    own_error: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    z: NDArray[np.float64]


def compute_placements(
    scores: NDArray, others: NDArray, weights: NDArray | None = None
) -> NDArray[np.float64]:
    """Return for each score the share of `others` below it, by weight; equal ones count half."""
    order = np.argsort(others)
    line = others[order]
    left, right = np.searchsorted(line, scores, "left"), np.searchsorted(line, scores, "right")
    if weights is None:
        return (left + right) / 2 / len(line)
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    return (below[left] + below[right]) / 2 / below[-1]


def compare_with_best(
    is_positive: NDArray[np.bool_],
    scores: NDArray,
    *,
    count_unlabeled: bool | None = None,
    weights: NDArray[np.float64] | None = None,
) -> PairedDifferences:
    """Compare each candidate's PU-AUC with that of the best one, positive by positive.

    Parameters
    ----------
    is_positive : ndarray of bool of shape (n,)
    scores : ndarray of shape (n_candidates, n)
        Out-of-fold scores.
    count_unlabeled : bool or None, default=None
        Whether the standard error has the share of the unlabeled rows, the second term of DeLong's
        variance; None decides by how many there are.
    weights : ndarray of shape (n,), optional
        How much each row counts.

    Returns
    -------
    PairedDifferences
    """
    n_positive = int(is_positive.sum())
    n_unlabeled = len(is_positive) - n_positive
    if count_unlabeled is None:
        count_unlabeled = n_unlabeled < MANY_UNLABELED * n_positive
    of_p, of_u = (None, None) if weights is None else (weights[is_positive], weights[~is_positive])
    placed = np.stack([compute_placements(s[is_positive], s[~is_positive], of_u) for s in scores])
    pu_auc = placed.mean(axis=1) if of_p is None else placed @ of_p / of_p.sum()
    best = int(pu_auc.argmax())
    own = _estimate_variance(placed, of_p)
    variance = _estimate_variance(placed[best] - placed, of_p)
    if count_unlabeled:
        # Of an unlabeled row: the share of positives above it.
        above = np.stack(
            [compute_placements(-s[~is_positive], -s[is_positive], of_p) for s in scores]
        )
        own = own + _estimate_variance(above, of_u)
        variance = variance + _estimate_variance(above[best] - above, of_u)
    error, behind = np.sqrt(variance), pu_auc[best] - pu_auc
    # Equal differences at all rows leave no doubt which candidate is better; one positive leaves
    # nothing but doubt.
    certain = np.where((behind > 0) & (n_positive > 1), np.inf, 0.0)
    z = np.where(error > 0, behind / np.where(error > 0, error, 1.0), certain)
    return PairedDifferences(pu_auc, np.sqrt(own), error, z)


def _estimate_variance(
    differences: NDArray[np.float64], weights: NDArray | None
) -> NDArray[np.float64]:
    """Return the variance of the mean of each line, perhaps by weight; 0 for a single value."""
    n = differences.shape[1]
    if n < 2:
        return np.zeros(len(differences))
    if weights is None:
        return differences.var(axis=1, ddof=1) / n
    shares = weights / weights.sum()
    centred = differences - (differences @ shares)[:, None]
    return centred**2 @ shares**2 * n / (n - 1)


def weigh_candidates(
    is_positive: NDArray[np.bool_],
    scores: NDArray,
    beliefs: NDArray[np.float64],
    least_weight: float = 0.0,
) -> NDArray[np.float64]:
    """Weigh candidates by out-of-fold scores, (n_candidates, n); too small a weight becomes 0."""
    return drop_small(weigh(compare_with_best(is_positive, scores).z, beliefs), least_weight)


def drop_small(weights: NDArray[np.float64], least_weight: float) -> NDArray[np.float64]:
    """Return weights that add up to 1, of which those below `least_weight` became 0."""
    kept = np.where(weights < min(least_weight, weights.max()), 0.0, weights)
    return kept / kept.sum()


def weigh(z: NDArray[np.float64], beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the weights :math:`\rho_j \exp(-z_j^2)`, which add up to 1.

    A candidate that is as good as the best within its noise keeps its weight: with a dozen
    positives nearly all do, with hundreds only the good ones. `beliefs` are the :math:`\rho_j`.
    """
    weights = beliefs * np.exp(-(z**2))
    return weights / weights.sum()


def make_score_table(scores: NDArray) -> NDArray[np.float64]:
    r"""Return scores and their normal scores, (2, n_knots), both ascending.

    The normal score of a row is :math:`\Phi^{-1}(r / (n + 1))`, r its mid-rank among `scores`. Of
    many scores the table has quantiles.
    """
    values, first = np.unique(scores, return_index=True)
    normal = ndtri(rankdata(scores)[first] / (len(scores) + 1))
    if len(values) > MOST_KNOTS:
        some = np.linspace(0, len(values) - 1, MOST_KNOTS).round().astype(int)
        values, normal = values[some], normal[some]
    return np.stack([values.astype(np.float64), np.clip(normal, -LIMIT, LIMIT)])


def to_normal_scores(scores: NDArray, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Look up normal scores; rows beyond the table go on straight, up to the limits."""
    values, normal = table
    found = np.interp(scores, values, normal)
    slope = _find_outer_slope(table)
    if slope > 0:
        beyond = np.maximum(scores - values[-1], 0) + np.minimum(scores - values[0], 0)
        found = found + slope * beyond
    return np.clip(found, -LIMIT, LIMIT)


def extend_score_table(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return knots whose straight lines are `to_normal_scores`, with those beyond the table."""
    slope = _find_outer_slope(table)
    if slope == 0:
        return table
    values, normal = table
    low, high = values[0] - (LIMIT + normal[0]) / slope, values[-1] + (LIMIT - normal[-1]) / slope
    return np.stack([np.r_[low, values, high], np.r_[-LIMIT, normal, LIMIT]])


def _find_outer_slope(table: NDArray[np.float64]) -> float:
    """Return how much normal scores grow per score beyond the table; 0 if there is no scale.

    Rows that score above all rows of the fit should not be equal: the line between the outer
    tenths of the table is the scale there.
    """
    values, normal = table
    low, high = (np.interp(z, normal, values) for z in (-ndtri(0.9), ndtri(0.9)))
    return float(2 * ndtri(0.9) / (high - low)) if high > low else 0.0
