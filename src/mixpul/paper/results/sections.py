"""One table or figure of the paper, ready to be written down."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mixpul.paper.names import EPOCHS, ETHN, MIXPUL, SHARE_LABELED, SUBSET, TOLD
from mixpul.paper.results.numbers import (
    MEASURES,
    find_best_methods,
    find_losses,
    find_published,
    is_shortened,
    keep_newest,
    lacks_data,
    list_settings,
    put_in_order,
    rank_methods,
    read_folder,
    summarise,
)
from mixpul.paper.runs import Record, has_failed
from mixpul.paper.targets import TARGETS, Target


class Shown(NamedTuple):
    """A cell of a table as text."""

    mean: str = ""
    sd: str = ""
    runs: int = 0
    is_best: bool = False
    published: str = ""
    published_sd: str = ""
    difference: str = ""
    verdict: int = 0


class Row(NamedTuple):
    """A method in a table: its cells from left to right."""

    method: str
    is_ours: bool
    is_told: bool
    cells: list[Shown]


class Group(NamedTuple):
    """The rows of one data set."""

    dataset: str
    is_ours: bool
    note: str
    labeled: list[int]
    runs: int
    rows: list[Row]


class Overall(NamedTuple):
    """A method over all settings that can be compared."""

    method: str
    is_told: bool
    mean: str
    published: str
    rank: float
    wins: int
    seconds: str  # of a fit, median


class CutShort(NamedTuple):
    """A trial on some rows or for some epochs only: it shows the path, not the number."""

    target: str
    method: str
    setting: str
    rows: str
    epochs: str
    measure: str
    number: str
    seconds: str


class Section:
    """One table or figure of the paper, ready to be written down."""

    def __init__(self, target: Target, records: Sequence[Record]) -> None:
        self.target, self.measure = target, MEASURES[target.measure]
        self.records = keep_newest(records)
        self.failures = [record for record in records if has_failed(record)]
        self.shortened = [r for r in records if is_shortened(r) and not has_failed(r)]
        n_known = len(self.records) + len(self.failures) + len(self.shortened)
        self.n_set_aside = len(records) - n_known
        self.cells = summarise(self.records, target)
        self.told = {r["method"] for r in self.records if r["recipe"].endswith(TOLD)}
        self.values = put_in_order(
            {v for _, _, v in self.cells} | set(target.values), target.values
        )
        self.losses = find_losses(self.records, target)

    @property
    def groups(self) -> list[Group]:
        """Data sets with numbers, ours or published."""
        numbers = {d for d, _, _ in self.cells} | {d for d, _, _ in self.target.published}
        return [
            self._make_group(dataset) for dataset in put_in_order(numbers, self.target.all_datasets)
        ]

    @property
    def without_results(self) -> dict[str, str]:
        """Data sets that were not run, and why."""
        run = {dataset for dataset, _, _ in self.cells}
        missing = [dataset for dataset in self.target.all_datasets if dataset not in run]
        return {dataset: self._explain_missing(dataset) for dataset in missing}

    @property
    def cut_short(self) -> list[CutShort]:
        """Trials that no table counts."""
        rows = []
        for record in self.shortened:
            settings = record["settings"]
            rows.append(
                CutShort(
                    self.target.name,
                    record["method"] + (" †" if record["recipe"].endswith(TOLD) else ""),
                    describe_setting(self.target, settings[self.target.setting]),
                    f"{settings[SUBSET]:,}" if SUBSET in settings else "all",
                    f"{settings[EPOCHS]:,}" if EPOCHS in settings else "all",
                    self.measure.name,
                    self.measure.text(record[self.target.measure]),
                    _write_seconds(record["seconds"]),
                )
            )
        return rows

    @property
    def overall(self) -> list[Overall]:
        """Methods by their mean rank."""
        ranks, settings = rank_methods(self.cells, self.target)
        winners = [find_best_methods(self.cells, self.target, d, v) for d, v in settings]
        rows = []
        for method, rank in sorted(ranks.items(), key=lambda item: item[1]):
            mean = float(np.mean([self.cells[d, method, v].mean for d, v in settings]))
            times = [r["fit_seconds"] for r in self.records if r["method"] == method]
            # None: a killed training was taken up again, and nobody timed the whole of it.
            timed = [seconds for seconds in times if seconds is not None]
            rows.append(
                Overall(
                    method,
                    method in self.told,
                    self.measure.text(mean),
                    self._average_published(method, settings),
                    rank,
                    sum(method in best for best in winners),
                    _write_seconds(float(np.median(timed))) if timed else "–",
                )
            )
        return rows

    @property
    def n_compared(self) -> int:
        """Settings that every method has."""
        return len(rank_methods(self.cells, self.target)[1])

    @property
    def is_compared(self) -> bool:
        """Whether there is something to take a mean rank of."""
        return self.n_compared > 1 and len(self.overall) > 1

    @property
    def why_empty(self) -> str:
        """Why there are no results."""
        if not self.failures:
            return "only trials that were cut short" if self.shortened else "no results yet"
        return "data not available" if all(map(lacks_data, self.failures)) else "every trial failed"

    @property
    def headline(self) -> dict[str, Any] | None:
        """MixPUL with our defaults against the paper's, over the cells that both have."""
        pairs = [
            (self.cells[d, MIXPUL, v].mean, published.mean)
            for d, v in list_settings(self.cells, self.target)
            if (d, MIXPUL, v) in self.cells
            and (published := find_published(self.target, d, MIXPUL, v)) is not None
        ]
        if not pairs:
            return None
        verdicts = [self.measure.against_paper(*pair) for pair in pairs]
        ours, papers = np.mean(pairs, axis=0).tolist()
        return {
            "title": self.target.title,
            "measure": self.measure.name,
            "name": self.target.name,
            "ours": self.measure.text(ours),
            "papers": self.measure.text(papers),
            "verdict": self.measure.against_paper(ours, papers),
            "n_cells": len(pairs),
            "n_reached": sum(verdict >= 0 for verdict in verdicts),
            "n_behind": len(self.losses),
            "n_own": len({(d, v) for d, m, v in self.cells if m == MIXPUL}),
        }

    def prior_errors(self) -> list[tuple[str, float, float]]:
        """Return how far each estimated prior is off: mean of |error|, and of the error."""
        found: dict[str, list[float]] = {}
        for record in self.records:
            if record["method"] not in self.told and "used_prior" in record:
                error = record["used_prior"] - record["prior"]
                found.setdefault(record["method"], []).append(error)
        return [
            (name, float(np.mean(np.abs(found[name]))), float(np.mean(found[name])))
            for name in put_in_order(found, self.target.all_methods)
        ]

    def _make_group(self, dataset: str) -> Group:
        target = self.target
        methods = [m for d, m, _ in self.cells if d == dataset]
        methods += [m for d, m, _ in target.published if d == dataset]
        own = [cell for (d, _, _), cell in self.cells.items() if d == dataset]
        runs = max((cell.runs for cell in own), default=0)
        labeled = [
            max((c.labeled for (d, _, v), c in self.cells.items() if (d, v) == (dataset, value)),
                default=0)
            for value in self.values
        ]  # fmt: skip
        rows = [
            Row(
                method,
                method not in target.methods,
                method in self.told,
                [self._show_cell(dataset, method, value, runs) for value in self.values],
            )
            for method in put_in_order(methods, target.all_methods)
        ]
        note = "" if own else self._explain_missing(dataset)
        return Group(dataset, dataset not in target.datasets, note, labeled, runs, rows)

    def _show_cell(self, dataset: str, method: str, value: float, usual_runs: int) -> Shown:
        cell = self.cells.get((dataset, method, value))
        published = find_published(self.target, dataset, method, value)
        shown = Shown()
        if published is not None:
            sd = "" if published.sd is None else self.measure.papers(published.sd)
            shown = shown._replace(published=self.measure.papers(published.mean), published_sd=sd)
        if cell is None:
            return shown
        if published is not None:
            shown = shown._replace(
                difference=self.measure.signed(cell.mean - published.mean),
                verdict=self.measure.against_paper(cell.mean, published.mean),
            )
        return shown._replace(
            mean=self.measure.text(cell.mean),
            sd=self.measure.text(cell.sd) if cell.runs > 1 else "",
            runs=cell.runs if cell.runs < usual_runs else 0,
            is_best=method in find_best_methods(self.cells, self.target, dataset, value),
        )

    def _explain_missing(self, dataset: str) -> str:
        lacking = any(lacks_data(r) for r in self.failures if r["dataset"] == dataset)
        # ethn is published nowhere.
        return "data not available" if lacking or dataset == ETHN else "not run"

    def _average_published(self, method: str, settings: Sequence[tuple[str, float]]) -> str:
        numbers = [find_published(self.target, d, method, v) for d, v in settings]
        if not numbers or any(number is None for number in numbers):
            return ""
        return self.measure.papers(float(np.mean([n.mean for n in numbers if n is not None])))


