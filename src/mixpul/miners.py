"""Miners: which unlabeled rows may serve as negatives."""

import warnings
from numbers import Integral, Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import euclidean_distances
from sklearn.utils import gen_batches

from mixpul._names import MINERS
from mixpul._util.random import RandomStateLike, as_generator
from mixpul._util.validation import Interval, check_finite

__all__ = ["MINERS", "DistanceMiner", "NTCMiner", "NegativeMiner", "RandomMiner"]


@runtime_checkable
class NegativeMiner(Protocol):
    """What a miner must do: pick reliable negatives from the unlabeled rows.

    Any object with this method is one. If it also has an attribute `every_epoch` that is true,
    `mine` is called again before each epoch; if it has an attribute `reads_rows` that is false,
    it gets arrays of the right length without columns, and no rows are copied for it.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.miners import NegativeMiner
    >>> class SmallestFirst:
    ...     def mine(self, X_positive, X_unlabeled, n):
    ...         return np.argsort(X_unlabeled.sum(axis=1), kind="stable")[:n]
    >>> isinstance(SmallestFirst(), NegativeMiner)
    True
    """

    def mine(self, X_positive: Any, X_unlabeled: Any, n: int) -> NDArray[np.intp]:
        """Return `n` distinct row numbers within `X_unlabeled`, surest negative first."""
        ...


class RandomMiner(BaseEstimator):
    """Take unlabeled rows at random ("Rand").

    A share ``1 - prior`` of them are negatives on average, whatever their number, where `prior`
    is the share of positives among the unlabeled rows.

    Parameters
    ----------
    every_epoch : bool, default=False
        Whether the training loop should draw a new set before each epoch.
    random_state : int, RandomState, Generator or None, default=None
        Which rows are drawn. An int draws the same set at every call; the others move on.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.miners import RandomMiner
    >>> X = np.arange(10.0).reshape(-1, 1)
    >>> RandomMiner(random_state=0).mine(X[:3], X[3:], n=4).shape
    (4,)
    """

    _parameter_constraints: dict = {
        "every_epoch": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
    }
    reads_rows = False

    def __init__(self, every_epoch: bool = False, random_state: RandomStateLike = None) -> None:
        self.every_epoch = every_epoch
        self.random_state = random_state

    def mine(self, X_positive: Any, X_unlabeled: Any, n: int) -> NDArray[np.intp]:
        """Return `n` distinct row numbers within `X_unlabeled`, in random order."""
        self._validate_params()
        _, unlabeled = _check_rows(X_positive, X_unlabeled, n)
        # With one seed a smaller set is the head of a larger one, as with the other miners.
        return as_generator(self.random_state).permutation(unlabeled.shape[0])[:n]


class DistanceMiner(BaseEstimator):
    """Take the unlabeled rows farthest from the positives ("Dist").

    Rows are ranked by their mean Euclidean distance to all positives, which is not the distance
    to the mean of the positives. Standardise the features first: otherwise the widest column
    decides.

    Parameters
    ----------
    memory_mb : float, default=128
        Roughly how much memory the distances may take at a time, in MiB, in addition to one
        double precision copy of the positives.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.miners import DistanceMiner
    >>> X_positive = np.array([[0.0, 0.0], [0.0, 1.0]])
    >>> X_unlabeled = np.array([[0.0, 0.5], [5.0, 5.0], [3.0, 0.0]])
    >>> DistanceMiner().mine(X_positive, X_unlabeled, n=2)
    array([1, 2])
    """

    _parameter_constraints: dict = {"memory_mb": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, memory_mb: float = 128) -> None:
        self.memory_mb = memory_mb

    def mine(self, X_positive: Any, X_unlabeled: Any, n: int) -> NDArray[np.intp]:
        """Return the row numbers of the `n` farthest rows of `X_unlabeled`, farthest first."""
        self._validate_params()
        positive, unlabeled = _check_rows(X_positive, X_unlabeled, n)
        check_finite(positive)
        check_finite(unlabeled)
        distances = _average_distances(positive, unlabeled, self.memory_mb * 2**20)
        # Equal rows may differ in the last bits of the product; in single precision they tie.
        return np.argsort(-distances.astype(np.float32), kind="stable")[:n]


