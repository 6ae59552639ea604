"""What every classifier may have learned, as a file may say it."""

from math import prod
from typing import Any

import numpy as np

from mixpul._util.errors import DamagedFile
from mixpul._util.schema import (
    Anything,
    Array,
    Flag,
    ListOf,
    MapOf,
    Number,
    Record,
    Spec,
    Text,
    check_value,
)

__all__ = ["LEARNED", "check_learned"]

LEARNED: dict[str, Spec] = {
    "n_features_in_": Number(1, whole=True),
    "feature_names_in_": Array("text", ("n_features",)),
    "threshold_": Number(),
    "density_ratio_": Array("float", (2, None)),
    "has_repeats_": Flag(),
    "class_prior_": Record({"value": Number(0, 1), "source": Text()}),
    "prior_": Number(0, 1),
    "oof_scores_": Array("float", ("n_rows",)),
    "oof_folds_": Array("whole", ("n_rows",), low=0),
    # What a training leaves besides its networks.
    "history_": ListOf(MapOf(Anything())),
    "n_epochs_": Number(0, whole=True),
    "settings_": ListOf(Record({"weight_decay": Number(0), "weight": Number(0, 1)})),
}


def check_learned(model: Any) -> None:
    """Refuse a classifier from a file unless it is whole and its parts fit together."""
    for name in ("classes_", "n_features_in_", "threshold_", *model._list_needed()):
        if not hasattr(model, name):
            raise DamagedFile(f"it has no {name!r}.")
    _check_classes(model.classes_)
    if model.n_features_in_ != model._row_shape[0]:
        raise DamagedFile("its rows and its columns do not fit together.")
    sizes = {"n_features": model._row_shape[0], "n_columns": prod(model._row_shape)}
    for name, spec in model._describe_learned().items():
        if hasattr(model, name):
            check_value(getattr(model, name), spec, name, sizes)
    if hasattr(model, "density_ratio_") and (np.diff(model.density_ratio_[0]) < 0).any():
        raise DamagedFile("'density_ratio_' is not in the order of its scores.")


def _check_classes(classes: Any) -> None:
    """Refuse labels that are not two different plain values."""
    is_pair = isinstance(classes, np.ndarray) and classes.shape == (2,)
    entries = classes.tolist() if is_pair else []
    if not entries or not all(isinstance(one, str | int | float) for one in entries):
        raise DamagedFile("'classes_' are not two labels.")
    # NaN is not equal to itself.
    if entries[0] == entries[1] or any(one != one for one in entries):
        raise DamagedFile("'classes_' are not two different labels.")
