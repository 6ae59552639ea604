"""Differences between two sides that were measured in the same runs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student_t

__all__ = ["Gap", "Pairs", "measure_gap"]

# By data set: what both sides of a comparison came to in each run.
Pairs = Mapping[str, Sequence[tuple[float, float]]]


class Gap(NamedTuple):
    """How far the first side is above the second, on average over data sets."""

    mean: float
    error: float  # standard error; nan if a data set has fewer than two runs
    freedom: float  # degrees of freedom of Student's t

    def exceeds(self, bound: float) -> bool:
        """Say whether the gap is clearly above `bound`, by a paired t-test at 5 %."""
        return bool(self.mean - bound > student_t.ppf(0.975, self.freedom) * self.error)

    def falls_below(self, bound: float) -> bool:
        """Say whether the gap is clearly below `bound`, by a paired t-test at 5 %."""
        return self._replace(mean=-self.mean).exceeds(-bound)


def measure_gap(pairs: Pairs) -> Gap:
    """Average the differences of each data set over its runs, then over data sets.

    Runs on different data sets are independent, so their variances add up; degrees of freedom are
    those of Welch and Satterthwaite.

    Examples
    --------
    >>> from mixpul.paper.results.gaps import measure_gap
    >>> gap = measure_gap({"titanic": [(0.73, 0.70), (0.83, 0.80), (0.93, 0.93)]})
    >>> round(gap.mean, 6), round(gap.error, 6), gap.exceeds(0)
    (0.02, 0.01, False)
    """
    gaps = [np.array([first - second for first, second in runs]) for runs in pairs.values()]
    mean = float(np.mean([own.mean() for own in gaps]))
    if any(len(own) < 2 for own in gaps):
        return Gap(mean, float("nan"), 1.0)
    counts = np.array([len(own) for own in gaps])
    shares = np.array([own.var(ddof=1) for own in gaps]) / counts / len(gaps) ** 2
    variance = float(shares.sum())
    # Without any spread every number of degrees leads to the same answer.
    freedom = variance**2 / float((shares**2 / (counts - 1)).sum()) if variance else 1.0
    return Gap(mean, variance**0.5, freedom)
