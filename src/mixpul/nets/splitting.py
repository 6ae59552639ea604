"""Networks that run on a share of their rows in each of several processes."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mixpul._util.errors import MixpulError
from mixpul._util.ranks import count_ranks, gather_rows, share_rows, sum_over_ranks
from mixpul.nets._side_by_side import SideBySide

__all__ = ["split_over_ranks"]

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
DROPOUTS = (
    nn.Dropout,
    nn.Dropout1d,
    nn.Dropout2d,
    nn.Dropout3d,
    nn.AlphaDropout,
    nn.FeatureAlphaDropout,
)


@contextmanager
def split_over_ranks(nets: Iterable[nn.Module]) -> Iterator[None]:
    """Let networks run on this rank's share of the rows inside, and return all logits.

    Batch norm takes the moments of all rows. Dropout is refused: the masks of a single process
    cannot be had. With one process, networks stay as they are.
    """
    if count_ranks() == 1:
        yield
        return
    # Each once: a network in training may also be the one that predicts.
    every = list({id(net): net for net in nets}.values())
    norms = [part for net in every for part in net.modules() if isinstance(part, BATCH_NORMS)]
    for net in every:
        _check_dropout(net)
    # Set on the objects themselves, so that states, types and files are as ever.
    for norm in norms:
        vars(norm)["forward"] = partial(_normalise, norm)
    for net in every:
        axis = 1 if isinstance(net, SideBySide) else 0
        vars(net)["forward"] = partial(_run_share, net.forward, axis)
    try:
        yield
    finally:
        for changed in (*norms, *every):
            changed.__dict__.pop("forward", None)


def _run_share(forward: Callable[[Tensor], Tensor], axis: int, x: Tensor) -> Tensor:
    n = x.shape[axis]
    share = share_rows(n)
    return gather_rows(forward(x.narrow(axis, share.start, share.stop - share.start)), n)


def _normalise(norm: Any, x: Tensor) -> Tensor:
    """Do what batch norm does, by the moments of the rows of all ranks."""
    if not (norm.training or norm.running_mean is None):
        # Known moments: each row stands for itself.
        return F.batch_norm(
            x, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps
        )
    rows = x.float()
    axes = [axis for axis in range(x.ndim) if axis != 1]
    shape = [1, -1] + [1] * (x.ndim - 2)
    count = sum_over_ranks(rows.new_tensor([rows.numel() / max(rows.shape[1], 1)]))
    mean = sum_over_ranks(rows.sum(axes)) / count
    # The mean first: a difference of two large sums would lose digits.
    centred = rows - mean.view(shape)
    variance = sum_over_ranks(centred.square().sum(axes)) / count
    if norm.training and norm.running_mean is not None:
        _follow(norm, mean, variance * count / (count - 1))
    scaled = centred * torch.rsqrt(variance + norm.eps).view(shape)
    if norm.weight is not None:
        scaled = scaled * norm.weight.view(shape) + norm.bias.view(shape)
    return scaled.to(x.dtype)


@torch.no_grad()
def _follow(norm: Any, mean: Tensor, variance: Tensor) -> None:
    """Move the running moments towards those of the batch."""
    norm.num_batches_tracked += 1
    rate = 1 / float(norm.num_batches_tracked) if norm.momentum is None else norm.momentum
    norm.running_mean.lerp_(mean, rate)
    norm.running_var.lerp_(variance, rate)


def _check_dropout(net: nn.Module) -> None:
    for part in net.modules():
        if isinstance(part, DROPOUTS) and part.p:
            raise MixpulError(
                "The network has dropout, whose masks would differ from those of one process; "
                "leave it out, or train in one process."
            )
