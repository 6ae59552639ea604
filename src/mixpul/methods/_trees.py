"""Trees grown on balanced samples and kept as plain arrays, which need no pickle."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from mixpul._util.arrays import ROWS_PER_BLOCK, dense_rows
from mixpul._util.errors import DamagedFile
from mixpul._util.schema import LARGEST, Array, Spec

__all__ = [
    "SPLITS",
    "Predictor",
    "Trees",
    "average_trees",
    "check_trees",
    "count_rows_at_once",
    "describe_trees",
    "flatten_tree",
    "grow_trees",
    "join_trees",
    "make_predictor",
    "sum_trees",
]

SPLITS = ("random", "best")
# Of compiled trees: 70 bytes each.
MOST_NODES_KEPT = 2_000_000
MOST_ROWS_AT_ONCE = 2**15
Predictor = Callable[[NDArray[np.float32]], NDArray[np.float64]]


class Trees(NamedTuple):
    """The nodes of all trees, one tree after the other; children come after their parents."""

    roots: NDArray  # the first node of each tree
    children: NDArray  # if a value is up to the threshold, and if it is above; a leaf is its own
    feature: NDArray
    threshold: NDArray
    value: NDArray  # what a row in the node scores, such as the share of positives


def grow_trees(
    X: Any,
    samples: Sequence[NDArray[np.intp]],
    n_positive: int,
    seeds: Sequence[int],
    splits: str,
    n_jobs: int | None,
) -> Trees:
    """Grow a tree on each sample, whose first `n_positive` rows are positives."""
    jobs = list(zip(samples, seeds, strict=True))
    n_batches = min(len(jobs), max(1, effective_n_jobs(n_jobs)))
    # Growing leaves Python for most of its time, so threads are the cheapest workers.
    batches = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_grow_batch)(X, jobs[k::n_batches], n_positive, splits) for k in range(n_batches)
    )
    return join_trees([batches[k % n_batches][k // n_batches] for k in range(len(jobs))])


def _grow_batch(
    X: Any, jobs: list[tuple[NDArray[np.intp], int]], n_positive: int, splits: str
) -> list[Trees]:
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    kind = ExtraTreeClassifier if splits == "random" else DecisionTreeClassifier
    trees = []
    for sample, seed in jobs:
        target = np.arange(len(sample)) < n_positive
        # Exactly 1 where both sides are equally large, so that shares are not rounded.
        weight = np.where(target, 1.0, n_positive / max(1, len(sample) - n_positive))
        rows = dense_rows(X[sample]).astype(np.float32)
        member = kind(max_features="sqrt", random_state=seed)
        trees.append(_flatten_classifier(member.fit(rows, target, sample_weight=weight).tree_))
    return trees


def _flatten_classifier(tree: Any) -> Trees:
    return flatten_tree(tree, tree.value[:, 0, 1] / tree.value[:, 0].sum(axis=1))


def flatten_tree(tree: Any, value: NDArray[np.float64]) -> Trees:
    """Return a compiled tree as arrays; `value` is what a row in each node scores."""
    is_leaf = tree.children_left < 0
    children = np.column_stack([tree.children_left, tree.children_right])
    children[is_leaf] = np.flatnonzero(is_leaf)[:, None]
    threshold = np.where(is_leaf, 0.0, tree.threshold)
    single = threshold.astype(np.float32)
    # Rounded down: values are in single precision, so none lies between the two thresholds.
    single = np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)
    return Trees(
        roots=np.zeros(1, dtype=np.int32),
        children=children.astype(np.int32),
        feature=np.where(is_leaf, 0, tree.feature).astype(np.int32),
        threshold=single,
        value=value.astype(np.float32),
    )


def join_trees(parts: Sequence[Trees]) -> Trees:
    """Line up the nodes of all trees."""
    n_nodes = sum(len(part.value) for part in parts)
    index = np.int32 if n_nodes < 2**31 else np.int64
    # Into arrays of their final type: many large trees take much memory, and none is copied twice.
    children, start = np.empty((n_nodes, 2), dtype=index), 0
    roots = []
    for part in parts:
        stop = start + len(part.value)
        np.add(part.children, index(start), out=children[start:stop])
        roots.append(part.roots + index(start))
        start = stop
    others = [np.concatenate(arrays) for arrays in list(zip(*parts, strict=True))[2:]]
    return Trees(np.concatenate(roots).astype(index), children, *others)


def make_predictor(trees: Trees, n_columns: int) -> Predictor:
    """Return a function from rows to the value of their leaf in each tree.

    scikit-learn's compiled walk is several times as fast as numpy's, and ends in the same leaves.
    """
    check_trees(trees, n_columns)
    layout = find_layout()
    if layout is None:
        return partial(_walk, trees)
    return partial(_predict_compiled, CompiledTrees(trees, n_columns, layout))


def describe_trees(low: float = -LARGEST, high: float = LARGEST) -> dict[str, Spec]:
    """Return what the arrays of a classifier made of trees may be; values are in a range."""
    return {
        "tree_roots_": Array("whole", ("n_trees",), low=0),
        "tree_children_": Array("whole", ("n_nodes", 2), low=0),
        "tree_feature_": Array("whole", ("n_nodes",), low=0),
        "tree_threshold_": Array("float", ("n_nodes",)),
        "tree_value_": Array("float", ("n_nodes",), low, high),
    }


def check_trees(trees: Trees, n_columns: int) -> None:
    """Refuse arrays that compiled code would follow out of bounds, or for ever."""
    roots, children, feature, threshold, value = trees
    n = len(value)
    is_whole = (
        len(roots) > 0
        and roots[0] == 0
        and (np.diff(roots, append=n) > 0).all()
        and children.shape == (n, 2)
        and feature.shape == threshold.shape == value.shape == (n,)
        and 0 <= feature.min() <= feature.max() < n_columns
    )
    if not is_whole or not all(
        _leads_to_leaves(root, own) for root, own, *_ in _split_trees(trees)
    ):
        raise DamagedFile("the arrays of its trees do not fit together.")


def _leads_to_leaves(root: int, children: NDArray) -> bool:
    """Whether both children of each node are itself, or come after it in the same tree."""
    end = root + len(children)
    own = np.arange(root, end)[:, None]
    is_leaf = (children == own).all(axis=1)
    is_inside = ((children > own) & (children < end)).all(axis=1)
    return bool((is_leaf | is_inside).all())


class CompiledTrees:
    """scikit-learn's trees, rebuilt from arrays one after the other, and kept if they are small.

    Compiled, a node takes four times the memory of the arrays. Of many large trees only one is
    there at a time; then rows should come in large blocks (`count_rows_at_once`).
    """

    def __init__(self, trees: Trees, n_columns: int, layout: np.dtype) -> None:
        self._make = partial(_compile, trees, n_columns, layout)
        self._n_trees = len(trees.roots)
        self._kept = list(self._make()) if len(trees.value) <= MOST_NODES_KEPT else None

    def __len__(self) -> int:
        return self._n_trees

    def __iter__(self) -> Iterator[Any]:
        return self._make() if self._kept is None else iter(self._kept)


def count_rows_at_once(trees: Trees) -> int:
    """Return how many rows to score at a time."""
    return ROWS_PER_BLOCK if len(trees.value) <= MOST_NODES_KEPT else MOST_ROWS_AT_ONCE


def _compile(trees: Trees, n_columns: int, layout: np.dtype) -> Iterator[Any]:
    """Rebuild scikit-learn's trees, with the score of a row as their only value."""
    from sklearn.tree._tree import Tree

    one_class = np.ones(1, dtype=np.intp)
    for root, children, feature, threshold, value in _split_trees(trees):
        size = len(value)
        is_leaf = children[:, 0] == np.arange(root, root + size)
        nodes = np.zeros(size, dtype=layout)
        nodes["left_child"], nodes["right_child"] = np.where(is_leaf, -1, children.T - root)
        nodes["feature"], nodes["threshold"] = feature, threshold
        tree = Tree(n_columns, one_class, 1)
        # The depth is for display alone.
        values = value.astype(np.float64).reshape(-1, 1, 1)
        tree.__setstate__({"max_depth": 0, "node_count": size, "nodes": nodes, "values": values})
        yield tree


