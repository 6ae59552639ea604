"""The contract of every class-prior estimator, and what all of them share."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from mixpul._names import PRIORS
from mixpul._util.random import as_generator
from mixpul._util.validation import (
    HasMethods,
    Interval,
    StrOptions,
    check_finite,
    check_labels_present,
    check_no_text,
    check_scores,
    split_labels,
)

# What a classifier takes as its parameter `prior`.
PRIOR_CONSTRAINT = [float, int, StrOptions(set(PRIORS)), HasMethods("fit")]


@runtime_checkable
class PriorEstimator(Protocol):
    """Contract of an estimator of the share of positives among the unlabeled rows.

    Examples
    --------
    >>> from mixpul.priors import PriorEstimator, resolve_prior
    >>> class Known:
    ...     def fit(self, X, y):
    ...         self.prior_, self.interval_ = 0.3, (0.25, 0.35)
    ...         return self
    >>> isinstance(Known().fit(None, None), PriorEstimator)
    True
    >>> resolve_prior(Known(), [[0], [1], [2], [3], [4]], [0, 0, 0, 0, 1])[0]
    0.3
    """

    prior_: float
    interval_: tuple[float, float]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the prior from rows labeled positive and unlabeled rows."""
        ...


class BasePrior(BaseEstimator):
    """Base of all estimators: checks of rows and labels, and an interval of resampled estimates.

    A subclass writes `_estimate(X, is_positive, random)`, which returns the estimate and those of
    the resampled data. Rows are float (dense, or CSR) and were checked.
    """

    _parameter_constraints: dict = {
        "level": [Interval(Real, 0, 1, closed="neither")],
        "n_bootstrap": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }
    _least = 2  # rows of each kind

    prior_: float
    interval_: tuple[float, float]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the share of positives among the unlabeled rows.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features), \
or array of shape (n_samples, channels, height, width)
        y : array-like of shape (n_samples,)
            Two values; the larger one, or `pos_label`, means "labeled positive".

        Returns
        -------
        self
        """
        self._validate_params()
        rows, is_positive = self._check_input(X, y)
        estimate, resampled = self._estimate(rows, is_positive, as_generator(self.random_state))
        self.prior_ = float(estimate)
        self.interval_ = percentile_interval(self.prior_, resampled, self.level)
        return self

    def _estimate(
        self, X: Any, is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> tuple[float, NDArray[np.float64]]:
        raise NotImplementedError

    def _check_input(self, X: Any, y: Any) -> tuple[Any, NDArray[np.bool_]]:
        """Return the rows as numbers and the mask of labeled positives."""
        check_no_text(X)
        if y is not None:
            check_labels_present(y)
        rows, labels = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            allow_nd=True,
            ensure_all_finite=False,
        )
        check_finite(rows, getattr(self, "feature_names_in_", None))
        _, is_positive = split_labels(labels, self.pos_label)
        n_positive = int(is_positive.sum())
        n_unlabeled = len(is_positive) - n_positive
        if min(n_positive, n_unlabeled) < self._least:
            raise ValueError(
                f"{type(self).__name__} needs at least {self._least} labeled positives and "
                f"{self._least} unlabeled rows; got {n_positive} and {n_unlabeled}."
            )
        return rows, is_positive

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def percentile_interval(
    estimate: float, resampled: NDArray[np.float64], level: float
) -> tuple[float, float]:
    """Return percentiles of the resampled estimates, widened to hold the estimate.

    Estimates that take a minimum shift when rows repeat, so that all of them may lie on one side.
    Without resamples both ends are NaN.
    """
    if not len(resampled):
        return float("nan"), float("nan")
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(min(low, estimate)), float(max(high, estimate))


def bootstrap(
    estimate: Callable[[NDArray[np.intp], NDArray[np.intp]], float],
    n_positive: int,
    n_unlabeled: int,
    n_bootstrap: int,
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Repeat an estimate on rows drawn with replacement, positives and unlabeled rows separately.

    `estimate` gets the row numbers within the positives and within the unlabeled rows.
    """
    return np.array(
        [
            estimate(
                random.integers(n_positive, size=n_positive),
                random.integers(n_unlabeled, size=n_unlabeled),
            )
            for _ in range(n_bootstrap)
        ]
    )


def prior_from_label_frequency(label_frequency: float, n_positive: int, n_unlabeled: int) -> float:
    r"""Return the share of positives among unlabeled rows, :math:`n_P (1 - c) / (c \, n_U)`.

    It is clipped to [0, 1].
    """
    # Nothing is known of c, so every unlabeled row may be positive.
    if label_frequency <= 0:
        return 1.0
    prior = n_positive * (1 - label_frequency) / (label_frequency * n_unlabeled)
    return float(np.clip(prior, 0, 1))


def check_both(
    positive_scores: ArrayLike, unlabeled_scores: ArrayLike, *, least: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check the scores of both kinds of rows: finite numbers, `least` or more of each."""
    return (
        check_scores(positive_scores, name="positive_scores", least=least, finite=True),
        check_scores(unlabeled_scores, name="unlabeled_scores", least=least, finite=True),
    )


def draw_rows(
    is_positive: NDArray[np.bool_], n: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw at most `n` row numbers, of positives and of unlabeled rows.

    Half are positives. Where a kind has fewer rows than its half, the other kind fills up.
    """
    positive, unlabeled = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
    n_positive = min(len(positive), max(n // 2, n - len(unlabeled)))
    n_unlabeled = min(len(unlabeled), n - n_positive)
    return (
        random.choice(positive, n_positive, replace=False),
        random.choice(unlabeled, n_unlabeled, replace=False),
    )
