"""From labeled data to PU data, and between the numbers that describe PU data."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mixpul._util.random import RandomStateLike, as_generator
from mixpul._util.validation import split_labels


# Not compared, as arrays have no single answer; not printed, as they are long.
@dataclass(frozen=True, eq=False, repr=False)
class PUData:
    """Positive-unlabeled data whose truth is known.

    Attributes
    ----------
    X : ndarray, sparse matrix or DataFrame
        What the learner sees.
    s : ndarray of shape (n_rows,)
        PU labels: 1 = labeled positive, 0 = unlabeled.
    y : ndarray of shape (n_rows,)
        The hidden truth: 1 = positive, 0 = negative.
    prior : float
        Share of positives among the unlabeled rows.
    rows : ndarray of shape (n_rows,)
        Where each row stands in the data that `make_pu` was given.

    Examples
    --------
    >>> from mixpul import datasets
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> datasets.make_pu(X, y, c=0.1, random_state=0)
    PUData(X of shape (2201, 3), 71 labeled positive, 2130 unlabeled, prior=0.3005)
    """

    X: Any
    s: NDArray[np.int64]
    y: NDArray[np.int64]
    prior: float
    rows: NDArray[np.intp]

    def __repr__(self) -> str:
        n_positive = int(self.s.sum())
        return (
            f"PUData(X of shape {self.X.shape}, {n_positive} labeled positive, "
            f"{len(self.s) - n_positive} unlabeled, prior={self.prior:.4g})"
        )


def make_pu(
    X: Any,
    y: ArrayLike,
    *,
    c: float | None = None,
    n_positive: int | None = None,
    n_unlabeled: int | None = None,
    scheme: str | None = None,
    pos_label: Any = None,
    random_state: RandomStateLike = None,
) -> PUData:
    """Hide the labels of fully labeled data, leaving some positives labeled.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of n rows
        Rows of any shape.
    y : array of shape (n,)
        The true classes, two values; the larger one is positive unless `pos_label` says
        otherwise.
    c : float in (0, 1], optional
        Share of the positives that get labeled; at least one is. Give `c` or `n_positive`.
    n_positive : int, optional
        Number of labeled positives.
    n_unlabeled : int, optional
        Number of unlabeled rows in the case-control scheme; by default as many as there are
        without using a row twice.
    scheme : {'single', 'case-control'}, optional
        'single' labels positives within one sample and leaves every other row unlabeled, in
        the given order; it is the default with `c`. 'case-control' draws the unlabeled rows
        with the class mix of `y`, apart from the labeled ones, and shuffles; it is the
        default with `n_positive`.
    pos_label : optional
        The value of `y` that means positive.
    random_state : int, RandomState, Generator or None, default=None
        Which rows are drawn.

    Returns
    -------
    PUData
        Its `prior` is counted in the rows that came out.

    Examples
    --------
    >>> from mixpul import datasets
    >>> X, y = datasets.load("spambase", return_X_y=True)
    >>> datasets.make_pu(X, y, n_positive=100, n_unlabeled=1000, random_state=0)
    PUData(X of shape (1100, 57), 100 labeled positive, 1000 unlabeled, prior=0.394)
    """
    _, is_positive = split_labels(y, pos_label)
    X = _make_indexable(X)
    _check_same_length(X, is_positive)
    scheme = _choose_scheme(scheme, c, n_positive, n_unlabeled)
    n_labeled = _count_labeled(int(is_positive.sum()), c, n_positive)
    generator = as_generator(random_state)
    labeled = generator.choice(np.flatnonzero(is_positive), n_labeled, replace=False)
    if scheme == "single":
        rows = np.arange(len(is_positive))
    else:
        unlabeled = _draw_unlabeled(is_positive, labeled, n_unlabeled, generator)
        rows = generator.permutation(np.concatenate([labeled, unlabeled]))
        X = _take(X, rows)
    s = np.isin(rows, labeled).astype(np.int64)
    truth = is_positive[rows].astype(np.int64)
    return PUData(X=X, s=s, y=truth, prior=float(truth[s == 0].mean()), rows=rows)


def paper_split(
    X: Any, y: Any, *, random_state: RandomStateLike = None
) -> tuple[Any, Any, Any, Any]:
    """Split at random into 70 % training and 30 % test rows, as the MixPUL paper does.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of n rows
    y : array of shape (n,)
    random_state : int, RandomState, Generator or None, default=None
        The order of the rows.

    Returns
    -------
    X_train, X_test, y_train, y_test

    Examples
    --------
    >>> from mixpul import datasets
    >>> X, y = datasets.load("krvskp", return_X_y=True)
    >>> X_train, X_test, y_train, y_test = datasets.paper_split(X, y, random_state=0)
    >>> len(X_train), len(X_test)
    (2237, 959)
    """
    X, y = _make_indexable(X), _make_indexable(y)
    _check_same_length(X, y)
    rows = as_generator(random_state).permutation(X.shape[0])
    # Rounding down the float product is meant: 0.7 * 2630 is 1840.99..., and the paper has 1840.
    n_train = int(0.7 * len(rows))
    train, test = rows[:n_train], rows[n_train:]
    return _take(X, train), _take(X, test), _take(y, train), _take(y, test)


def label_frequency(n_positive: int, n_unlabeled: int, prior: float) -> float:
    r"""Return the share of all positives that are labeled, :math:`c = n_P / (n_P + \pi_U n_U)`.

    `prior` is the share of positives among the unlabeled rows. Without it c can only be estimated:
    see `mixpul.priors.elkan_noto` and `mixpul.priors.tice`.

    Examples
    --------
    >>> from mixpul import datasets
    >>> round(datasets.label_frequency(40, 960, 0.375), 6)
    0.1
    """
    _check_counts(n_positive, n_unlabeled)
    _check_share("prior", prior)
    return n_positive / (n_positive + prior * n_unlabeled)


def population_prior(n_positive: int, n_unlabeled: int, prior: float) -> float:
    r"""Return the share of positives in all rows, :math:`\pi = (n_P + \pi_U n_U) / (n_P + n_U)`.

    `prior` is the share of positives among the unlabeled rows. Holds for a single training
    set; in a case-control sample the population prior is `prior` itself.

    Examples
    --------
    >>> from mixpul import datasets
    >>> round(datasets.population_prior(40, 960, 0.375), 6)
    0.4
    """
    _check_counts(n_positive, n_unlabeled)
    _check_share("prior", prior)
    return (n_positive + prior * n_unlabeled) / (n_positive + n_unlabeled)


def unlabeled_prior(population_prior: float, label_frequency: float) -> float:
    r"""Return the share of positives in unlabeled rows, :math:`\pi_U = \pi (1 - c) / (1 - c \pi)`.

    Holds for a single training set with population prior :math:`\pi` and label frequency
    :math:`c`.

    Examples
    --------
    >>> from mixpul import datasets
    >>> round(datasets.unlabeled_prior(0.4, 0.1), 6)
    0.375
    """
    _check_share("population_prior", population_prior)
    _check_share("label_frequency", label_frequency)
    if population_prior == label_frequency == 1:
        raise ValueError(
            "With population_prior=1 and label_frequency=1 every row is labeled, "
            "so there are no unlabeled rows to have a prior; lower one of them."
        )
    labeled_share = label_frequency * population_prior
    return (population_prior - labeled_share) / (1 - labeled_share)


def _make_indexable(rows: Any) -> Any:
    """Make lists arrays and sparse matrices CSR, so that rows can be counted and taken."""
    if sparse.issparse(rows):
        return rows.tocsr()
    return rows if hasattr(rows, "shape") else np.asarray(rows)


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of an array, a sparse matrix or a data frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _check_same_length(X: Any, y: Any) -> None:
    if X.shape[0] != len(y):
        raise ValueError(
            f"X and y must have one entry per row; X has {X.shape[0]} rows, y has {len(y)}."
        )


def _choose_scheme(
    scheme: str | None, c: float | None, n_positive: int | None, n_unlabeled: int | None
) -> str:
    """Return the scheme that goes with the given numbers; refuse those that contradict it."""
    if (c is None) == (n_positive is None):
        raise ValueError(
            "Say how many positives get labeled with either c (a share) or n_positive (a "
            f"number), one of the two; got c={c!r} and n_positive={n_positive!r}."
        )
    if scheme is None:
        scheme = "case-control" if c is None else "single"
    if scheme not in ("single", "case-control"):
        raise ValueError(f"scheme must be 'single' or 'case-control'; got {scheme!r}.")
    if scheme == "case-control" and c is not None:
        raise ValueError(
            f"c={c!r} is a share of one sample, but scheme='case-control' has two; give "
            "n_positive instead, or take scheme='single'."
        )
    if scheme == "single" and n_unlabeled is not None:
        raise ValueError(
            "scheme='single' leaves every row without a label unlabeled; got "
            f"n_unlabeled={n_unlabeled!r}. Leave it out, or take scheme='case-control' "
            "with n_positive."
        )
    return scheme


def _count_labeled(n_available: int, c: float | None, n_positive: int | None) -> int:
    """Return how many positives get labeled."""
    if c is not None:
        if not 0 < c <= 1:
            raise ValueError(f"c must be a share above 0 and up to 1; got {c!r}.")
        # Rounded, which gives the numbers of positives in the paper's tables.
        return max(1, round(c * n_available))
    if not isinstance(n_positive, Integral) or not 1 <= n_positive <= n_available:
        raise ValueError(
            f"n_positive must be an integer from 1 to {n_available}, the number of positives "
            f"in y; got {n_positive!r}."
        )
    return int(n_positive)


def _draw_unlabeled(
    is_positive: NDArray[np.bool_],
    labeled: NDArray[np.intp],
    n_unlabeled: int | None,
    generator: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw rows with the class mix of the whole sample from those that are not labeled."""
    n_rows, n_in_class = len(is_positive), int(is_positive.sum())
    left = np.setdiff1d(np.flatnonzero(is_positive), labeled)
    # The negatives all remain, so the remaining positives are what runs out.
    most = len(left) * n_rows // n_in_class
    if most == 0:
        raise ValueError(
            f"n_positive={len(labeled)} labels every positive in y, which leaves none for the "
            "unlabeled rows; label fewer, or take scheme='single'."
        )
    size = most if n_unlabeled is None else n_unlabeled
    if not isinstance(size, Integral) or not 1 <= size <= most:
        raise ValueError(
            f"n_unlabeled must be an integer from 1 to {most}, the rows that keep the class "
            f"mix of y once {len(labeled)} positives are labeled; got {n_unlabeled!r}. "
            "A smaller n_positive leaves more."
        )
    n_hidden = round(size * n_in_class / n_rows)
    positives = generator.choice(left, n_hidden, replace=False)
    negatives = generator.choice(np.flatnonzero(~is_positive), size - n_hidden, replace=False)
    return np.concatenate([positives, negatives])


def _check_counts(n_positive: int, n_unlabeled: int) -> None:
    if n_positive < 1 or n_unlabeled < 1:
        raise ValueError(
            "PU data has at least one labeled positive and one unlabeled row; got "
            f"n_positive={n_positive!r} and n_unlabeled={n_unlabeled!r}."
        )


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be a share between 0 and 1; got {value!r}.")
