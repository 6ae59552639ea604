"""What rows would score if one of their columns told nothing: the same rows with it shuffled."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

__all__ = ["N_PERMUTATIONS", "sample_rows", "score_shuffled_columns"]

# Rows that are shuffled at most, and how often: enough for a standard error of some thousandths.
MOST_POSITIVES, MOST_UNLABELED, N_PERMUTATIONS = 1_000, 3_000, 3

# Takes rows, perhaps changed ones, and their places in the fit.
Scorer = Callable[[Any, NDArray[np.intp]], NDArray]


def sample_rows(
    is_positive: NDArray[np.bool_], random: np.random.Generator, share: float = 1.0
) -> NDArray[np.intp]:
    """Return places of at most 1,000 positives and 3,000 unlabeled rows, or a share of these."""
    positive, unlabeled = (
        random.permutation(np.flatnonzero(kind))[: max(int(share * most), 1)]
        for kind, most in ((is_positive, MOST_POSITIVES), (~is_positive, MOST_UNLABELED))
    )
    return np.sort(np.concatenate([positive, unlabeled]))


def score_shuffled_columns(
    rows: Any,
    places: NDArray[np.intp],
    spans: Iterable[tuple[int, int]],
    parts: Sequence[NDArray[np.intp]],
    scorers: Sequence[Scorer],
    random: np.random.Generator,
) -> Iterator[NDArray[np.float32]]:
    """Yield for each span of columns the scores when it is shuffled, (N_PERMUTATIONS, n).

    `places` are those of the rows in the fit. `parts` are the rows of each scorer, which they are
    shuffled among: a row gets values of rows that its scorer has not seen either.
    """
    # One thread: several of them wait for each other with so few rows. Asked for once, because that
    # takes as long as to score a column.
    with threadpool_limits(1):
        for start, stop in spans:
            orders = [[random.permutation(part) for part in parts] for _ in range(N_PERMUTATIONS)]
            shuffled = np.empty((N_PERMUTATIONS, len(places)), dtype=np.float32)
            for part, scorer, *own in zip(parts, scorers, *orders, strict=True):
                # All permutations at once: trees take longer to get ready than to score some rows.
                changed = _replace(rows, part, np.concatenate(own), start, stop)
                scores = scorer(changed, np.tile(places[part], N_PERMUTATIONS))
                shuffled[:, part] = scores.reshape(N_PERMUTATIONS, -1)
            yield shuffled


def _replace(rows: Any, part: NDArray, other: NDArray, start: int, stop: int) -> Any:
    """Repeat the rows of a part, with some columns of other rows."""
    repeated = np.tile(part, N_PERMUTATIONS)
    changed = rows[repeated]
    if not sparse.issparse(rows):
        changed[:, start:stop] = rows[other, start:stop]
        return changed
    columns = rows[:, start:stop]
    difference = columns[other] - columns[repeated]
    before = sparse.csr_matrix((len(repeated), start), dtype=rows.dtype)
    after = sparse.csr_matrix((len(repeated), rows.shape[1] - stop), dtype=rows.dtype)
    return (changed + sparse.hstack([before, difference, after])).tocsr()
