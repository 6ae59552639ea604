"""Networks that return one logit per row, and the teacher that follows a student."""

import copy
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import prod
from numbers import Integral

import torch
from torch import Tensor, nn

from mixpul._names import NETS

__all__ = [
    "MLP",
    "NETS",
    "AllConv13",
    "Averaged",
    "KernelFeatures",
    "KernelNet",
    "Mirrored",
    "SideBySide",
    "SkipMLP",
    "SmallConv",
    "Teacher",
    "make_net",
    "refresh_batch_norm",
    "simplify",
]

# Features of a kernel are small numbers; so scaled, a step moves logits as much as on columns.
KERNEL_SCALE = 5.0

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


class KernelFeatures(nn.Module):
    r"""How near a row is to each of some landmarks: features learned from rows without labels.

    The Gaussian kernel :math:`\exp(-\|x - c\|^2 / d)` for d columns, decorrelated (Nystroem).

    Parameters
    ----------
    shape : tuple of int
        Shape of one row.
    n_landmarks : int, default=200
    """

    landmarks: Tensor
    mapping: Tensor

    def __init__(self, shape: tuple[int, ...], n_landmarks: int = 200) -> None:
        super().__init__()
        self.register_buffer("landmarks", torch.zeros(n_landmarks, prod(shape)))
        self.register_buffer("mapping", torch.zeros(n_landmarks, n_landmarks))

    @torch.no_grad()
    def learn(self, rows: Tensor) -> None:
        """Take rows as landmarks; if there are too few, the other features stay 0."""
        rows = rows.flatten(1)[: len(self.landmarks)]
        n = len(rows)
        self.landmarks.zero_()
        self.landmarks[:n] = rows
        # In double precision: eigenvalues of a kernel span many orders of magnitude.
        values, vectors = torch.linalg.eigh(self.compute_kernel(rows)[:, :n].double())
        # Landmarks that are alike have nothing to tell apart but rounding.
        strength = torch.where(values > 1e-6 * values[-1], values.clamp(min=0).rsqrt(), 0.0)
        self.mapping.zero_()
        self.mapping[:n, :n] = (KERNEL_SCALE * (vectors * strength) @ vectors.T).float()

    def forward(self, x: Tensor) -> Tensor:
        return self.compute_kernel(x.flatten(1)) @ self.mapping

    def compute_kernel(self, x: Tensor) -> Tensor:
        """Return the kernel of each row with each landmark."""
        squares = x.square().sum(1, keepdim=True) + self.landmarks.square().sum(1)
        distances = torch.addmm(squares, x, self.landmarks.T, alpha=-2)
        return torch.exp(distances.clamp(min=0) / -x.shape[1])


