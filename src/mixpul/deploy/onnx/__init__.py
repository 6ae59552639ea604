"""Models as ONNX files: the whole path from the columns of a table to scores, without mixpul."""

import json
import os
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import mixpul
from mixpul._util.errors import MixpulError
from mixpul._util.files import write_whole
from mixpul.base import PUClassifier
from mixpul.deploy._made_rows import make_rows
from mixpul.deploy.onnx._check import (
    TOLERANCE,
    Agreement,
    Original,
    compare_scores,
    to_inputs,
)
from mixpul.deploy.onnx._columns import add_features, list_inputs
from mixpul.deploy.onnx._graph import DOUBLE, FLOAT, INT64, Graph, import_onnx
from mixpul.deploy.onnx._lookup import interpolate
from mixpul.deploy.onnx._models import add_logits
from mixpul.metrics.calibration import find_probability_line, to_probabilities
from mixpul.tables import TableInput

__all__ = ["Agreement", "Exported", "export_onnx"]

OUTPUTS = ("score", "label", "probability")
# Scores are what a table of any size can be compared on; this many rows of it show enough.
MOST_COMPARED = 100_000
MADE_UP = 2000


class Exported(NamedTuple):
    """What was exported.

    Attributes
    ----------
    inputs : list of dict
        For each input its `name`, the `kind` of the column and what values mean (`about`).
    outputs : list of str
    threshold : float
        Score above which `label` is 1.
    prior : float or None
        The class prior behind `probability`; None if there is no such output.
    agreement : Agreement
        How the file compares with the original in onnxruntime.
    """

    inputs: list[dict[str, str]]
    outputs: list[str]
    threshold: float
    prior: float | None
    agreement: Agreement


def export_onnx(
    model: Pipeline | PUClassifier,
    path: str | os.PathLike,
    *,
    threshold: float | None = None,
    prior: float | None = None,
    check: Any = None,
) -> Exported:
    """Write a fitted model as an ONNX file, after comparing it with the original in onnxruntime.

    The file has an input for each column that the model uses, and the outputs `score`, `label` and,
    if the model can tell it, `probability`. All are of shape (rows, 1), for any number of rows.
    If a score differs by more than 1e-5, no file is written.

    Parameters
    ----------
    model : Pipeline or PUClassifier
        A pipeline of `tables.TableInput` and a classifier. A classifier alone becomes a file with
        one input, `X`, of shape (rows, n_features).
    path : str or path-like
    threshold : float, optional
        Score above which `label` is 1; by default as `predict` decides.
    prior : float, optional
        The class prior for `probability`; by default the one that the model has.
    check : data frame or array, optional
        Rows to compare scores on; by default rows that are made up from what the model knows
        of its columns, with gaps, extremes and categories it has not seen.

    Returns
    -------
    Exported

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from mixpul import LogisticPUClassifier
    >>> from mixpul.deploy import export_onnx
    >>> from mixpul.tables import TableInput
    >>> table = pd.DataFrame({"size": [1.0, 2.0, 8.0, 9.0] * 10, "city": ["Oslo", "Rome"] * 20})
    >>> model = make_pipeline(TableInput(), LogisticPUClassifier(random_state=0))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.onnx"
    >>> exported = export_onnx(model.fit(table, table["size"] == 9), path)
    >>> [entry["name"] for entry in exported.inputs], exported.outputs
    (['size', 'city'], ['score', 'label'])
    >>> exported.agreement.difference < 1e-5
    True
    """
    import_onnx()
    table, classifier = _take_apart(model)
    rows = _choose_rows(table, classifier, check)
    known = None if not hasattr(classifier, "density_ratio_") else _find_prior(classifier, prior)
    if known is None and prior is not None:
        # Its own sentence says what is missing.
        classifier.calibrate(np.zeros(1), prior)
    graph = Graph()
    inputs, features = _add_inputs(graph, table, classifier)
    outputs = _add_outputs(graph, classifier, features, threshold, known)
    limit = 0.5 if threshold is None else float(threshold)
    facts = {
        "mixpul.version": mixpul.__version__,
        "mixpul.class": type(classifier).__name__,
        "mixpul.threshold": repr(limit),
        "mixpul.inputs": json.dumps(inputs),
        **({} if known is None else {"mixpul.prior": repr(known)}),
    }
    about = "Positive-unlabeled classifier; scores rank rows from 0 to 1."
    content = graph.finish("mixpul", about, facts).SerializeToString()
    agreement = _compare(content, table, classifier, rows, threshold, known)
    write_whole(path, content)
    return Exported(inputs, outputs, limit, known, agreement)


