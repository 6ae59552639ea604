"""Intervals of shares, which never leave [0, 1]."""

from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri

__all__ = ["combine_ends", "logit_interval", "wilson_interval"]


def wilson_interval(share: Any, n: Any, level: float = 0.95) -> tuple[Any, Any]:
    """Return Wilson's interval of a share of n rows; its width is never 0, not even at 0 or 1.

    Takes numbers or arrays of them.

    Examples
    --------
    >>> from mixpul.metrics.shares import wilson_interval
    >>> low, high = wilson_interval(0.8, 50)
    >>> print(f"{low:.3f} to {high:.3f}")
    0.670 to 0.888
    """
    z = float(ndtri((1 + level) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    # Rounding may put a share of 0 or 1 just outside its own interval.
    return (
        np.minimum(np.maximum(middle - reach, 0.0), share),
        np.maximum(np.minimum(middle + reach, 1.0), share),
    )


def logit_interval(share: float, se: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return the interval that is the normal one on the scale of log-odds, so inside [0, 1].

    A share of 0 or 1 has no log-odds, and the standard error that the data show is 0 there.
    Then it is Wilson's interval of n rows.

    Examples
    --------
    >>> from mixpul.metrics.shares import logit_interval
    >>> low, high = logit_interval(0.9, 0.06, 20)
    >>> print(f"{low:.3f} to {high:.3f}")
    0.709 to 0.971
    """
    if not 0 < share < 1:
        low, high = wilson_interval(share, n, level)
        return float(low), float(high)
    reach = float(ndtri((1 + level) / 2)) * se / (share * (1 - share))
    low, high = expit(logit(share) - reach), expit(logit(share) + reach)
    # Rounding again.
    return float(min(low, share)), float(max(high, share))


def combine_ends(value: Any, *intervals: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the interval of a figure that depends on several uncertain numbers.

    Each interval is that of the figure if only one of the numbers were uncertain. Independent
    errors add up like the sides of a right triangle, below and above the value separately
    (Zou and Donner 2008).

    Examples
    --------
    >>> from mixpul.metrics.shares import combine_ends
    >>> low, high = combine_ends(0.5, (0.47, 0.53), (0.46, 0.54))
    >>> print(f"{low:.2f} to {high:.2f}")
    0.45 to 0.55
    """
    below = np.sqrt(sum((value - low) ** 2 for low, _ in intervals))
    above = np.sqrt(sum((high - value) ** 2 for _, high in intervals))
    return value - below, value + above
