"""Image files: whatever they hold becomes red, green and blue in bytes, of one size."""

import hashlib
import warnings
from collections.abc import Container
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

__all__ = ["FileFacts", "Reading", "import_pillow", "read_files"]

# Pillow may use only these decoders, whatever a file claims to be.
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF")
# Decoded, they take 4 bytes each: 480 megabytes.
MOST_PIXELS = 120_000_000
LARGE_PIXELS = 8_000_000
# From here on images are shrunk band by band before colours are converted, which takes several
# copies. A band has about so many pixels.
BAND_PIXELS = 1_000_000
REDUCING_GAP = 2.0
# In a camera's notes: its name, and which side is up.
CAMERA, ORIENTATION = 0x0110, 0x0112
MOST_LETTERS = 100  # of a camera's name


class FileFacts(NamedTuple):
    """How an image was taken and saved, which is nothing of what it shows.

    Attributes
    ----------
    format : str
        Such as "JPEG".
    colours : str
        Such as "RGB", or "L" for grey; Pillow's mode.
    width, height : int
    compression : float or None
        Of a JPEG file: the mean of its quantisation tables, higher for lower quality.
    camera : str or None
        Its name, if the file holds it.
    """

    format: str
    colours: str
    width: int
    height: int
    compression: float | None = None
    camera: str | None = None


class Reading(NamedTuple):
    """What became of a file: pixels, or the reason why there are none.

    Of a file that is known already there are facts and a digest only.
    """

    pixels: NDArray[np.uint8] | None = None
    digest: str = ""
    is_resized: bool = False
    reason: str = ""
    facts: FileFacts | None = None


def import_pillow() -> Any:
    """Import Pillow, or say how to install it."""
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError as error:
        raise ImportError('Images are read with Pillow: pip install "mixpul[images]".') from error
    return PIL


def read_files(paths: list[Path], size: int, odd: str, known: Container[str] = ()) -> list[Reading]:
    """Read files side by side, which saves time: decoders release Python's lock.

    Files whose digests are among the `known` ones are not decoded.
    """
    with (
        warnings.catch_warnings(),
        # joblib counts the cores that a container allows, not those of the machine.
        ThreadPoolExecutor(cpu_count(), "image") as pool,
    ):
        # Pillow warns of large images and odd headers; it refuses what it cannot read.
        warnings.simplefilter("ignore")
        read = partial(_read_file, size=size, odd=odd, known=known)
        readings = list(pool.map(partial(read, most_pixels=LARGE_PIXELS), paths))
        # Large ones one after the other: each takes as much memory as hundreds of others, and every
        # thread would keep as much for itself.
        return [
            reading or read(path, most_pixels=MOST_PIXELS) or Reading(reason="has changed")
            for path, reading in zip(paths, readings, strict=True)
        ]


def _read_file(
    path: Path, size: int, odd: str, known: Container[str], most_pixels: int
) -> Reading | None:
    """Read a file; None if it has more pixels than are read at this time."""
    PIL = import_pillow()
    try:
        # Before it is opened: a pipe without a writer would block for ever.
        if not path.is_file():
            return Reading(reason="is not a file but a broken link, a pipe or the like")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if file.tell() == 0:
                return Reading(reason="is empty")
            file.seek(0)  # hashing has read the file to its end
            with PIL.Image.open(file, formats=FORMATS) as image:
                width, height = image.size
                is_odd = image.size != (size, size)
                if is_odd and odd == "skip":
                    return Reading(reason=f"is {width} x {height}, not {size} x {size}")
                if width * height > MOST_PIXELS:
                    return Reading(reason=f"has {width} x {height} pixels, too many to be read")
                facts = _take_facts(image)
            if digest in known:
                return Reading(None, digest, is_odd, facts=facts)
            if width * height > most_pixels:
                return None
            return Reading(_decode(file, size), digest, is_odd, facts=facts)
    except PIL.UnidentifiedImageError:
        return Reading(reason="is not an image that can be read, whatever its name says")
    except PIL.Image.DecompressionBombError:
        return Reading(reason="is too large to be read safely")
    except Exception as error:
        # A broken file can make a decoder raise anything; one image must not stop the others.
        detail = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return Reading(reason=f"is broken or cannot be read ({detail})")


