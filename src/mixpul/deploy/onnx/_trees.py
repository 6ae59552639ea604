"""Trees as one operation, in double precision: rows fall on the same side as in our own."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul.deploy.onnx._graph import DOUBLE, ML, Graph

__all__ = ["Forest", "add_trees"]

# Numbers that ONNX has given to what a node asks, and to how values of trees are put together.
UP_TO, SUM, AS_IT_IS = 0, 1, 0


class Forest(NamedTuple):
    """The nodes of all trees; a leaf is its own child."""

    roots: NDArray
    children: NDArray
    feature: NDArray
    threshold: NDArray
    value: NDArray


def add_trees(graph: Graph, trees: Forest, rows: str) -> str:
    """Add the sum over the trees of the value of a row's leaf, (rows, 1) in double precision."""
    roots, children = trees.roots, trees.children
    n = len(children)
    is_leaf = (children == np.arange(n)[:, None]).all(axis=1)
    # A tree needs a node to start from: one that is a single leaf asks something, to no avail.
    is_node = ~is_leaf
    is_node[roots] = True
    node_number = np.cumsum(is_node) - 1
    leaf_number = np.cumsum(is_leaf) - 1
    below = children[is_node]
    ends = is_leaf[below]
    numbers = np.where(ends, leaf_number[below], node_number[below])
    return graph.add(
        "TreeEnsemble",
        graph.cast(rows, DOUBLE),
        domain=ML,
        n_targets=1,
        aggregate_function=SUM,
        post_transform=AS_IT_IS,
        tree_roots=_to_list(node_number[roots]),
        nodes_featureids=_to_list(trees.feature[is_node]),
        nodes_splits=graph.make_tensor("splits", trees.threshold[is_node].astype(np.float64)),
        nodes_modes=graph.make_tensor("modes", np.full(is_node.sum(), UP_TO, dtype=np.uint8)),
        nodes_truenodeids=_to_list(numbers[:, 0]),
        nodes_falsenodeids=_to_list(numbers[:, 1]),
        nodes_trueleafs=_to_list(ends[:, 0]),
        nodes_falseleafs=_to_list(ends[:, 1]),
        leaf_targetids=[0] * int(is_leaf.sum()),
        leaf_weights=graph.make_tensor("weights", trees.value[is_leaf].astype(np.float64)),
    )


def _to_list(array: NDArray) -> list[int]:
    return array.astype(np.int64).tolist()
