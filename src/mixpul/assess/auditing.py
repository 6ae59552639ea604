"""Figures from verdicts: what a few dozen checked rows say of all unlabeled rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixpul._util.errors import MixpulError
from mixpul._util.json_values import to_plain
from mixpul.assess.audit_figures import (
    Sample,
    compute_rates,
    count_more_rows,
    count_sides,
    draw_auc,
    draw_positives,
    draw_sides,
    estimate_auc,
    estimate_share,
)
from mixpul.assess.intervals import LEVEL
from mixpul.assess.strata import Review
from mixpul.assess.verdicts import NO, UNSURE, YES, check_verdicts
from mixpul.metrics import Estimate

__all__ = ["Audit", "audit"]

N_DRAWS = 2000
RATES = ("precision", "recall", "f1")
ANSWERS = (YES, NO, UNSURE, "skipped", "open")

Array = NDArray[np.float64]
Words = NDArray[np.str_]


@dataclass(frozen=True)
class Audit:
    """What verdicts say of the unlabeled rows, with 95 % intervals.

    Attributes
    ----------
    prior : Estimate
        Share of positives among the unlabeled rows.
    auc : Estimate
        How often an unlabeled positive outranks a negative.
    thresholds : dict
        Each ``"threshold"``, the number of unlabeled rows ``"flagged"``, and at each
        ``"precision"``, ``"recall"`` and ``"f1"`` as ``"value"``, ``"low"`` and ``"high"``. Recall
        is the share of the unlabeled positives that are flagged; labeled positives do not count.
        NaN where a figure is not defined: there is no precision where no row is flagged.
    rows : int
        How many unlabeled rows there are.
    answers : dict
        How many rows were answered ``"yes"``, ``"no"`` and ``"unsure"``, how many were
        ``"skipped"``, which counts as unsure, and how many are still ``"open"``.
    more_rows : int
        How many more rows would halve the interval of the prior, as far as chance is its cause.
    strata : list of list of dict
        For each series of rounds: the ``"rows"`` of each stratum, how many of them were
        ``"checked"``, and how many of those are positive; an unsure one counts half.
    """

    prior: Estimate
    auc: Estimate
    thresholds: dict[str, Any]
    rows: int
    answers: dict[str, int]
    more_rows: int
    strata: list[list[dict[str, Any]]]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for `json.dumps`."""
        return {field.name: to_plain(getattr(self, field.name)) for field in fields(self)}


def audit(
    drawn: Review | Sequence[Review],
    verdicts: Any,
    thresholds: ArrayLike = (0.5,),
    *,
    flagged: ArrayLike | None = None,
    n_draws: int = N_DRAWS,
    random_state: int = 0,
) -> Audit:
    """Compute class prior, precision, recall, F1 and AUC from rows that people have checked.

    All figures are about the unlabeled rows: rows labeled positive are neither drawn nor counted.

    Rounds with the same strata are put together. Of other rounds the figures are averaged, weighted
    by the inverse of their variances. Rows answered 'unsure' are counted as yes or as no, whichever
    takes a figure lower for the lower end of its interval, and higher for the upper end; for the
    value each counts half. Rows without an answer at the end of a queue count as not drawn: the
    queue is in an order of chance. Those before the last answer were skipped, perhaps
    because they are hard, and count as unsure.

    Parameters
    ----------
    drawn : Review or sequence of Review
        What `review` returned, for each round.
    verdicts : array of str or bool, or a sequence of them
        'yes', 'no', 'unsure' or '' for each row that was drawn, in the order of the queue. For
        several rounds one array for each.
    thresholds : array of float, default=(0.5,)
        Scores above which a row is flagged.
    flagged : array of int, optional
        How many unlabeled rows score above each threshold. By default interpolated between the
        rows that were drawn.
    n_draws : int, default=2000
        Draws that the intervals are made of.
    random_state : int, default=0
        Seed of these draws.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.assess import audit, review
    >>> random = np.random.default_rng(0)
    >>> scores = random.random(2000)
    >>> truth = random.random(2000) < scores**3
    >>> drawn = review(scores, n=60, random_state=1)
    >>> found = audit(drawn, truth[drawn.rows], thresholds=[0.5, 0.8])
    >>> bool(found.prior.low < truth.mean() < found.prior.high)
    True
    """
    reviews = [drawn] if isinstance(drawn, Review) else list(drawn)
    words = _read_rounds(reviews, [verdicts] if isinstance(drawn, Review) else list(verdicts))
    series = _pool_rounds(reviews, words)
    points = np.asarray(thresholds, dtype=np.float64)
    counts = _interpolate_flagged(reviews, points) if flagged is None else np.asarray(flagged)
    bounds = _bound_figures(series, counts.astype(np.float64), n_draws, random_state)
    n_checked = sum(len(one.words) for one in series)
    n_rows = int(reviews[0].sizes.sum())
    every = np.concatenate(words)
    return Audit(
        prior=bounds.pop("prior"),
        auc=bounds.pop("auc"),
        thresholds={"threshold": points.tolist(), "flagged": counts.tolist(), **bounds},
        rows=n_rows,
        answers={answer: int((every == answer).sum()) for answer in ANSWERS},
        more_rows=count_more_rows(n_checked, n_rows),
        strata=[one.describe() for one in series],
    )


