"""A user's own folders of pictures: read them into arrays of bytes.

Files are read through Pillow: ``pip install "mixpul[pictures]"``.
"""

import base64
import hashlib
import io
import os
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from mixpul._util.progress import progress_bar
from mixpul.training import IMAGES_PER_PASS

__all__ = [
    "LabeledPictures",
    "Pictures",
    "Skipped",
    "label_pictures",
    "read_pictures",
    "stream_pictures",
    "thumbnails",
]

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")
# Pictures too, but not ours to read: named rather than passed over.
UNREAD = (".avif", ".heic", ".heif", ".jp2", ".jxl", ".svg")
# Only these decoders are let near a file, whatever it claims to be.
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF")
LEAST_SIZE = 8  # what net="small-conv" takes
THUMBNAIL = 64


class Skipped(NamedTuple):
    """A file that was left out, and why."""

    picture: str
    reason: str


class Pictures(NamedTuple):
    """Pictures of one folder.

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
    """

    names: list[str]
    pixels: NDArray[np.uint8]
    digests: list[str]
    is_resized: list[bool]
    skipped: list[Skipped]


class LabeledPictures(NamedTuple):
    """Pictures of a folder of known positives, then those of a folder of unlabeled ones.

    Attributes
    ----------
    names : list of str
        Their paths within their folders.
    pixels : ndarray of uint8, shape (n, 3, size, size)
    is_positive : ndarray of bool, shape (n,)
    twins : list of str
        Unlabeled pictures that are left out because the same file is among the positives.
    n_repeated : int
        How many of the rest are there more than once.
    n_resized : int
        How many had another size.
    skipped : list of Skipped
        With the folders in their names.
    fingerprint : str
        Of the content of all files that are used.
    """

    names: list[str]
    pixels: NDArray[np.uint8]
    is_positive: NDArray[np.bool_]
    twins: list[str]
    n_repeated: int
    n_resized: int
    skipped: list[Skipped]
    fingerprint: str


def label_pictures(
    positive: str | os.PathLike,
    unlabeled: str | os.PathLike,
    *,
    size: int = 32,
    odd: str = "resize",
    verbose: int = 0,
) -> LabeledPictures:
    """Read a folder of known positives and one of unlabeled pictures.

    A file that is in both counts as positive only; so the folder of positives may lie within the
    other one.

    Parameters
    ----------
    positive, unlabeled : str or path-like
    size, odd, verbose
        As in `read_pictures`.

    Returns
    -------
    LabeledPictures

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from mixpul.images import label_pictures
    >>> folder = Path(tempfile.mkdtemp())
    >>> for colour, name in (("red", "known/a.png"), ("red", "all/1.png"), ("blue", "all/2.png")):
    ...     (folder / name).parent.mkdir(exist_ok=True)
    ...     Image.new("RGB", (32, 32), colour).save(folder / name)
    >>> found = label_pictures(folder / "known", folder / "all")
    >>> found.names, found.is_positive.tolist(), found.twins
    (['a.png', '2.png'], [True, False], ['1.png'])
    """
    for folder in (positive, unlabeled):
        _check_folder(folder)
    if os.path.samefile(positive, unlabeled):
        raise ValueError(
            f"{os.fspath(positive)!r} is given both as the folder of positives and as that of "
            "unlabeled pictures; name two folders."
        )
    known, others = (
        read_pictures(folder, size=size, odd=odd, verbose=verbose)
        for folder in (positive, unlabeled)
    )
    is_new = ~np.isin(others.digests, known.digests)
    if not is_new.any():
        raise ValueError(
            f"Every picture of {os.fspath(unlabeled)!r} is also in {os.fspath(positive)!r}, so "
            "none is left to be unlabeled; name a folder with other pictures."
        )
    kept = [name for name, new in zip(others.names, is_new, strict=True) if new]
    digests = [*known.digests, *np.array(others.digests)[is_new]]
    is_positive = np.arange(len(digests)) < len(known.names)
    content = "".join(f"{d} {p}\n" for d, p in sorted(zip(digests, is_positive, strict=True)))
    return LabeledPictures(
        names=[*known.names, *kept],
        pixels=np.concatenate([known.pixels, others.pixels[is_new]]),
        is_positive=is_positive,
        twins=[name for name, new in zip(others.names, is_new, strict=True) if not new],
        n_repeated=len(digests) - len(set(digests)),
        n_resized=sum(known.is_resized) + int(np.sum(np.array(others.is_resized)[is_new])),
        skipped=[
            Skipped(f"{Path(folder).name}/{name}", reason)
            for folder, found in ((positive, known), (unlabeled, others))
            for name, reason in found.skipped
        ],
        fingerprint=f"sha256:{hashlib.sha256(content.encode()).hexdigest()}",
    )


