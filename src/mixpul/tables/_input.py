"""From a data frame to the float32 rows that networks take."""

import re
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from mixpul._validation import Interval
from mixpul.tables._reading import arrow_frame, check_present, check_unique, import_tables

__all__ = ["TableInput", "as_frame", "as_numbers", "category_codes", "kind_of"]

# Of a normal distribution the 99.5 % point lies 4 times as far from the median as the upper
# quartile, of an exponential one 7 times, of a lognormal one 13 times.
HEAVY_TAIL = 10.0
# Values are cut off this many times as far from the median as the 99.5 % point.
REACH = 3.0
# Fewer rows cannot tell an id from a column whose values happen to differ.
ROWS_TO_SEE_AN_ID = 20
# A category in fewer rows than this joins the others (in fewer than 1 % if there are few rows).
ROWS_OF_A_CATEGORY = 10
# Text is free text if all categories worth a column together cover less than this share of it.
LEAST_COVER = 0.1

ID_NAME = re.compile(r"(^|[\W_])(id|uuid|guid|key|index|rowid)($|[\W_])|[a-z]I[dD]$", re.IGNORECASE)
CYCLES = {"day": 1.0, "week": 7.0, "year": 365.2425}  # in days
MISSING = "=(missing)"
MICROSECONDS_OF_A_DAY = 86_400e6


