"""The label column of a table, and columns that give it away."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixpul._util.validation import split_labels
from mixpul.metrics.ranking import pu_auc
from mixpul.tables._kinds import as_numbers, category_codes, kind_of
from mixpul.tables.frames import as_frame
from mixpul.tables.names import check_present

__all__ = ["Label", "Leak", "leaks", "split_label", "which_is_positive"]

# Below this, results depend on which rows happen to be labeled.
FEW_POSITIVES = 20
POSITIVE_WORDS = {"1", "yes", "y", "true", "t", "positive", "pos", "labeled", "labelled", "known"}
OTHER_WORDS = {"0", "-1", "no", "n", "false", "f", "negative", "neg", "unlabeled", "unlabelled"}
OTHER_WORDS |= {"unknown"}

SUSPICIOUS_AUC = 0.99
N_BINS = 50


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


class Leak(NamedTuple):
    """A column that tells labeled from unlabeled rows all but perfectly; as text, a warning.

    Attributes
    ----------
    column : str
    pu_auc : float
        Share of pairs of a labeled and an unlabeled row that this column alone puts in order.
    """

    column: str
    pu_auc: float

    def __str__(self) -> str:
        return (
            f"Column {self.column!r} alone tells labeled from unlabeled rows (PU-AUC "
            f"{self.pu_auc:.3f}): if it is filled in after the label is known, or because of it, "
            "drop it, or the scores will be worthless on new rows."
        )


def split_label(
    table: Any, label: str, *, positive: Any = None, missing_is_unlabeled: bool = False
) -> Label:
    """Take the label column out of a table and find the rows labeled positive.

    Parameters
    ----------
    table : pandas.DataFrame
    label : str
        Name of the column with the PU labels, two values.
    positive : optional
        The value that means labeled positive, as a value or as text (``"1"`` finds 1). By default
        the larger number, True, or one of words such as yes and no; other text has to be named.
    missing_is_unlabeled : bool, default=False
        Whether a missing label means unlabeled; else it is an error.

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
    check_present([label], [str(name) for name in frame.columns], "The table")
    column = frame[label]
    is_missing = column.isna().to_numpy()
    values = list(column[~is_missing].unique())
    where = f"The label column {label!r}"
    if not values or len(values) > 2:
        raise ValueError(_not_two(where, values, len(column), bool(is_missing.any())))
    if is_missing.any() and not missing_is_unlabeled:
        raise ValueError(
            f"{where} is missing in {is_missing.sum()} of {len(column)} rows; if that means "
            "unlabeled, say so with missing_is_unlabeled (--missing-is-unlabeled), else remove "
            "these rows."
        )
    n_values = len(values) + bool(is_missing.any())
    if n_values != 2:
        raise ValueError(_not_two(where, values, len(column), bool(is_missing.any())))
    if len(values) == 1 and positive is None:
        positive_value = values[0]
    else:
        positive_value = which_is_positive(where, values, positive)
    is_positive = (column == positive_value).fillna(False).to_numpy(dtype=bool)
    if is_positive.sum() < FEW_POSITIVES:
        warnings.warn(
            f"{where} has {is_positive.sum()} labeled positives; results will depend on "
            f"which ones they are. Label at least {FEW_POSITIVES}, better dozens more.",
            UserWarning,
            stacklevel=2,
        )
    return Label(frame.drop(columns=label), is_positive, _plain(positive_value))


def leaks(X: Any, is_positive: ArrayLike) -> list[Leak]:
    """Find columns that alone separate labeled from unlabeled rows.

    A column is suspicious if its PU-AUC is above 0.99, in either direction, by its values, by
    ranges of them, by categories or by being missing. Unlabeled rows hold hidden positives, so no
    honest column gets beyond ``1 - prior / 2``.

    Parameters
    ----------
    X : data frame, Arrow table or array
    is_positive : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.

    Returns
    -------
    list of Leak
        The worst first.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mixpul.tables import leaks
    >>> refunded = np.arange(300) < 40
    >>> amount = np.where(refunded, 9.9, np.nan)
    >>> table = pd.DataFrame({"age": np.arange(300) % 70, "refund": amount})
    >>> [(leak.column, leak.pu_auc) for leak in leaks(table, refunded)]
    [('refund', 1.0)]
    """
    frame = as_frame(X)
    _, positive = split_labels(is_positive)
    found = [
        Leak(str(name), _separation(frame.iloc[:, j], positive))
        for j, name in enumerate(frame.columns)
    ]
    found = [leak for leak in found if leak.pu_auc > SUSPICIOUS_AUC]
    return sorted(found, key=lambda leak: -leak.pu_auc)


