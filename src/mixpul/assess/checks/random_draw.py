"""Are the labeled positives a random draw of all positives?"""

import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mixpul.assess.checks.label_odds import (
    HONEST_RATIO,
    LEAST_OF_A_KIND,
    Split,
    compare_sides,
)
from mixpul.assess.checks.verdicts import Check, Question
from mixpul.assess.importance import ShuffledScores
from mixpul.tables import TableInput

__all__ = ["QUESTION", "Remedy", "answer_without_columns", "check_random_draw"]

QUESTION = Question(
    "random draw of positives", "Are the labeled positives a random draw of all positives?"
)
# With fewer labeled positives two sides of a column cannot be compared.
LEAST_POSITIVES = 20

UNSEEN = (
    "Kinds of positives that are never labeled look like negatives to any method. Ask how the "
    "labels came about"
)


class Remedy(NamedTuple):
    """What can be done about labels that are no random draw, as far as it is known.

    Attributes
    ----------
    command : str or None
        The command line that is running, of which the next one is made.
    propensity : sequence of str
        Columns by which labeled positives are weighed already.
    """

    command: str | None = None
    propensity: Sequence[str] = ()

    def write(self, columns: Sequence[str]) -> str:
        """Say how to weigh labeled positives by `columns`."""
        if not columns:
            return (
                "So few of the others are labeled that labeled positives cannot be weighed by it; "
                f"{LEAST_OF_A_KIND} are needed."
            )
        if set(columns) <= set(self.propensity):
            return "Labeled positives are weighed by that already."
        wanted = list(dict.fromkeys([*self.propensity, *columns]))
        how = "Otherwise weigh labeled positives by how rarely their kind is labeled"
        if self.command is None:
            return f"{how}: pass propensity={wanted!r}."
        # The output files exist by now.
        force = "" if "--force" in self.command.split() else " --force"
        return f"{how}: {self.command} --propensity {_write_names(wanted)}{force}"


def check_random_draw(
    table: TableInput, shuffled: ShuffledScores, remedy: Remedy | None = None
) -> Check:
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
        return QUESTION.answer("caution", _describe_uneven(uneven, remedy or Remedy()))
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


def _describe_uneven(uneven: Sequence[Split], remedy: Remedy) -> str:
    worst = max(uneven, key=lambda split: abs(np.log(split.ratio)))
    times = max(worst.ratio, 1 / worst.ratio)
    often = f"about {times:.0f} times" if times < 20 else "more than 20 times"
    more = f"{'higher' if worst.ratio > 1 else 'lower'} (at least {worst.least:.1f} times)"
    others = sorted({split.column for split in uneven} - {worst.column})
    also = f" The same goes for {_quote(others)}." if others else ""
    columns = [split.column for split in uneven if split.n_fewest >= LEAST_OF_A_KIND]
    return (
        f"Where {worst.side}, the odds of a label are {often} {more} than for other rows "
        f"that look equally positive by all other columns.{also} Either that tells more of the "
        f"class than all other columns do, or such positives were labeled "
        f"{'more' if worst.ratio > 1 else 'less'} often; only you can know. In the second case the "
        "recall holds for the kinds that get labeled, and the share of positives is estimated too "
        f"low. Labeling some positives at random would help most. {remedy.write(columns)}"
    )


def _write_names(names: Iterable[str]) -> str:
    """Return names as one word of a command line; those with a comma go in double quotes."""
    cells = (f'"{name}"' if "," in name else name for name in names)
    return shlex.quote(",".join(cells))


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
