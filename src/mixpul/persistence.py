"""Save and load fitted classifiers: one safetensors file with JSON metadata, never a pickle.

A file holds tensors, the class name, the parameters and what was learned, as text and numbers;
and of a pipeline that starts from a table, the same of its `TableInput`. Loading looks the class
up in a closed list and runs nothing from the file.
"""

import hashlib
import json
import math
import os
import warnings
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted
from torch import nn

import mixpul
from mixpul._names import METHODS, MINERS, PRIORS
from mixpul._util.files import write_whole
from mixpul.base import PUClassifier
from mixpul.methods.neural import NeuralPUClassifier
from mixpul.nets import Averaged, Mirrored, make_net
from mixpul.tables import TableInput
from mixpul.training import own_torch_state

__all__ = ["FORMAT", "describe", "load", "save"]

# Raise it when a file written by the new code cannot be read by the old; keep reading old ones.
FORMAT = 1

# The closed lists: a file may name these classes and no others.
CLASSES = sorted(METHODS.list_class_names())
PARTS: dict[str, type[BaseEstimator]] = {
    cls.__name__: cls for cls in (*MINERS.values(), *PRIORS.values())
}


# What VPU called its threshold in earlier files.
FORMER_NAMES = {"cut_": "threshold_"}
# Classes that choose a threshold today, and whose earlier files have none because it was 0.
ONCE_AT_ZERO = {"BaggingPUClassifier"}


def save(
    model: PUClassifier | Pipeline,
    path: str | os.PathLike,
    *,
    info: dict[str, Any] | None = None,
) -> None:
    """Write a fitted classifier to one file, whole or not at all.

    Parameters
    ----------
    model : PUClassifier or Pipeline
        A classifier, or a pipeline of two steps, `tables.TableInput` and a classifier. A network of
        your own is stored as its tensors only: pass it again to `load`.
    path : str or path-like
    info : dict, optional
        What else is worth knowing, as plain values: text, numbers, lists and dicts of them. The
        name of the label column, say. `persistence.describe` shows it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mixpul import MixPULClassifier, datasets, load, save
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.1, random_state=0)
    >>> model = MixPULClassifier(n_epochs=2, random_state=0).fit(pu.X, pu.s)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "titanic.mixpul"
    >>> save(model, path)
    >>> bool((load(path).predict_proba(pu.X) == model.predict_proba(pu.X)).all())
    True
    """
    table, model = _take_apart(model)
    name = type(model).__name__
    check_is_fitted(model, "classes_")
    for needed in model._list_needed():
        if not hasattr(model, needed):
            raise TypeError(
                f"This {name} holds an estimator that is not ours and cannot be stored without "
                "pickle; with its default estimator it can."
            )
    tensors: dict[str, torch.Tensor] = {}
    learned: dict[str, Any] = {}
    for key, value in vars(model).items():
        if not _is_learned(key, type(model)):
            continue
        if isinstance(value, nn.Module):
            members = list(value.members) if isinstance(value, Averaged) else [value]
            bare = [one.net if isinstance(one, Mirrored) else one for one in members]
            learned[key] = {"n_members": len(members), "is_mirrored": bare != members}
            for k, member in enumerate(bare):
                for entry, tensor in member.state_dict().items():
                    # Cloned: networks may tie weights, and the format allows no shared memory.
                    tensors[f"{key}.{k}.{entry}"] = tensor.detach().cpu().clone().contiguous()
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            tensors[key] = torch.from_numpy(np.ascontiguousarray(value))
        else:
            learned[key] = _encode(value)
    description = {
        "format": FORMAT,
        "version": mixpul.__version__,
        "class": name,
        "row_shape": list(model._row_shape),
        "row_dtype": model._row_dtype.name,
        "params": {k: _encode(v) for k, v in model.get_params(deep=False).items()},
        "learned": learned,
        "info": _check_info(info),
        "table": table,
    }
    description["sha256"] = checksum(tensors, description)
    # One entry of metadata: several come in random order, and equal models would differ.
    write_whole(path, to_bytes(tensors, {"mixpul": json.dumps(description)}))