class TableInput(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, booleans, text, dates and gaps into float32 rows.

    Numbers are standardised; those with heavy tails pass through arcsinh around their median first,
    and extremes are cut off. Booleans become 0 and 1. Text becomes one column per frequent
    category; rare categories, and at prediction new ones, share a column. Dates become
    days and points on the circles of the day, the week and the year. Gaps are filled with the
    median, and marked by a column of their own if there were any at fit. Columns that cannot help
    are left out: constant ones, ids, free text. What was done and why is in `report_`.

    Nothing is learned from labels. Columns are found by name: their order is free and columns
    that were not there at fit are ignored.

    Parameters
    ----------
    max_categories : int, default=30
        Most categories of a text column that get a column of their own.
    categorical : sequence of str, default=()
        Columns of numbers that are codes, to be treated as text.
    keep : sequence of str, default=()
        Columns to use even if they look like ids or free text.
    drop : sequence of str, default=()
        Columns to leave out.

    Attributes
    ----------
    report_ : list of dict
        Per column of the table its name (`column`), its `kind`, the share of `missing` values, the
        number of `distinct` values, whether it is `used`, a `note` that says how or why not, and
        the `features` it became. Plain values, ready for JSON.
    kinds_ : dict
        The used columns and their kinds, 'number', 'boolean', 'text' or 'date'; `read_table` and
        `stream_table` take it to read other files alike.
    plan_ : list of dict
        Per used column the numbers and categories that `transform` works with.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If the table has column names.

    Examples
    --------
    >>> import pandas as pd
    >>> from mixpul.tables import TableInput
    >>> table = pd.DataFrame({"age": [20.0, 40.0, None], "city": ["Rome", "Oslo", "Rome"]})
    >>> rows = TableInput().fit(table)
    >>> rows.get_feature_names_out().tolist()
    ['age', 'age=(missing)', 'city=Rome', 'city=Oslo']
    >>> rows.transform(table)
    array([[-1.,  0.,  1.,  0.],
           [ 1.,  0.,  0.,  1.],
           [ 0.,  1.,  1.,  0.]], dtype=float32)
    """

    _parameter_constraints: dict = {
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "categorical": ["array-like"],
        "keep": ["array-like"],
        "drop": ["array-like"],
    }

    def __init__(
        self,
        *,
        max_categories: int = 30,
        categorical: Sequence[str] = (),
        keep: Sequence[str] = (),
        drop: Sequence[str] = (),
    ) -> None:
        self.max_categories = max_categories
        self.categorical = categorical
        self.keep = keep
        self.drop = drop

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what becomes of each column.

        Parameters
        ----------
        X : data frame, Arrow table or array of shape (n_samples, n_columns)
            Frames of other libraries are taken if they speak Arrow, as polars' do.
        y : ignored

        Returns
        -------
        self
        """
        self._validate_params()
        frame = as_frame(X, least_rows=2)
        # Arrays have no names to tell an id by, and their users know what is in them.
        named = not isinstance(X, np.ndarray | list)
        names = [str(name) for name in frame.columns]
        check_unique(names, "X")
        validate_data(self, frame if named else X, reset=True, skip_check_array=True)
        for parameter in ("categorical", "keep", "drop"):
            check_present(list(getattr(self, parameter)), names, f"{parameter}=: X")
        report, plans = [], []
        for j, name in enumerate(names):
            entry, plan = self._decide(name, frame.iloc[:, j], named)
            if plan is not None:
                plans.append({"column": name, "place": j, **plan})
                entry["features"] = [name + ending for ending in plan["endings"]]
            report.append(entry)
        if not plans:
            notes = "; ".join(f"{entry['column']!r}: {entry['note']}" for entry in report[:5])
            raise ValueError(f"X has no column to learn from ({notes}).")
        self.report_, self.plan_ = report, plans
        return self

    @property
    def kinds_(self) -> dict[str, str]:
        """The used columns and their kinds."""
        check_is_fitted(self)
        return {plan["column"]: plan["kind"] for plan in self.plan_}

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Turn rows of a table like the one seen at fit into float32 rows.

        Parameters
        ----------
        X : data frame, Arrow table or record batch, or array
            A frame must have the used columns by name; an array must have all, in the same order.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        frame = as_frame(X)
        names = [str(name) for name in frame.columns]
        by_name = hasattr(self, "feature_names_in_") and not isinstance(X, np.ndarray | list)
        if by_name:
            check_unique(names, "X")
            check_present(list(self.kinds_), names, "X")
        elif len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but TableInput is expecting {self.n_features_in_} "
                "features as input."
            )
        places = {name: j for j, name in enumerate(names)}
        out = np.zeros((len(frame), sum(len(p["endings"]) for p in self.plan_)), dtype=np.float32)
        start = 0
        for plan in self.plan_:
            stop = start + len(plan["endings"])
            place = places[plan["column"]] if by_name else plan["place"]
            FILLERS[plan["kind"]](plan, frame.iloc[:, place], out[:, start:stop])
            start = stop
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names of the columns that `transform` gives."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            if names is not None and list(input_features) != list(names):
                raise ValueError("input_features is not equal to feature_names_in_.")
            if len(input_features) != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(input_features)}."
                )
            names = input_features
        return np.array(
            [
                (plan["column"] if names is None else str(names[plan["place"]])) + ending
                for plan in self.plan_
                for ending in plan["endings"]
            ],
            dtype=object,
        )

    def extra_columns(self, names: Sequence[str]) -> list[str]:
        """Those of `names` that were not in the table at fit; `transform` ignores them."""
        check_is_fitted(self)
        known = {entry["column"] for entry in self.report_}
        return [name for name in names if name not in known]

    def _decide(self, name: str, column: Any, named: bool) -> tuple[dict[str, Any], dict | None]:
        """What to say of a column, and how to turn it into features if it is used."""
        kind = "text" if name in set(self.categorical) else kind_of(column)
        entry: dict[str, Any] = {"column": name, "kind": kind, "used": False, "features": []}
        entry |= {"missing": float(column.isna().mean()), "distinct": 0}
        if kind == "other":
            entry["note"] = "neither numbers, booleans, text nor dates"
            return entry, None
        if kind == "text":
            codes, texts = category_codes(column)
            counts = np.bincount(codes[codes >= 0], minlength=len(texts))
            entry["distinct"] = int((counts > 0).sum())
        else:
            values = as_numbers(column, kind, name)
            entry["missing"] = float(np.isnan(values).mean())
            entry["distinct"] = len(np.unique(values[~np.isnan(values)]))
        if reason := self._why_not(entry, column, named):
            entry["note"] = reason + (_number_hint(texts) if kind == "text" else "")
            return entry, None
        if entry["distinct"] == 1:  # and gaps: whether there is a value is all it tells
            entry |= {"used": True, "note": "one value only; used as missing or not"}
            return entry, {"kind": kind, "endings": [MISSING], "marked": True, "only_mark": True}
        if kind == "text":
            plan, note = _text_plan(counts, texts, len(column), self.max_categories)
        elif kind == "date":
            plan, note = _date_plan(values, entry["distinct"])
        elif kind == "number":
            plan, note = _number_plan(values, entry["distinct"])
        else:
            plan, note = {"endings": [""], "fill": float(np.nanmedian(values))}, "0 and 1"
        if not plan["endings"]:
            entry["note"] = note
            return entry, None
        marked = entry["missing"] > 0
        if marked:
            plan["endings"].append(MISSING)
            note += ", missing values marked" if kind == "text" else ", gaps filled and marked"
        return entry | {"used": True, "note": note}, {
            "kind": kind, "marked": marked, "only_mark": False, **plan
        }  # fmt: skip

    def _why_not(self, entry: dict[str, Any], column: Any, named: bool) -> str | None:
        """A reason to leave a column out, if there is one."""
        if entry["column"] in set(self.drop):
            return "left out as asked"
        if entry["distinct"] == 0:
            return "all values are missing"
        if entry["distinct"] == 1 and entry["missing"] == 0:
            return "constant"
        if not named or entry["column"] in set(self.keep):
            return None
        n_present = round(len(column) * (1 - entry["missing"]))
        if n_present < ROWS_TO_SEE_AN_ID or entry["distinct"] < n_present:
            return None
        if entry["kind"] == "text" and entry["column"] not in set(self.categorical):
            return "looks like an id: another text in every row"
        if entry["kind"] == "number":
            values = as_numbers(column, "number", entry["column"])
            values = values[~np.isnan(values)]
            whole = bool((values == np.floor(values)).all())
            if whole and np.ptp(values) == len(values) - 1:
                return "looks like an id: consecutive whole numbers"
            if whole and ID_NAME.search(entry["column"]):
                return "looks like an id: by its name, and another whole number in every row"
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