def read_pictures(
    folder: str | os.PathLike, *, size: int = 32, odd: str = "resize", verbose: int = 0
) -> Pictures:
    """Read all pictures of a folder and of the folders in it, in the order of their paths.

    Pictures are files named .jpg, .jpeg, .png, .bmp, .gif, .webp, .tif or .tiff. Whatever they
    hold becomes red, green and blue in bytes: grey, palettes, CMYK and 16 bits are converted,
    transparent parts become white, a camera's note on which side is up is followed, of an
    animation the first frame is taken. Files that cannot be read are skipped and named.

    Parameters
    ----------
    folder : str or path-like
    size : int, default=32
        Height and width wanted, from 8 on.
    odd : {'resize', 'skip'}, default='resize'
        What to do with pictures of another size: take the square in the middle and resize it, or
        leave the picture out.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Pictures

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from mixpul.images import read_pictures
    >>> folder = Path(tempfile.mkdtemp())
    >>> Image.new("RGB", (640, 480), "red").save(folder / "a.png")
    >>> (folder / "b.png").write_bytes(b"")
    0
    >>> found = read_pictures(folder, size=16)
    >>> found.names, found.pixels.shape, found.skipped
    (['a.png'], (1, 3, 16, 16), [Skipped(picture='b.png', reason='is empty')])
    """
    parts = list(stream_pictures(folder, size=size, odd=odd, verbose=verbose))
    return Pictures(
        names=[name for part in parts for name in part.names],
        pixels=np.concatenate([part.pixels for part in parts]),
        digests=[digest for part in parts for digest in part.digests],
        is_resized=[one for part in parts for one in part.is_resized],
        skipped=[one for part in parts for one in part.skipped],
    )


def stream_pictures(
    folder: str | os.PathLike, *, size: int = 32, odd: str = "resize", verbose: int = 0
) -> Iterator[Pictures]:
    """Read the pictures of a folder some hundred at a time, so that it may be larger than memory.

    Parameters
    ----------
    folder, size, odd, verbose
        As in `read_pictures`.

    Yields
    ------
    Pictures
        512 of them, fewer in the last part; what was skipped on the way comes with them.
    """
    if size < LEAST_SIZE:
        raise ValueError(f"Pictures have a size from {LEAST_SIZE} on; got {size}.")
    if odd not in ("resize", "skip"):
        raise ValueError(f"odd must be 'resize' or 'skip'; got {odd!r}.")
    import_pillow()
    _check_folder(folder)
    paths, skipped = _listed(folder)
    names: list[str] = []
    digests: list[str] = []
    # As many as are scored in one pass: a picture's score may differ in the last bit with its
    # place in a batch, and so has the place it has in the whole folder.
    pixels = np.empty((IMAGES_PER_PASS, 3, size, size), dtype=np.uint8)
    is_resized: list[bool] = []
    is_empty = True
    with progress_bar(len(paths), Path(folder).name, verbose, "pictures") as advance:
        for path, reading in zip(paths, _readings(paths, size, odd), strict=True):
            advance({})
            name = _name(path, folder)
            if reading.pixels is None:
                skipped.append(Skipped(name, reading.reason))
                continue
            pixels[len(names)] = reading.pixels
            names.append(name)
            digests.append(reading.digest)
            is_resized.append(reading.is_resized)
            if len(names) == IMAGES_PER_PASS:
                yield Pictures(names, pixels.copy(), digests, is_resized, skipped)
                names, digests, is_resized, skipped, is_empty = [], [], [], [], False
    if is_empty and not names:
        raise ValueError(_nothing(folder, skipped))
    if names or skipped:
        yield Pictures(names, pixels[: len(names)].copy(), digests, is_resized, skipped)


def thumbnails(paths: Iterable[str | os.PathLike]) -> list[str | None]:
    """Pictures as addresses that a page can show without loading anything.

    Parameters
    ----------
    paths : iterable of str or path-like

    Returns
    -------
    list of str or None
        A ``data:`` address of a PNG file of 64 x 64 pixels: the square in the middle, as
        `read_pictures` takes it. None for a file that cannot be read.
    """
    readings = _read_side_by_side([Path(path) for path in paths], THUMBNAIL, "resize")
    return [None if one.pixels is None else _address(one.pixels) for one in readings]


def _address(pixels: NDArray[np.uint8]) -> str:
    file = io.BytesIO()
    image = import_pillow().Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0)))
    image.save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def import_pillow() -> Any:
    """Pillow, or the way to get it."""
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError as error:
        raise ImportError(
            'Pictures are read through Pillow: pip install "mixpul[pictures]".'
        ) from error
    return PIL


# -- folders --------------------------------------------------------------------------------


def _check_folder(folder: str | os.PathLike) -> None:
    name = os.fspath(folder)
    if not os.path.exists(name):
        raise FileNotFoundError(f"There is no folder {name!r}; check the path.")
    if not os.path.isdir(name):
        raise NotADirectoryError(f"{name!r} is a file; name the folder that holds the pictures.")