class KernelNet(nn.Module):
    """A linear model of kernel features: smooth borders from few positives.

    The features stay as they are; only the linear model is trained.

    Parameters
    ----------
    shape : tuple of int
        Shape of one row.
    features : KernelFeatures, optional
        Shared between networks; by default new ones, which have yet to `learn`.
    top : nn.Module, optional
        A trained linear model.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        features: KernelFeatures | None = None,
        top: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.features = features or KernelFeatures(shape)
        self.top = top or MLP((len(self.features.landmarks),), ())
        if top is None:
            for parameter in self.top.parameters():
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        return self.top(self.features(x))


class AllConv13(nn.Module):
    """The convolutional network of the nnPU paper for CIFAR-10, which the MixPUL paper takes over.

    Nine convolutions, each with batch norm and ReLU, two of them halving the image, then three
    fully connected layers. Made for a GPU.

    Parameters
    ----------
    shape : tuple of int
        Channels, height and width of one image.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        n_channels, height, width = check_image_shape(shape, "allconv13")
        layers: list[nn.Module] = []
        for n_out, size, stride in (
            (96, 3, 1), (96, 3, 1), (96, 3, 2),
            (192, 3, 1), (192, 3, 1), (192, 3, 2),
            (192, 3, 1), (192, 1, 1), (10, 1, 1),
        ):  # fmt: skip
            layers += make_convolution(n_channels, n_out, size, stride)
            n_channels = n_out
        # Rounded up, as strided convolutions with padding do.
        n_flat = 10 * -(-height // 4) * -(-width // 4)
        self.layers = nn.Sequential(*layers, MLP((n_flat,), (1000, 1000)))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class SmallConv(nn.Module):
    """Six convolutions for machines without a GPU: about 25 million multiplications per image.

    Each convolution has batch norm and ReLU; the image is halved after the first, the second and
    the fourth, and the maximum over the places that are left is taken, so images of any size
    from 8 x 8 on will do.

    Parameters
    ----------
    shape : tuple of int
        Channels, height and width of one image.
    widths : sequence of six int, default=(32, 64, 128, 128, 128, 128)
        Channels after each convolution.
    """

    def __init__(
        self, shape: tuple[int, ...], widths: Sequence[int] = (32, 64, 128, 128, 128, 128)
    ) -> None:
        super().__init__()
        n_channels, height, width = check_image_shape(shape, "small-conv")
        if min(height, width) < 8:
            raise ValueError(
                f"net='small-conv' halves images three times and takes them from 8 x 8 on; got "
                f"{height} x {width}."
            )
        layers: list[nn.Module] = []
        for k, n_out in enumerate(widths):
            layers += make_convolution(n_channels, n_out, 3, 1)
            n_channels = n_out
            if k in (0, 1, 3):
                layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.top = nn.Linear(n_channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.top(self.features(x).amax((-2, -1))).squeeze(-1)


def make_convolution(n_in: int, n_out: int, size: int, stride: int) -> list[nn.Module]:
    """Make a convolution that keeps the size up to its stride, then batch norm and ReLU."""
    return [
        nn.Conv2d(n_in, n_out, size, stride, padding=size // 2),
        nn.BatchNorm2d(n_out),
        nn.ReLU(inplace=True),
    ]


def check_image_shape(shape: tuple[int, ...], net: str) -> tuple[int, int, int]:
    """Return channels, height and width; refuse rows that are not images."""
    if len(shape) != 3:
        raise ValueError(
            f"net={net!r} takes images, rows of shape (channels, height, width); got rows "
            f"of shape {shape}. For tables take 'skip-mlp'."
        )
    return shape


def make_narrow_skip_mlp(shape: tuple[int, ...]) -> nn.Module:
    """Make a `SkipMLP` with half the width: where there are several, each may be smaller."""
    return SkipMLP(shape, (64, 64))


def make_linear(shape: tuple[int, ...]) -> nn.Module:
    """Make a network without hidden layers: logistic regression."""
    return MLP(shape, ())


def make_net(net: NetSpec, shape: tuple[int, ...]) -> nn.Module:
    """Build the network for rows of `shape`.

    `net` is a name in `NETS`, the widths of an MLP, or a callable of the shape. The network must
    return one logit per row, (n,) or (n, 1). For images its convolutions are laid out channels
    last, which CPUs and tensor cores take in fastest.
    """
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


class SideBySide(nn.Module):
    """Networks of one architecture as one, each on rows of its own: (n, rows, ...) to (n, rows).

    All weights of a layer are one tensor, so that a layer of all networks is one batched product.
    A step of small networks is mostly the cost of calls, and takes a third of the time so.

    Parameters
    ----------
    nets : sequence of nn.Module
        Copied as they are.
    """

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        super().__init__()
        # In a list, so that its weights, which are never used, are not listed as parameters.
        self.template = [copy.deepcopy(nets[0])]
        states = [dict(net.named_parameters()) for net in nets]
        self.stacked = nn.ParameterDict(
            {
                name.replace(".", "/"): nn.Parameter(
                    torch.stack([s[name].detach() for s in states])
                )
                for name in states[0]
            }
        )

    @staticmethod
    def can_hold(nets: Sequence[nn.Module]) -> bool:
        """Whether networks can be put side by side: ours of one kind, without batch norm."""
        kinds = {(type(net), tuple(p.shape for p in net.parameters())) for net in nets}
        return len(kinds) == 1 and type(nets[0]) in (MLP, SkipMLP)

    def lend_weights(self, nets: Sequence[nn.Module]) -> None:
        """Make the weights of `nets` views into those of this one: they follow its training."""
        for k, net in enumerate(nets):
            for name, parameter in net.named_parameters():
                parameter.data = self.stacked[name.replace(".", "/")].data[k]

    def forward(self, x: Tensor) -> Tensor:
        parameters = {name.replace("/", "."): value for name, value in self.stacked.items()}
        return torch.func.vmap(self._run)(parameters, x)

    def _run(self, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return torch.func.functional_call(self.template[0], parameters, (x,))


class Mirrored(nn.Module):
    """The mean logit of an image and its mirror image.

    For networks that were trained on both: two views are better than one, at twice the cost.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        return (self.net(x) + self.net(x.flip(-1))) / 2


class KernelSum(nn.Module):
    """Several networks on the same kernel features as one: a sum over landmarks."""

    direction: Tensor

    def __init__(
        self, features: KernelFeatures, tops: Sequence[nn.Module], weights: Sequence[float]
    ) -> None:
        super().__init__()
        self.features = features
        direction, self.bias = torch.zeros(1, len(features.mapping), dtype=torch.float64), 0.0
        for weight, top in zip(weights, tops, strict=True):
            line, bias = top.parameters()
            direction += weight * line.detach().cpu()
            self.bias += weight * float(bias)
        mapped = direction[0] @ features.mapping.double().cpu()
        self.register_buffer("direction", mapped.to(features.mapping))

    def forward(self, x: Tensor) -> Tensor:
        return self.features.compute_kernel(x.flatten(1)) @ self.direction + self.bias


def simplify(net: nn.Module) -> nn.Module:
    """Return a network with the same logits, up to rounding, that computes kernel features once.

    Networks on the same features are linear in them, and so is their mean.
    """
    leaves = _list_leaves(net, 1.0)
    kernels = [(weight, leaf) for weight, leaf in leaves if isinstance(leaf, KernelNet)]
    if len(kernels) < 2:
        return net
    first = kernels[0][1].features
    if not all(torch.equal(leaf.features.landmarks, first.landmarks) for _, leaf in kernels):
        return net
    merged = KernelSum(first, [leaf.top for _, leaf in kernels], [weight for weight, _ in kernels])
    others = [(weight, leaf) for weight, leaf in leaves if not isinstance(leaf, KernelNet)]
    return Averaged([*(leaf for _, leaf in others), merged], [*(w for w, _ in others), 1.0]).eval()


def _list_leaves(net: nn.Module, weight: float) -> list[tuple[float, nn.Module]]:
    """Return the networks of a mean of means, each with its weight."""
    if not isinstance(net, Averaged):
        return [(weight, net)]
    shares = net.weights or [1 / len(net.members)] * len(net.members)
    return [
        leaf
        for share, member in zip(shares, net.members, strict=True)
        for leaf in _list_leaves(member, weight * share)
    ]


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
