"""Readers of the files in a data folder: npz, MATLAB, idx and CIFAR-10's binary records.

Each says what it expected and what it found. None of them reads a pickle, which can run any code.
"""

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CIFAR10_ARCHIVE",
    "CIFAR10_BATCHES",
    "DataNotAvailable",
    "read_cifar10_records",
    "read_idx",
    "read_matlab",
    "read_npz",
]

CIFAR10_BATCHES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
CIFAR10_ARCHIVE = "cifar-10-binary.tar.gz"
_RECORDS, _RECORD_BYTES = 10_000, 1 + 3 * 32 * 32
_BROKEN = (EOFError, OSError, ValueError, zlib.error, zipfile.BadZipFile, tarfile.TarError)


class DataNotAvailable(FileNotFoundError):
    """The files of a data set were not found where they were looked for.

    Examples
    --------
    >>> from mixpul import datasets
    >>> try:
    ...     datasets.load("ethn", data="empty-folder")
    ... except datasets.DataNotAvailable:
    ...     print("data not available")
    data not available
    """


def read_npz(
    path: Path, required: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, NDArray]:
    """Read named arrays, in upper or lower case; those that are `optional` may be absent."""
    required, optional = tuple(required), tuple(optional)
    # numpy takes every other file for a pickle, and would advise to allow pickles.
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is not a whole npz file ({path.stat().st_size} bytes); expected one with the "
            f"arrays {', '.join(required)}, as numpy.savez_compressed writes it."
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name.lower(): name for name in file.files}
            absent = [name for name in required if name.lower() not in stored]
            arrays = {
                name: file[stored[name.lower()]]
                for name in (*required, *optional)
                if name.lower() in stored
            }
    except _BROKEN as error:
        raise ValueError(
            f"{path} cannot be read ({error}); expected whole arrays {', '.join(required)} of "
            "numbers, without Python objects."
        ) from error
    if absent:
        raise ValueError(
            f"{path} must hold the arrays {', '.join(required)}; "
            f"it holds {', '.join(stored.values()) or 'none'}."
        )
    return arrays


def read_matlab(path: Path, names: Iterable[str]) -> dict[str, Any]:
    """Read named variables from a MATLAB file of version 7 or older."""
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import MatReadError

    names = tuple(names)
    try:
        variables = loadmat(path, variable_names=names)
        if set(names) <= set(variables):
            return {name: variables[name] for name in names}
        stored = [name for name, _, _ in whosmat(path)]
    except NotImplementedError as error:
        raise ValueError(
            f"{path} is a MATLAB file of version 7.3, which is HDF5; save it in MATLAB with "
            f"save('{path.name}', {', '.join(map(repr, names))}, '-v7'), or as npz."
        ) from error
    except (*_BROKEN, MatReadError, TypeError) as error:
        raise ValueError(
            f"{path} cannot be read as a MATLAB file ({error}); expected the variables "
            f"{', '.join(names)}."
        ) from error
    raise ValueError(
        f"{path} must hold the variables {', '.join(names)}; "
        f"it holds {', '.join(stored) or 'none'}."
    )


def read_idx(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Read unsigned bytes of this very shape from an idx file, plain or gzipped."""
    # Two zero bytes, 8 for unsigned bytes, the number of axes; then the axes, all big-endian.
    header = np.array([0x800 + len(shape), *shape], ">i4").tobytes()
    n_bytes = len(header) + prod(shape)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            # One byte more than expected, to notice a file that is too long.
            content = file.read(n_bytes + 1)
    except _BROKEN as error:
        raise ValueError(
            f"{path} breaks off ({error}); expected {n_bytes} bytes once unpacked."
        ) from error
    if content[: len(header)] != header:
        raise ValueError(
            f"{path} starts with the bytes {content[: len(header)].hex(' ', -4)}; expected "
            f"{header.hex(' ', -4)}, an idx file of unsigned bytes of shape {shape}."
        )
    if len(content) != n_bytes:
        found = f"only {len(content)}" if len(content) < n_bytes else "more"
        raise ValueError(f"{path} must hold {n_bytes} bytes for the shape {shape}; it has {found}.")
    return np.frombuffer(content, np.uint8, offset=len(header)).reshape(shape)


def read_cifar10_records(place: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read all images (n, 3, 32, 32) and labels of the binary version, training batches first.

    `place` is the folder with the six files, or the archive, which is not unpacked on disk.
    """
    X = np.empty((len(CIFAR10_BATCHES) * _RECORDS, 3, 32, 32), np.uint8)
    y = np.empty(len(X), np.uint8)
    batches = _read_folder(place) if place.is_dir() else _read_archive(place)
    for number, content in batches:
        rows = slice(number * _RECORDS, (number + 1) * _RECORDS)
        # A record is the label, then the planes of red, green and blue.
        records = np.frombuffer(content, np.uint8).reshape(_RECORDS, _RECORD_BYTES)
        y[rows] = records[:, 0]
        X[rows] = records[:, 1:].reshape(-1, 3, 32, 32)
    return X, y


def _read_folder(folder: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each batch in a folder."""
    for number, name in enumerate(CIFAR10_BATCHES):
        path = folder / name
        if not path.is_file():
            raise DataNotAvailable(
                f"{path} is missing; CIFAR-10's binary version has {', '.join(CIFAR10_BATCHES)}."
            )
        _check_batch_size(path, path.stat().st_size)
        yield number, path.read_bytes()


def _read_archive(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each batch, in the order of the archive."""
    missing = set(CIFAR10_BATCHES)
    try:
        with tarfile.open(path, "r:gz") as archive:
            # In its own order: going back in a gzipped archive unpacks it from the start.
            for member in archive:
                name = Path(member.name).name
                if not member.isfile() or name not in missing:
                    continue
                _check_batch_size(Path(path, name), member.size)
                content = archive.extractfile(member)
                assert content is not None  # it is a file
                missing.remove(name)
                yield CIFAR10_BATCHES.index(name), content.read()
    # Without ValueError, so that a batch of the wrong size keeps its own sentence.
    except (EOFError, OSError, zlib.error, tarfile.TarError) as error:
        raise ValueError(
            f"{path} breaks off ({error}); expected the whole archive with "
            f"{', '.join(CIFAR10_BATCHES)}."
        ) from error
    if missing:
        raise ValueError(
            f"{path} must hold {', '.join(CIFAR10_BATCHES)}; it lacks {', '.join(sorted(missing))}."
        )


def _check_batch_size(path: Path, n_bytes: int) -> None:
    expected = _RECORDS * _RECORD_BYTES
    if n_bytes != expected:
        raise ValueError(
            f"{path} must hold {expected} bytes, {_RECORDS} records of {_RECORD_BYTES}; "
            f"it has {n_bytes}."
        )