def load(path: str | os.PathLike, **params: Any) -> PUClassifier | Pipeline:
    """Read a classifier written by `save`; its predictions are the same to the bit.

    Parameters
    ----------
    path : str or path-like
    **params
        Parameters of the classifier to set instead of the stored ones. ``net=`` is needed when it
        was fitted with a network of your own; own miners are worth passing if you will fit again.

    Returns
    -------
    PUClassifier or Pipeline
        What was saved, on the CPU.
    """
    tensors, description = _read(path)
    name = description["class"]
    if name not in CLASSES:
        raise ValueError(
            f"{os.fspath(path)!r} holds a {name!r}; "
            f"this version of mixpul loads {', '.join(CLASSES)}."
        )
    if description["params"].get("net") == UNSTORED and "net" not in params:
        raise ValueError(
            "The model was fitted with a network of your own, which is not stored: "
            "pass the same callable as load(path, net=...)."
        )
    for part in NEEDED_TO_FIT_AGAIN:
        if part not in params and _holds_unstored(description["params"].get(part)):
            warnings.warn(
                f"The model was fitted with a {part} of your own, which is not stored. Predictions "
                f"do not need it; to fit again with it, pass load(path, {part}=...).",
                UserWarning,
                stacklevel=2,
            )
    try:
        model = _rebuild(getattr(mixpul, name), tensors, description, params)
        return (
            model
            if description.get("table") is None
            else _build_pipeline(model, description["table"])
        )
    # A checksum can be right and the content still not add up: anyone can compute one.
    except (KeyError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"{os.fspath(path)!r} is not a whole mixpul model file: {reason}"
        ) from error


def describe(path: str | os.PathLike) -> dict[str, Any]:
    """Tell what is in a model file without building the model or running anything from it.

    Only the header is read, so damage to the tensors is not seen; `load` sees it.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict
        Plain values, ready for JSON: `format`, `version` of mixpul that wrote it, the `class`, its
        `params`, `learned` (text and short numbers), the `tensors` with their types and shapes,
        `n_parameters` of the networks, `info` as given to `save`, and `table`, the parameters and
        the report of the `TableInput`, or None.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mixpul import MixPULClassifier, datasets, persistence, save
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.1, random_state=0)
    >>> model = MixPULClassifier(n_epochs=2, random_state=0).fit(pu.X, pu.s)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "titanic.mixpul"
    >>> save(model, path, info={"label": "survived"})
    >>> about = persistence.describe(path)
    >>> about["class"], about["info"]
    ('MixPULClassifier', {'label': 'survived'})
    """
    _, description, kinds = _open(path, with_tensors=False)
    table = description.get("table")
    of_nets = [math.prod(shape) for name, (_, shape) in kinds.items() if name.startswith("net_.")]
    return {
        **{key: description[key] for key in ("format", "version", "class", "params", "learned")},
        "tensors": {
            name: {"dtype": dtype, "shape": shape} for name, (dtype, shape) in kinds.items()
        },
        "n_parameters": sum(of_nets),
        "info": description.get("info", {}),
        "table": table
        and {"params": table["params"], "report": table["learned"].get("report_", [])},
    }


