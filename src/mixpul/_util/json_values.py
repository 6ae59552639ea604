"""Values as JSON has them."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mixpul._util.errors import DamagedFile

__all__ = ["hash_json", "read_json", "to_plain"]

# More than any file of ours has: a table of 100,000 columns takes about a million values. Each
# takes up to a hundred bytes of memory, so a file cannot ask for much more than it brings.
MOST_VALUES = 5_000_000
# Lists in lists in lists: what goes through them calls itself as often.
MOST_NESTED = 60


def read_json(content: bytes | str) -> Any:
    """Return what JSON from a file says; raise `DamagedFile` if it cannot be read safely."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        if sum(map(text.count, ",[{")) > MOST_VALUES:
            raise DamagedFile(f"its JSON has more than {MOST_VALUES:,} values.")
        value = json.loads(text)
    except DamagedFile:
        raise
    # Numbers of thousands of digits are a ValueError, too.
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"it is not JSON: {str(error) or 'too deeply nested'}.") from None
    if _is_nested_deeper(value, MOST_NESTED):
        raise DamagedFile(f"its JSON is nested more than {MOST_NESTED} deep.")
    return value


def _is_nested_deeper(value: Any, most: int) -> bool:
    """Whether lists and mappings lie in each other more than `most` times; without recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def hash_json(value: Any) -> str:
    """Return a checksum of plain values; the order of keys makes no difference."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


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
