"""Class prior and weights where some kinds of positives are labeled more often than others."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans

from mixpul._util.random import RandomStateLike, as_generator, draw_seed
from mixpul._util.validation import split_labels
from mixpul.priors._dedpul import dedpul

__all__ = ["Subtype", "find_subtypes", "prior_by_subtype", "propensity_weights"]

# With fewer labeled positives a prior means nothing.
LEAST_LABELED = 5

Estimator = Callable[[NDArray, NDArray], float]


class Subtype(NamedTuple):
    """A kind of rows, and what is known of its positives.

    Attributes
    ----------
    name : object
    n_labeled, n_unlabeled : int
    prior : float
        The share of positives among its unlabeled rows.
    label_frequency : float
        The share of its positives that are labeled.
    """

    name: Any
    n_labeled: int
    n_unlabeled: int
    prior: float
    label_frequency: float


def prior_by_subtype(
    scores: ArrayLike, y: ArrayLike, subtypes: ArrayLike, *, estimator: Estimator | None = None
) -> tuple[float, list[Subtype]]:
    r"""Estimate the class prior where labels are random within each kind of rows only.

    The prior is estimated within each subtype, and :math:`\pi = \sum_k n_{U,k} \pi_k / n_U`. So a
    subtype whose positives are rarely labeled counts as much as the others.

    Parameters
    ----------
    scores : array of shape (n,)
        Scores of rows left out of training, larger means more likely positive.
    y : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    subtypes : array of shape (n,)
        What each row is: the column that decides on labels, in few values or ranges, or what
        `find_subtypes` returns. Each needs at least 5 labeled positives.
    estimator : callable, optional
        Takes scores of positives and of unlabeled rows, and returns the prior, as `bbe` does; by
        default `dedpul`.

    Returns
    -------
    prior : float
    parts : list of Subtype

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.priors import prior_by_subtype
    >>> random = np.random.default_rng(0)
    >>> truth, north = random.random(8000) < 0.3, random.random(8000) < 0.5
    >>> labeled = truth & (random.random(8000) < np.where(north, 0.5, 0.1))
    >>> scores = random.normal(size=8000) + 4 * truth
    >>> prior, parts = prior_by_subtype(scores, labeled, north)
    >>> round(prior, 1), round(truth[~labeled].mean(), 1)
    (0.2, np.float64(0.2))
    >>> [round(part.label_frequency, 1) for part in parts]
    [0.1, 0.5]
    """
    scores, is_positive, kinds = _check(scores, y, subtypes)
    estimate = estimator or dedpul
    parts = []
    for name in np.unique(kinds):
        own = kinds == name
        positive, unlabeled = scores[own & is_positive], scores[own & ~is_positive]
        if len(positive) < LEAST_LABELED or not len(unlabeled):
            raise ValueError(
                f"Subtype {name.item()!r} has {len(positive)} labeled positives and "
                f"{len(unlabeled)} unlabeled rows; at least "
                f"{LEAST_LABELED} and 1 are needed. Join it with another."
            )
        prior = float(np.clip(estimate(positive, unlabeled), 0.0, 1.0))
        n_positive = len(positive) + prior * len(unlabeled)
        frequency = len(positive) / n_positive
        parts.append(Subtype(name.item(), len(positive), len(unlabeled), prior, frequency))
    n_unlabeled = sum(part.n_unlabeled for part in parts)
    return sum(part.prior * part.n_unlabeled for part in parts) / n_unlabeled, parts


def propensity_weights(
    y: ArrayLike, subtypes: ArrayLike, parts: list[Subtype]
) -> NDArray[np.float64]:
    """Return weights of rows: 1 for unlabeled rows, 1 / label frequency for labeled positives.

    Those of the labeled positives are scaled to mean 1, so they stand for all positives as a random
    draw would. Pass them as ``sample_weight`` to a method that takes it.

    Parameters
    ----------
    y : array of shape (n,)
        PU labels.
    subtypes : array of shape (n,)
    parts : list of Subtype
        As `prior_by_subtype` returns them.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from mixpul.priors import Subtype, propensity_weights
    >>> parts = [Subtype("north", 3, 10, 0.1, 0.75), Subtype("south", 1, 10, 0.3, 0.25)]
    >>> propensity_weights([1, 1, 1, 1, 0], ["north"] * 3 + ["south"] * 2, parts).round(2).tolist()
    [0.67, 0.67, 0.67, 2.0, 1.0]
    """
    _, is_positive, kinds = _check(np.zeros(np.shape(y)), y, subtypes)
    frequencies = {part.name: part.label_frequency for part in parts}
    if missing := set(kinds.tolist()) - frequencies.keys():
        raise ValueError(f"parts say nothing of the subtype {missing.pop()!r}.")
    weights = np.array([1 / frequencies[kind] for kind in kinds.tolist()])
    weights[is_positive] /= weights[is_positive].mean()
    weights[~is_positive] = 1.0
    return weights


def find_subtypes(
    X: ArrayLike, y: ArrayLike, n_subtypes: int, *, random_state: RandomStateLike = None
) -> NDArray[np.intp]:
    """Cluster the labeled positives (k-means on standardised columns); rows join the nearest.

    Parameters
    ----------
    X : array of shape (n, n_features)
    y : array of shape (n,)
        PU labels.
    n_subtypes : int
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    ndarray of shape (n,)
        The number of each row's subtype.

    Examples
    --------
    >>> from mixpul.priors import find_subtypes
    >>> rows, y = [[0.0], [0.1], [5.0], [5.1], [4.9]], [1, 1, 1, 1, 0]
    >>> near = find_subtypes(rows, y, 2, random_state=0)
    >>> (near == near[-1]).tolist()
    [False, False, True, True, True]
    """
    rows = np.asarray(X, dtype=np.float64)
    _, is_positive = split_labels(y)
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    seed = draw_seed(as_generator(random_state))
    clusters = KMeans(n_subtypes, n_init=10, random_state=seed).fit(rows[is_positive])
    return clusters.predict(rows).astype(np.intp)


def _check(
    scores: ArrayLike, y: ArrayLike, subtypes: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray]:
    values, kinds = np.asarray(scores, dtype=np.float64), np.asarray(subtypes)
    _, is_positive = split_labels(y)
    if not len(values) == len(is_positive) == len(kinds):
        raise ValueError(
            "scores, y and subtypes must have one entry per row; got "
            f"{len(values)}, {len(is_positive)} and {len(kinds)}."
        )
    return values, is_positive, kinds
