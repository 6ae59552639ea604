"""What speaks for or against a claim: two sides, measured in the same runs."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mixpul.paper.names import AUC, ERROR
from mixpul.paper.results.gaps import Gap, Pairs, measure_gap
from mixpul.paper.results.numbers import MEASURES, Measure, collect_scores, put_in_order
from mixpul.paper.results.sections import Section
from mixpul.paper.runs import Record

__all__ = [
    "Evidence",
    "compare_methods",
    "compare_reductions",
    "compare_runs",
    "compare_shortened",
    "compare_values",
    "find_arrival",
    "find_rise",
]

# The share of a training, of at most 100 %; less is better.
_TRAINING = Measure("% of the training", scale=100, digits=1, sign=-1)
# The share of the error that a part of the method takes away.
_REDUCTION = Measure("% of the error", scale=100, digits=1, sign=1)


@dataclass(frozen=True)
class Evidence:
    """Two sides of a comparison.

    Attributes
    ----------
    first, second : str
        What is compared. The claim says that the first is better.
    pairs : dict
        From the data set to what both sides came to, run by run.
    measure : Measure
    bound : float
        By how much the first must be better for the claim to be true.
    decides : bool
        Whether the verdict rests on it; the rest is shown beside it.
    """

    first: str
    second: str
    pairs: Pairs
    measure: Measure
    bound: float = 0.0
    decides: bool = True

    @property
    def is_measured(self) -> bool:
        """Whether there is a run of both sides."""
        return bool(self.pairs)

    @cached_property
    def counted(self) -> Pairs:
        """Data sets with several runs, or all if none has.

        The spread of a single run is not known; it must not hide that of the others.
        """
        repeated = {name: runs for name, runs in self.pairs.items() if len(runs) > 1}
        return repeated or self.pairs

    @cached_property
    def gap(self) -> Gap:
        """By how much the first side is better; below zero if it is worse."""
        gap = measure_gap(self.counted)
        return gap._replace(mean=self.measure.sign * gap.mean)

    @property
    def speaks(self) -> int:
        """1 if it clearly speaks for the claim, -1 if against it, otherwise 0."""
        return int(self.gap.exceeds(self.bound)) - int(self.gap.falls_below(self.bound))

    @property
    def means(self) -> tuple[float, float]:
        """The mean of both sides over runs, then over data sets."""
        first, second = np.mean([np.mean(runs, axis=0) for runs in self.counted.values()], axis=0)
        return float(first), float(second)

    @property
    def numbers(self) -> str:
        """The means of both sides, and their difference with its standard error."""
        measure = self.measure
        unit = "" if measure.name == MEASURES[AUC].name else " %"
        first, second = (measure.text(mean).replace("-", "−") + unit for mean in self.means)
        # As measured, not as good or bad: an error that falls has a minus.
        difference = measure.signed(measure.sign * self.gap.mean)
        spread = "" if np.isnan(self.gap.error) else f" ± {measure.text(self.gap.error)}"
        return f"{self.first} {first}, {self.second} {second}: {difference}{spread}"

    @property
    def amount(self) -> str:
        """How many data sets and runs it rests on."""
        counts = sorted({len(runs) for runs in self.counted.values()})
        runs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
        runs += " run" if counts[-1] == 1 else " runs"
        if len(self.counted) == 1:
            return f"{next(iter(self.counted))}, {runs}"
        return f"{len(self.counted)} data sets, {runs}"

    def split(self) -> list["Evidence"]:
        """Return the same for each data set alone, to be shown beside it."""
        if len(self.pairs) < 2:
            return []
        return [
            replace(self, pairs={name: runs}, decides=False) for name, runs in self.pairs.items()
        ]


def compare_methods(
    section: Section,
    first: str,
    second: str | Sequence[str],
    datasets: Collection[str] | None = None,
    *,
    names: tuple[str, str] | None = None,
    bound: float = 0.0,
    decides: bool = True,
) -> Evidence:
    """Compare a method with another one, or with the mean of several.

    A run counts with its mean over the settings of its data set; so it must have all of those that
    the methods have in common. `names` are shown instead of those of the methods.
    """
    rivals = [second] if isinstance(second, str) else list(second)
    scores = collect_scores(section.records, section.target)
    pairs = {}
    for dataset in put_in_order({d for d, _, _ in scores}, section.target.all_datasets):
        values = [v for v in section.values
                  if all((dataset, m, v) in scores for m in (first, *rivals))]  # fmt: skip
        if not values or (datasets is not None and dataset not in datasets):
            continue
        cells = {(m, v): scores[dataset, m, v] for m in (first, *rivals) for v in values}
        if seeds := sorted(set.intersection(*(set(cell) for cell in cells.values()))):
            pairs[dataset] = [
                (
                    float(np.mean([cells[first, v][seed] for v in values])),
                    float(np.mean([cells[m, v][seed] for m in rivals for v in values])),
                )
                for seed in seeds
            ]
    return Evidence(*(names or (first, rivals[0])), pairs, section.measure, bound, decides)


def compare_values(
    section: Section, methods: Sequence[str], read: Callable[..., tuple[float, float]],
    names: tuple[str, str], *, bound: float = 0.0, decides: bool = True,
) -> Evidence:  # fmt: skip
    """Compare two numbers that `read` takes from runs with the same seed.

    It is given a list for each method, with a score for each value of what varies.
    """
    scores = collect_scores(section.records, section.target)
    pairs = {}
    for dataset in section.target.all_datasets:
        cells = [[scores.get((dataset, m, v), {}) for v in section.values] for m in methods]
        if seeds := sorted(set.intersection(*(set(cell) for row in cells for cell in row))):
            pairs[dataset] = [
                read(*([cell[seed] for cell in row] for row in cells)) for seed in seeds
            ]
    return Evidence(*names, pairs, section.measure, bound, decides)


def compare_runs(
    section: Section, first: str, second: str,
    read: Callable[[Record, Record], tuple[float, float]], names: tuple[str, str],
    *, is_time: bool = False, decides: bool = True,
) -> Evidence:  # fmt: skip
    """Compare two numbers that `read` takes from trainings of two methods with the same seed."""
    found: dict[str, dict[str, dict[int, Record]]] = {}
    for record in section.records:
        runs = found.setdefault(record["dataset"], {}).setdefault(record["method"], {})
        runs[record["seed"]] = record
    pairs = {}
    for dataset in put_in_order(found, section.target.all_datasets):
        ours, others = (found[dataset].get(method, {}) for method in (first, second))
        if seeds := sorted(ours.keys() & others.keys()):
            pairs[dataset] = [read(ours[seed], others[seed]) for seed in seeds]
    measure = _TRAINING if is_time else MEASURES[ERROR]
    return Evidence(*names, pairs, measure, decides=decides)


def compare_shortened(
    section: Section, first: str, second: str, names: tuple[str, str]
) -> Evidence:
    """Compare two methods in trials that were cut short alike; this decides nothing."""
    scores: dict[str, dict[tuple, float]] = {first: {}, second: {}}
    for record in section.shortened:
        if record["method"] in scores:
            key = (record["dataset"], record["seed"], *sorted(record["settings"].items()))
            scores[record["method"]][key] = record[section.target.measure]
    pairs: dict[str, list[tuple[float, float]]] = {}
    for key in sorted(scores[first].keys() & scores[second].keys(), key=str):
        both = (scores[first][key], scores[second][key])
        pairs.setdefault(f"{key[0]}, cut short", []).append(both)
    return Evidence(*names, pairs, section.measure, decides=False)


def compare_reductions(
    section: Section, whole: str, part: str, special: Collection[str], names: tuple[str, str]
) -> Evidence:
    """Compare how much less `whole` errs than `part`, on `special` data sets and on the others.

    As shares of the error of `part`, because data sets differ a lot in how hard they are. Seeds
    pair the two sides; the data sets have nothing else in common.
    """
    scores = collect_scores(section.records, section.target)
    shares: dict[bool, dict[str, dict[int, float]]] = {True: {}, False: {}}
    for dataset in put_in_order({d for d, _, _ in scores}, section.target.all_datasets):
        with_all, without = (
            scores.get((dataset, m, section.target.values[0]), {}) for m in (whole, part)
        )
        seeds = with_all.keys() & without.keys()
        level = float(np.mean([without[seed] for seed in seeds])) if seeds else 0.0
        if level > 0:
            saved = {seed: (without[seed] - with_all[seed]) / level for seed in seeds}
            shares[dataset in special][dataset] = saved
    measured = [*shares[True].values(), *shares[False].values()]
    pairs = {}
    if shares[True] and shares[False] and (seeds := set.intersection(*map(set, measured))):
        place = " against ".join(", ".join(shares[kind]) for kind in (True, False))
        pairs[place] = [
            (
                float(np.mean([saved[seed] for saved in shares[True].values()])),
                float(np.mean([saved[seed] for saved in shares[False].values()])),
            )
            for seed in sorted(seeds)
        ]
    return Evidence(*names, pairs, _REDUCTION)


def find_arrival(first: Record, second: Record) -> tuple[float, float]:
    """Return the share of its training after which each has the lowest error that both reach."""
    curves = [np.asarray(record["curve"]["error"]) for record in (first, second)]
    level = max(curve.min() for curve in curves)
    arrived = [int(np.argmax(curve <= level)) for curve in curves]
    steps = [record["curve"]["step"] for record in (first, second)]
    return steps[0][arrived[0]] / steps[0][-1], steps[1][arrived[1]] / steps[1][-1]


def find_rise(record: Record) -> float:
    """Return how far the error rises above where it is when interpolation begins; at least 0."""
    errors = np.asarray(record["curve"]["error"])
    begin = int(record["warmup"] * (len(errors) - 1))
    return float(errors[begin:].max() - errors[begin])
