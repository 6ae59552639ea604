"""Are the labeled positives a random draw of all positives?"""

from collections.abc import Iterable, Sequence

import numpy as np

from mixpul.assess.checks.label_odds import HONEST_RATIO, Split, compare_sides
from mixpul.assess.checks.verdicts import Check, Question
from mixpul.assess.importance import ShuffledScores
from mixpul.tables import TableInput

__all__ = ["QUESTION", "answer_without_columns", "check_random_draw"]

QUESTION = Question(
    "random draw of positives", "Are the labeled positives a random draw of all positives?"
)
# With fewer labeled positives two sides of a column cannot be compared.
LEAST_POSITIVES = 20

UNSEEN = (
    "Kinds of positives that are never labeled look like negatives to any method. Ask how the "
    "labels came about"
)


def check_random_draw(table: TableInput, shuffled: ShuffledScores) -> Check:
    """Name columns on one side of which rows are labeled far more often than similar ones.

    `benchmarks/scar.py` measures how often it names a column where labels are a random draw, and
    where they are not.
    """
    n_positive = int(shuffled.is_positive.sum())
    if n_positive < LEAST_POSITIVES:
        return QUESTION.answer(
            "note",
            f"This is not known: with {n_positive} labeled positives two sides of a column cannot "
            f"be compared. {UNSEEN}.",
        )
    splits = compare_sides(table, shuffled)
    if uneven := [split for split in splits if split.is_uneven]:
        return QUESTION.answer("caution", _describe_uneven(uneven))
    n_columns = len({split.column for split in splits})
    return QUESTION.answer(
        "note",
        f"This is not known. None of the {n_columns} columns that could be compared stands out; "
        f"smaller differences than {HONEST_RATIO:g} to 1, and larger ones with few labeled "
        f"positives, go unnoticed. {UNSEEN}.",
    )


def answer_without_columns() -> Check:
    """Say that images cannot be judged: no columns tell kinds of positives apart."""
    return QUESTION.answer(
        "note",
        "This is not known: the check goes column by column, and images have none. "
        f"{UNSEEN}, and whether labeled and unlabeled images come from the same source.",
    )


def _describe_uneven(uneven: Sequence[Split]) -> str:
    worst = max(uneven, key=lambda split: abs(np.log(split.ratio)))
    times = max(worst.ratio, 1 / worst.ratio)
    often = f"{times:.0f} times" if times < 20 else "more than 20 times"
    more = f"{'higher' if worst.ratio > 1 else 'lower'} (at least {worst.least:.1f} times)"
    others = sorted({split.column for split in uneven} - {worst.column})
    also = f" The same goes for {_quote(others)}." if others else ""
    columns = [worst.column, *others]
    return (
        f"Where {worst.side}, the odds of a label are about {often} {more} than for other rows "
        f"that look equally positive by all other columns.{also} Either that tells more of the "
        f"class than all other columns do, or such positives were labeled "
        f"{'more' if worst.ratio > 1 else 'less'} often; only you can know. In the second case the "
        "recall holds for the kinds that get labeled, and the share of positives is estimated too "
        f"low. Then see mixpul.priors.prior_by_subtype and mixpul.priors.propensity_weights with "
        f"{_quote(columns)}, or label some positives at random."
    )


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
