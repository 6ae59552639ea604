"""Columns on one scale, so that a classifier can take a table as it comes."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mixpul._util.arrays import dense_blocks

__all__ = ["Scaling", "draw_in"]

# A column with a value so many standard deviations from its mean has a heavy tail.
HEAVY_TAIL = 8.0
# Sparse tables up to this size take less memory as dense ones than a fit takes anyway.
MOST_ENTRIES = 5e7
MOST_ROWS_AT_ONCE, COLUMNS_AT_ONCE = 2**18, 4


class Scaling(NamedTuple):
    """Centre and scale of each column; tails are drawn in first, by a signed logarithm.

    Images stay as they are. Sparse rows become dense if they are few enough; else their columns
    are only divided, so that zeros stay zeros.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_features,)
        Empty for images.
    is_heavy : ndarray of bool of shape (n_features,)
        Empty where columns are only divided.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    is_heavy: NDArray[np.bool_]

    @classmethod
    def learn(cls, X: Any) -> Self:
        """Learn from the rows of a fit."""
        none = np.empty(0, dtype=bool)
        if X.ndim > 2:
            return cls(np.empty(0), np.empty(0), none)
        if sparse.issparse(X) and np.prod(X.shape, dtype=float) > MOST_ENTRIES:
            mean = np.asarray(X.mean(axis=0)).ravel()
            square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
            spread = np.sqrt(np.maximum(square - mean**2, 0))
            return cls(np.zeros(X.shape[1]), np.where(spread > 0, spread, 1.0), none)
        X = X.toarray() if sparse.issparse(X) else X
        # By a few columns: each step needs double precision, several times over.
        width = X.shape[1] if X.shape[0] <= MOST_ROWS_AT_ONCE else COLUMNS_AT_ONCE
        learned = [cls._learn_columns(X[:, j : j + width]) for j in range(0, X.shape[1], width)]
        return cls(*map(np.concatenate, zip(*learned, strict=True)))

    @classmethod
    def _learn_columns(cls, X: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        farthest = np.maximum(X.max(axis=0) - mean, mean - X.min(axis=0))
        is_heavy = farthest > HEAVY_TAIL * np.where(spread > 0, spread, np.inf)
        drawn_in = _draw_in(X, is_heavy)
        centre, spread = drawn_in.mean(axis=0), drawn_in.std(axis=0)
        # What is left of a constant column after rounding is no spread.
        is_constant = spread <= 1e-9 * np.maximum(1.0, np.abs(centre))
        return centre, np.where(is_constant, 1.0, spread), is_heavy

    def apply(self, X: Any) -> Any:
        """Return the rows on one scale, in single precision."""
        if X.ndim > 2:
            return X
        if not len(self.is_heavy):
            return sparse.csr_matrix(X @ sparse.diags(1 / self.scale)).astype(np.float32)
        scaled = np.empty(X.shape, dtype=np.float32)
        # In blocks: double precision of a whole large table would not be needed at once.
        for block, rows in dense_blocks(X):
            scaled[block] = (_draw_in(rows, self.is_heavy) - self.centre) / self.scale
        return scaled


def draw_in(X: NDArray) -> NDArray:
    """Return the signed logarithm, of 1 plus the size of each number."""
    return np.sign(X) * np.log1p(np.abs(X))


def _draw_in(X: NDArray, is_heavy: NDArray[np.bool_]) -> NDArray[np.float64]:
    rows = X.astype(np.float64)
    rows[:, is_heavy] = draw_in(rows[:, is_heavy])
    return rows
