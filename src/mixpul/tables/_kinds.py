"""What kind of values a column holds, and the values as arrays."""

import re
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Content",
    "as_days",
    "as_numbers",
    "code_categories",
    "find_kind",
    "holds_dates",
    "normalise_category",
    "read_content",
]

MICROSECONDS_OF_A_DAY = 86_400e6
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d.*)?$")


class Content(NamedTuple):
    """The values of a column as its kind has them, and how many there are.

    Text has the number of rows (`counts`) of each of its `texts`; other kinds have `numbers`, NaN
    where there is none.
    """

    kind: str
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
    return by_values.get(inferred, "other")


def read_content(column: Any, kind: str, name: str) -> Content:
    """Read a column as what its kind says."""
    nothing: NDArray[Any] = np.empty(0)
    if kind == "other":
        return Content(kind, float(column.isna().mean()), 0, nothing, nothing, [])
    if kind == "text":
        codes, texts = code_categories(column)
        # Categories may be there without a row of them.
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        distinct = int((counts > 0).sum())
        return Content(kind, float(column.isna().mean()), distinct, nothing, counts, texts)
    numbers = as_numbers(column, kind, name)
    is_missing = np.isnan(numbers)
    distinct = len(np.unique(numbers[~is_missing]))
    return Content(kind, float(is_missing.mean()), distinct, numbers, nothing, [])


def holds_dates(column: Any) -> bool:
    """Whether all text is dates of ISO 8601, such as 2024-02-29 or 2024-02-29T12:30."""
    import pandas as pd

    texts = column.dropna().astype(object)
    # A quick look first. It also keeps out codes such as 2024, which pandas reads as a date.
    if texts.empty or not all(ISO_DATE.match(str(text)) for text in texts.iloc[:10]):
        return False
    return bool(pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce").notna().all())


def as_numbers(column: Any, kind: str, name: str) -> NDArray[np.float64]:
    """Return values as float64, NaN where there is none; dates as days since 1970.

    Text is read as what the kind asks for; the first value that cannot be read so is named.
    """
    import pandas as pd

    if kind == "date":
        return as_days(column, name)
    kind_here = find_kind(column)
    if kind_here in {"date", "other"} and column.notna().any():
        _refuse_value(name, kind, column[column.notna()].iloc[0])
    if getattr(column.dtype, "kind", "O") == "m":
        return column.dt.total_seconds().to_numpy(np.float64, na_value=np.nan)
    if kind_here != "text":
        return column.to_numpy(np.float64, na_value=np.nan)
    words = {"true": 1.0, "false": 0.0} if kind == "boolean" else {}
    values = column.astype(object)
    numbers = pd.to_numeric(values, errors="coerce")
    if words:
        numbers = numbers.fillna(values.astype(str).str.lower().map(words))
    bad = (numbers.isna() & values.notna()).to_numpy()
    if bad.any():
        _refuse_value(name, kind, values.iloc[int(bad.argmax())])
    return numbers.to_numpy(np.float64, na_value=np.nan)


def as_days(column: Any, name: str) -> NDArray[np.float64]:
    """Return dates as days since 1970 in UTC, NaN where there is none."""
    import pandas as pd

    kind_here = find_kind(column)
    if kind_here not in {"date", "text"}:
        if column.isna().all():
            return np.full(len(column), np.nan)
        _refuse_value(name, "date", column[column.notna()].iloc[0])
    if getattr(column.dtype, "kind", "O") != "M":
        parsed = pd.to_datetime(column.astype(object), format="ISO8601", utc=True, errors="coerce")
        bad = (parsed.isna() & column.notna()).to_numpy()
        if bad.any():
            _refuse_value(name, "date", column.iloc[int(bad.argmax())])
        column = parsed
    if column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    # Not nanoseconds: those end in the year 2262.
    times = column.to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / MICROSECONDS_OF_A_DAY)


def _refuse_value(name: str, kind: str, value: Any) -> NoReturn:
    """Refuse a value that is not of the kind that its column had at fit."""
    expected = {"number": "numbers", "boolean": "true or false", "date": "dates (ISO 8601)"}[kind]
    raise ValueError(
        f"Column {name!r} held {expected} when TableInput was fitted, but now holds {value!r}; "
        "correct such values, or leave them empty if they are missing."
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
