"""Steps that turn values into categories: what they must hold, and what follows from it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import preprocessing

from mixpul.persistence._step_checks import check_array, check_count, check_indices, check_width

__all__ = [
    "check_bins",
    "check_one_hot",
    "check_ordinal",
    "derive_bins",
    "derive_one_hot",
    "derive_ordinal",
]


def _check_categories(step: Any, n: int) -> list[NDArray]:
    categories = step.categories_
    if not isinstance(categories, list) or len(categories) != n:
        raise ValueError("its categories_ are not those of its columns.")
    for own in categories:
        if not isinstance(own, np.ndarray) or own.dtype.kind not in "biufOU" or own.ndim != 1:
            raise ValueError("its categories_ are not lists of values.")
        # scikit-learn looks numbers up by bisection: in any other order it could find places
        # that do not exist.
        if own.dtype.kind in "biuf":
            known = own[~np.isnan(own)] if own.dtype.kind == "f" else own
            gaps = len(own) - len(known)
            if gaps > 1 or (gaps and not np.isnan(own[-1])) or (known[1:] <= known[:-1]).any():
                raise ValueError("its categories_ are not in order.")
        if not len(own):
            raise ValueError("its categories_ are empty.")
    return categories


def _holds_gap(categories: NDArray) -> bool:
    last = categories[-1]
    return isinstance(last, float | np.floating) and bool(np.isnan(last))


def _groups_rare(step: Any) -> bool:
    return step.max_categories is not None or step.min_frequency is not None


def _check_rare(step: Any, sizes: list[int]) -> None:
    """Check which categories share a column; `sizes` count those that may."""
    if not _groups_rare(step):
        return
    rare = getattr(step, "_infrequent_indices", None)
    if not isinstance(rare, list) or len(rare) != len(sizes):
        raise ValueError("its rare categories are not those of its columns.")
    for own, size in zip(rare, sizes, strict=True):
        if own is not None and not len(check_indices(own, "rare categories", size)):
            raise ValueError("its rare categories are empty.")


def _derive_rare(step: Any, sizes: list[int]) -> None:
    """Set at which place each category ends if the rare ones share the last."""
    step._infrequent_enabled = _groups_rare(step)
    if not step._infrequent_enabled:
        return
    step._default_to_infrequent_mappings = []
    for rare, size in zip(step._infrequent_indices, sizes, strict=True):
        mapping = None
        if rare is not None:
            is_rare = np.zeros(size, dtype=bool)
            is_rare[rare] = True
            mapping = np.where(is_rare, (~is_rare).sum(), np.cumsum(~is_rare) - 1).astype(np.int64)
        step._default_to_infrequent_mappings.append(mapping)


def _count_columns(step: Any) -> list[int]:
    """Count the columns that the categories become before any is dropped."""
    rare = step._infrequent_indices if _groups_rare(step) else [None] * len(step.categories_)
    return [
        len(own) - (0 if of_own is None else len(of_own) - 1)
        for own, of_own in zip(step.categories_, rare, strict=True)
    ]


def check_one_hot(step: Any, n: int) -> int:
    """Check a `OneHotEncoder`."""
    sizes = [len(own) for own in _check_categories(step, n)]
    _check_rare(step, sizes)
    counts = _count_columns(step)
    for name, among in {"drop_idx_": sizes, "_drop_idx_after_grouping": counts}.items():
        dropped = getattr(step, name)
        if dropped is None:
            continue
        if not isinstance(dropped, np.ndarray) or dropped.shape != (n,):
            raise ValueError("its dropped categories are not those of its columns.")
        for own, size in zip(dropped, among, strict=True):
            if own is not None and check_count(own, "dropped category") >= size:
                raise ValueError("its dropped categories do not exist.")
    if (step.drop_idx_ is None) != (step._drop_idx_after_grouping is None):
        raise ValueError("its dropped categories do not exist.")
    if step.feature_name_combiner != "concat":
        raise ValueError("its feature_name_combiner is a function of your own.")
    return check_width(sum(_subtract_dropped(step, counts)))


def _subtract_dropped(step: Any, counts: list[int]) -> list[int]:
    dropped = step._drop_idx_after_grouping
    if dropped is None:
        return counts
    return [count - (own is not None) for count, own in zip(counts, dropped, strict=True)]


def derive_one_hot(step: Any) -> None:
    """Set what follows from its categories."""
    _derive_rare(step, [len(own) for own in step.categories_])
    step._n_features_outs = _subtract_dropped(step, _count_columns(step))


def _count_filled(step: Any) -> list[int]:
    return [len(own) - _holds_gap(own) for own in step.categories_]


def check_ordinal(step: Any, n: int) -> int:
    """Check an `OrdinalEncoder`."""
    _check_categories(step, n)
    _check_rare(step, _count_filled(step))
    return n


def derive_ordinal(step: Any) -> None:
    """Set what follows from its categories."""
    _derive_rare(step, _count_filled(step))
    step._missing_indices = {
        j: len(own) - 1 for j, own in enumerate(step.categories_) if _holds_gap(own)
    }


def check_bins(step: Any, n: int) -> int:
    """Check a `KBinsDiscretizer`."""
    counts = check_array(step, "n_bins_", (n,), kinds="i")
    edges = step.bin_edges_
    if not isinstance(edges, list | np.ndarray) or len(edges) != n:
        raise ValueError("its bin_edges_ are not those of its columns.")
    for own, count in zip(edges, counts, strict=True):
        # The outer edges of a column without spread are infinite.
        if not isinstance(own, np.ndarray) or own.dtype.kind != "f" or own.shape != (count + 1,):
            raise ValueError("its bin_edges_ do not fit its n_bins_.")
        if count < 1 or np.isnan(own).any() or (np.diff(own[1:-1]) < 0).any():
            raise ValueError("its bin_edges_ are not in order.")
    return n if step.encode == "ordinal" else check_width(int(counts.sum()))


def derive_bins(step: Any) -> None:
    """Set the encoder that follows from its bins."""
    edges = np.empty(len(step.n_bins_), dtype=object)
    for j, own in enumerate(step.bin_edges_):
        edges[j] = own
    step.bin_edges_ = edges
    if step.encode != "ordinal":
        step._encoder = preprocessing.OneHotEncoder(
            categories=[np.arange(count) for count in step.n_bins_],
            sparse_output=step.encode == "onehot",
        ).fit(np.zeros((1, len(step.n_bins_))))
