"""Warnings of a fit: few labeled positives, and what a method cannot use."""

import warnings

import numpy as np
from numpy.typing import NDArray

__all__ = ["keep_usable", "warn_of_few_positives"]


def warn_of_few_positives(n_positive: int, least: int) -> None:
    """Warn if results will depend on which rows happen to be labeled."""
    if n_positive < least:
        warnings.warn(
            f"Number of rows labeled positive: {n_positive}. Results will depend on "
            f"which ones they are; label at least {least}, better dozens.",
            UserWarning,
            stacklevel=3,
        )


def keep_usable(
    name: str,
    is_negative: NDArray[np.bool_],
    weights: NDArray[np.float64] | None,
    *,
    uses_negatives: bool,
    uses_weights: bool,
) -> tuple[NDArray[np.bool_], NDArray[np.float64] | None]:
    """Return verified negatives and weights as far as the method `name` uses them; warn if not."""
    if is_negative.any() and not uses_negatives:
        warnings.warn(
            f"{name} cannot learn from verified negatives; the {is_negative.sum()} of them are "
            "taken for unlabeled rows.",
            UserWarning,
            stacklevel=3,
        )
        is_negative = np.zeros_like(is_negative)
    if weights is not None and not uses_weights:
        warnings.warn(
            f"{name} cannot use sample_weight; all rows count the same.", UserWarning, stacklevel=3
        )
        weights = None
    return is_negative, weights
