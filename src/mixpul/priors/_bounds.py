"""How large a class prior the data allow."""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixpul.priors.base import check_both

# One-sided confidence of the limit, and that at which a given prior is called impossible: a warning
# should not come once in twenty fits with the true prior.
LEVEL, SURE = 0.95, 0.99
# How many of the highest positives are looked at: at least two and a tenth of them, at most all,
# in this many steps. The very highest ones say little: two more or less double their share.
LEAST_DEPTH, LEAST_SHARE, N_DEPTHS = 2, 0.1, 20
N_DRAWS = 2000


def largest_prior(
    positive_scores: ArrayLike, unlabeled_scores: ArrayLike, *, level: float = LEVEL
) -> float:
    r"""Compute an upper confidence limit of the class prior, whatever the negatives look like.

    If K of the unlabeled rows are positive, they and the n labeled positives are in random order.
    So it is known by chance how many of those K are above the k-th highest labeled positive, and
    at least so many unlabeled rows must be there. A K is ruled out if at some depth k there are
    fewer than chance explains. All depths are judged together: random orders are drawn, and the
    p-value of the worst depth is compared with that of each draw. So the level holds for any
    scores, up to the error of the draws.

    No lower limit exists: negatives may look like positives. Scores (n,) and (m,) of rows left
    out of training, larger means more likely positive; at most 1. The draws have a fixed seed.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.priors import largest_prior
    >>> random = np.random.default_rng(0)
    >>> positive, negative = random.normal(2, 1, size=150), random.normal(-2, 1, size=400)
    >>> largest_prior(positive[:50], np.concatenate([positive[50:], negative])) < 0.3
    True
    """
    positive, unlabeled = map(np.sort, check_both(positive_scores, unlabeled_scores))
    n, m = len(positive), len(unlabeled)
    depths = _place_depths(n)
    # Ties count as above: they might be positives.
    n_above = m - np.searchsorted(unlabeled, positive[n - depths])
    possible, impossible = 0, m + 1
    while impossible - possible > max(1, m // 1000):
        middle = (possible + impossible) // 2
        if _judge_by_chance(n_above, middle, depths, n) >= 1 - level:
            possible = middle
        else:
            impossible = middle
    return min(impossible / m, 1.0)


def _place_depths(n: int) -> NDArray[np.intp]:
    """Return how many of n positives are looked at, from few to all."""
    first = min(n, max(LEAST_DEPTH, round(LEAST_SHARE * n)))
    return np.unique(np.geomspace(first, n, N_DEPTHS).round().astype(np.intp))


def _judge_by_chance(n_above: NDArray, n_hidden: int, depths: NDArray, n: int) -> float:
    """Return the probability that chance leaves as few hidden positives above, at some depth.

    `n_above` (one entry for each depth) are the most that may be above so many of n positives.
    """
    # A fixed seed: the same scores have the same limit.
    random = np.random.default_rng(0)
    steps = np.diff(depths, prepend=0, append=n + 1)
    # Shares of the hidden positives between depths are Dirichlet, which gamma variables make.
    shares = random.standard_gamma(steps, size=(N_DRAWS, len(steps)))
    shares /= shares.sum(axis=1, keepdims=True)
    drawn = np.cumsum(random.multinomial(n_hidden, shares), axis=1)[:, :-1]
    ordered = np.sort(drawn, axis=0)
    worst, worst_drawn = np.inf, np.full(N_DRAWS, np.inf)
    for column, own, most in zip(ordered.T, drawn.T, n_above, strict=True):
        # How many of the draws have as few or fewer: a p-value at this depth.
        worst = min(worst, np.searchsorted(column, most, side="right"))
        worst_drawn = np.minimum(worst_drawn, np.searchsorted(column, own, side="right"))
    return float(np.mean(worst_drawn <= worst))


def warn_if_impossible(prior: float, scores: NDArray, is_positive: NDArray[np.bool_]) -> None:
    """Warn if `prior` is above `largest_prior` of held-out scores; rows with NaN have none."""
    known = ~np.isnan(scores)
    positive, unlabeled = scores[known & is_positive], scores[known & ~is_positive]
    if min(len(positive), len(unlabeled)) < 2:
        return
    largest = largest_prior(positive, unlabeled, level=SURE)
    if prior > largest:
        warnings.warn(
            f"The data contradict prior={prior:g}: on rows left out of training, too few "
            f"unlabeled rows score like positives. With {SURE:.0%} confidence at most "
            f"{largest:.2g} of the unlabeled rows are positive, if the labeled positives are a "
            "random sample of the positives. Give a smaller prior, or an estimator such as 'bbe'.",
            UserWarning,
            stacklevel=2,
        )
