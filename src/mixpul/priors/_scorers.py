"""Out-of-fold scores, from which one-dimensional estimators read the class prior."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mixpul._util.arrays import flatten_rows
from mixpul._util.random import draw_seed, seed_parts, split_folds
from mixpul._util.validation import HasMethods, Interval
from mixpul.priors.base import BasePrior, bootstrap


class ScorePrior(BasePrior):
    """Base of estimators that score rows out of fold and read the prior from the scores.

    A subclass writes `_from_scores(positive, unlabeled)`.
    """

    _parameter_constraints: dict = BasePrior._parameter_constraints | {
        "scorer": [HasMethods(["fit", "get_params"]), None],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
    }

    def _estimate(
        self, X: Any, is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> tuple[float, NDArray[np.float64]]:
        self.scorer_, self.scores_ = score_out_of_fold(
            self.scorer, X, is_positive, self.n_folds, random
        )
        positive, unlabeled = self.scores_[is_positive], self.scores_[~is_positive]
        # The scorer is not trained anew: rows of a resample keep the scores they have.
        resampled = bootstrap(
            lambda p, u: self._from_scores(positive[p], unlabeled[u]),
            len(positive),
            len(unlabeled),
            self.n_bootstrap,
            random,
        )
        return self._from_scores(positive, unlabeled), resampled

    def _from_scores(self, positive: NDArray[np.float64], unlabeled: NDArray[np.float64]) -> float:
        raise NotImplementedError


def score_out_of_fold(
    scorer: Any, X: Any, is_positive: NDArray[np.bool_], n_folds: int, random: np.random.Generator
) -> tuple[Any, NDArray[np.float64]]:
    """Return the scorer trained on all rows, and each row's logit from training without it."""
    labels = is_positive.astype(int)
    if scorer is None:
        X = flatten_rows(X, np.float64)
        scorer = make_scorer(X)
    scorer = seed_parts(clone(scorer), random)
    folds = list(split_folds(is_positive, n_folds, draw_seed(random)))
    # Fitted first, to see whether it brings out-of-fold scores of its own.
    fitted = clone(scorer).fit(X, labels)
    last = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    if hasattr(last, "oof_scores_"):
        scores = np.asarray(last.oof_scores_, dtype=np.float64)
    elif hasattr(fitted, "decision_function"):
        scores = cross_val_predict(scorer, X, labels, cv=folds, method="decision_function")
    elif hasattr(fitted, "predict_proba"):
        shares = cross_val_predict(scorer, X, labels, cv=folds, method="predict_proba")[:, 1]
        # Forests return shares of exactly 0 and 1, whose logits are infinite.
        scores = logit(np.clip(shares, 1e-6, 1 - 1e-6))
    else:
        raise ValueError(
            "scorer must be a classifier with decision_function or predict_proba; "
            f"got {type(scorer).__name__}."
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"{type(scorer).__name__} returned scores that are NaN or infinite.")
    return fitted, scores


def make_scorer(X: Any) -> Any:
    """Make the default: balanced logistic regression on features and on Gaussian bumps at 200 rows.

    DEDPUL erred least with it, of ten scorers (linear, trees, forests, networks) on three data sets
    and on mixtures of clusters, with seeds from 1000. It takes a second.
    """
    # Imported here, because only this scorer needs it.
    from sklearn.kernel_approximation import Nystroem

    n_rows, n_features = X.shape
    bumps = Nystroem(n_components=min(200, n_rows // 2), gamma=1 / n_features)
    return make_pipeline(
        # Centring would fill a sparse matrix.
        StandardScaler(with_mean=not sparse.issparse(X)),
        make_union(FunctionTransformer(accept_sparse=True), bumps),
        LogisticRegression(C=0.3, class_weight="balanced", max_iter=1000),
    )
