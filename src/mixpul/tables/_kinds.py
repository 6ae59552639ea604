"""What kind of values a column holds, and the values as arrays."""

import re
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from mixpul._util.printable import shorten
from mixpul.tables._dates import check_years, read_stamps
from mixpul.tables._numerals import PLAIN
from mixpul.tables._recognising import Found, read_texts, recognise
from mixpul.tables._words import TRUE_FALSE, is_gap

__all__ = [
    "Content",
    "as_days",
    "as_numbers",
    "code_categories",
    "count_texts",
    "find_kind",
    "look_at",
    "normalise_category",
    "read_content",
]

MICROSECONDS_OF_A_DAY = 86_400e6
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d.*)?$")


class Content(NamedTuple):
    """The values of a column as its kind has them, and how many there are.

    Text has the number of rows (`counts`) of each of its `texts`; other kinds have `numbers`, NaN
    where there is none. Where text stands for a number or a date, `style` says how it is read.
    """

    kind: str
    style: dict[str, Any] | None
    missing: float
    distinct: int
    numbers: NDArray[np.float64]
    counts: NDArray[np.intp]
    texts: list[str]


def find_kind(column: Any) -> str:
    """Return 'number', 'boolean', 'text', 'date', or 'other' for what is none of them."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return "text"
    by_dtype = {"b": "boolean", "i": "number", "u": "number", "f": "number", "M": "date"}
    by_dtype |= {"m": "number", "c": "other"}
    if (kind := getattr(column.dtype, "kind", "O")) in by_dtype:
        return by_dtype[kind]
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    # 'mixed-integer' is pandas' word for whole numbers among text.
    by_values = {"string": "text", "boolean": "boolean", "empty": "text", "mixed-integer": "text"}
    by_values |= dict.fromkeys(["integer", "floating", "mixed-integer-float", "decimal"], "number")
    by_values |= dict.fromkeys(["datetime64", "datetime", "date"], "date")
    by_values["time"] = "text"  # what pyarrow makes of 01:30:00
    if inferred == "mixed" and column.dropna().map(_is_cell).all():  # as sheets have them
        return "text"
    return by_values.get(inferred, "other")


def _is_cell(value: Any) -> bool:
    return isinstance(value, str | Number | Decimal | date | time | np.bool_)


def look_at(column: Any, order: str | None = None) -> Found:
    """Return the kind of a column, and how its text is read if it stands for something else.

    `order` is 'dmy' or 'mdy' where a user says how dates are written.
    """
    import pandas as pd

    kind = find_kind(column)
    # Who stores categories as such means them.
    if kind != "text" or isinstance(column.dtype, pd.CategoricalDtype):
        return Found(kind, None, "")
    return (
        Found("date", None, "") if holds_dates(column) else recognise(*count_texts(column), order)
    )


def count_texts(column: Any) -> tuple[list[str], NDArray[np.intp]]:
    """Return the texts of a column, and how many rows have each."""
    codes, texts = code_categories(column)
    # Categories may be there without a row of them.
    return texts, np.bincount(codes[codes >= 0], minlength=len(texts))


def read_content(column: Any, found: Found, name: str) -> Content:
    """Read a column as what was found."""
    nothing: NDArray[Any] = np.empty(0)
    kind, style, _ = found
    if kind == "other":
        return Content(kind, None, float(column.isna().mean()), 0, nothing, nothing, [])
    if kind == "text":
        texts, counts = count_texts(column)
        missing, distinct = float(column.isna().mean()), int((counts > 0).sum())
        return Content(kind, None, missing, distinct, nothing, counts, texts)
    numbers = as_numbers(column, kind, name, style)
    is_missing = np.isnan(numbers)
    distinct = len(np.unique(numbers[~is_missing]))
    return Content(kind, style, float(is_missing.mean()), distinct, numbers, nothing, [])


def holds_dates(column: Any) -> bool:
    """Whether all text is dates of ISO 8601, such as 2024-02-29 or 2024-02-29T12:30."""
    import pandas as pd

    texts = column.dropna().astype(object)
    # A quick look first. It also keeps out codes such as 2024, which pandas reads as a date.
    if texts.empty or not all(ISO_DATE.match(str(text)) for text in texts.iloc[:10]):
        return False
    return bool(pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce").notna().all())


def as_numbers(
    column: Any, kind: str, name: str, style: Mapping[str, Any] | None = None
) -> NDArray[np.float64]:
    """Return values as float64, NaN where there is none; dates as days since 1970.

    Text is read in the `style` that was found at fit, or as what the kind asks for; the first value
    that cannot be read so is named.
    """
    if kind == "date":
        return as_days(column, name, style)
    kind_here = find_kind(column)
    if kind_here in {"date", "other"} and column.notna().any():
        _refuse_value(name, kind, column[column.notna()].iloc[0])
    if getattr(column.dtype, "kind", "O") == "m":
        return column.dt.total_seconds().to_numpy(np.float64, na_value=np.nan)
    if kind_here == "text":
        return _read_column(column, kind, name, style or _choose_plain(kind))
    # A bare number among lengths of time is a number of their unit.
    unit = 1.0 if style is None else style.get("bare") or 1.0
    if unit == 1.0 and column.dtype == np.float64:
        return column.to_numpy()  # as it is; asked for gaps, pandas would copy it
    try:
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        return numbers if unit == 1.0 else numbers * unit
    except OverflowError:  # a whole number beyond 1e308
        return _read_column(column, kind, name, PLAIN) * unit


def _choose_plain(kind: str) -> Mapping[str, Any]:
    return TRUE_FALSE if kind == "boolean" else PLAIN


def _read_column(
    column: Any, kind: str, name: str, style: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Read text in a style; refuse what is neither value nor gap, unless such was there at fit."""
    codes, texts = code_categories(column)
    values, is_bad = read_texts(texts, style)
    if is_bad.any() and not style.get("lenient"):
        bad = np.append(is_bad, False)[codes]  # the last entry is that of code -1, a gap
        if bad.any():
            _refuse_value(name, kind, column.iloc[int(bad.argmax())])
    return np.append(values, np.nan)[codes]


