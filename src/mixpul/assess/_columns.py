"""Which columns matter, and the unlabeled rows that score highest."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess._scores import OutOfFold, auc_difference
from mixpul.tables import TableInput

N_TOP = 50
N_COLUMNS_OF_TOP = 6
# Rows on which the importance of columns is measured, and by how many permutations each.
POSITIVES_OF_IMPORTANCE, UNLABELED_OF_IMPORTANCE, N_PERMUTATIONS = 1_000, 3_000, 3


def top_rows(
    frame: Any,
    is_positive: NDArray[np.bool_],
    scores: NDArray,
    ids: Sequence[Any] | None,
    importance: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    unlabeled = np.flatnonzero(~is_positive)
    first = unlabeled[np.argsort(-scores[unlabeled], kind="stable")[:N_TOP]]
    columns = [entry["column"] for entry in importance[:N_COLUMNS_OF_TOP]]
    shown = frame[columns].iloc[first]
    return [
        {
            "id": int(row) + 1 if ids is None else _cell(ids[row]),
            "score": float(scores[row]),
            "values": {name: _text(value) for name, value in zip(columns, values, strict=True)},
        }
        for row, values in zip(first, shown.itertuples(index=False), strict=True)
    ]


def _cell(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, int | float | str) else str(value)


def _text(value: Any) -> str:
    if value is None or value != value or str(value) in ("<NA>", "NaT"):
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def column_importance(
    table: TableInput,
    rows: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    found: OutOfFold,
    random: np.random.Generator,
) -> list[dict[str, Any]]:
    """Drop of the PU-AUC when a column is shuffled among rows that the scorer has not seen.

    All features of a column are shuffled together, which is the same as shuffling the column:
    `TableInput` works row by row.
    """
    sample = np.sort(
        np.concatenate(
            [
                random.permutation(np.flatnonzero(kind))[:most]
                for kind, most in (
                    (is_positive, POSITIVES_OF_IMPORTANCE),
                    (~is_positive, UNLABELED_OF_IMPORTANCE),
                )
            ]
        )
    )
    held_out = rows[sample]
    parts = [np.flatnonzero(found.folds[sample] == k) for k in range(len(found.scorers))]
    labels, scores = is_positive[sample], found.scores[sample]
    entries, start = [], 0
    for plan in table.plan_:
        stop = start + len(plan["endings"])
        drops = []
        for _ in range(N_PERMUTATIONS):
            shuffled = np.empty_like(scores)
            for part, scorer in zip(parts, found.scorers, strict=True):
                changed = held_out[part]
                changed[:, start:stop] = random.permutation(changed[:, start:stop])
                shuffled[part] = scorer(changed)
            drops.append(auc_difference(labels, scores, shuffled))
        start = stop
        entries.append(
            {
                "column": plan["column"],
                "drop": float(np.mean([drop.value for drop in drops])),
                "se": float(np.sqrt(np.mean([drop.se**2 for drop in drops]))),
            }
        )
    return sorted(entries, key=lambda entry: -entry["drop"])
