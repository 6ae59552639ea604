"""Values as JSON has them, and back: numbers, text, lists, arrays, and objects of our classes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import mixpul
from mixpul._names import METHODS, MINERS, PRIORS, STUDENTS
from mixpul._util.errors import DamagedFile
from mixpul._util.schema import Anything, Choice, ListOf, MapOf, Record, check_value

__all__ = [
    "CLASSES",
    "UNSTORED",
    "decode",
    "decode_params",
    "encode",
    "encode_params",
    "find_class",
    "holds_unstored",
    "is_learned",
    "is_ours",
]

# The closed lists: a file may name these classes and no others.
CLASSES = sorted([*METHODS.list_class_names(), *STUDENTS.list_class_names()])
PARTS: dict[str, type[BaseEstimator]] = {
    cls.__name__: cls for cls in (*MINERS.values(), *PRIORS.values())
}
# What stands in a file for a parameter that has no plain form: a callable, an object of yours.
UNSTORED = {"unstored": True}
ARRAY, PART, ITEMS = {"array", "dtype"}, {"part", "params"}, {"items"}
ARRAY_OF = Record({"array": ListOf(Anything()), "dtype": Choice(("str", "object"))})
PART_OF = Record({"part": Choice((*CLASSES, *PARTS)), "params": MapOf(Anything())})
# Parameters that are neither written to a file nor taken from one.
UNTRUSTED = ("checkpoint",)
# Keys that mean something in a file; a mapping with just these is stored as a list of its items.
MARKS = (ARRAY, PART, ITEMS, {"arrays"})


def is_learned(name: str, cls: type[BaseEstimator]) -> bool:
    """Whether `name` may be set from a file: what fit learns, never a method or an internal."""
    return name.endswith("_") and not name.startswith("_") and not hasattr(cls, name)


def find_class(name: str) -> type[BaseEstimator]:
    """Return a class of ours by its name."""
    return getattr(mixpul, name) if name in CLASSES else PARTS[name]


def is_ours(value: Any) -> bool:
    """Whether a value is of a class that a file may name: the very class, not one derived."""
    name = type(value).__name__
    return (name in CLASSES or name in PARTS) and type(value) is find_class(name)


def encode(value: Any) -> Any:
    """Turn numbers, text, lists, arrays, mappings and objects of our classes into JSON."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biuf":
            return value.tolist()
        entries = [encode(v) if is_ours(v) else v for v in value.tolist()]
        return {"array": entries, "dtype": "object" if value.dtype == object else "str"}
    if isinstance(value, np.generic):
        return value.item()
    if is_ours(value):
        return {"part": type(value).__name__, "params": encode_params(value)}
    if _is_device(value):
        return str(value)
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    if isinstance(value, Mapping):
        items = [[k, encode(v)] for k, v in value.items()]
        return {"items": items} if value.keys() in MARKS else dict(items)
    return value if isinstance(value, str | int | float | bool | None) else UNSTORED


def encode_params(estimator: BaseEstimator) -> dict[str, Any]:
    """Encode parameters; a list or a mapping with something unstored in it is not stored at all."""
    # Not deep: the parameters of a scorer inside are not parameters of the estimator.
    params = estimator.get_params(deep=False)
    encoded = {k: encode(v) for k, v in params.items() if k not in UNTRUSTED}
    return {
        k: UNSTORED if holds_unstored(v) and not _has_keys(v, PART) else v
        for k, v in encoded.items()
    }


def decode(value: Any) -> Any:
    """Turn JSON back into values."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    if _has_keys(value, ARRAY):
        check_value(value, ARRAY_OF)
        entries = decode(value["array"])
        if value["dtype"] == "str":
            _check_width(entries)
            return np.array(entries, dtype=str)
        array = np.empty(len(entries), dtype=object)
        array[:] = entries
        return array
    if _has_keys(value, PART):
        check_value(value, PART_OF)
        return find_class(value["part"])(**decode_params(value["params"]))
    if _has_keys(value, ITEMS):
        check_value(value["items"], ListOf(ListOf(Anything(), 2, 2)), "items")
    items = value["items"] if _has_keys(value, ITEMS) else value.items()
    return {k: decode(v) for k, v in items}


def decode_params(stored: dict[str, Any]) -> dict[str, Any]:
    """Decode parameters; those that are not stored are left out."""
    # Of a checkpoint a file may not say where: the next fit would write there.
    return {k: decode(v) for k, v in stored.items() if v != UNSTORED and k not in UNTRUSTED}


def holds_unstored(value: Any) -> bool:
    """Whether an encoded value, or anything in it, has no plain form."""
    if isinstance(value, list):
        return any(holds_unstored(v) for v in value)
    if _has_keys(value, PART):
        # Randomness that was passed in is used up by the fit.
        return any(holds_unstored(v) for k, v in value["params"].items() if k != "random_state")
    if isinstance(value, dict) and value != UNSTORED:
        return any(holds_unstored(v) for v in value.values())
    return bool(value == UNSTORED)


def _check_width(entries: list[Any]) -> None:
    """Refuse text that numpy would blow up: each entry takes as much room as the longest."""
    lengths = [len(entry) for entry in entries if isinstance(entry, str)]
    if len(lengths) < len(entries):
        raise DamagedFile("it has an array of text with entries that are none.")
    if len(lengths) * max(lengths, default=0) > 100 * sum(lengths) + 10_000:
        raise DamagedFile("it has an array of text with one entry far longer than all others.")


def _is_device(value: Any) -> bool:
    # By its name: torch takes seconds to import, and most models have no device.
    return (type(value).__module__, type(value).__name__) == ("torch", "device")


def _has_keys(value: Any, keys: set[str]) -> bool:
    return isinstance(value, dict) and value.keys() == keys
