"""One network of a cross-fitted classifier, and the rows it may see."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mixpul._util.ranks import take_from_main
from mixpul.nets import KernelFeatures, KernelNet
from mixpul.training import PUBatches, is_faster_in_bfloat16

__all__ = ["Member", "choose_precision", "return_float"]


class Member:
    """A network with randomness of its own, the rows it trains on and the rows held out.

    Parameters
    ----------
    net : nn.Module
        The network in training.
    is_seen : ndarray of bool of shape (n,)
        The rows it may see.
    seed : int
    decay : float, default=0.0
        Its weight decay.
    setting : int, default=0
        The number of its setting, if there are several.
    is_negative : ndarray of bool of shape (n,), or False
        Verified negatives.

    Attributes
    ----------
    net : nn.Module
    decay : float
    setting : int
    rng : numpy.random.Generator
        For what is drawn in numpy: mixing weights, miners.
    generator : torch.Generator
        For what is drawn in torch: the order of rows, augmentation.
    streams : list
        All sources of randomness in a fixed order; a checkpoint stores their states.
    seen, held_out : Tensor of int64
        Row numbers.
    judges : Tensor of int64
        Rows held out that judge the network: positives and unlabeled ones.
    verified : ndarray of int
        Verified negatives that it may see.
    batches : PUBatches
        Set when the member is built.
    features : KernelFeatures or None
        What `net` takes instead of the rows themselves.
    """

    batches: PUBatches
    features: KernelFeatures | None = None

    def __init__(
        self,
        net: nn.Module,
        is_seen: NDArray[np.bool_],
        seed: int,
        decay: float = 0.0,
        setting: int = 0,
        is_negative: NDArray[np.bool_] | bool = False,
    ) -> None:
        self.net, self.decay, self.setting = net, decay, setting
        self.rng = np.random.default_rng(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.streams: list[torch.Generator | np.random.Generator] = [self.generator, self.rng]
        self.seen = torch.from_numpy(np.flatnonzero(is_seen))
        self.held_out = torch.from_numpy(np.flatnonzero(~is_seen))
        self.judges = torch.from_numpy(np.flatnonzero(~is_seen & np.logical_not(is_negative)))
        self.verified = np.flatnonzero(is_seen & is_negative)

    def wrap(self, net: nn.Module) -> nn.Module:
        """Return a network for the rows themselves."""
        return net if self.features is None else KernelNet((), self.features, net)


def choose_precision(precision: str | None, member: Member) -> Callable[[], Any]:
    """Return a maker of the context in which losses are computed."""
    if precision is None:
        return nullcontext
    some = member.batches.rows(member.seen[: member.batches.batch_size])
    # One rank may be busier than another, so the first one decides.
    if precision == "auto" and not take_from_main(is_faster_in_bfloat16(member.net, some)):
        return nullcontext
    return partial(torch.autocast, some.device.type, torch.bfloat16)


def return_float(net: nn.Module, x: Any, logits: Tensor) -> Tensor:
    """Hand on logits in single precision, whatever a network computes in."""
    return logits.float()