def _take_facts(image: Any) -> FileFacts:
    """Return what the head of a file says; nothing is decoded."""
    tables = getattr(image, "quantization", None)
    camera = None
    # Others hold notes behind the pixels, if at all. Damaged notes do not make an image unreadable.
    if image.format in ("JPEG", "MPO"):
        with suppress(Exception):
            camera = str(image.getexif().get(CAMERA) or "").strip("\0 ")[:MOST_LETTERS] or None
    width, height = image.size
    return FileFacts(
        image.format,
        image.mode,
        width,
        height,
        compression=float(np.mean(list(tables.values()))) if tables else None,
        camera=camera,
    )


def _decode(file: IO[bytes], size: int) -> NDArray[np.uint8]:
    """Return the pixels of an image, of one size."""
    file.seek(0)
    with import_pillow().Image.open(file, formats=FORMATS) as image:
        # Fast: a JPEG file is decoded at a fraction of its size if that is enough.
        image.draft(None, (2 * size, 2 * size))
        return np.asarray(_shrink(image, size)).transpose(2, 0, 1)


def _convert_to_rgb(image: Any) -> Any:
    """Convert to bytes of red, green and blue, the right side up, on white where transparent."""
    PIL = import_pillow()
    is_16_bit = image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG")
    if image.mode in ("I", "F") and not is_16_bit:
        raise ValueError("its pixels are 32-bit numbers without a range; save it with 8 or 16 bits")
    # Only now: the copy made here has lost its format, which was asked for above.
    image = PIL.ImageOps.exif_transpose(image)
    # Pillow would clip 16 bits to 255 instead of scaling them.
    if is_16_bit:
        image = PIL.Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    elif image.mode in ("LA", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        # Straight to RGB would show whatever colour is hidden behind transparent pixels.
        image = image.convert("RGBA")
        white = PIL.Image.new("RGBA", image.size, "white")
        image = PIL.Image.alpha_composite(white, image)
    return image.convert("RGB")


def _shrink(image: Any, size: int) -> Any:
    """Return the square in the middle as red, green and blue, of one size."""
    factor = int(min(image.size) / size / REDUCING_GAP)
    if image.width * image.height <= BAND_PIXELS or factor < 2:
        return _resize(_convert_to_rgb(image), size)
    PIL = import_pillow()
    is_png, orientation = image.format == "PNG", image.getexif().get(ORIENTATION)
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    # Some pixels beyond the square, which the last step looks at.
    reach = int(1.5 * side / size) + 1
    first, last = max(0, left - reach), min(image.width, left + side + reach)
    start, stop = max(0, top - reach), min(image.height, top + side + reach)
    small = PIL.Image.new("RGB", (-(-(last - first) // factor), -(-(stop - start) // factor)))
    height = factor * max(1, BAND_PIXELS // (factor * (last - first)))
    for upper in range(start, stop, height):
        band = image.crop((first, upper, last, min(stop, upper + height)))
        band.format = "PNG" if is_png else None
        small.paste(_convert_to_rgb(band).reduce(factor), (0, (upper - start) // factor))
    box = tuple(
        (edge - origin) / factor
        for edge, origin in zip(
            (left, top, left + side, top + side), (first, start, first, start), strict=True
        )
    )
    square = small.resize((size, size), PIL.Image.Resampling.BICUBIC, box)
    # Turned at the end: turning a large image takes another copy of it.
    square.getexif()[ORIENTATION] = orientation or 1
    return PIL.ImageOps.exif_transpose(square)


def _resize(image: Any, size: int) -> Any:
    """Resize the square in the middle, which does not distort shapes."""
    if image.size == (size, size):
        return image
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    bicubic = import_pillow().Image.Resampling.BICUBIC
    box = (left, top, left + side, top + side)
    # The gap makes large reductions much faster: pixels are averaged before the fine step.
    return image.resize((size, size), bicubic, box, reducing_gap=REDUCING_GAP)
