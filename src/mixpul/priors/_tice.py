"""TIcE: the label frequency, bounded from below in the leaves of trees."""

import heapq
from itertools import count
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mixpul._util.arrays import flatten_rows
from mixpul._util.random import RandomStateLike
from mixpul._util.validation import Interval
from mixpul.priors.base import BasePrior, bootstrap, prior_from_label_frequency


class TIcEPrior(BasePrior):
    r"""Class prior from the label frequency, by tree induction (TIcE).

    In any region the share of labeled rows is at most the label frequency c, and equals it where
    all rows are positive. Trees grown on a part of the rows look for regions with many labels;
    on the other rows each region has a lower bound of c, and the largest bound is the estimate.
    The prior follows as :math:`n_P (1 - c) / (c \, n_U)`.

    The bound on c makes this an upper bound of the prior, often too large by a third to a half. It
    is larger still where no region is purely positive, or where so few rows are labeled that the
    correction for chance leaves hardly any bound.

    Parameters
    ----------
    k : float, default=5
        Weight against small nodes in the split score, the largest ``L / (T + k)`` of L labeled
        among T rows.
    delta : float in (0, 1) or None, default=None
        Probability with which the bound may fail; by default ``max(0.025, 1 / (1 + 0.004 T))``
        for T rows.
    n_cuts : int, default=3
        Number of equally spaced thresholds within the range of a feature.
    max_splits : int, default=500
        Nodes to split in each tree.
    min_rows : int, default=10
        Fewest rows in a node.
    n_folds : int, default=5
        Number of trees; each one grows on one fold, and the bounds come from the others.
    level : float in (0, 1), default=0.95
        Coverage of `interval_`.
    n_bootstrap : int, default=30
        Number of resamples; 0 skips the interval.
    pos_label : optional
        The value of `y` that means labeled positive; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Randomness of the folds and of the resamples.

    Attributes
    ----------
    prior_ : float
        Share of positives among the unlabeled rows.
    interval_ : tuple of two floats
        Percentile bootstrap interval, widened to hold `prior_`.
    label_frequency_ : float
        The estimate of c.

    References
    ----------
    Jessa Bekker, Jesse Davis: Estimating the Class Prior in Positive and Unlabeled Data through
    Decision Tree Induction. AAAI 2018.

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul.priors import TIcEPrior
    >>> X, y = datasets.load("krvskp", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.4, random_state=0)
    >>> estimate = TIcEPrior(random_state=0, n_bootstrap=0).fit(pu.X, pu.s)
    >>> bool(pu.prior - 0.1 < estimate.prior_ <= 1)
    True
    """

    _parameter_constraints: dict = BasePrior._parameter_constraints | {
        "k": [Interval(Real, 0, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="neither"), None],
        # Each part has a code of one byte.
        "n_cuts": [Interval(Integral, 1, 254, closed="both")],
        "max_splits": [Interval(Integral, 1, None, closed="left")],
        "min_rows": [Interval(Integral, 1, None, closed="left")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        *,
        k: float = 5,
        delta: float | None = None,
        n_cuts: int = 3,
        max_splits: int = 500,
        min_rows: int = 10,
        n_folds: int = 5,
        level: float = 0.95,
        n_bootstrap: int = 30,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.k = k
        self.delta = delta
        self.n_cuts = n_cuts
        self.max_splits = max_splits
        self.min_rows = min_rows
        self.n_folds = n_folds
        self.level = level
        self.n_bootstrap = n_bootstrap
        self.pos_label = pos_label
        self.random_state = random_state

    def _estimate(
        self, X: Any, is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> tuple[float, NDArray[np.float64]]:
        if len(is_positive) < 2 * self.n_folds:
            raise ValueError(
                f"TIcEPrior(n_folds={self.n_folds}) needs at least {2 * self.n_folds} rows; "
                f"got {len(is_positive)}."
            )
        codes = _code_values(X, self.n_cuts)
        # Not stratified: the rows are dealt to the folds at random.
        folds = random.permutation(np.arange(len(codes)) % self.n_folds)
        settings = _Settings(self.k, self.delta, self.n_cuts, self.max_splits, self.min_rows)
        positive, unlabeled = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
        counts = len(positive), len(unlabeled)

        def estimate(some_positive: NDArray[np.intp], some_unlabeled: NDArray[np.intp]) -> float:
            # A row stays in its fold, so that its copies are not on both sides.
            rows = np.concatenate([positive[some_positive], unlabeled[some_unlabeled]])
            c = _bound_label_frequency(codes[rows], is_positive[rows], folds[rows], settings)
            return prior_from_label_frequency(c, *counts)

        self.label_frequency_ = _bound_label_frequency(codes, is_positive, folds, settings)
        prior = prior_from_label_frequency(self.label_frequency_, *counts)
        return prior, bootstrap(estimate, *counts, self.n_bootstrap, random)


def tice(
    X: Any,
    is_positive: ArrayLike,
    folds: ArrayLike,
    *,
    k: float = 5,
    delta: float | None = None,
    n_cuts: int = 3,
    max_splits: int = 500,
    min_rows: int = 10,
) -> float:
    r"""Bound the label frequency, :math:`c \ge \max L/T - \sqrt{c (1-c) (1-\delta) / (\delta T)}`.

    The maximum is over tree nodes of T rows, L of them labeled: `X` (n, d), `is_positive` (n,)
    of bool, `folds` (n,) of integers from 0. Mean over the folds, two passes from c = 1/2.
    """
    settings = _Settings(k, delta, n_cuts, max_splits, min_rows)
    labels = np.asarray(is_positive, dtype=bool)
    return _bound_label_frequency(_code_values(X, n_cuts), labels, np.asarray(folds), settings)


class _Settings(NamedTuple):
    k: float
    delta: float | None
    n_cuts: int
    max_splits: int
    min_rows: int


class _Bound(NamedTuple):
    """A lower bound of c in a node, by the one-sided inequality of Chebyshev."""

    c: float
    delta: float

    def __call__(self, n_labeled: Any, n: Any) -> Any:
        return n_labeled / n - np.sqrt(self._spread() / n)

    def fewest_labeled(self, best: float) -> float:
        """Return how many labeled rows a node needs for its bound to exceed `best`."""
        return self._spread() / max(1 - best, 1e-12) ** 2

    def _spread(self) -> float:
        return self.c * (1 - self.c) * (1 - self.delta) / self.delta


class _Node(NamedTuple):
    """Rows that the tree grows on, the rest that it is judged by, and features to split on."""

    tree: NDArray[np.intp]
    rest: NDArray[np.intp]
    features: NDArray[np.intp]


class _Split(NamedTuple):
    """The feature that a node is split on, those left for its parts, and the rows in each part."""

    feature: int
    left: NDArray[np.intp]
    n: NDArray[np.intp]
    n_labeled: NDArray[np.intp]
    n_rest: NDArray[np.intp]
    n_labeled_rest: NDArray[np.intp]


def _code_values(X: Any, n_cuts: int) -> NDArray[np.uint8]:
    """Return for each value which of `n_cuts` + 1 equal parts of its feature's range it is in."""
    X = flatten_rows(X, np.float64)
    codes = np.empty(X.shape, dtype=np.uint8)
    for j in range(X.shape[1]):
        column = X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]
        thresholds = np.linspace(column.min(), column.max(), n_cuts + 2)[1:-1]
        codes[:, j] = np.searchsorted(thresholds, column, side="right")
    return codes


def _bound_label_frequency(
    codes: NDArray[np.uint8],
    is_positive: NDArray[np.bool_],
    folds: NDArray[np.intp],
    settings: _Settings,
) -> float:
    """Return the mean over the folds of the best bound of c.

    The bound needs c itself: a first pass takes 1/2, a second one the result of the first.
    """
    c = 0.5
    for _ in range(2):
        bounds = []
        for fold in np.unique(folds):
            tree, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            delta = settings.delta or max(0.025, 1 / (1 + 0.004 * len(rest)))
            root = _Node(tree, rest, np.arange(codes.shape[1]))
            bounds.append(_find_best_bound(codes, is_positive, root, _Bound(c, delta), settings))
        c = float(np.clip(np.mean(bounds), 0, 1))
    return c


def _find_best_bound(
    codes: NDArray[np.uint8],
    is_positive: NDArray[np.bool_],
    root: _Node,
    bound: _Bound,
    settings: _Settings,
) -> float:
    """Grow a tree, the most promising node first, and return the largest bound in its nodes."""
    best = float(is_positive[root.rest].mean())
    fewest_labeled = 1.0
    order = count()  # breaks ties: nodes hold arrays, which have no order
    queue = [(0.0, 0, next(order), root)]
    for _ in range(settings.max_splits):
        if not queue:
            break
        node = heapq.heappop(queue)[-1]
        split = _choose_split(codes, is_positive, node, fewest_labeled, settings)
        if split is None:
            continue
        large = split.n_rest >= settings.min_rows
        if large.any():
            bounds = bound(split.n_labeled_rest[large], split.n_rest[large])
            best = max(best, float(bounds.max()))
        # A node with fewer labeled rows cannot exceed the best bound, however pure it is.
        fewest_labeled = bound.fewest_labeled(best)
        for part, (n, n_labeled) in enumerate(zip(split.n, split.n_labeled, strict=True)):
            if (
                split.n_labeled_rest[part] > fewest_labeled
                and n > settings.min_rows
                and 0 < n_labeled < n
            ):
                promise = -float(bound(n_labeled, n)), -int(n_labeled), next(order)
                heapq.heappush(queue, (*promise, _take_part(codes, node, split, part)))
    return best


def _choose_split(
    codes: NDArray[np.uint8],
    is_positive: NDArray[np.bool_],
    node: _Node,
    fewest_labeled: float,
    settings: _Settings,
) -> _Split | None:
    """Choose the feature with the part richest in labels; None if no split can help."""
    features, n_parts = node.features, settings.n_cuts + 1
    n, n_labeled = _count_rows(codes, is_positive, node.tree, features, n_parts)
    n_rest, n_labeled_rest = _count_rows(codes, is_positive, node.rest, features, n_parts)
    useful = n_labeled_rest.max(axis=1, initial=0) >= fewest_labeled
    # An empty part counts as one row: with k = 0 it would be 0 / 0.
    score = np.where(useful, (n_labeled / (n + settings.k + (n == 0))).max(axis=1), -1)
    if not len(score):
        return None
    best = int(np.argmax(score))
    if score[best] <= 0 or (n_rest[best] > 0).sum() == 1:
        return None
    left = features[useful & (features != features[best])]
    return _Split(
        features[best], left, n[best], n_labeled[best], n_rest[best], n_labeled_rest[best]
    )


def _take_part(codes: NDArray[np.uint8], node: _Node, split: _Split, part: int) -> _Node:
    """Return the node of the rows in one part of a split."""
    return _Node(
        node.tree[codes[node.tree, split.feature] == part],
        node.rest[codes[node.rest, split.feature] == part],
        split.left,
    )


def _count_rows(
    codes: NDArray[np.uint8],
    is_positive: NDArray[np.bool_],
    rows: NDArray[np.intp],
    features: NDArray[np.intp],
    n_parts: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count rows, and labeled rows, in each part of each feature."""
    # Parts of different features get different numbers: one bincount serves all features.
    shift = n_parts * np.arange(len(features))

    def count_parts(some: NDArray[np.intp]) -> NDArray[np.intp]:
        parts = codes[np.ix_(some, features)] + shift
        return np.bincount(parts.ravel(), minlength=n_parts * len(features)).reshape(-1, n_parts)

    return count_parts(rows), count_parts(rows[is_positive[rows]])
