"""The class prior: the share of positives among the unlabeled rows, estimated from scores."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess._scores import LEVEL
from mixpul.metrics import Estimate
from mixpul.priors import bbe, dedpul
from mixpul.priors.base import bootstrap, percentile_interval

__all__ = ["estimate_priors"]

# Read from MixPUL's out-of-fold scores on three data sets (18 draws, seeds from 1000), DEDPUL was
# off by .03 on average and BBE by .05, mostly upward.
USED_PRIOR = "dedpul"


def estimate_priors(
    scores: NDArray[np.float64],
    is_positive: NDArray[np.bool_],
    random: np.random.Generator,
    advance: Callable[[dict[str, float]], None] = lambda record: None,
) -> dict[str, Any]:
    """Both estimates from scores that are there already; rows of a resample keep their scores."""
    positive, unlabeled = scores[is_positive], scores[~is_positive]

    def estimate(estimator: Callable[..., float], n_resamples: int) -> Estimate:
        value = estimator(positive, unlabeled)
        resampled = bootstrap(
            lambda p, u: estimator(positive[p], unlabeled[u]),
            len(positive),
            len(unlabeled),
            n_resamples,
            random,
        )
        interval = percentile_interval(value, resampled, LEVEL)
        advance({})
        return Estimate(value, float(resampled.std(ddof=1)), *interval)

    found = {"bbe": estimate(bbe, 200), "dedpul": estimate(dedpul, 100)}
    # One row at least of each class, as the methods that use a prior have it.
    one_row = 1 / max(2, len(unlabeled))
    return found | {
        "used": float(np.clip(found[USED_PRIOR].value, one_row, 1 - one_row)),
        "from": USED_PRIOR,
    }