# -- columns as arrays ----------------------------------------------------------------------


def as_frame(X: Any, least_rows: int = 1) -> Any:
    """A data frame of whatever holds a table."""
    import_tables()
    import pandas as pd
    import pyarrow as pa

    if isinstance(X, pd.DataFrame):
        frame = X
    elif isinstance(X, pa.RecordBatch | pa.Table):
        frame = arrow_frame(X, views=True)
    elif hasattr(X, "__arrow_c_stream__"):
        frame = arrow_frame(pa.table(X), views=True)
    elif sparse.issparse(X):
        raise TypeError("TableInput takes tables, not sparse matrices; those need no preparation.")
    else:
        array = check_array(
            X, dtype=None, ensure_all_finite=False, ensure_min_samples=least_rows, input_name="X"
        )
        frame = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])
    if len(frame) < least_rows:
        raise ValueError(
            f"X has {len(frame)} sample(s); a minimum of {least_rows} is required by TableInput."
        )
    return frame


def kind_of(column: Any) -> str:
    """'number', 'boolean', 'text', 'date', or 'other' for what is none of them."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return "text"
    by_dtype = {"b": "boolean", "i": "number", "u": "number", "f": "number", "M": "date"}
    by_dtype |= {"m": "number", "c": "other"}
    if (kind := getattr(column.dtype, "kind", "O")) in by_dtype:
        return by_dtype[kind]
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    by_values = {"string": "text", "boolean": "boolean", "empty": "text", "mixed-integer": "text"}
    by_values |= dict.fromkeys(["integer", "floating", "mixed-integer-float", "decimal"], "number")
    by_values |= dict.fromkeys(["datetime64", "datetime", "date"], "date")
    return by_values.get(inferred, "other")


def as_numbers(column: Any, kind: str, name: str) -> NDArray[np.float64]:
    """Values as float64, NaN where there is none; dates as days since 1970.

    Text is read as what the kind asks for; the first value that cannot be is named.
    """
    import pandas as pd

    if kind == "date":
        return _as_days(column, name)
    kind_here = kind_of(column)
    if kind_here in {"date", "other"} and column.notna().any():
        _unlike(name, kind, column[column.notna()].iloc[0])
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
        _unlike(name, kind, values.iloc[int(bad.argmax())])
    return numbers.to_numpy(np.float64, na_value=np.nan)


def _as_days(column: Any, name: str) -> NDArray[np.float64]:
    import pandas as pd

    kind_here = kind_of(column)
    if kind_here not in {"date", "text"}:
        if column.isna().all():
            return np.full(len(column), np.nan)
        _unlike(name, "date", column[column.notna()].iloc[0])
    if getattr(column.dtype, "kind", "O") != "M":
        parsed = pd.to_datetime(column.astype(object), format="ISO8601", utc=True, errors="coerce")
        bad = (parsed.isna() & column.notna()).to_numpy()
        if bad.any():
            _unlike(name, "date", column.iloc[int(bad.argmax())])
        column = parsed
    if column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    times = column.to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / MICROSECONDS_OF_A_DAY)


def _unlike(name: str, kind: str, value: Any) -> None:
    expected = {"number": "numbers", "boolean": "true or false", "date": "dates (ISO 8601)"}[kind]
    raise ValueError(
        f"Column {name!r} held {expected} when TableInput was fitted, but now holds {value!r}; "
        "correct such values, or leave them empty if they are missing."
    )


def category_codes(column: Any) -> tuple[NDArray[np.intp], list[str]]:
    """A number per row, -1 where there is no value, and the text of each number."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, values = column.cat.codes.to_numpy().astype(np.intp), column.cat.categories
    else:
        codes, values = pd.factorize(column)
    return codes, [_category_text(value) for value in values]


