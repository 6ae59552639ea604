"""The label column of a table."""

import re
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul._util.json_values import to_plain
from mixpul._util.printable import shorten
from mixpul._util.validation import USUAL_PAIRS
from mixpul.tables.frames import as_frame
from mixpul.tables.names import find_column

__all__ = ["Label", "check_two", "find_negatives", "find_positive", "means", "split_label"]

# With fewer labeled positives, results depend on which rows happen to be labeled.
LEAST_FOR_STEADY_RESULTS = 20
POSITIVE_WORDS = {"1", "yes", "y", "true", "t", "positive", "pos", "labeled", "labelled", "known"}
OTHER_WORDS = {"0", "-1", "no", "n", "false", "f", "negative", "neg", "unlabeled", "unlabelled"}
OTHER_WORDS |= {"unknown"}


class Label(NamedTuple):
    """A table apart from its label column.

    Attributes
    ----------
    X : pandas.DataFrame
        The other columns.
    is_positive : ndarray of bool
        Which rows are labeled positive.
    positive : object
        The value that means labeled positive, as it is in the table.
    """

    X: Any
    is_positive: NDArray[np.bool_]
    positive: Any


def split_label(
    table: Any,
    label: str,
    *,
    positive: Any = None,
    negative: Any = None,
    missing_is_unlabeled: bool = False,
) -> Label:
    """Take the label column out of a table and find the rows labeled positive.

    Parameters
    ----------
    table : pandas.DataFrame
    label : str
        Name of the column with the PU labels: two values, or more if `positive` is named. Names are
        compared as text: ``"1"`` also finds a column named 1.
    positive : optional
        The value that means labeled positive, as a value or as text (``"1"`` finds 1). By default
        1 (of 0 and 1, or of -1 and 1), True, or one of words such as yes and no. Of other values it
        has to be named.
    negative : optional
        A third value that means verified negative: such rows are neither labeled positive nor
        unlabeled; `find_negatives` finds them.
    missing_is_unlabeled : bool, default=False
        Whether a missing label means unlabeled; otherwise it is an error.

    Returns
    -------
    Label

    Examples
    --------
    >>> import pandas as pd
    >>> from mixpul.tables import split_label
    >>> table = pd.DataFrame({"age": range(60), "bought": ["yes", "no", "no"] * 20})
    >>> split_label(table, "bought").is_positive.sum()
    np.int64(20)
    """
    frame = as_frame(table)
    place = find_column(label, frame.columns, "The table")
    column = frame.iloc[:, place]
    where = f"The label column {label!r}"
    is_negative = np.zeros(len(column), dtype=bool)
    if negative is not None:
        is_negative = _match_negatives(where, column, negative)
    # Of the other rows: the value of negatives is not one of the two.
    is_missing = column.isna().to_numpy()[~is_negative]
    values = list(column[~is_negative][~is_missing].unique())
    gaps = (int(is_missing.sum()), len(is_missing))
    check_two(where, values, *gaps, missing_is_unlabeled, positive is not None)
    if len(values) == 1 and positive is None:
        positive_value = values[0]
    else:
        positive_value = find_positive(where, values, positive)
    # In nullable types a missing label compares as missing, not as different.
    is_positive = (column == positive_value).fillna(False).to_numpy(dtype=bool)
    if len(values) > 2:
        others = [_show(value) for value in values if value != positive_value]
        more = f" and {len(others) - 3} more values" if len(others) > 3 else ""
        warnings.warn(
            f"{where} has {len(values)} values; rows with {', '.join(others[:3])}{more} count as "
            "unlabeled. If one of them means verified negative, name it with negative= "
            "(--negative).",
            UserWarning,
            stacklevel=2,
        )
    if is_positive.sum() < LEAST_FOR_STEADY_RESULTS:
        warnings.warn(
            f"{where} has {is_positive.sum()} labeled positives; results will depend on "
            f"which ones they are. Label at least {LEAST_FOR_STEADY_RESULTS}, better dozens more.",
            UserWarning,
            stacklevel=2,
        )
    others = frame.drop(columns=frame.columns[place])
    return Label(others, is_positive, to_plain(positive_value))


def find_negatives(table: Any, label: str, negative: Any) -> NDArray[np.bool_]:
    """Find the rows that the label column names as verified negatives.

    Parameters
    ----------
    table : pandas.DataFrame
    label : str
        Name of the label column.
    negative : object
        Its value that means verified negative, as a value or as text.

    Returns
    -------
    ndarray of bool of shape (n,)

    Examples
    --------
    >>> import pandas as pd
    >>> from mixpul.tables import find_negatives, split_label
    >>> table = pd.DataFrame({"age": range(60), "bought": ["yes", "?", "refused"] * 20})
    >>> split_label(table, "bought", positive="yes", negative="refused").is_positive.sum()
    np.int64(20)
    >>> find_negatives(table, "bought", "refused").sum()
    np.int64(20)
    """
    frame = as_frame(table)
    column = frame.iloc[:, find_column(label, frame.columns, "The table")]
    return _match_negatives(f"The label column {label!r}", column, negative)


