"""KM: how far the unlabeled rows can be moved away from the positives and still be data."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls
from sklearn.metrics import euclidean_distances

from mixpul._util.arrays import flatten_rows
from mixpul._util.random import RandomStateLike
from mixpul._util.validation import Interval, StrOptions
from mixpul.priors.base import BasePrior, bootstrap, draw_rows

LARGEST = 8.0  # of lambda, so that priors end at 1 - 1/8


class KMPrior(BasePrior):
    r"""Class prior by kernel mean embedding (KM1 and KM2).

    Taking positives away from the unlabeled rows, :math:`\lambda \mu_U + (1-\lambda) \mu_P`,
    leaves a distribution as long as there are positives to take; beyond that the distance to the
    nearest distribution rises. The prior is :math:`1 - 1/\lambda` where that distance starts to
    rise, see `km`; it is at most 0.875.

    It compares rows by distances in the feature space, so standardise the features. Its errors
    go both ways: good on spambase, a third too small on chess positions of 36 binary features.
    It takes seconds, most of them for the interval, and rests on `max_rows` rows at most.

    Parameters
    ----------
    variant : {'km2', 'km1'}, default='km2'
        How steep counts as a rise: 'km2' goes by the slope at the start and the distance of the
        means, 'km1' by the number of rows.
    max_rows : int, default=500
        If there are more, rows are drawn: as many positives as unlabeled ones, if there are.
    level : float in (0, 1), default=0.95
        Coverage of `interval_`.
    n_bootstrap : int, default=20
        Number of resamples; 0 skips the interval. So few give a rough interval.
    pos_label : optional
        The value of `y` that means labeled positive; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Randomness of the rows drawn and of the resamples.

    Attributes
    ----------
    prior_ : float
        Share of positives among the unlabeled rows.
    interval_ : tuple of two floats
        Percentile bootstrap interval, widened to hold `prior_`.

    References
    ----------
    Harish Ramaswamy, Clayton Scott, Ambuj Tewari: Mixture Proportion Estimation via Kernel
    Embeddings of Distributions. ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.priors import KMPrior
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(450, 2))
    >>> X[:250] += 3  # 150 labeled positives; 100 of 300 unlabeled rows are positive
    >>> y = np.repeat([1, 0], [150, 300])
    >>> 0.25 < KMPrior(random_state=0, n_bootstrap=0).fit(X, y).prior_ < 0.45
    True
    """

    _parameter_constraints: dict = BasePrior._parameter_constraints | {
        "variant": [StrOptions({"km1", "km2"})],
        "max_rows": [Interval(Integral, 10, None, closed="left")],
    }

    def __init__(
        self,
        *,
        variant: str = "km2",
        max_rows: int = 500,
        level: float = 0.95,
        n_bootstrap: int = 20,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.variant = variant
        self.max_rows = max_rows
        self.level = level
        self.n_bootstrap = n_bootstrap
        self.pos_label = pos_label
        self.random_state = random_state

    def _estimate(
        self, X: Any, is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> tuple[float, NDArray[np.float64]]:
        X = flatten_rows(X, np.float64)
        positive, unlabeled = draw_rows(is_positive, self.max_rows, random)
        counts = len(positive), len(unlabeled)
        hull = _Hull(X[np.concatenate([unlabeled, positive])], counts[1])

        # A resample changes the weights of rows only, so the costly hull is built once.
        def estimate(some_positive: NDArray[np.intp], some_unlabeled: NDArray[np.intp]) -> float:
            return _slope_crossing(
                hull,
                np.bincount(some_positive, minlength=counts[0]) / counts[0],
                np.bincount(some_unlabeled, minlength=counts[1]) / counts[1],
                self.variant,
            )

        prior = estimate(np.arange(counts[0]), np.arange(counts[1]))
        return prior, bootstrap(estimate, *counts, self.n_bootstrap, random)


def km(X_positive: ArrayLike, X_unlabeled: ArrayLike, *, variant: str = "km2") -> float:
    r"""Compute :math:`1 - 1/\lambda` where the slope of :math:`d(\lambda)` passes a threshold.

    :math:`d(\lambda)` is the distance of :math:`\lambda \mu_U + (1 - \lambda) \mu_P` to the convex
    hull of all rows in the space of a Gaussian kernel (Ramaswamy, Scott, Tewari 2016). The kernel
    width is the one of five around the median distance with the largest
    :math:`\|\mu_U - \mu_P\|`. Thresholds: ``km1`` :math:`1 / \sqrt{\min(n_P, n_U)}`, ``km2``
    :math:`0.8 \, d(1.05) / 0.05 + 0.2 \, \|\mu_U - \mu_P\|`. `X_positive` (n, d), `X_unlabeled`
    (m, d).
    """
    positive, unlabeled = (flatten_rows(X, np.float64) for X in (X_positive, X_unlabeled))
    n, m = len(positive), len(unlabeled)
    hull = _Hull(np.concatenate([unlabeled, positive]), m)
    return _slope_crossing(hull, np.full(n, 1 / n), np.full(m, 1 / m), variant)


class _Hull:
    """The convex hull of rows in the space of a Gaussian kernel."""

    def __init__(self, rows: Any, n_unlabeled: int) -> None:
        squared = euclidean_distances(rows, squared=True)
        squared_median = float(np.median(squared))
        if squared_median == 0:
            squared_median = float(squared.mean())  # most rows are equal
        if squared_median == 0:
            raise ValueError("KMPrior needs rows that differ; all rows of X are equal.")
        n = squared.shape[0]
        contrast = np.repeat(
            [1 / n_unlabeled, -1 / (n - n_unlabeled)], [n_unlabeled, n - n_unlabeled]
        )
        # Of five widths the one that tells both kinds apart best, as the authors choose it.
        kernels = [np.exp(-squared / (2 * squared_median * w**2)) for w in np.logspace(-1, 1, 5)]
        kernel = max(kernels, key=lambda k: contrast @ k @ contrast)
        # Coordinates in which the kernel is the inner product; those that hardly vary are left out.
        values, vectors = np.linalg.eigh(kernel)
        kept = values > 1e-6 * values[-1]
        self.coordinates = (vectors[:, kept] * np.sqrt(values[kept])).T
        # A heavy extra coordinate in which every row is 1 makes weights sum to 1.
        self._heavy = float(np.sqrt(n))
        self._system = np.concatenate([self.coordinates, np.full((1, n), self._heavy)])

    def residual(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the vector from the nearest point of the hull to `point`."""
        # Lawson and Hanson's active set is exact and small: dozens of rows span the nearest point.
        target = np.append(point, self._heavy)
        weights, _ = nnls(self._system, target, maxiter=20 * self._system.shape[1])
        return np.asarray(point - self.coordinates @ weights)


