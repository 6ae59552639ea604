"""Averages of classifiers that each take a few unlabeled rows for negatives."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, clone

from mixpul._util.arrays import ROWS_PER_BLOCK, dense_blocks, dense_rows
from mixpul._util.random import RandomStateLike, as_generator, draw_seed, seed_parts
from mixpul._util.schema import Number, Spec
from mixpul._util.validation import HasMethods, Interval, StrOptions
from mixpul.base import HeldOut, PUClassifier
from mixpul.methods._trees import (
    SPLITS,
    Predictor,
    Trees,
    average_trees,
    check_trees,
    count_rows_at_once,
    describe_trees,
    grow_trees,
    make_predictor,
)
from mixpul.methods._verified import NegativeSide, draw_rows, weigh_by_score
from mixpul.metrics import balanced_threshold

__all__ = ["BaggingPUClassifier", "weigh_verified"]

# Fewer unlabeled rows than this do not show a tree where they lie.
LEAST_UNLABELED = 20
# As many as a bootstrap draws: each row stays out of the bag of a third of the trees.
LARGEST_SHARE = 0.632
# Rows of a side that a tree sees at most: with leaves of one row a tree is as large as its sample.
# To look for the best threshold takes five times as long as to draw one.
MOST_OF_A_SIDE = {"random": 20_000, "best": 10_000}
# Of a first fit, whose scores tell which kind of rows were checked.
N_FIRST_TREES = 60


class BaggingPUClassifier(PUClassifier):
    r"""Average of trees, each of which takes a few unlabeled rows for negatives.

    Every tree learns to tell a bootstrap sample of the positives from about as many unlabeled
    rows, drawn without replacement, and at most 20,000 of each. Both sides have the same total
    weight. Samples differ in the positives that their unlabeled rows hold by mistake, so trees err
    in different places and their average errs less. Each row is also scored by those trees alone
    that have not seen it. Verified negatives, if there are any, take the place of some of the
    unlabeled rows of each sample, drawn so that they lie as these do. With `sample_weight` rows are
    drawn as often as they weigh, unlabeled ones with replacement.

    With an `estimator` this is the bagging of Mordelet and Vert: every member learns to tell all
    positives from a bootstrap sample of the unlabeled rows.

    A score is the log odds of the mean probability p of the members, smoothed as
    :math:`(T p + 1/2) / (T + 1)` for T members. Trees that end in single rows lean to the side with
    more distinct rows, so the decision lies where out-of-bag scores tell positives from unlabeled
    rows best (`metrics.balanced_threshold`). With an `estimator` it lies at even odds.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any scikit-learn classifier with `predict_proba` or `decision_function`; None grows trees
        with random splits. Only a classifier made of these trees can be saved.
    n_estimators : int, default=200
        Number of members.
    n_unlabeled : int or None, default=None
        Unlabeled rows in each sample; None takes as many as there are positives. Trees then get at
        least 20, and at most 63 % of the unlabeled rows, so that some are always out of bag.
    splits : {'random', 'best'}, default='random'
        How trees choose a threshold: at random (extremely randomised trees) or as the best one (a
        balanced random forest). Both look at sqrt(n_features) features for each split. Not used
        with an `estimator`.
    n_jobs : int or None, default=None
        Number of joblib workers; -1 is all cores. Scores do not depend on it.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Samples, trees, and members that have a `random_state` which is None.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    oob_scores_ : ndarray of shape (n_samples,)
        Score of each row by the trees that have not seen it, on the scale of `decision_function`;
        0, no evidence, for a row that all trees have seen, such as an only positive. With
        an `estimator` it is NaN for such rows, thus for all positives.
    threshold_ : float
        The log odds at which the decision lies; 0 with an `estimator`.
    n_unlabeled_ : int
        Unlabeled rows in each sample, and verified negatives in the place of some.
    tree_roots_ : ndarray of shape (n_estimators,)
        Default trees only: the first node of each tree in the arrays below.
    tree_children_ : ndarray of shape (n_nodes, 2)
        The next node if a value is up to the threshold, and if it is above; a leaf is its own.
    tree_feature_ : ndarray of shape (n_nodes,)
    tree_threshold_ : ndarray of shape (n_nodes,)
    tree_value_ : ndarray of shape (n_nodes,)
        Share of positives in each node, both sides weighted equally.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    References
    ----------
    Geurts, Ernst, Wehenkel (2006). Extremely randomized trees. Machine Learning 63.

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

    Mordelet and Vert's bagging, around trees of two levels:

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> small = DecisionTreeClassifier(max_depth=2)
    >>> model = BaggingPUClassifier(estimator=small, random_state=0).fit(pu.X, pu.s)
    >>> model.predict(pu.X[:3]).shape
    (3,)
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods("fit"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_unlabeled": [Interval(Integral, 1, None, closed="left"), None],
        "splits": [StrOptions(set(SPLITS))],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 200,
        n_unlabeled: int | None = None,
        splits: str = "random",
        n_jobs: int | None = None,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_unlabeled = n_unlabeled
        self.splits = splits
        self.n_jobs = n_jobs
        self.pos_label = pos_label
        self.random_state = random_state

    _uses_negatives = True
    _uses_weights = True

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> HeldOut:
        random = as_generator(self.random_state)
        grow = self._grow_trees if self.estimator is None else self._fit_members
        unlabeled = np.flatnonzero(~is_positive & ~self._is_negative)
        of_verified = weigh_verified(
            X, is_positive, self._is_negative, self._weights, random, self.n_jobs
        )
        side = partial(NegativeSide, weights=self._weights, of_verified=of_verified)
        samples = grow(X, np.flatnonzero(is_positive), unlabeled, side, random)
        was_seen = Seen(len(is_positive), samples)
        self.oob_scores_ = self.score_out_of_bag(X, was_seen)
        self._was_seen = was_seen  # in memory only
        return HeldOut(self.oob_scores_, ~was_seen.all_of_row())

    def _list_left_out_scorers(self) -> list[Any]:
        if not hasattr(self, "_was_seen"):
            return super()._list_left_out_scorers()
        return [
            lambda rows, places: (
                self.score_out_of_bag(rows, self._was_seen[places]) - self.threshold_
            )
        ]

    def _choose_threshold(
        self, X: Any, is_positive: NDArray[np.bool_], held_out: HeldOut | None
    ) -> float:
        assert held_out is not None
        is_known = held_out.is_known
        if self.estimator is not None or len(np.unique(is_positive[is_known])) < 2:
            return 0.0
        threshold = balanced_threshold(is_positive[is_known], held_out.scores[is_known])
        # On the scale of decision_function, as users compare them with it.
        is_out = ~self._was_seen.all_of_row()
        self.oob_scores_ = np.where(is_out, held_out.scores - threshold, 0.0)
        return threshold

    def _grow_trees(
        self,
        X: Any,
        positive: NDArray[np.intp],
        unlabeled: NDArray[np.intp],
        side: Callable[..., NegativeSide],
        random: np.random.Generator,
    ) -> list[NDArray[np.intp]]:
        """Grow the default trees, and return the rows that each has seen."""
        n, n_positive = self.n_unlabeled, min(len(positive), MOST_OF_A_SIDE[self.splits])
        if n is None:
            n_most = max(1, int(LARGEST_SHARE * len(unlabeled)))
            n = min(max(n_positive, LEAST_UNLABELED), n_most)
        self.n_unlabeled_ = min(int(n), len(unlabeled))
        draw = side(unlabeled, self._is_negative, self.n_unlabeled_, len(positive))
        samples, seeds = [], []
        for _ in range(self.n_estimators):
            few = draw(random)
            some = draw_rows(positive, n_positive, self._weights, random)
            samples.append(np.concatenate([some, few]))
            seeds.append(draw_seed(random))
        trees = grow_trees(X, samples, n_positive, seeds, self.splits, self.n_jobs)
        self._estimators: list[Any] = []
        for name, array in trees._asdict().items():
            setattr(self, f"tree_{name}_", array)
        return samples

    def _fit_members(
        self,
        X: Any,
        positive: NDArray[np.intp],
        unlabeled: NDArray[np.intp],
        side: Callable[..., NegativeSide],
        random: np.random.Generator,
    ) -> list[NDArray[np.intp]]:
        """Fit copies of the estimator, and return the rows that each has seen."""
        # As many unlabeled rows as positives by default: every member learns from balanced classes.
        self.n_unlabeled_ = int(self.n_unlabeled or len(positive))
        target = np.arange(len(positive) + self.n_unlabeled_) < len(positive)
        draw = side(unlabeled, self._is_negative, self.n_unlabeled_, len(positive))
        samples, members = [], []
        for _ in range(self.n_estimators):
            # All of them, unless they weigh differently.
            some = (
                positive
                if self._weights is None
                else draw_rows(positive, len(positive), self._weights, random)
            )
            samples.append(np.concatenate([some, draw(random, replace=True)]))
            members.append(self._make_member(random))
        self._estimators = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_member)(member, X, sample, target)
            for member, sample in zip(members, samples, strict=True)
        )
        return samples

    def _make_member(self, random: np.random.Generator) -> Any:
        """Return a new member, with a seed of its own wherever it asks for one."""
        return seed_parts(clone(self.estimator), random)

    def _list_needed(self) -> tuple[str, ...]:
        return tuple(f"tree_{name}_" for name in Trees._fields)

    def _describe_learned(self) -> dict[str, Spec]:
        return super()._describe_learned() | {
            **describe_trees(0, 1),
            "n_unlabeled_": Number(1, whole=True),
        }

    def _check_learned(self) -> None:
        super()._check_learned()
        check_trees(self._get_trees(), int(np.prod(self._row_shape)))

    def _get_trees(self) -> Trees:
        return Trees(*(getattr(self, name) for name in self._list_needed()))

    def _scores(self, X: Any) -> NDArray[np.float32]:
        predict = self._make_predictor()
        blocks = (rows.astype(np.float32) for _, rows in dense_blocks(X, self._count_at_once()))
        shares = [average_trees(predict, rows) for rows in blocks]
        return _smooth_logit(np.concatenate(shares), self.n_estimators).astype(np.float32)

    def _predict_blocks(self, X: Any) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield some rows at a time with the probabilities by each member, (n_rows, n_members)."""
        predict = self._make_predictor()
        for block, rows in dense_blocks(X, self._count_at_once()):
            # In single precision as in training.
            yield block, predict(rows.astype(np.float32))

    def _count_at_once(self) -> int:
        has_trees = hasattr(self, "tree_roots_")
        return count_rows_at_once(self._get_trees()) if has_trees else ROWS_PER_BLOCK

    def _make_predictor(self) -> Predictor:
        if not hasattr(self, "tree_roots_"):
            return lambda rows: np.column_stack(
                [_predict_positive(member, rows) for member in self._estimators]
            )
        return make_predictor(self._get_trees(), int(np.prod(self._row_shape)))

    def score_out_of_bag(self, X: Any, was_seen: "Seen | NDArray[np.bool_]") -> NDArray[np.float64]:
        """Score rows by the members that have not seen them; raw, before the threshold.

        `was_seen` is (n_rows, n_estimators).
        """
        scores = np.empty(X.shape[0])
        for block, members in self._predict_blocks(X):
            is_new = ~was_seen[block]
            n_new = is_new.sum(axis=1)
            share = (members * is_new).sum(axis=1) / np.maximum(n_new, 1)
            if self.estimator is None:
                # Positives are out of more bags than unlabeled rows are. Smoothed by the number of
                # bags, the surest of both kinds would not be equal.
                share = np.where(n_new > 0, share, 0.5)
                scores[block] = _smooth_logit(share, self.n_estimators)
            else:
                scores[block] = np.where(n_new > 0, _smooth_logit(share, n_new), np.nan)
        return scores


class Seen:
    """Which members have seen which rows, in bits: a byte each would be more than the rows take.

    Indexed by rows it is an array of bool of shape (n_rows, n_members).
    """

    def __init__(self, n_rows: int, samples: list[NDArray[np.intp]]) -> None:
        self._n_members = len(samples)
        self._bits = np.zeros((n_rows, -(-len(samples) // 8)), dtype=np.uint8)
        for k, sample in enumerate(samples):
            # A row may be in a sample twice; its bit is set once.
            self._bits[sample, k // 8] |= np.uint8(128 >> k % 8)

    def __getitem__(self, rows: Any) -> NDArray[np.bool_]:
        bits = np.unpackbits(self._bits[rows], axis=-1, count=self._n_members)
        return bits.astype(bool)

    def all_of_row(self) -> NDArray[np.bool_]:
        """Return which rows all members have seen."""
        whole = np.packbits(np.ones(self._n_members, dtype=bool))
        return np.asarray((self._bits == whole).all(axis=1))


def weigh_verified(
    X: Any,
    is_positive: NDArray[np.bool_],
    is_negative: NDArray[np.bool_],
    weights: NDArray[np.float64] | None,
    random: np.random.Generator,
    n_jobs: int | None = None,
) -> NDArray[np.float64] | None:
    """Return weights by which verified negatives lie as unlabeled rows do; None without any.

    A few trees that take them for unlabeled rows score all rows out of bag.
    """
    if not is_negative.any():
        return None
    first = BaggingPUClassifier(
        n_estimators=N_FIRST_TREES, n_jobs=n_jobs, random_state=draw_seed(random)
    )
    with warnings.catch_warnings():
        # Of few positives the fit itself has warned already.
        warnings.simplefilter("ignore")
        first.fit(X, is_positive, sample_weight=weights)
    return weigh_by_score(first.oob_scores_, is_positive, is_negative)


def _fit_member(member: Any, X: Any, sample: NDArray[np.intp], target: NDArray[np.bool_]) -> Any:
    return member.fit(dense_rows(X[sample]).astype(np.float32), target)


def _predict_positive(member: Any, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    if hasattr(member, "predict_proba"):
        return member.predict_proba(rows)[:, 1]
    return expit(member.decision_function(rows))


def _smooth_logit(share: NDArray[np.float64], n: Any) -> NDArray[np.float64]:
    """Return the log odds of a mean over `n` members, finite even where all of them agree."""
    return logit((n * share + 0.5) / (n + 1))
