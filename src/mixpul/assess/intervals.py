"""95 % intervals of what is measured on rows left out of training."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mixpul.metrics import Estimate
from mixpul.metrics.ranking import components, delong
from mixpul.metrics.shares import wilson_interval

__all__ = ["LEVEL", "Z", "bound_share", "estimate_auc", "estimate_auc_difference"]

LEVEL = 0.95
Z = float(ndtri((1 + LEVEL) / 2))  # half the width of an interval in standard errors


def estimate_auc(is_positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> Estimate:
    """Return the AUC against unlabeled rows."""
    return delong(is_positive, scores, 0.0, 0.0, LEVEL)


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


def bound_share(share: NDArray[np.float64], n: Any) -> dict[str, NDArray]:
    """Return a share of n rows and the ends of Wilson's interval."""
    low, high = wilson_interval(share, n, LEVEL)
    return {"value": share, "low": low, "high": high}
