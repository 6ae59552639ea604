"""Networks on kernel features, and how several of them become one."""

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor, nn

from mixpul.nets._base import MLP, Averaged

__all__ = ["KernelFeatures", "KernelNet", "KernelSum", "simplify"]

# Features of a kernel are small numbers; so scaled, a step moves logits as much as on columns.
KERNEL_SCALE = 5.0


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
            self.bias += weight * float(bias.detach())
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
