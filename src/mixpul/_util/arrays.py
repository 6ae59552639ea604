"""Rows as matrices: images become one row each, sparse rows stay sparse until they are needed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

__all__ = ["dense_blocks", "dense_rows", "flatten_rows"]

ROWS_PER_BLOCK = 4096


def flatten_rows(X: Any) -> Any:
    """Return a matrix with one row for each entry of `X`; a sparse matrix as it is."""
    if sparse.issparse(X):
        return X
    X = np.asarray(X)
    # The width is spelled out: -1 cannot be worked out where there are no rows.
    return X.reshape(len(X), int(np.prod(X.shape[1:])))


def dense_rows(X: Any) -> NDArray[np.float64]:
    """Return rows in double precision, dense and flat."""
    X = flatten_rows(X)
    return (X.toarray() if sparse.issparse(X) else X).astype(np.float64)


def dense_blocks(X: Any) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield some thousand rows at a time with their place: a sparse matrix never becomes dense."""
    for block in gen_batches(X.shape[0], ROWS_PER_BLOCK):
        yield block, dense_rows(X[block])
