"""How much verified negatives count beside the unlabeled rows that stand in for negatives."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

__all__ = [
    "NegativeSide",
    "draw_rows",
    "find_others",
    "join_weights",
    "share_verified",
    "weigh_by_score",
    "weigh_sides",
]

# However many there are, the unlabeled rows keep half of the negative side: verified negatives need
# not be a random draw of all negatives, unlabeled rows are one of all rows. How it was chosen:
# docs/explanation/decisions.md.
LARGEST_SHARE = 0.5


def share_verified(n_verified: int, n_positive: int) -> float:
    r"""Return the share of the negative side that goes to verified negatives.

    :math:`\frac12 \, n_N / (n_N + n_P)`: a few of them count half as much as labeled positives do.

    Examples
    --------
    >>> share_verified(20, 60), share_verified(60, 60)
    (0.125, 0.25)
    """
    return LARGEST_SHARE * n_verified / (n_verified + n_positive)


def weigh_by_score(
    scores: NDArray, is_positive: NDArray[np.bool_], is_negative: NDArray[np.bool_]
) -> NDArray[np.float64]:
    r"""Return weights by which verified negatives lie as unlabeled rows do, by their score.

    Rows are seldom checked at random: an audit prefers high scores, and its negatives would push
    down just the rows that look positive. So a verified negative counts by the inverse of the odds
    :math:`\exp(a z + b z^2)` of being one, where z is the normal score of its rank. A logistic
    regression against the unlabeled rows finds a and b; its penalty keeps the weights of a few
    negatives near 1.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        By a fit that takes verified negatives for unlabeled rows: so both are seen alike.
    is_positive, is_negative : ndarray of bool of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        1 on average over verified negatives; 1 for all other rows.
    """
    # Imported here: a fit without verified negatives does not wait for it.
    from sklearn.linear_model import LogisticRegression

    others = ~is_positive
    target, n_verified = is_negative[others], int(is_negative.sum())
    z = ndtri((rankdata(scores[others]) - 0.5) / others.sum())
    shape = np.column_stack([z, z**2 - 1])
    # Unlabeled rows have the weight of the verified ones together.
    counts = np.where(target, 1.0, n_verified / max(1, (~target).sum()))
    checked = LogisticRegression().fit(shape, target, sample_weight=counts)
    inverse = np.exp(-checked.decision_function(shape[target]))
    weights = np.ones(len(is_positive))
    weights[is_negative] = inverse / inverse.mean()
    return weights


def find_others(is_negative: NDArray[np.bool_]) -> slice | NDArray[np.bool_]:
    """Return an index of the rows that are not verified negatives; without any it copies none."""
    return ~is_negative if is_negative.any() else slice(None)


class NegativeSide:
    """What stands for negatives in a sample: unlabeled rows, and verified negatives among them.

    Verified negatives have their share by number, not by weight: leaves of a single row hardly mind
    weights, and not every estimator takes them.

    Parameters
    ----------
    unlabeled : ndarray of int
        Row numbers.
    is_negative : ndarray of bool of shape (n,)
        Verified negatives.
    n : int
        Rows to draw for each sample.
    n_positive : int
    weights : ndarray of shape (n,), optional
        How often rows are drawn, beside others of their kind.
    of_verified : ndarray of shape (n,), optional
        The same for verified negatives alone, on top of `weights`.
    """

    def __init__(
        self,
        unlabeled: NDArray[np.intp],
        is_negative: NDArray[np.bool_],
        n: int,
        n_positive: int,
        weights: NDArray[np.float64] | None = None,
        of_verified: NDArray[np.float64] | None = None,
    ) -> None:
        self.unlabeled, self.verified = unlabeled, np.flatnonzero(is_negative)
        self.weights = weights
        self.of_verified = join_weights(weights, of_verified)
        wanted = round(share_verified(len(self.verified), n_positive) * n)
        # At least one of them, and an unlabeled row beside it.
        self.n_verified = max(0, min(max(wanted, min(len(self.verified), 1)), n - 1))
        self.n_unlabeled = n - self.n_verified

    def __call__(self, random: np.random.Generator, *, replace: bool = False) -> NDArray[np.intp]:
        """Draw the rows of one sample; `replace` says how unlabeled rows are drawn."""
        few = draw_rows(self.unlabeled, self.n_unlabeled, self.weights, random, replace=replace)
        if not self.n_verified:
            return few
        more = draw_rows(self.verified, self.n_verified, self.of_verified, random)
        return np.concatenate([few, more])


def join_weights(
    one: NDArray[np.float64] | None, other: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Multiply weights of rows; None stands for equal ones."""
    if one is None or other is None:
        return other if one is None else one
    return one * other


def draw_rows(
    pool: NDArray[np.intp],
    n: int,
    weights: NDArray[np.float64] | None,
    random: np.random.Generator,
    *,
    replace: bool = True,
) -> NDArray[np.intp]:
    """Draw n rows of a pool; with weights (of all rows) always with replacement."""
    if weights is None or not weights[pool].any():
        return random.choice(pool, n, replace=replace)
    return random.choice(pool, n, p=weights[pool] / weights[pool].sum())


def weigh_sides(
    is_positive: NDArray[np.bool_],
    is_negative: NDArray[np.bool_],
    own: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return weights of rows, 1 on average: half to positives, half to all others.

    Of the second half verified negatives have their share, unlabeled rows the rest. With weights of
    their `own` rows share alike what their kind has.
    """
    n_positive, n_verified = int(is_positive.sum()), int(is_negative.sum())
    n_unlabeled = len(is_positive) - n_positive - n_verified
    share = share_verified(n_verified, n_positive)
    half = len(is_positive) / 2
    weights = np.where(is_positive, half / n_positive, half * (1 - share) / n_unlabeled)
    if n_verified:
        weights[is_negative] = half * share / n_verified
    if own is None:
        return weights
    # Some rows are left out of a fold, and so the mean within a kind is no longer 1.
    scale = np.ones(len(own))
    for kind in (is_positive, is_negative, ~is_positive & ~is_negative):
        if own[kind].any():
            scale[kind] = own[kind] / own[kind].mean()
    return weights * scale
