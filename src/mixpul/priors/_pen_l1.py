"""pen-L1: the prior at which scaled positives come closest to the unlabeled rows."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import euclidean_distances

from mixpul._util.arrays import flatten_rows
from mixpul._util.random import RandomStateLike
from mixpul._util.validation import Interval
from mixpul.priors.base import BasePrior, bootstrap

# Of the median distance of rows to centres.
WIDTHS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
PENALTIES = (0.001, 0.01, 0.1, 1.0)
# A grid, because width and penalty are chosen anew at each theta; for fixed ones `pen_l1` is exact.
THETAS = np.linspace(0, 1, 201)


class PenL1Prior(BasePrior):
    r"""Class prior by penalised L1-distance minimisation (pen-L1).

    Looks for the :math:`\theta` at which :math:`\theta p_+` comes closest to the density of the
    unlabeled rows while hardly exceeding it anywhere. The distance is a bound in Gaussian bumps
    at some of the rows (see `pen_l1`); for each :math:`\theta` width and penalty maximise the
    bound on held-out folds.

    It compares densities in the feature space, so it is meant for a handful of standardised
    features. With dozens of features the bumps hardly see a neighbour; on the bundled chess and
    spam data the estimate is too large by a half and more. It depends on the penalty a lot.

    Parameters
    ----------
    widths : array-like of floats, default=(0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
        Widths of the bumps to choose from, in median distances of rows to centres.
    penalties : array-like of floats, default=(0.001, 0.01, 0.1, 1.0)
        Penalties to choose from.
    n_centres : int, default=200
        Number of bumps, at rows drawn from all.
    n_folds : int, default=5
        Folds by which width and penalty are chosen.
    level : float in (0, 1), default=0.95
        Coverage of `interval_`.
    n_bootstrap : int, default=50
        Number of resamples; 0 skips the interval.
    pos_label : optional
        The value of `y` that means labeled positive; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Randomness of the centres, the folds and the resamples.

    Attributes
    ----------
    prior_ : float
        Share of positives among the unlabeled rows.
    interval_ : tuple of two floats
        Percentile bootstrap interval, widened to hold `prior_`.

    References
    ----------
    Marthinus C. du Plessis, Gang Niu, Masashi Sugiyama: Class-prior estimation for learning from
    positive and unlabeled data. Machine Learning 106, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.priors import PenL1Prior
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(900, 1))
    >>> X[:500] += 4  # 300 labeled positives; 200 of 600 unlabeled rows are positive
    >>> y = np.repeat([1, 0], [300, 600])
    >>> 0.2 < PenL1Prior(random_state=0, n_bootstrap=0).fit(X, y).prior_ < 0.45
    True
    """

    _parameter_constraints: dict = BasePrior._parameter_constraints | {
        "widths": ["array-like"],
        "penalties": ["array-like"],
        "n_centres": [Interval(Integral, 1, None, closed="left")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        *,
        widths: ArrayLike = WIDTHS,
        penalties: ArrayLike = PENALTIES,
        n_centres: int = 200,
        n_folds: int = 5,
        level: float = 0.95,
        n_bootstrap: int = 50,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.widths = widths
        self.penalties = penalties
        self.n_centres = n_centres
        self.n_folds = n_folds
        self.level = level
        self.n_bootstrap = n_bootstrap
        self.pos_label = pos_label
        self.random_state = random_state

    def _estimate(
        self, X: Any, is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> tuple[float, NDArray[np.float64]]:
        widths = _check_above_zero(self.widths, "widths")
        penalties = _check_above_zero(self.penalties, "penalties")
        X = flatten_rows(X, np.float64)
        n_rows = X.shape[0]
        centres = X[random.choice(n_rows, min(self.n_centres, n_rows), replace=False)]
        squared = euclidean_distances(X, centres, squared=True)
        squared_median = float(np.median(squared))
        if squared_median == 0:
            raise ValueError("PenL1Prior needs rows that differ; most rows of X are equal.")
        bumps = [np.exp(-squared / (2 * squared_median * width**2)) for width in widths]
        positive = [bump[is_positive] for bump in bumps]
        unlabeled = [bump[~is_positive] for bump in bumps]
        counts = len(positive[0]), len(unlabeled[0])
        folds = [random.permutation(np.arange(n) % min(self.n_folds, *counts)) for n in counts]

        def estimate(some_positive: NDArray[np.intp], some_unlabeled: NDArray[np.intp]) -> float:
            means = [
                (
                    _fold_means(p, folds[0], some_positive),
                    _fold_means(u, folds[1], some_unlabeled),
                )
                for p, u in zip(positive, unlabeled, strict=True)
            ]
            return _find_closest(means, penalties)

        prior = estimate(np.arange(counts[0]), np.arange(counts[1]))
        return prior, bootstrap(estimate, *counts, self.n_bootstrap, random)


def pen_l1(positive: ArrayLike, unlabeled: ArrayLike, penalty: float) -> float:
    r"""Minimise :math:`\sum_l (\beta_l)_+^2/\lambda - \theta` over :math:`\theta` in [0, 1].

    :math:`\beta_l = \theta \, mean_P \phi_l - mean_U \phi_l` for bumps :math:`\phi_l \ge 0`:
    `positive` (n, b) and `unlabeled` (m, b) hold their values (du Plessis, Niu, Sugiyama 2017).
    The minimum is exact.
    """
    p, u = np.asarray(positive).mean(axis=0), np.asarray(unlabeled).mean(axis=0)
    reached = p > 0  # a bump no positive reaches never exceeds
    p, u = p[reached], u[reached]
    start = u / p  # theta from which on the bump exceeds
    order = np.argsort(start)
    p, u, start = p[order], u[order], start[order]
    # With the first j bumps in the sum its slope is zero at:
    theta = (penalty / 2 + np.cumsum(p * u)) / np.cumsum(p * p)
    following = np.append(start[1:], np.inf)
    inside = np.flatnonzero(theta <= following)  # the slope rises: the first one is the minimum
    return float(np.clip(theta[inside[0]], 0, 1)) if len(inside) else 1.0


def _check_above_zero(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return the numbers as an array; refuse none at all, and those that are 0 or less."""
    numbers = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if numbers.ndim != 1 or not len(numbers) or not (numbers > 0).all():
        raise ValueError(f"{name} must be numbers above 0; got {values!r}.")
    return numbers


