"""Kinds of rows by their label, told before all labels are known."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import TableError
from mixpul.tables.labels import check_two, find_positive, means

__all__ = ["Design", "Kind", "code_kinds", "sort_kinds"]

# What a row is, and which label it has if that alone does not tell yet.
Kind = tuple[str, Any]
# Labels have two values; of a few more all are shown in the refusal.
MOST_VALUES = 20


class Design(NamedTuple):
    """What a sample depends on, apart from the table.

    Attributes
    ----------
    max_rows : int
        Most rows to keep.
    label : str
        Name of the label column.
    seed : int
    positive, negative : optional
        Its values that mean labeled positive and verified negative; see `split_label`.
    missing_is_unlabeled : bool
        Whether a missing label means unlabeled; otherwise it is an error.
    """

    max_rows: int
    label: str
    seed: int = 0
    positive: Any = None
    negative: Any = None
    missing_is_unlabeled: bool = False


def code_kinds(
    labels: Any, design: Design, decimal: str
) -> Iterator[tuple[Kind, NDArray[np.intp]]]:
    """Yield the kinds of rows in a batch, and the rows of each."""
    import pyarrow as pa

    if pa.types.is_dictionary(labels.type):
        labels = labels.cast(labels.type.value_type)
    try:
        coded = labels.dictionary_encode()
    except pa.ArrowException as error:
        raise TableError(
            f"The label column {design.label!r} holds {labels.type}; numbers, text or true and "
            "false were expected."
        ) from error
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    kinds = [_find_kind(_read(v, decimal), design) for v in coded.dictionary.to_pylist()]
    kinds.append(("missing", None))
    codes = coded.indices.fill_null(len(kinds) - 1).to_numpy(zero_copy_only=False)
    # 1 and 1.0 are the same label.
    different = {kind: k for k, kind in enumerate(dict.fromkeys(kinds))}
    _refuse_many(different, design)
    merged = np.array([different[kind] for kind in kinds])[codes]
    for kind, k in different.items():
        if len(chosen := np.flatnonzero(merged == k)):
            yield kind, chosen


def _refuse_many(kinds: Iterable[Kind], design: Design) -> None:
    """Refuse a column of too many values at once: rows of each of them would be held."""
    values = list_values(kinds)
    if len(values) > MOST_VALUES:
        where = f"The label column {design.label!r}"
        check_two(where, values, 0, len(values), design.missing_is_unlabeled, False)


def _read(value: Any, decimal: str) -> Any:
    """Return a label as it is once its column has a type: text that is a number is that number."""
    if isinstance(value, str):
        try:
            value = float(value.replace(decimal, "."))
        except ValueError:
            return value
    # A number that is not one is a gap; it differs from itself.
    return None if value != value else value


def _find_kind(value: Any, design: Design) -> Kind:
    if value is None:
        return "missing", None
    if design.negative is not None and means(value, design.negative):
        return "negative", None
    if design.positive is None:
        return "value", value
    return ("positive" if means(value, design.positive) else "unlabeled"), None


def sort_kinds(counts: Mapping[Kind, int], design: Design) -> dict[str, list[Kind]]:
    """Return which kinds are labeled positive, verified negative and unlabeled."""
    where = f"The label column {design.label!r}"
    values = list_values(counts)
    roles = {("positive", None): "positive", ("negative", None): "negative"}
    n_rows = sum(n for kind, n in counts.items() if kind[0] != "negative")
    n_missing = counts.get(("missing", None), 0)
    if design.positive is None:
        check_two(where, values, n_missing, n_rows, design.missing_is_unlabeled, False)
        positive = values[0] if len(values) == 1 else find_positive(where, values, None)
        roles["value", positive] = "positive"
    elif n_missing and not design.missing_is_unlabeled:
        check_two(where, [design.positive], n_missing, n_rows, False, True)
    found: dict[str, list[Kind]] = {"positive": [], "negative": [], "unlabeled": []}
    for kind in counts:
        found[roles.get(kind, "unlabeled")].append(kind)
    return found


def list_values(kinds: Iterable[Kind]) -> list[Any]:
    """Return the labels that still have to be told apart, in an order that is always the same."""
    values = [value for what, value in kinds if what == "value"]
    return sorted(values, key=lambda value: (str(type(value)), value))
