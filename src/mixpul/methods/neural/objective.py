"""What a member is trained for: the terms of its loss, and what goes with them."""

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from mixpul.methods.neural.member import Member
from mixpul.training import Batch

__all__ = ["JointObjective", "Objective"]

# How many batches batch norm takes its statistics from: more would hardly change them.
CLEAN_BATCHES = 100


class Method(Protocol):
    """What an objective needs of a classifier."""

    net_: nn.Module

    def _loss_terms(self, batch: Batch, progress: float) -> dict[str, Tensor]: ...


class Objective:
    """The objective of one member: this one asks the method for its `_loss_terms`.

    A method with a state of its own per network, a teacher say, writes a subclass and returns it
    from `NeuralPUClassifier._make_objective` (see `MixPULObjective`).

    Parameters
    ----------
    method : NeuralPUClassifier
        Holds the settings.
    member : Member
    """

    def __init__(self, method: Method, member: Member) -> None:
        self.method, self.member = method, member

    def terms(self, batch: Batch, progress: float) -> dict[str, Tensor]:
        """Return the weighted terms of the loss; `progress` runs from 0 to 1."""
        self.method.net_ = self.member.net
        return self.method._loss_terms(batch, progress)

    def after_step(self) -> None:
        """Follow up on each step."""

    def resume(self, n_steps: int) -> None:
        """Set counters when a training is taken up after `n_steps` steps."""

    @property
    def predictor(self) -> nn.Module:
        """The network that predicts; by default the one that is trained."""
        return self.member.net

    def clean_batches(self) -> Iterator[Tensor]:
        """Yield batches for the statistics of batch norm: as in training, of rows as they are.

        Positives are half of a batch. A loss that sets the threshold itself has set it for outputs
        that were normalised so; by the statistics of all rows nnPU calls far too many positive.
        """
        batches = copy.copy(self.member.batches)
        batches.augment = None
        return (torch.cat(batch) for batch in islice(batches, CLEAN_BATCHES))


class JointObjective:
    """Several objectives trained in one loop, each on batches of its own.

    Parameters
    ----------
    objectives : sequence of Objective
    precision : callable
        Makes the context in which losses are computed.
    """

    def __init__(self, objectives: Sequence[Objective], precision: Callable[[], Any]) -> None:
        self.objectives, self.precision = objectives, precision

    @property
    def networks(self) -> nn.Module:
        """What is trained: a module with the parameters of all networks."""
        return nn.ModuleList([objective.member.net for objective in self.objectives])

    def list_running(self) -> list[nn.Module]:
        """Return all networks that run on rows in the course of a training."""
        return [*self.networks.children(), *(one.predictor for one in self.objectives)]

    def list_decays(self) -> list[float | Tensor]:
        """Return the weight decay of each parameter of `networks`."""
        members = [objective.member for objective in self.objectives]
        return [member.decay for member in members for _ in member.net.parameters()]

    def __len__(self) -> int:
        """Count the steps of an epoch: as many as the shortest source of batches has."""
        return min(len(objective.member.batches) for objective in self.objectives)

    def __iter__(self) -> Iterator[tuple[Batch, ...]]:
        # Not strict: folds may differ by a row, and so by a batch.
        return zip(*(objective.member.batches for objective in self.objectives), strict=False)

    def terms(self, batches: tuple[Batch, ...], progress: float) -> dict[str, Tensor]:
        """Return each term summed over the objectives."""
        with self.precision():
            each = [
                objective.terms(batch, progress)
                for objective, batch in zip(self.objectives, batches, strict=True)
            ]
        # A sum, not a mean: each network gets the gradient it would have on its own.
        return {name: torch.stack([terms[name] for terms in each]).sum() for name in each[0]}

    def after_step(self) -> None:
        """Follow up on each step."""
        for objective in self.objectives:
            objective.after_step()

    def resume(self, n_steps: int) -> None:
        """Set counters when a training is taken up after `n_steps` steps."""
        for objective in self.objectives:
            objective.resume(n_steps)