class NTCMiner(BaseEstimator):
    """Take the unlabeled rows that a forest finds least like the positives ("NTC").

    A random forest learns to tell positives from unlabeled rows (a non-traditional classifier),
    and the unlabeled rows with the smallest scores are taken. Only trees that have not seen a row
    score it: the trees that have seen it remember it as unlabeled, so in-bag scores are all near
    zero and their order is memorised noise.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    min_samples_leaf : int, default=3
        Fewest rows in a leaf.
    random_state : int, RandomState, Generator or None, default=None
        Randomness of the forest.
    n_jobs : int or None, default=None
        Trees grown at a time, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.miners import NTCMiner
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> X[:40] += 5
    >>> mined = NTCMiner(n_estimators=50, random_state=0).mine(X[:20], X[20:], n=10)
    >>> bool((mined >= 20).all())
    True
    """

    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_estimators: int = 300,
        min_samples_leaf: int = 3,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state
        self.n_jobs = n_jobs

    def mine(self, X_positive: Any, X_unlabeled: Any, n: int) -> NDArray[np.intp]:
        """Return the row numbers of the `n` lowest scores in `X_unlabeled`, lowest first."""
        self._validate_params()
        positive, unlabeled = _check_rows(X_positive, X_unlabeled, n)
        # Imported here: it would double the time that `import mixpul` takes.
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            class_weight="balanced_subsample",
            oob_score=True,
            # A number, because scikit-learn takes no Generator.
            random_state=int(as_generator(self.random_state).integers(2**31)),
            n_jobs=self.n_jobs,
        )
        scores = _score_out_of_bag(forest, positive, unlabeled)
        return np.argsort(scores, kind="stable")[:n]


def prepare_miner(
    miner: str | NegativeMiner, random: np.random.Generator
) -> tuple[NegativeMiner, np.random.Generator | None]:
    """Return the miner by name or as it is, and the stream it draws from if it has one.

    A miner of ours is copied, and draws from `random` unless it was given randomness of its own.
    """
    made: Any = MINERS[miner]() if isinstance(miner, str) else miner
    if not (isinstance(made, BaseEstimator) and "random_state" in made.get_params()):
        return made, None
    # A stream rather than a number: a miner asked again each epoch must draw anew.
    own = made.random_state
    stream = random if own is None else as_generator(own)
    return clone(made).set_params(random_state=stream), stream


def _check_rows(X_positive: Any, X_unlabeled: Any, n: int) -> tuple[Any, Any]:
    """Return both parts as matrices, sparse if either one is."""
    positive, unlabeled = _as_matrix(X_positive), _as_matrix(X_unlabeled)
    if positive.shape[1] != unlabeled.shape[1]:
        raise ValueError(
            "Positives and unlabeled rows must have the same features; got "
            f"{positive.shape[1]} and {unlabeled.shape[1]}."
        )
    if positive.shape[0] == 0:
        raise ValueError("A miner needs at least one positive row; got none.")
    if not isinstance(n, Integral) or not 1 <= n <= unlabeled.shape[0]:
        raise ValueError(
            f"n must be an integer from 1 to {unlabeled.shape[0]}, the number of unlabeled "
            f"rows; got {n!r}."
        )
    if sparse.issparse(positive) != sparse.issparse(unlabeled):
        return sparse.csr_array(positive), sparse.csr_array(unlabeled)
    return positive, unlabeled


def _as_matrix(X: Any) -> Any:
    """Flatten images to rows; keep sparse matrices sparse and floats in their precision."""
    if sparse.issparse(X):
        return X.tocsr()
    X = np.asarray(X)
    if X.dtype.kind != "f":
        X = X.astype(np.float64)
    return X.reshape(len(X), int(np.prod(X.shape[1:])))


def _average_distances(positive: Any, unlabeled: Any, memory: float) -> NDArray[np.float64]:
    """Return each unlabeled row's mean distance to the positives, within `memory` bytes."""
    centre = positive.mean(axis=0, dtype=np.float64)
    positive = _centre(positive, centre)
    # Room for three: a sparse product may be built before the dense matrix of distances.
    bytes_per_row = 8 * (3 * positive.shape[0] + 2 * positive.shape[1])
    means = np.empty(unlabeled.shape[0])
    for block in gen_batches(len(means), max(1, int(memory / bytes_per_row))):
        means[block] = euclidean_distances(_centre(unlabeled[block], centre), positive).mean(axis=1)
    return means


def _centre(rows: Any, centre: NDArray[np.float64]) -> Any:
    """Return rows in double precision, around `centre` unless that would fill a sparse matrix.

    The distances come from a matrix product, which loses digits far from the origin.
    """
    return rows.astype(np.float64) if sparse.issparse(rows) else rows - centre


def _score_out_of_bag(forest: Any, positive: Any, unlabeled: Any) -> NDArray[np.float64]:
    """Score the unlabeled rows by the trees that have not seen them; infinity if there is none."""
    n_positive = positive.shape[0]
    is_positive = np.arange(n_positive + unlabeled.shape[0]) < n_positive
    stack = sparse.vstack if sparse.issparse(positive) else np.concatenate
    rows = stack([positive, unlabeled])
    with warnings.catch_warnings():
        # Rows without out-of-bag trees are dealt with below.
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        forest.fit(rows, is_positive)
    shares = forest.oob_decision_function_[n_positive:]
    # scikit-learn leaves zeros where every tree has seen the row; nothing says it is negative.
    was_scored = shares.sum(axis=1) > 0
    return np.where(was_scored, shares[:, 1], np.inf)