def _split_trees(trees: Trees) -> Iterator[tuple[int, NDArray, NDArray, NDArray, NDArray]]:
    """Yield the first node of each tree, and its own part of the other arrays."""
    for root, end in pairwise([*trees.roots.tolist(), len(trees.value)]):
        yield root, *(array[root:end] for array in trees[1:])


def average_trees(predict: Predictor, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean over the trees; compiled ones are added up, not kept side by side."""
    if not isinstance(predict, partial) or predict.func is not _predict_compiled:
        return predict(rows).mean(axis=1)
    (compiled,) = predict.args
    return sum_trees(predict, rows) / len(compiled)


def sum_trees(predict: Predictor, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sum over the trees, added up in their order."""
    total = np.zeros(len(rows))
    if not isinstance(predict, partial) or predict.func is not _predict_compiled:
        for values in predict(rows).T:
            total += values
        return total
    for tree in predict.args[0]:
        total += tree.predict(rows)[:, 0]
    return total


def _predict_compiled(compiled: CompiledTrees, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    shares = np.empty((len(rows), len(compiled)))
    for k, tree in enumerate(compiled):
        shares[:, k] = tree.predict(rows)[:, 0]
    return shares


def _walk(trees: Trees, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Walk all rows down all trees together, a level at a time."""
    node = np.tile(trees.roots, (len(rows), 1))
    row = np.arange(len(rows))[:, None]
    while True:
        is_above = rows[row, trees.feature[node]] > trees.threshold[node]
        # A leaf is its own child, so rows that have arrived stay where they are.
        following = trees.children[node, is_above.astype(np.intp)]
        if np.array_equal(following, node):
            return trees.value[node].astype(np.float64)
        node = following


@cache
def find_layout() -> np.dtype | None:
    """Return the type of scikit-learn's nodes; None if its trees cannot be rebuilt here.

    The layout is not public and has changed before, so it is read off a small tree and tried.
    """
    from sklearn.tree import DecisionTreeClassifier

    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    try:
        tree = DecisionTreeClassifier(random_state=0).fit(rows, [0, 1, 1, 0, 0, 1]).tree_
        layout = tree.__getstate__()["nodes"].dtype
        plain = _flatten_classifier(tree)
        rebuilt = _predict_compiled(CompiledTrees(plain, 2, layout), rows)
    except (ImportError, AttributeError, KeyError, TypeError, ValueError):
        return None
    return layout if np.array_equal(rebuilt, _walk(plain, rows)) else None
