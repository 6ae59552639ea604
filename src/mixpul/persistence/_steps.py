"""Pipelines of scikit-learn's steps in a file: a tree of steps from a closed list, and tensors.

A step in a file is ``{"step": class, "params": ..., "learned": ...}``. Those that hold others have
them in ``"parts"``. The classifier at the end is ``{"classifier": true}``: it is stored as it would
be alone. Nothing is looked up by a name outside of the closed list, and no step is taken before
its arrays fit its number of columns.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from mixpul._util.schema import Anything, ListOf, Record, Text, check_value
from mixpul.base import PUClassifier
from mixpul.images import ImageFeatures
from mixpul.persistence._image_features import (
    describe_extractor,
    pack_features,
    rebuild_features,
)
from mixpul.persistence._models import is_our_classifier
from mixpul.persistence._step_checks import check_count, check_width
from mixpul.persistence._step_columns import find_places
from mixpul.persistence._step_kinds import KINDS
from mixpul.persistence._step_values import NotStorable, decode_value, encode_value
from mixpul.persistence._tables import pack_table, rebuild_table
from mixpul.tables import TableInput

__all__ = ["pack_steps", "rebuild_steps", "show_steps"]

MOST_NESTED = 10
MOST_STEPS = 10_000
HOLDERS = {cls.__name__: cls for cls in (Pipeline, ColumnTransformer, FeatureUnion)}
# How many processes to start is for the one who loads to say, and so is a folder to write to.
UNSTORED_PARAMS = {"n_jobs", "memory", "verbose", "transform_input"}
OUTPUTS = ("default", "pandas", "polars")

PARTS = ListOf(Record({"name": Text(), "of": Anything()}))

Node = dict[str, Any]


def pack_steps(pipeline: Pipeline) -> tuple[Node, dict[str, NDArray], PUClassifier]:
    """Return what to store of a pipeline, its tensors, and the classifier at its end."""
    classifier = find_classifier(pipeline)
    tensors: list[NDArray] = []
    tree = _pack(pipeline, type(pipeline).__name__, tensors, classifier)
    numbered = {f"steps.{k}": tensor for k, tensor in enumerate(tensors)}
    # What cannot be read again is not written: the checks are those of `load`.
    bare = {f"{k}": tensor for k, tensor in enumerate(tensors)}
    try:
        rebuild_steps(tree, bare, classifier, _find_own_extractor(pipeline))
    except ValueError as error:
        raise TypeError(f"This pipeline cannot be stored: {error}") from error
    return tree, numbered, classifier


def find_classifier(model: Any) -> PUClassifier:
    """Return the classifier at the end of a pipeline, or of the pipelines in it."""
    while type(model) is Pipeline:
        model = model.steps[-1][1]
    if not is_our_classifier(model):
        raise TypeError(
            "save takes pipelines that end in a classifier of mixpul; this one ends in "
            f"{_name_class(model)}."
        )
    return model


def _find_own_extractor(pipeline: Pipeline) -> Any:
    """Return the extractor of the user's own that images go through, if there is one."""
    extractor = getattr(pipeline[0], "extractor", None)
    return None if isinstance(extractor, str) else extractor


def rebuild_steps(
    tree: Any, tensors: dict[str, NDArray], classifier: PUClassifier, extractor: Any = None
) -> Pipeline:
    """Put a pipeline together again; `tensors` are those of its steps, by their numbers.

    `extractor` is one of the user's own, which no file holds.
    """
    pipeline, _ = _Builder(tensors, classifier, extractor).build(tree, None, 0)
    if type(pipeline) is not Pipeline or find_classifier(pipeline) is not classifier:
        raise ValueError("its steps do not end in its classifier.")
    return pipeline


def show_steps(tree: Any) -> list[dict[str, Any]] | None:
    """Return names and classes of steps, for a reader."""
    if not isinstance(tree, dict) or "parts" not in tree:
        return None
    shown = []
    check_value(tree["parts"], PARTS, "parts")
    for part in tree["parts"]:
        below = show_steps(part["of"])
        kind = part["of"].get("step", "classifier") if isinstance(part["of"], dict) else part["of"]
        more = describe_extractor(part["of"]) if kind == "ImageFeatures" else {}
        more |= {"steps": below} if below else {}
        shown.append({"name": part["name"], "class": kind} | more)
    return shown


