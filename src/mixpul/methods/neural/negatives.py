"""Reliable negatives in the course of a training."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["MinedNegatives", "rank_negatives"]

NEVER = torch.iinfo(torch.int64).max


class MinedNegatives:
    """The rows that a miner picks as negatives, once or anew before each epoch.

    Parameters
    ----------
    miner : NegativeMiner
    X : array or sparse matrix of n rows
    positive, unlabeled : ndarray of int
        Row numbers of the two kinds.
    n : int
        How many negatives to pick.
    verified : ndarray of int, default=()
        Row numbers of verified negatives, which join the picked ones in each epoch.
    share : float, default=0.0
        Their share of all negatives of an epoch.

    Attributes
    ----------
    unlabeled : ndarray of int
    best_place : Tensor of int64 of shape (n_unlabeled,)
        The best place of each row in any list that was used; `NEVER` if it was in none.
    """

    def __init__(
        self,
        miner: Any,
        X: Any,
        positive: NDArray,
        unlabeled: NDArray,
        n: int,
        verified: NDArray | Sequence[int] = (),
        share: float = 0.0,
    ) -> None:
        self.miner, self.n = miner, n
        self.verified, self.share = np.asarray(verified, dtype=np.int64), share
        # A miner that draws at random needs no rows: none are copied for it.
        self.X = X if getattr(miner, "reads_rows", True) else np.empty((X.shape[0], 0))
        self.positive, self.unlabeled = positive, unlabeled
        self.best_place: Tensor = torch.full((len(unlabeled),), NEVER)
        self.is_renewed = bool(getattr(miner, "every_epoch", False))
        # Mined at once also if each epoch mines anew: a miner that fails, fails before training.
        self._first = self._mine()
        if not self.is_renewed:
            self._note(self._first)

    def __call__(self) -> NDArray:
        """Return the row numbers of the negatives of the next epoch."""
        if not self.is_renewed:
            return self._add_verified(self.unlabeled[self._first])
        mined = self._mine()
        self._note(mined)
        return self._add_verified(self.unlabeled[mined])

    def _add_verified(self, mined: NDArray) -> NDArray:
        """Add verified negatives, each as often as their share asks for, at least once."""
        if not len(self.verified):
            return mined
        n = max(len(self.verified), round(self.share / (1 - self.share) * len(mined)))
        return np.concatenate([mined, np.resize(self.verified, n)])

    def _note(self, mined: NDArray[np.int64]) -> None:
        places = torch.arange(len(mined))
        self.best_place.scatter_reduce_(0, torch.from_numpy(mined), places, "amin")

    def _mine(self) -> NDArray[np.int64]:
        """Ask the miner, and check its answer: numbers within the unlabeled rows."""
        rows, name = self.X, type(self.miner).__name__
        mined = np.asarray(self.miner.mine(rows[self.positive], rows[self.unlabeled], self.n))
        if mined.ndim != 1 or mined.dtype.kind not in "iu" or not len(mined):
            raise ValueError(
                f"{name}.mine must return a list of row numbers; got {mined.dtype} of shape "
                f"{mined.shape}."
            )
        if mined.min() < 0 or mined.max() >= len(self.unlabeled):
            raise ValueError(
                f"{name}.mine returned row numbers from {mined.min()} to {mined.max()}; there are "
                f"{len(self.unlabeled)} unlabeled rows."
            )
        return mined.astype(np.int64)


def rank_negatives(sources: list[MinedNegatives]) -> NDArray:
    """Return all rows that were used as negatives; a row counts by its best place in any list."""
    place = np.concatenate([source.best_place.numpy() for source in sources])
    rows = np.concatenate([source.unlabeled for source in sources])
    # Members are the second key: at equal places the first member's row comes first.
    order = np.argsort(place, kind="stable")
    order = order[place[order] < NEVER]
    _, first = np.unique(rows[order], return_index=True)
    return rows[order][np.sort(first)]
