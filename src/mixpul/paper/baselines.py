"""Baselines that the paper does not have: simple classifiers, tuned where they can be."""

import warnings
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from mixpul.metrics import pu_auc_scorer

__all__ = ["ClassMeans", "TunedLogisticRegression"]


class ClassMeans(ClassifierMixin, BaseEstimator):
    """Score along the difference of the means of positives and unlabeled rows."""

    def fit(self, X: NDArray, y: NDArray) -> Self:
        positive, unlabeled = X[y == 1].mean(axis=0), X[y == 0].mean(axis=0)
        self.direction_, self.middle_ = positive - unlabeled, (positive + unlabeled) / 2
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X: NDArray) -> NDArray:
        return (X - self.middle_) @ self.direction_

    def predict(self, X: NDArray) -> NDArray:
        return (self.decision_function(X) > 0).astype(int)


class TunedLogisticRegression(ClassifierMixin, BaseEstimator):
    """Balanced logistic regression, unlabeled as negative, with C chosen by PU-AUC in folds."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: NDArray, y: NDArray) -> Self:
        # Two folds even of a single positive: a cell of the table is not lost for it.
        folds = StratifiedKFold(
            max(2, min(5, int(y.sum()))), shuffle=True, random_state=self.random_state
        )
        search = GridSearchCV(
            LogisticRegression(class_weight="balanced", max_iter=1000),
            {"C": 10.0 ** np.arange(-4, 3)},
            scoring=pu_auc_scorer,
            cv=folds,
        )
        with warnings.catch_warnings():
            # At C = 100 on folds that can be separated.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model_ = search.fit(X, y).best_estimator_
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X: NDArray) -> NDArray:
        return self.model_.decision_function(X)

    def predict(self, X: NDArray) -> NDArray:
        return self.model_.predict(X)
