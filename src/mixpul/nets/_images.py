"""Convolutional networks for images."""

from collections.abc import Sequence

from torch import Tensor, nn

from mixpul.nets._base import MLP

__all__ = ["AllConv13", "SmallConv"]


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
