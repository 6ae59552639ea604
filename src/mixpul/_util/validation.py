"""Checks of labels and rows, shared by classifiers, metrics and data sets.

This module is the only door to scikit-learn's private names.
"""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_finite",
    "check_labels_present",
    "check_length",
    "check_negative",
    "check_no_text",
    "check_scores",
    "check_size",
    "check_weights",
    "list_values",
    "name_columns",
    "split_labels",
    "write_recipe",
]

# Pairs of numbers of which everybody takes the larger one as positive; booleans are 0 and 1.
USUAL_PAIRS: list[set[Any]] = [{0, 1}, {-1, 1}]
# The square is just within float32; also above 64-bit integers, which hashes and ids are.
LARGEST = 1e19


def split_labels(y: ArrayLike, pos_label: Any = None) -> tuple[NDArray, NDArray[np.bool_]]:
    """Return the two label values, unlabeled first, and the mask of labeled positives.

    The larger value means "labeled positive" unless `pos_label` names the other one. Without
    `pos_label` a warning names the value taken, except for 0 and 1, -1 and 1, False and True.
    """
    # First: NaN would count as a third value, and None cannot be sorted.
    check_labels_present(y)
    labels: NDArray = column_or_1d(y, warn=True)
    if labels.dtype == object:  # e.g. a column of Python integers
        labels = np.array(labels.tolist())
    check_classification_targets(labels)
    values = np.unique(labels)
    if len(values) > 2:
        # scikit-learn's checks look for the first two sentences.
        raise ValueError(
            "Only binary classification is supported. "
            f"The type of the target is {type_of_target(labels)}. "
            "PU labels are two values (labeled positive, unlabeled); "
            f"y has {len(values)}: {list_values(values)}."
        )
    if pos_label is not None and pos_label not in values:
        raise ValueError(
            f"pos_label={pos_label!r} is not among the labels in y: {list_values(values)}."
        )
    if len(values) < 2:
        raise ValueError(
            "PU learning needs labeled positives and unlabeled rows; "
            f"y has one class only: {list_values(values)}."
        )
    if pos_label is None:
        if sentence := _doubt_larger(values):
            warnings.warn(sentence, UserWarning, stacklevel=3)
    elif pos_label == values[0]:
        values = values[::-1].copy()
    return values, np.asarray(labels == values[1])


