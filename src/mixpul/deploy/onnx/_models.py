"""Classifiers as operations of a graph: from features to raw scores, and on to logits."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul._names import METHODS
from mixpul._util.errors import MixpulError
from mixpul.base import PUClassifier
from mixpul.deploy.onnx._graph import DOUBLE, FLOAT, Graph
from mixpul.deploy.onnx._lookup import interpolate
from mixpul.deploy.onnx._nets import add_net
from mixpul.deploy.onnx._trees import Forest, add_trees

__all__ = ["add_logits"]


def add_logits(graph: Graph, model: PUClassifier, rows: str) -> str:
    """Add a classifier; return what `decision_function` does, (rows, 1) in single precision.

    Raw scores have the precision that they have in `model`, and are rounded at the same places:
    what combines them may be steep.
    """
    raw, kind = _find_adder(model)(graph, model, rows)
    number = np.float64 if kind == DOUBLE else np.float32
    centred = graph.add("Sub", raw, number(model.threshold_))
    scaled = centred if model._slope == 1 else graph.add("Mul", centred, number(model._slope))
    return scaled if kind == FLOAT else graph.cast(scaled, FLOAT)


Adder = Callable[[Graph, Any, str], tuple[str, int]]


def _find_adder(model: PUClassifier) -> Adder:
    if len(model._row_shape) > 1:
        raise MixpulError("Models of images are not exported to ONNX; those of tables are.")
    if hasattr(model, "net_"):
        return _add_neural
    if hasattr(model, "student_"):
        return _add_student
    adder = ADDERS.get(type(model).__name__)
    if adder is None or any(not hasattr(model, name) for name in model._list_needed()):
        named = ", ".join(name for name in METHODS if METHODS[name].__name__ in ADDERS)
        raise MixpulError(
            f"A {type(model).__name__} of this kind is not exported to ONNX; fit with another "
            f"method ({named}, or one that trains networks), or use `mixpul serve`."
        )
    return adder


def _add_neural(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    return add_net(graph, model.net_, rows), FLOAT


def _take_trees(model: Any) -> Forest:
    return Forest(*(getattr(model, f"tree_{name}_") for name in Forest._fields))


def _add_supervised(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    # Numbers as small as this count as 0, as for LightGBM.
    is_tiny = graph.add("LessOrEqual", graph.add("Abs", rows), np.float32(1e-35))
    rows = graph.add("Where", is_tiny, np.float32(0), rows)
    return graph.cast(add_trees(graph, _take_trees(model), rows), FLOAT), FLOAT


def _add_bagging(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    total = add_trees(graph, _take_trees(model), rows)
    smooth = graph.add("Add", total, np.float64(0.5))
    share = graph.add("Div", smooth, np.float64(model.n_estimators + 1))
    odds = graph.add("Div", share, graph.add("Sub", np.float64(1), share))
    return graph.cast(graph.add("Log", odds), FLOAT), FLOAT


def _add_boosting(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    total = add_trees(graph, _take_trees(model), rows)
    return graph.cast(graph.add("Div", total, np.float64(model.n_estimators)), FLOAT), FLOAT


def _add_logistic(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    rows = graph.cast(rows, DOUBLE)
    if model.n_landmarks:
        slope = 1 / (model.width**2 * model.landmarks_.shape[1])
        rows = _add_kernel(graph, rows, model.landmarks_, slope)
    total = graph.add("MatMul", rows, np.asarray(model.coef_, np.float64)[:, None])
    return graph.add("Add", total, np.float64(model.intercept_)), DOUBLE


def _add_pu_auc(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    return _add_basis(graph, model.centres_, model.width_, model.coef_, 0.0, rows), DOUBLE


def _add_upu_kernel(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    total = _add_basis(graph, model.centres_, model.width_, model.coef_, model.intercept_, rows)
    return graph.cast(total, FLOAT), FLOAT


def _add_wsvm(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    width = (2 * model.gamma_) ** -0.5
    margins = _add_basis(
        graph, model.support_vectors_, width, model.dual_coef_, model.intercept_, rows
    )
    slope, offset = map(np.float64, model.sigmoid_)
    scaled = graph.add("Add", graph.add("Mul", margins, slope), offset)
    return graph.cast(scaled, FLOAT), FLOAT


def _add_basis(
    graph: Graph, centres: NDArray, width: float, coef: NDArray, intercept: float, rows: str
) -> str:
    """Add a sum of Gaussian basis functions, around the mean of their centres."""
    middle = centres.mean(axis=0)
    shifted = graph.add("Sub", graph.cast(rows, DOUBLE), middle.astype(np.float64)[None])
    kernel = _add_kernel(graph, shifted, centres - middle, 1 / (2 * float(width) ** 2))
    total = graph.add("MatMul", kernel, np.asarray(coef, np.float64)[:, None])
    return graph.add("Add", total, np.float64(intercept))


def _add_kernel(graph: Graph, rows: str, centres: NDArray, slope: float) -> str:
    """Add the Gaussian kernel of rows in double precision with each centre."""
    centres = np.asarray(centres, np.float64)
    own = graph.add("ReduceSum", graph.add("Mul", rows, rows), np.array([1]))
    squares = graph.add("Add", own, (centres**2).sum(axis=1)[None])
    distances = graph.add("Add", squares, graph.add("MatMul", rows, -2 * centres.T))
    return graph.add("Exp", graph.add("Mul", graph.add("Relu", distances), np.float64(-slope)))


def _add_portfolio(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    """Add the members on scaled rows, their normal scores, and the weighted sum of these."""
    scaled = _add_scaling(graph, rows, model.column_centre_, model.column_scale_, model.is_heavy_)
    parts = []
    for name, (weight, knots, values) in model.list_score_lines().items():
        own = graph.cast(add_logits(graph, model.members_[name], scaled), DOUBLE)
        parts.append(graph.add("Mul", interpolate(graph, own, knots, values), np.float64(weight)))
    return graph.cast(graph.add("Sum", *parts), FLOAT), FLOAT


def _add_student(graph: Graph, model: Any, rows: str) -> tuple[str, int]:
    """Add the one network that has learned the scores of a model."""
    student = model.student_
    hidden = _add_scaling(graph, rows, student["centre"], student["scale"], student["is_heavy"])
    n_layers = sum(name.startswith("weight") for name in student)
    for k in range(n_layers):
        weight, bias = (
            np.asarray(student[f"{part}{k}"], np.float32) for part in ("weight", "bias")
        )
        hidden = graph.add("Gemm", hidden, weight, bias, transB=1)
        hidden = graph.add("Relu", hidden) if k < n_layers - 1 else hidden
    return hidden, FLOAT


def _add_scaling(
    graph: Graph, rows: str, centre: NDArray, scale: NDArray, is_heavy: NDArray[np.bool_]
) -> str:
    """Add the scaling of columns, whose heavy tails pass through a signed logarithm."""
    rows = graph.cast(rows, DOUBLE)
    # Empty where the columns of a large sparse table are only divided.
    if is_heavy.any():
        sizes = graph.add("Log", graph.add("Add", graph.add("Abs", rows), np.float64(1)))
        drawn_in = graph.add("Mul", graph.add("Sign", rows), sizes)
        rows = graph.add("Where", is_heavy[None], drawn_in, rows)
    centred = graph.add("Sub", rows, np.asarray(centre, np.float64)[None])
    return graph.cast(graph.add("Div", centred, np.asarray(scale, np.float64)[None]), FLOAT)


# By the name of the class, so that none is imported that the model does not need.
ADDERS: dict[str, Adder] = {
    "AutoPUClassifier": _add_portfolio,
    "BaggingPUClassifier": _add_bagging,
    "BoostingPUClassifier": _add_boosting,
    "LogisticPUClassifier": _add_logistic,
    "PUAUCClassifier": _add_pu_auc,
    "SupervisedClassifier": _add_supervised,
    "UPUClassifier": _add_upu_kernel,
    "RampClassifier": _add_upu_kernel,
    "WeightedSVMClassifier": _add_wsvm,
}
