"""Which columns of a table a part of a `ColumnTransformer` takes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["find_places"]


def find_places(columns: Any, n: int, names: NDArray | None) -> list[int]:
    """Return the places of columns among `n`, given as users give them.

    Parameters
    ----------
    columns : list, array or slice
        Names, places (also from the end) or one boolean per column.
    n : int
    names : ndarray of str or None
        The names of the columns, if they have any.

    Returns
    -------
    list of int
    """
    if isinstance(columns, slice):
        return _find_range(columns, n, names)
    listed = columns.tolist() if isinstance(columns, np.ndarray) else columns
    if not isinstance(listed, list):
        raise ValueError("the columns of a step are not a list.")
    if listed and all(isinstance(own, bool) for own in listed):
        if len(listed) != n:
            raise ValueError("the columns of a step are not those of the table.")
        return [place for place, is_taken in enumerate(listed) if is_taken]
    if all(isinstance(own, str) for own in listed):
        by_name = _number_names(names)
        if not set(listed) <= by_name.keys():
            raise ValueError("a step takes columns that are not there.")
        return [by_name[own] for own in listed]
    if not all(isinstance(own, int) and -n <= own < n for own in listed):
        raise ValueError("a step takes columns that are not there.")
    return [own % n for own in listed]


def _number_names(names: NDArray | None) -> dict[str, int]:
    return {} if names is None else {name: place for place, name in enumerate(names.tolist())}


def _find_range(columns: slice, n: int, names: NDArray | None) -> list[int]:
    ends = [columns.start, columns.stop]
    if any(isinstance(end, str) for end in ends):
        by_name = _number_names(names)
        if not {end for end in ends if end is not None} <= by_name.keys():
            raise ValueError("a step takes columns that are not there.")
        start = None if ends[0] is None else by_name[ends[0]]
        # By names the last one is part of the range.
        stop = None if ends[1] is None else by_name[ends[1]] + 1
        columns = slice(start, stop, columns.step)
    if columns.step == 0 or isinstance(columns.step, str):
        raise ValueError("a range of columns is not one.")
    return list(range(n)[columns])
