"""Networks that return one logit per row, and the teacher that follows a student."""

import copy
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from itertools import pairwise
from math import prod
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from mixpul._names import NETS

__all__ = [
    "MLP",
    "NETS",
    "Averaged",
    "Mirrored",
    "NetSpec",
    "SkipMLP",
    "Teacher",
    "is_ours",
    "make_linear",
    "make_narrow_skip_mlp",
    "make_net",
    "refresh_batch_norm",
]

# What torch's layers draw their first weights with.
DRAWING = (nn.init.kaiming_uniform_, nn.init.uniform_, Tensor.uniform_)

NetSpec = str | Sequence[int] | Callable[[tuple[int, ...]], nn.Module]


class MLP(nn.Module):
    """Fully connected ReLU network; images are flattened.

    No batch normalisation: on tables it costs accuracy in PU learning.

    Parameters
    ----------
    shape : tuple of int
        Shape of one row.
    widths : sequence of int, default=(256, 256)
        Units per hidden layer; empty for a linear model.
    """

    def __init__(self, shape: tuple[int, ...], widths: Sequence[int] = (256, 256)) -> None:
        super().__init__()
        sizes = [prod(shape), *widths]
        layers: list[nn.Module] = [nn.Flatten()]
        for n_in, n_out in pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).squeeze(-1)


class SkipMLP(nn.Module):
    """An MLP and a linear model side by side, their logits added; both return 0 at first.

    The first steps then follow the difference of the class means, about the best one can do with
    a handful of positives; the hidden layers take over as evidence comes in. So one network
    serves few and many positives, and early stopping picks its complexity.

    Parameters
    ----------
    shape : tuple of int
        Shape of one row.
    widths : sequence of int, default=(128, 128)
        Units per hidden layer.
    """

    def __init__(self, shape: tuple[int, ...], widths: Sequence[int] = (128, 128)) -> None:
        super().__init__()
        self.linear = MLP(shape, ())
        self.deep = MLP(shape, widths)
        # The last layers only: with all weights at 0 the hidden layers would never get a gradient.
        for path in (self.linear, self.deep):
            for parameter in path.layers[-1].parameters():
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) + self.deep(x)


def make_narrow_skip_mlp(shape: tuple[int, ...]) -> nn.Module:
    """Make a `SkipMLP` with half the width: where there are several, each may be smaller."""
    return SkipMLP(shape, (64, 64))


def make_linear(shape: tuple[int, ...]) -> nn.Module:
    """Make a network without hidden layers: logistic regression."""
    return MLP(shape, ())


class DrawFrom(TorchFunctionMode):
    """Draw the weights of layers made inside from `generator` instead of torch's own one.

    torch's own belongs to the whole process, and threads that seed it disturb each other. The
    numbers are the same: equally seeded, both generators return one stream. Each thread has its
    own stack of such modes.
    """

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        own = {"generator": self.generator} if func in DRAWING else {}
        return func(*args, **(kwargs or {}) | own)


def is_ours(net: NetSpec) -> bool:
    """Whether the package builds the network, not a user's function."""
    return NETS[net].__module__.startswith("mixpul.") if isinstance(net, str) else not callable(net)


def make_net(
    net: NetSpec, shape: tuple[int, ...], generator: torch.Generator | None = None
) -> nn.Module:
    """Build the network for rows of `shape`.

    First weights are drawn from `generator`; without one, and by a user's function, from torch's
    own generator.

    `net` is a name in `NETS`, the widths of an MLP, or a callable of the shape. The network must
    return one logit per row, (n,) or (n, 1). For images its convolutions are laid out channels
    last, which CPUs and tensor cores take in fastest.
    """
    with nullcontext() if generator is None or not is_ours(net) else DrawFrom(generator):
        built = _build(net, shape)
    if len(shape) == 3:
        # torch's annotations leave this form out.
        built.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return built


def _build(net: NetSpec, shape: tuple[int, ...]) -> nn.Module:
    if isinstance(net, str):
        return NETS[net](shape)
    if callable(net):
        built = net(shape)
        if not isinstance(built, nn.Module):
            raise TypeError(
                f"net must return a torch.nn.Module for an input shape; got {type(built).__name__}."
            )
        # A copy: a callable that returns one and the same module must not tie networks together.
        return OneLogit(copy.deepcopy(built))
    widths = list(net)
    if not all(isinstance(width, Integral) and width > 0 for width in widths):
        raise ValueError(f"net must list widths of hidden layers, integers from 1 on; got {net!r}.")
    return MLP(shape, [int(width) for width in widths])


class OneLogit(nn.Module):
    """A user's network, checked to return one logit per row."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        out = self.net(x)
        # Otherwise two outputs per row would quietly become twice as many logits.
        if out.shape not in {(len(x),), (len(x), 1)}:
            raise ValueError(
                f"The network must give one logit per row, shape ({len(x)},) or ({len(x)}, 1); "
                f"it gave {tuple(out.shape)}. For two outputs, return their difference."
            )
        return out.reshape(-1)


class Averaged(nn.Module):
    """The mean logit of several networks.

    Parameters
    ----------
    members : iterable of nn.Module
    weights : sequence of float, optional
        How much each counts; they add up to 1.
    """

    def __init__(
        self, members: Iterable[nn.Module], weights: Sequence[float] | None = None
    ) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.weights = weights

    def forward(self, x: Tensor) -> Tensor:
        if self.weights is None:
            return torch.stack([member(x) for member in self.members]).mean(0)
        pairs = zip(self.weights, self.members, strict=True)
        return torch.stack([weight * member(x) for weight, member in pairs]).sum(0)


class Mirrored(nn.Module):
    """The mean logit of an image and its mirror image.

    For networks that were trained on both: two views are better than one, at twice the cost.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        return (self.net(x) + self.net(x.flip(-1))) / 2


class Teacher:
    """Exponential moving average of a student network.

    After step t the decay is ``min(1 - 1/(t + 1), decay)``: the plain mean of all iterates until
    that would be slower than `decay`. Floating-point buffers move like parameters; counters are
    copied.

    Parameters
    ----------
    student : nn.Module
        Copied as it is; a random start of its own would pollute the first averages.
    decay : float, default=0.999

    Attributes
    ----------
    net : nn.Module
        The averaged network; it takes no gradients.
    """

    def __init__(self, student: nn.Module, decay: float = 0.999) -> None:
        self.net = copy.deepcopy(student).requires_grad_(False)
        self.decay = decay
        self.n_steps = 0
        mine, theirs = self.net.state_dict(), student.state_dict()
        moving = [k for k, v in mine.items() if v.is_floating_point()]
        # Views taken once: building a state dict costs more than a small network's step.
        self._averages, self._followed = [mine[k] for k in moving], [theirs[k] for k in moving]
        self._copies = [(mine[k], theirs[k]) for k in mine if k not in set(moving)]

    @torch.no_grad()
    def update(self) -> None:
        """Move towards the student; call after each optimiser step."""
        self.n_steps += 1
        decay = min(1 - 1 / (self.n_steps + 1), self.decay)
        # One call for all tensors: on small networks calls cost more than arithmetic.
        torch._foreach_lerp_(self._averages, self._followed, 1 - decay)
        for mine, theirs in self._copies:
            mine.copy_(theirs)

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        return self.net(x)


def refresh_batch_norm(net: nn.Module, batches: Iterable[Tensor]) -> None:
    """Estimate batch-norm statistics anew on clean rows.

    Training sees mixed rows, whose variance is smaller; their statistics would be wrong for the
    rows to predict. Does nothing to a network without batch norm.
    """
    torch.optim.swa_utils.update_bn(batches, net)
