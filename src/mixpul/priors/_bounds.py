"""How large a class prior the data allow."""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixpul.priors.base import check_both

# One-sided confidence at which a given prior is called impossible.
LEVEL = 0.95


def largest_prior(
    positive_scores: ArrayLike, unlabeled_scores: ArrayLike, *, level: float = LEVEL
) -> float:
    r"""Compute an upper confidence limit of the class prior, whatever the negatives look like.

    Above any score t the unlabeled share is at least the prior times the positive share, so
    :math:`\pi \le \min_t (q_U(t) + \epsilon_U) / (q_P(t) - \epsilon_P)`. Here
    :math:`\epsilon = \sqrt{\ln(2 / (1 - level)) / 2n}` bounds the error of all shares at once
    (Dvoretzky, Kiefer, Wolfowitz, Massart). No lower limit exists: negatives may look like
    positives. Scores (n,) and (m,) of rows left out of training, larger means more likely
    positive; at most 1.
    """
    positive, unlabeled = map(np.sort, check_both(positive_scores, unlabeled_scores))
    n, m = len(positive), len(unlabeled)
    error = np.sqrt(np.log(2 / (1 - level)) / 2)
    tail_positive = 1 - np.arange(n) / n - error / np.sqrt(n)
    tail_unlabeled = 1 - np.searchsorted(unlabeled, positive) / m + error / np.sqrt(m)
    known = tail_positive > 0  # beyond that the positives say nothing
    return float(np.min(tail_unlabeled[known] / tail_positive[known], initial=1.0))


def warn_if_impossible(prior: float, scores: NDArray, is_positive: NDArray[np.bool_]) -> None:
    """Warn if `prior` is above `largest_prior` of held-out scores; rows with NaN have none."""
    known = ~np.isnan(scores)
    positive, unlabeled = scores[known & is_positive], scores[known & ~is_positive]
    if min(len(positive), len(unlabeled)) < 2:
        return
    largest = largest_prior(positive, unlabeled)
    if prior > largest:
        warnings.warn(
            f"The data contradict prior={prior:g}: on rows left out of training, too few "
            f"unlabeled rows score like positives. With {LEVEL:.0%} confidence at most "
            f"{largest:.2g} of the unlabeled rows are positive, if the labeled positives are a "
            "random sample of the positives. Give a smaller prior, or an estimator such as 'bbe'.",
            UserWarning,
            stacklevel=2,
        )
