"""Equations of an audit: figures of all unlabeled rows from the answers on some of them.

Rows were drawn at random from strata of the score, the stratum with the highest scores first. Rows
above a threshold may end inside a stratum, which is then split: its rows above the threshold are a
random draw from those above it, and so are those below.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Sample",
    "compute_rates",
    "count_more_rows",
    "count_sides",
    "draw_auc",
    "draw_positives",
    "draw_shares",
    "draw_sides",
    "estimate_auc",
    "estimate_share",
]

Array = NDArray[np.float64]


class Sample(NamedTuple):
    """Rows that were drawn from strata, and the answers.

    Attributes
    ----------
    sizes : ndarray of shape (n_strata,)
        How many rows each stratum has.
    strata : ndarray of shape (n_drawn,)
        The stratum of each row that was drawn, from 0.
    ranks : ndarray of shape (n_drawn,)
        Its place among all rows by score, from 1.
    yes : ndarray of shape (n_drawn,)
        1 for a positive, 0 for a negative, 1/2 for a row that may be either.
    """

    sizes: NDArray[np.intp]
    strata: NDArray[np.intp]
    ranks: NDArray[np.intp]
    yes: Array

    def tally(self, is_counted: NDArray[np.bool_] | None = None) -> tuple[Array, Array]:
        """Return for each stratum how many rows were drawn, and how many of them are positive."""
        taken = np.ones(len(self.ranks)) if is_counted is None else is_counted.astype(float)
        n_strata = len(self.sizes)
        drawn = np.bincount(self.strata, taken, n_strata)
        yes = np.bincount(self.strata, taken * self.yes, n_strata)
        return drawn.astype(np.float64), yes.astype(np.float64)


def estimate_share(sizes: ArrayLike, drawn: ArrayLike, yes: ArrayLike) -> tuple[float, float]:
    r"""Return the share of positives among all rows, and its standard error.

    :math:`\hat\pi = \sum_h N_h p_h / N` with :math:`p_h = k_h / n_h`, and
    :math:`\sum_h (N_h/N)^2 (1 - n_h/N_h) p_h (1 - p_h) / (n_h - 1)` is its variance.

    Parameters
    ----------
    sizes, drawn, yes : array of shape (n_strata,)
        Rows, rows drawn and positives among those: N_h, n_h and k_h.

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> from mixpul.assess.audit_figures import estimate_share
    >>> value, se = estimate_share([100, 300, 600], [20, 20, 20], [18, 8, 1])
    >>> round(value, 6), round(se, 6)
    (0.24, 0.044373)
    """
    size, n_drawn, n_yes = (np.asarray(part, dtype=np.float64) for part in (sizes, drawn, yes))
    weights, share = size / size.sum(), n_yes / n_drawn
    # One row alone tells nothing of its variance: it is taken as if there were a second one.
    variance = (1 - n_drawn / size) * share * (1 - share) / np.maximum(n_drawn - 1, 1)
    return float(weights @ share), math.sqrt(weights**2 @ variance)


def draw_shares(
    sizes: ArrayLike,
    drawn: ArrayLike,
    yes: ArrayLike,
    n_draws: int,
    random: np.random.Generator,
    *,
    added: ArrayLike = 1.0,
    expected: ArrayLike = 0.5,
) -> Array:
    r"""Draw shares of positives in each stratum, of shape (n_draws, n_strata).

    :math:`\mathrm{Beta}(k_h + c_h e_h, n_h - k_h + c_h (1 - e_h))` for each: c_h answers are
    `added` to those there are, e_h of them positive as `expected`. One answer with e = 1/2 in each
    stratum is Jeffreys' rule. Where all rows of a stratum were drawn, their share is known.
    """
    size, n_drawn, n_yes, more, share = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.float64) for part in (sizes, drawn, yes, added, expected))
    )
    # A stratum of no rows counts for nothing, but has to be drawn as well.
    for_yes = np.maximum(n_yes + more * share, 1e-6)
    for_no = np.maximum(n_drawn - n_yes + more * (1 - share), 1e-6)
    shares = random.beta(for_yes, for_no, size=(n_draws, len(size)))
    return np.where(n_drawn < size, shares, n_yes / np.maximum(n_drawn, 1))


def draw_positives(sample: Sample, n_draws: int, random: np.random.Generator) -> Array:
    """Draw numbers of positives in each stratum, of shape (n_draws, n_strata).

    One answer is added to all strata together, each with its part of it by rows: with one for each
    stratum, the more strata there are, the more positives would come from nowhere.
    """
    drawn, yes = sample.tally()
    parts = sample.sizes / sample.sizes.sum()
    return sample.sizes * draw_shares(sample.sizes, drawn, yes, n_draws, random, added=parts)


def draw_sides(
    sample: Sample, flagged: float, n_draws: int, random: np.random.Generator
) -> tuple[Array, Array]:
    """Draw numbers of positives above a threshold and below it, each of shape (n_draws,)."""
    sides = []
    for is_here, sizes in _split(sample, flagged):
        drawn, yes = sample.tally(is_here)
        all_drawn, all_yes = sample.tally()
        parts = sizes / max(sizes.sum(), 1)
        # A part of a stratum knows one answer more: that of its whole stratum.
        is_part = (sizes > 0) & (sizes < sample.sizes)
        known = (all_yes + parts / 2) / (all_drawn + parts + 1e-12)
        added = parts + is_part
        expected = (parts / 2 + is_part * known) / np.maximum(added, 1e-12)
        shares = draw_shares(sizes, drawn, yes, n_draws, random, added=added, expected=expected)
        sides.append(shares @ sizes)
    return sides[0], sides[1]


def count_sides(sample: Sample, flagged: float) -> tuple[float, float]:
    """Estimate the numbers of positives above a threshold and below it."""
    drawn, yes = sample.tally()
    sides = []
    for is_here, sizes in _split(sample, flagged):
        own_drawn, own_yes = sample.tally(is_here)
        # Where no row of a part was drawn it has the share of its whole stratum.
        share = np.where(own_drawn > 0, own_yes / np.maximum(own_drawn, 1), yes / drawn)
        sides.append(float(share @ sizes))
    return sides[0], sides[1]


def _split(sample: Sample, flagged: float) -> list[tuple[NDArray[np.bool_], Array]]:
    """Return which drawn rows are above a threshold, and how many rows of each stratum; and below.

    `flagged` is the number of rows above it: strata are flagged from the first one on.
    """
    before = np.cumsum(sample.sizes) - sample.sizes
    above = np.clip(flagged - before, 0.0, sample.sizes)
    is_above = sample.ranks <= flagged
    return [(is_above, above), (~is_above, sample.sizes - above)]


def compute_rates(found: Array, missed: Array, flagged: ArrayLike) -> dict[str, Array]:
    """Return precision, recall and F1; NaN where one is not defined.

    Parameters
    ----------
    found, missed : ndarray of shape (..., n_thresholds)
        Positives above each threshold and below it.
    flagged : array of shape (n_thresholds,)
        Rows above each.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.assess.audit_figures import compute_rates
    >>> rates = compute_rates(np.array([210.0, 0]), np.array([30.0, 240]), [400, 0])
    >>> {name: values.round(3).tolist() for name, values in rates.items()}
    {'precision': [0.525, nan], 'recall': [0.875, 0.0], 'f1': [0.656, 0.0]}
    """
    n_flagged = np.asarray(flagged, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "precision": np.where(n_flagged > 0, found / n_flagged, np.nan),
            "recall": found / (found + missed),
            "f1": 2 * found / (n_flagged + found + missed),
        }


def estimate_auc(sample: Sample) -> float:
    """Return how often a positive outranks a negative; NaN if one of both kinds is missing."""
    drawn, yes = sample.tally()
    ordered = [_measure_order(own, np.ones(len(own.ranks))) for own in _list_strata(sample)]
    return float(_compute_auc(sample.sizes * yes / drawn, sample.sizes, np.array(ordered)))


def draw_auc(sample: Sample, positives: Array, n_draws: int, random: np.random.Generator) -> Array:
    """Draw the AUC, of shape (n_draws,), from drawn numbers of positives in each stratum.

    The order inside a stratum is that of its drawn rows, each with a weight of chance.
    """
    ordered = [
        _measure_order(own, random.standard_exponential((n_draws, len(own.ranks))))
        for own in _list_strata(sample)
    ]
    return _compute_auc(positives, sample.sizes, np.stack(ordered, axis=-1))


def _list_strata(sample: Sample) -> list[Sample]:
    masks = [sample.strata == h for h in range(len(sample.sizes))]
    return [sample._replace(ranks=sample.ranks[m], yes=sample.yes[m]) for m in masks]


def _measure_order(own: Sample, weights: Array) -> Array:
    """Return how often a positive outranks a negative within a stratum; 1/2 if nothing is known."""
    is_above = (own.ranks[:, None] < own.ranks).astype(float)
    apart = 1 - np.eye(len(own.ranks))
    positive, negative = weights * own.yes, weights * (1 - own.yes)
    in_order, pairs = (
        np.einsum("...i,ij,...j->...", positive, matrix, negative) for matrix in (is_above, apart)
    )
    n_pairs = own.yes @ apart @ (1 - own.yes)
    with np.errstate(invalid="ignore"):
        share = np.where(pairs > 0, in_order / pairs, 0.5)
    # One pair is added that is in order half of the time.
    return (share * n_pairs + 0.5) / (n_pairs + 1)


def _compute_auc(positives: Array, sizes: NDArray[np.intp], ordered: Array) -> Array:
    negatives = sizes - positives
    # A positive outranks all negatives of lower strata, and a share of those of its own.
    lower = np.cumsum(negatives[..., ::-1], axis=-1)[..., ::-1] - negatives
    pairs = positives.sum(-1) * negatives.sum(-1)
    with np.errstate(invalid="ignore"):
        return (positives * (lower + ordered * negatives)).sum(-1) / pairs


def count_more_rows(n_drawn: int, n_rows: int) -> int:
    """Return how many more rows halve an interval: thrice as many, fewer of a small table.

    Examples
    --------
    >>> from mixpul.assess.audit_figures import count_more_rows
    >>> count_more_rows(60, 1_000_000), count_more_rows(60, 120)
    (180, 36)
    """
    # The variance is proportional to 1/n - 1/N.
    wanted = 1 / (0.25 / n_drawn + 0.75 / n_rows)
    return max(0, math.ceil(wanted - 1e-9) - n_drawn)
