"""One classifier as a description and tensors, and back; a portfolio holds those of its members."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mixpul._util.errors import DamagedFile
from mixpul._util.schema import Choice, check_value
from mixpul.base import PUClassifier
from mixpul.persistence._file import split_names
from mixpul.persistence._values import (
    CLASSES,
    UNSTORED,
    decode,
    decode_params,
    encode,
    encode_params,
    find_class,
    is_learned,
    is_ours,
)

if TYPE_CHECKING:
    from mixpul.methods.neural import NeuralPUClassifier

__all__ = ["is_our_classifier", "pack_model", "rebuild_model"]

# What VPU called its threshold in earlier files.
FORMER_NAMES = {"cut_": "threshold_"}
# Classes that choose a threshold today, and whose earlier files have none because it was 0.
ONCE_AT_ZERO = {"BaggingPUClassifier"}
# Of rows of numbers, and of images.
ROW_TYPES = ("float32", "uint8")

Packed = tuple[dict[str, Any], dict[str, NDArray]]


def is_our_classifier(model: Any) -> bool:
    """Whether a model is of a class of ours: a subclass would come back without what it adds."""
    return type(model).__name__ in CLASSES and is_ours(model)


def pack_model(model: PUClassifier) -> Packed:
    """Return the description of a fitted classifier, and its tensors."""
    check_is_fitted(model, "classes_")
    for needed in model._list_needed():
        if not hasattr(model, needed):
            raise TypeError(
                f"This {type(model).__name__} holds an estimator that is not ours and cannot be "
                "stored without pickle; with its default estimator it can."
            )
    learned: dict[str, Any] = {}
    tensors: dict[str, NDArray] = {}
    for name, value in vars(model).items():
        if not is_learned(name, type(model)):
            continue
        if _is_numeric(value):
            tensors[name] = value
            continue
        learned[name], below = _pack_value(model, name, value)
        tensors |= {f"{name}.{entry}": tensor for entry, tensor in below.items()}
    description = {
        "class": type(model).__name__,
        "row_shape": list(model._row_shape),
        "row_dtype": model._row_dtype.name,
        "params": encode_params(model),
        "learned": learned,
    }
    return description, tensors


def rebuild_model(
    description: dict[str, Any], tensors: dict[str, NDArray], params: dict[str, Any]
) -> PUClassifier:
    """Build a classifier from its description and tensors; `params` replace the stored ones."""
    if description["class"] not in CLASSES:
        raise DamagedFile(f"it holds a {description['class']!r}, which is not a class of mixpul.")
    cls = find_class(description["class"])
    own = decode_params(description["params"])
    # As stored: those that are passed are the caller's, and checked by the next fit.
    cls(**own)._validate_params()
    model = cls(**(own | params))
    model._row_shape = tuple(description["row_shape"])
    # Files from before there were images do not say.
    kind = description.get("row_dtype", "float32")
    check_value(kind, Choice(ROW_TYPES), "row_dtype")
    model._row_dtype = np.dtype(kind)
    stored = {FORMER_NAMES.get(name, name): v for name, v in description["learned"].items()}
    below = split_names(tensors)
    arrays = {name: own[""] for name, own in below.items() if "" in own}
    if cls._choose_threshold is PUClassifier._choose_threshold or cls.__name__ in ONCE_AT_ZERO:
        # Files from before all methods had one do not say.
        stored.setdefault("threshold_", 0.0)
    for name in stored.keys() | arrays.keys():
        if not is_learned(name, cls):
            raise DamagedFile(f"{name!r} is nothing that a {cls.__name__} learns.")
    for name, value in stored.items():
        setattr(model, name, _rebuild_value(model, name, value, below.get(name, {})))
    for name, array in arrays.items():
        setattr(model, name, array)
    model._check_learned()
    if _is_portfolio(model):
        _check_portfolio(model)
    return model


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"


def _pack_value(model: PUClassifier, name: str, value: Any) -> Packed | tuple[Any, dict]:
    """Return what was learned as JSON, and tensors if it takes any."""
    if name == "net_" and _is_neural(model):
        # Imported with torch, which takes seconds: models without networks do without it.
        from mixpul.persistence._nets import pack_net

        return pack_net(model)
    if name == "members_":
        return _pack_members(value)
    if isinstance(value, Mapping) and value and all(map(_is_numeric, value.values())):
        tensors = {f"{k}": array for k, array in enumerate(value.values())}
        return {"arrays": list(value)}, tensors
    return encode(value), {}


def _pack_members(members: dict[str, Any]) -> Packed:
    """Return the descriptions of the members of a portfolio by name, and all of their tensors."""
    descriptions: dict[str, Any] = {}
    tensors: dict[str, NDArray] = {}
    for k, (name, member) in enumerate(members.items()):
        if not is_our_classifier(member):
            raise TypeError(
                f"The candidate {name!r} is of the class {type(member).__name__}, which is not "
                "ours and cannot be stored without pickle; fit again without it to save."
            )
        try:
            descriptions[name], own = pack_model(member)
        except TypeError as error:
            raise TypeError(f"The candidate {name!r} cannot be stored: {error}") from error
        if descriptions[name]["params"].get("net") == UNSTORED:
            raise TypeError(
                f"The candidate {name!r} has a network of your own, which is not stored; fit again "
                "with a network by name or its widths, or save the candidate on its own."
            )
        # By number: a name may hold dots.
        tensors |= {f"{k}.{entry}": tensor for entry, tensor in own.items()}
    return descriptions, tensors


def _rebuild_value(model: PUClassifier, name: str, value: Any, tensors: dict[str, NDArray]) -> Any:
    """Turn JSON and tensors back into what was learned."""
    if name == "net_" and _is_neural(model):
        from mixpul.persistence._nets import rebuild_net

        return rebuild_net(model, tensors, **value)
    if name == "members_" and _is_portfolio(model):
        of_member = split_names(tensors)
        return {
            own: rebuild_model(member, of_member.get(f"{k}", {}), {})
            for k, (own, member) in enumerate(value.items())
        }
    if isinstance(value, dict) and value.keys() == {"arrays"}:
        return {own: tensors[f"{k}"] for k, own in enumerate(value["arrays"])}
    if name == "settings_" and _is_neural(model):
        # A network of one's own was passed in again.
        return [s | {"net": model.net} if s["net"] == UNSTORED else s for s in decode(value)]
    return decode(value)


def _is_neural(model: PUClassifier) -> "TypeGuard[NeuralPUClassifier]":
    # Not by the class: its module imports torch.
    return model._trains_nets


def _is_portfolio(model: PUClassifier) -> bool:
    # Not by the class: its module imports those of all candidates, which other files do not need.
    return "members_" in model._list_needed()


def _check_portfolio(model: Any) -> None:
    """Refuse a portfolio that could not score rows."""
    members, tables = model.members_, model.score_tables_
    if (
        not members
        or members.keys() != tables.keys()
        or not members.keys() <= model.weights_.keys()
    ):
        raise DamagedFile("its members, weights and score tables do not fit together.")
    for name, table in tables.items():
        if table.dtype != np.float64 or (np.diff(table) < 0).any():
            raise DamagedFile(f"the score table of the candidate {name!r} is not one.")
    for name, member in members.items():
        own, whole = (
            (one._row_shape, one._row_dtype, one.n_features_in_) for one in (member, model)
        )
        if own != whole:
            raise DamagedFile(f"the candidate {name!r} was fitted on other rows.")
    # Images are not scaled.
    shape = model._row_shape if len(model._row_shape) == 1 else (0,)
    # Columns of a large sparse table are only divided, and none is heavy.
    scaling = (model.column_centre_, model.column_scale_)
    is_fit = model.is_heavy_.shape in (shape, (0,)) and model.is_heavy_.dtype == bool
    if not is_fit or any(own.shape != shape or own.dtype.kind != "f" for own in scaling):
        raise DamagedFile("the scaling of its columns does not fit its rows.")
    if not np.isfinite(scaling).all() or (model.column_scale_ <= 0).any():
        raise DamagedFile("the scaling of its columns has numbers that cannot be.")
