"""Files of tensors and one description in JSON, as safetensors, with a checksum of everything.

They are read here, byte by byte, not mapped: what was loaded stays as it is when the file changes,
and nothing is allocated that the file has no bytes for. A tensor is an array of numpy here, so that
files without networks are read and written without torch, which takes seconds to import;
`_util.tensors` turns arrays into tensors of torch.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import save as to_bytes

from mixpul._util.errors import DamagedFile
from mixpul._util.files import write_whole
from mixpul._util.json_values import read_json
from mixpul._util.schema import Choice, ListOf, MapOf, Number, Record, Text, check_value

__all__ = ["Head", "checksum", "read_head", "read_tensors", "write_tensors"]

# The types that a file may have, with those of numpy. Others, such as bfloat16, numpy cannot read.
TYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
WRITABLE = {np.dtype(kind) for kind in TYPES.values()}
# Limits of the safetensors format, and of what our files have.
MOST_BYTES_OF_HEAD, MOST_TENSORS, MOST_DIMENSIONS, LARGEST_SIZE = 100_000_000, 100_000, 8, 2**40
METADATA = "__metadata__"
SIZE = Number(0, LARGEST_SIZE, whole=True)
ENTRY = Record(
    {
        "dtype": Choice(tuple(TYPES)),
        "shape": ListOf(SIZE, most=MOST_DIMENSIONS),
        "data_offsets": ListOf(Number(0, whole=True), least=2, most=2),
    }
)

# The type and shape of each tensor.
Kinds = dict[str, tuple[str, list[int]]]


class Head:
    """What a file says of itself, before its tensors.

    Attributes
    ----------
    description : object
        The JSON that stands under a name in the metadata.
    kinds : dict
        Type and shape of each tensor.
    places : dict
        Where each lies, in bytes.
    n_bytes : int
        Length of the head.
    """

    def __init__(self, description: Any, entries: dict[str, Any], n_bytes: int) -> None:
        self.description, self.n_bytes = description, n_bytes
        self.kinds: Kinds = {name: (e["dtype"], e["shape"]) for name, e in entries.items()}
        self.places = {name: tuple(e["data_offsets"]) for name, e in entries.items()}


def write_tensors(
    path: str | os.PathLike,
    key: str,
    tensors: Mapping[str, NDArray],
    description: dict[str, Any],
) -> None:
    """Write tensors and a description, whole or not at all; `key` is its name in the metadata."""
    for name, tensor in tensors.items():
        if tensor.dtype not in WRITABLE:
            kind = _name_type(tensor.dtype)
            raise TypeError(f"{name!r} is {kind}, which cannot be stored; use float32.")
    description = description | {"sha256": checksum(tensors, description)}
    # Row by row: safetensors copies memory as it lies there.
    rows = {name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}
    # One entry of metadata: several come in random order, and equal contents would differ.
    write_whole(path, to_bytes(rows, {key: json.dumps(description)}))


def read_tensors(path: str | os.PathLike, key: str) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return tensors and the description, if all of it is as it was written."""
    try:
        with Path(path).open("rb") as file:
            head = _read_head(file, key)
            content = bytearray(file.read())
    except (OSError, MemoryError) as error:
        raise DamagedFile(f"it cannot be read ({error}).") from error
    tensors = {
        name: _make_tensor(content, *head.kinds[name], *head.places[name]) for name in head.kinds
    }
    description = head.description
    if not isinstance(description, dict) or "sha256" not in description:
        raise DamagedFile("it has no checksum.")
    if description.pop("sha256") != checksum(tensors, description):
        raise DamagedFile("its content does not match its checksum.")
    return tensors, description


def read_head(path: str | os.PathLike, key: str) -> Head:
    """Return what a file says of itself; damage to its tensors is not seen."""
    try:
        with Path(path).open("rb") as file:
            return _read_head(file, key)
    except (OSError, MemoryError) as error:
        raise DamagedFile(f"it cannot be read ({error}).") from error


def _read_head(file: IO[bytes], key: str) -> Head:
    n_all = os.fstat(file.fileno()).st_size
    n_head = int.from_bytes(file.read(8), "little")
    if n_all < 8 or n_head > min(n_all - 8, MOST_BYTES_OF_HEAD):
        raise DamagedFile("it is broken, truncated or not a file of tensors.")
    entries = read_json(file.read(n_head))
    if not isinstance(entries, dict) or len(entries) > MOST_TENSORS:
        raise DamagedFile("it is broken, truncated or not a file of tensors.")
    metadata = entries.pop(METADATA, {})
    check_value(entries, MapOf(ENTRY))
    _check_places(entries, n_all - 8 - n_head)
    try:
        check_value(metadata, Record({key: Text()}))
        description = read_json(metadata[key])
    except DamagedFile:
        # A file of tensors, but of somebody else's; whoever asked knows what to call it.
        description = None
    return Head(description, entries, n_head)


def _check_places(entries: dict[str, Any], n_bytes: int) -> None:
    """Refuse tensors that are not of their size, or do not fill the file from end to end."""
    place = 0
    for entry in sorted(entries.values(), key=lambda entry: entry["data_offsets"]):
        start, stop = entry["data_offsets"]
        sizes = entry["shape"]
        n_wanted = math.prod(sizes) * np.dtype(TYPES[entry["dtype"]]).itemsize
        # Without its zeros: numpy refuses what would be too large but for them.
        is_huge = math.prod(size or 1 for size in sizes) > LARGEST_SIZE
        if start != place or stop - start != n_wanted or is_huge:
            raise DamagedFile("its tensors are not where it says.")
        place = stop
    if place != n_bytes:
        raise DamagedFile("it does not have the length it says.")


def _make_tensor(
    content: bytearray, dtype: str, shape: list[int], start: int, stop: int
) -> NDArray:
    values = np.frombuffer(content, dtype=np.uint8)[start:stop]
    # Bytes other than 0 and 1 are no booleans; numpy would take them for some.
    if dtype == "BOOL" and (values > 1).any():
        raise DamagedFile("it has a mask that is neither true nor false.")
    # Copied: every tensor has memory of its own, aligned as in a new one.
    return values.view(TYPES[dtype]).reshape(shape).copy()


def checksum(tensors: Mapping[str, ArrayLike], description: dict[str, Any]) -> str:
    """Compute a hash that shows damage on the way; it is no protection against forgery."""
    # Sorted throughout: the order of keys is an accident of the writer.
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = np.asarray(tensors[name])
        kind = f"{name} {_name_type(tensor.dtype)} {tensor.shape}"
        digest.update(kind.encode("utf-8", "surrogatepass"))
        digest.update(tensor.tobytes())
    return digest.hexdigest()


def _name_type(dtype: np.dtype) -> str:
    """Name a type as torch does: files of all versions have these names in their checksums."""
    return f"torch.{dtype}"
