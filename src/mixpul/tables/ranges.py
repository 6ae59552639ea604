"""The smallest and the largest number of each column, over any number of batches."""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Range", "find_ranges", "merge_ranges"]


class Range(NamedTuple):
    """The smallest and the largest finite number of a column; None if it has none."""

    low: float | None
    high: float | None


def find_ranges(
    batch: Any, known: Mapping[str, Range | None], decimal: str
) -> dict[str, Range | None]:
    """Return the range of each column of a batch; None for columns of anything but numbers.

    Text counts as numbers if every cell is one. Columns that are None in `known` are not looked at.
    """
    found: dict[str, Range | None] = {}
    for name in batch.schema.names:
        skip = name in known and known[name] is None
        found[name] = None if skip else _find_range(batch.column(name), decimal)
    return found


def _find_range(column: Any, decimal: str) -> Range | None:
    import pyarrow as pa
    from pyarrow import compute as pc

    kind = column.type
    if pa.types.is_null(kind):
        return Range(None, None)
    if pa.types.is_string(kind):
        try:
            written = column if decimal == "." else pc.replace_substring(column, decimal, ".")
            column = pc.cast(written, pa.float64())
        except pa.ArrowInvalid:
            return None
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    ends = _find_ends(column)
    if any(end is not None and abs(end) == float("inf") for end in ends):
        ends = _find_ends(column.filter(pc.is_finite(column)))
    return Range(*ends)


def _find_ends(column: Any) -> tuple[float | None, float | None]:
    from pyarrow import compute as pc

    if not column.null_count and len(column):
        # Without a copy, and several times as fast; a NaN is what Arrow leaves out.
        numbers = column.to_numpy()
        low, high = float(numbers.min()), float(numbers.max())
        if low == low:
            return low, high
    ends = pc.min_max(column).as_py()
    known = (None if e is None or e != e else float(e) for e in (ends["min"], ends["max"]))
    return next(known), next(known)


def merge_ranges(known: dict[str, Range | None], more: Mapping[str, Range | None]) -> None:
    """Widen the ranges in `known`; a column that is not of numbers anywhere has none."""
    for name, own in more.items():
        before = known.get(name, Range(None, None))
        known[name] = None if before is None or own is None else _join(before, own)


def _join(one: Range, other: Range) -> Range:
    lows = [own.low for own in (one, other) if own.low is not None]
    highs = [own.high for own in (one, other) if own.high is not None]
    return Range(min(lows, default=None), max(highs, default=None))
