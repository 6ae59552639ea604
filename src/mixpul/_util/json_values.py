"""Values as JSON has them."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["to_plain"]


def to_plain(value: Any) -> Any:
    """Turn numpy's numbers, tuples and mappings into what `json.dumps` takes.

    NaN and infinity become None: JSON has no word for them. Named tuples become mappings.
    """
    # First: a named tuple is a tuple, and would become a list without its names.
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): to_plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
