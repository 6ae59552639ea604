"""A random sample of a table that is larger than memory, in one pass.

Each row has a key: a hash of the seed, the name of its file and its number in that file. Of the
rows of each label those with the smallest keys are kept. Which rows these are depends neither on
the order of the files, nor on the size of batches, nor on who reads which file: what is kept of
some files and what is kept of others is merged by keeping the smallest keys again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import TableError
from mixpul._util.progress import progress_bar
from mixpul.tables._csv import CSVStyle
from mixpul.tables._joining import join_pieces
from mixpul.tables._pieces import (
    Collected,
    Piece,
    find_limit,
    hash_name,
    hash_rows,
    hold_smallest,
    keep_smallest,
)
from mixpul.tables._reading import TYPED, stream_raw
from mixpul.tables._spreading import map_parts
from mixpul.tables._strata import Design, Kind, code_kinds, sort_kinds
from mixpul.tables.formats import find_format, split_place
from mixpul.tables.frames import from_arrow, import_tables
from mixpul.tables.names import check_present
from mixpul.tables.opening import show_name
from mixpul.tables.parts import Part, find_partition_types, find_parts, name_parts
from mixpul.tables.ranges import Range, find_ranges, merge_ranges

__all__ = [
    "MOST_CELLS",
    "MOST_ROWS",
    "Design",
    "Sample",
    "Sketch",
    "choose_max_rows",
    "find_limits",
    "finish_sample",
    "list_tasks",
    "merge_sketches",
    "sample_part",
    "sample_table",
]

# The portfolio on twice as many rows of 30 columns took 2.8 GB (benchmarks/scale.py); wide tables
# have fewer rows.
MOST_ROWS, MOST_CELLS = 250_000, 25_000_000
# Of the rows to keep, the share that labeled positives and verified negatives may have at most.
SHARE_OF_POSITIVES, SHARE_OF_NEGATIVES = 0.5, 0.25


class Seen(NamedTuple):
    """What is remembered of a part: where it is, what is in it, and which columns folders tell."""

    path: str
    form: str
    told: tuple[str, ...]
    columns: tuple[str, ...]
    n_rows: int


@dataclass(frozen=True)
class Sketch:
    """What is kept of some parts, and counts of all of their rows; made of plain data.

    Attributes
    ----------
    pieces : dict
        Per kind of rows, by label, those with the smallest keys; perhaps some more.
    counts : dict
        Per kind of rows how many there are.
    parts : dict
        Per name of a part that has rows what was seen of it.
    ranges : dict
        Per column of numbers the smallest and the largest one; None if some are not numbers.
    """

    pieces: dict[Kind, list[Piece]] = field(default_factory=dict)
    counts: dict[Kind, int] = field(default_factory=dict)
    parts: dict[str, Seen] = field(default_factory=dict)
    ranges: dict[str, Range | None] = field(default_factory=dict)


class Sample(NamedTuple):
    """A sample of a table, and counts of the whole.

    Attributes
    ----------
    frame : pandas.DataFrame
        The rows that were drawn, in the order of the names of the parts.
    rows : ndarray of int
        Their numbers in the table, its parts in the order of their names.
    n_rows, n_positive, n_negative, n_unlabeled : int
        Of the whole table.
    share : float
        Which share of the unlabeled rows was drawn.
    ranges : dict
        Per column of numbers of the whole table the smallest and the largest one.
    """

    frame: Any
    rows: NDArray[np.int64]
    n_rows: int
    n_positive: int
    n_negative: int
    n_unlabeled: int
    share: float
    ranges: dict[str, Range]

    @property
    def is_whole(self) -> bool:
        """Whether all rows were drawn."""
        return len(self.rows) == self.n_rows


class Task(NamedTuple):
    """One part to sample: where it is, its name, and the types of columns that folders tell."""

    part: Part
    name: str
    types: dict[str, Any]


def list_tasks(table: Any) -> list[Task]:
    """Return the parts of a table as `sample_part` takes them, whoever calls it."""
    parts = find_parts(table)
    types = find_partition_types(parts)
    return [Task(part, name, types) for part, name in zip(parts, name_parts(parts), strict=True)]


def choose_max_rows(n_columns: int) -> int:
    """Return how many rows to keep if a user does not say it.

    >>> choose_max_rows(30), choose_max_rows(1000)
    (250000, 25000)
    """
    return min(MOST_ROWS, MOST_CELLS // max(n_columns, 1))


def sample_table(
    table: Any, design: Design, reading: Mapping[str, Any] | None = None, verbose: int = 0
) -> Sample:
    """Draw a sample of a table, part by part.

    Parameters
    ----------
    table : str, path-like, or a sequence of them
        As `read_table` takes it.
    design : Design
    reading : mapping, optional
        How CSV files are written: keywords of `read_table`.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Sample

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from mixpul.tables.sampling import Design, sample_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> rows = pd.DataFrame({"age": range(1000), "bought": [1] + [0] * 999})
    >>> rows.to_csv(path, index=False)
    >>> found = sample_table(path, Design(max_rows=100, label="bought"))
    >>> len(found.frame), found.frame["bought"].sum(), found.n_unlabeled, found.ranges["age"]
    (100, np.int64(1), 999, Range(low=0.0, high=999.0))
    """
    import_tables()
    tasks = list_tasks(table)
    with progress_bar(len(tasks), "Reading", verbose, "parts") as advance:
        whole = Sketch()
        limits: dict[Kind, np.uint64] = {}
        for own in map_parts(sample_part, tasks, design, reading, known=limits):
            whole = merge_sketches([whole, own], design)
            limits |= find_limits(whole, design)
            advance({})
    return finish_sample(whole, design, reading)


# -- one part -------------------------------------------------------------------------------


def sample_part(
    task: Task,
    design: Design,
    reading: Mapping[str, Any] | None = None,
    limits: Mapping[Kind, np.uint64] | None = None,
) -> Sketch:
    """Read one part, and keep the rows of each kind that have the smallest keys.

    With `limits` of other parts fewer rows are held: those that these parts rule out are not.
    """
    import_tables()
    style = CSVStyle.make(**(reading or {}))
    part, name, types = task
    base = hash_name(design.seed, name)
    sketch = Sketch()
    columns: tuple[str, ...] = ()
    collected: dict[Kind, Collected] = {}
    n_rows = 0
    for batch in stream_raw(part, types, style):
        columns = _add_columns(columns, batch.schema.names)
        check_present([design.label], batch.schema.names, show_name(part.name))
        keys = hash_rows(base, n_rows, batch.num_rows)
        numbers = np.arange(n_rows, n_rows + batch.num_rows)
        for kind, chosen in code_kinds(batch.column(design.label), design, style.decimal):
            own = collected.setdefault(kind, Collected(design.max_rows, (limits or {}).get(kind)))
            own.add(name, keys, numbers, batch, chosen)
        merge_ranges(sketch.ranges, find_ranges(batch, sketch.ranges, style.decimal))
        n_rows += batch.num_rows
    if n_rows:
        form = find_format(split_place(part.name)[0])[0]
        sketch.parts[name] = Seen(part.name, form, tuple(part.columns), columns, n_rows)
    for kind, own in collected.items():
        sketch.counts[kind] = own.n_rows
        sketch.pieces[kind] = keep_smallest(own.pieces, design.max_rows)
    return sketch


def _add_columns(known: tuple[str, ...], names: Iterable[str]) -> tuple[str, ...]:
    # Lines of JSON may have other keys than those before them.
    return tuple(dict.fromkeys([*known, *names]))


# -- several parts --------------------------------------------------------------------------


def merge_sketches(sketches: Iterable[Sketch], design: Design) -> Sketch:
    """Return the sketch of all parts; the order does not matter, nor does merging in between."""
    return reduce(lambda one, other: _merge(one, other, design), sketches, Sketch())


def find_limits(sketch: Sketch, design: Design) -> dict[Kind, np.uint64]:
    """Return per kind the largest key that counts, where so many rows are held already."""
    limits = {kind: find_limit(pieces, design.max_rows) for kind, pieces in sketch.pieces.items()}
    return {kind: limit for kind, limit in limits.items() if limit is not None}


def _merge(one: Sketch, other: Sketch, design: Design) -> Sketch:
    if one.parts and other.parts:
        for seen in other.parts.values():
            _check_columns(min(one.parts.items())[1], seen)
    ranges = dict(one.ranges)
    if one.parts and other.parts:
        merge_ranges(ranges, other.ranges)
    else:
        ranges |= other.ranges
    kinds = dict.fromkeys([*one.counts, *other.counts])
    return Sketch(
        pieces={
            kind: hold_smallest(
                [*one.pieces.get(kind, ()), *other.pieces.get(kind, ())], design.max_rows
            )
            for kind in kinds
        },
        counts={kind: one.counts.get(kind, 0) + other.counts.get(kind, 0) for kind in kinds},
        parts=one.parts | other.parts,
        ranges=ranges,
    )


def _check_columns(first: Seen, other: Seen) -> None:
    try:
        check_present(first.columns, other.columns, show_name(other.path))
        check_present(other.columns, first.columns, show_name(first.path))
    except ValueError as error:
        raise TableError(str(error)) from None


# -- the table ------------------------------------------------------------------------------


def finish_sample(
    sketch: Sketch, design: Design, reading: Mapping[str, Any] | None = None
) -> Sample:
    """Make a table of what was kept: as many labeled rows as there may be, then unlabeled ones."""
    style = CSVStyle.make(**(reading or {}))
    sorted_kinds = sort_kinds(sketch.counts, design)
    totals = {
        role: sum(sketch.counts[kind] for kind in kinds) for role, kinds in sorted_kinds.items()
    }
    n_rows, left = sum(totals.values()), design.max_rows
    if not n_rows:
        raise TableError("The table has no rows; a table to learn from needs some.")
    kept: list[Piece] = []
    n_kept = {}
    for role, most in (
        ("positive", SHARE_OF_POSITIVES), ("negative", SHARE_OF_NEGATIVES), ("unlabeled", 1.0)
    ):  # fmt: skip
        own = [piece for kind in sorted_kinds[role] for piece in sketch.pieces[kind]]
        allowed = left if n_rows <= design.max_rows else min(left, int(most * design.max_rows))
        own = keep_smallest(own, allowed)
        n_kept[role] = sum(len(piece.keys) for piece in own)
        left -= n_kept[role]
        kept += own
    table, rows = _sort_rows(kept, sketch, style)
    return Sample(
        frame=from_arrow(table, views=False),
        rows=rows,
        n_rows=n_rows,
        n_positive=totals["positive"],
        n_negative=totals["negative"],
        n_unlabeled=totals["unlabeled"],
        share=n_kept["unlabeled"] / max(totals["unlabeled"], 1),
        ranges={name: own for name, own in sketch.ranges.items() if own is not None},
    )


def _sort_rows(
    pieces: list[Piece], sketch: Sketch, style: CSVStyle
) -> tuple[Any, NDArray[np.int64]]:
    """Return the rows of all pieces, and their numbers, in the order of parts and rows."""
    starts, n_before = {}, 0
    for name in sorted(sketch.parts):
        starts[name] = n_before
        n_before += sketch.parts[name].n_rows
    pieces = sorted(pieces, key=lambda piece: piece.part)
    numbers = np.concatenate([starts[piece.part] + piece.rows for piece in pieces])
    order = np.argsort(numbers)
    seen = sketch.parts
    columns = seen[min(seen)].columns
    described = [
        (piece.table, seen[piece.part].path, _describe_form(seen[piece.part])) for piece in pieces
    ]
    told = {column for own in seen.values() for column in own.told}
    return join_pieces(described, columns, told, order, style), numbers[order]


def _describe_form(seen: Seen) -> str:
    if seen.form == "CSV":
        return "texts"
    return "typed" if seen.form in TYPED else "cells"
