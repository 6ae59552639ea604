"""The table before a classifier: a `TableInput` in a description, and back in a pipeline."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mixpul._util.errors import DamagedFile
from mixpul._util.schema import (
    Array,
    Choice,
    Flag,
    ListOf,
    MapOf,
    Maybe,
    Number,
    Record,
    Spec,
    Text,
    check_value,
)
from mixpul.base import PUClassifier
from mixpul.persistence._models import is_our_classifier
from mixpul.persistence._values import CLASSES, decode, encode, is_learned
from mixpul.tables import TableInput
from mixpul.tables.plans import CYCLES, FILLERS, read_embedding

__all__ = ["build_pipeline", "is_simple", "pack_table", "rebuild_table", "take_apart"]


def is_simple(model: Any) -> bool:
    """Whether a model is a classifier, alone or behind a `TableInput`."""
    return type(model) is not Pipeline or (
        len(model.steps) == 2 and type(model[0]) is TableInput and type(model[1]) is not Pipeline
    )


NUMBERS: dict[str, Spec] = {
    "bend": Maybe(ListOf(Number(), 2, 2)),
    "low": Number(),
    "high": Number(),
    "mean": Number(),
    "scale": Number(0, above=True),
    "fill": Number(),
}
# What the plan of a column has, by its kind, unless it is only whether there is a value.
OF_KIND: dict[str, dict[str, Spec]] = {
    "number": NUMBERS,
    "date": NUMBERS | {"cycles": ListOf(Choice(tuple(CYCLES)))},
    "boolean": {"fill": Number()},
    "text": {"categories": ListOf(Text()), "has_other": Flag()},
}
WORDS = Record({"size": Number(1, whole=True), "matrix": Text(), "centre": Text()})
COUNTS: dict[str, Spec] = {
    "counts": MapOf(Number(1, whole=True)),
    "count_mean": Number(),
    "count_scale": Number(0, above=True),
}
# How text that stands for something else is read, by the kind of its column.
STYLES: dict[str, dict[str, dict[str, Spec]]] = {
    "number": {
        "numerals": {"decimal": Choice((".", ",")), "units": MapOf(Number())},
        "durations": {"bare": Maybe(Number())},
    },
    "date": {
        "dates": {"order": Choice(("dmy", "mdy", "ymd"))},
        "epoch": {"seconds": Number(0, above=True)},
        "compact": {},
    },
    "boolean": {"yes/no": {"yes": ListOf(Text()), "no": ListOf(Text())}},
}


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
        raise DamagedFile("its table and its classifier do not fit together.")
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
    table._validate_params()
    for name, value in stored["learned"].items():
        if not is_learned(name, TableInput):
            raise DamagedFile(f"{name!r} is nothing that a TableInput learns.")
        setattr(table, name, decode(value))
    _check_table(table)
    return table


def _check_table(table: TableInput) -> None:
    """Refuse a table that could not turn rows into numbers."""
    needed = {"n_features_in_": Number(1, whole=True), "plan_": ListOf(Record({}), least=1)}
    check_value(vars(table), Record(needed))
    sizes = {"n_features": table.n_features_in_}
    if hasattr(table, "feature_names_in_"):
        names = Array("text", ("n_features",))
        check_value(table.feature_names_in_, names, "feature_names_in_", sizes)
    for k, plan in enumerate(table.plan_):
        _check_plan(plan, f"plan_.{k}", table.n_features_in_)


def _check_style(style: Any, kind: str, name: str) -> None:
    """Refuse a style in which a cell could not be read."""
    known = STYLES.get(kind, {})
    check_value(style, Record({"as": Choice(tuple(known))}, {"lenient": Flag()}), name)
    check_value(style, Record(known[style["as"]], {"unit": Text()}), name)


def _count_text_features(plan: dict[str, Any], name: str) -> int:
    """Return how many features the plan of a text column makes; refuse one that makes none."""
    n_features = len(plan["categories"]) + plan["has_other"]
    if "counts" in plan:
        check_value(plan, Record(COUNTS), name)
        n_features += 1
    if "words" in plan:
        check_value(plan["words"], WORDS, f"{name}.words")
        read_embedding(plan["words"])
        n_features += plan["words"]["size"]
    return n_features


def _check_plan(plan: dict[str, Any], name: str, n_columns: int) -> None:
    """Refuse a plan of a column that could not be carried out."""
    common = {
        "column": Text(),
        "place": Number(0, n_columns - 1, whole=True),
        "kind": Choice(tuple(FILLERS)),
        "endings": ListOf(Text(), least=1),
        "marked": Flag(),
        "only_mark": Flag(),
    }
    check_value(plan, Record(common), name)
    if "style" in plan:
        _check_style(plan["style"], plan["kind"], f"{name}.style")
    if plan["only_mark"]:
        n_features = 0
    elif plan["kind"] in OF_KIND:
        check_value(plan, Record(OF_KIND[plan["kind"]]), name)
        is_text = plan["kind"] == "text"
        n_features = _count_text_features(plan, name) if is_text else 1
        n_features += 2 * len(plan.get("cycles", []))
        bend = plan.get("bend")
        if bend is not None and bend[1] <= 0:
            raise DamagedFile(f"'{name}.bend' is not a centre and a spread.")
    else:
        return  # of a kind that checks itself when it is carried out
    if len(plan["endings"]) != n_features + plan["marked"]:
        raise DamagedFile(f"{name!r} has {len(plan['endings'])} features, which it cannot make.")
