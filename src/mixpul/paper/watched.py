"""MixPUL that is watched while it trains, for the figures of the paper."""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from mixpul import MixPULClassifier
from mixpul.training import as_rows, score_rows

__all__ = ["WatchedMixPUL", "share_wrong"]

# Test error is looked at this many times in the course of a training.
LOOKS = 200


class WatchedMixPUL(MixPULClassifier):
    """MixPUL that notes the error on given rows in the course of its training.

    Nothing of it reaches the training.
    """

    def watch(self, X: NDArray, y: NDArray) -> Self:
        """Note the error on these rows from now on, in `curve`."""
        self._watched_X, self._watched_y = X, y
        self.curve: dict[str, list[float]] = {"step": [], "error": [], "student_error": []}
        return self

    def _prepare(self) -> None:
        super()._prepare()
        self._step = 0

    def _after_step(self) -> None:
        super()._after_step()
        self._step += 1
        n_steps = len(self._batches) * self.n_epochs
        if self._step % max(1, n_steps // LOOKS):
            return
        # Steps are counted per network; the curve is one list for all copies of this classifier.
        self.curve["step"].append(self._step)
        self.curve["error"].append(self._error(self._teacher.net))
        self.curve["student_error"].append(self._error(self.net_))

    def _error(self, net: Any) -> float:
        rows = as_rows(self._watched_X, torch.device("cpu"))
        scores = score_rows(net, rows, torch.arange(len(self._watched_y)))
        return share_wrong(self._watched_y, scores > 0)


def share_wrong(y: NDArray, is_positive: NDArray) -> float:
    """Return the share of rows that are put into the wrong class."""
    return float(np.mean(is_positive != (y == 1)))
