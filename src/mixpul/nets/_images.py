"""Convolutional networks for images."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from mixpul.nets._base import MLP

__all__ = ["AllConv13", "PlainConv", "SmallConv", "Whitening"]

PATCH, STRIDE = 4, 2  # of the whitening layer
# Of the variance of a pixel: directions that hardly occur would be blown up to noise.
LEAST_VARIANCE = 1e-2
NO_VARIANCE = 1e-4


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


class Whitening(nn.Module):
    """Patches of 4 x 4 pixels as numbers without correlation; the image is halved.

    The filters are the main directions of patches, each divided by its spread, and come with both
    signs, because a ReLU keeps one half of each. They are learned from images without labels and
    stay as they are; biases are trained.

    Parameters
    ----------
    n_channels : int
        Of an image.
    n_directions : int, default=24
        At most; patches of one channel have 16.
    """

    filters: Tensor

    def __init__(self, n_channels: int, n_directions: int = 24) -> None:
        super().__init__()
        n_pixels = n_channels * PATCH**2
        # Until they have learned: a pixel each.
        pixels = torch.eye(n_pixels)[: min(n_directions, n_pixels)]
        self.register_buffer("filters", self._as_filters(pixels, n_channels))
        self.bias = nn.Parameter(torch.zeros(len(self.filters)))

    @torch.no_grad()
    def learn(self, images: Tensor) -> None:
        """Take the filters from patches of some images."""
        patches = images.unfold(2, PATCH, PATCH).unfold(3, PATCH, PATCH)
        rows = patches.permute(0, 2, 3, 1, 4, 5).reshape(-1, self.filters[0].numel())
        # In double precision: neighbours are so alike that variances span orders of magnitude.
        values, vectors = torch.linalg.eigh(torch.cov(rows.double().T))
        mean = float(values.mean())
        n_live = int((values > NO_VARIANCE * mean).sum())
        if not n_live:  # images of one colour
            return
        # The largest come last.
        directions = (vectors / (values + LEAST_VARIANCE * mean).sqrt()).T.flip(0)[:n_live]
        # Grey images have fewer directions than colours. A filter that sees nothing would do harm:
        # batch norm after it divides by nothing, and weights grow without end. So some come twice.
        directions = directions[torch.arange(len(self.filters) // 2) % n_live]
        self.filters.copy_(self._as_filters(directions, images.shape[1]))

    @staticmethod
    def _as_filters(directions: Tensor, n_channels: int) -> Tensor:
        filters = directions.reshape(-1, n_channels, PATCH, PATCH)
        return torch.cat([filters, -filters])

    def forward(self, x: Tensor) -> Tensor:
        # Biases are added apart: as part of the convolution their gradient takes that of the
        # filters along, which nobody needs, and four times the time.
        patches = functional.conv2d(x, self.filters, stride=STRIDE, padding=1)
        return (patches + self.bias[:, None, None]).relu_()


class SmallConv(nn.Module):
    """A whitening layer and five convolutions, for machines without a GPU.

    About 22 million multiplications per image of 32 x 32. The first layer halves the image. Each
    convolution starts as the identity on its first channels, and has batch norm and ReLU; the image
    is halved after the first and the third, and the maximum over the places that are left is taken,
    so images of any size from 8 x 8 on will do.

    Parameters
    ----------
    shape : tuple of int
        Channels, height and width of one image.
    widths : sequence of int, default=(64, 128, 128, 128, 128)
        Channels after each convolution.
    """

    def __init__(
        self, shape: tuple[int, ...], widths: Sequence[int] = (64, 128, 128, 128, 128)
    ) -> None:
        super().__init__()
        n_channels, height, width = check_image_shape(shape, "small-conv")
        check_halves(height, width, "small-conv")
        self.whitening = Whitening(n_channels)
        self.features = stack_convolutions(len(self.whitening.bias), widths, halved_after=(0, 2))
        for layer in self.features:
            if isinstance(layer, nn.Conv2d):
                # Later layers see the image from the first step on.
                nn.init.dirac_(layer.weight.data[: layer.in_channels])
        self.top = nn.Linear(widths[-1], 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.top(self.features(self.whitening(x)).amax((-2, -1))).squeeze(-1)


class PlainConv(nn.Module):
    """Six convolutions: what `small-conv` was at first, and what earlier model files have.

    Parameters
    ----------
    shape : tuple of int
        Channels, height and width of one image.
    widths : sequence of int, default=(32, 64, 128, 128, 128, 128)
        Channels after each convolution.
    """

    def __init__(
        self, shape: tuple[int, ...], widths: Sequence[int] = (32, 64, 128, 128, 128, 128)
    ) -> None:
        super().__init__()
        n_channels, height, width = check_image_shape(shape, "plain-conv")
        check_halves(height, width, "plain-conv")
        self.features = stack_convolutions(n_channels, widths, halved_after=(0, 1, 3))
        self.top = nn.Linear(widths[-1], 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.top(self.features(x).amax((-2, -1))).squeeze(-1)


def stack_convolutions(
    n_channels: int, widths: Sequence[int], halved_after: Sequence[int]
) -> nn.Sequential:
    """Stack convolutions of 3 x 3; images are halved after those numbered `halved_after`."""
    layers: list[nn.Module] = []
    for k, (n_in, n_out) in enumerate(pairwise([n_channels, *widths])):
        layers += make_convolution(n_in, n_out, 3, 1)
        if k in halved_after:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)


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


def check_halves(height: int, width: int, net: str) -> None:
    """Refuse images that are too small to be halved three times."""
    if min(height, width) < 8:
        raise ValueError(
            f"net={net!r} halves images three times and takes them from 8 x 8 on; got "
            f"{height} x {width}."
        )
