"""Features that are on disk already, by the content of image files.

A store is a folder of parts. Each part is a file of tensors with the features of some hundred
images, written whole or not at all, with a checksum. So a run that was stopped, however it was,
goes on where it stopped, and an image that has only moved is not computed again.
"""

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import DamagedFile
from mixpul._util.files import remove_partials
from mixpul._util.schema import Array, ListOf, Number, Record, Text, check_value
from mixpul._util.scratch import make_on_disk
from mixpul._util.tensor_files import read_tensors, write_tensors

__all__ = ["FeatureStore", "Stored"]

KEY, ENDING = "mixpul_features", ".features"
ABOUT = Record(
    {"extractor": Text(), "size": Number(1, whole=True), "digests": ListOf(Text(), least=1)}
)


class Stored(NamedTuple):
    """Features and thumbnails of images, in half precision and in bytes."""

    features: NDArray[np.float16]
    thumbnails: NDArray[np.uint8]


class FeatureStore:
    """Features by one extractor, of images of one size.

    Parameters
    ----------
    folder : path-like
        Made if it is not there. Parts by other extractors may be in it; they are let be, and so
        are damaged ones: their images are computed again.
    extractor : str
        The key of the extractor.
    size : int
    """

    def __init__(self, folder: str | os.PathLike, extractor: str, size: int) -> None:
        self.folder, self.extractor, self.size = Path(folder), extractor, size
        # Where the features of a file are: the part, and the row in it.
        self.places: dict[str, tuple[Path, int]] = {}
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(
                f"{str(folder)!r} is a file; name a folder where features can be kept."
            )
        self.folder.mkdir(exist_ok=True)
        remove_partials(self.folder)
        for path in sorted(self.folder.glob(f"*{ENDING}")):
            with suppress(DamagedFile):
                digests, _ = self._read(path)
                self._note(path, digests)

    def __contains__(self, digest: object) -> bool:
        return digest in self.places

    def add(self, digests: Sequence[str], stored: Stored) -> None:
        """Write the features of some images as one part."""
        about = {"extractor": self.extractor, "size": self.size, "digests": list(digests)}
        named = hashlib.sha256(f"{self.extractor} {self.size} {' '.join(digests)}".encode())
        path = self.folder / f"{named.hexdigest()[:24]}{ENDING}"
        write_tensors(path, KEY, stored._asdict(), about)
        self._note(path, digests)

    def take(self, digests: Sequence[str]) -> Stored:
        """Return the features of images that are all in the store; one part at a time is read.

        They are in a file, too: of many images they would not fit into memory.
        """
        of_parts: dict[Path, list[tuple[int, int]]] = {}
        for k, digest in enumerate(digests):
            path, row = self.places[digest]
            of_parts.setdefault(path, []).append((k, row))
        whole: Stored | None = None
        for path, pairs in of_parts.items():
            _, part = self._read(path)
            if whole is None:
                whole = Stored(
                    *(make_on_disk((len(digests), *own.shape[1:]), own.dtype) for own in part)
                )
            numbers, rows = np.array(pairs).T
            for to, own in ((whole[k], part[k]) for k in (0, 1)):
                if to.shape[1:] != own.shape[1:]:
                    raise DamagedFile(
                        f"Parts of {str(self.folder)!r} do not fit together; remove the folder."
                    )
                to[numbers] = own[rows]
        if whole is None:
            raise ValueError("There are no images to take features of.")
        return whole

    def clear(self) -> None:
        """Remove all features that are kept."""
        for path in {path for path, _ in self.places.values()}:
            path.unlink()
        self.places = {}

    def _note(self, path: Path, digests: Sequence[str]) -> None:
        self.places |= {digest: (path, row) for row, digest in enumerate(digests)}

    def _read(self, path: Path) -> tuple[list[str], Stored]:
        """Return a part; raise `DamagedFile` for one that is damaged, or another extractor's."""
        arrays, about = read_tensors(path, KEY)
        check_value(about, ABOUT)
        if (about["extractor"], about["size"]) != (self.extractor, self.size):
            raise DamagedFile(f"{path.name!r} is not of this extractor.")
        sizes = {"n": len(about["digests"])}
        expected = {
            "features": Array("float", ("n", None)),
            "thumbnails": Array("whole", ("n", 3, None, None)),
        }
        for name, spec in expected.items():
            check_value(arrays.get(name), spec, name, sizes)
        return about["digests"], Stored(arrays["features"], arrays["thumbnails"])
