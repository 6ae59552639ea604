"""From a data frame to the float32 rows that networks take."""

import re
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mixpul._util.validation import Interval
from mixpul.tables._kinds import Content, find_kind, holds_dates, read_content
from mixpul.tables.frames import as_frame
from mixpul.tables.names import as_texts, check_present, check_unique
from mixpul.tables.plans import FILLERS, hint_at_numbers, make_plan

__all__ = ["TableInput"]

# Fewer rows cannot tell an id from a column whose values happen to differ.
ROWS_TO_SEE_AN_ID = 20

# Not every name that ends in id: paid and valid do, too.
ID_NAME = re.compile(
    r"(?i:(^|[\W_])(id|uuid|guid|key|index|rowid)($|[\W_]))|[a-z]I[dD]$"
    r"|(?i:(account|case|client|customer|order|patient|person|record|user)id$)"
)


class TableInput(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, booleans, text, dates and gaps into float32 rows.

    Numbers are standardised; those with heavy tails pass through arcsinh around their median first,
    and extremes are clipped. Booleans become 0 and 1. Text becomes one column per frequent
    category; rare categories, and at prediction new ones, share a column. Dates become
    days and points on the circles of the day, the week and the year. Gaps are filled with the
    median, and marked by a column of their own if there were any at fit. Columns that cannot help
    are left out: constant ones, ids, free text. What was done and why is in `report_`.

    Nothing is learned from labels. Columns are found by name: their order is free and columns
    that were not there at fit are ignored. Names are compared as text, so 1 and '1' are the same.

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
        Per column of the table its name (`column`), its `kind`, the share of `missing` values and
        the number of `distinct` values. Also whether it is `used`, a `note` that says how or why
        not, and the `features` it became. Plain values, ready for JSON.
    kinds_ : dict
        The used columns and their kinds, 'number', 'boolean', 'text' or 'date'; `read_table` and
        `stream_table` take it to read other files alike.
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
        names = as_texts(frame.columns)
        check_unique(names, "X")
        # scikit-learn keeps names only if all of them are text.
        named_frame = frame.set_axis(names, axis=1) if named else X
        validate_data(self, named_frame, reset=True, skip_check_array=True)
        for parameter in ("categorical", "keep", "drop"):
            check_present(getattr(self, parameter), names, f"{parameter}=: X")
        report, plans = [], []
        for j, name in enumerate(names):
            entry, plan = self._decide(name, frame.iloc[:, j], named)
            if plan is not None:
                plans.append({"column": name, "place": j, **plan})
                entry["features"] = [name + ending for ending in plan["endings"]]
            report.append(entry)
        if not plans:
            notes = "; ".join(f"{entry['column']!r}: {entry['note']}" for entry in report[:5])
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
        return {plan["column"]: plan["kind"] for plan in self.plan_}

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Turn rows of a table with the columns seen at fit into float32 rows.

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
        names = as_texts(frame.columns)
        by_name = hasattr(self, "feature_names_in_") and not isinstance(X, np.ndarray | list)
        if by_name:
            check_unique(names, "X")
            check_present(self.kinds_, names, "X")
        elif len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but TableInput is expecting {self.n_features_in_} "
                "features as input."
            )
        places = {name: j for j, name in enumerate(names)}
        # Zeros, because text writes only its ones.
        out = np.zeros((len(frame), sum(len(p["endings"]) for p in self.plan_)), dtype=np.float32)
        start = 0
        for plan in self.plan_:
            stop = start + len(plan["endings"])
            place = places[plan["column"]] if by_name else plan["place"]
            FILLERS[plan["kind"]](plan, frame.iloc[:, place], out[:, start:stop])
            start = stop
        return out

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

    def _decide(self, name: str, column: Any, named: bool) -> tuple[dict[str, Any], dict | None]:
        """Return what to say of a column, and how to turn it into features if it is used."""
        content = read_content(column, self._find_kind(name, column), name)
        entry = {
            "column": name,
            "kind": content.kind,
            "used": False,
            "features": [],
            "missing": content.missing,
            "distinct": content.distinct,
        }
        if reason := self._explain_omission(name, content, len(column), named):
            hint = hint_at_numbers(content.texts) if content.kind == "text" else ""
            return entry | {"note": reason + hint}, None
        plan, note = make_plan(content, len(column), self.max_categories)
        if not plan["endings"]:
            return entry | {"note": note}, None
        return entry | {"used": True, "note": note}, plan

    def _find_kind(self, name: str, column: Any) -> str:
        if name in as_texts(self.categorical):
            return "text"
        kind = find_kind(column)
        return "date" if kind == "text" and holds_dates(column) else kind

    def _explain_omission(
        self, name: str, content: Content, n_rows: int, named: bool
    ) -> str | None:
        """Return a reason to leave a column out, if there is one."""
        if content.kind == "other":
            return "neither numbers, booleans, text nor dates"
        if name in as_texts(self.drop):
            return "left out as asked"
        if content.distinct == 0:
            return "all values are missing"
        if content.distinct == 1 and content.missing == 0:
            return "constant"
        if not named or name in as_texts(self.keep):
            return None
        n_present = round(n_rows * (1 - content.missing))
        if n_present < ROWS_TO_SEE_AN_ID or content.distinct < n_present:
            return None
        if content.kind == "text" and name not in as_texts(self.categorical):
            return "looks like an id: another text in every row"
        if content.kind == "number":
            return _explain_id(name, content.numbers[~np.isnan(content.numbers)])
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _explain_id(name: str, numbers: NDArray[np.float64]) -> str | None:
    """Return why numbers that all differ look like an id, if they do."""
    if not (numbers == np.floor(numbers)).all():
        return None
    if np.ptp(numbers) == len(numbers) - 1:
        return "looks like an id: consecutive whole numbers"
    if ID_NAME.search(name):
        return "looks like an id: by its name, and another whole number in every row"
    return None
