"""The file itself: tensors and one description in JSON, as safetensors, with a checksum."""

import hashlib
import json
import os
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

import mixpul
from mixpul._util.files import write_whole

__all__ = ["FORMAT", "checksum", "open_file", "read_file", "write_file"]

# Raise it when a file written by the new code cannot be read by the old; keep reading old ones.
FORMAT = 3
# Portfolios inside portfolios: deeper ones are nobody's.
MOST_NESTED = 5


def write_file(
    path: str | os.PathLike, tensors: dict[str, torch.Tensor], description: dict[str, Any]
) -> None:
    """Write a file, whole or not at all."""
    description = description | {"sha256": checksum(tensors, description)}
    # One entry of metadata: several come in random order, and equal models would differ.
    write_whole(path, to_bytes(tensors, {"mixpul": json.dumps(description)}))


def read_file(path: str | os.PathLike) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return the content of a file, if it is whole."""
    tensors, description, _ = open_file(path, with_tensors=True)
    if description.pop("sha256", None) != checksum(tensors, description):
        raise ValueError(f"{os.fspath(path)!r} is broken: its content does not match its checksum.")
    return tensors, description


def open_file(
    path: str | os.PathLike, with_tensors: bool
) -> tuple[dict[str, torch.Tensor], dict[str, Any], dict[str, tuple[str, list[int]]]]:
    """Return the tensors if asked for, the description, and each tensor's type and shape."""
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"There is no model file {name!r}.")
    try:
        with safe_open(name, framework="pt") as file:
            metadata = file.metadata() or {}
            keys = list(file.keys())
            slices = {key: file.get_slice(key) for key in keys}
            kinds = {key: (piece.get_dtype(), piece.get_shape()) for key, piece in slices.items()}
            tensors = {key: file.get_tensor(key) for key in keys if with_tensors}
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"{name!r} is broken, truncated or not a mixpul model file.") from error
    try:
        description = json.loads(metadata["mixpul"])
        file_format = int(description["format"])
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{name!r} is a safetensors file, but not a mixpul model.") from error
    # A newer format may count its checksum differently, so its number is looked at first.
    if file_format > FORMAT:
        raise ValueError(
            f"{name!r} has format {file_format}; this mixpul ({mixpul.__version__}) reads up to "
            f"{FORMAT}. Upgrade mixpul to load it."
        )
    if missing := _find_missing(description):
        raise ValueError(f"{name!r} is not a whole mixpul model file: {missing}")
    return tensors, description, kinds


def _find_missing(description: Any, depth: int = 0) -> str:
    """Say what a description lacks, or one of a member in it; empty if it is whole."""
    expected = {"class": str, "row_shape": list, "params": dict, "learned": dict}
    for key, kind in expected.items():
        if not isinstance(description, dict) or not isinstance(description.get(key), kind):
            return f"it has no {key!r}."
    members = description["learned"].get("members_", {})
    if not isinstance(members, dict) or depth > MOST_NESTED:
        return "its members are not a portfolio."
    for name, member in members.items():
        if missing := _find_missing(member, depth + 1):
            return f"of the candidate {name!r}, {missing}"
    return ""


def checksum(tensors: dict[str, torch.Tensor], description: dict[str, Any]) -> str:
    """Compute a hash that shows damage on the way; it is no protection against forgery."""
    # Sorted throughout: the order of keys is an accident of the writer.
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()