# -- into a file ------------------------------------------------------------------------------


def _pack(step: Any, place: str, tensors: list[NDArray], classifier: Any) -> Any:
    """Return one step as JSON; `place` says in a message which one it is."""
    if step is classifier:
        return {"classifier": True}
    if step is None or (isinstance(step, str) and step in ("passthrough", "drop")):
        return step
    name = type(step).__name__
    if type(step) is TableInput:
        return {"step": name, **pack_table(step)}
    if type(step) is ImageFeatures:
        return {"step": name, **pack_features(step, tensors)}
    if HOLDERS.get(name) is type(step):
        node = {"step": name, "parts": _pack_parts(step, place, tensors, classifier)}
        return _pack_rest(node, step, place, tensors)
    if name not in KINDS or KINDS[name].cls is not type(step):
        raise TypeError(
            f"The step {place!r} is of the class {name}, which cannot be stored without pickle; "
            f"use one of {', '.join(sorted([*KINDS, *HOLDERS, 'TableInput']))}, or apply the step "
            "before the pipeline."
        )
    check_is_fitted(step)
    return _pack_rest({"step": name}, step, place, tensors)


def _pack_parts(step: Any, place: str, tensors: list[NDArray], classifier: Any) -> list[Node]:
    if isinstance(step, ColumnTransformer):
        check_is_fitted(step)
        listed = step.transformers_
    else:
        listed = step.steps if isinstance(step, Pipeline) else step.transformer_list
    parts = []
    for name, part, *columns in listed:
        node: Node = {"name": name}
        if columns:
            own = _list_plainly(columns[0])
            node["columns"] = _encode(own, f"{place}: {name}", "columns", tensors)
            names = getattr(step, "feature_names_in_", None)
            # A step without columns was never fitted.
            part = part if find_places(own, step.n_features_in_, names) else "drop"
        node["of"] = _pack(part, name, tensors, classifier)
        parts.append(node)
    return parts


def _list_plainly(columns: Any) -> Any:
    """Return columns as a list if they are one of another class, such as pandas' Index."""
    if isinstance(columns, str | int | slice | np.ndarray):
        return columns
    return list(columns)


def _pack_rest(node: Node, step: Any, place: str, tensors: list[NDArray]) -> Node:
    """Add the parameters of a step and what it has learned."""
    held = {"steps", "transformers", "transformer_list", "remainder"} if "parts" in node else set()
    params = {
        key: None if key == "random_state" and not isinstance(value, int) else value
        for key, value in step.get_params(deep=False).items()
        if key not in UNSTORED_PARAMS | held
    }
    node["params"] = {k: _encode(v, place, k, tensors) for k, v in params.items()}
    node["learned"] = {}
    for key in _list_learned(type(step).__name__):
        if key not in vars(step):
            continue
        value = getattr(step, key)
        if isinstance(value, BaseEstimator):
            node["learned"][key] = {"estimator": _pack(value, key, tensors, None)}
        else:
            node["learned"][key] = _encode(value, place, key, tensors)
    if output := getattr(step, "_sklearn_output_config", {}).get("transform"):
        node["output"] = output
    return node


def _list_learned(name: str) -> tuple[str, ...]:
    if name in KINDS:
        return (*KINDS[name].learned, "n_features_in_", "feature_names_in_")
    if name == "ColumnTransformer":
        return ("sparse_output_", "n_features_in_", "feature_names_in_")
    return ()


def _encode(value: Any, place: str, key: str, tensors: list[NDArray]) -> Any:
    try:
        return encode_value(value, tensors)
    except NotStorable as error:
        raise TypeError(
            f"The step {place!r} cannot be stored without pickle: its {key} is {error}."
        ) from error


def _name_class(model: Any) -> str:
    hint = ": save its best_estimator_" if hasattr(model, "best_estimator_") else ""
    return f"{type(model).__name__}{hint}"


# -- out of a file ----------------------------------------------------------------------------


