"""Which epochs to keep, judged by rows the networks have not seen."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor, nn

from mixpul._util.errors import TrainingDiverged
from mixpul.base import HeldOut
from mixpul.metrics import pu_auc_score
from mixpul.training import WAY_OUT, Rows, score_rows

__all__ = [
    "GAP",
    "PU_AUC",
    "AverageOfEach",
    "Criterion",
    "EpochAverage",
    "score_gap",
    "score_held_out",
]


def score_gap(is_positive: NDArray[np.bool_], logits: NDArray) -> float:
    """Return the mean probability of labeled positives less that of unlabeled rows.

    In expectation it is (1 - prior) times the same gap between positives and negatives: needs no
    prior, as PU-AUC. It does not count how positives are ordered among themselves, which is most
    of the noise of PU-AUC where classes are far apart, and it minds how sure scores are.
    """
    probability = expit(logits)
    return float(probability[is_positive].mean() - probability[~is_positive].mean())


class Criterion(NamedTuple):
    """How an epoch is judged.

    An epoch that is worse than the best one by `slack` / sqrt(number of positives) weighs e times
    less: with a dozen of them any judgement is noisy, and the one best epoch often a fluke.
    """

    name: str
    judge: Callable[[NDArray[np.bool_], NDArray], float]
    slack: float


PU_AUC = Criterion("pu_auc", pu_auc_score, 0.03)
GAP = Criterion("gap", score_gap, 0.01)


class EpochAverage:
    """Average of networks over the epochs of a training, in which better epochs weigh more.

    After each epoch the networks score the rows they have not seen, and the pooled scores are
    judged as one. Weights decay with the distance from the best epoch in units of its uncertainty
    (measured: to pick that one costs up to .07 AUC); with thousands of positives this is the best
    epoch.

    Parameters
    ----------
    nets : list of nn.Module
        Networks in training.
    held_out : list of Tensor of int64
        For each network the rows it has not seen; disjoint, and empty where it has seen all.
    rows : callable
        Fetches rows by number.
    is_positive : ndarray of bool
    patience : int or None
        Epochs without a new best after which to stop; None takes the last epoch as it is.
    criterion : Criterion, default=PU_AUC

    Attributes
    ----------
    n_epochs : int
        The best epoch, or the last one.
    """

    def __init__(
        self,
        nets: list[nn.Module],
        held_out: list[Tensor],
        rows: Rows,
        is_positive: NDArray[np.bool_],
        patience: int | None,
        criterion: Criterion = PU_AUC,
    ) -> None:
        self.nets, self.held_out, self.rows, self.is_positive = nets, held_out, rows, is_positive
        self.patience = patience if any(map(len, held_out)) else None
        n_judges = sum(int(is_positive[part.numpy()].sum()) for part in held_out)
        self.criterion = criterion
        self._slack = criterion.slack / math.sqrt(max(n_judges, 1))
        self.n_epochs = 0
        self._best = -math.inf
        self._weight = 0.0
        # float64: with few positives dozens of nearly equal epochs add up.
        self._sums = [
            {k: torch.zeros_like(v, dtype=torch.float64) for k, v in _list_floats(net).items()}
            for net in nets
        ]

    def __call__(self, record: dict[str, float]) -> bool:
        """Take the epoch into account, note how it is judged; say whether to stop."""
        epoch = int(record["epoch"])
        if self.patience is None:
            self.n_epochs = epoch
            return False
        scores, is_known = score_held_out(
            self.nets, self.held_out, self.rows, len(self.is_positive)
        )
        if np.isnan(scores[is_known]).any():
            raise TrainingDiverged(
                f"Training diverged: after epoch {epoch} the scores of held-out rows are NaN. "
                f"{WAY_OUT}"
            )
        # PU-AUC is noted for users in any case; as keys, it is not computed twice.
        for criterion in dict.fromkeys((PU_AUC, self.criterion)):
            record[criterion.name] = criterion.judge(self.is_positive[is_known], scores[is_known])
        value = record[self.criterion.name]
        # Before the best is updated: an epoch is weighed against the best so far.
        self._add(value)
        if value > self._best:
            self._best, self.n_epochs = value, epoch
        return self.is_over(epoch)

    def is_over(self, epoch: int) -> bool:
        """Whether to stop after `epoch`."""
        return self.patience is not None and epoch - self.n_epochs >= self.patience

    def _add(self, value: float) -> None:
        # Weights are relative to the best epoch so far: a new best shrinks what went before.
        fade = math.exp(min(0.0, (self._best - value) / self._slack))
        weight = math.exp(min(0.0, (value - self._best) / self._slack))
        self._weight = fade * self._weight + weight
        for net, sums in zip(self.nets, self._sums, strict=True):
            for name, tensor in _list_floats(net).items():
                sums[name].mul_(fade).add_(tensor, alpha=weight)

    def finish(self) -> None:
        """Turn the networks into their averages."""
        if self.patience is None:
            return
        for net, sums in zip(self.nets, self._sums, strict=True):
            for name, value in _list_floats(net).items():
                value.copy_(sums[name] / self._weight)

    def get_sums(self) -> dict[str, Tensor]:
        """Return the weighted sums so far, of all networks."""
        return {f"{k}.{name}": v for k, sums in enumerate(self._sums) for name, v in sums.items()}

    def get_values(self) -> dict[str, float]:
        """Return what else there is to remember, as plain numbers."""
        return {"n_epochs": self.n_epochs, "best": self._best, "weight": self._weight}

    def restore(self, sums: dict[str, Tensor], values: dict[str, float]) -> None:
        """Go back to what `get_sums` and `get_values` returned."""
        for name, value in self.get_sums().items():
            value.copy_(sums[name])
        self.n_epochs, self._best = int(values["n_epochs"]), values["best"]
        self._weight = values["weight"]


class AverageOfEach:
    """An `EpochAverage` for each of several settings; training goes on until all are over.

    Parameters
    ----------
    averages : list of EpochAverage

    Attributes
    ----------
    nets : list of nn.Module
        The networks of all settings, one setting after the other.
    """

    def __init__(self, averages: list[EpochAverage]) -> None:
        self.averages = averages
        self.nets = [net for average in averages for net in average.nets]

    @property
    def n_epochs(self) -> int:
        """The latest best epoch of any setting."""
        return max(average.n_epochs for average in self.averages)

    def __call__(self, record: dict[str, float]) -> bool:
        """Take the epoch into account where it still counts; note the mean judgement."""
        epoch = int(record["epoch"])
        judged = []
        for average in self.averages:
            if not average.is_over(epoch - 1):
                own: dict[str, float] = {"epoch": epoch}
                average(own)
                judged.append(own)
        # In the order of a single setting, which a set would not keep.
        for name in [name for name in judged[0] if name != "epoch"]:
            record[name] = float(np.mean([own[name] for own in judged]))
        return self.is_over(epoch)

    def is_over(self, epoch: int) -> bool:
        """Whether to stop after `epoch`."""
        return all(average.is_over(epoch) for average in self.averages)

    def finish(self) -> None:
        """Turn the networks into their averages."""
        for average in self.averages:
            average.finish()

    def get_sums(self) -> dict[str, Tensor]:
        """Return the weighted sums so far, of all networks."""
        each = enumerate(average.get_sums() for average in self.averages)
        return {f"{k}.{name}": value for k, sums in each for name, value in sums.items()}

    def get_values(self) -> dict[str, Any]:
        """Return what else there is to remember, as plain numbers."""
        return {"each": [average.get_values() for average in self.averages]}

    def restore(self, sums: dict[str, Tensor], values: dict[str, Any]) -> None:
        """Go back to what `get_sums` and `get_values` returned."""
        for k, (average, own) in enumerate(zip(self.averages, values["each"], strict=True)):
            prefix = f"{k}."
            of_one = {n.removeprefix(prefix): v for n, v in sums.items() if n.startswith(prefix)}
            average.restore(of_one, own)


def score_held_out(nets: list[nn.Module], held_out: list[Tensor], rows: Rows, n: int) -> HeldOut:
    """Score each row by the network that has not seen it; `n` is the number of all rows."""
    scores, is_known = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=bool)
    for net, own in zip(nets, held_out, strict=True):
        scores[own.numpy()] = score_rows(net, rows, own)
        is_known[own.numpy()] = True
    return HeldOut(scores, is_known)


def _list_floats(net: nn.Module) -> dict[str, Tensor]:
    """Return the entries of the network's state that can be averaged; views, not copies."""
    return {k: v for k, v in net.state_dict().items() if v.is_floating_point()}