def as_days(column: Any, name: str, style: Mapping[str, Any] | None = None) -> NDArray[np.float64]:
    """Return dates as days since 1970 in UTC, NaN where there is none."""
    kind_here = find_kind(column)
    if kind_here == "number" and style is not None and style["as"] in ("epoch", "compact"):
        return read_stamps(column.to_numpy(np.float64, na_value=np.nan), style)
    if kind_here not in {"date", "text"}:
        if column.isna().all():
            return np.full(len(column), np.nan)
        _refuse_value(name, "date", column[column.notna()].iloc[0])
    if getattr(column.dtype, "kind", "O") != "M":
        if style is not None and kind_here == "text":
            return _read_column(column, "date", name, style)
        column = _read_iso(column, name)
    if column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    check_years(column, name)
    # Not nanoseconds: those end in the year 2262.
    times = column.to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / MICROSECONDS_OF_A_DAY)


def _read_iso(column: Any, name: str) -> Any:
    """Read dates of ISO 8601."""
    import pandas as pd

    parsed = pd.to_datetime(column.astype(object), format="ISO8601", utc=True, errors="coerce")
    for k in np.flatnonzero((parsed.isna() & column.notna()).to_numpy()):
        if not is_gap(str(column.iloc[k])):
            _refuse_value(name, "date", column.iloc[k])
    return parsed


def _refuse_value(name: str, kind: str, value: Any) -> NoReturn:
    """Refuse a value that is not of the kind that its column had at fit."""
    expected = {"number": "numbers", "boolean": "true or false", "date": "dates (ISO 8601)"}[kind]
    raise ValueError(
        f"Column {name!r} held {expected} when TableInput was fitted, but now holds "
        f"{shorten(repr(value))}; correct such values, or leave them empty if they are missing."
    )


def code_categories(column: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Return a number per row, -1 where there is no value, and the text of each number."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, values = column.cat.codes.to_numpy().astype(np.intp), column.cat.categories
    else:
        codes, values = pd.factorize(column)
    return codes, [_write_category(value) for value in values]


def normalise_category(text: str) -> str:
    """Return the text that a category has if its column is read as numbers or booleans.

    A CSV file has codes such as 007, 1.0 or true. Without kinds they are read as numbers or
    booleans, whose texts are 7, 1 and True; with the kinds of a fitted `TableInput`, as text.
    """
    if text.strip().lower() in {"true", "false"}:
        return text.strip().capitalize()
    try:
        return _write_category(float(text))
    except ValueError:
        return text


def _write_category(value: Any) -> str:
    """Return the same text for 1, 1.0 and '1': files differ in how they store a code."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