def _listed(folder: str | os.PathLike) -> tuple[list[Path], list[Skipped]]:
    """Files that are pictures by their names, sorted; and what cannot be looked into."""
    skipped: list[Skipped] = []

    def note(error: OSError) -> None:
        reason = f"is a folder that cannot be looked into ({error.strerror})"
        skipped.append(Skipped(_name(Path(error.filename), folder), reason))

    files = [
        Path(parent, name)
        for parent, _, names in os.walk(Path(folder), onerror=note)
        for name in names
    ]
    reason = "is of a kind that is not read here; save it as PNG or JPEG"
    skipped += [Skipped(_name(p, folder), reason) for p in files if p.suffix.lower() in UNREAD]
    paths = [path for path in files if path.suffix.lower() in SUFFIXES]
    # By text: paths compare differently on different systems.
    return sorted(paths, key=lambda path: path.relative_to(folder).as_posix()), sorted(skipped)


def _name(path: Path, folder: str | os.PathLike) -> str:
    """The path within the folder as text that any file can hold, whatever bytes it is made of."""
    name = path.relative_to(folder).as_posix()
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _nothing(folder: str | os.PathLike, skipped: list[Skipped]) -> str:
    where = repr(os.fspath(folder))
    if not skipped:
        return f"There is no picture in {where}; files named {', '.join(SUFFIXES)} were looked for."
    first = skipped[0]
    return (
        f"None of the {len(skipped)} pictures in {where} can be used; the first, {first.picture!r},"
        f" {first.reason}."
    )


# -- files ----------------------------------------------------------------------------------


class _Reading(NamedTuple):
    """What became of a file: pixels, or the reason why there are none."""

    pixels: NDArray[np.uint8] | None = None
    digest: str = ""
    is_resized: bool = False
    reason: str = ""


def _readings(paths: list[Path], size: int, odd: str) -> Iterator[_Reading]:
    for start in range(0, len(paths), IMAGES_PER_PASS):
        yield from _read_side_by_side(paths[start : start + IMAGES_PER_PASS], size, odd)


def _read_side_by_side(paths: list[Path], size: int, odd: str) -> list[_Reading]:
    """Read files side by side; decoders let go of Python's lock."""
    with (
        warnings.catch_warnings(),
        ThreadPoolExecutor(cpu_count(), "picture") as pool,
    ):
        # Pillow warns of large pictures and odd headers; what it cannot read it refuses.
        warnings.simplefilter("ignore")
        return list(pool.map(partial(_read, size=size, odd=odd), paths))


def _read(path: Path, size: int, odd: str) -> _Reading:
    PIL = import_pillow()
    try:
        if not path.is_file():
            return _Reading(reason="is no file but a broken link, a pipe or the like")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if file.tell() == 0:
                return _Reading(reason="is empty")
            file.seek(0)
            with PIL.Image.open(file, formats=FORMATS) as image:
                width, height = image.size
                is_odd = image.size != (size, size)
                if is_odd and odd == "skip":
                    return _Reading(reason=f"is {width} x {height}, not {size} x {size}")
                # JPEG files are decoded small if that is all that is asked for.
                image.draft(None, (2 * size, 2 * size))
                pixels = np.asarray(_resized(_upright_rgb(image), size)).transpose(2, 0, 1)
                return _Reading(pixels, digest, is_odd)
    except PIL.UnidentifiedImageError:
        return _Reading(reason="is no picture that can be read, whatever its name says")
    except PIL.Image.DecompressionBombError:
        return _Reading(reason="is too large to be read safely")
    except Exception as error:
        # A broken file leads decoders anywhere; one picture must not stop the others.
        detail = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return _Reading(reason=f"is broken or cannot be read ({detail})")


def _upright_rgb(image: Any) -> Any:
    """Red, green and blue in bytes, the right side up, on white where it is transparent."""
    PIL = import_pillow()
    is_16_bit = image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG")
    if image.mode in ("I", "F") and not is_16_bit:
        raise ValueError("its pixels are 32-bit numbers without a range; save it with 8 or 16 bits")
    image = PIL.ImageOps.exif_transpose(image)
    if is_16_bit:
        image = PIL.Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    elif image.mode in ("LA", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = PIL.Image.new("RGBA", image.size, "white")
        image = PIL.Image.alpha_composite(white, image)
    return image.convert("RGB")


def _resized(image: Any, size: int) -> Any:
    """The square in the middle, in the size asked for: shapes are not distorted."""
    if image.size == (size, size):
        return image
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    bicubic = import_pillow().Image.Resampling.BICUBIC
    box = (left, top, left + side, top + side)
    return image.resize((size, size), bicubic, box, reducing_gap=2.0)
