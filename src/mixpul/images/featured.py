"""The features of a folder of images: each is computed once, and pixels are never all in memory."""

import os
from collections.abc import Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mixpul._util.arrays import IMAGES_PER_PASS
from mixpul._util.errors import MixpulError
from mixpul._util.progress import progress_bar
from mixpul.images.extractors import Extractor, compute_features
from mixpul.images.feature_store import FeatureStore, Stored
from mixpul.images.features import ImageFeatures
from mixpul.images.files import Reading, import_pillow, read_files
from mixpul.images.reading import (
    Images,
    Skipped,
    check_image_folder,
    explain_nothing,
    join_without_pixels,
    list_files,
    make_no_pixels,
    name_file,
)
from mixpul.images.thumbnails import shrink_pixels

__all__ = ["read_features", "stream_features"]


def read_features(
    folder: str | os.PathLike,
    features: ImageFeatures | None = None,
    *,
    cache: str | os.PathLike | None = None,
    odd: str = "resize",
    verbose: int = 0,
) -> Images:
    """Read all images of a folder as features; pixels are dropped as soon as these are there.

    Parameters
    ----------
    folder : str or path-like
    features : ImageFeatures, optional
        By default those of 'efficientnet-lite0'. It need not be fitted.
    cache : str or path-like, optional
        A folder where features are kept by the content of files. A run that was stopped goes on
        there, and a file that is known is not computed again.
    odd, verbose
        As in `read_images`.

    Returns
    -------
    Images
        With `features`, in half precision and not standardised, and `thumbnails`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from mixpul.images import ImageFeatures, read_features
    >>> folder = Path(tempfile.mkdtemp())
    >>> Image.new("RGB", (64, 48), "red").save(folder / "a.png")
    >>> means = ImageFeatures(lambda images: images.mean((-2, -1)), size=16)
    >>> read_features(folder, means).features
    array([[1., 0., 0.]], dtype=float16)
    """
    features = features or ImageFeatures()
    with _open_store(folder, features, cache) as (extractor, store):
        parts = _stream_computed(folder, extractor, store, store, odd, verbose)
        whole = join_without_pixels(parts)
        return whole._replace(**store.take(whole.digests)._asdict())


def stream_features(
    folder: str | os.PathLike,
    features: ImageFeatures | None = None,
    *,
    cache: str | os.PathLike | None = None,
    odd: str = "resize",
    verbose: int = 0,
) -> Iterator[Images]:
    """Read the images of a folder as features some hundred at a time, as each part is computed.

    Parameters
    ----------
    folder, features, cache, odd, verbose
        As in `read_features`.

    Yields
    ------
    Images
        As `read_features` returns, of up to 512 files; those skipped on the way come with them.
    """
    features = features or ImageFeatures()
    with _open_store(folder, features, cache) as (extractor, store):
        known = () if cache is None else store
        for part in _stream_computed(folder, extractor, store, known, odd, verbose):
            # All files of the last part may have been skipped.
            found = store.take(part.digests)._asdict() if part.names else {}
            yield part._replace(**found)
            if cache is None:  # a folder of any size leaves nothing on disk
                store.clear()


@contextmanager
def _open_store(
    folder: str | os.PathLike, features: ImageFeatures, cache: str | os.PathLike | None
) -> Iterator[tuple[Extractor, FeatureStore]]:
    """Open the store of a folder, or one that is gone afterwards, for the features of images."""
    import_pillow()
    # First: a folder that is not there should not cost the loading of a network.
    check_image_folder(folder)
    extractor = features.find_extractor()
    if cache is not None and extractor.key is None:
        raise MixpulError(
            "The features of a callable cannot be kept, because nothing tells whether it has "
            "changed; pass a torch.nn.Module, or leave the cache out."
        )
    key = extractor.key or "of a callable"
    if cache is not None:
        yield extractor, FeatureStore(cache, key, features.size)
        return
    with TemporaryDirectory() as scratch:
        yield extractor, FeatureStore(scratch, key, features.size)


def _stream_computed(
    folder: str | os.PathLike,
    extractor: Extractor,
    store: FeatureStore,
    known: Container[str],
    odd: str,
    verbose: int,
) -> Iterator[Images]:
    """Read a folder part by part, without pixels; the features of each part are in the store.

    Files that are `known` are not decoded: their features stay in the store.
    """
    paths, skipped = list_files(folder)
    is_empty = True
    with progress_bar(len(paths), Path(folder).name, verbose, "images") as advance:
        for files, readings in _read_ahead(paths, store.size, odd, known):
            _compute_new(extractor, readings, store)
            part = join_without_pixels([])
            for path, reading in zip(files, readings, strict=True):
                advance({})
                name = name_file(path, folder)
                if reading.facts is None:
                    skipped.append(Skipped(name, reading.reason))
                    continue
                part.names.append(name)
                part.digests.append(reading.digest)
                part.is_resized.append(reading.is_resized)
                part.facts.append(reading.facts)
            if part.names:
                yield part._replace(skipped=skipped, pixels=make_no_pixels(len(part.names)))
                is_empty, skipped = False, []
    if is_empty:
        raise ValueError(explain_nothing(folder, skipped))
    if skipped:
        yield join_without_pixels([])._replace(skipped=skipped)


def _read_ahead(
    paths: list[Path], size: int, odd: str, known: Container[str]
) -> Iterator[tuple[list[Path], list[Reading]]]:
    """Read files some hundred at a time, the next ones while features are computed."""
    parts = [
        paths[start : start + IMAGES_PER_PASS] for start in range(0, len(paths), IMAGES_PER_PASS)
    ]
    with ThreadPoolExecutor(1, "images ahead") as pool:
        coming = None
        for part, later in zip(parts, [*parts[1:], None], strict=True):
            now = coming or pool.submit(read_files, part, size, odd, known)
            # Asked for before this one is waited for, so the reader is never idle.
            coming = pool.submit(read_files, later, size, odd, known) if later else None
            yield part, now.result()


def _compute_new(extractor: Extractor, readings: list[Reading], store: FeatureStore) -> None:
    """Compute and store features of images that have none; a copy of another one needs none."""
    new = {
        reading.digest: reading.pixels
        for reading in readings
        if reading.pixels is not None and reading.digest not in store
    }
    if new:
        pixels = np.stack(list(new.values()))
        store.add(list(new), Stored(compute_features(extractor, pixels), shrink_pixels(pixels)))
