"""Are the labeled positives a random draw of all positives?"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mixpul.assess.checks.label_levels import Split, compare_sides
from mixpul.assess.checks.verdicts import Check, Question
from mixpul.assess.importance import ShuffledScores
from mixpul.tables import TableInput

__all__ = ["QUESTION", "answer_without_columns", "check_random_draw"]

QUESTION = Question(
    "random draw of positives", "Are the labeled positives a random draw of all positives?"
)
# Only the columns that matter most are looked at: the check is good if it can tell for this share.
MOST_COLUMNS, ENOUGH_JUDGED = 10, 2 / 3
# With fewer labeled positives two sides of a column cannot be compared.
LEAST_POSITIVES = 20

UNSEEN = (
    "Kinds of positives that are never labeled look like negatives to any method. Ask how the "
    "labels came about"
)
LIMITS = f"Columns that the score hardly uses were not checked. {UNSEEN}."


def check_random_draw(
    table: TableInput, shuffled: ShuffledScores, importance: Sequence[dict[str, Any]]
) -> Check:
    """Ask whether both halves of the rows, by each column that matters, are labeled equally often.

    Measured on krvskp, spambase and a made table, with 10 and 30 % of the positives labeled. Of
    54 labelings that favoured one side of some column nine to one, 43 were noticed, each by the
    right column, and one was taken for even. Of 54 random ones one raised an alarm. Columns that
    tell most of the class escape most easily: without them few rows are surely positive. Measure
    again with `python benchmarks/scar.py`.
    """
    columns = [entry["column"] for entry in importance[:MOST_COLUMNS]]
    n_positive = int(shuffled.is_positive.sum())
    splits = compare_sides(table, shuffled, set(columns)) if n_positive >= LEAST_POSITIVES else []
    if uneven := [split for split in splits if split.is_uneven]:
        return QUESTION.answer("caution", _describe_uneven(uneven))
    even = {split.column for split in splits if split.is_even}
    # Of a column with several features each one has to be even.
    even -= {split.column for split in splits if not split.is_even}
    if len(even) < ENOUGH_JUDGED * len(columns):
        return QUESTION.answer(
            "caution",
            "This could not be judged. If rows on one side of a column were labeled three times as "
            f"often as others that look just as positive, the data would show it only for "
            f"{len(even)} of the {len(columns)} columns that matter most. {LIMITS}",
        )
    unclear = [column for column in columns if column not in even]
    rest = f" For {_quote(unclear)} this cannot be told." if unclear else ""
    return QUESTION.answer(
        "good",
        "Rows that look equally positive are labeled about equally often (less than three to one) "
        f"on both sides of {len(even)} of the {len(columns)} columns that matter most.{rest} "
        f"{LIMITS}",
    )


def answer_without_columns() -> Check:
    """Say that images cannot be judged: no columns tell kinds of positives apart."""
    return QUESTION.answer(
        "caution",
        "This could not be judged: the check goes column by column, and images have none. "
        f"{UNSEEN}, and whether labeled and unlabeled images come from the same source.",
    )


def _describe_uneven(uneven: Sequence[Split]) -> str:
    worst = max(uneven, key=lambda split: abs(np.log(split.ratio)))
    times = max(worst.ratio, 1 / worst.ratio)
    often = f"{times:.0f} times" if times < 20 else "more than 20 times"
    more = "as often as" if worst.ratio > 1 else "less often than"
    others = sorted({split.column for split in uneven} - {worst.column})
    also = f" The same goes for {_quote(others)}." if others else ""
    return (
        f"Rows where {worst.side} seem to be labeled about {often} {more} others that look just "
        f"as positive.{also} If so, the recall holds for the kinds that get labeled, and the share "
        f"of positives is estimated too low. {LIMITS}"
    )


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
