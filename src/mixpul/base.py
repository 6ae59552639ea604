"""The contract of every classifier: labels, validation, prediction, the decision threshold."""

import warnings
from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mixpul._util.arrays import has_repeats, is_images, order_by_row
from mixpul._util.errors import MixpulError
from mixpul._util.learned import LEARNED, check_learned
from mixpul._util.schema import Spec
from mixpul._util.threads import use_one_thread
from mixpul._util.validation import (
    check_finite,
    check_labels_present,
    check_negative,
    check_no_text,
    check_size,
    check_weights,
    split_labels,
)
from mixpul.metrics.calibration import learn_density_ratio, to_probabilities
from mixpul.metrics.checks import check_prior_range
from mixpul.metrics.importance import WithImportances

__all__ = ["HeldOut", "PUClassifier", "pick_shared"]

# With fewer, results depend on which rows happen to be labeled, so a fit warns.
LEAST_POSITIVES = 5


class HeldOut(NamedTuple):
    """Scores of rows by a model that has not seen them.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        As `_scores` returns them; those of other rows mean nothing.
    is_known : ndarray of bool of shape (n,)
        The rows that were held out.
    """

    scores: NDArray
    is_known: NDArray[np.bool_]


class PUClassifier(WithImportances, ClassifierMixin, BaseEstimator):
    """Base of all classifiers: labels, validation, prediction and the decision threshold.

    A subclass writes `_fit(X, is_positive)` and `_scores(X)`. It gets float32 rows (dense and
    C-ordered, or CSR) that were checked, and returns one raw score per row. It may also write
    `_choose_threshold`, which says at which raw score the decision lies. A method that can learn
    from verified negatives says so by `_uses_negatives` and finds them in `_is_negative`; one that
    can weigh rows says so by `_uses_weights` and finds the weights in `_weights`.
    """

    _parameter_constraints: dict = {}
    # Logits per unit of the raw score.
    _slope = 1.0
    # Whether `_fit` learns from the rows `_is_negative`; otherwise they stay unlabeled.
    _uses_negatives = False
    # Whether `_fit` weighs rows by `_weights`; otherwise all count the same.
    _uses_weights = False
    # Whether `_scores` takes numbers that lie column by column in memory as they are.
    _scores_by_column = False
    # Whether what is learned may be a network of torch, in `net_`.
    _trains_nets = False

    threshold_: float
    # The mask of verified negatives, while a fit is under way; otherwise none of the rows is one.
    _is_negative: Any = np.False_
    # Weights of the rows, while a fit is under way; None if all of a kind weigh the same.
    _weights: NDArray[np.float64] | None = None
    # Scores and density ratios, (2, n_knots); where rows were held out.
    density_ratio_: NDArray[np.float64]
    # Whether most rows of the fit are there more than once.
    has_repeats_: bool
    # {"value": ..., "source": "given", "audited" or "estimated"}; set by whoever assesses a model.
    class_prior_: dict[str, Any]

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        negative: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows labeled positive and unlabeled rows.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features), \
or array of shape (n_samples, channels, height, width)
        y : array-like of shape (n_samples,)
            Two values; the larger one, or `pos_label`, means "labeled positive".
        negative : array-like of bool of shape (n_samples,), optional
            Verified negatives: True for each row that someone has checked and found negative. In
            `y` such a row has the value of unlabeled rows. A method that cannot use them says so
            in a warning and takes them for unlabeled.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts among those of its kind: labeled positives, unlabeled rows,
            verified negatives. A method that cannot use it says so in a warning.

        Returns
        -------
        self
        """
        self._validate_params()
        before = vars(self).copy()
        try:
            X, y = self._check_input(X, y)
            classes, is_positive = split_labels(y, self.pos_label)
            is_negative = check_negative(negative, is_positive)
            weights = check_weights(sample_weight, is_positive, is_negative)
        except ValueError:
            # A fit that is refused leaves an earlier one as it was, with the shape of its rows.
            self.__dict__ = before
            raise
        is_negative, weights = self._warn_and_drop(is_positive, is_negative, weights)
        self._forget()
        self._is_negative, self._weights = is_negative, weights
        try:
            with use_one_thread():
                held_out = self._fit(X, is_positive)
                if held_out is not None:
                    # The decision lies between positives and unlabeled rows, as without negatives.
                    held_out = held_out._replace(is_known=held_out.is_known & ~is_negative)
                self.threshold_ = self._choose_threshold(X, is_positive, held_out)
        finally:
            del self._is_negative, self._weights
        if hasattr(self, "oof_scores_"):
            # On the scale of decision_function, as users compare them with it.
            self.oof_scores_ -= np.float32(self.threshold_)
        if held_out is not None:
            self._learn_density_ratio(is_positive, held_out)
        self._keep_sample(X, is_positive)
        self.has_repeats_ = has_repeats(X)
        self.classes_ = classes  # last: it marks the classifier as fitted
        return self

    def _warn_and_drop(
        self, is_positive: NDArray[np.bool_], is_negative: NDArray[np.bool_], weights: Any
    ) -> tuple[NDArray[np.bool_], Any]:
        """Warn of few positives, and of what this method cannot use; return what it can."""
        if is_positive.sum() < LEAST_POSITIVES:
            warnings.warn(
                f"Number of rows labeled positive: {is_positive.sum()}. Results will depend on "
                f"which ones they are; label at least {LEAST_POSITIVES}, better dozens.",
                UserWarning,
                stacklevel=3,
            )
        if is_negative.any() and not self._uses_negatives:
            warnings.warn(
                f"{type(self).__name__} cannot learn from verified negatives; the "
                f"{is_negative.sum()} of them are taken for unlabeled rows.",
                UserWarning,
                stacklevel=3,
            )
            is_negative = np.zeros_like(is_negative)
        if weights is not None and not self._uses_weights:
            warnings.warn(
                f"{type(self).__name__} cannot use sample_weight; all rows count the same.",
                UserWarning,
                stacklevel=3,
            )
            weights = None
        return is_negative, weights

    def decision_function(self, X: ArrayLike) -> NDArray[np.float32]:
        """Score rows: logits, above 0 where the positive class is predicted."""
        check_is_fitted(self, "classes_")
        with use_one_thread(look_again=False):
            raw = self._scores(self._check_input(X))
        # In the precision of the raw scores; rounded to float32 at the end.
        centred = raw - raw.dtype.type(self.threshold_)
        scores = (self._slope * centred).astype(np.float32, copy=False)
        if np.isnan(scores).any():
            raise MixpulError(
                "Some scores are NaN: the numbers of the rows, or of the model, are too large to "
                "compute with. Standardise the columns and fit again."
            )
        return scores

    def predict_proba(
        self, X: ArrayLike, calibrated: bool = False, prior: float | None = None
    ) -> NDArray[np.float32]:
        """Return scores between 0 and 1, or probabilities, in the order of `classes_`.

        By default the sigmoid of the scores, positive last. It is not the share of positives among
        such rows: trained on equally many positives and unlabeled rows, 0.5 is where positives are
        as dense as negatives.

        Parameters
        ----------
        X : array-like or CSR matrix
        calibrated : bool, default=False
            Whether to return P(y = 1 | x) instead, for rows like the unlabeled ones of the fit.
            This needs a table of density ratios, which fits with rows left out have, and the class
            prior.
        prior : float, optional
            The share of positives among the unlabeled rows; by default the one that the model was
            given, or an estimate. With an estimate, which bounds the prior from above, the
            probabilities are upper bounds, and a warning says so.

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        scores = self.decision_function(X)
        if calibrated:
            positive = self.calibrate(scores, self.find_class_prior(prior))
        elif prior is not None:
            raise ValueError("prior= has a meaning with calibrated=True only; say so, or leave it.")
        else:
            positive = expit(scores)
        return np.column_stack([1 - positive, positive])

    def calibrate(self, scores: ArrayLike, prior: float) -> NDArray[np.float32]:
        """Turn scores of `decision_function` into P(y = 1 | x), for a class prior."""
        if not hasattr(self, "density_ratio_"):
            raise ValueError(
                f"This {type(self).__name__} cannot return probabilities: its fit held no rows "
                "out to compare scores with labels. `mixpul fit` and `mixpul.assess.assess` do "
                "so for every method."
            )
        # Where rows repeat, each kind of row has a share of its own, which no smooth curve knows.
        smooth = not getattr(self, "has_repeats_", True)
        found = to_probabilities(scores, self.density_ratio_, prior, smooth=smooth)
        return found.astype(np.float32)

    def find_class_prior(self, prior: float | None = None) -> float:
        """Return the class prior to use: `prior`, or what is stored; warn if it is an estimate."""
        if prior is not None:
            check_prior_range(prior)
            return prior
        known = getattr(self, "class_prior_", None)
        if known is None and hasattr(self, "prior_"):
            is_given = isinstance(self.get_params(deep=False).get("prior"), Real)
            known = {"value": self.prior_, "source": "given" if is_given else "estimated"}
        if known is None:
            raise ValueError(
                "Probabilities need the class prior, the share of positives among the unlabeled "
                "rows: pass it as prior=0.05, say (--prior 0.05)."
            )
        if known["source"] == "estimated":
            warnings.warn(
                f"The class prior {known['value']:.3g} is estimated, and positive and unlabeled "
                "rows bound it from above only: take the probabilities as upper bounds. If you "
                "know the prior, pass it as prior= (--prior).",
                UserWarning,
                stacklevel=3,
            )
        return float(known["value"])

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict `classes_[1]`, the positive class, where the score is above 0."""
        scores = self.decision_function(X)
        # Not by probabilities: in float32 the sigmoid of a tiny score above 0 is exactly 0.5.
        return self.classes_[(scores > 0).astype(int)]

    def _learn_density_ratio(self, is_positive: NDArray[np.bool_], held_out: HeldOut) -> None:
        """Compare scores with labels where both kinds of rows were held out."""
        known = held_out.is_known & np.isfinite(held_out.scores)
        if min(is_positive[known].sum(), (~is_positive[known]).sum()) >= LEAST_POSITIVES:
            centred = held_out.scores[known].astype(np.float64) - self.threshold_
            self.density_ratio_ = learn_density_ratio(is_positive[known], self._slope * centred)

    # -- what a method writes, or may write ---------------------------------------------------

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> HeldOut | None:
        """Learn; return raw scores of rows held out of training, if there are any."""
        raise NotImplementedError

    def _scores(self, X: Any) -> NDArray:
        """Return raw scores: floats that grow with the chance of being positive."""
        raise NotImplementedError

    def _choose_threshold(
        self, X: Any, is_positive: NDArray[np.bool_], held_out: HeldOut | None
    ) -> float:
        """Return the raw score that becomes 0; a method whose loss sets it leaves it there."""
        return 0.0

    def _list_needed(self) -> tuple[str, ...]:
        """Name the learned attributes that `_scores` cannot do without."""
        return ()

    def _describe_learned(self) -> dict[str, Spec]:
        """Return what each learned attribute may be; a file with anything else is refused.

        Shapes may name `n_features`, the columns of the fit, and `n_columns`, the numbers of a row.
        """
        return dict(LEARNED)

    def _check_learned(self) -> None:
        """Refuse what a file says was learned unless it is whole and `_scores` can use it."""
        check_learned(self)

    # -- input --------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Drop what an earlier fit has learned: another setting may not set all of it again."""
        for name in ("_sample", "_importances"):
            self.__dict__.pop(name, None)
        kept = {"n_features_in_", "feature_names_in_"}  # of this fit already
        for name in [n for n in vars(self) if n.endswith("_") and n not in kept]:
            delattr(self, name)

    def _check_input(self, X: Any, y: Any = "no_validation") -> Any:
        """Return rows as float32, with y at fit; refuse with a reason what cannot be used."""
        at_fit = not (isinstance(y, str) and y == "no_validation")
        check_no_text(X)
        if at_fit and y is not None:
            check_labels_present(y)
        # Finiteness is checked after the cast, so that values beyond float32 are found too.
        with np.errstate(over="ignore"):
            checked = validate_data(
                self,
                X,
                y,
                reset=at_fit,
                accept_sparse="csr",
                # Images stay bytes, a quarter of the memory, until they are in a batch.
                dtype=np.uint8 if is_images(X) else np.float32,
                order="C" if at_fit else None,
                allow_nd=True,
                ensure_all_finite=False,
                ensure_min_samples=2 if at_fit else 1,
            )
        X = checked[0] if at_fit else checked
        if not (at_fit or self._scores_by_column or sparse.issparse(X)):
            checked = X = order_by_row(X)  # faster than numpy copies a whole table so
        if not is_images(X):
            check_finite(X, getattr(self, "feature_names_in_", None))
            if at_fit:
                check_size(X, getattr(self, "feature_names_in_", None))
        if at_fit:
            self._row_shape, self._row_dtype = X.shape[1:], X.dtype
        else:
            self._check_like_fit(X)
        return checked

    def _check_like_fit(self, X: Any) -> None:
        """Refuse rows of another kind or shape than those of the fit."""
        if X.dtype != self._row_dtype:
            raise ValueError(
                f"X holds {X.dtype.name}, but {type(self).__name__} was fitted on "
                f"{self._row_dtype.name}: give images as bytes (uint8, 0 to 255) in both, or "
                "as floats on one scale in both."
            )
        if X.shape[1:] != self._row_shape:
            raise ValueError(
                f"X has rows of shape {X.shape[1:]}, but {type(self).__name__} was fitted on "
                f"rows of shape {self._row_shape}."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def pick_shared(given: Mapping[str, Any], base: type[BaseEstimator]) -> dict[str, Any]:
    """Pick from the arguments of a constructor, its `locals()`, those that `base` takes.

    scikit-learn reads parameters from signatures, so each class spells out all of its own; with
    this it need not spell out again what it hands on to its base.
    """
    names = signature(base.__init__).parameters.keys() - {"self"}
    return {name: given[name] for name in names}


def __getattr__(name: str) -> Any:
    # Documented at this place; it lives with the methods, which import this module.
    if name == "NeuralPUClassifier":
        return import_module("mixpul.methods.neural").NeuralPUClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