def _separation(column: Any, is_positive: NDArray[np.bool_]) -> float:
    """The highest PU-AUC that this column gives in one of several readings."""
    kind = kind_of(column)
    aucs = [pu_auc(is_positive, column.isna().to_numpy().astype(float))]
    if kind == "text":
        aucs.append(_auc_of_codes(category_codes(column)[0], is_positive))
    elif kind != "other":
        values = as_numbers(column, kind, str(column.name))
        missing = np.isnan(values)
        if not missing.all():
            aucs += [
                pu_auc(is_positive, np.where(missing, end, values)) for end in (-np.inf, np.inf)
            ]
            edges = np.unique(np.quantile(values[~missing], np.linspace(0, 1, N_BINS + 1)[1:-1]))
            bins = np.where(missing, -1, np.searchsorted(edges, values))
            aucs.append(_auc_of_codes(bins, is_positive))
    return float(max(max(auc, 1 - auc) for auc in aucs))


def _auc_of_codes(codes: NDArray[np.intp], is_positive: NDArray[np.bool_]) -> float:
    """PU-AUC of the share of labeled rows per code, counted on other rows than those it ranks."""
    scores = np.empty(len(codes))
    # Every other row of each kind, so that both halves have positives.
    half = np.empty(len(codes), dtype=bool)
    for kind in (is_positive, ~is_positive):
        half[kind] = np.arange(kind.sum()) % 2 == 0
    overall = is_positive.mean()
    for part in (half, ~half):
        n_rows = np.bincount(codes[~part] + 1, minlength=codes.max() + 2)
        n_labeled = np.bincount(codes[~part & is_positive] + 1, minlength=codes.max() + 2)
        scores[part] = ((n_labeled + overall) / (n_rows + 1))[codes[part] + 1]
    return pu_auc(is_positive, scores)


def _not_two(where: str, values: list, n_rows: int, some_missing: bool) -> str:
    if not values:
        return f"{where} is missing in all {n_rows} rows; it should say which are labeled positive."
    shown = ", ".join(map(_shown, values[:5]))
    shown += ", ..." if len(values) > 5 else ""
    if len(values) == 1:
        return (
            f"{where} is {shown} in all {n_rows} rows; PU learning needs labeled positives "
            "and unlabeled rows, so add rows of the other kind."
        )
    gaps = " and gaps" if some_missing else ""
    return (
        f"{where} has {len(values)} values{gaps} ({shown}); PU labels are two, labeled positive "
        "and unlabeled: make a column that says which rows are known positives."
    )


def which_is_positive(
    where: str, values: list, positive: Any, option: str = "positive= (--positive)"
) -> Any:
    """The value that means positive: the one named, the larger number, or a word such as yes."""
    shown = " and ".join(map(_shown, values))
    plural = "s" if len(values) > 1 else ""
    if positive is not None:
        matches = [value for value in values if _same(value, positive)]
        if len(matches) != 1:
            raise ValueError(
                f"{where} has the value{plural} {shown}, but the positive one was said to be "
                f"{positive!r}; name one that it has with {option}."
            )
        return matches[0]
    if not any(isinstance(value, str) for value in values):
        return max(values)
    texts = {str(value).strip().lower(): value for value in values}
    yes, no = texts.keys() & POSITIVE_WORDS, texts.keys() & OTHER_WORDS
    if len(yes) == len(no) == 1:
        return texts[yes.pop()]
    raise ValueError(
        f"{where} has the value{plural} {shown}; say which one means positive with {option}."
    )


def _same(value: Any, wanted: Any) -> bool:
    """Whether `wanted`, which may be text from a command line, means `value`."""
    if isinstance(value, str | bool | np.bool_):
        return str(value).lower() == str(wanted).lower() or value == wanted
    try:
        return float(value) == float(wanted)
    except (TypeError, ValueError):
        return str(value) == str(wanted)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _shown(value: Any) -> str:
    """A label as it looks in a file: whole numbers may have been read as floats."""
    plain = _plain(value)
    return str(int(plain)) if isinstance(plain, float) and plain.is_integer() else repr(plain)
