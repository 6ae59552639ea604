"""Gaussian basis functions, shared by the kernel methods."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import euclidean_distances

from mixpul._util.arrays import dense_blocks, dense_rows
from mixpul._util.schema import Array, Number, Spec

__all__ = [
    "KERNEL_MODEL",
    "gaussian",
    "kernel_scores",
    "median_distance",
    "pick_centres",
    "squared_distances",
]

# The median distance of some hundred rows is as good as that of all of them.
ROWS_FOR_MEDIAN = 500
# What a kernel model learns. The square of a width must be a number, too.
KERNEL_MODEL: dict[str, Spec] = {
    "centres_": Array("float", ("n_centres", "n_columns")),
    "coef_": Array("float", ("n_centres",)),
    "width_": Number(1e-100, 1e100),
    "intercept_": Number(),
    "penalty_": Number(0),
}


def pick_centres(X: Any, n_centres: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Draw at most `n_centres` rows of X without replacement."""
    chosen = random.permutation(X.shape[0])[:n_centres]
    return dense_rows(X[np.sort(chosen)])


def median_distance(X: Any, random: np.random.Generator) -> float:
    """Return the median Euclidean distance between different rows of X; 1 if all are the same."""
    rows = pick_centres(X, ROWS_FOR_MEDIAN, random)
    distances = np.sqrt(squared_distances(rows, rows))[np.triu_indices(len(rows), 1)]
    # Tables with many equal rows would have a median of 0, and no width.
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def squared_distances(X: Any, centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute squared Euclidean distances of rows (n,) to centres (b,), as (n, b)."""
    # Around the mean: the distances come from a product, which loses digits far from the origin.
    middle = centres.mean(axis=0)
    result = np.empty((X.shape[0], len(centres)))
    for block, rows in dense_blocks(X):
        result[block] = euclidean_distances(rows - middle, centres - middle, squared=True)
    return result


def gaussian(squared: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    r"""Compute basis functions :math:`\exp(-d^2 / 2\sigma^2)` of squared distances."""
    return np.exp(squared / (-2 * width**2))


def kernel_scores(
    X: Any,
    centres: NDArray[np.float64],
    width: float,
    coefficients: NDArray[np.float64],
    intercept: float = 0.0,
) -> NDArray[np.float64]:
    r""":math:`g(x) = \sum_j \alpha_j \exp(-\|x - c_j\|^2 / 2\sigma^2) + b`, in blocks of rows."""
    result = np.empty(X.shape[0])
    for block, rows in dense_blocks(X):
        result[block] = gaussian(squared_distances(rows, centres), width) @ coefficients
    return result + intercept
