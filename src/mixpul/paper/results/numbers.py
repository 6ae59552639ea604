"""The numbers behind the tables: means, ranks, and where a method loses."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from mixpul._util.errors import MixpulError
from mixpul.paper.names import AS_PUBLISHED, AUC, EPOCHS, ERROR, MIXPUL, SUBSET, UCI
from mixpul.paper.published import Published
from mixpul.paper.results.gaps import Gap, measure_gap
from mixpul.paper.runs import Record, has_failed, read_results
from mixpul.paper.targets import TARGETS, Target

Key = tuple[str, str, float]  # data set, method, value of what varies


@dataclass(frozen=True)
class Measure:
    """How a score is written down: times `scale`, with `digits`; `sign` is 1 if more is better."""

    name: str
    scale: float
    digits: int
    sign: int

    def shown(self, value: float) -> float:
        """Round to the number as it is read."""
        # Plus zero: otherwise a tiny negative number is read as -0.000.
        return round(self.scale * value, self.digits) + 0.0

    def text(self, value: float) -> str:
        """Write the number with its digits."""
        return f"{self.shown(value):.{self.digits}f}"

    def signed(self, value: float) -> str:
        """Write a difference with its sign, a true minus if it is negative."""
        return f"{self.shown(value):+.{self.digits}f}".replace("-", "−")

    def papers(self, value: float) -> str:
        """Write the number with the two digits that the paper has."""
        return f"{self.scale * value:.2f}"

    def against_paper(self, mean: float, published: float) -> int:
        """Return 1 if better, -1 if worse, 0 if the same at the two digits of the paper."""
        # Numbers are rounded before they are compared: 0.7 * 100 is not 70.
        difference = round(self.scale * mean, 2) - round(self.scale * published, 2)
        return self.sign * int(np.sign(round(difference, 6)))


MEASURES = {
    AUC: Measure("AUC", scale=1, digits=3, sign=1),
    ERROR: Measure("error in %", scale=100, digits=2, sign=-1),
}


class Cell(NamedTuple):
    """What the runs of one method in one setting come to."""

    mean: float
    sd: float
    runs: int
    labeled: int  # positives, in the first run


class Difference(NamedTuple):
    """A method against another, split by split."""

    method: str
    mean: float
    error: float  # standard error; nan if there are fewer than two splits
    is_clear: bool  # by a paired t-test at 5 %


class Loss(NamedTuple):
    """A setting in which other methods are ahead, the furthest first."""

    dataset: str
    value: float
    mean: float
    ahead: list[Difference]


def read_folder(folder: str | os.PathLike) -> dict[str, list[Record]]:
    """Read the records of every target that `folder` has results of, failures among them."""
    found = {name: records for name in TARGETS if (records := read_results(folder, name))}
    records = [record for name in found for record in found[name]]
    if not records:
        raise MixpulError(
            f"No results in {str(folder)!r}: expected files such as {UCI}.jsonl or a folder {UCI}/ "
            "of single results; `mixpul reproduce` makes them."
        )
    if all(map(has_failed, records)):
        raise MixpulError(
            f"All {len(records)} trials in {str(folder)!r} failed; the first says: "
            f"{records[0]['failure']}"
        )
    if all(has_failed(record) or is_shortened(record) for record in records):
        raise MixpulError(
            f"All results in {str(folder)!r} are of shortened trials, which no report counts; run "
            f"`mixpul reproduce` without --{SUBSET} and --{EPOCHS}."
        )
    return found


def is_shortened(record: Record) -> bool:
    """Tell whether a trial ran on some rows or for some epochs only."""
    return bool(record["settings"].keys() & {SUBSET, EPOCHS})


def keep_newest(records: Iterable[Record]) -> list[Record]:
    """Keep finished trials; in every cell, only those made in the same way as its newest one.

    A cell whose method has changed since holds results of two recipes or versions; their mean
    would be that of neither. Shortened trials do not count.
    """
    cells: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        if not has_failed(record) and not is_shortened(record):
            settings = tuple(sorted(record["settings"].items()))
            key = (record["target"], record["dataset"], record["method"], settings)
            cells.setdefault(key, []).append(record)
    kept = []
    for cell in cells.values():
        # As text: dates in ISO format, all in UTC, sort by time.
        last = max(cell, key=lambda record: record["finished"])
        kept += [r for r in cell if _get_recipe(r) == _get_recipe(last)]
    return kept


def summarise(records: Iterable[Record], target: Target) -> dict[Key, Cell]:
    """Return mean, standard deviation and number of runs by data set, method and setting.

    Examples
    --------
    >>> from mixpul.paper.targets import TARGETS
    >>> from mixpul.paper.results import summarise
    >>> common = {"target": "uci", "dataset": "titanic", "method": "MixPUL", "recipe": "",
    ...           "version": "0", "settings": {"c": 0.1}, "labeled": 50, "finished": ""}
    >>> records = [common | {"seed": 0, "auc": 0.7}, common | {"seed": 1, "auc": 0.8}]
    >>> cell = summarise(records, TARGETS["uci"])["titanic", "MixPUL", 0.1]
    >>> round(cell.mean, 3), round(cell.sd, 3), cell.runs
    (0.75, 0.05, 2)
    """
    cells: dict[Key, list[Record]] = {}
    for record in keep_newest(records):
        cells.setdefault(_locate_cell(record, target), []).append(record)
    return {key: _summarise_cell(runs, target.measure) for key, runs in cells.items()}


def find_published(target: Target, dataset: str, method: str, value: float) -> Published | None:
    """Return the paper's number; a method "as published" is held against the method."""
    return target.published.get((dataset, method.removesuffix(AS_PUBLISHED), value))


