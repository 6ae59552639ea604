"""Checks that the metrics share, and the sentences of their warnings."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

MEANING_OF_PRIOR = "prior must be the share of positives among the unlabeled rows"


def checked_scores(
    scores: ArrayLike, is_positive: NDArray[np.bool_], name: str = "scores"
) -> NDArray[np.float64]:
    """Return one number per row, none of them NaN."""
    checked: NDArray[np.float64] = column_or_1d(scores, dtype=np.float64)
    check_length(checked, is_positive, name)
    n_missing = int(np.isnan(checked).sum())
    if n_missing:
        raise ValueError(
            f"{name} has NaN in {n_missing} of {len(checked)} rows, which cannot be ranked; "
            "look for NaN or infinity in the model or its input."
        )
    return checked


def check_length(values: NDArray, is_positive: NDArray[np.bool_], name: str) -> None:
    if len(values) != len(is_positive):
        raise ValueError(
            f"Labels and {name} must have one entry per row; "
            f"there are {len(is_positive)} labels and {len(values)} {name}."
        )


def check_auc_prior(prior: float) -> None:
    """The AUC may be "corrected" with prior 0, which leaves it as it is."""
    if not 0 <= prior < 1:
        raise ValueError(f"{MEANING_OF_PRIOR}, from 0 up to but not including 1; got {prior!r}.")


def check_prior(prior: float) -> None:
    if not 0 < prior < 1:
        raise ValueError(f"{MEANING_OF_PRIOR}, above 0 and below 1; got {prior!r}.")


def check_prior_se(prior_se: float, prior: float | None = None) -> None:
    if not 0 <= prior_se < np.inf:
        raise ValueError(f"prior_se must be a standard error, 0 or larger; got {prior_se!r}.")
    if prior is not None and 0 < prior < 1 and prior_se**2 >= prior * (1 - prior):
        raise ValueError(
            f"prior_se={prior_se!r} is more than a share around {prior!r} can vary; it must be "
            f"below {np.sqrt(prior * (1 - prior)):.4g}."
        )


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, e.g. 0.95; got {level!r}.")


def check_enough_rows(is_positive: NDArray[np.bool_]) -> None:
    n_positive = int(is_positive.sum())
    n_unlabeled = len(is_positive) - n_positive
    if min(n_positive, n_unlabeled) < 2:
        raise ValueError(
            "A standard error needs at least 2 labeled positives and 2 unlabeled rows; got "
            f"{n_positive} and {n_unlabeled}. pu_auc_score and the other scores give the value "
            "alone."
        )


def few_positives(is_positive: NDArray[np.bool_]) -> str | None:
    """What to say of an interval from fewer than ten positives."""
    n_positive = int(is_positive.sum())
    if n_positive >= 10:
        return None
    return (
        f"With {n_positive} labeled positives the interval is hardly informative: its "
        "standard error is itself a guess below 10."
    )


def outside(name: str, value: float, low: float, high: float, prior: Any) -> str | None:
    """What to say of a value that its metric cannot have."""
    found = impossible(name, value, low, high)
    return found and f"{found} {why_impossible(prior)}"


def impossible(name: str, value: float, low: float, high: float) -> str | None:
    rounding = 1e-9
    if low - rounding <= value <= high + rounding:
        return None
    return f"The {name} is {value:.4g}, outside [{low:g}, {high:g}]."


def why_impossible(prior: Any) -> str:
    given = "the prior" if prior is None else f"prior={prior:.4g}"
    return (
        f"Beyond chance in small samples this means that {given} is too large (is it the share "
        "among all rows, the population prior, instead of the share among the unlabeled ones?) or "
        "that the positives were not labeled at random."
    )