def _category_text(value: Any) -> str:
    """The same text for 1, 1.0 and '1': files differ in how they store a code."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


# -- numbers --------------------------------------------------------------------------------


def _number_plan(values: NDArray[np.float64], n_distinct: int) -> tuple[dict[str, Any], str]:
    """Centre and scale of a column, on a logarithmic scale if its tails are heavy."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return {"endings": []}, "no finite values"
    plan: dict[str, Any] = {"endings": [""], "bend": None}
    if n_distinct > 2 and _is_heavy(finite):
        plan["bend"] = _centre_and_spread(finite)
    bent = _bent(finite, plan["bend"])
    low, middle, high = np.quantile(bent, [0.005, 0.5, 0.995])
    plan["low"] = float(middle - REACH * (middle - low) if low < middle else bent.min())
    plan["high"] = float(middle + REACH * (high - middle) if high > middle else bent.max())
    cut = np.clip(bent, plan["low"], plan["high"])
    plan["mean"], plan["scale"] = float(cut.mean()), float(cut.std()) or 1.0
    plan["fill"] = float(middle)
    return plan, "standardised" + (" on a logarithmic scale (heavy tails)" if plan["bend"] else "")


def _centre_and_spread(values: NDArray[np.float64]) -> list[float]:
    """Median, and how far values typically are from it; if most are equal, how far the others."""
    centre = float(np.median(values))
    distances = np.abs(values - centre)
    spread = float(np.median(distances)) or float(np.median(distances[distances > 0]))
    return [centre, spread]


def _is_heavy(values: NDArray[np.float64]) -> bool:
    """Whether the 99.5 % point is far out, measured by the quartile, on either side."""
    low, lower, middle, upper, high = np.quantile(values, [0.005, 0.25, 0.5, 0.75, 0.995])
    sides = [(middle - low, middle - lower), (high - middle, upper - middle)]
    return any(far > HEAVY_TAIL * near for far, near in sides)


def _bent(values: NDArray[np.float64], bend: list[float] | None) -> NDArray[np.float64]:
    """A copy of `values`; with `bend` linear near the centre and logarithmic far from it."""
    if bend is None:
        return values.copy()
    centre, spread = bend
    bent = values - centre
    bent /= spread
    return np.arcsinh(bent, out=bent)


