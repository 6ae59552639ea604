"""What may stand in a file: the type, shape, range and size of each value, and one exception.

A schema is made of the classes below. `check_value` compares a value with it and raises
`DamagedFile`, whose sentence names the value and what was expected.

>>> check_value({"n": 3, "names": ["a"]}, Record({"n": Number(1, whole=True), "names": ListOf(Text())}))
>>> check_value({"n": 0}, Record({"n": Number(1, whole=True)}))
Traceback (most recent call last):
mixpul._util.errors.DamagedFile: 'n' is 0; expected a whole number from 1 on.
"""  # noqa: E501

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import float_info
from typing import Any

import numpy as np

from mixpul._util.errors import DamagedFile

__all__ = [
    "Anything",
    "Array",
    "Choice",
    "Flag",
    "ListOf",
    "MapOf",
    "Maybe",
    "Number",
    "Record",
    "Scalar",
    "Spec",
    "Text",
    "check_value",
]

LARGEST = float_info.max


class Spec:
    """What a value must be."""

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        """Raise `DamagedFile` if the value, called `name`, is something else."""
        raise NotImplementedError


class Anything(Spec):
    """What is checked elsewhere, where its meaning is known."""

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        """Take it as it is."""


def check_value(
    value: Any, spec: Spec, name: str = "", sizes: dict[str, int] | None = None
) -> None:
    """Compare a value with its schema.

    Parameters
    ----------
    value : object
    spec : Spec
    name : str
        What to call it.
    sizes : dict of str to int, optional
        Sizes that shapes refer to by name; a name that is not there gets the size that is found.
    """
    spec.check(value, name, {} if sizes is None else sizes)


def _refuse(name: str, value: Any, expected: str) -> DamagedFile:
    found = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    found = found if len(found) <= 60 else f"{found[:57]}..."
    return DamagedFile(f"{name!r} is {found}; expected {expected}.")


def _go_into(name: str, entry: object) -> str:
    return f"{name}.{entry}" if name else f"{entry}"


@dataclass(frozen=True)
class Number(Spec):
    """A number of Python or numpy, never NaN or infinite; `above` excludes the lower end."""

    low: float = -LARGEST
    high: float = LARGEST
    above: bool = False
    whole: bool = False

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        kind = int | np.integer if self.whole else int | float | np.integer | np.floating
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        value = value.item() if isinstance(value, np.generic) else value
        # Whole numbers of Python may be too large for a float, but compare all the same.
        if (
            not is_number
            or not self.low <= value <= self.high
            or (self.above and value == self.low)
        ):
            raise _refuse(name, value, self.describe())

    def describe(self) -> str:
        """Say it in words."""
        words = "a whole number" if self.whole else "a finite number"
        if self.low > -LARGEST:
            words += f" above {self.low:g}" if self.above else f" from {self.low:g} on"
        return words + (f", at most {self.high:g}" if self.high < LARGEST else "")


@dataclass(frozen=True)
class Text(Spec):
    """Text of any length."""

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, str):
            raise _refuse(name, value, "text")


@dataclass(frozen=True)
class Flag(Spec):
    """True or False."""

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, bool):
            raise _refuse(name, value, "true or false")


@dataclass(frozen=True)
class Scalar(Spec):
    """What a cell of a table may hold: text, a finite number, or true or false."""

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, str | bool):
            Number().check(value, name, sizes)


@dataclass(frozen=True)
class Choice(Spec):
    """One of some texts."""

    values: tuple[str, ...]

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, str) or value not in self.values:
            raise _refuse(name, value, f"one of {', '.join(map(repr, self.values))}")


@dataclass(frozen=True)
class Maybe(Spec):
    """None, or something else."""

    spec: Spec

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if value is not None:
            self.spec.check(value, name, sizes)


@dataclass(frozen=True)
class ListOf(Spec):
    """A list whose entries are alike."""

    spec: Spec
    least: int = 0
    most: int | None = None

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, list):
            raise _refuse(name, value, "a list")
        if len(value) < self.least or (self.most is not None and len(value) > self.most):
            limits = f"{self.least} to {self.most}" if self.most is not None else f"{self.least}"
            raise DamagedFile(f"{name!r} has {len(value)} entries; expected {limits} or more.")
        for k, entry in enumerate(value):
            self.spec.check(entry, _go_into(name, k), sizes)


@dataclass(frozen=True)
class MapOf(Spec):
    """A mapping of text to values that are alike."""

    spec: Spec

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, Mapping):
            raise _refuse(name, value, "a mapping")
        for key, entry in value.items():
            if not isinstance(key, str):
                raise _refuse(name, key, "names as keys")
            self.spec.check(entry, _go_into(name, key), sizes)


@dataclass(frozen=True)
class Record(Spec):
    """A mapping with given entries. `optional` ones may be missing; others are let be."""

    fields: Mapping[str, Spec]
    optional: Mapping[str, Spec] = field(default_factory=dict)

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, Mapping):
            raise _refuse(name, value, "a mapping")
        for key, spec in self.fields.items():
            if key not in value:
                raise DamagedFile(f"it has no {_go_into(name, key)!r}.")
            spec.check(value[key], _go_into(name, key), sizes)
        for key, spec in self.optional.items():
            if key in value:
                spec.check(value[key], _go_into(name, key), sizes)


@dataclass(frozen=True)
class Array(Spec):
    """An array of numpy.

    Parameters
    ----------
    kind : {'float', 'whole', 'bool', 'text'}
    shape : tuple of int, str or None
        A text names a size: all shapes that name it must agree. None is any size from 1 on.
    low, high : float
        The range; NaN and infinity are never in it.
    """

    kind: str
    shape: tuple[int | str | None, ...]
    low: float = -LARGEST
    high: float = LARGEST

    _KINDS = {"float": "f", "whole": "iu", "bool": "b", "text": "OU"}

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in self._KINDS[self.kind]:
            found = value.dtype.name if isinstance(value, np.ndarray) else type(value).__name__
            raise DamagedFile(f"{name!r} is {found}; expected an array of {self.kind} values.")
        wanted = [sizes.get(size) if isinstance(size, str) else size for size in self.shape]
        is_like = len(wanted) == value.ndim and all(
            found >= 1 and (size is None or size == found)
            for size, found in zip(wanted, value.shape, strict=True)
        )
        if not is_like:
            words = ", ".join("any" if size is None else f"{size}" for size in wanted)
            raise DamagedFile(f"{name!r} has the shape {value.shape}; expected ({words}).")
        for size, found in zip(self.shape, value.shape, strict=True):
            if isinstance(size, str):
                sizes[size] = found
        self._check_entries(value, name)

    def _check_entries(self, value: np.ndarray, name: str) -> None:
        if self.kind == "text":
            if not all(isinstance(entry, str) for entry in value.flat):
                raise DamagedFile(f"{name!r} has entries that are not text.")
            return
        if self.kind == "float" and not np.isfinite(value).all():
            raise DamagedFile(f"{name!r} has entries that are NaN or infinite.")
        if self.kind != "bool":
            low, high = value.min().item(), value.max().item()
            if not self.low <= low <= high <= self.high:
                raise DamagedFile(
                    f"{name!r} has entries from {low:g} to {high:g}; expected {self.low:g} to "
                    f"{self.high:g}."
                )
