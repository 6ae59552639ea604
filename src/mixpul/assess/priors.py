"""The class prior: the share of positives among the unlabeled rows, given or read from scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import MixpulError
from mixpul.assess.intervals import LEVEL
from mixpul.metrics.checks import check_prior_range
from mixpul.priors import bbe, dedpul, largest_prior

__all__ = ["SURE", "Interval", "check_given_prior", "estimate_priors", "refuse_impossible"]

Interval = tuple[float, float]

# Read from MixPUL's out-of-fold scores on three data sets (18 draws, seeds from 1000), DEDPUL was
# off by .03 on average and BBE by .05, mostly upward.
USED_PRIOR = "dedpul"
# The confidence at which a given prior is refused before the fit, by a simple method: stricter,
# because the scores of the fit are asked as well.
SURE = 0.995


def estimate_priors(
    scores: NDArray[np.float64],
    is_positive: NDArray[np.bool_],
    *,
    prior: float | None = None,
    prior_interval: Interval | None = None,
) -> dict[str, Any]:
    """Say what scores of rows left out of training tell of the class prior.

    They bound it from above only: negatives may look like positives.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Logits.
    is_positive : ndarray of bool, shape (n,)
    prior : float in (0, 1), optional
        The class prior, where it is known.
    prior_interval : tuple of two floats, optional
        The ends between which it lies; without `prior` their middle is taken.

    Returns
    -------
    dict
        ``"value"`` is the number to compute with: the given one, or an estimate. ``"upper"`` is the
        95 % upper limit. ``"source"`` is ``"given"`` or ``"estimated"``. ``"low"`` and ``"high"``
        are the ends of what was given, else None. ``"estimates"`` has two estimates, by ``"bbe"``
        and ``"dedpul"``. Both assume that some region holds hardly any negatives, and are too
        high where none does.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.assess.priors import estimate_priors
    >>> random = np.random.default_rng(0)
    >>> is_positive, truth = np.arange(600) < 100, np.arange(600) < 200
    >>> found = estimate_priors(random.normal(size=600) + 2 * truth, is_positive)
    >>> found["source"], 0.2 < found["upper"] < 1
    ('estimated', True)
    """
    given = check_given_prior(prior, prior_interval)
    positive, unlabeled = scores[is_positive], scores[~is_positive]
    upper = largest_prior(positive, unlabeled, level=LEVEL)
    estimates = {"bbe": bbe(positive, unlabeled), "dedpul": dedpul(positive, unlabeled)}
    if given is None:
        # At least one row of each class: a prior of exactly 0 or 1 would leave one of them empty.
        one_row = 1 / max(2, len(unlabeled))
        value = float(np.clip(min(estimates[USED_PRIOR], upper), one_row, 1 - one_row))
        return _describe(value, upper, "estimated", None, estimates)
    value, ends = given
    refuse_impossible(value, upper)
    if ends is not None:
        ends = (ends[0], min(ends[1], upper))
    return _describe(value, upper, "given", ends, estimates)


def check_given_prior(
    prior: float | None, interval: Interval | None
) -> tuple[float, Interval | None] | None:
    """Return the class prior that was given, and its ends; None if nothing was given.

    Examples
    --------
    >>> from mixpul.assess.priors import check_given_prior
    >>> check_given_prior(None, (0.02, 0.06))
    (0.04, (0.02, 0.06))
    """
    if prior is not None:
        check_prior_range(prior)
    if interval is None:
        return None if prior is None else (float(prior), None)
    low, high = map(float, interval)
    if not 0 < low <= high < 1:
        raise MixpulError(
            "The interval of a class prior has two ends between 0 and 1, the smaller one first; "
            f"got {low:g} and {high:g}."
        )
    value = (low + high) / 2 if prior is None else float(prior)
    if not low <= value <= high:
        raise MixpulError(
            f"The class prior {value:g} lies outside its interval, {low:g} to {high:g}; give a "
            "wider one."
        )
    return value, (low, high)


def refuse_impossible(prior: float, upper: float, level: float = LEVEL) -> None:
    """Refuse a class prior above its upper limit, which holds with the confidence `level`."""
    if prior > upper:
        raise MixpulError(
            f"These rows speak against a class prior of {prior:.3g}: with {100 * level:g} % "
            f"confidence at most {upper:.3g} of the unlabeled rows are positive, if the labeled "
            "positives are a random draw of all positives; give a smaller prior, or none."
        )


def _describe(
    value: float, upper: float, source: str, ends: Interval | None, estimates: dict[str, float]
) -> dict[str, Any]:
    low, high = (None, None) if ends is None else ends
    return {
        "value": value,
        "upper": upper,
        "source": source,
        "low": low,
        "high": high,
        "estimates": estimates,
    }