def _slope_crossing(
    hull: _Hull, positive: NDArray[np.float64], unlabeled: NDArray[np.float64], variant: str
) -> float:
    """Bisect for the lambda at which the slope passes the threshold, and return 1 - 1 / lambda.

    `positive` and `unlabeled` are the weights of the rows; a resample repeats some of them.
    """
    n_unlabeled = len(unlabeled)
    mean_unlabeled = hull.coordinates[:, :n_unlabeled] @ unlabeled
    away = mean_unlabeled - hull.coordinates[:, n_unlabeled:] @ positive

    def distance_and_slope(lam: float) -> tuple[float, float]:
        rest = hull.residual(mean_unlabeled + (lam - 1) * away)
        distance = float(np.linalg.norm(rest))
        # The nearest point may be held fixed in the derivative: it is a minimum.
        # Inside the hull there is no distance, and no direction to divide by it.
        return distance, float(rest @ away) / distance if distance > 1e-7 else 0.0

    if variant == "km1":
        threshold = 1 / np.sqrt(min(len(positive), n_unlabeled))
    else:
        start = distance_and_slope(1.05)[0] / 0.05
        threshold = 0.8 * start + 0.2 * float(np.linalg.norm(away))
    low, high = 1.0, LARGEST
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if distance_and_slope(middle)[1] > threshold else (middle, high)
    return 1 - 2 / (low + high)
