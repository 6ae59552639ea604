"""TIcE: the label frequency, bounded from below in the leaves of trees."""

import heapq
from itertools import count
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mixpul._util.random import RandomStateLike
from mixpul._util.validation import Interval
from mixpul.priors.base import BasePrior, as_matrix, bootstrap, prior_from_label_frequency


class TIcEPrior(BasePrior):
    r"""Class prior from the label frequency, by tree induction (TIcE).

    In any region the share of labeled rows is at most the label frequency c, and equals it where
    all rows are positive. Trees grown on a part of the rows look for regions with many labels;
    on the other rows a lower bound of c is taken in each, and the largest one is the estimate.
    The prior follows as :math:`n_P (1 - c) / (c \, n_U)`.

    The bound on c makes this an upper bound of the prior, often too large by a third to a half;
    more where no region is purely positive, or where so few rows are labeled that the
    correction for chance swallows the bound.

    Parameters
    ----------
    k : float, default=5
        Weight against small nodes in the split score, the largest ``L / (T + k)`` of L labeled
        among T rows.
    delta : float in (0, 1) or None, default=None
        Probability with which the bound may fail; by default ``max(0.025, 1 / (1 + 0.004 T))``
        for T rows.
    n_cuts : int, default=3
        Equally spaced cuts between the smallest and the largest value of a feature.
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
        codes = _coded(X, self.n_cuts)
        folds = random.permutation(np.arange(len(codes)) % self.n_folds)
        settings = _Settings(self.k, self.delta, self.n_cuts, self.max_splits, self.min_rows)
        positive, unlabeled = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
        counts = len(positive), len(unlabeled)

        def resampled(some_positive: NDArray[np.intp], some_unlabeled: NDArray[np.intp]) -> float:
            # A row stays in its fold, so that its copies are not on both sides.
            rows = np.concatenate([positive[some_positive], unlabeled[some_unlabeled]])
            c = _label_frequency(codes[rows], is_positive[rows], folds[rows], settings)
            return prior_from_label_frequency(c, *counts)

        self.label_frequency_ = _label_frequency(codes, is_positive, folds, settings)
        prior = prior_from_label_frequency(self.label_frequency_, *counts)
        return prior, bootstrap(resampled, *counts, self.n_bootstrap, random)


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
    r"""Label frequency :math:`c \ge \max L/T - \sqrt{c (1-c) (1-\delta) / (\delta T)}` (TIcE).

    The maximum is over tree nodes of T rows, L of them labeled: `X` (n, d), `is_positive` (n,)
    of bool, `folds` (n,) of integers from 0. Mean over the folds, two passes from c = 1/2.
    """
    settings = _Settings(k, delta, n_cuts, max_splits, min_rows)
    labels = np.asarray(is_positive, dtype=bool)
    return _label_frequency(_coded(X, n_cuts), labels, np.asarray(folds), settings)


class _Settings(NamedTuple):
    k: float
    delta: float | None
    n_cuts: int
    max_splits: int
    min_rows: int


class _Bound(NamedTuple):
    c: float
    delta: float

    def __call__(self, n_labeled: Any, n: Any) -> Any:
        spread = self.c * (1 - self.c) * (1 - self.delta) / self.delta
        return n_labeled / n - np.sqrt(spread / n)

    def fewest_labeled(self, best: float) -> float:
        """Labeled rows a node must have for its bound to beat `best`."""
        spread = self.c * (1 - self.c) * (1 - self.delta) / self.delta
        return spread / max(1 - best, 1e-12) ** 2


def _coded(X: Any, n_cuts: int) -> NDArray[np.uint8]:
    """Which of `n_cuts` + 1 equal parts of its feature's range each value lies in."""
    X = as_matrix(X)
    codes = np.empty(X.shape, dtype=np.uint8)
    for j in range(X.shape[1]):
        column = X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]
        cuts = np.linspace(column.min(), column.max(), n_cuts + 2)[1:-1]
        codes[:, j] = np.searchsorted(cuts, column, side="right")
    return codes


def _label_frequency(
    codes: NDArray[np.uint8],
    is_positive: NDArray[np.bool_],
    folds: NDArray[np.intp],
    settings: _Settings,
) -> float:
    c = 0.5
    for _ in range(2):
        bounds = []
        for fold in np.unique(folds):
            tree, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            delta = settings.delta or max(0.025, 1 / (1 + 0.004 * len(rest)))
            bounds.append(_best_bound(codes, is_positive, tree, rest, _Bound(c, delta), settings))
        c = float(np.clip(np.mean(bounds), 0, 1))
    return c


def _best_bound(
    codes: NDArray[np.uint8],
    is_positive: NDArray[np.bool_],
    tree: NDArray[np.intp],
    rest: NDArray[np.intp],
    bound: _Bound,
    settings: _Settings,
) -> float:
    """Grow a tree on the rows `tree`, best node first; the largest bound on the rows `rest`."""
    n_bins = settings.n_cuts + 1
    best = float(is_positive[rest].mean())
    fewest_labeled = 1.0
    order = count()  # of two equal nodes the earlier one
    queue = [(0.0, 0, next(order), tree, rest, np.arange(codes.shape[1]))]
    for _ in range(settings.max_splits):
        if not queue:
            break
        *_, tree, rest, features = heapq.heappop(queue)
        n, n_labeled = _counts(codes, is_positive, tree, features, n_bins)
        n_rest, n_labeled_rest = _counts(codes, is_positive, rest, features, n_bins)
        useful = n_labeled_rest.max(axis=1, initial=0) >= fewest_labeled
        score = np.where(useful, (n_labeled / (n + settings.k + (n == 0))).max(axis=1), -1)
        chosen = int(np.argmax(score)) if len(score) else 0
        if not len(score) or score[chosen] <= 0 or (n_rest[chosen] > 0).sum() == 1:
            continue
        large = n_rest[chosen] >= settings.min_rows
        if large.any():
            bounds = bound(n_labeled_rest[chosen][large], n_rest[chosen][large])
            best = max(best, float(bounds.max()))
        fewest_labeled = bound.fewest_labeled(best)
        left = features[useful & (features != features[chosen])]
        for part in range(n_bins):
            n_part, n_labeled_part = n[chosen, part], n_labeled[chosen, part]
            if (
                n_labeled_rest[chosen, part] > fewest_labeled
                and n_part > settings.min_rows
                and 0 < n_labeled_part < n_part
            ):
                column = features[chosen]
                heapq.heappush(
                    queue,
                    (
                        -float(bound(n_labeled_part, n_part)),
                        -int(n_labeled_part),
                        next(order),
                        tree[codes[tree, column] == part],
                        rest[codes[rest, column] == part],
                        left,
                    ),
                )
    return best


def _counts(
    codes: NDArray[np.uint8],
    is_positive: NDArray[np.bool_],
    rows: NDArray[np.intp],
    features: NDArray[np.intp],
    n_bins: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and labeled rows in each bin of each feature."""
    shift = n_bins * np.arange(len(features))

    def counted(some: NDArray[np.intp]) -> NDArray[np.intp]:
        bins = codes[np.ix_(some, features)] + shift
        return np.bincount(bins.ravel(), minlength=n_bins * len(features)).reshape(-1, n_bins)

    return counted(rows), counted(rows[is_positive[rows]])
