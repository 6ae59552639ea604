"""Are some rows labeled more often than others that look just as positive by all other columns?

Rows are compared within groups of similar scores, and the scores are those of rows whose column
was shuffled: a score that knows the column has absorbed the difference. What remains between the
two sides of a column, the common odds ratio of a label, has one of two reasons: the column tells of
the class what no other column tells, or it decides who gets labeled. Positive and unlabeled rows
cannot tell these apart. So an assumption is needed: beyond all other columns, no column changes the
odds of the class by more than a factor of `HONEST_RATIO`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.importance import ShuffledScores
from mixpul.tables import TableInput
from mixpul.tables.plans import MISSING

__all__ = [
    "HONEST_RATIO",
    "LEAST_OF_A_KIND",
    "Split",
    "compare_odds",
    "compare_sides",
    "split_in_two",
]

LEAST_SHARE = 0.1  # of the rows, on either side of a split
# Groups of rows by score, with equally many labeled rows: few, so that each has some.
N_GROUPS = 5
# How much of the odds a column may explain by telling of the class; see the module's text.
HONEST_RATIO = 3.0
# Labeled positives of one kind by which it can be told how often such positives are labeled.
LEAST_OF_A_KIND = 5
# Standard errors by which the logarithm of a ratio must exceed that of `HONEST_RATIO`. Hardly any
# honest column comes near the ratio itself, so the error is not divided among all columns as well.
# How both were chosen: docs/explanation/decisions.md.
N_ERRORS = 2.0


class Split(NamedTuple):
    """Rows in two by a column, and how much more often one side is labeled.

    Attributes
    ----------
    column : str
    side : str
        The upper side in words.
    ratio : float
        The odds of a label on the upper side over those on the lower one, among rows of similar
        scores.
    least : float
        The ratio, or its inverse where that is larger, less `N_ERRORS` standard errors on the
        scale of logarithms.
    n_fewest : int
        Labeled positives on the side that has fewer of them.
    """

    column: str
    side: str
    ratio: float
    least: float
    n_fewest: int

    @property
    def is_uneven(self) -> bool:
        """Whether the ratio is too large to be honest by more than chance."""
        return self.least > HONEST_RATIO


def compare_sides(table: TableInput, shuffled: ShuffledScores) -> list[Split]:
    """Split the rows by each column; those with enough rows on both sides are compared."""
    splits: list[Split] = []
    start = 0
    for plan, without in zip(table.plan_, shuffled.without, strict=True):
        # The mean of several permutations is less noisy than one.
        groups = _group_rows(without.mean(0), shuffled.is_positive)
        for k, side in _name_sides(plan):
            upper = split_in_two(shuffled.rows[:, start + k], shuffled.is_positive)
            if upper is not None:
                log, error = compare_odds(shuffled.is_positive, upper, groups)
                least = float(np.exp(abs(log) - N_ERRORS * error))
                n_fewest = _count_fewest(upper, shuffled)
                splits.append(Split(plan["column"], side, float(np.exp(log)), least, n_fewest))
        start += len(plan["endings"])
    return splits


def _count_fewest(upper: NDArray[np.bool_], shuffled: ShuffledScores) -> int:
    labeled = upper[shuffled.is_positive]
    return int(min(labeled.sum(), (~labeled).sum()))


def _name_sides(plan: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the features of a column that split rows in a way that words can say."""
    for k, ending in enumerate(plan["endings"]):
        if ending == MISSING:
            yield k, f"{plan['column']!r} is missing"
        elif plan["kind"] == "text" and ending.startswith("="):
            yield k, f"{plan['column']!r} is {ending.removeprefix('=')!r}"
        elif k == 0 and plan["kind"] != "text":
            word = {"boolean": "true", "date": "late"}.get(plan["kind"], "high")
            yield k, f"{plan['column']!r} is {word}"


def split_in_two(values: NDArray, is_positive: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Return rows above the median of the unlabeled rows; None if hardly any or nearly all are."""
    middle = np.median(values[~is_positive])
    # With many ties at the median only one of the two leaves rows on both sides.
    for upper in (values > middle, values >= middle):
        if LEAST_SHARE <= upper.mean() <= 1 - LEAST_SHARE:
            return upper
    return None


def _group_rows(scores: NDArray, is_positive: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the group of each row: as many labeled rows in each, as far as scores differ."""
    edges = np.quantile(scores[is_positive], np.arange(1, N_GROUPS) / N_GROUPS)
    return np.searchsorted(np.unique(edges), scores)


def compare_odds(
    is_positive: NDArray[np.bool_], upper: NDArray[np.bool_], groups: NDArray[np.intp]
) -> tuple[float, float]:
    r"""Return the log of the common odds ratio of a label over groups, and its standard error.

    Mantel and Haenszel's :math:`\sum a d / n` over :math:`\sum b c / n`, where a and b are the
    labeled rows on the upper and lower side in a group, c and d its unlabeled ones. The standard
    error is that of Robins, Breslow and Greenland. The ratio does not depend on how many of the
    unlabeled rows were sampled.
    """
    # a, b, c, d of each group.
    kinds = 2 * (~is_positive).astype(np.intp) + (~upper).astype(np.intp)
    counts = np.bincount(4 * groups + kinds, minlength=4 * (groups.max() + 1)).reshape(-1, 4).T
    a, b, c, d = counts[:, counts.sum(0) > 0].astype(np.float64)
    n = a + b + c + d
    same, other = a * d / n, b * c / n
    p, q = (a + d) / n, (b + c) / n
    # A quarter of a row on either side keeps the logarithm finite.
    r, s = same.sum() + 0.25, other.sum() + 0.25
    variance = (
        (p * same).sum() / r**2 + (p * other + q * same).sum() / (r * s) + (q * other).sum() / s**2
    ) / 2
    return float(np.log(r / s)), float(np.sqrt(variance))
