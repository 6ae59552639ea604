"""The rows to look at first: the unlabeled ones with the highest scores, and the lowest."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.out_of_fold import OutOfFold

__all__ = ["find_doubtful", "list_rows", "sort_unlabeled", "write_cells"]

LONGEST_CELL = 60


def sort_unlabeled(fitted: OutOfFold, is_positive: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the numbers of the unlabeled rows, the highest-scored first."""
    unlabeled = np.flatnonzero(~is_positive)
    # Stable: rows with the same score stay in the order of the table.
    return unlabeled[np.argsort(-fitted.shares[unlabeled], kind="stable")]


def find_doubtful(fitted: OutOfFold, is_positive: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the numbers of labeled positives whose labels look wrong, the lowest-scored first.

    They score below the middle one of the unlabeled rows: whatever was learned from the others
    takes them for anything but a positive.
    """
    positives = np.flatnonzero(is_positive)
    order = positives[np.argsort(fitted.scores[positives], kind="stable")]
    return order[fitted.scores[order] < np.median(fitted.scores[~is_positive])]


def list_rows(
    fitted: OutOfFold, rows: NDArray[np.intp], ids: Sequence[Any] | None
) -> list[dict[str, Any]]:
    """Return the names and scores of rows; without `ids` rows are counted from 1."""
    return [
        {
            "id": int(row) + 1 if ids is None else _write_id(ids[row]),
            "score": float(fitted.shares[row]),
        }
        for row in rows
    ]


def write_cells(
    frame: Any, rows: NDArray[np.intp], columns: list[str], longest: int = LONGEST_CELL
) -> list[dict[str, str]]:
    """Return for each row the values of some columns, as text; a gap is an empty text."""
    shown = frame[columns].iloc[rows]
    # Asked of the whole frame: pandas' NA cannot be compared, not even with itself.
    is_missing = shown.isna().to_numpy()
    return [
        {
            name: "" if gap else _write_cell(value, longest)
            for name, value, gap in zip(columns, values, gaps, strict=True)
        }
        for values, gaps in zip(shown.itertuples(index=False), is_missing, strict=True)
    ]


def _write_cell(value: Any, longest: int) -> str:
    if isinstance(value, float):
        # Whole numbers in full: 1205620, not 1.20562e+06.
        text = f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    else:
        text = str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _write_id(value: Any) -> Any:
    # A number of numpy is not a number for JSON; a date has to be text.
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, int | float | str) else str(value)