def keep_comparable(cells: Mapping[Key, Cell]) -> dict[Key, Cell]:
    """Keep the cells that have at least a third of the runs that others in their column have."""
    most: dict[tuple[str, float], int] = {}
    for (dataset, _, value), cell in cells.items():
        most[dataset, value] = max(cell.runs, most.get((dataset, value), 0))
    return {key: cell for key, cell in cells.items() if 3 * cell.runs >= most[key[0], key[2]]}


def find_best_methods(
    cells: Mapping[Key, Cell], target: Target, dataset: str, value: float
) -> frozenset[str]:
    """Return the methods with the best mean of a setting; all that tie at the digits shown."""
    measure = MEASURES[target.measure]
    shown = {
        method: measure.sign * measure.shown(cell.mean)
        for (d, method, v), cell in keep_comparable(cells).items()
        if (d, v) == (dataset, value)
    }
    return frozenset(m for m, number in shown.items() if number == max(shown.values()))


def rank_methods(
    cells: Mapping[Key, Cell], target: Target
) -> tuple[dict[str, float], list[tuple[str, float]]]:
    """Return the mean rank of each method, and the settings that all of them have.

    Rank 1 is the best mean; ties share the mean of their ranks. A method that has less than half
    of the settings is left out, so that one with few results does not narrow the comparison.
    """
    cells = keep_comparable(cells)
    settings = list_settings(cells, target)
    methods = [
        method
        for method in list_methods(cells, target)
        if 2 * sum((d, method, v) in cells for d, v in settings) >= len(settings)
    ]
    settings = [(d, v) for d, v in settings if all((d, m, v) in cells for m in methods)]
    if not settings:
        return {}, []
    means = np.array([[cells[d, m, v].mean for m in methods] for d, v in settings])
    ranks = rankdata(-MEASURES[target.measure].sign * means, axis=1).mean(axis=0)
    return dict(zip(methods, ranks.tolist(), strict=True)), settings


def find_losses(records: Iterable[Record], target: Target, method: str = MIXPUL) -> list[Loss]:
    """Return the settings in which the mean of another method beats that of `method`.

    Means are over the seeds that both have: the same seed is the same split with the same
    positives labeled.
    """
    records = keep_newest(records)
    measure, cells = MEASURES[target.measure], summarise(records, target)
    scores = collect_scores(records, target)
    found = []
    for dataset, value in list_settings(cells, target):
        own = scores.get((dataset, method, value), {})
        # The method itself is among them; it is 0 ahead of itself and drops out below.
        rivals = [
            _compare_pairs(rival, scores.get((dataset, rival, value), {}), own)
            for rival in list_methods(cells, target)
        ]
        # As shown: a difference that rounds to 0 is none to a reader.
        ahead = [rival for rival in rivals if measure.sign * measure.shown(rival.mean) > 0]
        if ahead:
            ahead.sort(key=lambda rival: -measure.sign * rival.mean)
            found.append(Loss(dataset, value, cells[dataset, method, value].mean, ahead))
    return found


def collect_scores(records: Iterable[Record], target: Target) -> dict[Key, dict[int, float]]:
    """Return the score of each run by its cell, then by its seed."""
    scores: dict[Key, dict[int, float]] = {}
    for record in records:
        scores.setdefault(_locate_cell(record, target), {})[record["seed"]] = record[target.measure]
    return scores


def _compare_pairs(
    method: str, scores: Mapping[int, float], own: Mapping[int, float]
) -> Difference:
    pairs = [(scores[seed], own[seed]) for seed in sorted(scores.keys() & own.keys())]
    gap = measure_gap({"": pairs}) if pairs else Gap(0.0, float("nan"), 1.0)
    return Difference(method, gap.mean, gap.error, gap.exceeds(0) or gap.falls_below(0))


def lacks_data(record: Record) -> bool:
    """Say whether a trial failed because its data are not here."""
    return record["failure"].startswith("DataNotAvailable")


def _get_recipe(record: Record) -> tuple[str, str]:
    return record["recipe"], record["version"]


def _locate_cell(record: Record, target: Target) -> Key:
    return record["dataset"], record["method"], record["settings"][target.setting]


def _summarise_cell(runs: Sequence[Record], measure: str) -> Cell:
    scores = [run[measure] for run in runs]
    first = min(runs, key=lambda run: run["seed"])
    return Cell(float(np.mean(scores)), float(np.std(scores)), len(runs), first["labeled"])


def list_methods(cells: Iterable[Key], target: Target) -> list[str]:
    """List the methods that have results, those of the paper first."""
    return put_in_order({method for _, method, _ in cells}, target.all_methods)


def list_settings(cells: Iterable[Key], target: Target) -> list[tuple[str, float]]:
    """List the pairs of data set and value that have results, in the order of the table."""
    found = {(dataset, value) for dataset, _, value in cells}
    datasets = put_in_order({d for d, _ in found}, target.all_datasets)
    values = put_in_order({v for _, v in found}, target.values)
    return [(d, v) for d in datasets for v in values if (d, v) in found]


def put_in_order(found: Iterable[Any], known: Sequence[Any]) -> list[Any]:
    """Return the known ones in their order, then the others."""
    found = set(found)
    return [name for name in known if name in found] + sorted(found - set(known))
