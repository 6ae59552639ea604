"""One small network that scores rows in the place of a slower model; `_distilling` trains it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mixpul._util.schema import Array, Number, Record, Spec
from mixpul.methods._scaling import draw_in

__all__ = ["N_STEPS", "WIDTHS", "Student", "as_dense", "describe_student", "score_by_student"]

# Arrays by name: `centre`, `scale` and `is_heavy` of the columns, then `weight0`, `bias0`, ...
Student = dict[str, NDArray]

WIDTHS = (48, 48)
N_STEPS = 3000
# Wide products run at the full rate of the processor, and still fit into its cache; with less in
# a call, threads wait for each other at Python's lock.
ROWS_PER_BLOCK = 4096
# Times the scale: how far from zero a centre may be to be folded into the first layer.
FAR = 16.0


def describe_student(student: Any) -> dict[str, Spec]:
    """Return what a file may say of a student: layers that fit together."""
    names = student if isinstance(student, dict) else {}
    n_layers = sum(str(name).startswith("weight") for name in names)
    fields: dict[str, Spec] = {
        "centre": Array("float", ("n_columns",)),
        "scale": Array("float", ("n_columns",), low=float(np.finfo(np.float64).tiny)),
        "is_heavy": Array("bool", ("n_columns",)),
    }
    sizes: list[int | str] = ["n_columns", *(f"units{k}" for k in range(1, n_layers)), 1]
    for k in range(max(n_layers, 1)):
        fields[f"weight{k}"] = Array("float", (sizes[k + 1], sizes[k]))
        fields[f"bias{k}"] = Array("float", (sizes[k + 1],))
    share = Number(0, 1)
    agreement = {"rank_correlation": Number(-1, 1), "same_decision": share, "n_rows": Number(0)}
    return {"student_": Record(fields), "agreement_": Record(agreement)}


def score_by_student(student: Student, X: Any) -> NDArray[np.float32]:
    """Score rows; dense ones may lie in memory row by row or column by column.

    By numpy: to import torch takes longer than to score a million rows.
    """
    centre, layers, bias = _fold_layers(student)
    *hidden, (last, _) = layers
    heavy = np.flatnonzero(student["is_heavy"])
    scores = np.empty(X.shape[0], dtype=np.float32)
    # Made once: to allocate them for each block would take a fifth of the time. Least values are
    # repeated for each row, because numpy compares whole matrices twice as fast.
    n_made = min(ROWS_PER_BLOCK, X.shape[0])
    made = [
        (weight, np.repeat(least, n_made, axis=1), np.empty((len(weight), n_made), np.float32))
        for weight, least in hidden
    ]
    for start in range(0, X.shape[0], ROWS_PER_BLOCK):
        rows = as_dense(X[start : start + ROWS_PER_BLOCK])
        if len(heavy):
            rows = rows.copy()
            rows[:, heavy] = draw_in(rows[:, heavy])
        if centre.any():
            rows = rows - centre
        units = rows.T
        for weight, least, room in made:
            units = np.matmul(weight, units, out=room[:, : len(rows)])
            np.maximum(units, least[:, : len(rows)], out=units)
        scores[start : start + len(rows)] = (last @ units)[0]
    scores += bias
    return scores


def _fold_layers(
    student: Student,
) -> tuple[NDArray[np.float32], list[tuple[NDArray[np.float32], NDArray[np.float32]]], np.float32]:
    """Return what to subtract from columns, weights and least values by layer, and the last bias.

    The first layer also scales the columns. Centres far from zero are not folded into it: a column
    of large numbers that hardly differ would lose its digits. Columns of a prepared table have
    none. No bias is added before the end: max(h + b, 0) is max(h, -b) + b, and the next layer can
    add W b to its own bias once, instead of this one b to each row.
    """
    (weight, bias), *others = _list_layers(student)
    is_far = np.abs(student["centre"]) > FAR * student["scale"]
    centre = np.where(is_far, student["centre"], 0).astype(np.float32)
    divided = weight / student["scale"]
    bias = bias + divided @ (centre - student["centre"])
    folded = [(divided.astype(np.float32), -bias[:, None].astype(np.float32))]
    for weight, own in others:
        bias = own + weight.astype(np.float64) @ bias
        folded.append((weight.astype(np.float32), -bias[:, None].astype(np.float32)))
    return centre, folded, np.float32(bias[0])


def _list_layers(student: Student) -> list[tuple[NDArray, NDArray]]:
    return [
        (student[f"weight{k}"], student[f"bias{k}"])
        for k in range(sum(name.startswith("weight") for name in student))
    ]


def as_dense(X: Any) -> NDArray[np.float32]:
    """Return rows in single precision, dense."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)
