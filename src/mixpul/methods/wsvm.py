"""Weighted SVM on the weights of Elkan and Noto (2008)."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mixpul._util.arrays import dense_blocks, dense_rows
from mixpul._util.platt import platt
from mixpul._util.random import (
    RandomStateLike,
    as_generator,
    count_folds,
    draw_seed,
    split_folds,
)
from mixpul._util.schema import Array, Number, Spec
from mixpul._util.validation import Interval, StrOptions
from mixpul.base import PUClassifier
from mixpul.methods._kernel.basis import (
    gaussian,
    kernel_scores,
    pick_centres,
    squared_distances,
)
from mixpul.metrics import pu_auc_score
from mixpul.priors import label_frequency

__all__ = ["WeightedSVMClassifier", "positive_weights"]

# A probability of being labeled is kept this far from 0 and 1: its odds are used.
SMALLEST_PROBABILITY = 1e-6
# A row that counts less than this as one kind is left out as that kind: it would only take time.
SMALLEST_WEIGHT = 1e-6
# What C_labeled='auto' tries: on held-out PU data the best of them differs by data set.
COSTS_LABELED = (0.01, 0.1, 1.0)


class WeightedSVMClassifier(PUClassifier):
    r"""Support vector machine on unlabeled rows that count in part as positive ("WSVM").

    1. An SVM with an RBF kernel tells labeled from unlabeled rows; its margins on rows left out of
       training, put through a sigmoid, give g(x), the probability of being labeled. The sigmoid is
       fitted to all rows, each once, so g is right at the natural ratio of the two kinds.
    2. The share c of positives that are labeled is estimated from g, and every unlabeled row gets
       :math:`w(x) = P(y = 1 | x, s = 0) = \frac{1 - c}{c} \frac{g(x)}{1 - g(x)}`.
    3. A second SVM learns from the positives with weight 1 and from each unlabeled row twice: as
       a positive with weight w and as a negative with weight 1 - w.

    A score is the log odds that a row is positive: the margin of the second SVM, put through a
    sigmoid that was fitted to the margins of rows left out of training, each row once, with w as
    the target of unlabeled rows. Its order is that of the margins, always. Standardise the
    features first.

    Parameters
    ----------
    C : float, default=1.0
        Cost of margin violations in the second SVM.
    C_labeled : float or 'auto', default='auto'
        Cost of margin violations in the first SVM; 'auto' takes that of 0.01, 0.1 and 1 whose
        margins have the highest PU-AUC on rows left out, which needs no class prior.
    balanced : bool, default=True
        Whether violations cost as much in all labeled as in all unlabeled rows in the first SVM.
        Without it, and with few labeled rows, its margins hardly rank: -1 suits nearly every row.
    gamma : 'scale' or float, default='scale'
        Coefficient of the RBF kernel; 'scale' is 1 / (number of features * variance of X).
    frequency : {'e1', 'e2', 'e3'}, default='e1'
        How c is estimated from g on rows left out of training: its mean over labeled rows ('e1'),
        its sum over labeled rows divided by that over all rows ('e2'), or its maximum ('e3'). Where
        the classes overlap e1 and e2 are too low, and e3 hangs on a single row.
    n_folds : int, default=5
        Folds from which rows left out of training come; fewer if there are fewer positives.
    max_rows : int, default=5000
        Largest number of rows for an exact SVM, whose time grows with the square of it. Above, a
        linear SVM with squared hinge loss is trained on a Nystroem approximation of the kernel.
    n_components : int, default=300
        Rows that span the Nystroem approximation.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Folds, and rows of the Nystroem approximation.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    C_labeled_ : float
        Cost of margin violations in the first SVM that was used.
    c_ : float
        Estimated share of positives that are labeled.
    weights_ : ndarray of shape (n_samples,)
        w of each unlabeled row; 1 for positives.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Support vectors of the second SVM, or the rows of the Nystroem approximation.
    dual_coef_ : ndarray of shape (n_support,)
    intercept_ : float
    gamma_ : float
    sigmoid_ : ndarray of shape (2,)
        Slope and offset that turn the margin into log odds.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    References
    ----------
    Elkan, Noto (2008). Learning classifiers from only positive and unlabeled data. KDD.

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul import WeightedSVMClassifier
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> model = WeightedSVMClassifier(n_folds=2, random_state=0).fit(pu.X[:600], pu.s[:600])
    >>> model.predict_proba(pu.X).shape
    (2201, 2)
    """

    _parameter_constraints: dict = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "C_labeled": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "balanced": ["boolean"],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "frequency": [StrOptions({"e1", "e2", "e3"})],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        C_labeled: float | str = "auto",
        balanced: bool = True,
        gamma: float | str = "scale",
        frequency: str = "e1",
        n_folds: int = 5,
        max_rows: int = 5000,
        n_components: int = 300,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.C = C
        self.C_labeled = C_labeled
        self.balanced = balanced
        self.gamma = gamma
        self.frequency = frequency
        self.n_folds = n_folds
        self.max_rows = max_rows
        self.n_components = n_components
        self.pos_label = pos_label
        self.random_state = random_state

    _uses_negatives = True
    _uses_weights = True

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> None:
        random = as_generator(self.random_state)
        if count_folds(is_positive, self.n_folds) < 2:
            raise ValueError(
                "WeightedSVMClassifier leaves rows out to estimate their weights: it needs at "
                f"least 2 positives and 2 unlabeled rows; got {is_positive.sum()} and "
                f"{(~is_positive).sum()}."
            )
        folds = list(split_folds(is_positive, self.n_folds, draw_seed(random)))
        self.gamma_ = 1 / _measure_spread(X) if isinstance(self.gamma, str) else float(self.gamma)
        machine = _Machine(X, self.gamma_, self.max_rows, self.n_components, random)

        # First a classifier of labeled against unlabeled rows ...
        share = is_positive.mean()
        C_positive, C_unlabeled = (
            (0.5 / share, 0.5 / (1 - share)) if self.balanced else (1.0, 1.0)
        )  # as class_weight="balanced" of scikit-learn
        own = np.ones(len(is_positive)) if self._weights is None else self._weights
        weights = own * np.where(is_positive, C_positive, C_unlabeled)
        tried = COSTS_LABELED if isinstance(self.C_labeled, str) else (float(self.C_labeled),)
        target = is_positive.astype(float)
        candidates = {C: machine.score_left_out(target, C * weights, folds) for C in tried}
        self.C_labeled_ = max(tried, key=lambda C: pu_auc_score(is_positive, candidates[C]))
        margins = candidates[self.C_labeled_]
        # ... whose probabilities, on rows left out, weigh each unlabeled row (Elkan and Noto) ...
        slope, offset = platt(margins, target)
        labeled = expit(slope * margins + offset)
        c = label_frequency(labeled[is_positive], labeled[~is_positive], estimator=self.frequency)
        # The weights divide by it.
        self.c_ = max(c, SMALLEST_PROBABILITY)
        self.weights_ = np.ones(len(is_positive))
        self.weights_[~is_positive] = positive_weights(labeled[~is_positive], self.c_)
        # Verified negatives are rows without a label like others, up to here.
        self.weights_[self._is_negative] = 0.0

        # ... then one in which an unlabeled row counts in part as positive, in part as negative.
        costs = float(self.C) * own
        margins = machine.score_left_out(self.weights_, costs, folds)
        self.sigmoid_ = np.array(platt(margins, self.weights_))
        fitted = machine.fit(self.weights_, costs, np.arange(len(is_positive)))
        self.support_vectors_, self.dual_coef_, self.intercept_ = fitted

    def _list_needed(self) -> tuple[str, ...]:
        return ("support_vectors_", "dual_coef_", "intercept_", "gamma_", "sigmoid_")

    def _describe_learned(self) -> dict[str, Spec]:
        return super()._describe_learned() | {
            "support_vectors_": Array("float", ("n_support", "n_columns")),
            "dual_coef_": Array("float", ("n_support",)),
            "intercept_": Number(),
            "gamma_": Number(1e-200, 1e200),
            "sigmoid_": Array("float", (2,)),
            "weights_": Array("float", ("n_rows",), 0, 1),
            "C_labeled_": Number(0),
            "c_": Number(0, 1),
        }

    def _scores(self, X: Any) -> NDArray[np.float32]:
        width = (2 * self.gamma_) ** -0.5
        margins = kernel_scores(
            X, self.support_vectors_, width, self.dual_coef_, float(self.intercept_)
        )
        slope, offset = self.sigmoid_
        return (slope * margins + offset).astype(np.float32)


def positive_weights(labeled: NDArray[np.float64], c: float) -> NDArray[np.float64]:
    r"""Return P(positive) of unlabeled rows, :math:`\frac{1-c}{c}\frac{g}{1-g}`, clipped.

    `labeled` is g(x) = P(labeled | x); where it exceeds c, the formula exceeds 1.
    """
    g = np.clip(labeled, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return np.clip((1 - c) / c * g / (1 - g), 0, 1)


class _Machine:
    """An SVM with an RBF kernel on rows that count in part as positive, in part as negative."""

    def __init__(
        self,
        X: Any,
        gamma: float,
        max_rows: int,
        n_components: int,
        random: np.random.Generator,
    ) -> None:
        self.X, self.gamma, self.max_rows = X, gamma, max_rows
        self.seed = draw_seed(random)
        self.width = (2 * gamma) ** -0.5
        # A kernel of all pairs of rows grows with their square: beyond `max_rows` it is replaced by
        # features of some landmarks (Nystroem), on which a linear SVM does the same.
        if X.shape[0] > max_rows:
            self.landmarks = pick_centres(X, n_components, random)
            kernel = gaussian(squared_distances(self.landmarks, self.landmarks), self.width)
            values, vectors = np.linalg.eigh(kernel)
            # Directions that are rounding noise would be blown up by the square root.
            kept = values > 1e-10 * values[-1]
            self.mapping = vectors[:, kept] / np.sqrt(values[kept])
            self.features = gaussian(squared_distances(X, self.landmarks), self.width)
            self.features = self.features @ self.mapping
        else:
            self.rows = dense_rows(X)

    def fit(
        self, share: NDArray[np.float64], costs: NDArray[np.float64], seen: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Train on the rows `seen`, of each of which the part `share` is positive.

        Returns support vectors, their coefficients and the intercept.
        """
        as_positive = seen[share[seen] >= SMALLEST_WEIGHT]
        as_negative = seen[1 - share[seen] >= SMALLEST_WEIGHT]
        rows = np.concatenate([as_positive, as_negative])
        target = np.arange(len(rows)) < len(as_positive)
        weight = np.concatenate([share[as_positive], 1 - share[as_negative]]) * costs[rows]
        if target.all() or not target.any():
            # No row is left as the other kind, e.g. all weights are 1 since g says nothing.
            return dense_rows(self.X[rows[:1]]), np.zeros(1), 1.0 if target.all() else -1.0
        if self.X.shape[0] > self.max_rows:
            return self._fit_linear(rows, target, weight)
        return self._fit_exact(rows, target, weight)

    def score_left_out(
        self,
        share: NDArray[np.float64],
        costs: NDArray[np.float64],
        folds: list[tuple[NDArray, NDArray]],
    ) -> NDArray[np.float64]:
        """Return the margin of each row by the SVM of the fold that has not seen it."""
        margins = np.empty(len(share))
        for seen, held_out in folds:
            vectors, coefficients, intercept = self.fit(share, costs, seen)
            margins[held_out] = kernel_scores(
                self.X[held_out], vectors, self.width, coefficients, intercept
            )
        return margins

    def _fit_exact(self, rows: NDArray, target: NDArray, weight: NDArray) -> Any:
        from sklearn.svm import SVC

        machine = SVC(gamma=self.gamma, random_state=self.seed)  # costs are in the weights
        machine.fit(self.rows[rows], target, sample_weight=weight)
        # A row that is there as both kinds becomes one support vector.
        unique, place = np.unique(rows[machine.support_], return_inverse=True)
        coefficients = np.bincount(place, weights=machine.dual_coef_[0])
        return self.rows[unique], coefficients, float(machine.intercept_[0])

    def _fit_linear(self, rows: NDArray, target: NDArray, weight: NDArray) -> Any:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        # The primal: there are many more rows than features.
        machine = LinearSVC(dual=False, max_iter=200, random_state=self.seed)
        with warnings.catch_warnings():
            # The last digits of the weights do not matter here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(self.features[rows], target, sample_weight=weight)
        coefficients = self.mapping @ machine.coef_[0]
        return self.landmarks, coefficients, float(machine.intercept_[0])


def _measure_spread(X: Any) -> float:
    """Return the number of features times the variance of all values, 1 / gamma of 'scale'."""
    n, total, squares = 0, 0.0, 0.0
    for _, rows in dense_blocks(X):
        n, total, squares = n + rows.size, total + rows.sum(), squares + (rows**2).sum()
    variance = squares / n - (total / n) ** 2
    return float(n / X.shape[0] * variance) if variance > 0 else 1.0