def _take_apart(model: Any) -> tuple[TableInput | None, PUClassifier]:
    """Return the table input, if there is one, and the classifier."""
    if isinstance(model, PUClassifier):
        check_is_fitted(model, "classes_")
        return None, model
    steps = [step for _, step in getattr(model, "steps", [])]
    if len(steps) == 2 and isinstance(steps[0], TableInput) and isinstance(steps[1], PUClassifier):
        check_is_fitted(steps[0])
        check_is_fitted(steps[1], "classes_")
        return steps[0], steps[1]
    named = ", ".join(type(step).__name__ for step in steps) or type(model).__name__
    raise MixpulError(
        "export_onnx takes a classifier of mixpul, or a Pipeline of a TableInput and such a "
        f"classifier; got {named}."
    )


def _find_prior(classifier: PUClassifier, prior: float | None) -> float | None:
    """Return the class prior for probabilities; None if none is known."""
    knows = hasattr(classifier, "class_prior_") or hasattr(classifier, "prior_")
    return classifier.find_class_prior(prior) if knows or prior is not None else None


def _add_inputs(
    graph: Graph, table: TableInput | None, classifier: PUClassifier
) -> tuple[list[dict[str, str]], str]:
    """Add the inputs, and what makes features of them."""
    if table is None:
        about = "rows of numbers as the classifier was fitted on"
        rows = graph.take_input("X", FLOAT, about, int(classifier.n_features_in_))
        graph.reserve(*OUTPUTS)
        return [{"name": "X", "kind": "numbers", "about": about}], rows
    features = add_features(graph, table.plan_)
    graph.reserve(*OUTPUTS)
    given = list_inputs(table.plan_)
    return [{"name": one.column, "kind": one.kind, "about": one.about} for one in given], features


def _add_outputs(
    graph: Graph,
    classifier: PUClassifier,
    features: str,
    threshold: float | None,
    prior: float | None,
) -> list[str]:
    """Add the classifier and what becomes of its logits; return the names of the outputs."""
    logits = add_logits(graph, classifier, features)
    score = graph.add("Sigmoid", logits)
    # Not by the score: in single precision the sigmoid of a tiny logit is exactly 0.5.
    is_positive = (
        graph.add("Greater", logits, np.float32(0))
        if threshold is None
        else graph.add("Greater", score, np.float32(threshold))
    )
    graph.give_output("score", score, FLOAT, "ranks rows, from 0 to 1")
    graph.give_output("label", graph.cast(is_positive, INT64), INT64, "1 for positive, else 0")
    if prior is None:
        return ["score", "label"]
    found = _add_probability(graph, classifier, graph.cast(logits, DOUBLE), prior)
    about = f"of being positive, if the class prior is {prior:.4g}"
    graph.give_output("probability", graph.cast(found, FLOAT), FLOAT, about)
    return list(OUTPUTS)


def _add_probability(graph: Graph, classifier: PUClassifier, logits: str, prior: float) -> str:
    """Add a line through the table of density ratios, drawn towards a sigmoid."""
    ratios = classifier.density_ratio_
    line = find_probability_line(ratios, prior, smooth=_is_smooth(classifier))
    found = graph.add("Min", interpolate(graph, logits, ratios[0], line.expected), np.float64(1))
    if line.share == 0:
        return found
    straight = graph.add("Mul", logits, np.float64(line.slope))
    curve = graph.add("Sigmoid", graph.add("Add", straight, np.float64(line.offset)))
    parts = [(found, 1 - line.share), (curve, line.share)]
    return graph.add("Sum", *(graph.add("Mul", own, np.float64(share)) for own, share in parts))


def _is_smooth(classifier: PUClassifier) -> bool:
    # As `PUClassifier.calibrate` decides.
    return not getattr(classifier, "has_repeats_", True)


def _choose_rows(table: TableInput | None, classifier: PUClassifier, check: Any) -> Any:
    """Return the rows to compare scores on."""
    if check is not None:
        return check[:MOST_COMPARED]
    if table is not None:
        list_inputs(table.plan_)  # refuses what cannot be exported
        return make_rows(table.plan_, MADE_UP, strange=0.5)
    shape = (1000, int(classifier.n_features_in_))
    return np.random.default_rng(0).normal(scale=2, size=shape).astype(np.float32)


def _compare(
    content: bytes,
    table: TableInput | None,
    classifier: PUClassifier,
    rows: Any,
    threshold: float | None,
    prior: float | None,
) -> Agreement:
    """Compare the file with the original on rows."""
    if table is None:
        features = np.asarray(rows, dtype=np.float32)
        inputs = {"X": features}
    else:
        features, inputs = table.transform(rows), to_inputs(rows, table.plan_)
    logits = classifier.decision_function(features)
    score = expit(logits)
    label = logits > 0 if threshold is None else score > threshold
    probability = None
    if prior is not None:
        wide = logits.astype(np.float64) + np.array([[-TOLERANCE], [TOLERANCE]])
        probability = to_probabilities(
            wide, classifier.density_ratio_, prior, smooth=_is_smooth(classifier)
        )
    limit = 0.5 if threshold is None else threshold
    return compare_scores(content, inputs, Original(score, np.asarray(label), probability), limit)
