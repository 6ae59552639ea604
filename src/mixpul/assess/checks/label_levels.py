"""Are some kinds of positives labeled more often than others that look just as positive?

Among rows that are surely positive a share c is labeled, whatever else they are. So the chance of
a label rises with the score up to the level c and stays there: c * sigmoid(a + b * score). If one
half of the rows, by some column, stays at a lower level than the other, that column decides who
gets labeled. A column that only tells of the class moves the rise and not the level.

The scores are those of rows whose column was shuffled: a score that knows the column has absorbed
the difference.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from mixpul.assess.importance import ShuffledScores
from mixpul.tables import TableInput
from mixpul.tables.plans import MISSING

__all__ = ["Split", "compare_levels", "compare_sides", "split_in_two"]

# Keeps a parameter near 0 if the data say nothing of it.
RIDGE = 0.02
LEAST_SHARE = 0.1  # of the rows, on either side of a split
# Ratios of levels: more than the first counts as uneven, less than the second as even.
UNEVEN_RATIO, EVEN_RATIO = 2.0, 3.0
# The 95 % point of chi-squared with one degree of freedom, one-sided.
ENOUGH_DEVIANCE = 2.71


class Split(NamedTuple):
    """Rows in two by a column, and how much more often one side is labeled.

    Attributes
    ----------
    column : str
    side : str
        The upper side in words.
    ratio : float
        Of the label frequency on the upper side to that on the lower one, of rows that are surely
        positive.
    is_uneven : bool
        Whether the data speak against every ratio from 1/2 to 2.
    is_even : bool
        Whether they speak against a ratio of 3 and against one of 1/3.
    """

    column: str
    side: str
    ratio: float
    is_uneven: bool
    is_even: bool


def compare_sides(table: TableInput, shuffled: ShuffledScores, columns: set[str]) -> list[Split]:
    """Split the rows by each of the named columns; those with rows on both sides are compared."""
    splits, start = [], 0
    for plan, without in zip(table.plan_, shuffled.without, strict=True):
        # The mean of several permutations is less noisy than one.
        scores = without.mean(0).astype(np.float64)
        for k, side in _name_sides(plan) if plan["column"] in columns else ():
            upper = split_in_two(shuffled.rows[:, start + k], shuffled.is_positive)
            if upper is not None:
                levels = compare_levels(scores, upper, shuffled.is_positive, shuffled.log_odds)
                splits.append(Split(plan["column"], side, *levels))
        start += len(plan["endings"])
    return splits


def _name_sides(plan: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the features of a column that split rows in a way that words can say."""
    for k, ending in enumerate(plan["endings"]):
        if ending == MISSING:
            yield k, f"{plan['column']!r} is missing"
        elif plan["kind"] == "text":
            yield k, f"{plan['column']!r} is {ending.removeprefix('=')!r}"
        elif k == 0:
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


def compare_levels(
    scores: NDArray, upper: NDArray[np.bool_], is_positive: NDArray[np.bool_], log_odds: float
) -> tuple[float, bool, bool]:
    """Compare the levels on both sides of a split: `ratio`, `is_uneven` and `is_even` of `Split`.

    `log_odds` is what drawing the rows added to the log-odds of a label: the log of the share of
    labeled rows that were drawn less that of the unlabeled ones.
    """
    # Standardised, so that one start and one ridge suit every scale of scores.
    s = (scores - scores.mean()) / (scores.std() or 1.0)
    data = (s, upper.astype(float), is_positive.astype(float), log_odds)
    # Not convex: the better of two starts.
    free = min((_fit(data, None, start) for start in _place_starts(5)), key=lambda fit: fit.fun)
    levels = expit(free.x[3:])
    ratio = float(levels[1] / levels[0])

    def is_ruled_out(fixed: float) -> bool:
        """Tell whether the data fit much worse with this ratio (a likelihood-ratio test)."""
        starts = [np.append(free.x[:3], free.x[3:].max()), *_place_starts(4)]
        best = min(_fit(data, fixed, start).fun for start in starts)
        return 2 * (best - free.fun) > ENOUGH_DEVIANCE

    is_uneven = not 1 / UNEVEN_RATIO <= ratio <= UNEVEN_RATIO and is_ruled_out(
        UNEVEN_RATIO if ratio > 1 else 1 / UNEVEN_RATIO
    )
    # Even only if large ratios are ruled out: with few rows none is, and that proves nothing.
    is_even = (
        1 / EVEN_RATIO < ratio < EVEN_RATIO
        and is_ruled_out(EVEN_RATIO)
        and is_ruled_out(1 / EVEN_RATIO)
    )
    return ratio, is_uneven, is_even


def _place_starts(n: int) -> list[NDArray]:
    """Return where the search for n parameters begins: a low and a high rise."""
    return [np.array([a, 0.0, 0.0, *[-1.0] * (n - 3)]) for a in (-1.0, 1.0)]


def _fit(data: tuple[NDArray, NDArray, NDArray, float], ratio: float | None, start: NDArray) -> Any:
    return minimize(_loss, start, args=(*data, ratio), method="L-BFGS-B", jac=True)


def _loss(
    theta: NDArray,
    s: NDArray,
    upper: NDArray,
    labeled: NDArray,
    log_odds: float,
    ratio: float | None,
) -> tuple[float, NDArray]:
    """Return minus the log-likelihood of the labels, and its gradient.

    theta holds a, log b, the shift of the upper side, and the logits of the levels. These are both
    levels, or for a given ratio of upper to lower level only the higher one.
    """
    a, log_b, shift = theta[:3]
    if ratio is None:
        sides = np.stack([1 - upper, upper])
        factor = np.ones(2)
    else:
        sides = np.ones((1, len(s)))
        # The lower level is a share of the higher one, so that neither can exceed 1.
        factor = np.array([min(1.0, 1 / ratio), min(1.0, ratio)])
    levels = expit(theta[3:])
    rise = expit(a + np.exp(log_b) * s + shift * upper)
    chance = rise * (sides.T @ levels) * np.where(upper > 0, factor[1], factor[0])
    # Keeps the logarithms finite where a search goes astray.
    chance = np.clip(chance, 1e-9, 1 - 1e-6)
    logits = log_odds + np.log(chance) - np.log1p(-chance)
    loss = -np.where(labeled > 0, log_expit(logits), log_expit(-logits)).sum()
    # d logits / d log(chance) = 1 / (1 - chance), and log(chance) = log(rise) + log(level) + ...
    residual = (expit(logits) - labeled) / (1 - chance)
    in_rise = residual * (1 - rise)
    gradient = np.concatenate(
        [
            [in_rise.sum(), np.exp(log_b) * (in_rise @ s), in_rise @ upper],
            (sides @ residual) * (1 - levels),
        ]
    )
    gradient[:3] += RIDGE * theta[:3]
    return loss + RIDGE / 2 * float(theta[:3] @ theta[:3]), gradient
