"""Text as a few numbers: hashed words and groups of letters, and the directions they spread in.

The steps are scikit-learn's `HashingVectorizer`, weights for rare groups, and `TruncatedSVD`, as in
skrub's `StringEncoder`. All that has to be stored are two arrays, written as text into the plan.
"""

import base64
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

__all__ = ["embed_texts", "plan_embedding", "read_embedding"]

N_BUCKETS = 2**11  # of words, and as many of groups of letters
# Texts that directions are found from, and letters of each that count: memory stays bounded.
MOST_TEXTS, LONGEST_TEXT = 20_000, 1_000
TEXTS_AT_ONCE = 5_000


def plan_embedding(
    texts: Sequence[str], counts: NDArray[np.intp], n_components: int
) -> dict[str, Any] | None:
    """Find the directions in which texts differ most; None if they hardly differ at all.

    Parameters
    ----------
    texts : sequence of str
        Each of them once.
    counts : ndarray of int
        How many rows have each.
    n_components : int
        The most numbers that a text becomes.
    """
    from sklearn.utils.extmath import randomized_svd

    # Sorted, so that the order of rows does not matter; every so many of them, if there are many.
    order = sorted(range(len(texts)), key=lambda k: texts[k])[:: -(-len(texts) // MOST_TEXTS)]
    grams = _count_grams([texts[k] for k in order])
    weight = counts[order] / counts[order].sum()
    n_components = min(n_components, len(order) - 1, len(np.unique(grams.indices)) - 1)
    if n_components < 1:
        return None
    # Those in all texts say nothing, rare ones say much.
    share = np.asarray(weight @ (grams != 0)).ravel()
    rarity = np.log((1 + len(order)) / (1 + share * len(order)))
    weighted = sparse.diags_array(np.sqrt(weight * len(order))) @ grams @ sparse.diags_array(rarity)
    with threadpool_limits(1):  # several threads add up in another order
        _, sizes, directions = randomized_svd(weighted, n_components, random_state=0)
    kept = directions[sizes > 1e-6 * max(sizes[0], 1e-12)]
    if not len(kept):
        return None
    matrix = kept.T * rarity[:, None]
    numbers = grams @ matrix
    centre = weight @ numbers
    scale = np.sqrt(weight @ (numbers - centre) ** 2)
    # One scale for all: together they count as much as one number, and a direction in which texts
    # differ less counts less.
    whole = float(np.sqrt((scale**2).sum())) or 1.0
    matrix, centre = matrix / whole, centre / whole
    return {
        "size": matrix.shape[1],
        "matrix": _write(matrix),
        "centre": _write(centre),
    }


def embed_texts(plan: dict[str, Any], texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the numbers of each text."""
    matrix, centre = read_embedding(plan)
    out = np.empty((len(texts), centre.size), dtype=np.float32)
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        piece = slice(start, start + TEXTS_AT_ONCE)
        out[piece] = _count_grams(texts[piece]) @ matrix - centre
    return out


def read_embedding(plan: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the arrays of a plan; refuse some that do not fit together."""
    size = plan["size"]
    # Four letters of text for three bytes: a file cannot ask for more memory than it takes itself.
    matrix, centre = (
        np.frombuffer(base64.b64decode(plan[name], validate=True), dtype="<f4")
        for name in ("matrix", "centre")
    )
    is_whole = centre.size == size and matrix.size == 2 * N_BUCKETS * size
    if not is_whole or not np.isfinite(matrix).all() or not np.isfinite(centre).all():
        raise ValueError("The plan of a text column is broken: its arrays do not fit together.")
    return matrix.reshape(2 * N_BUCKETS, size).astype(np.float64), centre.astype(np.float64)


def _count_grams(texts: Sequence[str]) -> sparse.csr_array:
    """Return a row per text: which words and which groups of three letters it has."""
    short = [text[:LONGEST_TEXT].lower() for text in texts]
    return sparse.csr_array(
        sparse.hstack([vectorizer.transform(short) for vectorizer in _make_vectorizers()])
    )


@cache
def _make_vectorizers() -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import HashingVectorizer

    settings = {"n_features": N_BUCKETS, "alternate_sign": False, "norm": "l2", "lowercase": False}
    return (
        HashingVectorizer(analyzer="word", token_pattern=r"(?u)\w+", binary=True, **settings),
        HashingVectorizer(analyzer="char_wb", ngram_range=(3, 3), binary=True, **settings),
    )


def _write(array: NDArray) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()
