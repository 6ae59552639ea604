"""DEDPUL: densities of the scores of positives and of unlabeled rows."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import median_filter
from scipy.special import expit

from mixpul._util.random import RandomStateLike
from mixpul._util.validation import Interval
from mixpul.priors._scorers import ScorePrior
from mixpul.priors.base import check_both

LARGEST_RATIO = 50.0  # of densities: few rows make larger ones by chance
LARGEST_ERROR = 0.05  # up to which a share counts as nearly a solution
STEP = 0.001  # between the shares that are tried


class DEDPULPrior(ScorePrior):
    """Class prior from the densities of scores (DEDPUL).

    The ratio of the density of positive to that of unlabeled scores, times the prior, is the
    probability of a row to be positive. The prior is the one that equals the mean of these
    probabilities, clipped at 1. See `dedpul`. It was the most accurate in our measurements.

    Parameters
    ----------
    scorer : classifier or None, default=None
        What tells positives from unlabeled rows. If it has `oof_scores_` after `fit`, as
        `MixPULClassifier` does, those are used; otherwise it is cross-validated. It gets images
        as they are. By default a balanced logistic regression on the standardised features and
        on Gaussian bumps, for which images are flattened.
    bandwidth_positive : float, default=0.1
        Width of the kernel for positive scores, in their standard deviations.
    bandwidth_unlabeled : float, default=0.05
        Width of the kernel for unlabeled scores, in their standard deviations.
    n_folds : int, default=5
        Folds of the cross-validation.
    level : float in (0, 1), default=0.95
        Coverage of `interval_`.
    n_bootstrap : int, default=100
        Number of resamples; 0 skips the interval.
    pos_label : optional
        The value of `y` that means labeled positive; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Randomness of the scorer, the folds and the resamples.

    Attributes
    ----------
    prior_ : float
        Share of positives among the unlabeled rows.
    interval_ : tuple of two floats
        Percentile bootstrap interval of the scores, widened to hold `prior_`. It does not know
        the error of the scorer.
    scorer_ : classifier
        The scorer, trained on all rows.
    scores_ : ndarray of shape (n_samples,)
        Out-of-fold logits.

    References
    ----------
    Dmitry Ivanov: DEDPUL: Difference-of-Estimated-Densities-based Positive-Unlabeled Learning.
    ICMLA 2020.

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul.priors import DEDPULPrior
    >>> X, y = datasets.load("krvskp", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.4, random_state=0)
    >>> abs(DEDPULPrior(random_state=0).fit(pu.X, pu.s).prior_ - pu.prior) < 0.06
    True
    """

    _parameter_constraints: dict = ScorePrior._parameter_constraints | {
        "bandwidth_positive": [Interval(Real, 0, None, closed="neither")],
        "bandwidth_unlabeled": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        scorer: Any = None,
        *,
        bandwidth_positive: float = 0.1,
        bandwidth_unlabeled: float = 0.05,
        n_folds: int = 5,
        level: float = 0.95,
        n_bootstrap: int = 100,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.scorer = scorer
        self.bandwidth_positive = bandwidth_positive
        self.bandwidth_unlabeled = bandwidth_unlabeled
        self.n_folds = n_folds
        self.level = level
        self.n_bootstrap = n_bootstrap
        self.pos_label = pos_label
        self.random_state = random_state

    def _from_scores(self, positive: NDArray[np.float64], unlabeled: NDArray[np.float64]) -> float:
        return dedpul(
            positive,
            unlabeled,
            bandwidth_positive=self.bandwidth_positive,
            bandwidth_unlabeled=self.bandwidth_unlabeled,
        )


def dedpul(
    positive_scores: ArrayLike,
    unlabeled_scores: ArrayLike,
    *,
    bandwidth_positive: float = 0.1,
    bandwidth_unlabeled: float = 0.05,
) -> float:
    r"""Compute 1 - a for the negative share a at which :math:`a = mean_U (1 - d (1 - a))_+`.

    :math:`d = f_P / f_U` at the unlabeled scores, capped, smoothed by medians and made monotone
    (Ivanov 2020). If only a = 0 solves it, a is where the error starts to rise most sharply, among
    those with an error below 0.05. Scores (n,) and (m,) are logits, larger for positives.
    """
    positive, unlabeled = check_both(positive_scores, unlabeled_scores)
    unlabeled = np.sort(unlabeled)
    ratio = _density_ratio(positive, unlabeled, bandwidth_positive, bandwidth_unlabeled)
    return 1 - _negative_share(ratio)


def _density_ratio(
    positive: NDArray[np.float64],
    unlabeled: NDArray[np.float64],
    bandwidth_positive: float,
    bandwidth_unlabeled: float,
) -> NDArray[np.float64]:
    """Estimate f_P / f_U at the sorted unlabeled scores, rising."""
    density = _density(unlabeled, unlabeled, bandwidth_unlabeled)
    # The small number keeps the ratio finite where hardly any row is.
    ratio = _density(positive, unlabeled, bandwidth_positive) / (density + 1e-5)
    ratio = _running_median(np.minimum(ratio, LARGEST_RATIO), 5)
    # In the half where positives are, a higher score means a higher ratio.
    is_high = expit(unlabeled) >= (expit(positive).mean() + expit(unlabeled).mean()) / 2
    ratio[is_high] = np.maximum.accumulate(ratio[is_high])
    # Sorted for the bisection in `_negative_share`, which does not care whose ratio it is.
    return np.sort(_running_median(ratio, len(unlabeled) // 20))


def _density(
    scores: NDArray[np.float64], at: NDArray[np.float64], bandwidth: float
) -> NDArray[np.float64]:
    """Estimate a Gaussian kernel density on a fine grid, at a cost linear in the rows.

    Each score is split between the two cells around it, the cells are smoothed by a kernel of five
    widths, and the density is read off between cells.
    """
    spread = float(scores.std(ddof=1))
    # Equal scores have no spread of their own.
    width = bandwidth * (spread or float(at.std()) or 1.0)
    low, high = min(scores.min(), at.min()), max(scores.max(), at.max())
    # An eighth of the kernel, but coarser if a score far out would make the grid huge.
    step = max(width / 8, (high - low) / 2**15)
    place = (scores - low) / step
    left = place.astype(int)
    n_cells = int((high - low) / step) + 2
    mass = np.bincount(left, weights=1 - (place - left), minlength=n_cells)
    mass += np.bincount(left + 1, weights=place - left, minlength=n_cells)[:n_cells]
    reach = int(5 * width / step) + 1
    kernel = np.exp(-((np.arange(-reach, reach + 1) * step / width) ** 2) / 2)
    smooth = np.convolve(mass, kernel)[reach : reach + n_cells]
    smooth /= np.sqrt(2 * np.pi) * width * len(scores)
    return np.interp((at - low) / step, np.arange(n_cells), smooth)


def _running_median(values: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """Smooth values by the median of `reach` neighbours on either side."""
    return median_filter(values, 2 * reach + 1, mode="nearest") if reach else values


def _negative_share(ratio: NDArray[np.float64]) -> float:
    """Solve for the share of negatives: by iteration, or by the bend of the error."""
    sums = np.concatenate([[0.0], np.cumsum(ratio)])

    def mean_posterior(share: Any) -> Any:
        """Compute the mean of (1 - d (1 - a))_+; d rises, so the terms above 0 come first."""
        n_above_zero = np.searchsorted(ratio, 1 / (1 - share))
        return (n_above_zero - (1 - share) * sums[n_above_zero]) / len(ratio)

    converged = 0.0
    for _ in range(1000):
        following = float(mean_posterior(converged))
        # Once no row counts as surely positive, iterating would only drift to 1. At the start it
        # means that no unlabeled row looks positive, which one step turns into a share near 1.
        drifts = converged > 0 and ratio[-1] * (1 - converged) < 1
        if abs(following - converged) < 1e-5 or drifts:
            break
        # Below 1, because `mean_posterior` divides by 1 - share.
        converged = min(following, 1 - STEP)
    shares = np.arange(0, 1, STEP)
    errors = mean_posterior(shares) - shares
    bends = np.where(errors[1:-1] < LARGEST_ERROR, np.diff(errors, 2), -np.inf)
    sharpest = float(shares[1:-1][np.argmax(bends)])
    if sharpest >= converged or ((errors < 0).sum() > 1 and converged < 1 - STEP):
        return converged
    return sharpest
