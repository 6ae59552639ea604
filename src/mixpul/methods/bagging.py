"""Bagging for positive-unlabeled learning (Mordelet and Vert, 2014)."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, clone

from mixpul._util.arrays import dense_blocks, dense_rows
from mixpul._util.random import RandomStateLike, as_generator, seed_parts
from mixpul._util.validation import HasMethods, Interval
from mixpul.base import PUClassifier

__all__ = ["BaggingPUClassifier"]


class BaggingPUClassifier(PUClassifier):
    r"""Average of classifiers, each of which takes a few unlabeled rows for negatives.

    Every member learns to tell all positives from a bootstrap sample of the unlabeled rows that is
    as large as their number. Samples differ in the positives they hold by mistake, so members
    err in different places and their average errs less. Unlabeled rows are also scored by those
    members alone that have not seen them.

    A score is the log odds of the mean probability p of the members, smoothed as
    :math:`(T p + 1/2) / (T + 1)` for T members. Classes are balanced within a sample: above 0
    rows are denser among positives than among unlabeled rows.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any scikit-learn classifier with `predict_proba` or `decision_function`; None is a decision
        tree. Only a classifier made of default trees can be saved.
    n_estimators : int, default=100
        Number of members.
    n_unlabeled : int or None, default=None
        Rows in each sample of unlabeled rows; None takes as many as there are positives.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Samples, and members that have a `random_state` which is None.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    oob_scores_ : ndarray of shape (n_samples,)
        Score of each unlabeled row by the members that have not seen it; NaN for positives, which
        all members have seen, and for rows in every sample.
    n_unlabeled_ : int
        Rows in each sample of unlabeled rows.
    tree_roots_ : ndarray of shape (n_estimators,)
        Default trees only: the first node of each tree in the arrays below.
    tree_children_ : ndarray of shape (n_nodes, 2)
        The next node if a value is up to the threshold, and if it is above; a leaf is its own.
    tree_feature_ : ndarray of shape (n_nodes,)
    tree_threshold_ : ndarray of shape (n_nodes,)
    tree_value_ : ndarray of shape (n_nodes,)
        Share of positives in each node.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    References
    ----------
    Mordelet, Vert (2014). A bagging SVM to learn from positive and unlabeled examples. Pattern
    Recognition Letters 37.

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul import BaggingPUClassifier
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> model = BaggingPUClassifier(n_estimators=10, random_state=0).fit(pu.X, pu.s)
    >>> model.n_unlabeled_, model.oob_scores_.shape
    (142, (2201,))
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods("fit"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_unlabeled": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        n_unlabeled: int | None = None,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_unlabeled = n_unlabeled
        self.pos_label = pos_label
        self.random_state = random_state

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> None:
        random = as_generator(self.random_state)
        positive, unlabeled = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
        # As many unlabeled rows as positives by default: every member learns from balanced classes.
        self.n_unlabeled_ = int(self.n_unlabeled or len(positive))
        target = np.arange(len(positive) + self.n_unlabeled_) < len(positive)
        was_seen = np.zeros((len(is_positive), self.n_estimators), dtype=bool)
        was_seen[positive] = True  # by all members: only unlabeled rows are ever out of bag
        members = []
        for k in range(self.n_estimators):
            sample = random.choice(unlabeled, self.n_unlabeled_)
            was_seen[sample, k] = True
            rows = dense_rows(X[np.concatenate([positive, sample])]).astype(np.float32)
            members.append(self._make_member(random).fit(rows, target))
        self._keep(members)
        self.oob_scores_ = self._score_out_of_bag(X, was_seen)

    def _list_needed(self) -> tuple[str, ...]:
        return ("tree_roots_",)

    def _scores(self, X: Any) -> NDArray[np.float32]:
        shares = [self._predict_members(rows).mean(axis=1) for _, rows in dense_blocks(X)]
        return _smooth_logit(np.concatenate(shares), self.n_estimators).astype(np.float32)

    def _make_member(self, random: np.random.Generator) -> Any:
        """Return a new member, with a seed of its own wherever it asks for one."""
        from sklearn.tree import DecisionTreeClassifier

        member: Any = DecisionTreeClassifier() if self.estimator is None else clone(self.estimator)
        return seed_parts(member, random)

    def _keep(self, members: list[Any]) -> None:
        """Keep default trees as arrays, which can be saved, and other members as they are."""
        names = ("roots", "children", "feature", "threshold", "value")
        self._estimators = members
        if self.estimator is None:
            self._estimators = []
            for name, array in zip(names, _flatten_trees(members), strict=True):
                setattr(self, f"tree_{name}_", array)

    def _predict_members(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of being positive by each member, (n_rows, n_estimators)."""
        single = rows.astype(np.float32)  # as in training: trees compare in single precision
        if hasattr(self, "tree_roots_"):
            return self._walk_trees(single)
        return np.column_stack([_predict_positive(m, single) for m in self._estimators])

    def _walk_trees(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Walk all rows down all trees together, a level at a time."""
        node = np.tile(self.tree_roots_, (len(rows), 1))
        row = np.arange(len(rows))[:, None]
        while True:
            is_above = rows[row, self.tree_feature_[node]] > self.tree_threshold_[node]
            # A leaf is its own child, so rows that have arrived stay where they are.
            following = self.tree_children_[node, is_above.astype(np.intp)]
            if np.array_equal(following, node):
                return self.tree_value_[node]
            node = following

    def _score_out_of_bag(self, X: Any, was_seen: NDArray[np.bool_]) -> NDArray[np.float64]:
        scores = np.empty(X.shape[0])
        for block, rows in dense_blocks(X):
            is_new = ~was_seen[block]
            n_new = is_new.sum(axis=1)
            total = (self._predict_members(rows) * is_new).sum(axis=1)
            share = total / np.maximum(n_new, 1)
            scores[block] = np.where(n_new > 0, _smooth_logit(share, n_new), np.nan)
        return scores


def _flatten_trees(trees: list[Any]) -> tuple[NDArray, ...]:
    """Line up the nodes of all trees: roots, children, features, thresholds, positive shares."""
    sizes = [fitted.tree_.node_count for fitted in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    children, feature, threshold, value = [], [], [], []
    for root, fitted in zip(roots, trees, strict=True):
        tree = fitted.tree_
        own = np.arange(tree.node_count)
        is_leaf = tree.children_left < 0
        both = np.column_stack([tree.children_left, tree.children_right])
        children.append(root + np.where(is_leaf[:, None], own[:, None], both))
        feature.append(np.where(is_leaf, 0, tree.feature))
        threshold.append(np.where(is_leaf, 0.0, tree.threshold))
        value.append(tree.value[:, 0, 1] / tree.value[:, 0].sum(axis=1))
    return roots, *map(np.concatenate, (children, feature, threshold, value))


def _predict_positive(member: Any, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    if hasattr(member, "predict_proba"):
        return member.predict_proba(rows)[:, 1]
    return expit(member.decision_function(rows))


def _smooth_logit(share: NDArray[np.float64], n: Any) -> NDArray[np.float64]:
    """Return the log odds of a mean over `n` members, finite even where all of them agree."""
    return logit((n * share + 0.5) / (n + 1))
