"""Pieces of parts as one table, each column of one type."""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import TableError
from mixpul.tables._cells import join_chunks, join_types
from mixpul.tables._csv import CSVStyle, infer_type
from mixpul.tables.opening import show_name

__all__ = ["join_pieces"]

# A table, the path of the part that it comes from, and what its cells are: 'texts' of a CSV file,
# 'typed' as Parquet files have them, or 'cells' with types of their own, as in sheets and JSON.
Described = tuple[Any, str, str]


def join_pieces(
    pieces: Sequence[Described],
    columns: Sequence[str],
    told: Container[str],
    order: NDArray[np.intp],
    style: CSVStyle,
) -> Any:
    """Return the rows of all pieces in this order; columns that folders tell have their type."""
    import pyarrow as pa

    by_form: dict[str, list[Described]] = {}
    for piece in pieces:
        by_form.setdefault(piece[2], []).append(piece)
    if "cells" in by_form:
        by_form["cells"] = _fit_together(by_form["cells"], columns)
    # Forms come one after another; this says where each row is then.
    sizes = [(form, table.num_rows) for table, _, form in pieces]
    take = pa.array(np.argsort(_find_places(sizes, list(by_form)))[order])
    joined = {}
    for column in columns:
        arrays = []
        for form, own in by_form.items():
            whole = _join_column(column, own)
            is_text = form == "texts" and column not in told
            arrays.append(infer_type(whole, style) if is_text else whole)
        joined[column] = _join_forms(column, arrays).take(take)
    return pa.table(joined)


def _find_places(sizes: Sequence[tuple[str, int]], forms: list[str]) -> NDArray[np.intp]:
    """Return for rows that are sorted by form where each of them was."""
    ends = np.cumsum([0, *(n for _, n in sizes)])
    spans = [
        np.arange(ends[k], ends[k + 1])
        for form in forms
        for k, (own, _) in enumerate(sizes)
        if own == form
    ]
    return np.concatenate(spans)


def _fit_together(pieces: list[Described], columns: Sequence[str]) -> list[Described]:
    """Return the same pieces with types that fit all of them, and gaps for cells they lack."""
    import pyarrow as pa

    tables = [pa.table({column: pa.nulls(0) for column in columns})]
    tables += [piece[0] for piece in pieces]
    joined = join_chunks(tables)
    starts = np.cumsum([table.num_rows for table in tables])
    return [
        (joined.slice(start, table.num_rows), path, form)
        for start, (table, path, form) in zip(starts, pieces, strict=False)
    ]


def _join_column(column: str, pieces: list[Described]) -> Any:
    """Return a column of pieces of one form in one type."""
    import pyarrow as pa

    types: dict[Any, str] = {}
    arrays = []
    for table, path, _ in pieces:
        cells = table.column(column)
        chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
        for chunk in chunks:
            is_coded = pa.types.is_dictionary(chunk.type)
            arrays.append(chunk.cast(chunk.type.value_type) if is_coded else chunk)
            types.setdefault(arrays[-1].type, path)
    wanted = join_types(set(types))
    if wanted is None:
        (one, path), (other, other_path) = list(types.items())[:2]
        raise TableError(
            f"Column {column!r} of {show_name(other_path, first=False)} holds {other}, but {one} "
            f"in {show_name(path, first=False)}; write it with one type everywhere."
        )
    if len(types) > 1:
        arrays = [array.cast(wanted, safe=False) for array in arrays]
    return pa.chunked_array(arrays, wanted)


def _join_forms(column: str, arrays: list[Any]) -> Any:
    """Return a column of parts of several formats."""
    import pyarrow as pa

    wanted = join_types({array.type for array in arrays})
    if wanted is None:
        held = " and ".join(str(array.type) for array in arrays)
        raise TableError(
            f"Column {column!r} holds {held} in files of different formats; write it with one type "
            "everywhere."
        )
    cast = [array.cast(wanted, safe=False) for array in arrays]
    return pa.chunked_array([chunk for array in cast for chunk in array.chunks], wanted)