class _Builder:
    """Builds steps from JSON, the outer ones from their parts."""

    def __init__(
        self, tensors: dict[str, NDArray], classifier: PUClassifier, extractor: Any
    ) -> None:
        self.tensors, self.extractor = tensors, extractor
        self.classifier = classifier
        self.n_steps = 0

    def build(self, node: Any, n: int | None, depth: int) -> tuple[Any, int | None]:
        """Return a step for `n` columns, if that is known, and how many columns it hands on."""
        self.n_steps += 1
        if depth > MOST_NESTED or self.n_steps > MOST_STEPS:
            raise ValueError("its steps are nested too deeply, or too many.")
        if node is None or (isinstance(node, str) and node in ("passthrough", "drop")):
            return node, 0 if node == "drop" else n
        if node == {"classifier": True}:
            if n is not None and n != self.classifier.n_features_in_:
                raise ValueError("its steps and its classifier do not fit together.")
            return self.classifier, None
        if not isinstance(node, dict) or not isinstance(node.get("step"), str):
            raise ValueError("a step in it is of no known form.")
        name = node["step"]
        if name == "TableInput":
            return self._build_table(node, n)
        if name == "ImageFeatures":
            # It takes images, so nothing can come before it but the outermost pipeline.
            if n is not None or depth != 1:
                raise ValueError("its features of images are not its first step.")
            step = rebuild_features(node, self.tensors, self.extractor)
            return step, check_width(step.components_.shape[1])
        if name in HOLDERS:
            return self._build_holder(node, n, depth)
        if name not in KINDS:
            raise ValueError(f"it has a step of the class {name!r}, which is not on the list.")
        return self._build_leaf(node, n, depth)

    def _build_table(self, node: Node, n: int | None) -> tuple[Any, int]:
        table = rebuild_table(node)
        if n is not None and table.n_features_in_ != n:
            raise ValueError("its table has another number of columns than its steps.")
        return table, check_width(len(table.get_feature_names_out()))

    def _build_leaf(self, node: Node, n: int | None, depth: int) -> tuple[Any, int]:
        kind = KINDS[node["step"]]
        step = kind.cls(**self._read_params(node, kind.cls, set()))
        step._validate_params()
        self._set_learned(step, node, depth)
        own = self._check_columns(step, n)
        try:
            width = kind.check(step, own)
        except (AttributeError, TypeError, IndexError, OverflowError) as error:
            raise ValueError(f"a {node['step']} in it does not add up: {error}") from error
        except ValueError as error:
            raise ValueError(f"of a {node['step']} in it, {error}") from error
        kind.derive(step)
        return step, width

    def _check_columns(self, step: Any, n: int | None) -> int:
        own = check_count(getattr(step, "n_features_in_", None), "n_features_in_", least=1)
        if n is not None and own != n:
            raise ValueError(
                f"a {type(step).__name__} in it takes {own} columns, but {n} come to it."
            )
        names = getattr(step, "feature_names_in_", None)
        if names is not None and not (
            isinstance(names, np.ndarray)
            and names.shape == (own,)
            and all(isinstance(name, str) for name in names)
        ):
            raise ValueError("names of columns are not those of a step.")
        return check_width(own)

    def _read_params(self, node: Node, cls: type[BaseEstimator], held: set[str]) -> dict[str, Any]:
        stored = node.get("params")
        known = set(cls._get_param_names()) - held - UNSTORED_PARAMS
        if not isinstance(stored, dict) or not stored.keys() <= known:
            raise ValueError(f"parameters of a {cls.__name__} are unknown to this scikit-learn.")
        return {key: decode_value(value, self.tensors) for key, value in stored.items()}

    def _set_learned(self, step: Any, node: Node, depth: int) -> None:
        learned, name = node.get("learned"), type(step).__name__
        if not isinstance(learned, dict) or not learned.keys() <= set(_list_learned(name)):
            raise ValueError(f"it has something that a {name} does not learn.")
        for key, value in learned.items():
            if isinstance(value, dict) and value.keys() == {"estimator"}:
                inner, _ = self.build(value["estimator"], None, depth + 1)
                setattr(step, key, inner)
            else:
                setattr(step, key, decode_value(value, self.tensors))
        if "output" in node:
            if node["output"] not in OUTPUTS:
                raise ValueError("the output of a step is of no known kind.")
            step._sklearn_output_config = {"transform": node["output"]}

    def _build_holder(self, node: Node, n: int | None, depth: int) -> tuple[Any, int | None]:
        parts = node.get("parts")
        if not isinstance(parts, list) or not all(
            isinstance(part, dict) and isinstance(part.get("name"), str) and "of" in part
            for part in parts
        ):
            raise ValueError("a step in it has no parts.")
        if len({part["name"] for part in parts}) != len(parts) or not parts:
            raise ValueError("the parts of a step have no names of their own.")
        builders: dict[str, Callable] = {
            "Pipeline": self._build_pipeline,
            "FeatureUnion": self._build_union,
            "ColumnTransformer": self._build_columns,
        }
        return builders[node["step"]](node, parts, n, depth + 1)

    def _build_pipeline(
        self, node: Node, parts: list[Node], n: int | None, depth: int
    ) -> tuple[Pipeline, int | None]:
        steps = []
        for k, part in enumerate(parts):
            if part["of"] == "drop":
                raise ValueError("a Pipeline cannot drop its rows.")
            step, n = self.build(part["of"], n, depth)
            is_end = find_end(step) is self.classifier
            if is_end and k < len(parts) - 1:
                raise ValueError("its classifier is not its last step.")
            steps.append((part["name"], step))
        pipeline = Pipeline(steps)
        self._set_learned(pipeline, node, depth)
        return pipeline, n

    def _build_union(
        self, node: Node, parts: list[Node], n: int | None, depth: int
    ) -> tuple[FeatureUnion, int]:
        built, width = [], 0
        for part in parts:
            step, own = self.build(part["of"], n, depth)
            if find_end(step) is self.classifier or own is None:
                raise ValueError("a part of a FeatureUnion hands no columns on.")
            built.append((part["name"], step))
            width = check_width(width + own)
            n = n if n is not None else getattr(step, "n_features_in_", None)
        union = FeatureUnion(built, **self._read_params(node, FeatureUnion, {"transformer_list"}))
        _check_weights(union.transformer_weights)
        self._set_learned(union, node, depth)
        return union, width

    def _build_columns(
        self, node: Node, parts: list[Node], n: int | None, depth: int
    ) -> tuple[ColumnTransformer, int]:
        params = self._read_params(node, ColumnTransformer, {"transformers", "remainder"})
        step = ColumnTransformer([], **params)
        _check_weights(step.transformer_weights)
        if callable(step.verbose_feature_names_out):
            raise ValueError("the names of its columns are made by a function.")
        self._set_learned(step, node, depth)
        if not isinstance(getattr(step, "sparse_output_", None), bool):
            raise ValueError("a ColumnTransformer in it does not say what it hands on.")
        n = self._check_columns(step, n)
        names = getattr(step, "feature_names_in_", None)
        fitted, places, slices, width = [], {}, {}, 0
        for part in parts:
            columns = decode_value(part.get("columns"), self.tensors)
            own_places = find_places(columns, n, names)
            built, own = self.build(part["of"], len(own_places), depth)
            if find_end(built) is self.classifier or own is None:
                raise ValueError("a part of a ColumnTransformer hands no columns on.")
            fitted.append((part["name"], built, columns))
            places[part["name"]] = own_places
            slices[part["name"]] = slice(width, width + own) if own else slice(0, 0)
            width = check_width(width + own)
        _complete_columns(step, fitted, places, slices)
        return step, width


