"""Boosted trees on balanced samples, averaged."""

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from mixpul._util.arrays import dense_blocks, dense_rows
from mixpul._util.random import RandomStateLike, as_generator, draw_seed
from mixpul._util.schema import Spec
from mixpul._util.validation import Interval
from mixpul.base import PUClassifier
from mixpul.methods._trees import (
    Trees,
    average_trees,
    check_trees,
    describe_trees,
    flatten_tree,
    join_trees,
    make_predictor,
)
from mixpul.methods._verified import NegativeSide
from mixpul.methods.bagging import weigh_verified

__all__ = ["BoostingPUClassifier"]

# Unlabeled rows of a sample: so many for each positive, and never fewer than the second.
UNLABELED_PER_POSITIVE, LEAST_UNLABELED = 3, 100
# Each tree learns from half of its sample: cheaper, and trees differ more.
SHARE_OF_ROWS = 0.5


class BoostingPUClassifier(PUClassifier):
    r"""Average of boosted trees, each series on all positives and some unlabeled rows.

    Every series of trees learns to tell the positives from unlabeled rows drawn without
    replacement, three for each positive and at least 100. Both sides have the same total weight.
    Trees of a series correct each other, where those of `BaggingPUClassifier` are independent: a
    few dozen small ones find rules of several columns that need more positives elsewhere. Series
    differ in the unlabeled rows that they take for negatives, so their average errs less. Verified
    negatives, if there are any, take the place of some of the unlabeled rows of each series, drawn
    so that they lie as these do.

    Scores are logits: above 0 rows are denser among positives than among unlabeled rows.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of series.
    n_trees : int, default=40
        Trees of a series.
    max_depth : int, default=3
        Questions that lead to a leaf.
    learning_rate : float, default=0.1
        How far a tree moves the scores.
    n_jobs : int or None, default=None
        Number of joblib workers; -1 is all cores. Scores do not depend on it.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Samples and trees.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    tree_roots_ : ndarray of shape (n_estimators * n_trees,)
        The first node of each tree in the arrays below.
    tree_children_ : ndarray of shape (n_nodes, 2)
        The next node if a value is up to the threshold, and if it is above; a leaf is its own.
    tree_feature_ : ndarray of shape (n_nodes,)
    tree_threshold_ : ndarray of shape (n_nodes,)
    tree_value_ : ndarray of shape (n_nodes,)
        What a tree adds to the logit of its series.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    References
    ----------
    Friedman (2002). Stochastic gradient boosting. Computational Statistics & Data Analysis 38.

    Examples
    --------
    >>> from mixpul import BoostingPUClassifier, datasets
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> model = BoostingPUClassifier(n_estimators=2, random_state=0).fit(pu.X, pu.s)
    >>> model.tree_roots_.shape, model.predict(pu.X).shape
    ((80,), (2201,))
    """

    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        n_trees: int = 40,
        max_depth: int = 3,
        learning_rate: float = 0.1,
        n_jobs: int | None = None,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.pos_label = pos_label
        self.random_state = random_state

    _uses_negatives = True
    _uses_weights = True

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> None:
        random = as_generator(self.random_state)
        of_verified = weigh_verified(
            X, is_positive, self._is_negative, self._weights, random, self.n_jobs
        )
        samples = self._draw_samples(is_positive, random, of_verified)
        # Growing leaves Python for most of its time, so threads are the cheapest workers.
        series = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._boost)(dense_rows(X[rows]), is_positive[rows], self._weigh(rows), seed)
            for rows, seed in samples
        )
        trees = join_trees([tree for one in series for tree in one])
        for name, array in trees._asdict().items():
            setattr(self, f"tree_{name}_", array)

    def _draw_samples(
        self,
        is_positive: NDArray[np.bool_],
        random: np.random.Generator,
        of_verified: NDArray[np.float64] | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], int]]:
        """Yield the rows of each series, and a seed."""
        positive = np.flatnonzero(is_positive)
        unlabeled = np.flatnonzero(~is_positive & ~self._is_negative)
        n = max(LEAST_UNLABELED, UNLABELED_PER_POSITIVE * len(positive))
        n = min(n, len(unlabeled))
        draw = NegativeSide(unlabeled, self._is_negative, n, len(positive), of_verified=of_verified)
        for _ in range(self.n_estimators):
            yield np.concatenate([positive, draw(random)]), draw_seed(random)

    def _weigh(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | float:
        """Return the weights of some rows."""
        return 1.0 if self._weights is None else self._weights[rows]

    def _boost(
        self, rows: NDArray, target: NDArray[np.bool_], own: NDArray | float, seed: int
    ) -> list[Trees]:
        """Grow one series of trees on a sample."""
        # Imported here: it takes time that other methods need not spend.
        from sklearn.ensemble import GradientBoostingClassifier

        series = GradientBoostingClassifier(
            n_estimators=self.n_trees,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            subsample=SHARE_OF_ROWS,
            max_features="sqrt",
            init="zero",
            random_state=seed,
        )
        weight = own * np.where(target, (~target).sum() / target.sum(), 1.0)
        series.fit(rows.astype(np.float32), target, sample_weight=weight)
        grown = [tree.tree_ for tree in series.estimators_[:, 0]]
        return [flatten_tree(tree, self.learning_rate * tree.value[:, 0, 0]) for tree in grown]

    def _list_needed(self) -> tuple[str, ...]:
        return tuple(f"tree_{name}_" for name in Trees._fields)

    def _describe_learned(self) -> dict[str, Spec]:
        return super()._describe_learned() | describe_trees()

    def _check_learned(self) -> None:
        super()._check_learned()
        check_trees(self._get_trees(), int(np.prod(self._row_shape)))

    def _get_trees(self) -> Trees:
        return Trees(*(getattr(self, name) for name in self._list_needed()))

    def _scores(self, X: Any) -> NDArray[np.float32]:
        trees = self._get_trees()
        predict = make_predictor(trees, int(np.prod(self._row_shape)))
        blocks = (rows.astype(np.float32) for _, rows in dense_blocks(X))
        means = np.concatenate([average_trees(predict, rows) for rows in blocks])
        # The mean over all trees, made one over series.
        return (len(trees.roots) / self.n_estimators * means).astype(np.float32)
