"""Checks that the metrics share, and the sentences of their warnings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MEANING_OF_PRIOR = "prior must be the share of positives among the unlabeled rows"

# With fewer labeled positives a standard error is itself hardly known.
LEAST_FOR_INTERVAL = 10
# Metrics are sums of products: a value may miss the end of its range by this much.
ROUNDING = 1e-9


def check_prior_range(prior: float) -> None:
    """Refuse a prior that is not above 0 and below 1."""
    if not 0 < prior < 1:
        raise ValueError(f"{MEANING_OF_PRIOR}, above 0 and below 1; got {prior!r}.")


def check_auc_prior(prior: float) -> None:
    """Refuse a prior outside [0, 1); 0 leaves the AUC as it is."""
    if not 0 <= prior < 1:
        raise ValueError(f"{MEANING_OF_PRIOR}, from 0 up to but not including 1; got {prior!r}.")


def check_prior_se(prior_se: float, prior: float | None = None) -> None:
    """Refuse a standard error that a share cannot have."""
    if not 0 <= prior_se < np.inf:
        raise ValueError(f"prior_se must be a standard error, 0 or larger; got {prior_se!r}.")
    # The largest variance of a share with this mean; a Beta distribution stays below it.
    if prior is not None and 0 < prior < 1 and prior_se**2 >= prior * (1 - prior):
        raise ValueError(
            f"prior_se={prior_se!r} is more than a share around {prior!r} can vary; it must be "
            f"below {np.sqrt(prior * (1 - prior)):.4g}."
        )


def check_level(level: float) -> None:
    """Refuse a level of confidence that is not above 0 and below 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, e.g. 0.95; got {level!r}.")


def check_enough_rows(is_positive: NDArray[np.bool_]) -> None:
    """Refuse data from which no standard error can be computed."""
    n_positive = int(is_positive.sum())
    n_unlabeled = len(is_positive) - n_positive
    if min(n_positive, n_unlabeled) < 2:
        raise ValueError(
            "A standard error needs at least 2 labeled positives and 2 unlabeled rows; got "
            f"{n_positive} and {n_unlabeled}. pu_auc_score and the other scores return the value "
            "alone."
        )


def explain_few_positives(is_positive: NDArray[np.bool_]) -> str | None:
    """Return a warning of an interval that rests on fewer than `LEAST_FOR_INTERVAL` positives."""
    n_positive = int(is_positive.sum())
    if n_positive >= LEAST_FOR_INTERVAL:
        return None
    return (
        f"With {n_positive} labeled positives the interval is hardly informative: with fewer than "
        f"{LEAST_FOR_INTERVAL}, the standard error is itself a guess."
    )


def explain_outside(name: str, value: float, low: float, high: float, prior: Any) -> str | None:
    """Return a warning of a value that its metric cannot have, and what it means."""
    sentence = describe_outside(name, value, low, high)
    return sentence and f"{sentence} {explain_prior_too_large(prior)}"


def describe_outside(name: str, value: float, low: float, high: float) -> str | None:
    """Return a sentence on a value outside its range; None if it is inside."""
    if low - ROUNDING <= value <= high + ROUNDING:
        return None
    return f"The {name} is {value:.4g}, outside [{low:g}, {high:g}]."


def explain_prior_too_large(prior: Any) -> str:
    """Return what an impossible value says of the prior."""
    given = "the prior" if prior is None else f"prior={prior:.4g}"
    return (
        f"Beyond chance in small samples this means that {given} is too large, or that the "
        "positives were not labeled at random. Was the prior taken as the share among all rows, "
        "the population prior, instead of the share among the unlabeled rows?"
    )
