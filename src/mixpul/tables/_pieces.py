"""Rows of a table that are kept while it is read: those with the smallest keys."""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Collected", "Piece", "hash_name", "hash_rows", "keep_smallest"]

# How many rows too many are held before they are thrown away: doing so costs a copy.
SLACK = 1.25
# Constants of splitmix64, whose outputs of consecutive numbers look random.
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class Piece(NamedTuple):
    """Some rows of a part: their keys, their numbers in the part, and an Arrow table of them."""

    part: str
    keys: NDArray[np.uint64]
    rows: NDArray[np.int64]
    table: Any


def hash_name(seed: int, name: str) -> int:
    """Return a number for a part, by which the keys of its rows are seeded."""
    digest = hashlib.blake2b(f"{seed}\0{name}".encode(errors="surrogateescape"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def hash_rows(base: int, first: int, n_rows: int) -> NDArray[np.uint64]:
    """Return the keys of consecutive rows of a part: splitmix64, seeded by the part.

    The first outputs for the seed 0 are those of the published generator.

    >>> [hex(key) for key in hash_rows(0, 0, 2)]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    # Unsigned numbers wrap around, as the generator wants it.
    keys = np.arange(first + 1, first + n_rows + 1, dtype=np.uint64)
    keys *= np.uint64(STEP)
    keys += np.uint64(base)
    for shift, factor in ((30, FIRST), (27, SECOND)):
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    keys ^= keys >> np.uint64(31)
    return keys


class Collected:
    """Rows of one kind while a part is read."""

    def __init__(self, max_rows: int, limit: np.uint64 | None) -> None:
        self.max_rows = max_rows
        self.n_rows = self.n_held = 0
        self.pieces: list[Piece] = []
        self.limit = limit

    def add(
        self,
        part: str,
        keys: NDArray[np.uint64],
        numbers: NDArray[np.int64],
        batch: Any,
        chosen: NDArray[np.intp],
    ) -> None:
        """Keep those of the `chosen` rows of a batch that may be among the smallest."""
        self.n_rows += len(chosen)
        if self.limit is not None:
            chosen = chosen[keys[chosen] <= self.limit]
        if not len(chosen):
            return
        self.pieces.append(Piece(part, keys[chosen], numbers[chosen], _take(batch, chosen)))
        self.n_held += len(chosen)
        if self.n_held > SLACK * self.max_rows:
            self.pieces = keep_smallest(self.pieces, self.max_rows)
            self.n_held = self.max_rows
            self.limit = max(piece.keys.max() for piece in self.pieces)


def keep_smallest(pieces: list[Piece], n: int) -> list[Piece]:
    """Return the `n` rows with the smallest keys; of equal keys the first by part and number."""
    if sum(len(piece.keys) for piece in pieces) <= n:
        return pieces
    keys = np.concatenate([piece.keys for piece in pieces])
    limit = np.partition(keys, n - 1)[n - 1] if n else np.uint64(0)
    is_kept = keys < limit
    owners = np.repeat(np.arange(len(pieces)), [len(piece.keys) for piece in pieces])
    numbers = np.concatenate([piece.rows for piece in pieces])
    equal = sorted(
        np.flatnonzero(keys == limit),
        key=lambda place: (pieces[owners[place]].part, numbers[place]),
    )
    is_kept[equal[: n - int(is_kept.sum())]] = True
    ends = np.cumsum([len(piece.keys) for piece in pieces])[:-1]
    kept = []
    for piece, own in zip(pieces, np.split(is_kept, ends), strict=True):
        chosen = np.flatnonzero(own)
        if len(chosen):
            table = _take(piece.table, chosen)
            kept.append(Piece(piece.part, piece.keys[chosen], piece.rows[chosen], table))
    return kept


def _take(table: Any, chosen: NDArray[np.intp]) -> Any:
    import pyarrow as pa

    return table if len(chosen) == table.num_rows else table.take(pa.array(chosen))