def read_sections(folder: str | os.PathLike) -> list[Section]:
    """Read all targets; those without results have no records."""
    found = read_folder(folder)
    return [Section(target, found.get(name, [])) for name, target in TARGETS.items()]


def describe_provenance(sections: Sequence[Section]) -> dict[str, Any]:
    """Sum up when and with what the results were made, and how long that took."""
    done = [record for section in sections for record in section.records]
    failures = Counter(
        (r["target"], r["dataset"], r["method"], r["failure"])
        for section in sections
        for r in section.failures
        if not lacks_data(r)
    )
    dates = sorted(record["finished"][:10] for record in done)
    made_with = sorted({tuple(record["made_with"].items()) for record in done})
    return {
        "n_trials": len(done),
        "n_set_aside": sum(section.n_set_aside for section in sections),
        "hours": sum(record["seconds"] for record in done) / 3600,
        "versions": sorted(Counter(record["version"] for record in done).items()),
        "made_with": [dict(items) for items in made_with],
        "first_date": dates[0],
        "last_date": dates[-1],
        "seeds": [
            (s.target.name, _join_ranges({r["seed"] for r in s.records}))
            for s in sections
            if s.records
        ],
        "failures": sorted(failures.items()),
    }


def _write_seconds(seconds: float) -> str:
    return "< 0.1" if seconds < 0.1 else f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"


def _join_ranges(numbers: Iterable[int]) -> str:
    """Write numbers with runs of them joined: '0–2, 5'."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}–{p[-1]}" for p in parts)


def describe_setting(target: Target, value: float) -> str:
    """Write a value of what varies in a target, such as 'c = 0.1'."""
    return f"c = {value:g}" if target.setting == SHARE_LABELED else f"{value:,} labeled"
