"""Random changes to images that leave their class as it is.

Every function takes float images (n, channels, height, width) and a CPU generator, and draws anew
for each image.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

__all__ = ["AUGMENTATIONS", "cutout", "flip", "flips", "make_augment", "shift"]

Augment = Callable[[Tensor, Generator], Tensor]
AugmentSpec = str | Sequence[str] | Augment | None


def flip(x: Tensor, generator: Generator) -> Tensor:
    """Mirror each image, left to right, with probability one half."""
    # Drawn on the CPU, so that a seed means the same on every device; likewise below.
    mirrored = torch.rand(len(x), 1, 1, 1, generator=generator) < 0.5
    return torch.where(mirrored.to(x.device), x.flip(-1), x)


def shift(x: Tensor, generator: Generator, share: float = 0.125) -> Tensor:
    """Move images by up to `share` of their size, up or down and sideways; edges are mirrored."""
    n, _, height, width = x.shape
    # Mirroring an edge can add less than the whole image.
    most = [min(round(share * size), size - 1) for size in (height, width)]
    # Channels last: the index below fetches whole pixels, in the layout convolutions like best.
    padded = pad(x, (most[1], most[1], most[0], most[0]), mode="reflect").permute(0, 2, 3, 1)
    top, left = (torch.randint(2 * m + 1, (n, 1), generator=generator) for m in most)
    rows = (top + torch.arange(height)).to(x.device)
    columns = (left + torch.arange(width)).to(x.device)
    image = torch.arange(n, device=x.device)[:, None, None]
    return padded[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def cutout(x: Tensor, generator: Generator, share: float = 0.25) -> Tensor:
    """Blank a square, `share` of the image wide, at a random place; it may stick out."""
    n, _, height, width = x.shape
    inside = []
    for size in (height, width):
        centre = torch.rand(n, 1, generator=generator) * size
        inside.append((torch.arange(size) + 0.5 - centre).abs() <= share * size / 2)
    square = inside[0][:, None, :, None] & inside[1][:, None, None, :]
    # For images in bytes 0 is a medium grey, see `training.from_bytes`.
    return x.masked_fill(square.to(x.device), 0.0)


AUGMENTATIONS: dict[str, Augment] = {"flip": flip, "shift": shift, "cutout": cutout}


def make_augment(augment: AugmentSpec) -> Augment | None:
    """Make one function of a name, or of several names in turn; keep a function as it is.

    Examples
    --------
    >>> import torch
    >>> from mixpul.augment import make_augment
    >>> changed = make_augment(["flip", "shift"])
    >>> changed(torch.randn(4, 3, 32, 32), torch.Generator().manual_seed(0)).shape
    torch.Size([4, 3, 32, 32])
    """
    if augment is None or callable(augment):
        return augment
    names = _list_names(augment)
    unknown = [name for name in names if name not in AUGMENTATIONS]
    if unknown:
        raise ValueError(
            f"augment takes names among {', '.join(AUGMENTATIONS)}, or a function of images and "
            f"a generator; got {augment!r}."
        )

    def apply_in_turn(x: Tensor, generator: Generator) -> Tensor:
        for name in names:
            x = AUGMENTATIONS[name](x, generator)
        return x

    return apply_in_turn


def flips(augment: AugmentSpec) -> bool:
    """Whether mirroring is among the names, so that a mirror image is of the same class."""
    return augment is not None and not callable(augment) and "flip" in _list_names(augment)


def _list_names(augment: str | Sequence[str]) -> list[str]:
    return [augment] if isinstance(augment, str) else list(augment)
