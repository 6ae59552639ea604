"""One training in several processes, started by `torchrun` or with a process group of the user's.

All ranks go through the same code with the same rows and the same randomness; only networks run on
a share of each batch (see `mixpul._util.ranks`).
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import torch
from torch import nn

from mixpul._util.errors import MixpulError
from mixpul._util.ranks import average_gradients, check_same, count_ranks
from mixpul.methods.neural.objective import JointObjective
from mixpul.nets.splitting import split_over_ranks

__all__ = ["check_ranks", "train_together"]


def check_ranks(
    random_state: Any, identity: Callable[[], str], networks: nn.Module, n_epochs: int
) -> None:
    """Refuse a training that would not start the same on all ranks.

    Parameters
    ----------
    random_state : int
    identity : callable () -> str
        Says what is trained on what.
    networks : nn.Module
        With the weights from which the training starts, or goes on.
    n_epochs : int
        Epochs that are done already.
    """
    if count_ranks() == 1:
        return
    if not isinstance(random_state, Integral):
        raise MixpulError(
            "A training by several processes must draw the same numbers in each: random_state "
            f"must be a number; got {random_state!r}."
        )
    digest = hashlib.sha256(f"{identity()} {n_epochs}".encode())
    for tensor in networks.state_dict().values():
        digest.update(tensor.detach().cpu().numpy().tobytes())
    check_same(digest.digest())


@contextmanager
def train_together(joint: JointObjective, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Split the rows of each batch over the ranks inside, and add up what they learn from them."""
    if count_ranks() == 1:
        yield
        return
    parameters = list(joint.networks.parameters())
    hook = optimizer.register_step_pre_hook(lambda *_: average_gradients(parameters))
    with split_over_ranks(joint.list_running()):
        yield
    hook.remove()
