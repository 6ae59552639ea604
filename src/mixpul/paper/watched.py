"""MixPUL that is watched while it trains, for the figures of the paper."""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from mixpul.methods.mixpul import MixPULClassifier, MixPULObjective
from mixpul.methods.neural import Member
from mixpul.training import as_rows, score_rows

__all__ = ["WatchedMixPUL", "share_wrong"]

# Test error is looked at this many times in the course of a training.
LOOKS = 200


class WatchedMixPUL(MixPULClassifier):
    """MixPUL that notes the error on given rows in the course of its training.

    The training is not affected by it.
    """

    def watch(self, X: NDArray, y: NDArray) -> Self:
        """Note the error on these rows from now on, in `curve`."""
        # Not parameters: watching must not change the recipe, hence the id, of a trial.
        self._watched_X, self._watched_y = X, y
        self.curve: dict[str, list[float]] = {"step": [], "error": [], "student_error": []}
        return self

    def measure_error(self, net: Any) -> float:
        """Return the share of the watched rows that `net` puts into the wrong class."""
        rows = as_rows(self._watched_X, torch.device("cpu"))
        scores = score_rows(net, rows, torch.arange(len(self._watched_y)))
        return share_wrong(self._watched_y, scores > 0)

    def _make_objective(self, member: Member) -> "WatchedObjective":
        return WatchedObjective(self, member)


class WatchedObjective(MixPULObjective):
    """MixPUL's objective that looks at the error after some of the steps."""

    method: WatchedMixPUL
    n_steps = 0

    def after_step(self) -> None:
        """Move the teacher, then note the errors of both networks if it is time to."""
        super().after_step()
        self.n_steps += 1
        n_steps = len(self.member.batches) * self.method.n_epochs
        # A short training may have fewer steps than looks.
        if self.n_steps % max(1, n_steps // LOOKS):
            return
        # Steps are counted per network; the curve is one list for all of them.
        curve = self.method.curve
        curve["step"].append(self.n_steps)
        curve["error"].append(self.method.measure_error(self.teacher.net))
        curve["student_error"].append(self.method.measure_error(self.member.net))


def share_wrong(y: NDArray, is_positive: NDArray) -> float:
    """Return the share of rows that are put into the wrong class."""
    return float(np.mean(is_positive != (y == 1)))
