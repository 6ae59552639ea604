"""Two folders of images as PU data: one of known positives, one of unlabeled images."""

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul._util.scratch import make_on_disk
from mixpul.images.featured import read_features
from mixpul.images.features import ImageFeatures
from mixpul.images.files import FileFacts
from mixpul.images.reading import (
    Images,
    Skipped,
    check_image_folder,
    join_without_pixels,
    read_images,
    stream_images,
)
from mixpul.images.thumbnails import shrink_pixels

__all__ = ["LabeledImages", "hash_content", "label_images", "list_labeled"]

ROWS_AT_A_TIME = 4096


class LabeledImages(NamedTuple):
    """Images of a folder of known positives, then those of a folder of unlabeled ones.

    Attributes
    ----------
    names : list of str
        Their paths within their folders.
    pixels : ndarray of uint8, shape (n, 3, size, size)
    is_positive : ndarray of bool, shape (n,)
    twins : list of str
        Unlabeled images that are left out because the same file is among the positives.
    n_repeated : int
        How many of the rest are there more than once.
    n_resized : int
        How many had another size.
    skipped : list of Skipped
        With the folders in their names.
    fingerprint : str
        Of the content of all files that are used.
    thumbnails : ndarray of uint8, shape (n, 3, 8, 8)
        Very small copies, by which `find_near_copies` compares images.
    features : ndarray of float16, shape (n, n_features), or None
        Where these were asked for. Pixels are not kept then: their shape is (n, 3, 0, 0).
    digests : list of str
        SHA-256 of each file.
    facts : list of FileFacts
        How each of them was taken and saved.
    """

    names: list[str]
    pixels: NDArray[np.uint8]
    is_positive: NDArray[np.bool_]
    twins: list[str]
    n_repeated: int
    n_resized: int
    skipped: list[Skipped]
    fingerprint: str
    thumbnails: NDArray[np.uint8]
    features: NDArray[np.float16] | None
    digests: list[str]
    facts: list[FileFacts]

    @property
    def warnings(self) -> list[str]:
        """Sentences on what makes a classifier look better than it is."""
        if not self.n_repeated:
            return []
        return [
            f"Some images are there more than once (copies: {self.n_repeated:,}). Networks that "
            "have seen one copy score another, which flatters the numbers."
        ]


def label_images(
    positive: str | os.PathLike,
    unlabeled: str | os.PathLike,
    *,
    size: int = 32,
    odd: str = "resize",
    verbose: int = 0,
    features: ImageFeatures | None = None,
    cache: str | os.PathLike | None = None,
) -> LabeledImages:
    """Read a folder of known positives and one of unlabeled images.

    A file that is in both counts as positive only, so the folder of positives may lie within the
    other one.

    Parameters
    ----------
    positive, unlabeled : str or path-like
    size, odd, verbose
        As in `read_images`.
    features : ImageFeatures, optional
        Compute these instead of keeping pixels; `size` is then that of the features.
    cache : str or path-like, optional
        As in `read_features`.

    Returns
    -------
    LabeledImages

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from mixpul.images import label_images
    >>> folder = Path(tempfile.mkdtemp())
    >>> for colour, name in (("red", "known/a.png"), ("red", "all/1.png"), ("blue", "all/2.png")):
    ...     (folder / name).parent.mkdir(exist_ok=True)
    ...     Image.new("RGB", (32, 32), colour).save(folder / name)
    >>> images = label_images(folder / "known", folder / "all")
    >>> images.names, images.is_positive.tolist(), images.twins
    (['a.png', '2.png'], [True, False], ['1.png'])
    """
    _check_folders(positive, unlabeled)
    read: Callable[..., Images] = partial(read_images, size=size)
    if features is not None:
        read = partial(read_features, features=features, cache=cache)
    known, others = (read(folder, odd=odd, verbose=verbose) for folder in (positive, unlabeled))
    return _label(positive, unlabeled, known, others)


def list_labeled(
    positive: str | os.PathLike,
    unlabeled: str | os.PathLike,
    *,
    size: int,
    odd: str,
    verbose: int = 0,
) -> LabeledImages:
    """List the images that `label_images` would read, without their pixels; memory stays flat."""
    _check_folders(positive, unlabeled)
    known, others = (
        join_without_pixels(stream_images(folder, size=size, odd=odd, verbose=verbose))
        for folder in (positive, unlabeled)
    )
    return _label(positive, unlabeled, known, others)


def _label(
    positive: str | os.PathLike, unlabeled: str | os.PathLike, known: Images, others: Images
) -> LabeledImages:
    """Put both folders together; a file that is in both counts as positive only."""
    # By content: a copy under another name is the same image.
    is_new = ~np.isin(others.digests, known.digests)
    if not is_new.any():
        raise ValueError(
            f"Every image of {os.fspath(unlabeled)!r} is also in {os.fspath(positive)!r}, so "
            "none is left to be unlabeled; name a folder with other images."
        )
    rest = [name for name, new in zip(others.names, is_new, strict=True) if new]
    digests = [*known.digests, *np.array(others.digests)[is_new].tolist()]
    is_positive = np.arange(len(digests)) < len(known.names)
    pixels = np.concatenate([known.pixels, others.pixels[is_new]])
    has_features = known.features is not None
    return LabeledImages(
        names=[*known.names, *rest],
        pixels=pixels,
        is_positive=is_positive,
        twins=[name for name, new in zip(others.names, is_new, strict=True) if not new],
        n_repeated=len(digests) - len(set(digests)),
        n_resized=sum(known.is_resized) + int(np.sum(np.array(others.is_resized)[is_new])),
        skipped=[
            # Resolved, because the name of '.' is empty.
            Skipped(f"{Path(folder).resolve().name}/{name}", reason)
            for folder, images in ((positive, known), (unlabeled, others))
            for name, reason in images.skipped
        ],
        fingerprint=hash_content(digests, is_positive),
        thumbnails=_join("thumbnails", known, others, is_new)
        if has_features
        else shrink_pixels(pixels),
        features=_join("features", known, others, is_new) if has_features else None,
        digests=digests,
        facts=[*known.facts, *(one for one, new in zip(others.facts, is_new, strict=True) if new)],
    )


def _join(name: str, known: Images, others: Images, is_new: NDArray[np.bool_]) -> NDArray:
    first, second = getattr(known, name), getattr(others, name)
    whole = make_on_disk((len(first) + int(is_new.sum()), *first.shape[1:]), first.dtype)
    whole[: len(first)] = first
    # Some at a time: a copy of all features would be as large as they are.
    start = len(first)
    for rows in np.array_split(np.flatnonzero(is_new), 1 + len(second) // ROWS_AT_A_TIME):
        whole[start : start + len(rows)] = second[rows]
        start += len(rows)
    return whole


def _check_folders(positive: str | os.PathLike, unlabeled: str | os.PathLike) -> None:
    for folder in (positive, unlabeled):
        check_image_folder(folder)
    # Not by text: links and relative paths give one folder several names.
    if os.path.samefile(positive, unlabeled):
        raise ValueError(
            f"{os.fspath(positive)!r} is given both as the folder of positives and as that of "
            "unlabeled images; name two folders."
        )


def hash_content(digests: list[str], is_positive: NDArray[np.bool_]) -> str:
    """Return a fingerprint of the files and their labels; names and order do not matter."""
    content = "".join(f"{d} {p}\n" for d, p in sorted(zip(digests, is_positive, strict=True)))
    return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"
