"""Equations that compare counts of two tables, and how much of a difference is noise."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = [
    "Distance",
    "ScoreDistance",
    "ShareChange",
    "adjust_p_values",
    "compare_counts",
    "compare_scores",
    "estimate_share_change",
]

# Bins where both tables together expect fewer rows join the next.
LEAST_EXPECTED = 5.0
# Positives must score that many standard deviations higher, or a change of their share is not seen.
LEAST_SLOPE = 0.3
# Draws of what chance brings, and the most rows of each.
N_DRAWS, MOST_DRAWN = 999, 10_000_000


class Distance(NamedTuple):
    """How far two tables of counts are apart.

    Attributes
    ----------
    psi : float
        The population stability index: the sum over bins of (p - q) log(p / q).
    noise : float
        The index to expect if nothing has moved.
    p : float
        Of the chi-squared test that nothing has moved.
    """

    psi: float
    noise: float
    p: float

    @property
    def effect(self) -> float:
        """The index without its noise."""
        return max(self.psi - self.noise, 0.0)


def compare_counts(before: ArrayLike, after: ArrayLike) -> Distance:
    """Compare the rows per bin of two tables."""
    counts = np.array([before, after], dtype=np.float64)
    sizes = counts.sum(axis=1)
    if (sizes == 0).any():
        return Distance(0.0, 0.0, 1.0)
    counts = _join_small(counts)
    n_bins = counts.shape[1]
    if n_bins < 2:
        return Distance(0.0, 0.0, 1.0)
    expected = np.outer(sizes, counts.sum(axis=0) / counts.sum())
    statistic = float(((counts - expected) ** 2 / expected).sum())
    # Half a row in each bin, so that an empty one is not infinitely far.
    p, q = (counts + 0.5) / (sizes + 0.5 * n_bins)[:, None]
    psi = float(((p - q) * np.log(p / q)).sum())
    noise = (n_bins - 1) * float((1 / sizes).sum())
    return Distance(psi, noise, float(stats.chi2.sf(statistic, n_bins - 1)))


def _join_small(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Join bins, the emptiest first, until each expects some rows in the smaller table."""
    share = counts.sum(axis=1).min() / counts.sum()
    order = np.argsort(counts.sum(axis=0), kind="stable")
    joined, waiting = [], np.zeros(2)
    for k in order:
        waiting = waiting + counts[:, k]
        if waiting.sum() * share >= LEAST_EXPECTED:
            joined.append(waiting)
            waiting = np.zeros(2)
    if joined:
        joined[-1] = joined[-1] + waiting
    return np.array(joined).T if joined else np.zeros((2, 0))