def _match_negatives(where: str, column: Any, negative: Any) -> NDArray[np.bool_]:
    values = list(column[column.notna()].unique())
    matches = [value for value in values if means(value, negative)]
    if len(matches) != 1:
        shown = ", ".join(map(_show, values[:5])) + (", ..." if len(values) > 5 else "")
        raise ValueError(
            f"{where} has the values {shown}, but verified negatives were said to be "
            f"{negative!r}; name one that it has with negative= (--negative)."
        )
    return (column == matches[0]).fillna(False).to_numpy(dtype=bool)


def check_two(
    where: str,
    values: list,
    n_missing: int,
    n_rows: int,
    missing_is_unlabeled: bool,
    is_named: bool,
) -> None:
    """Refuse labels that are not two values, or one value and gaps that mean unlabeled.

    If the positive value is named, all others mean unlabeled, however many there are.
    """
    has_gaps = n_missing > 0
    # Two values and gaps are three kinds of rows: one of the values may mean verified negative.
    n_kinds = len(values) + (has_gaps and missing_is_unlabeled)
    if not values or (n_kinds > 2 and not is_named):
        raise ValueError(_explain_not_two(where, values, n_rows, has_gaps))
    if has_gaps and not missing_is_unlabeled:
        raise ValueError(
            f"{where} is missing in {n_missing} of {n_rows} rows; if that means "
            "unlabeled, say so with missing_is_unlabeled (--missing-is-unlabeled), or remove "
            "these rows."
        )
    if len(values) + has_gaps < 2:
        raise ValueError(_explain_not_two(where, values, n_rows, has_gaps))


def _explain_not_two(where: str, values: list, n_rows: int, has_gaps: bool) -> str:
    if not values:
        return f"{where} is missing in all {n_rows} rows; it should say which are labeled positive."
    shown = ", ".join(map(_show, values[:5]))
    shown += ", ..." if len(values) > 5 else ""
    if len(values) == 1:
        return (
            f"{where} is {shown} in all {n_rows} rows; PU learning needs labeled positives "
            "and unlabeled rows, so add rows of the other kind."
        )
    gaps = " and gaps" if has_gaps else ""
    return (
        f"{where} has {len(values)} values{gaps} ({shown}); say which one means labeled positive "
        "with positive= (--positive), then all others mean unlabeled, and name one that means "
        "verified negative with negative= (--negative)."
    )


def find_positive(
    where: str, values: list, positive: Any, option: str = "positive= (--positive)"
) -> Any:
    """Return the value that means positive: the one named, 1, True, or a word such as yes."""
    shown = " and ".join(map(_show, values[:5])) + (" and others" if len(values) > 5 else "")
    plural = "s" if len(values) > 1 else ""
    if positive is not None:
        matches = [value for value in values if means(value, positive)]
        if len(matches) != 1:
            raise ValueError(
                f"{where} has the value{plural} {shown}, but the positive one was said to be "
                f"{positive!r}; name one that it has with {option}."
            )
        return matches[0]
    if set(values) in USUAL_PAIRS:
        return max(values)
    # Of another pair of numbers, such as 1 and 2, either may be the positive one.
    texts = {_write_plainly(value): value for value in values}
    yes, no = texts.keys() & POSITIVE_WORDS, texts.keys() & OTHER_WORDS
    if len(yes) == len(no) == 1:
        return texts[yes.pop()]
    raise ValueError(
        f"{where} has the value{plural} {shown}; say which one means positive with {option}."
    )


def means(value: Any, wanted: Any) -> bool:
    """Whether `wanted`, which may be text from a command line, means `value`."""
    if isinstance(value, str | bool | np.bool_):
        return _write_plainly(value) == _write_plainly(wanted) or value == wanted
    try:
        return float(value) == float(wanted)
    except (TypeError, ValueError):
        return str(value) == str(wanted)


def _write_plainly(value: Any) -> str:
    """Return a label as text: 1.0 is 1, as which a column with gaps may have been written."""
    return re.sub(r"(?<=\d)\.0+$", "", str(value).strip().lower())


def _show(value: Any) -> str:
    """Return a label as it looks in a file: whole numbers may have been read as floats."""
    plain = to_plain(value)
    if isinstance(plain, float) and plain.is_integer():
        return str(int(plain))
    return shorten(repr(plain))
