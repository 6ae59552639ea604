"""LightGBM's trees as plain arrays, read from its text form without its own parser.

Rows are finite when they come here, so two of its details make no difference: where a missing value
would go, and whether there were any in training. Splits by category, zeros taken for missing values
and linear leaves are never asked for, and refused.
"""

import re

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import DamagedFile
from mixpul.methods._trees import Trees, join_trees

__all__ = ["drop_tiny", "read_trees"]

# Numbers up to this size count as 0.
TINY = np.float32(1e-35)
# Bits of a decision: by category; and of what counts as missing, 1 for zeros.
BY_CATEGORY, MISSING_TYPE, ZERO_IS_MISSING = 1, 12, 4


def read_trees(text: str) -> Trees:
    """Return the trees of a model in LightGBM's text form; values add up to the log odds."""
    if not isinstance(text, str):
        raise DamagedFile("its trees are not text; fit it again.")
    # From one heading to the next; the last one ends where the trees do.
    body = text.partition("end of trees")[0]
    parts = re.split(r"^Tree=\d+$", body, flags=re.MULTILINE)[1:]
    if not parts or "end of trees" not in text:
        raise DamagedFile("its trees are not a whole model of LightGBM; fit it again.")
    return join_trees([_read_tree(part) for part in parts])


def drop_tiny(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows in which numbers that LightGBM takes for 0 are 0."""
    return np.where(np.abs(rows) <= TINY, np.float32(0), rows)


def _read_tree(part: str) -> Trees:
    """Return one tree: its inner nodes first, in their order, then its leaves."""
    fields = dict(line.split("=", 1) for line in part.splitlines() if "=" in line)
    if fields.get("is_linear", "0") != "0" or fields.get("num_cat", "0") != "0":
        raise DamagedFile("its trees have linear leaves or categories; fit it again.")
    value = _read_numbers(fields, "leaf_value", np.float64)
    n_inner = len(value) - 1
    if not n_inner:
        # A single leaf has none of the other lines.
        children, feature, threshold = (
            np.empty((0, 2), np.int64),
            np.empty(0, np.int64),
            np.empty(0),
        )
    else:
        children = np.column_stack(
            [_read_numbers(fields, f"{side}_child", np.int64) for side in ("left", "right")]
        )
        feature = _read_numbers(fields, "split_feature", np.int64)
        threshold = _read_numbers(fields, "threshold", np.float64)
        decision = _read_numbers(fields, "decision_type", np.int64)
        is_odd = (decision & BY_CATEGORY) | ((decision & MISSING_TYPE) == ZERO_IS_MISSING)
        if is_odd.any():
            raise DamagedFile("its trees ask in a way that is not known here; fit it again.")
    if len(value) < 1 or not len(children) == len(feature) == len(threshold) == n_inner:
        raise DamagedFile("the arrays of its trees do not fit together.")
    # Leaves are written as -1, -2 and so on.
    children = np.where(children < 0, n_inner + ~children, children)
    if not ((children >= 0) & (children < n_inner + len(value))).all():
        raise DamagedFile("the arrays of its trees do not fit together.")
    leaves = np.arange(n_inner, n_inner + len(value))
    return Trees(
        roots=np.zeros(1, dtype=np.int64),
        children=np.concatenate([children, np.column_stack([leaves, leaves])]),
        feature=np.concatenate([feature, np.zeros(len(value), dtype=np.int64)]),
        threshold=np.concatenate([threshold, np.zeros(len(value))]),
        value=np.concatenate([np.zeros(n_inner), value]),
    )


def _read_numbers(fields: dict[str, str], name: str, kind: type) -> NDArray:
    """Return the numbers of a line."""
    try:
        return np.array(fields[name].split(), dtype=kind)
    except (KeyError, ValueError, OverflowError):
        raise DamagedFile(f"its trees have no whole line {name!r}; fit it again.") from None
