"""What only a table, or only pictures, can be asked."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul.assess._checks import check_leaks, check_scar, check_simple, scar_is_open
from mixpul.assess._columns import (
    N_COLUMNS_OF_TOP,
    N_TOP,
    cells,
    column_importance,
    shuffled_scores,
)
from mixpul.assess._scores import OutOfFold, simple_scores
from mixpul.assess.source import Source
from mixpul.tables import TableInput, leaks

N_PICTURES = 24  # of the highest-scored ones, and of the lowest-scored ones


class Judged(NamedTuple):
    """Parts of an `Assessment`, named as they are there."""

    data: dict[str, Any]
    checks: list[dict[str, str]]
    top: list[dict[str, Any]]
    bottom: list[dict[str, Any]]
    importance: list[dict[str, Any]]
    warnings: list[str]


def judge_table(
    found: OutOfFold,
    is_positive: NDArray[np.bool_],
    ids: Sequence[Any] | None,
    random: np.random.Generator,
    advance: Callable[[dict[str, float]], None],
    *,
    source: Source,
    table: TableInput,
    frame: Any,
    rows: NDArray[np.float32],
) -> Judged:
    """Columns that matter, or give the label away; a simple method; the highest-scored rows."""
    shuffled = shuffled_scores(table, rows, is_positive, found, random, advance)
    importance = column_importance(table, shuffled)
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    leaking = leaks(named[list(table.kinds_)], is_positive)
    advance({})
    simple = simple_scores(rows, is_positive, found.folds, random)
    advance({})
    first = _by_score(found, is_positive)[:N_TOP]
    values = cells(named, first, [entry["column"] for entry in importance[:N_COLUMNS_OF_TOP]])
    return Judged(
        data={
            "unit": "row",
            **source.describe_table(),
            "columns": table.report_,
            "features": rows.shape[1],
        },
        checks=[
            check_scar(table, shuffled, importance),
            check_simple(is_positive, found.scores.astype(np.float64), simple, found.classifier),
            check_leaks(leaking),
        ],
        top=[
            entry | {"values": own}
            for entry, own in zip(_entries(found, first, ids), values, strict=True)
        ],
        bottom=[],
        importance=importance,
        warnings=[str(leak) for leak in leaking],
    )


def judge_pictures(
    found: OutOfFold,
    is_positive: NDArray[np.bool_],
    ids: Sequence[Any] | None,
    random: np.random.Generator,
    advance: Callable[[dict[str, float]], None],
    *,
    source: Source,
    pixels: NDArray[np.uint8],
) -> Judged:
    """The highest-scored and the lowest-scored pictures; there are no columns to ask about."""
    order = _by_score(found, is_positive)
    # Of a few pictures half are the highest and half the lowest.
    n_top, n_bottom = min(N_PICTURES, -(-len(order) // 2)), min(N_PICTURES, len(order) // 2)
    return Judged(
        data={
            "unit": "picture",
            "shape": list(pixels.shape[1:]),
            **source.describe_images(),
        },
        checks=[scar_is_open()],
        top=_entries(found, order[:n_top], ids),
        bottom=_entries(found, order[::-1][:n_bottom], ids),
        importance=[],
        warnings=[],
    )


def _by_score(found: OutOfFold, is_positive: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Unlabeled rows, the highest-scored first."""
    unlabeled = np.flatnonzero(~is_positive)
    return unlabeled[np.argsort(-found.shares[unlabeled], kind="stable")]


def _entries(
    found: OutOfFold, rows: NDArray[np.intp], ids: Sequence[Any] | None
) -> list[dict[str, Any]]:
    return [
        {
            "id": int(row) + 1 if ids is None else _plain(ids[row]),
            "score": float(found.shares[row]),
        }
        for row in rows
    ]


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, int | float | str) else str(value)
