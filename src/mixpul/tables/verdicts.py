"""A person's answers on some rows of a table, from a file that says which rows they are."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul.tables._reading import read_table
from mixpul.tables.labels import means

__all__ = ["Verdicts", "read_verdicts"]

ROW, VERDICT = "mixpul_row", "verdict"
WORDS = ("yes", "no", "unsure")


class Verdicts(NamedTuple):
    """Answers to the question whether rows are positive.

    Attributes
    ----------
    is_negative, is_positive : ndarray of bool of shape (n_rows,)
        The rows that were answered with no, which are verified negatives, and those with yes.
    n_unsure, n_open : int
        How many rows were answered with unsure, and how many have no answer yet.
    """

    is_negative: NDArray[np.bool_]
    is_positive: NDArray[np.bool_]
    n_unsure: int
    n_open: int


def read_verdicts(
    path: str | os.PathLike,
    is_positive: NDArray[np.bool_],
    *,
    id_column: str | None = None,
    ids: Sequence[Any] | None = None,
) -> Verdicts:
    """Read a queue of rows to check, after someone has filled in its column `verdict`.

    Parameters
    ----------
    path : str or path-like
        A CSV file with the columns `mixpul_row`, the number of a row of the table from 0, and
        `verdict`: yes, no, unsure, or nothing yet. Other columns are not looked at, apart from
        `id_column`.
    is_positive : ndarray of bool of shape (n_rows,)
        Which rows of the table are labeled positive: a verdict on one of these is refused.
    id_column : str, optional
        If the file has this column, each of its ids has to be that of the row in `ids`, so that
        verdicts never go to rows of a table that has changed.
    ids : sequence of n_rows values, optional

    Returns
    -------
    Verdicts

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from mixpul.tables import read_verdicts
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "queue.csv"
    >>> _ = path.write_text("mixpul_row,verdict\\n4,no\\n7,yes\\n9,\\n")
    >>> found = read_verdicts(path, np.arange(10) < 3)
    >>> np.flatnonzero(found.is_negative), np.flatnonzero(found.is_positive), found.n_open
    (array([4]), array([7]), 1)
    """
    frame = read_table(path)
    name = os.fspath(path)
    for column in (ROW, VERDICT):
        if column not in frame.columns:
            raise ValueError(
                f"{name!r} has no column {column!r}; verdicts come as a CSV file with the columns "
                f"{ROW!r} (row number in the table, from 0) and {VERDICT!r} (yes, no or unsure)."
            )
    rows = _read_rows(name, frame[ROW], len(is_positive))
    if id_column is not None and ids is not None and id_column in frame.columns:
        _check_ids(name, rows, frame[id_column], id_column, ids)
    words = np.array(
        [_read_word(name, row, cell) for row, cell in zip(rows, frame[VERDICT], strict=True)],
        dtype=str,
    )
    if (labeled := rows[(words != "") & is_positive[rows]]).size:
        raise ValueError(
            f"{name!r} has a verdict on row {labeled[0]}, which is labeled positive in the table; "
            "only unlabeled rows are checked, so this is the queue of another table or label."
        )
    no, yes = (np.isin(np.arange(len(is_positive)), rows[words == w]) for w in ("no", "yes"))
    return Verdicts(no, yes, int((words == "unsure").sum()), int((words == "").sum()))


def _read_rows(name: str, column: Any, n_rows: int) -> NDArray[np.intp]:
    """Return the row numbers: whole, within the table, each once."""
    try:
        numbers = column.to_numpy(dtype=float)
        is_whole = bool((numbers == np.floor(numbers)).all())
    except (TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise ValueError(f"{name!r}: {ROW!r} must be the number of a row, from 0, in every line.")
    rows = numbers.astype(np.intp)
    outside = rows[(rows < 0) | (rows >= n_rows)]
    if len(outside):
        raise ValueError(
            f"{name!r} names row {outside[0]}, but the table has {n_rows} rows, numbered from 0; "
            "this is the queue of another table."
        )
    values, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"{name!r} names row {values[counts > 1][0]} twice; leave one verdict for each row."
        )
    return rows


def _read_word(name: str, row: int, cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return ""
    word = str(cell).strip().lower()
    if word in ("", *WORDS):
        return word
    raise ValueError(
        f"{name!r}: the verdict on row {row} is {str(cell)!r}; write {', '.join(WORDS[:-1])} or "
        f"{WORDS[-1]}, or leave it empty."
    )


def _check_ids(
    name: str, rows: NDArray[np.intp], found: Any, id_column: str, ids: Sequence[Any]
) -> None:
    for row, cell in zip(rows, found, strict=True):
        if not means(ids[row], cell):
            raise ValueError(
                f"{name!r} calls row {row} {str(cell)!r}, but in the table its {id_column!r} is "
                f"{str(ids[row])!r}; the table has changed since the queue was drawn, or its rows "
                "have another order."
            )
