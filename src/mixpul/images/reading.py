"""Folders of images as arrays, whole or some hundred images at a time."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul._util.arrays import IMAGES_PER_PASS
from mixpul._util.progress import progress_bar
from mixpul.images.files import FileFacts, Reading, import_pillow, read_files

__all__ = [
    "LEAST_SIZE",
    "Images",
    "Skipped",
    "check_image_folder",
    "explain_nothing",
    "join_without_pixels",
    "list_files",
    "make_no_pixels",
    "name_file",
    "read_images",
    "stream_images",
]

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")
# Images too, but we cannot read them: they are named, not silently left out.
UNSUPPORTED_SUFFIXES = (".avif", ".heic", ".heif", ".jp2", ".jxl", ".svg")
LEAST_SIZE = 8  # what net="small-conv" takes


class Skipped(NamedTuple):
    """A file that was left out, and why."""

    picture: str
    reason: str


class Images(NamedTuple):
    """Images of one folder.

    Attributes
    ----------
    names : list of str
        Their paths within the folder.
    pixels : ndarray of uint8, shape (n, 3, size, size)
    digests : list of str
        SHA-256 of each file.
    is_resized : list of bool
        Which of them had another size.
    skipped : list of Skipped
    facts : list of FileFacts
        How each of them was taken and saved.
    features : ndarray of float16, shape (n, n_features), or None
        Where these were asked for. Pixels are not kept then: their shape is (n, 3, 0, 0).
    thumbnails : ndarray of uint8, shape (n, 3, 8, 8), or None
        Only beside features.
    """

    names: list[str]
    pixels: NDArray[np.uint8]
    digests: list[str]
    is_resized: list[bool]
    skipped: list[Skipped]
    facts: list[FileFacts]
    features: NDArray[np.float16] | None = None
    thumbnails: NDArray[np.uint8] | None = None


def read_images(
    folder: str | os.PathLike, *, size: int = 32, odd: str = "resize", verbose: int = 0
) -> Images:
    """Read all images of a folder and of the folders in it, in the order of their paths.

    Images are files named .jpg, .jpeg, .png, .bmp, .gif, .webp, .tif or .tiff. Whatever they hold
    becomes red, green and blue in bytes. Grey, palettes, CMYK and 16 bits are converted, and
    transparent parts become white. A camera's note on which side is up is followed. An animation
    is read as its first frame. Files that cannot be read are skipped and named.

    Parameters
    ----------
    folder : str or path-like
    size : int, default=32
        Height and width wanted, at least 8.
    odd : {'resize', 'skip'}, default='resize'
        What to do with images of another size: take the square in the middle and resize it, or
        leave the image out.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Images

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from mixpul.images import read_images
    >>> folder = Path(tempfile.mkdtemp())
    >>> Image.new("RGB", (640, 480), "red").save(folder / "a.png")
    >>> (folder / "b.png").write_bytes(b"")
    0
    >>> images = read_images(folder, size=16)
    >>> images.names, images.pixels.shape, images.skipped
    (['a.png'], (1, 3, 16, 16), [Skipped(picture='b.png', reason='is empty')])
    """
    parts = list(stream_images(folder, size=size, odd=odd, verbose=verbose))
    return Images(
        names=[name for part in parts for name in part.names],
        pixels=np.concatenate([part.pixels for part in parts]),
        digests=[digest for part in parts for digest in part.digests],
        is_resized=[one for part in parts for one in part.is_resized],
        skipped=[one for part in parts for one in part.skipped],
        facts=[one for part in parts for one in part.facts],
    )


def stream_images(
    folder: str | os.PathLike, *, size: int = 32, odd: str = "resize", verbose: int = 0
) -> Iterator[Images]:
    """Read the images of a folder some hundred at a time, so that it may be larger than memory.

    Parameters
    ----------
    folder, size, odd, verbose
        As in `read_images`.

    Yields
    ------
    Images
        512 of them, fewer in the last part; files skipped on the way come with them.
    """
    if size < LEAST_SIZE:
        raise ValueError(f"The size of images is at least {LEAST_SIZE}; got {size}.")
    if odd not in ("resize", "skip"):
        raise ValueError(f"odd must be 'resize' or 'skip'; got {odd!r}.")
    import_pillow()
    check_image_folder(folder)
    paths, skipped = list_files(folder)
    names: list[str] = []
    digests: list[str] = []
    # As many as are scored in one pass. The score of an image may differ in the last bit with
    # its place in a batch; this way each image has the place it has in the whole folder.
    pixels = np.empty((IMAGES_PER_PASS, 3, size, size), dtype=np.uint8)
    is_resized: list[bool] = []
    facts: list[FileFacts] = []
    is_empty = True
    with progress_bar(len(paths), Path(folder).name, verbose, "images") as advance:
        for path, reading in zip(paths, _read_in_parts(paths, size, odd), strict=True):
            advance({})
            name = name_file(path, folder)
            if reading.pixels is None or reading.facts is None:
                skipped.append(Skipped(name, reading.reason))
                continue
            pixels[len(names)] = reading.pixels
            names.append(name)
            digests.append(reading.digest)
            is_resized.append(reading.is_resized)
            facts.append(reading.facts)
            if len(names) == IMAGES_PER_PASS:
                # A copy: the array is filled again while the caller still has this part.
                yield Images(names, pixels.copy(), digests, is_resized, skipped, facts)
                names, digests, is_resized, skipped, facts = [], [], [], [], []
                is_empty = False
    if is_empty and not names:
        raise ValueError(explain_nothing(folder, skipped))
    if names or skipped:
        yield Images(names, pixels[: len(names)].copy(), digests, is_resized, skipped, facts)


def join_without_pixels(parts: Iterable[Images]) -> Images:
    """Put the parts of a folder together, and drop all pixels on the way."""
    whole = Images([], make_no_pixels(0), [], [], [], [])
    for part in parts:
        for name in ("names", "digests", "is_resized", "skipped", "facts"):
            getattr(whole, name).extend(getattr(part, name))
    return whole._replace(pixels=make_no_pixels(len(whole.names)))


def make_no_pixels(n: int) -> NDArray[np.uint8]:
    """Make what stands in place of the pixels of `n` images that are not kept."""
    return np.empty((n, 3, 0, 0), dtype=np.uint8)


def check_image_folder(folder: str | os.PathLike) -> None:
    """Refuse what is not a folder."""
    name = os.fspath(folder)
    if not os.path.exists(name):
        raise FileNotFoundError(f"There is no folder {name!r}; check the path.")
    if not os.path.isdir(name):
        raise NotADirectoryError(f"{name!r} is a file; name the folder that holds the images.")


def list_files(folder: str | os.PathLike) -> tuple[list[Path], list[Skipped]]:
    """Return files that are images by their names, sorted; and what cannot be looked into."""
    skipped: list[Skipped] = []

    def note(error: OSError) -> None:
        reason = f"is a folder that cannot be looked into ({error.strerror})"
        skipped.append(Skipped(name_file(Path(error.filename), folder), reason))

    files = [
        Path(parent, name)
        for parent, _, names in os.walk(Path(folder), onerror=note)
        for name in names
    ]
    reason = "is of a kind that is not read here; save it as PNG or JPEG"
    skipped += [
        Skipped(name_file(path, folder), reason)
        for path in files
        if path.suffix.lower() in UNSUPPORTED_SUFFIXES
    ]
    paths = [path for path in files if path.suffix.lower() in SUFFIXES]
    # By text: paths compare differently on different systems.
    return sorted(paths, key=lambda path: path.relative_to(folder).as_posix()), sorted(skipped)


def name_file(path: Path, folder: str | os.PathLike) -> str:
    """Return the path within the folder as text that any file can hold."""
    name = path.relative_to(folder).as_posix()
    # Names are bytes on some systems, and need not be text; JSON and CSV take text only.
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _read_in_parts(paths: list[Path], size: int, odd: str) -> Iterator[Reading]:
    # In parts, because `read_files` holds all of its results in memory.
    for start in range(0, len(paths), IMAGES_PER_PASS):
        yield from read_files(paths[start : start + IMAGES_PER_PASS], size, odd)


def explain_nothing(folder: str | os.PathLike, skipped: list[Skipped]) -> str:
    where = repr(os.fspath(folder))
    if not skipped:
        return f"There is no image in {where}; mixpul reads files named {', '.join(SUFFIXES)}."
    first = skipped[0]
    return (
        f"None of the {len(skipped)} images in {where} can be used; the first, {first.picture!r},"
        f" {first.reason}."
    )
