"""The table before a classifier: a `TableInput` in a description, and back in a pipeline."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mixpul.base import PUClassifier
from mixpul.persistence._models import is_our_classifier
from mixpul.persistence._values import CLASSES, decode, encode, is_learned
from mixpul.tables import TableInput

__all__ = ["build_pipeline", "is_simple", "pack_table", "rebuild_table", "take_apart"]


def is_simple(model: Any) -> bool:
    """Whether a model is a classifier, alone or behind a `TableInput`."""
    return type(model) is not Pipeline or (
        len(model.steps) == 2 and type(model[0]) is TableInput and type(model[1]) is not Pipeline
    )


def take_apart(model: Any) -> tuple[dict[str, Any] | None, PUClassifier]:
    """Return what to store of the table, if there is one, and the classifier."""
    table, classifier = None, model
    if type(model) is Pipeline:
        names, (first, classifier) = zip(*model.steps, strict=True)
        table = {"steps": list(names), **pack_table(first)}
    if not is_our_classifier(classifier):
        raise TypeError(
            f"save takes a fitted mixpul classifier ({', '.join(CLASSES)}), or a Pipeline that "
            f"ends in such a classifier; got {type(classifier).__name__}"
            f"{': save its best_estimator_' if hasattr(model, 'best_estimator_') else ''}."
        )
    return table, classifier


def build_pipeline(model: PUClassifier, stored: dict[str, Any]) -> Pipeline:
    """Put the classifier behind its `TableInput`."""
    table = rebuild_table(stored)
    if len(table.get_feature_names_out()) != model.n_features_in_:
        raise ValueError("its table and its classifier do not fit together.")
    return Pipeline(list(zip(stored["steps"], [table, model], strict=True)))


def pack_table(table: TableInput) -> dict[str, Any]:
    """Return the parameters of a fitted `TableInput`, and what it has learned."""
    check_is_fitted(table)
    return {
        "params": {k: encode(v) for k, v in table.get_params().items()},
        "learned": {k: encode(v) for k, v in vars(table).items() if is_learned(k, TableInput)},
    }


def rebuild_table(stored: dict[str, Any]) -> TableInput:
    """Build a `TableInput` from its parameters and what it has learned."""
    table = TableInput(**{k: decode(v) for k, v in stored["params"].items()})
    for name, value in stored["learned"].items():
        if not is_learned(name, TableInput):
            raise ValueError(f"{name!r} is nothing that a TableInput learns.")
        setattr(table, name, decode(value))
    return table
