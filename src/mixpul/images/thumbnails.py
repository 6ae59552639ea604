"""Small copies of images that a page can hold."""

import base64
import io
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mixpul.images.files import import_pillow, read_files

__all__ = ["make_thumbnails", "shrink_pixels"]

THUMBNAIL_SIZE, TINY_SIZE = 64, 8


def make_thumbnails(
    paths: Iterable[str | os.PathLike], *, size: int = THUMBNAIL_SIZE
) -> list[str | None]:
    """Turn images into addresses that a page can show without loading anything.

    Parameters
    ----------
    paths : iterable of str or path-like
    size : int, default=64
        Height and width in pixels.

    Returns
    -------
    list of str or None
        A ``data:`` address of a PNG file, or of a JPEG file if it is larger than 64 x 64 pixels:
        the square in the middle, as `read_images` takes it. None for a file that cannot be read.
    """
    readings = read_files([Path(path) for path in paths], size, "resize")
    return [None if one.pixels is None else _write_address(one.pixels) for one in readings]


def shrink_pixels(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Shrink images, (n, 3, size, size), to 8 x 8 pixels, by which copies are found."""
    shape = (len(pixels), 3, TINY_SIZE, TINY_SIZE)
    small = np.zeros(shape, dtype=np.uint8)
    if not pixels.size:  # they were not kept
        return small
    import torch

    # In blocks, because in single precision pixels take four times their memory.
    for start in range(0, len(pixels), 512):
        block = torch.from_numpy(pixels[start : start + 512]).float()
        mean = torch.nn.functional.adaptive_avg_pool2d(block, TINY_SIZE)
        small[start : start + 512] = mean.round().to(torch.uint8).numpy()
    return small


def _write_address(pixels: NDArray[np.uint8]) -> str:
    file = io.BytesIO()
    image = import_pillow().Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0)))
    # A photograph as PNG takes ten times the bytes; in a small one they do not matter.
    kind = "PNG" if max(image.size) <= THUMBNAIL_SIZE else "JPEG"
    image.save(file, kind, optimize=True, quality=85)
    address = base64.b64encode(file.getvalue()).decode()
    return f"data:image/{kind.lower()};base64,{address}"