# -- answers --------------------------------------------------------------------------------


def _read_rounds(reviews: list[Review], verdicts: list[Any]) -> list[Words]:
    """Return the verdicts of each round; rows without an answer are 'skipped' or 'open'."""
    if len(reviews) != len(verdicts):
        raise MixpulError(
            f"Each round has verdicts of its own; got {len(reviews)} rounds and {len(verdicts)} "
            "lists of verdicts."
        )
    if len({int(one.sizes.sum()) for one in reviews}) != 1:
        raise MixpulError("The rounds were drawn from different numbers of unlabeled rows.")
    words = [check_verdicts(of_round) for of_round in verdicts]
    if any(len(one.rows) != len(own) for one, own in zip(reviews, words, strict=True)):
        raise MixpulError("A verdict is needed for each row that was drawn; '' if there is none.")
    if not any((own != "").any() for own in words):
        raise MixpulError(
            "No row has a verdict yet; answer yes, no or unsure for some rows, from the first on."
        )
    return [_mark_unanswered(own) for own in words]


def _mark_unanswered(words: Words) -> Words:
    is_open = np.cumsum((words != "")[::-1])[::-1] == 0
    marked = words.astype("<U7")
    marked[words == ""] = "skipped"
    marked[is_open] = "open"
    return marked


class _Series:
    """Rounds with the same strata, put together: each row that was checked once."""

    def __init__(self, reviews: list[Review], words: list[Words]) -> None:
        rows, strata, ranks = (
            np.concatenate([getattr(one, part) for one in reviews])
            for part in ("rows", "strata", "ranks")
        )
        all_words = np.concatenate(words)
        is_checked = all_words != "open"
        # Rounds that do not know of each other may have drawn the same row.
        _, first = np.unique(rows[is_checked], return_index=True)
        self.sizes = reviews[0].sizes
        self.strata = strata[is_checked][first]
        self.ranks = ranks[is_checked][first]
        self.words = all_words[is_checked][first]
        self.is_unsure = ~np.isin(self.words, [YES, NO])
        if missing := sorted(set(range(len(self.sizes))) - set(self.strata.tolist())):
            place = min(int(np.argmax(one.strata == missing[-1])) + 1 for one in reviews)
            raise MixpulError(
                f"{len(self.words)} rows are answered, and none of them is from stratum "
                f"{missing[-1] + 1} of {len(self.sizes)}. Answer the queue in its order, at least "
                f"to its row {place}."
            )

    def sample(self, unsure: float | NDArray[np.bool_]) -> Sample:
        """Return the rows with the answers that are unsure taken as said."""
        yes = np.where(self.is_unsure, unsure, self.words == YES).astype(np.float64)
        return Sample(self.sizes, self.strata, self.ranks, yes)

    def describe(self) -> list[dict[str, Any]]:
        drawn, yes = self.sample(0.5).tally()
        return [
            {"rows": int(size), "checked": int(n), "positive": float(k)}
            for size, n, k in zip(self.sizes, drawn, yes, strict=True)
        ]


def _pool_rounds(reviews: list[Review], words: list[Words]) -> list[_Series]:
    alike: dict[bytes, list[int]] = {}
    for k, one in enumerate(reviews):
        alike.setdefault(one.sizes.tobytes(), []).append(k)
    return [
        _Series([reviews[k] for k in places], [words[k] for k in places])
        for places in alike.values()
    ]


def _interpolate_flagged(reviews: list[Review], thresholds: Array) -> Array:
    """Return about how many rows are above each threshold, from the ranks of the drawn rows."""
    scores = np.concatenate([one.scores for one in reviews])
    ranks = np.concatenate([one.ranks for one in reviews])
    order = np.argsort(-ranks)
    n_rows = int(reviews[0].sizes.sum())
    # A row with rank r has r - 1 rows above it.
    known = np.interp(thresholds, scores[order], ranks[order] - 1.0, left=n_rows, right=0)
    return np.where(thresholds < scores[order][0], n_rows, known)