def _standardised(plan: dict[str, Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
    bent = _bent(values, plan["bend"])
    np.clip(bent, plan["low"], plan["high"], out=bent)
    if np.isnan(bent.sum()):  # one quick pass; gaps are rare
        bent[np.isnan(bent)] = plan["fill"]
    bent -= plan["mean"]
    bent /= plan["scale"]
    return bent


def _fill_numbers(plan: dict[str, Any], column: Any, out: NDArray[np.float32]) -> None:
    values = as_numbers(column, plan["kind"], plan["column"])
    if plan["marked"]:
        out[:, -1] = np.isnan(values)
    if not plan["only_mark"]:
        out[:, 0] = _standardised(plan, values)


def _fill_booleans(plan: dict[str, Any], column: Any, out: NDArray[np.float32]) -> None:
    values = as_numbers(column, plan["kind"], plan["column"])
    if plan["marked"]:
        out[:, -1] = np.isnan(values)
    if not plan["only_mark"]:
        out[:, 0] = np.where(np.isnan(values), plan["fill"], values != 0)


# -- dates ----------------------------------------------------------------------------------


def _date_plan(days: NDArray[np.float64], n_distinct: int) -> tuple[dict[str, Any], str]:
    """Days as a number, and the cycles that the dates run through."""
    plan, _ = _number_plan(days, n_distinct)
    present = days[~np.isnan(days)]
    has_hours = bool((present != np.floor(present)).any())
    plan["cycles"] = [
        name
        for name, length in CYCLES.items()
        if np.ptp(present) >= length and (name != "day" or has_hours)
    ]
    plan["endings"] += [f"_{name}_{part}" for name in plan["cycles"] for part in ("sin", "cos")]
    seen = f", and the time of {' and '.join(plan['cycles'])}" if plan["cycles"] else ""
    return plan, f"days, standardised{seen}"


def _fill_dates(plan: dict[str, Any], column: Any, out: NDArray[np.float32]) -> None:
    days = _as_days(column, plan["column"])
    missing = np.isnan(days)
    if plan["marked"]:
        out[:, -1] = missing
    if plan["only_mark"]:
        return
    out[:, 0] = _standardised(plan, days)
    for k, name in enumerate(plan["cycles"]):
        angle = np.where(missing, 0.0, days) * (2 * np.pi / CYCLES[name])
        # The middle of the circle is no time at all.
        out[:, 1 + 2 * k] = np.where(missing, 0.0, np.sin(angle))
        out[:, 2 + 2 * k] = np.where(missing, 0.0, np.cos(angle))


# -- text -----------------------------------------------------------------------------------


def _text_plan(
    counts: NDArray[np.intp], texts: list[str], n_rows: int, max_categories: int
) -> tuple[dict[str, Any], str]:
    """The categories worth a column each, most frequent first, and whether others are left."""
    least = max(1, min(ROWS_OF_A_CATEGORY, n_rows // 100))
    total: dict[str, int] = {}
    for text, count in zip(texts, counts, strict=True):
        total[text] = total.get(text, 0) + int(count)
    order = sorted((t for t in total if total[t]), key=lambda text: (-total[text], text))
    kept = [text for text in order if total[text] >= least][:max_categories]
    covered = sum(total[text] for text in kept) / sum(total.values())
    if covered < LEAST_COVER:
        note = "free text: hardly any value comes more than a few times"
        return {"endings": []}, note + _number_hint(texts)
    n_other = len(order) - len(kept)
    endings = [f"={text}" for text in kept] + (["=(other)"] if n_other else [])
    note = f"one column for each of {len(kept)} categories"
    note += f", one for {n_other} rare ones" if n_other else ""
    return {"endings": endings, "categories": kept, "has_other": n_other > 0}, note


def _number_hint(texts: list[str]) -> str:
    """What to say of text that would be numbers but for a few words, such as "unknown"."""
    import pandas as pd

    is_number = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").notna()
    if not 0.5 < is_number.mean() < 1:
        return ""
    word = texts[int((~is_number).to_numpy().argmax())]
    return f"; most are numbers, but not {word!r}: if that is a missing value, tell read_table"


def _fill_text(plan: dict[str, Any], column: Any, out: NDArray[np.float32]) -> None:
    codes, texts = category_codes(column)
    if plan["marked"]:
        out[:, -1] = codes < 0
    if plan["only_mark"]:
        return
    slots = {text: k for k, text in enumerate(plan["categories"])}
    other = len(slots) if plan["has_other"] else -1
    # The last entry is that of code -1, a missing value.
    slot_of_code = np.array([slots.get(text, other) for text in texts] + [-1], dtype=np.intp)
    slot = slot_of_code[codes]
    rows = np.flatnonzero(slot >= 0)
    out[rows, slot[rows]] = 1


FILLERS = {
    "number": _fill_numbers,
    "boolean": _fill_booleans,
    "date": _fill_dates,
    "text": _fill_text,
}
