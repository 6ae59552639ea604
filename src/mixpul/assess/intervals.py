"""95 % intervals of what is measured on rows left out of training."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mixpul.metrics import Estimate
from mixpul.metrics.ranking import components, delong

__all__ = [
    "LEVEL",
    "bound_draws",
    "bound_share",
    "estimate_auc",
    "estimate_auc_difference",
]

LEVEL = 0.95
Z = float(ndtri((1 + LEVEL) / 2))  # half the width of an interval in standard errors


def estimate_auc(
    is_positive: NDArray[np.bool_],
    scores: NDArray[np.float64],
    prior: float = 0.0,
    prior_se: float = 0.0,
) -> Estimate:
    """Return the AUC against true negatives; with `prior` 0 that against unlabeled rows."""
    return delong(is_positive, scores, prior, prior_se, LEVEL)


def estimate_auc_difference(
    is_positive: NDArray[np.bool_], scores: NDArray, others: NDArray
) -> Estimate:
    """Return the PU-AUC of `scores` minus that of `others` on the same rows (DeLong)."""
    mine, theirs = components(is_positive, scores), components(is_positive, others)
    of_positive, of_unlabeled = mine[0] - theirs[0], mine[1] - theirs[1]
    # Paired: what both rankings have in common cancels before the variance is taken.
    variance = of_positive.var(ddof=1) / len(of_positive)
    variance += of_unlabeled.var(ddof=1) / len(of_unlabeled)
    value, se = float(of_positive.mean()), float(np.sqrt(variance))
    return Estimate(value, se, value - Z * se, value + Z * se)


def bound_share(share: NDArray[np.float64], n: int) -> dict[str, NDArray]:
    """Return Wilson's interval of a share of n rows; its width is never 0, not even at 0 or 1."""
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    reach = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    low, high = np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)
    # Rounding may put a share of 0 or 1 just outside its own interval.
    return {"value": share, "low": np.minimum(low, share), "high": np.maximum(high, share)}


def bound_draws(values: NDArray[np.float64], drawn: NDArray[np.float64]) -> dict[str, NDArray]:
    """Return the interval of values that were resampled; `drawn` has a row for each resample."""
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    # All draws may lie on one side of the value; readers expect it inside its interval.
    return {"value": values, "low": np.minimum(low, values), "high": np.maximum(high, values)}
