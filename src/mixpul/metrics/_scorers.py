"""Scorers for scikit-learn's ``scoring=``; the last of the estimator's classes is positive."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixpul._util.validation import split_labels
from mixpul.metrics._predictions import score_rates
from mixpul.metrics._rates import MetricLike, PURates, find_metric
from mixpul.metrics.intervals import RANKING, check_auc_needs
from mixpul.metrics.ranking import corrected_auc_score, pu_auc_score


def pu_auc_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Compute the PU-AUC of a fitted classifier.

    For ``scoring=`` in `cross_val_score` and `GridSearchCV`. The last of the estimator's `classes_`
    counts as labeled positive.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from mixpul import datasets
    >>> from mixpul.metrics import pu_auc_scorer
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.5, random_state=0)
    >>> model = LogisticRegression(class_weight="balanced")
    >>> bool(cross_val_score(model, pu.X, pu.s, scoring=pu_auc_scorer).mean() > 0.6)
    True
    """
    return pu_auc_score(y, _score_rows(estimator, X), pos_label=estimator.classes_[-1])


def pu_scorer(
    metric: MetricLike, prior: float | None = None
) -> Callable[[Any, Any, ArrayLike], float]:
    """Make a scorer of any PU metric, for ``scoring=`` in `cross_val_score` and `GridSearchCV`.

    Predictions come from `predict`, scores for the AUCs from `decision_function` or else
    `predict_proba`. Losses (``'false_positive_rate'``, ``'zero_one_risk'``) are negated, so that
    larger is better. To choose models take ``'pu_auc'``, or with a prior you trust ``'accuracy'``,
    ``'f1'`` or another that weighs both kinds of error; ``'recall'`` and ``'flagged_share'``
    alone are for looking at.

    Parameters
    ----------
    metric : str or callable
        ``'pu_auc'``, ``'recall'``, ``'flagged_share'``, ``'lee_liu'``, and with a prior
        ``'corrected_auc'``, ``'precision'``, ``'f1'``, ``'accuracy'``,
        ``'balanced_accuracy'``, ``'matthews_corrcoef'``, ``'false_positive_rate'``,
        ``'zero_one_risk'``. Or a function of `PURates`; larger is better.
    prior : float in (0, 1), optional
        Share of positives among the unlabeled rows (not among all rows).

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``; the last of the estimator's `classes_` counts as labeled
        positive.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from mixpul import datasets
    >>> from mixpul.metrics import pu_scorer
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.5, random_state=0)
    >>> model = LogisticRegression(class_weight="balanced")
    >>> scorer = pu_scorer("f1", prior=pu.prior)
    >>> scorer
    pu_scorer('f1', prior=0.1...)
    >>> bool(cross_val_score(model, pu.X, pu.s, scoring=scorer).mean() > 0.4)
    True
    """
    # Refused here, before a search has fitted its first model.
    if isinstance(metric, str) and metric in RANKING:
        check_auc_needs(metric, prior)
    else:
        find_metric(metric, prior, also=tuple(RANKING))
    return _PUScorer(metric, prior)


@dataclass(frozen=True)
class _PUScorer:
    """A class and not a closure, so that it can be sent to other processes."""

    metric: MetricLike
    prior: float | None

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        positive = estimator.classes_[-1]
        if self.metric == "pu_auc":
            return pu_auc_score(y, _score_rows(estimator, X), pos_label=positive)
        if self.metric == "corrected_auc":
            assert self.prior is not None  # pu_scorer has checked it
            return corrected_auc_score(y, _score_rows(estimator, X), self.prior, pos_label=positive)
        metric = find_metric(self.metric, self.prior)
        _, is_positive = split_labels(y, positive)
        is_flagged = np.asarray(estimator.predict(X)) == positive
        value = score_rates(metric, PURates.from_masks(is_positive, is_flagged, self.prior))
        return -value if metric.is_loss else value

    def __repr__(self) -> str:
        return f"pu_scorer({self.metric!r}, prior={self.prior!r})"


def _score_rows(estimator: Any, X: Any) -> Any:
    """Return the scores of the last class, logits if the estimator has them."""
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    return estimator.predict_proba(X)[:, -1]
