"""Logistic regression that takes unlabeled rows for negatives: linear, or on kernel features."""

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from mixpul._util.arrays import flatten_rows, is_images
from mixpul._util.random import (
    RandomStateLike,
    as_generator,
    count_folds,
    draw_seed,
    number_folds,
)
from mixpul._util.schema import Array, Number, Spec
from mixpul._util.validation import Interval, StrOptions
from mixpul.base import PUClassifier
from mixpul.methods._verified import join_weights, weigh_by_score, weigh_sides
from mixpul.metrics import pu_auc_score

__all__ = ["LogisticPUClassifier"]

# From a line along the difference of the class means to one that separates them if it can.
STRENGTHS = tuple(10.0**k for k in range(-4, 3))
# Of each side: more rows would hardly move a line, and kernel features of them take much memory.
MOST_OF_A_SIDE = 20_000
# Of a first line, whose scores tell which kind of rows were checked.
FIRST_STRENGTH = 0.1
ROWS_PER_BLOCK = 4096
# Rows that are there in double precision at a time.
ROWS_AT_ONCE = 2**18


class LogisticPUClassifier(PUClassifier):
    r"""Logistic regression of positives against unlabeled rows, both sides weighing the same.

    Simple, quick, and hard to beat where classes differ along a line, above all with few labeled
    positives. With `n_landmarks` it is linear in kernel features (Nystroem), and its border may
    bend. Scores are logits: above 0 rows are denser among positives than among unlabeled rows.
    Verified negatives have a share of the weight of unlabeled rows, weighed so that they lie as
    these do. `sample_weight` says how much a row counts on its side. Standardise the features
    first.

    Parameters
    ----------
    C : float or 'auto', default='auto'
        Inverse strength of the L2 penalty; 'auto' takes that of seven powers of ten, from 1e-4 to
        100, whose out-of-fold PU-AUC is largest.
    n_landmarks : int or None, default=None
        Rows drawn as landmarks of a Gaussian kernel; None is linear.
    width : float, default=1.0
        The kernel of two rows is :math:`\exp(-\|x - x'\|^2 / (w^2 d))` for d columns and width w.
    cross_fitting : int, default=5
        Folds by which 'auto' chooses.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Folds, landmarks, and which positives and unlabeled rows are taken where there are more
        than 20,000 of either.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    coef_ : ndarray of shape (n_features,) or (n_landmarks,)
    intercept_ : float
    C_ : float
        The inverse strength that was used.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        With kernel features only.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    Examples
    --------
    >>> from mixpul import LogisticPUClassifier, datasets
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> model = LogisticPUClassifier(random_state=0).fit(pu.X, pu.s)
    >>> model.coef_.shape, 1e-4 <= model.C_ <= 100
    ((3,), True)
    """

    _parameter_constraints: dict = {
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "width": [Interval(Real, 0, None, closed="neither")],
        "cross_fitting": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        C: float | str = "auto",
        n_landmarks: int | None = None,
        width: float = 1.0,
        cross_fitting: int = 5,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.C = C
        self.n_landmarks = n_landmarks
        self.width = width
        self.cross_fitting = cross_fitting
        self.pos_label = pos_label
        self.random_state = random_state

    _uses_negatives = True
    _uses_weights = True

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> None:
        random = as_generator(self.random_state)
        taken = _take_some(is_positive, self._is_negative, random)
        weights = None if self._weights is None else self._weights[taken]
        sides = Sides(is_positive[taken], self._is_negative[taken], weights)
        features, mapping = self._make_features(_as_matrix(X[taken]), draw_seed(random))
        sides = _weigh_verified(features, sides)
        self.C_ = self._choose_strength(features, sides, draw_seed(random))
        line = _fit_line(features, sides, self.C_)
        self.coef_ = line.coef_[0] if mapping is None else mapping @ line.coef_[0]
        self.intercept_ = float(line.intercept_[0])

    def _list_needed(self) -> tuple[str, ...]:
        return ("coef_", "intercept_") + (("landmarks_",) if self.n_landmarks else ())

    def _describe_learned(self) -> dict[str, Spec]:
        n_coefs = "n_landmarks" if self.n_landmarks else "n_columns"
        return super()._describe_learned() | {
            "landmarks_": Array("float", ("n_landmarks", "n_columns")),
            "coef_": Array("float", (n_coefs,)),
            "intercept_": Number(),
            "C_": Number(0),
        }

    def _scores(self, X: Any) -> NDArray[np.float64]:
        if not self.n_landmarks:
            pieces = range(0, max(X.shape[0], 1), ROWS_AT_ONCE)
            parts = [_as_matrix(X[k : k + ROWS_AT_ONCE]) @ self.coef_ for k in pieces]
            return np.concatenate(parts) + self.intercept_
        slope = 1 / (self.width**2 * self.landmarks_.shape[1])
        scores = np.empty(X.shape[0])
        # In double precision: coefficients of landmarks that are alike are large and cancel out. In
        # blocks, because a column for each landmark is more than the rows themselves take.
        for start in range(0, X.shape[0], ROWS_PER_BLOCK):
            block = slice(start, start + ROWS_PER_BLOCK)
            kernel = rbf_kernel(_as_matrix(X[block]), self.landmarks_, gamma=slope)
            scores[block] = kernel @ self.coef_ + self.intercept_
        return scores

    def _make_features(self, rows: Any, seed: int) -> tuple[Any, NDArray[np.float64] | None]:
        """Return the rows themselves, or kernel features and how they come from the kernel."""
        if not self.n_landmarks:
            return rows, None
        nystroem = Nystroem(
            gamma=1 / (self.width**2 * rows.shape[1]),
            n_components=min(self.n_landmarks, rows.shape[0]),
            random_state=seed,
        )
        features = nystroem.fit_transform(rows)
        landmarks = nystroem.components_
        self.landmarks_ = landmarks if isinstance(landmarks, np.ndarray) else landmarks.toarray()
        return features, nystroem.normalization_.T

    def _choose_strength(self, features: Any, sides: "Sides", seed: int) -> float:
        if not isinstance(self.C, str):
            return float(self.C)
        labels, is_negative, weights = sides
        judged = ~is_negative
        if count_folds(labels[judged], self.cross_fitting) < 2:
            return 1.0
        folds = number_folds(labels, self.cross_fitting, seed, is_negative)
        scores = np.empty((len(STRENGTHS), len(labels)))
        for k in range(int(folds.max()) + 1):
            is_out = folds == k
            seen, held_out = features[~is_out], features[is_out]
            for strength, own in zip(STRENGTHS, scores, strict=True):
                line = _fit_line(seen, sides.take(~is_out), strength)
                own[is_out] = line.decision_function(held_out)
        score = (
            pu_auc_score
            if weights is None
            else partial(roc_auc_score, sample_weight=weights[judged])
        )
        aucs = [score(labels[judged], own[judged]) for own in scores]
        return STRENGTHS[int(np.argmax(aucs))]


def _as_matrix(X: Any) -> Any:
    """Return rows in double precision, sparse ones as they are; pixels come around 0."""
    rows = flatten_rows(X, np.float64)
    return rows / 64 - 2 if is_images(X) else rows


class Sides(NamedTuple):
    """Which rows are labeled positive, which are verified negatives, and how much rows weigh."""

    is_positive: NDArray[np.bool_]
    is_negative: NDArray[np.bool_]
    weights: NDArray[np.float64] | None

    def take(self, rows: NDArray[np.bool_]) -> "Sides":
        """Return the same of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Sides(self.is_positive[rows], self.is_negative[rows], weights)


def _take_some(
    is_positive: NDArray[np.bool_], is_negative: NDArray[np.bool_], random: np.random.Generator
) -> slice | NDArray[np.intp]:
    """Take all rows, or as many unlabeled ones and positives as are worth the time."""
    unlabeled = np.flatnonzero(~is_positive & ~is_negative)
    positive = np.flatnonzero(is_positive)
    if max(len(unlabeled), len(positive)) <= MOST_OF_A_SIDE:
        return slice(None)
    sides = [_draw_some(side, random) for side in (unlabeled, positive)]
    return np.sort(np.concatenate([np.flatnonzero(is_negative), *sides]))


def _draw_some(rows: NDArray[np.intp], random: np.random.Generator) -> NDArray[np.intp]:
    if len(rows) <= MOST_OF_A_SIDE:
        return rows
    return random.choice(rows, MOST_OF_A_SIDE, replace=False)


def _weigh_verified(features: Any, sides: Sides) -> Sides:
    """Add weights by which verified negatives lie as unlabeled rows do."""
    is_positive, is_negative, own = sides
    if not is_negative.any():
        return sides
    none = np.zeros_like(is_negative)
    first = _fit_line(features, Sides(is_positive, none, own), FIRST_STRENGTH)
    weights = weigh_by_score(first.decision_function(features), is_positive, is_negative)
    return sides._replace(weights=join_weights(own, weights))


def _fit_line(features: Any, sides: Sides, strength: float) -> LogisticRegression:
    labels, is_negative, own = sides
    with warnings.catch_warnings():
        # With a weak penalty, on rows that can be separated; the direction has settled by then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        line = LogisticRegression(C=strength, class_weight="balanced", max_iter=300)
        if own is None and not is_negative.any():
            return line.fit(features, labels)
        line.set_params(class_weight=None)
        weights = weigh_sides(labels, is_negative, own)
        return line.fit(features, labels, sample_weight=weights)
