"""Compare an exported model with the original."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import MixpulError
from mixpul.deploy.onnx._graph import import_onnx
from mixpul.tables.plans import as_numbers

__all__ = ["TOLERANCE", "Agreement", "Original", "compare_scores", "to_inputs"]

# How far a score or a probability may be from ours.
TOLERANCE = 1e-5


class Original(NamedTuple):
    """What our own model says of some rows.

    Probabilities, where it has them, are two lines: of logits a little lower, and a little higher.
    They grow steeply where scores of training rows were close together, so that logits which are
    equal for all purposes have probabilities that are not.
    """

    score: NDArray[np.float32]
    label: NDArray[np.bool_]
    probability: NDArray[np.float64] | None


class Agreement(NamedTuple):
    """How an exported model compares with the original.

    Attributes
    ----------
    rows : int
        Rows that were compared.
    difference : float
        The largest difference of a score or a probability.
    labels : int
        Rows with another label. Their scores are within the tolerance of the threshold.
    """

    rows: int
    difference: float
    labels: int


def to_inputs(frame: Any, plans: list[dict[str, Any]]) -> dict[str, NDArray]:
    """Return columns of a frame as the inputs of an exported model, (rows, 1)."""
    inputs = {}
    for plan in plans:
        name = plan["column"]
        column = frame[name]
        if plan["kind"] == "text":
            texts = column.astype(object).where(column.notna(), "")
            values = np.array([str(text) for text in texts], dtype=object)
        else:
            values = as_numbers(column, plan["kind"], name, plan.get("style"))
        inputs[name] = values[:, None]
    return inputs


def compare_scores(
    content: bytes, inputs: Mapping[str, NDArray], original: Original, threshold: float
) -> Agreement:
    """Score rows by an exported model; refuse it if it disagrees with the original."""
    _, onnxruntime = import_onnx()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(names, dict(inputs)), strict=True))
    away = np.abs(found["score"][:, 0].astype(np.float64) - original.score)
    is_close = np.abs(original.score.astype(np.float64) - threshold) <= TOLERANCE
    differs = (found["label"][:, 0] == 1) != original.label
    by_probability = np.zeros(1)
    if original.probability is not None:
        low, high = original.probability
        own = found["probability"][:, 0].astype(np.float64)
        by_probability = np.maximum(np.maximum(low - own, own - high), 0)
    # NaN is the largest of all, and refused.
    away = np.maximum(away, by_probability)
    k = int(np.argmax(away))
    if not away[k] <= TOLERANCE or (differs & ~is_close).any():
        raise MixpulError(
            f"The exported model disagrees with the original by {away[k]:.2g} in row {k} of "
            f"{len(away):,} and in {(differs & ~is_close).sum()} labels, so no file was written; "
            "please report it, and score with `mixpul predict` or `mixpul serve`."
        )
    return Agreement(len(away), float(away[k]), int(differs.sum()))
