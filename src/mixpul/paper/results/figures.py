"""The figures of the paper, drawn from the records."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from mixpul.pages import charts
from mixpul.pages.render import typeset_terms
from mixpul.paper.names import (
    MARGIN_ABLATION,
    MIXPUL,
    MIXPUL_AS_PUBLISHED,
    MIXUP_ABLATION,
    NNPU,
    NNPU_WITH,
    NNPU_WITH_AUTO,
    PRIOR_ERROR,
    UCI,
)
from mixpul.paper.results.numbers import list_methods, put_in_order
from mixpul.paper.results.sections import Section
from mixpul.paper.runs import Record
from mixpul.paper.targets import Target

__all__ = ["Figure", "draw_figure", "draw_ranks"]


class Figure(NamedTuple):
    """Charts side by side under one legend."""

    legend: Markup
    panels: list[tuple[str, Markup]]


def draw_figure(section: Section) -> Figure | None:
    """Draw what a table cannot show; None for targets that a table shows well."""
    if section.target.name == UCI and section.headline:
        return _draw_comparison(section)
    if section.target.name == PRIOR_ERROR:
        return _draw_priors(section)
    if section.target.name in (MIXUP_ABLATION, MARGIN_ABLATION):
        return _draw_curves(section)
    return None


def draw_ranks(section: Section) -> Markup:
    """Draw the mean rank of each method, MixPUL's in another colour."""
    rows = section.overall
    return charts.draw_dots(
        [row.method + (" †" if row.is_told else "") for row in rows],
        [row.rank for row in rows],
        title="Mean rank of each method",
        label=f"mean rank over {section.n_compared} settings (1 is best)",
        emphasis=next((n for n, row in enumerate(rows) if row.method == MIXPUL), None),
    )


def _draw_priors(section: Section) -> Figure:
    """Draw AUC against the share of labeled positives, one line for each way to get the prior."""
    methods = list_methods(section.cells, section.target)
    names = {method: prior for prior, method in NNPU_WITH.items()}
    names |= {method: f"{prior} on Auto’s scores" for prior, method in NNPU_WITH_AUTO.items()}
    return _join_panels(
        {
            dataset: [
                _make_line(
                    section,
                    dataset,
                    method,
                    names.get(method, "true prior"),
                    series,
                    # Of nine bands nobody could tell one from another.
                    has_band=method == NNPU,
                )
                for series, method in enumerate(methods)
            ]
            for dataset in put_in_order({d for d, _, _ in section.cells}, section.target.datasets)
        },
        _draw_auc,
    )


def _draw_comparison(section: Section) -> Figure:
    """Draw AUC of MixPUL against the share of labeled positives, ours and the paper's."""
    target = section.target
    run = {dataset for dataset, method, _ in section.cells if method == MIXPUL}
    drawn = {}
    for dataset in put_in_order(run, target.all_datasets):
        drawn[dataset] = [
            _make_line(section, dataset, MIXPUL, "MixPUL, our defaults", 0),
            _make_line(section, dataset, MIXPUL_AS_PUBLISHED, "MixPUL as published, run by us", 1),
            _make_published_line(target, dataset, "the paper’s MixPUL", 2),
        ]
    return _join_panels(drawn, _draw_auc)


def _draw_curves(section: Section) -> Figure:
    """Draw the error in the course of training: mean over seeds, a band of one deviation."""
    runs: dict[str, dict[str, list[Record]]] = {}
    for record in section.records:
        runs.setdefault(record["dataset"], {}).setdefault(record["method"], []).append(record)
    methods = section.target.methods
    drawn = {
        dataset: [
            _make_curve([r["curve"] for r in runs[dataset][method]], typeset_terms(method), series)
            for series, method in enumerate(methods)
            if method in runs[dataset]
        ]
        for dataset in put_in_order(runs, section.target.all_datasets)
    }

    def draw(dataset: str, lines: Sequence[charts.Line]) -> Markup:
        warmup = section.records[0]["warmup"]
        return charts.draw_lines(
            lines,
            title=f"{dataset}: test error against the iteration",
            x_label="iteration",
            y_label="test error in %",
            marks=False,
            dashed_at=warmup * max(line.x[-1] for line in lines),
            dashed_label="interpolation begins",
        )

    return _join_panels(drawn, draw, marks=False)


def _join_panels(
    drawn: Mapping[str, Sequence[charts.Line]],
    draw: Callable[[str, Sequence[charts.Line]], Markup],
    marks: bool = True,
) -> Figure:
    """Draw one chart for each data set, of the lines that have points, under one legend."""
    # A method that was not run has no points, and no place in the legend either.
    drawn = {name: [line for line in lines if len(line.x)] for name, lines in drawn.items()}
    names = {line.series: line for lines in drawn.values() for line in lines}
    legend = charts.draw_legend([names[series] for series in sorted(names)], marks)
    return Figure(legend, [(name, draw(name, lines)) for name, lines in drawn.items()])


def _make_line(
    section: Section, dataset: str, method: str, name: str, series: int, has_band: bool = True
) -> charts.Line:
    """Make a line of means; its band is one standard deviation of the runs to either side."""
    values = [v for v in section.values if (dataset, method, v) in section.cells]
    cells = [section.cells[dataset, method, v] for v in values]
    # The spread of a single run is not known, which is not the same as none.
    is_known = has_band and bool(cells) and min(cell.runs for cell in cells) > 1
    sds = [cell.sd for cell in cells] if is_known else None
    return _make_auc_line(name, values, [cell.mean for cell in cells], sds, series)


def _make_published_line(target: Target, dataset: str, name: str, series: int) -> charts.Line:
    papers = {v: target.published.get((dataset, MIXPUL, v)) for v in target.values}
    found = {value: number for value, number in papers.items() if number is not None}
    means = [number.mean for number in found.values()]
    sds = [number.sd for number in found.values() if number.sd is not None]
    return _make_auc_line(name, list(found), means, sds if len(sds) == len(means) else None, series)


def _make_auc_line(
    name: str,
    values: Sequence[float],
    means: Sequence[float],
    sds: Sequence[float] | None,
    series: int,
) -> charts.Line:
    if not sds:
        return charts.Line(name, values, means, series=series)
    low = [max(0.0, mean - sd) for mean, sd in zip(means, sds, strict=True)]
    high = [min(1.0, mean + sd) for mean, sd in zip(means, sds, strict=True)]
    return charts.Line(name, values, means, low, high, series)


def _draw_auc(dataset: str, lines: Sequence[charts.Line]) -> Markup:
    values = sorted({x for line in lines for x in line.x})
    return charts.draw_lines(
        lines,
        title=f"{dataset}: AUC against the share of positives that are labeled",
        x_label="share of positives that are labeled",
        y_label="AUC",
        x_ticks=values,
        log_x=True,
    )


def _make_curve(
    curves: Sequence[Mapping[str, Sequence[float]]], name: str, series: int
) -> charts.Line:
    steps = curves[0]["step"]
    # Splits of one data set may differ by a step or two.
    errors = 100 * np.array([np.interp(steps, c["step"], c["error"]) for c in curves])
    mean, sd = errors.mean(axis=0), errors.std(axis=0)
    low, high = (mean - sd).clip(0).tolist(), (mean + sd).tolist()
    return charts.Line(name, steps, mean.tolist(), low, high, series)
