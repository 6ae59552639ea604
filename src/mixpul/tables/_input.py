"""From a data frame to the float32 rows that networks take."""

import re
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mixpul._util.printable import shorten
from mixpul._util.validation import Interval, StrOptions
from mixpul.tables._dates import ORDERS, find_epoch, say_dates
from mixpul.tables._kinds import (
    Content,
    as_numbers,
    count_texts,
    find_kind,
    look_at,
    read_content,
)
from mixpul.tables._reading import ROWS_PER_BATCH
from mixpul.tables._recognising import Found, insist, settle_orders
from mixpul.tables.frames import as_frame, take_numbers
from mixpul.tables.names import as_texts, check_present, check_unique
from mixpul.tables.plans import FILLERS, make_plan, shares_words

__all__ = ["TableInput"]

# Fewer rows cannot tell an id from a column whose values happen to differ.
ROWS_TO_SEE_AN_ID = 20

# The kinds that a column may be asked to be.
ASKED = ("number", "category", "date", "text")

# Not every name that ends in id: paid and valid do, too.
ID_NAME = re.compile(
    r"(?i:(^|[\W_])(id|uuid|guid|key|index|rowid)($|[\W_]))|[a-z]I[dD]$"
    r"|(?i:(^|[\W_])(no|nr|number|nummer)$)|[a-z](Number|Nummer|Nr|No)$"
    r"|(?i:(account|case|client|customer|order|patient|person|record|user)id$)"
)