def _fold_means(
    bumps: NDArray[np.float64], folds: NDArray[np.intp], some: NDArray[np.intp]
) -> tuple[NDArray, NDArray, NDArray]:
    """Return mean bumps of all rows, and for each fold those without it and within it."""
    fold_of, n_folds = folds[some], int(folds.max()) + 1
    member = np.zeros((n_folds, len(bumps)))
    # add.at counts a row as often as a resample repeats it; plain indexing would count it once.
    np.add.at(member, (fold_of, some), 1.0)
    sums, counts = member @ bumps, member.sum(axis=1)[:, None]
    # A resample may miss a fold altogether; it then counts for nothing.
    without = (sums.sum(axis=0) - sums) / np.maximum(counts.sum() - counts, 1)
    return sums.sum(axis=0) / counts.sum(), without, sums / np.maximum(counts, 1)


def _find_closest(means: list[tuple[Any, Any]], penalties: NDArray[np.float64]) -> float:
    """Return the theta with the smallest bound.

    At each theta the bound is that of the width and penalty that held-out folds prefer.
    """
    held_out, bounds = [], []
    for (p, p_without, p_within), (u, u_without, u_within) in means:
        fitted = THETAS[:, None, None] * p_without - u_without
        tested = THETAS[:, None, None] * p_within - u_within
        gain = (np.maximum(fitted, 0) * tested).sum(axis=(1, 2))
        exceeding = np.maximum(THETAS[:, None] * p - u, 0)
        for penalty in penalties:
            held_out.append(gain / penalty)
            bounds.append((exceeding**2).sum(axis=1) / penalty - THETAS + 1)
    chosen = np.argmax(held_out, axis=0)
    return float(THETAS[np.argmin(np.array(bounds)[chosen, np.arange(len(THETAS))])])