def _read(path: str | os.PathLike) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return the content of a file, if it is whole."""
    tensors, description, _ = _open(path, with_tensors=True)
    if description.pop("sha256", None) != checksum(tensors, description):
        raise ValueError(f"{os.fspath(path)!r} is broken: its content does not match its checksum.")
    return tensors, description


def _open(
    path: str | os.PathLike, with_tensors: bool
) -> tuple[dict[str, torch.Tensor], dict[str, Any], dict[str, tuple[str, list[int]]]]:
    """Return the tensors if asked for, the description, and each tensor's type and shape."""
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"There is no model file {name!r}.")
    try:
        with safe_open(name, framework="pt") as file:
            metadata = file.metadata() or {}
            keys = list(file.keys())
            slices = {key: file.get_slice(key) for key in keys}
            kinds = {key: (piece.get_dtype(), piece.get_shape()) for key, piece in slices.items()}
            tensors = {key: file.get_tensor(key) for key in keys if with_tensors}
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"{name!r} is broken, truncated or not a mixpul model file.") from error
    try:
        description = json.loads(metadata["mixpul"])
        file_format = int(description["format"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name!r} is a safetensors file, but not a mixpul model.") from error
    # A newer format may count its checksum differently, so its number is looked at first.
    if file_format > FORMAT:
        raise ValueError(
            f"{name!r} has format {file_format}; this mixpul ({mixpul.__version__}) reads up to "
            f"{FORMAT}. Upgrade mixpul to load it."
        )
    expected = {"class": str, "row_shape": list, "params": dict, "learned": dict}
    for key, kind in expected.items():
        if not isinstance(description.get(key), kind):
            raise ValueError(f"{name!r} is not a whole mixpul model file: it has no {key!r}.")
    return tensors, description, kinds


def checksum(tensors: dict[str, torch.Tensor], description: dict[str, Any]) -> str:
    """Compute a hash that shows damage on the way; it is no protection against forgery."""
    # Sorted throughout: the order of keys is an accident of the writer.
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


def _rebuild(
    cls: type[PUClassifier],
    tensors: dict[str, torch.Tensor],
    description: dict[str, Any],
    params: dict[str, Any],
) -> PUClassifier:
    stored = {k: v for k, v in description["params"].items() if v != UNSTORED}
    model = cls(**({k: _decode(v) for k, v in stored.items()} | params))
    model._row_shape = tuple(description["row_shape"])
    # Files from before there were images do not say.
    model._row_dtype = np.dtype(description.get("row_dtype", "float32"))
    learned = {
        FORMER_NAMES.get(name, name): _decode(value)
        for name, value in description["learned"].items()
    }
    learned |= {name: tensor.numpy() for name, tensor in tensors.items() if "." not in name}
    if isinstance(model, NeuralPUClassifier) and "net_" in learned:
        learned["net_"] = _rebuild_net(model, tensors, **learned["net_"])
    if cls._choose_threshold is PUClassifier._choose_threshold or cls.__name__ in ONCE_AT_ZERO:
        # Files from before all methods had one do not say.
        learned.setdefault("threshold_", 0.0)
    for name, value in learned.items():
        if not _is_learned(name, cls):
            raise ValueError(f"{name!r} is nothing that a {cls.__name__} learns.")
        setattr(model, name, value)
    for name in ("classes_", "n_features_in_", "threshold_", *model._list_needed()):
        if not hasattr(model, name):
            raise ValueError(f"it has no {name!r}.")
    return model


def _rebuild_net(
    model: NeuralPUClassifier,
    tensors: dict[str, torch.Tensor],
    n_members: int,
    is_mirrored: bool = False,
) -> nn.Module:
    if n_members < 1:
        raise ValueError("it has no networks.")
    members = []
    for k in range(n_members):
        with own_torch_state(seed=0):  # the random start is overwritten
            member = make_net(model.net, model._row_shape)
        prefix = f"net_.{k}."
        state = {
            key.removeprefix(prefix): v for key, v in tensors.items() if key.startswith(prefix)
        }
        try:
            member.load_state_dict(state)
        except RuntimeError as error:
            raise ValueError("its tensors do not fit the network.") from error
        members.append(Mirrored(member) if is_mirrored else member)
    net = members[0] if n_members == 1 else Averaged(members)
    return net.eval().requires_grad_(False)


def _take_apart(model: Any) -> tuple[dict[str, Any] | None, PUClassifier]:
    """Return what to store of the table, if there is one, and the classifier."""
    table, classifier = None, model
    if type(model) is Pipeline and len(model.steps) == 2 and type(model[0]) is TableInput:
        names, (first, classifier) = zip(*model.steps, strict=True)
        check_is_fitted(first)
        table = {
            "steps": list(names),
            "params": {k: _encode(v) for k, v in first.get_params().items()},
            "learned": {
                k: _encode(v) for k, v in vars(first).items() if _is_learned(k, TableInput)
            },
        }
    name = type(classifier).__name__
    # The very class: a subclass would come back as the class of ours, without what it adds.
    if name not in CLASSES or type(classifier) is not getattr(mixpul, name):
        raise TypeError(
            f"save takes a fitted mixpul classifier ({', '.join(CLASSES)}), or a Pipeline of a "
            f"TableInput and such a classifier; got {name}."
        )
    return table, classifier


def _check_info(info: dict[str, Any] | None) -> dict[str, Any]:
    try:
        plain = json.loads(json.dumps(info or {}))
    except (TypeError, ValueError) as error:
        raise TypeError(f"info must hold plain values, as JSON does: {error}.") from error
    # JSON would turn tuples into lists and numbers into text keys without a word.
    if plain != (info or {}):
        raise TypeError("info must hold plain values, as JSON does: text keys, lists, no tuples.")
    return plain


def _build_pipeline(model: PUClassifier, stored: dict[str, Any]) -> Pipeline:
    """Put the classifier behind its `TableInput`."""
    table = TableInput(**{k: _decode(v) for k, v in stored["params"].items()})
    for name, value in stored["learned"].items():
        if not _is_learned(name, TableInput):
            raise ValueError(f"{name!r} is nothing that a TableInput learns.")
        setattr(table, name, _decode(value))
    if len(table.get_feature_names_out()) != model.n_features_in_:
        raise ValueError("its table and its classifier do not fit together.")
    return Pipeline(list(zip(stored["steps"], [table, model], strict=True)))


def _is_learned(name: str, cls: type[BaseEstimator]) -> bool:
    """Whether `name` may be set from a file: what fit learns, never a method or an internal."""
    return name.endswith("_") and not name.startswith("_") and not hasattr(cls, name)


# What stands in a file for a parameter that has no plain form: a callable, an object of yours.
UNSTORED = {"unstored": True}
# Parameters that only a new fit would use: without them a loaded classifier predicts all the same.
NEEDED_TO_FIT_AGAIN = ("miner", "prior", "augment")


def _holds_unstored(value: Any) -> bool:
    """Whether a stored parameter, or a parameter of a part in it, has no plain form."""
    if isinstance(value, dict) and "part" in value:
        # Randomness that was passed in is used up by the fit.
        return any(_holds_unstored(v) for k, v in value["params"].items() if k != "random_state")
    return bool(value == UNSTORED)


def _encode(value: Any) -> Any:
    """Turn numbers, text, lists, arrays, and miners and prior estimators of ours into JSON."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value.tolist()
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": "object" if value.dtype == object else "str"}
    if isinstance(value, np.generic):
        return value.item()
    if type(value).__name__ in PARTS and type(value) is PARTS[type(value).__name__]:
        return {
            "part": type(value).__name__,
            # Not deep: the parameters of a scorer inside are not parameters of the part.
            "params": {k: _encode(v) for k, v in value.get_params(deep=False).items()},
        }
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, tuple | list):
        return [_encode(v) for v in value]
    if isinstance(value, dict):
        return {k: _encode(v) for k, v in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else UNSTORED


def _decode(value: Any) -> Any:
    if isinstance(value, dict) and "array" in value:
        return np.array(value["array"], dtype=object if value["dtype"] == "object" else str)
    if isinstance(value, dict) and "part" in value:
        return PARTS[value["part"]](
            **{k: _decode(v) for k, v in value["params"].items() if v != UNSTORED}
        )
    return value
