"""Checks of what a step holds: counts, arrays and places."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_array", "check_count", "check_indices", "check_optional", "check_width"]

# A row of that many numbers takes 32 MB.
MOST_COLUMNS = 2**22


def check_count(value: Any, name: str, least: int = 0) -> int:
    """Return a whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"its {name} is not a number of that kind.")
    return int(value)


def check_width(n_columns: int) -> int:
    """Return a number of columns that a row may have."""
    if n_columns > MOST_COLUMNS:
        raise ValueError(f"it would have more than {MOST_COLUMNS} columns.")
    return n_columns


def check_array(
    step: Any, name: str, shape: tuple[int, ...], kinds: str = "f", with_gaps: bool = False
) -> NDArray:
    """Return a learned array of the right type and shape; infinite values are refused."""
    array = getattr(step, name, None)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.shape != shape:
        raise ValueError(f"its {name} does not have the shape of its columns.")
    if array.dtype.kind == "f":
        is_bad = np.isinf(array) if with_gaps else ~np.isfinite(array)
        if is_bad.any():
            raise ValueError(f"its {name} is not finite.")
    return array


def check_optional(step: Any, name: str, n: int, with_gaps: bool = True) -> None:
    """Check an array with a number per column, if there is one."""
    if getattr(step, name, None) is not None:
        check_array(step, name, (n,), with_gaps=with_gaps)


def check_indices(array: Any, name: str, n: int) -> NDArray:
    """Return rising places among `n`."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.ndim != 1:
        raise ValueError(f"its {name} are not places of columns.")
    places = array.astype(np.int64)
    if len(places) and (places[0] < 0 or places[-1] >= n or (np.diff(places) <= 0).any()):
        raise ValueError(f"its {name} are not places of columns.")
    return places
