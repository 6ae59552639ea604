"""What steps of scikit-learn hold, as JSON beside numbered tensors, and back.

A value in a file is plain (None, true, a number, a text), a list, or an object with one mark that
says what it stands for. Nothing else is read.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import feature_selection

__all__ = ["NotStorable", "decode_value", "encode_value"]

# The most bytes of an array of fixed-width text: in one, a single long text makes all others long.
MOST_BYTES_OF_TEXT = 2**26
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
DTYPES = {
    name: np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "object",
    )
}  # fmt: skip
# The functions that a file may name. They map numbers to numbers, and do nothing else.
FUNCTIONS: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "abs", "arcsinh", "arctan", "cbrt", "cos", "exp", "expm1", "log", "log10", "log1p", "log2",
        "negative", "reciprocal", "sign", "sin", "sqrt", "square", "tanh",
    )
} | {
    name: getattr(feature_selection, name)
    for name in (
        "chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression",
        "r_regression",
    )
}  # fmt: skip


class NotStorable(TypeError):
    """A value that has no form in a file; its message says what it is."""


def encode_value(value: Any, tensors: list[NDArray]) -> Any:
    """Return a value as JSON; numeric arrays are added to `tensors`."""
    if isinstance(value, np.ndarray):
        return _encode_array(value, tensors)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, list | tuple):
        entries = [encode_value(entry, tensors) for entry in value]
        return {"tuple": entries} if isinstance(value, tuple) else entries
    if isinstance(value, slice):
        return {"slice": [encode_value(v, tensors) for v in (value.start, value.stop, value.step)]}
    if isinstance(value, dict):
        return {"items": [[k, encode_value(v, tensors)] for k, v in value.items()]}
    if isinstance(value, np.dtype | type):
        return _encode_dtype(value)
    if callable(value):
        for name, function in FUNCTIONS.items():
            if value is function:
                return {"function": name}
        raise NotStorable("a function of your own")
    raise NotStorable(f"of the class {type(value).__name__}")


def decode_value(value: Any, tensors: dict[str, NDArray]) -> Any:
    """Return what JSON stands for."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list):
        return [decode_value(entry, tensors) for entry in value]
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError("a value in it is of no known form.")
    mark, content = next(iter(value.items()))
    if mark not in DECODERS:
        raise ValueError("a value in it is of no known form.")
    return DECODERS[mark](content, tensors)


def _encode_array(array: NDArray, tensors: list[NDArray]) -> Any:
    kind = array.dtype.kind
    if kind in "biuf" and array.dtype.isnative and array.dtype.name in DTYPES:
        # The layout is kept: a product of matrices may differ in the last bit with another one.
        is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        stored = array.T if is_fortran else array
        # Copied: `pack_steps` puts steps together of it, which must not share it with the model's.
        tensors.append(np.array(stored, order="C"))
        return {"transposed" if is_fortran else "tensor": len(tensors) - 1}
    if kind == "U" and array.ndim == 1:
        if array.nbytes > MOST_BYTES_OF_TEXT:
            raise NotStorable("an array of very long texts")
        return {"texts": array.tolist()}
    if kind == "O" and array.ndim == 1:
        if len(array) and all(isinstance(entry, np.ndarray) for entry in array):
            return [_encode_array(entry, tensors) for entry in array]
        return {"objects": [encode_value(entry, tensors) for entry in array.tolist()]}
    raise NotStorable(f"an array of {array.dtype.name}")


def _encode_dtype(value: Any) -> dict[str, str]:
    try:
        name = np.dtype(value).name
    except TypeError:
        name = ""
    if name not in DTYPES:
        raise NotStorable(f"the type {value!r}")
    # A type such as np.float64 and the dtype of it are not the same to every user of them.
    return {"dtype" if isinstance(value, np.dtype) else "type": name}


def _decode_tensor(content: Any, tensors: dict[str, NDArray]) -> NDArray:
    tensor = tensors.get(f"{content}")
    if isinstance(content, bool) or not isinstance(content, int) or tensor is None:
        raise ValueError("an array of a step is missing.")
    return tensor


def _decode_texts(content: Any, tensors: dict[str, NDArray]) -> NDArray:
    if not isinstance(content, list) or not all(isinstance(text, str) for text in content):
        raise ValueError("texts of a step are not text.")
    # Four bytes per character of the longest.
    if 4 * len(content) * max(map(len, content), default=0) > MOST_BYTES_OF_TEXT:
        raise ValueError("texts of a step are too long.")
    return np.array(content, dtype=str)


def _decode_objects(content: Any, tensors: dict[str, NDArray]) -> NDArray:
    entries = _decode_list(content, tensors)
    if not all(entry is None or isinstance(entry, bool | int | float | str) for entry in entries):
        raise ValueError("values of a step are neither text nor numbers.")
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array


def _decode_list(content: Any, tensors: dict[str, NDArray]) -> list[Any]:
    if not isinstance(content, list):
        raise ValueError("a list of a step is not one.")
    return [decode_value(entry, tensors) for entry in content]


def _decode_slice(content: Any, tensors: dict[str, NDArray]) -> slice:
    ends = _decode_list(content, tensors)
    if len(ends) != 3 or not all(end is None or isinstance(end, int | str) for end in ends):
        raise ValueError("a range of columns is not one.")
    return slice(*ends)


def _decode_items(content: Any, tensors: dict[str, NDArray]) -> dict[Any, Any]:
    entries = _decode_list(content, tensors)
    if not all(isinstance(e, list) and len(e) == 2 and isinstance(e[0], str) for e in entries):
        raise ValueError("a mapping of a step is not one.")
    return dict(entries)


DECODERS: dict[str, Any] = {
    "number": lambda content, tensors: NOT_FINITE[content],
    "tensor": _decode_tensor,
    "transposed": lambda content, tensors: _decode_tensor(content, tensors).T,
    "texts": _decode_texts,
    "objects": _decode_objects,
    "tuple": lambda content, tensors: tuple(_decode_list(content, tensors)),
    "slice": _decode_slice,
    "items": _decode_items,
    "dtype": lambda content, tensors: DTYPES[content],
    "type": lambda content, tensors: DTYPES[content].type,
    "function": lambda content, tensors: FUNCTIONS[content],
}
