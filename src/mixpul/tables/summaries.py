"""What a model file keeps of the table it was fitted on: shares in bins, and not one row.

A number has ten bins of about as many rows, text one per category that several rows have. So a
later table can be compared without the first one, in one pass and in little memory.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.tables._input import TableInput
from mixpul.tables._kinds import as_numbers, code_categories, normalise_category
from mixpul.tables.frames import as_frame
from mixpul.tables.ranges import Range

__all__ = ["Tally", "make_layout", "name_bins", "summarise_table", "widen_layout"]

N_BINS = 10
# A category of fewer rows is not named: it may be a person.
ROWS_TO_BE_NAMED = 5
MOST_CATEGORIES = 100
MOST_EXAMPLES = 10

Layout = dict[str, dict[str, Any]]


def make_layout(table: TableInput, X: Any) -> Layout:
    """Choose the bins of each used column by the rows of a fit."""
    frame = as_frame(X)
    places = {str(name): j for j, name in enumerate(frame.columns)}
    return {
        plan["column"]: _lay_out(plan, frame.iloc[:, places.get(plan["column"], plan["place"])])
        for plan in table.plan_
    }


def _lay_out(plan: dict[str, Any], column: Any) -> dict[str, Any]:
    if plan["kind"] == "text":
        codes, texts = code_categories(column)
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        order = sorted(range(len(texts)), key=lambda k: (-counts[k], texts[k]))
        named = [texts[k] for k in order[:MOST_CATEGORIES] if counts[k] >= ROWS_TO_BE_NAMED]
        return {"kind": "text", "categories": named}
    numbers = _read_numbers(plan, column)
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return {"kind": plan["kind"], "edges": [], "low": None, "high": None}
    edges = np.unique(np.quantile(finite, np.arange(1, N_BINS) / N_BINS, method="inverted_cdf"))
    # An edge at the largest value would leave the last bin empty.
    edges = edges[edges < finite.max()]
    return {
        "kind": plan["kind"],
        "edges": edges.tolist(),
        "low": float(finite.min()),
        "high": float(finite.max()),
    }


def _read_numbers(plan: dict[str, Any], column: Any) -> NDArray[np.float64]:
    style = [plan["style"]] if plan.get("style") else []
    return as_numbers(column, plan["kind"], plan["column"], *style)


class Tally:
    """Counts of rows per bin of each column, over any number of batches.

    Attributes
    ----------
    n_rows : int
    counts : dict
        Per column the number of rows in each bin; the last two are values of no bin (rare or new
        categories, numbers that are not finite) and gaps.
    outside : dict
        Per column the number of values below or above those of the fit.
    examples : dict
        Per column some values of no bin.
    """

    def __init__(self, table: TableInput, layout: Layout) -> None:
        self.n_rows = 0
        self._plans = [plan for plan in table.plan_ if plan["column"] in layout]
        self._layout = layout
        sizes = {name: _count_bins(own) + 2 for name, own in layout.items()}
        self.counts = {name: np.zeros(size, dtype=np.int64) for name, size in sizes.items()}
        self.outside = dict.fromkeys(layout, 0)
        self.examples: dict[str, list[str]] = {name: [] for name in layout}

    def add(self, rows: Any) -> None:
        """Count the rows of a table or a batch."""
        frame = as_frame(rows)
        self.n_rows += len(frame)
        places = {str(name): j for j, name in enumerate(frame.columns)}
        for plan in self._plans:
            name = plan["column"]
            column = frame.iloc[:, places.get(name, plan["place"])]
            own = self._layout[name]
            bins = (
                self._find_categories(name, column)
                if own["kind"] == "text"
                else self._find_bins(plan, column)
            )
            self.counts[name] += np.bincount(bins, minlength=len(self.counts[name]))

    def _find_bins(self, plan: dict[str, Any], column: Any) -> NDArray[np.intp]:
        own, numbers = self._layout[plan["column"]], _read_numbers(plan, column)
        n_bins = _count_bins(own)
        bins = np.searchsorted(np.array(own["edges"]), numbers, side="left")
        bins[np.isinf(numbers)] = n_bins
        bins[np.isnan(numbers)] = n_bins + 1
        if own["low"] is not None:
            with np.errstate(invalid="ignore"):
                is_out = (numbers < own["low"]) | (numbers > own["high"])
            self.outside[plan["column"]] += int(is_out.sum())
        return bins

    def _find_categories(self, name: str, column: Any) -> NDArray[np.intp]:
        codes, texts = code_categories(column)
        known = {text: k for k, text in enumerate(self._layout[name]["categories"])}
        alike = {normalise_category(text): k for text, k in reversed(known.items())}
        rest = len(known)
        slots = [
            known[text] if text in known else alike.get(normalise_category(text), rest)
            for text in texts
        ]
        examples = self.examples[name]
        for text, slot in zip(texts, slots, strict=True):
            if slot == rest and len(examples) < MOST_EXAMPLES and text not in examples:
                examples.append(text)
        return np.array([*slots, rest + 1], dtype=np.intp)[codes]


def _count_bins(own: dict[str, Any]) -> int:
    return len(own["categories"]) if own["kind"] == "text" else len(own["edges"]) + 1


def summarise_table(
    table: TableInput, X: Any, is_positive: NDArray[np.bool_]
) -> dict[str, dict[str, Any]]:
    """Return the bins of each column, and how many unlabeled and how many of all rows are in each.

    Plain values, ready for JSON.
    """
    layout = make_layout(table, X)
    frame = as_frame(X)
    counted: dict[str, dict[str, NDArray]] = {}
    for key, rows in (("unlabeled", frame[~is_positive]), ("all", frame)):
        tally = Tally(table, layout)
        tally.add(rows)
        counted[key] = tally.counts
    return {
        name: own | {key: counts[name].tolist() for key, counts in counted.items()}
        for name, own in layout.items()
    }


def widen_layout(layout: Layout, ranges: Mapping[str, Range]) -> None:
    """Let columns of numbers reach as far as in all rows, if the layout is that of a sample."""
    for name, own in layout.items():
        known = ranges.get(name)
        if own["kind"] != "number" or known is None or known.low is None or own["low"] is None:
            continue
        # Text may stand for other numbers than it looks like, such as thousands or shares.
        if known.low <= own["low"] and own["high"] <= known.high:
            own |= {"low": known.low, "high": known.high}


def name_bins(own: dict[str, Any]) -> list[str]:
    """Return what to call the bins of a column, the last two included."""
    if own["kind"] == "text":
        return [*own["categories"], "rare or new", "missing"]
    ends = [own["low"], *own["edges"], own["high"]]
    return [*_name_spans(ends), "not finite", "missing"]


def _name_spans(ends: Iterable[Any]) -> list[str]:
    listed = ["" if end is None else f"{end:.4g}" for end in ends]
    return [f"{low} to {high}" for low, high in itertools.pairwise(listed)]