def adjust_p_values(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm)."""
    order = np.argsort(p_values, kind="stable")
    m = len(p_values)
    adjusted = np.empty(m)
    steps = np.array(p_values)[order] * (m - np.arange(m))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted.tolist()


class ScoreDistance(NamedTuple):
    """How far scores have moved.

    Attributes
    ----------
    distance : float
        The mean way of a score from where it was to where it is (Wasserstein), in standard
        deviations of the scores before.
    noise : float
        The distance to expect if nothing has moved: by chance, or because a model that was
        fitted on other rows scores a little differently.
    p : float
        Of chance alone.
    """

    distance: float
    noise: float
    p: float

    @property
    def effect(self) -> float:
        """The distance without its noise."""
        return max(self.distance - self.noise, 0.0)


def compare_scores(before: ArrayLike, after: ArrayLike, folds: ArrayLike) -> ScoreDistance:
    """Compare counts of scores in bins of equal width.

    `folds` are the counts before, of each fold by itself: other models have scored each, so they
    show by how much scores differ between models. Not by a test of the bins: models move scores a
    little, and in a table of few values that empties whole bins.
    """
    old, new = (np.asarray(counts, dtype=np.float64) for counts in (before, after))
    if not (old.sum() and new.sum()):
        return ScoreDistance(0.0, 0.0, 1.0)
    spread = _find_spread(old)
    distance = _find_distance(old, new) / spread
    random = np.random.default_rng(0)
    pooled = (old + new) / (old + new).sum()
    sizes = [int(min(counts.sum(), MOST_DRAWN)) for counts in (old, new)]
    draws = [random.multinomial(size, pooled, size=N_DRAWS) for size in sizes]
    by_chance = _find_distance(*draws) / spread
    between = [_find_distance(old, one) / spread for one in np.asarray(folds) if np.sum(one)]
    noise = max(float(by_chance.mean()), float(np.mean(between)) if between else 0.0)
    p = (1 + int((by_chance >= distance).sum())) / (N_DRAWS + 1)
    return ScoreDistance(float(distance), noise, p)


def _find_distance(one: NDArray, other: NDArray) -> NDArray[np.float64]:
    curves = [
        np.cumsum(counts, axis=-1) / counts.sum(axis=-1, keepdims=True) for counts in (one, other)
    ]
    return np.abs(curves[0] - curves[1]).sum(axis=-1) / one.shape[-1]


def _find_moments(counts: NDArray[np.float64]) -> tuple[float, float]:
    """Return mean and variance of scores, each in the middle of its bin."""
    middles = (np.arange(len(counts)) + 0.5) / len(counts)
    weights = counts / counts.sum()
    mean = float(weights @ middles)
    return mean, float(weights @ (middles - mean) ** 2)


def _find_spread(counts: NDArray[np.float64]) -> float:
    # Not below a bin: of equal scores nothing can be said in units of their spread.
    return max(float(np.sqrt(_find_moments(counts)[1])), 1 / len(counts))


class ShareChange(NamedTuple):
    """How the share of positives has changed, if nothing else has.

    Attributes
    ----------
    ratio, low, high : float
        The share of negatives among the new rows, divided by the one before, and its 95 % interval.
    p : float
        Of no change.
    """

    ratio: float
    low: float
    high: float
    p: float


def estimate_share_change(
    unlabeled: ArrayLike, positive: ArrayLike, new: ArrayLike, folds: ArrayLike
) -> ShareChange | None:
    r"""Estimate the ratio of the shares of negatives from counts of scores.

    If the scores of positives are spread as before, and those of negatives too (label shift), the
    new scores are a mixture: :math:`p_{new} = p_u + a (p_+ - p_u)` with
    :math:`1 - a = (1 - \pi_{new}) / (1 - \pi_u)`. So for scores s
    :math:`a = (E_{new} s - E_u s) / (E_+ s - E_u s)`. Nothing of this needs the class prior; the
    new share itself does.

    The error counts the rows, and how the means of folds differ, which other models have scored.

    Returns
    -------
    ShareChange or None
        None if the scores of positives and of unlabeled rows hardly differ.
    """
    kinds = [np.asarray(counts, dtype=np.float64) for counts in (unlabeled, positive, new)]
    if min(counts.sum() for counts in kinds) < 2:
        return None
    (m_u, v_u), (m_p, v_p), (m_n, v_n) = (_find_moments(counts) for counts in kinds)
    n_u, n_p, n_n = (counts.sum() for counts in kinds)
    slope = m_p - m_u
    if slope < LEAST_SLOPE * max(np.sqrt(v_u), 1e-9):
        return None
    of_model = _find_model_variance(folds, v_u)
    a = (m_n - m_u) / slope
    variance = v_n / n_n + of_model + (1 - a) ** 2 * v_u / n_u + a**2 * v_p / n_p
    error = np.sqrt(variance) / slope
    z = (m_n - m_u) / max(np.sqrt(v_n / n_n + v_u / n_u + of_model), 1e-12)
    low, high = (max(float(1 - a + sign * 1.96 * error), 0.0) for sign in (-1, 1))
    return ShareChange(max(float(1 - a), 0.0), low, high, float(2 * stats.norm.sf(abs(z))))


def _find_model_variance(folds: ArrayLike, variance: float) -> float:
    """Return by how much means of folds vary beyond what their rows explain."""
    counts = [np.asarray(one, dtype=np.float64) for one in folds if np.sum(one) >= 2]  # type: ignore[union-attr]
    if len(counts) < 2:
        return 0.0
    means = [_find_moments(one)[0] for one in counts]
    by_chance = float(np.mean([variance / one.sum() for one in counts]))
    return max(float(np.var(means, ddof=1)) - by_chance, 0.0)
