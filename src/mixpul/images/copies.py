"""Near copies: unlabeled images that show the same as a labeled positive, but for small changes.

They were resized, compressed again or slightly touched up, so their files differ. Such an image is
a positive that nobody has labeled, and it flatters every number that compares images.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NearCopy", "find_near_copies"]

# Root mean square of the differences between thumbnails, in grey levels: at most so many, and at
# most this share of what differs within the image, because images of one colour are all alike.
MOST_LEVELS, MOST_SHARE = 12.0, 0.3
# Brightness is compared apart: copies may be brighter as a whole, by this share of the same.
MOST_BRIGHTER = 0.5
# Where many images look alike, as digits do, a copy is still far nearer than others: than the fifth
# nearest positive, at most this share of its distance.
N_OTHERS, MOST_OF_OTHERS = 5, 0.4
# Features point in roughly the same direction, too: cosine of the angle.
LEAST_COSINE = 0.6
# More positives are compared in part only, so that the time stays within seconds.
MOST_POSITIVES = 5000
ROWS_AT_A_TIME = 2048


class NearCopy(NamedTuple):
    """An unlabeled image, the labeled positive it looks like, and how far the two differ.

    Attributes
    ----------
    id, positive : str
        Their names.
    distance : float
        Root mean square of the differences of thumbnails, in grey levels from 0 to 255, but for
        how bright they are as a whole.
    """

    id: str
    positive: str
    distance: float


def find_near_copies(
    names: Sequence[str],
    thumbnails: NDArray[np.uint8],
    is_positive: NDArray[np.bool_],
    features: NDArray | None = None,
) -> list[NearCopy]:
    """Find unlabeled images that are near copies of labeled positives, the nearest first.

    Each positive is compared with each unlabeled image by thumbnails, some thousand at a time, so
    that memory does not grow. Of more than 5,000 positives only these many are compared.

    Parameters
    ----------
    names : sequence of str
    thumbnails : ndarray of uint8, shape (n, 3, 8, 8)
    is_positive : ndarray of bool, shape (n,)
    features : ndarray of shape (n, n_features), optional
        Where they are there, they must agree.

    Returns
    -------
    list of NearCopy
        For each such image the nearest positive.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.images import find_near_copies
    >>> images = np.random.default_rng(0).integers(0, 256, (3, 3, 8, 8), dtype=np.uint8)
    >>> images[2] = np.clip(images[0] + 1.0, 0, 255)
    >>> copies = find_near_copies(["a", "b", "c"], images, np.array([True, False, False]))
    >>> [(copy.id, copy.positive) for copy in copies]
    [('c', 'a')]
    """
    positives, unlabeled = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
    if len(positives) > MOST_POSITIVES:
        positives = positives[:: -(-len(positives) // MOST_POSITIVES)]
    known, known_means = _centre(thumbnails[positives])
    found: list[NearCopy] = []
    for start in range(0, len(unlabeled), ROWS_AT_A_TIME):
        rows = unlabeled[start : start + ROWS_AT_A_TIME]
        own, means = _centre(thumbnails[rows])
        nearest, distance, of_others = _find_nearest(own, known)
        spread, brighter = own.std(1), np.abs(means - known_means[nearest])
        is_copy = (
            (distance <= np.minimum(MOST_LEVELS, np.maximum(1.0, MOST_SHARE * spread)))
            & (brighter <= np.maximum(1.0, MOST_BRIGHTER * spread))
            & (distance <= MOST_OF_OTHERS * of_others)
        )
        for k in np.flatnonzero(is_copy):
            row, twin = rows[k], positives[nearest[k]]
            if features is None or _compute_cosine(features[row], features[twin]) >= LEAST_COSINE:
                found.append(NearCopy(names[row], names[twin], round(float(distance[k]), 2)))
    return sorted(found, key=lambda copy: (copy.distance, copy.id))


def _centre(thumbnails: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the numbers of each image less their mean, and the means."""
    flat = thumbnails.reshape(len(thumbnails), -1).astype(np.float32)
    means = flat.mean(1)
    return flat - means[:, None], means


def _find_nearest(
    rows: NDArray[np.float32], known: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float32]]:
    """Return for each row the nearest of the known ones, how far it is, and how far others are."""
    squares = (known**2).sum(1) - 2 * rows @ known.T
    nearest = squares.argmin(1)
    # Again, exactly: the difference of large squares has lost its digits.
    distance = _measure_distance(rows, known[nearest])
    if len(known) < N_OTHERS:
        return nearest, distance, np.full_like(distance, np.inf)
    others = np.argpartition(squares, N_OTHERS - 1, axis=1)[:, N_OTHERS - 1]
    return nearest, distance, _measure_distance(rows, known[others])


def _measure_distance(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the root mean square of the differences in each row."""
    return np.sqrt(((a - b) ** 2).mean(1))


def _compute_cosine(a: NDArray, b: NDArray) -> float:
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-12))
