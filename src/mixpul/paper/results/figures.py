"""The figures of the paper, drawn from the records."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from mixpul.pages import charts
from mixpul.pages.render import typeset_terms
from mixpul.paper.results.numbers import AS_PUBLISHED, CURVES, OURS, methods_in, ordered
from mixpul.paper.results.sections import Section
from mixpul.paper.runs import Record


class Figure(NamedTuple):
    """Charts side by side under one legend."""

    legend: Markup
    panels: list[tuple[str, Markup]]


def figure(section: Section) -> Figure | None:
    """What is drawn of a target; None where the paper has a table and a picture adds little."""
    if section.target.name == "uci" and section.headline:
        return _comparison_figure(section)
    if section.target.name == "prior-error":
        return _prior_figure(section)
    if section.target.name in CURVES:
        return _curve_figure(section)
    return None


def _prior_figure(section: Section) -> Figure:
    """AUC against the label frequency, one line for each way to know the prior."""
    methods = methods_in(section.cells, section.target)
    return _side_by_side(
        {
            dataset: [
                _line(section, dataset, method, _prior_name(method), series)
                for series, method in enumerate(methods)
            ]
            for dataset in ordered({d for d, _, _ in section.cells}, section.target.datasets)
        },
        _auc_chart,
    )


def _comparison_figure(section: Section) -> Figure:
    """AUC of MixPUL against the label frequency, and the paper's."""
    target = section.target
    run = {dataset for dataset, method, _ in section.cells if method == OURS}
    drawn = {}
    for dataset in ordered(run, (*target.datasets, *target.extra_datasets)):
        papers = {v: target.published.get((dataset, OURS, v)) for v in target.values}
        means = {v: published.mean for v, published in papers.items() if published is not None}
        drawn[dataset] = [
            _line(section, dataset, OURS, "MixPUL, our defaults", 0),
            _line(section, dataset, OURS + AS_PUBLISHED, "MixPUL as published, run by us", 1),
            charts.Line("the paper’s MixPUL", list(means), list(means.values()), series=2),
        ]
    return _side_by_side(drawn, _auc_chart)


def _curve_figure(section: Section) -> Figure:
    """Error in the course of training: mean over seeds, a band of one standard deviation."""
    runs: dict[str, dict[str, list[Record]]] = {}
    for record in section.records:
        runs.setdefault(record["dataset"], {}).setdefault(record["method"], []).append(record)
    methods = section.target.methods
    drawn = {
        dataset: [
            _curve([r["curve"] for r in runs[dataset][method]], typeset_terms(method), series)
            for series, method in enumerate(methods)
            if method in runs[dataset]
        ]
        for dataset in ordered(runs, section.target.datasets)
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

    return _side_by_side(drawn, draw, marks=False)


def _side_by_side(
    drawn: Mapping[str, Sequence[charts.Line]],
    draw: Callable[[str, Sequence[charts.Line]], Markup],
    marks: bool = True,
) -> Figure:
    """One chart for each data set, with the lines that have points, and the legend of all."""
    drawn = {name: [line for line in lines if len(line.x)] for name, lines in drawn.items()}
    names = {line.series: line for lines in drawn.values() for line in lines}
    legend = charts.draw_legend([names[series] for series in sorted(names)], marks)
    return Figure(legend, [(name, draw(name, lines)) for name, lines in drawn.items()])


def _line(section: Section, dataset: str, method: str, name: str, series: int) -> charts.Line:
    values = [v for v in section.values if (dataset, method, v) in section.cells]
    means = [section.cells[dataset, method, v].mean for v in values]
    return charts.Line(name, values, means, series=series)


def _auc_chart(dataset: str, lines: Sequence[charts.Line]) -> Markup:
    values = sorted({x for line in lines for x in line.x})
    return charts.draw_lines(
        lines,
        title=f"{dataset}: AUC against the share of positives that are labeled",
        x_label="share of positives that are labeled",
        y_label="AUC",
        x_ticks=values,
        log_x=True,
    )


def _curve(curves: Sequence[Mapping[str, Sequence[float]]], name: str, series: int) -> charts.Line:
    steps = curves[0]["step"]
    # Splits of one data set may differ by a step or two.
    errors = 100 * np.array([np.interp(steps, c["step"], c["error"]) for c in curves])
    mean, sd = errors.mean(axis=0), errors.std(axis=0)
    low, high = (mean - sd).clip(0).tolist(), (mean + sd).tolist()
    return charts.Line(name, steps, mean.tolist(), low, high, series)


def _prior_name(method: str) -> str:
    _, comma, name = method.partition(", ")
    return name.removesuffix(" prior") if comma else "true prior"


def rank_chart(section: Section) -> Markup:
    rows = section.overall
    return charts.draw_dots(
        [row.method + (" †" if row.is_told else "") for row in rows],
        [row.rank for row in rows],
        title="Mean rank of each method",
        label=f"mean rank over {section.n_compared} settings (1 is best)",
        emphasis=next((n for n, row in enumerate(rows) if row.method == OURS), None),
    )
