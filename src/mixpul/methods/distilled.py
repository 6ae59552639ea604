"""One fast network that ranks rows as a slower classifier does."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from mixpul._util.random import RandomStateLike, as_generator, seed_parts
from mixpul._util.schema import Spec
from mixpul._util.validation import Interval
from mixpul.base import HeldOut, PUClassifier
from mixpul.methods._student import (
    N_STEPS,
    WIDTHS,
    Student,
    describe_student,
    score_by_student,
)

__all__ = ["DistilledPUClassifier"]


class DistilledPUClassifier(PUClassifier):
    """One small network that has learned the scores of another classifier.

    A portfolio asks hundreds of trees and dozens of networks about every row. Here one network
    learns what they say together, on many rows that are made from those of the table, and scores
    rows many times as fast. No label takes part in it. `agreement_` tells how much was lost.

    Parameters
    ----------
    teacher : classifier of mixpul, default=None
        What to learn from. None is an `AutoPUClassifier`. `fit` fits a copy of it first;
        `learn_from` takes one that is fitted.
    widths : sequence of int, default=(48, 48)
        Units of the hidden layers.
    n_steps : int, default=3000
        Steps of training.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Made rows, weights, batches, and the teacher if it has no seed of its own.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    student_ : dict of ndarray
        The scale of the columns, and weights and biases layer by layer.
    agreement_ : dict
        How far the network agrees with its teacher on the rows of the table, of which it has seen
        mixtures: `rank_correlation` (Spearman), `same_decision` (share of rows on the same side of
        the threshold), `n_rows`. On new rows they agree somewhat less.
    threshold_ : float
        That of the teacher.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    Examples
    --------
    >>> from mixpul import BaggingPUClassifier, DistilledPUClassifier, datasets
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> trees = BaggingPUClassifier(random_state=0).fit(pu.X, pu.s)
    >>> model = DistilledPUClassifier(n_steps=500, random_state=0).learn_from(trees, pu.X)
    >>> bool(model.agreement_["rank_correlation"] > 0.9)
    True
    """

    _parameter_constraints: dict = {
        "teacher": [BaseEstimator, None],
        "widths": ["array-like"],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    student_: Student

    def __init__(
        self,
        teacher: PUClassifier | None = None,
        *,
        widths: Sequence[int] = WIDTHS,
        n_steps: int = N_STEPS,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.teacher = teacher
        self.widths = widths
        self.n_steps = n_steps
        self.pos_label = pos_label
        self.random_state = random_state
        self.verbose = verbose

    _uses_negatives = True
    _scores_by_column = True

    def learn_from(self, teacher: PUClassifier, X: ArrayLike) -> Self:
        """Learn the scores of a fitted classifier.

        Parameters
        ----------
        teacher : classifier of mixpul
            Fitted.
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows like those to score; labels are not needed.

        Returns
        -------
        self
        """
        self._validate_params()
        check_is_fitted(teacher, "classes_")
        X = teacher._check_input(X)
        random = as_generator(self.random_state)
        self._forget()
        # What describes the rows and what they mean is as it was.
        for name in ("n_features_in_", "feature_names_in_", "density_ratio_", "class_prior_"):
            if hasattr(teacher, name):
                setattr(self, name, getattr(teacher, name))
        self._row_shape, self._row_dtype = teacher._row_shape, teacher._row_dtype
        self.threshold_ = 0.0
        self._learn(teacher, X, random)
        self.classes_ = teacher.classes_
        return self

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> HeldOut | None:
        # Imported here: with the methods of a portfolio comes torch, and none is needed to score.
        from mixpul.methods.auto import AutoPUClassifier

        random = as_generator(self.random_state)
        teacher = AutoPUClassifier() if self.teacher is None else clone(self.teacher)
        seed_parts(teacher, random)
        more = {"negative": self._is_negative} if self._is_negative.any() else {}
        teacher.fit(X, is_positive.astype(int), **more)
        self._learn(teacher, X, random)
        if not hasattr(teacher, "oof_scores_"):
            return None
        self.oof_scores_, self.oof_folds_ = teacher.oof_scores_, teacher.oof_folds_
        return HeldOut(self.oof_scores_.copy(), np.ones(len(is_positive), dtype=bool))

    def _learn(self, teacher: PUClassifier, X: Any, random: np.random.Generator) -> None:
        from mixpul.methods._distilling import distill_scores  # imports torch

        # On the scale of decision_function, where every classifier decides at 0.
        self.student_, agreement = distill_scores(
            teacher.decision_function,
            X,
            0.0,
            random,
            widths=self.widths,
            n_steps=self.n_steps,
            verbose=self.verbose,
        )
        self.agreement_ = agreement._asdict()

    def _list_needed(self) -> tuple[str, ...]:
        return ("student_",)

    def _describe_learned(self) -> dict[str, Spec]:
        return super()._describe_learned() | describe_student(getattr(self, "student_", None))

    def _scores(self, X: Any) -> NDArray[np.float32]:
        return score_by_student(self.student_, X)
