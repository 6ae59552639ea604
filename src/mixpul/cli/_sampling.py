"""Tables of any size to learn from: whole, or a random sample of a large one."""

from collections.abc import Callable, Mapping
from typing import Any

from mixpul.cli._messages import choose_verbosity
from mixpul.cli.options import TableOptions
from mixpul.persistence.samples import find_sample
from mixpul.tables import read_table, stream_table
from mixpul.tables.counting import has_at_most
from mixpul.tables.formats import find_format, split_place
from mixpul.tables.opening import is_stream
from mixpul.tables.parts import find_parts
from mixpul.tables.sampling import MOST_ROWS, Design, Sample, choose_max_rows, sample_table

__all__ = ["describe_sample", "draw_again", "read_or_sample"]

Draw = Callable[[Any, Design, Mapping[str, Any], int], Sample]


def read_or_sample(
    table: Any,
    options: TableOptions,
    style: Mapping[str, Any],
    max_rows: int | None,
    seed: int,
    draw: Draw = sample_table,
) -> tuple[Any, Sample | None, Design]:
    """Return the rows to learn from, and what is known of the others if there are some.

    `draw` may be another way to take the same sample, such as one on many machines.
    """
    design = Design(
        max_rows=max_rows or _choose_max_rows(table, style),
        label=options.label,
        seed=seed,
        positive=options.positive,
        negative=options.negative,
        missing_is_unlabeled=options.missing_is_unlabeled,
    )
    if has_at_most(table, design.max_rows):
        return read_table(table, **style), None, design
    sample = draw(table, design, style, choose_verbosity())
    if not sample.is_whole:
        return sample.frame, sample, design
    # CSV files in parts are read again, each part with types of its own, as small ones are.
    is_read_again = not is_stream(table) and any(
        find_format(split_place(part.name)[0])[0] == "CSV" for part in find_parts(table)
    )
    return read_table(table, **style) if is_read_again else sample.frame, None, design


def _choose_max_rows(table: Any, style: Mapping[str, Any]) -> int:
    if is_stream(table):  # which cannot be looked at twice
        return MOST_ROWS
    first = find_parts(table)[0].name
    # A first part without rows or with other faults is named when the table is read.
    try:
        return choose_max_rows(len(next(stream_table(first, **style)).schema.names))
    except (ValueError, StopIteration):
        return MOST_ROWS


def describe_sample(sample: Sample | None, design: Design | None) -> dict[str, Any] | None:
    """Return what a page and the model file should know of the rows that were not learned from."""
    if sample is None or design is None:
        return None
    return {
        "rows": sample.n_rows,
        "positives": sample.n_positive,
        "negatives": sample.n_negative,
        "unlabeled": sample.n_unlabeled,
        "share": sample.share,
        "max_rows": design.max_rows,
        "seed": design.seed,
    }


def draw_again(table: Any, info: Mapping[str, Any], style: Mapping[str, Any]) -> Any:
    """Return the rows of a sample that a model has learned from, in order; None if it is none."""
    known = find_sample(info)
    if known is None:
        return None
    design = Design(
        max_rows=known["max_rows"],
        label=info["label"],
        seed=known["seed"],
        positive=info["positive"],
        negative=info.get("negative"),
        missing_is_unlabeled=info["missing_is_unlabeled"],
    )
    return sample_table(table, design, style, choose_verbosity()).frame
