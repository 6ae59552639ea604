"""Columns that give the label away: as a whole, or by one value or range of values."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from mixpul._util.printable import shorten
from mixpul._util.validation import split_labels
from mixpul.metrics.ranking import pu_auc
from mixpul.tables._kinds import as_numbers, code_categories, look_at
from mixpul.tables._recognising import Found
from mixpul.tables.frames import as_frame

__all__ = ["Leak", "Pattern", "leaks"]

SUSPICIOUS_AUC = 0.99
N_BINS = 50  # ranges of a number's values, each judged by its share of labeled rows
# A pattern is looked at if it holds this share of the labeled rows, and hardly any unlabeled one
# if this share of its rows is labeled.
LEAST_HELD, LEAST_PURE = 0.2, 0.9
# Where at most this share of the positives is labeled, rows of an honest pattern are labeled no
# more often. Patterns that this could explain are not named, with this error over all of them.
MOST_LABELED, ERROR = 0.5, 0.05


class Pattern(NamedTuple):
    """Rows that have something in common in one column, and how many of them are labeled.

    Attributes
    ----------
    text : str
        What they have in common: "is filled in", "is 'closed'", "is above 40".
    n_labeled, n_unlabeled : int
        Rows of either kind that have it.
    """

    text: str
    n_labeled: int
    n_unlabeled: int


class Leak(NamedTuple):
    """A column that gives the label away; as text, a warning.

    Attributes
    ----------
    column : str
    pu_auc : float
        Share of pairs of a labeled and an unlabeled row that this column alone puts in order.
    pattern : Pattern or None
        What holds many labeled rows and hardly any unlabeled one; None if only the column as a
        whole tells them apart.
    n_labeled, n_unlabeled : int
        Rows of either kind in the table.
    """

    column: str
    pu_auc: float
    pattern: Pattern | None = None
    n_labeled: int = 0
    n_unlabeled: int = 0

    def __str__(self) -> str:
        found = []
        if self.pu_auc > SUSPICIOUS_AUC:
            found.append(f"alone tells labeled from unlabeled rows (PU-AUC {self.pu_auc:.3f})")
        if self.pattern is not None:
            text, n_labeled, n_unlabeled = self.pattern
            found.append(
                f"{text} for {n_labeled:,} of {self.n_labeled:,} labeled rows and for "
                f"{n_unlabeled:,} of {self.n_unlabeled:,} unlabeled ones"
            )
        return (
            f"Column {self.column!r} {', and '.join(found)}. If that comes about after the label "
            "is known, or because of it, PU-AUC and recall look better than they are, and the "
            "scores will be worthless on new rows, which do not have it yet. Then leave the "
            "column out: "
            f"--drop {self.column!r}, or TableInput(drop=[{self.column!r}])."
        )


def leaks(X: Any, is_positive: ArrayLike) -> list[Leak]:
    """Find columns that give the label away, as a whole or by a single pattern.

    A column as a whole is suspicious if its PU-AUC is above 0.99, in either direction, by its
    values, by ranges of them, by categories or by being missing. Unlabeled rows hold hidden
    positives, so no honest column exceeds ``1 - prior / 2``.

    A pattern is a value, a gap, any value at all, or all values above or below some number. It is
    suspicious if it holds a fifth of the labeled rows, and nine tenths of its rows are labeled.
    Where at most half of the positives are labeled, rows of an honest pattern are labeled no more
    often than that. So patterns with too few rows to rule this out (binomial test, 5 % error over
    all patterns of the table) are not named.

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
    >>> amount = np.where(np.arange(300) < 25, np.arange(300) + 9.9, np.nan)
    >>> table = pd.DataFrame({"age": np.arange(300) % 70, "refund": amount})
    >>> for leak in leaks(table, refunded):
    ...     print(leak.column, *leak.pattern)
    refund is filled in 25 0
    """
    frame = as_frame(X)
    _, positive = split_labels(is_positive)
    n_labeled, n_unlabeled = int(positive.sum()), int((~positive).sum())
    columns = [frame.iloc[:, j] for j in range(len(frame.columns))]
    found_as = [look_at(column) for column in columns]
    patterns = [
        list(_list_patterns(column, kind, positive))
        for column, kind in zip(columns, found_as, strict=True)
    ]
    # Scans have tried one threshold per labeled row, and any of them could have been named.
    n_tried = sum(n for one in patterns for _, n in one)
    found = []
    for column, kind, own in zip(columns, found_as, patterns, strict=True):
        auc = _measure_separation(column, kind, positive)
        pattern = _choose_pattern([p for p, _ in own], n_labeled, n_tried)
        if auc > SUSPICIOUS_AUC or pattern is not None:
            found.append(Leak(str(column.name), auc, pattern, n_labeled, n_unlabeled))
    return sorted(found, key=lambda leak: -leak.pu_auc)


def _choose_pattern(patterns: list[Pattern], n_labeled: int, n_tried: int) -> Pattern | None:
    """Return the pattern with the most labeled rows of those that cannot be honest."""
    suspicious = [
        pattern
        for pattern in patterns
        if pattern.n_labeled >= LEAST_HELD * n_labeled
        and pattern.n_labeled >= LEAST_PURE * (pattern.n_labeled + pattern.n_unlabeled)
        and n_tried * _test_honest(pattern) < ERROR
    ]
    # Of equal ones the first: that a value is there at all says more than which one it is.
    return max(suspicious, key=lambda pattern: pattern.n_labeled, default=None)


def _test_honest(pattern: Pattern) -> float:
    """Return how likely so many labeled rows are if half of the rows of a pattern are labeled."""
    n_rows = pattern.n_labeled + pattern.n_unlabeled
    return float(binom.sf(pattern.n_labeled - 1, n_rows, MOST_LABELED))


def _list_patterns(
    column: Any, found: Found, is_positive: NDArray[np.bool_]
) -> Iterator[tuple[Pattern, int]]:
    """Yield patterns of a column, each with how many were tried to find it."""
    kind, style, _ = found
    is_read = kind not in ("text", "other")
    numbers = as_numbers(column, kind, str(column.name), style) if is_read else np.empty(0)
    missing = np.isnan(numbers) if is_read else column.isna().to_numpy()
    if missing.any():
        yield _count("is filled in", ~missing, is_positive), 1
        yield _count("is missing", missing, is_positive), 1
    if kind == "other":
        return
    if kind == "text":
        codes, texts = code_categories(column)
        yield from _count_values(
            codes, [f"is {shorten(repr(text))}" for text in texts], is_positive
        )
        return
    values, codes = np.unique(numbers, return_inverse=True)
    codes = np.where(np.isnan(numbers), -1, codes)
    # NaN comes last; it is nobody's value, and a date cannot be made of it.
    texts = [_write_number(value, kind) for value in values[~np.isnan(values)]]
    yield from _count_values(codes, [f"is {text}" for text in texts], is_positive)
    if kind != "boolean":
        yield from _scan_ends(numbers, kind, is_positive)


def _count(text: str, has: NDArray[np.bool_], is_positive: NDArray[np.bool_]) -> Pattern:
    return Pattern(text, int((has & is_positive).sum()), int((has & ~is_positive).sum()))


def _count_values(
    codes: NDArray[np.intp], texts: list[str], is_positive: NDArray[np.bool_]
) -> Iterator[tuple[Pattern, int]]:
    """Count the rows of each value; values in too few rows to be named do not count as tried."""
    kinds = (is_positive, ~is_positive)
    labeled, unlabeled = (
        np.bincount(codes[kind & (codes >= 0)], minlength=len(texts)) for kind in kinds
    )
    least = LEAST_HELD * is_positive.sum()
    for k in np.flatnonzero(labeled + unlabeled >= least):
        yield Pattern(texts[k], int(labeled[k]), int(unlabeled[k])), 1


def _scan_ends(
    numbers: NDArray[np.float64], kind: str, is_positive: NDArray[np.bool_]
) -> Iterator[tuple[Pattern, int]]:
    """Find how far labeled rows reach beyond the unlabeled ones, at either end."""
    is_known = ~np.isnan(numbers)
    for sign, word in ((1.0, "above"), (-1.0, "below")):
        labeled, unlabeled = (
            np.sort(sign * numbers[is_known & rows]) for rows in (is_positive, ~is_positive)
        )
        if not len(labeled) or not len(unlabeled):
            return  # that it is filled in, or not, says it all
        # Between values: at each distinct one of the unlabeled rows.
        edges = np.unique(unlabeled)
        n_labeled = len(labeled) - np.searchsorted(labeled, edges, "right")
        n_unlabeled = len(unlabeled) - np.searchsorted(unlabeled, edges, "right")
        is_pure = n_labeled >= LEAST_PURE * (n_labeled + n_unlabeled)
        # Beyond the last edge there is no unlabeled row, so at least that one is pure.
        best = n_labeled == n_labeled[is_pure].max()
        k = int(np.flatnonzero(is_pure & best)[-1])
        text = f"is {word} {_write_number(sign * edges[k], kind)}"
        yield Pattern(text, int(n_labeled[k]), int(n_unlabeled[k])), int(is_positive.sum())


def _write_number(value: float, kind: str) -> str:
    if kind == "boolean":
        return str(bool(value)).lower()
    if kind == "date":
        return str(np.datetime64(0, "s") + np.timedelta64(round(86_400 * value), "s")).replace(
            "T00:00:00", ""
        )
    return f"{value:g}"


def _measure_separation(column: Any, found: Found, is_positive: NDArray[np.bool_]) -> float:
    """Return the highest PU-AUC of this column in one of several readings."""
    kind, style, _ = found
    aucs = [pu_auc(is_positive, column.isna().to_numpy().astype(float))]
    if kind == "text":
        aucs.append(_rank_by_code(code_categories(column)[0], is_positive))
    elif kind != "other":
        values = as_numbers(column, kind, str(column.name), style)
        missing = np.isnan(values)
        aucs.append(pu_auc(is_positive, missing.astype(float)))
        if not missing.all():
            # A gap may rank below all values, or above them.
            aucs += [
                pu_auc(is_positive, np.where(missing, end, values)) for end in (-np.inf, np.inf)
            ]
            # Labeled rows may fill a range in the middle, which no order of the values shows.
            edges = np.unique(np.quantile(values[~missing], np.linspace(0, 1, N_BINS + 1)[1:-1]))
            bins = np.where(missing, -1, np.searchsorted(edges, values))
            aucs.append(_rank_by_code(bins, is_positive))
    return float(max(max(auc, 1 - auc) for auc in aucs))


def _rank_by_code(codes: NDArray[np.intp], is_positive: NDArray[np.bool_]) -> float:
    """Return the PU-AUC of ranking rows by the share of labeled rows that have their code.

    The shares are counted on one half of the rows and rank the other: a code that comes once would
    otherwise separate perfectly.
    """
    scores = np.empty(len(codes))
    # Every other row of each kind, so that both halves have positives.
    half = np.empty(len(codes), dtype=bool)
    for kind in (is_positive, ~is_positive):
        half[kind] = np.arange(kind.sum()) % 2 == 0
    overall = is_positive.mean()
    for part in (half, ~half):
        # One up, because a missing value has the code -1.
        n_rows = np.bincount(codes[~part] + 1, minlength=codes.max() + 2)
        n_labeled = np.bincount(codes[~part & is_positive] + 1, minlength=codes.max() + 2)
        # Drawn to the overall share, which is all that is known of a code the other half lacks.
        scores[part] = ((n_labeled + overall) / (n_rows + 1))[codes[part] + 1]
    return pu_auc(is_positive, scores)
