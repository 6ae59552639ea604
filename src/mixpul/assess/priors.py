"""The class prior: the share of positives among the unlabeled rows, estimated from scores."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.intervals import LEVEL
from mixpul.metrics import Estimate
from mixpul.priors import bbe, dedpul
from mixpul.priors.base import bootstrap, percentile_interval

__all__ = ["estimate_priors"]

# Read from MixPUL's out-of-fold scores on three data sets (18 draws, seeds from 1000), DEDPUL was
# off by .03 on average and BBE by .05, mostly upward.
USED_PRIOR = "dedpul"
# DEDPUL takes longer, so it is resampled less often.
N_RESAMPLES_BBE, N_RESAMPLES_DEDPUL = 200, 100


def estimate_priors(
    scores: NDArray[np.float64],
    is_positive: NDArray[np.bool_],
    random: np.random.Generator,
    advance: Callable[[dict[str, float]], None] = lambda record: None,
) -> dict[str, Any]:
    """Estimate the class prior in two ways, from scores of rows left out of training.

    Nothing is fitted again: the rows of a resample keep their scores.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    is_positive : ndarray of bool, shape (n,)
    random : Generator
        Draws the resamples.
    advance : callable
        Called after each estimate, to move a progress bar.

    Returns
    -------
    dict
        An Estimate by ``"bbe"`` and one by ``"dedpul"``, the one ``"used"`` as a number and which
        one it is ``"from"``.
    """
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

    estimates = {
        "bbe": estimate(bbe, N_RESAMPLES_BBE),
        "dedpul": estimate(dedpul, N_RESAMPLES_DEDPUL),
    }
    # At least one row of each class: a prior of exactly 0 or 1 would leave one of them empty.
    one_row = 1 / max(2, len(unlabeled))
    return estimates | {
        "used": float(np.clip(estimates[USED_PRIOR].value, one_row, 1 - one_row)),
        "from": USED_PRIOR,
    }