def find_end(step: Any) -> Any:
    """Return what a pipeline ends in; of any other step, the step itself."""
    while isinstance(step, Pipeline):
        step = step.steps[-1][1]
    return step


def _check_weights(weights: Any) -> None:
    if weights is not None and not (
        isinstance(weights, dict)
        and all(
            isinstance(weight, int | float) and math.isfinite(weight) for weight in weights.values()
        )
    ):
        raise ValueError("the weights of the parts of a step are not numbers.")


def _complete_columns(step: Any, fitted: list[tuple], places: dict, slices: dict) -> None:
    """Set what a fitted `ColumnTransformer` has, and what a new fit would start from."""
    step.transformers_ = fitted
    rest = fitted[-1] if fitted[-1][0] == "remainder" else None
    named = fitted[:-1] if rest else fitted
    step.transformers = [(name, _unfit(part), columns) for name, part, columns in named]
    step.remainder = _unfit(rest[1]) if rest else "drop"
    step._columns = [columns for _, _, columns in named]
    step._remainder = ("remainder", step.remainder, rest[2] if rest else [])
    # Without columns left the remainder has an empty entry.
    step._transformer_to_input_indices = places | ({} if rest else {"remainder": []})
    step.output_indices_ = slices | ({} if rest else {"remainder": slice(0, 0)})


def _unfit(part: Any) -> Any:
    return part if isinstance(part, str) else clone(part)