# -- figures --------------------------------------------------------------------------------


def _bound_figures(
    series: list[_Series], flagged: Array, n_draws: int, seed: int
) -> dict[str, Any]:
    """Return the prior and the AUC as an Estimate, and rates as values with their bounds."""
    random = np.random.default_rng(seed)

    def draw_priors(unsure: bool) -> list[Array]:
        samples = [one.sample(unsure) for one in series]
        return [draw_positives(s, n_draws, random).sum(-1) / s.sizes.sum() for s in samples]

    priors = [estimate_share(one.sizes, *one.sample(0.5).tally()) for one in series]
    prior = _average([value for value, _ in priors], draw_priors(False), draw_priors(True))
    rates = _bound_rates(series, flagged, n_draws, random)
    return {
        "prior": _as_estimate(prior, [se for _, se in priors]),
        "auc": _bound_auc(series, n_draws, random),
        **{
            name: {part: getattr(rate, part).tolist() for part in ("value", "low", "high")}
            for name, rate in rates.items()
        },
    }


class _Average(NamedTuple):
    value: Array
    low: Array
    high: Array
    weights: Array  # of the series


def _average(values: list[Any], lowest: list[Array], highest: list[Array]) -> _Average:
    """Average a figure over series of rounds by the inverse of their variances.

    `lowest` and `highest` hold its draws with unsure answers taken so that it is low, and high.
    """
    worth = np.array([1 / np.maximum(draws.var(axis=0), 1e-12) for draws in lowest])
    each = np.array(values)
    weights = np.where(np.isnan(each), 0.0, worth) if len(values) > 1 else np.ones_like(each)
    with np.errstate(invalid="ignore"):
        weights = weights / weights.sum(axis=0)
    value = (weights * (np.nan_to_num(each) if len(values) > 1 else each)).sum(axis=0)
    low, high = (
        np.quantile((weights[:, None] * np.array(draws)).sum(axis=0), level, axis=0)
        for draws, level in ((lowest, (1 - LEVEL) / 2), (highest, (1 + LEVEL) / 2))
    )
    # All draws may lie on one side of the value; readers expect it inside its interval.
    return _Average(value, np.fmin(low, value), np.fmax(high, value), weights)


def _as_estimate(found: _Average, errors: list[float]) -> Estimate:
    error = math.sqrt(sum((w * se) ** 2 for w, se in zip(found.weights, errors, strict=True)))
    return Estimate(float(found.value), error, float(found.low), float(found.high))


def _bound_rates(
    series: list[_Series], flagged: Array, n_draws: int, random: np.random.Generator
) -> dict[str, _Average]:
    def draw_rates(is_high: bool) -> list[dict[str, Array]]:
        drawn = []
        for one in series:
            sides = []
            for n_flagged in flagged:
                # Positives above a threshold raise all three rates, those below lower them.
                unsure = (one.ranks <= n_flagged) == is_high
                sides.append(draw_sides(one.sample(unsure), n_flagged, n_draws, random))
            found, missed = np.array(sides).transpose(1, 2, 0)
            drawn.append(compute_rates(found, missed, flagged))
        return drawn

    values = []
    for one in series:
        found, missed = np.array([count_sides(one.sample(0.5), n) for n in flagged]).T
        values.append(compute_rates(found, missed, flagged))
    lowest = draw_rates(False)
    highest = draw_rates(True) if any(one.is_unsure.any() for one in series) else lowest
    return {
        name: _average(*([one[name] for one in rates] for rates in (values, lowest, highest)))
        for name in RATES
    }


def _bound_auc(series: list[_Series], n_draws: int, random: np.random.Generator) -> Estimate:
    def draw(is_yes_above: bool, place: float) -> list[Array]:
        samples = [one.sample((one.ranks <= place) == is_yes_above) for one in series]
        return [draw_auc(s, draw_positives(s, n_draws, random), n_draws, random) for s in samples]

    values = [estimate_auc(one.sample(0.5)) for one in series]
    # Where unsure answers turn from yes to no is not known: all ends of strata are tried.
    has_unsure = any(one.is_unsure.any() for one in series)
    places = [0, *np.cumsum(series[0].sizes)] if has_unsure else [0]
    found = [_average(values, draw(False, place), draw(True, place)) for place in places]
    lowest = min(found, key=lambda one: float(one.low))
    highest = max(found, key=lambda one: float(one.high))
    error = float(np.std(draw(False, 0)[0]))
    return Estimate(float(found[0].value), error, float(lowest.low), float(highest.high))