class TableInput(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, booleans, text, dates and gaps into float32 rows.

    Text that stands for something else is read as such: money, percent, numbers with separators or
    units, lengths of time, yes and no, dates. How is decided over the whole column.

    Numbers are standardised; those with heavy tails pass through arcsinh around their median first,
    and extremes are clipped. Booleans become 0 and 1. Text becomes one column per frequent
    category; rare categories, and at prediction new ones, share a column. Free text, and columns
    with many rare categories, become a few numbers by their words and letters. Dates become
    days and points on the circles of the day, the week and the year. Gaps are filled with the
    median, and marked by a column of their own if there were any at fit. Columns that cannot help
    are left out: constant ones and ids. What was done and why is in `report_`.

    Nothing is learned from labels. Columns are found by name: their order is free and columns
    that were not there at fit are ignored. Names are compared as text, so 1 and '1' are the same.

    Parameters
    ----------
    max_categories : int, default=30
        Most categories of a text column that get a column of their own.
    categorical : sequence of str, default=()
        The former name of `category`.
    keep : sequence of str, default=()
        Columns to use even if they look like ids.
    drop : sequence of str, default=()
        Columns to leave out.
    number, category, date, text : sequence of str, default=()
        Columns to be taken as numbers, as categories (such as codes), as dates or as free text,
        whatever they look like. Cells that are no number or no date are gaps then.
    date_order : {'day-first', 'month-first', 'year-first'}, optional
        How dates such as 04/03/2018 are written. By default a day above 12 in the same column
        tells, or in another column; else the month comes first before a slash, and the day before a
        point or a dash.

    Attributes
    ----------
    report_ : list of dict
        Per column of the table its name (`column`), its `kind`, the share of `missing` values and
        the number of `distinct` values. Also what its text was `read_as`, whether it is `used`, a
        `note` that says how or why not, the parameter that would keep it (`kept_by`), and the
        `features` it became. Plain values, ready for JSON.
    kinds_ : dict
        The used columns and how a file has them: 'number', 'boolean', 'text' or 'date';
        `read_table` and `stream_table` take it to read other files alike. Money is 'text': how
        that becomes a number is in `plan_`.
    plan_ : list of dict
        Per used column the numbers and categories that `transform` works with.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Unless `X` was an array.

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
        **{asked: ["array-like"] for asked in ASKED},
        "date_order": [StrOptions(set(ORDERS)), None],
    }

    def __init__(
        self,
        *,
        max_categories: int = 30,
        categorical: Sequence[str] = (),
        keep: Sequence[str] = (),
        drop: Sequence[str] = (),
        number: Sequence[str] = (),
        category: Sequence[str] = (),
        date: Sequence[str] = (),
        text: Sequence[str] = (),
        date_order: str | None = None,
    ) -> None:
        self.max_categories = max_categories
        self.categorical = categorical
        self.keep = keep
        self.drop = drop
        self.number = number
        self.category = category
        self.date = date
        self.text = text
        self.date_order = date_order

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
        names = as_texts(frame.columns)
        check_unique(names, "X")
        # scikit-learn keeps names only if all of them are text.
        named_frame = frame.set_axis(names, axis=1) if named else X
        validate_data(self, named_frame, reset=True, skip_check_array=True)
        for parameter in ("categorical", "keep", "drop", *ASKED):
            check_present(getattr(self, parameter), names, f"{parameter}=: X")
        asked = self._list_asked()
        columns = {name: frame.iloc[:, j] for j, name in enumerate(names)}
        found = settle_orders(
            {name: self._look(name, own, asked.get(name), named) for name, own in columns.items()}
        )
        report, plans = [], []
        for j, name in enumerate(names):
            entry, plan = self._decide(name, columns[name], found[name], asked.get(name), named)
            if plan is not None:
                plans.append({"column": name, "place": j, **plan})
                entry["features"] = [name + ending for ending in plan["endings"]]
            report.append(entry)
        if not plans:
            notes = "; ".join(
                f"{shorten(repr(entry['column']))}: {shorten(entry['note'], 200)}"
                for entry in report[:5]
            )
            raise ValueError(
                f"X has no column to learn from ({notes or 'it has none at all'}); add some, or "
                "name those to use anyway in keep."
            )
        self.report_, self.plan_ = report, plans
        return self

    @property
    def kinds_(self) -> dict[str, str]:
        """The used columns and their kinds."""
        check_is_fitted(self)
        # A style reads text, whatever that stands for.
        return {p["column"]: "text" if "style" in p else p["kind"] for p in self.plan_}

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Turn rows of a table with the columns seen at fit into float32 rows.

        Parameters
        ----------
        X : data frame, Arrow table or record batch, or array
            A frame must have the used columns by name; an array must have all, in the same order.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In memory row by row, or column by column if there are few rows.
        """
        columns, n_rows = self._take_columns(X)
        n_features = sum(len(plan["endings"]) for plan in self.plan_)
        # Zeros where there is text, which writes only its ones.
        make = np.zeros if any(plan["kind"] == "text" for plan in self.plan_) else np.empty
        # A batch is filled column by column, which is quicker; of a whole table there would be two
        # copies for a while.
        out = (
            make((n_features, n_rows), dtype=np.float32).T
            if n_rows <= ROWS_PER_BATCH
            else make((n_rows, n_features), dtype=np.float32)
        )
        start = 0
        for plan, column in zip(self.plan_, columns, strict=True):
            stop = start + len(plan["endings"])
            FILLERS[plan["kind"]](plan, column, out[:, start:stop])
            start = stop
        return out

    def _take_columns(self, X: Any) -> tuple[list[Any], int]:
        """Return the used columns in their order, plain numbers as arrays, and the number of rows.

        Numbers of a record batch stay where they are: a data frame of them takes longer than to
        standardise them.
        """
        check_is_fitted(self)
        by_name = hasattr(self, "feature_names_in_") and not isinstance(X, np.ndarray | list)
        numbers = take_numbers(X) if by_name else {}
        if all(_is_plain(plan) and plan["column"] in numbers for plan in self.plan_):
            check_unique(X.schema.names, "X")
            return [numbers[plan["column"]] for plan in self.plan_], X.num_rows
        frame = as_frame(X)
        names = as_texts(frame.columns)
        if by_name:
            check_unique(names, "X")
            check_present(self.kinds_, names, "X")
        elif len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but TableInput is expecting {self.n_features_in_} "
                "features as input."
            )
        places = {name: j for j, name in enumerate(names)}
        # All at once: to ask for them by place, one by one, takes longer than to read them.
        every = [column for _, column in frame.items()]
        columns = [every[places[p["column"]] if by_name else p["place"]] for p in self.plan_]
        for number, (plan, column) in enumerate(zip(self.plan_, columns, strict=True)):
            if (
                _is_plain(plan)
                and isinstance(column.dtype, np.dtype)
                and column.dtype.kind in "iuf"
            ):
                columns[number] = column.to_numpy()
        return columns, len(frame)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Return the names of the columns that `transform` returns."""
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
        """Return those of `names` that were not in the table at fit; `transform` ignores them."""
        check_is_fitted(self)
        known = {entry["column"] for entry in self.report_}
        return [name for name in names if str(name) not in known]

    def _list_asked(self) -> dict[str, str]:
        """Return what each column is asked to be; refuse two things at once."""
        by_name: dict[str, str] = dict.fromkeys(as_texts(self.categorical), "category")
        for asked in (*ASKED, "drop"):
            for name in as_texts(getattr(self, asked)):
                if by_name.get(name, asked) != asked:
                    # Since `drop` came first: to leave out codes is to leave out a column.
                    if asked == "drop" and name in as_texts(self.categorical):
                        continue
                    raise ValueError(
                        f"Column {name!r} is named in both {by_name[name]} and {asked} "
                        f"(--{by_name[name]}, --{asked}); it can be one of them."
                    )
                by_name[name] = asked
        return {name: asked for name, asked in by_name.items() if asked != "drop"}

    def _look(self, name: str, column: Any, asked: str | None, named: bool) -> Found:
        """Return what a column stands for: what it looks like, or what it is asked to be."""
        order = None if self.date_order is None else ORDERS[self.date_order]
        if name in as_texts(self.drop):
            return Found(find_kind(column), None, "")
        if asked in ("category", "text"):
            return Found("other" if find_kind(column) == "other" else "text", None, "")
        found = look_at(column, order)
        if asked is not None:
            return _insist(asked, name, column, found, order)
        if found.kind == "number" and found.style is None and named:
            numbers = as_numbers(column, "number", name)
            if (style := find_epoch(name, numbers, asked=False)) is not None:
                return Found("date", style, say_dates(style))
        return found

    def _decide(
        self, name: str, column: Any, found: Found, asked: str | None, named: bool
    ) -> tuple[dict[str, Any], dict | None]:
        """Return what to say of a column, and how to turn it into features if it is used."""
        content = read_content(column, found, name)
        entry = {
            "column": name,
            "kind": content.kind,
            "used": False,
            "features": [],
            "missing": content.missing,
            "distinct": content.distinct,
            "read_as": found.said,
            "kept_by": None,
        }
        if reason := self._explain_omission(name, content, asked):
            return entry | {"note": reason}, None
        is_unique = _is_unique(content, len(column))
        is_text = content.kind == "text" and is_unique and shares_words(content.texts)
        if asked is None and named and is_unique and name not in as_texts(self.keep):
            reason = None if is_text else _explain_id(name, content)
            if reason is not None:
                kept_by = "category" if content.kind == "text" else content.kind
                return entry | {"note": reason, "kept_by": kept_by}, None
        as_words = asked == "text" or (asked is None and is_text)
        plan, note = make_plan(content, len(column), self.max_categories, as_words=as_words)
        if found.said:
            note = f"{found.said}: {note}"
        if not plan["endings"]:
            return entry | {"note": note}, None
        return entry | {"used": True, "note": note}, plan

    def _explain_omission(self, name: str, content: Content, asked: str | None) -> str | None:
        """Return why a column cannot be used, if so."""
        if content.kind == "other":
            return "neither numbers, booleans, text nor dates"
        if name in as_texts(self.drop):
            return "left out as asked"
        if content.distinct == 0:
            return "all values are missing"
        if content.distinct == 1 and content.missing == 0:
            return "constant"
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _insist(asked: str, name: str, column: Any, found: Found, order: str | None) -> Found:
    """Read a column as the numbers or dates that it is asked to be, or say that it has none."""
    kind = find_kind(column)
    if found.kind == asked and found.style is None:
        return found
    if asked == "number" and kind in ("number", "boolean"):
        return Found("number", None, "")
    if asked == "date" and kind == "number":
        style = find_epoch(name, as_numbers(column, "number", name), asked=True)
        if style is not None:
            return Found("date", style, say_dates(style))
    if kind == "text" and (insisted := insist(asked, *count_texts(column), order)) is not None:
        return insisted
    first = column[column.notna()].iloc[:1].tolist()
    came = f"such as {shorten(repr(first[0]))}" if first else "only gaps"
    what = {"number": "a number", "date": "a date"}[asked]
    raise ValueError(
        f"{asked}=: no cell of column {name!r} can be read as {what} ({came}); leave it out of "
        f"{asked} (--{asked})."
    )


def _is_plain(plan: Mapping[str, Any]) -> bool:
    """Whether a plan takes numbers as they are."""
    return plan["kind"] == "number" and "style" not in plan


def _is_unique(content: Content, n_rows: int) -> bool:
    """Whether every row has another value, and there are enough to tell."""
    n_present = round(n_rows * (1 - content.missing))
    return n_present >= ROWS_TO_SEE_AN_ID and content.distinct >= n_present


def _explain_id(name: str, content: Content) -> str | None:
    """Return why values that all differ look like an id, if they do."""
    if content.kind == "text":
        return "looks like an id: another text in every row"
    numbers = content.numbers[~np.isnan(content.numbers)]
    if content.kind != "number" or not (numbers == np.floor(numbers)).all():
        return None
    if np.ptp(numbers) == len(numbers) - 1:
        return "looks like an id: consecutive whole numbers"
    if ID_NAME.search(name):
        return "looks like an id: by its name, and another whole number in every row"
    return None
