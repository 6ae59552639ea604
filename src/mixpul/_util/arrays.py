"""Rows as matrices: images become one row each, sparse rows stay sparse until they are needed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.utils import gen_batches

__all__ = [
    "IMAGES_PER_PASS",
    "ROWS_PER_BLOCK",
    "dense_blocks",
    "dense_rows",
    "flatten_rows",
    "has_repeats",
    "is_images",
    "order_by_row",
]

ROWS_PER_BLOCK = 4096
# Few enough that a convolution over images keeps within some hundred megabytes.
IMAGES_PER_PASS = 512
# As many as the cache of a processor holds.
ROWS_IN_CACHE = 256
# Enough to see whether rows repeat.
N_LOOKED_AT = 1000


def flatten_rows(X: Any, dtype: DTypeLike | None = None) -> Any:
    """Return a matrix with one row for each entry of `X`; a sparse matrix stays sparse.

    Without `dtype` the values keep their type.
    """
    if not sparse.issparse(X):
        X = np.asarray(X)
        # The width is spelled out: -1 cannot be worked out where there are no rows.
        X = X.reshape(len(X), int(np.prod(X.shape[1:])))
    return X if dtype is None else X.astype(dtype, copy=False)


def dense_rows(X: Any) -> NDArray[np.float64]:
    """Return rows in double precision, dense and flat."""
    X = flatten_rows(X)
    return (X.toarray() if sparse.issparse(X) else X).astype(np.float64)


def dense_blocks(
    X: Any, n_rows: int = ROWS_PER_BLOCK
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield some thousand rows at a time with their place: a sparse matrix never becomes dense."""
    for block in gen_batches(X.shape[0], n_rows):
        yield block, dense_rows(X[block])


def has_repeats(X: Any) -> bool:
    """Whether rows come again and again, as in a table of a few categories: half of a thousand."""
    n = X.shape[0]
    some = X[np.linspace(0, n - 1, min(n, N_LOOKED_AT)).astype(int)]
    rows = some.toarray() if sparse.issparse(some) else some
    return len({row.tobytes() for row in rows}) < len(rows) / 2


def is_images(X: Any) -> bool:
    """Whether `X` is an array of images in bytes: uint8, (n, channels, height, width)."""
    return isinstance(X, np.ndarray) and X.dtype == np.uint8 and X.ndim == 4


def order_by_row(X: NDArray) -> NDArray:
    """Return the same numbers row by row in memory, copied if need be some rows at a time."""
    if X.flags.c_contiguous:
        return X
    rows = np.empty(X.shape, dtype=X.dtype)
    for block in gen_batches(len(rows), ROWS_IN_CACHE):
        rows[block] = X[block]
    return rows
