"""Scores as probabilities."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

__all__ = ["platt"]


def platt(margins: NDArray[np.float64], target: NDArray[np.float64]) -> tuple[float, float]:
    r"""Find slope and offset of :math:`\sigma(A t + B)` with Platt's smoothed targets.

    Targets may be soft: with :math:`N_+ = \sum y` and :math:`N_- = n - N_+` they are moved from
    [0, 1] to :math:`[1/(N_- + 2), (N_+ + 1)/(N_+ + 2)]`. The slope is never negative: a sigmoid
    that turns the order of the margins round would call the surest positives negative.
    """
    n_positive = target.sum()
    low, high = 1 / (len(target) - n_positive + 2), (n_positive + 1) / (n_positive + 2)
    smooth = low + (high - low) * target
    # Standardised, so that the start and the least slope suit margins on any scale.
    middle, scale = margins.mean(), margins.std() or 1.0
    t = (margins - middle) / scale

    def loss(parameters: NDArray) -> tuple[float, NDArray]:
        z = parameters[0] * t + parameters[1]
        residual = (expit(z) - smooth) / len(t)
        # logaddexp, because exp(z) overflows for margins far out.
        return float(np.mean(np.logaddexp(0, z) - smooth * z)), np.array(
            [residual @ t, residual.sum()]
        )

    share = smooth.mean()
    # The offset that would be right if the margins said nothing.
    start = np.array([1.0, np.log(share / (1 - share))])
    # Above 0, so that rows keep their order also when the margins say nothing.
    bounds = [(1e-3, None), (None, None)]
    found = minimize(
        loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14}
    )
    slope = found.x[0] / scale
    return float(slope), float(found.x[1] - slope * middle)
