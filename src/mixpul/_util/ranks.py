"""Several processes, called ranks, that train together: the one door to `torch.distributed`.

Every rank draws the same batch from the same generators, runs the network on its share of the rows,
and gathers the logits of all. So each rank computes the loss of the joint batch, whatever
that loss is, and takes the step that a single process would take. With one rank nothing is done.

Gradients: all ranks hold the same loss. What is gathered sends its gradient back times the number
of ranks, and the gradients of weights are averaged. So a weight that a loss uses directly, as in a
penalty, counts once, too.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from mixpul._util.errors import MixpulError, RankLost

__all__ = [
    "average_gradients",
    "check_same",
    "count_ranks",
    "gather_rows",
    "get_rank",
    "is_main",
    "join_ranks",
    "share_rows",
    "sum_over_ranks",
    "take_from_main",
]

# A rank that is killed is noticed at once. This is for one that hangs, or a network that is gone,
# and longer than one rank may need to read images after another.
SECONDS_TO_WAIT = 600


def count_ranks() -> int:
    """Return how many processes train together; 1 without a process group."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def get_rank() -> int:
    """Return the number of this process among them."""
    return dist.get_rank() if count_ranks() > 1 else 0


def is_main() -> bool:
    """Whether this process writes files and prints."""
    return get_rank() == 0


def share_rows(n: int) -> slice:
    """Return which of `n` rows are for this rank; shares differ by one row at most."""
    rank, n_ranks = get_rank(), count_ranks()
    return slice(n * rank // n_ranks, n * (rank + 1) // n_ranks)


def gather_rows(own: Tensor, n: int) -> Tensor:
    """Put the shares of all ranks together, along the last axis, which becomes `n` long."""
    return _Gather.apply(own, n)


def sum_over_ranks(own: Tensor) -> Tensor:
    """Return the sum of a tensor over all ranks; each goes on with it for its own rows."""
    return _Sum.apply(own)


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """Replace the gradients by their means over all ranks."""
    if count_ranks() == 1:
        return
    gradients = [p.grad for p in parameters if p.grad is not None]
    # One message for all of them: many small ones would mostly wait.
    joint = torch.cat([gradient.flatten() for gradient in gradients])
    _add_up(joint)
    joint /= count_ranks()
    parts = joint.split([gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view(gradient.shape))


def take_from_main(value: bool) -> bool:
    """Return what the main process says: ranks must never part ways."""
    if count_ranks() == 1:
        return value
    said = _place(torch.tensor([float(value)]))
    with _explain_loss():
        dist.broadcast(said, 0)
    return bool(said.item())


def check_same(what: bytes) -> None:
    """Refuse a training for which the ranks have not been given the same."""
    if count_ranks() == 1:
        return
    own = _place(torch.tensor(list(what), dtype=torch.uint8))
    main = own.clone()
    with _explain_loss():
        dist.broadcast(main, 0)
    is_other = _place(torch.tensor([float(not torch.equal(own, main))]))
    # All say it: a rank that stopped alone would leave the others waiting.
    _add_up(is_other)
    if is_other.item():
        raise MixpulError(
            "The processes of this training do not start from the same: rows, settings, first "
            "weights or checkpoint differ. Give all of them the same."
        )


@contextmanager
def join_ranks() -> Iterator[None]:
    """Join the processes that `torchrun` has started, if it has; leave them at the end."""
    is_started = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys()
    if not is_started or dist.is_initialized():
        yield
        return
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        # From here on "cuda" means the GPU of this rank.
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    try:
        with _explain_loss():
            dist.init_process_group(
                "nccl" if on_gpu else "gloo", timeout=timedelta(seconds=SECONDS_TO_WAIT)
            )
        yield
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


class _Gather(torch.autograd.Function):
    """All shares in place; back comes the own share of the gradient, times the ranks."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, n: int) -> Tensor:
        ctx.share = share_rows(n)
        # Zeros elsewhere, and a sum: shares need not be equally long.
        whole = own.new_zeros(*own.shape[:-1], n)
        whole[..., ctx.share] = own
        _add_up(whole)
        return whole

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0][..., ctx.share] * count_ranks(), None


class _Sum(torch.autograd.Function):
    """A sum over ranks; the gradient is that of all rows, so a sum as well."""

    @staticmethod
    def forward(ctx: Any, own: Tensor) -> Tensor:
        whole = own.clone()
        _add_up(whole)
        return whole

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        whole = gradients[0].clone()
        _add_up(whole)
        return whole


def _add_up(tensor: Tensor) -> None:
    """Add the tensors of all ranks, in place."""
    with _explain_loss():
        dist.all_reduce(tensor)


def _place(tensor: Tensor) -> Tensor:
    """Move a tensor to where the ranks can exchange it."""
    return tensor.cuda() if dist.get_backend() == "nccl" else tensor


@contextmanager
def _explain_loss() -> Iterator[None]:
    """Say in a sentence that another rank is gone."""
    try:
        yield
    except RuntimeError as error:
        raise RankLost(
            "Another process of this training has ended or does not answer; see what it said, and "
            "start all of them again. With checkpoint= a training goes on after its last epoch."
        ) from error