def check_negative(negative: ArrayLike | None, is_positive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the mask of verified negatives; without any, none of the rows is one."""
    if negative is None:
        return np.zeros(len(is_positive), dtype=bool)
    mask = np.asarray(negative)
    if mask.dtype != bool:
        # pandas keeps a nullable column of booleans as objects.
        if mask.dtype != object or not all(isinstance(one, bool | np.bool_) for one in mask.flat):
            raise ValueError(
                "negative must be a mask: True for each row that was verified as negative, False "
                f"for all others; got {mask.dtype} values. Of row numbers make a mask with "
                "numpy.isin(numpy.arange(len(X)), rows)."
            )
        mask = mask.astype(bool)
    if mask.shape != is_positive.shape:
        raise ValueError(
            f"negative must have one entry for each of the {len(is_positive)} rows; got an array "
            f"of shape {mask.shape}."
        )
    if both := int((mask & is_positive).sum()):
        raise ValueError(
            f"{both} row{'s are' if both > 1 else ' is'} labeled positive in y and marked as "
            "negative, too; a row can be only one of them."
        )
    if not (~is_positive & ~mask).any():
        raise ValueError(
            "PU learning needs unlabeled rows, but all rows are labeled positive or marked as "
            "negative; an ordinary classifier learns from such rows."
        )
    return mask


def check_weights(
    sample_weight: ArrayLike | None, is_positive: NDArray[np.bool_], is_negative: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """Return weights with a mean of 1 in each kind of rows; None if each kind has equal ones.

    The kinds are labeled positives, verified negatives and unlabeled rows: how much one kind counts
    beside another is up to the method.
    """
    if sample_weight is None:
        return None
    weights: NDArray[np.float64] = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:  # one number for all rows
        weights = np.full(len(is_positive), float(weights))
    if weights.shape != is_positive.shape:
        raise ValueError(
            f"sample_weight must have one entry for each of the {len(is_positive)} rows; got an "
            f"array of shape {weights.shape}."
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("sample_weight must hold finite numbers that are not negative.")
    kinds = {
        "labeled positive": is_positive,
        "unlabeled row": ~is_positive & ~is_negative,
        "verified negative": is_negative,
    }
    if all(np.ptp(weights[kind]) == 0 for kind in kinds.values() if kind.any()) and weights.all():
        return None
    relative = np.ones(len(weights))
    for name, kind in kinds.items():
        if not kind.any():
            continue
        if not weights[kind].any():
            raise ValueError(
                "PU learning needs rows of both classes, labeled positive and unlabeled, but the "
                f"sample_weight of every {name} is zero; give some of them a weight above zero."
            )
        relative[kind] = weights[kind] / weights[kind].mean()
    return relative


def _doubt_larger(values: NDArray) -> str | None:
    """Return a warning if the larger of two labels need not be the positive one."""
    if set(values.tolist()) in USUAL_PAIRS:
        return None
    is_text = values.dtype.kind not in "biuf"
    return (
        f"y holds the {'text ' * is_text}labels {list_values(values)}; {list_values(values[1:])} "
        f"is taken as the labeled positive because it {'sorts last' if is_text else 'is larger'}. "
        "Say which one it is with pos_label=."
    )


def check_scores(
    scores: ArrayLike,
    is_positive: NDArray[np.bool_] | None = None,
    name: str = "scores",
    *,
    least: int = 0,
    finite: bool = False,
) -> NDArray[np.float64]:
    """Return scores as numbers, one for each label if there are labels, and none of them NaN.

    Infinite scores can be ranked; what computes with their values asks for `finite` ones.
    """
    numbers: NDArray[np.float64] = column_or_1d(scores, dtype=np.float64)
    if is_positive is not None:
        check_length(numbers, is_positive, name)
    if len(numbers) < least:
        raise ValueError(f"{name} must hold at least {least} scores; got {len(numbers)}.")
    n_bad = int((~np.isfinite(numbers) if finite else np.isnan(numbers)).sum())
    if n_bad:
        kind, use = ("NaN or infinity", "used") if finite else ("NaN", "ranked")
        raise ValueError(
            f"{name} has {kind} in {n_bad} of {len(numbers)} rows, which cannot be {use}; "
            "look for NaN or infinity in the model or its input."
        )
    return numbers


def check_length(values: NDArray, is_positive: NDArray[np.bool_], name: str) -> None:
    """Refuse values of which there are more or fewer than labels."""
    if len(values) != len(is_positive):
        raise ValueError(
            f"Labels and {name} must have one entry per row; "
            f"there are {len(is_positive)} labels and {len(values)} {name}."
        )


def check_labels_present(y: Any) -> None:
    """Refuse missing labels: NaN, None and pandas' NA."""
    labels = np.asarray(y)
    if labels.dtype.kind == "f":
        n_missing = int(np.isnan(labels).sum())
    elif labels.dtype.kind == "O":
        n_missing = sum(map(_is_missing, labels.ravel()))
    else:
        return
    if n_missing:
        raise ValueError(
            f"y is missing (NaN or None) in {n_missing} rows; PU labels are two values, e.g. "
            "1 = labeled positive, 0 = unlabeled. If a missing label means unlabeled, fill it in."
        )


def check_no_text(X: Any) -> None:
    """Refuse columns of text or dates by name; scikit-learn would show one value at best."""
    if isinstance(X, list):
        X = np.asarray(X, dtype=object)
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        kinds = {c: getattr(d, "kind", "O") for c, d in zip(X.columns, X.dtypes, strict=True)}
        dates = [c for c, kind in kinds.items() if kind in "mM"]
        # A column of objects may hold numbers, so its values decide.
        texts = [
            c for c, kind in kinds.items()
            if kind in "OSUT" and _holds_text(np.asarray(X[c], dtype=object))
        ]  # fmt: skip
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OSUTmM":
        dates = list(range(X.shape[1])) if X.dtype.kind in "mM" else []
        texts = [] if dates else [j for j in range(X.shape[1]) if _holds_text(X[:, j])]
    else:
        return
    if texts:
        raise ValueError(
            f"X has text in {name_columns(texts)}; encode it as numbers first, "
            "e.g. with sklearn.preprocessing.OneHotEncoder in a ColumnTransformer."
        )
    if dates:
        raise ValueError(
            f"X has dates or durations in {name_columns(dates)}; turn them into numbers first, "
            "e.g. days since a fixed date."
        )


def check_finite(X: Any, names: NDArray | None = None) -> None:
    """Refuse NaN and infinity, naming the columns that hold them."""
    if sparse.issparse(X):
        bad_values = ~np.isfinite(X.data)
        if not bad_values.any():
            return
        coordinates = X.tocoo()
        bad_columns = np.unique(coordinates.col[bad_values])
        has_nan = np.isnan(X.data).any()
    else:
        # One pass that allocates nothing: NaN and infinity survive a sum.
        with np.errstate(invalid="ignore", over="ignore"):
            if np.isfinite(X.sum()):
                return
        # The sum of large finite values may overflow as well, so look at each.
        is_bad = ~np.isfinite(X)
        if not is_bad.any():
            return
        bad_columns = np.flatnonzero(is_bad.any(axis=tuple(i for i in range(X.ndim) if i != 1)))
        has_nan = np.isnan(X).any()
    kind = "NaN" if has_nan else "infinity (inf), or a value too large for float32,"
    columns = [names[j] if names is not None else int(j) for j in bad_columns]
    raise ValueError(
        f"X contains {kind} in {name_columns(columns)}; drop or impute such values first, "
        "e.g. with sklearn.impute.SimpleImputer."
    )


def check_size(X: Any, names: NDArray | None = None) -> None:
    """Refuse values whose squares are beyond float32, naming the columns that hold them."""
    values = X.data if sparse.issparse(X) else X
    if not values.size or max(float(values.max()), -float(values.min())) <= LARGEST:
        return
    rows = X.tocsc() if sparse.issparse(X) else X
    columns = [
        names[j] if names is not None else j
        for j in range(X.shape[1])
        if abs(rows[:, [j]]).max() > LARGEST
    ]
    raise ValueError(
        f"X has values beyond {LARGEST:g} in {name_columns(columns)}; learning computes with "
        "squares, which would overflow. Rescale such columns first, e.g. by their logarithm or "
        "with sklearn.preprocessing.QuantileTransformer."
    )


def _is_missing(value: Any) -> bool:
    # pandas' markers are known by name, because pandas is optional.
    is_nan = isinstance(value, float | np.floating) and bool(np.isnan(value))
    return value is None or is_nan or type(value).__name__ in {"NAType", "NaTType"}


def _holds_text(column: NDArray) -> bool:
    """Whether any value is text that is not a number; scikit-learn reads "1.5" as a number."""
    for value in column:
        if isinstance(value, str | bytes):
            try:
                float(value)
            except ValueError:
                return True
    return False


def list_values(values: Iterable[Any], most: int = 5) -> str:
    """Return the first few values for a sentence, numpy's numbers as plain ones."""
    items = list(values)
    shown = [_show(v.item() if isinstance(v, np.generic) else v) for v in items[:most]]
    return ", ".join(shown) + (", ..." if len(items) > most else "")


def name_columns(columns: list, most: int = 5) -> str:
    """Return the first few columns for a sentence, and how many more there are."""
    listed = ", ".join(_show(c) for c in columns[:most])
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return f"column{'s' if len(columns) > 1 else ''} {listed}{more}"


def _show(value: Any, most: int = 100) -> str:
    """Return a value for a sentence; a name may be as long as a page."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def write_recipe(model: BaseEstimator) -> str:
    """Return the class and all parameters as text, the same for equal ones.

    Parameters that are None are left out: a new parameter leaves the text of old models as it was.
    """
    params = model.get_params(deep=False)
    # With the defaults of parts: a changed default must change the text.
    with config_context(print_changed_only=False):
        set_ones = [
            f"{k}={_write_value(params[k])}" for k in sorted(params) if params[k] is not None
        ]
    # On one line: scikit-learn breaks long texts where they happen to be full.
    return " ".join(f"{type(model).__name__}({', '.join(set_ones)})".split())


def _write_value(value: Any) -> str:
    """Return functions and classes by name: their own text holds an address in memory."""
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)
