"""Tensors of torch as arrays, as files have them, and back."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["to_arrays", "to_tensors"]


def to_arrays(tensors: Mapping[str, Tensor]) -> dict[str, NDArray]:
    """Copy tensors, wherever they are, to arrays that no training changes any more."""
    return {name: _to_array(name, tensor) for name, tensor in tensors.items()}


def to_tensors(arrays: Mapping[str, NDArray]) -> dict[str, Tensor]:
    """View arrays as tensors."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _to_array(name: str, tensor: Tensor) -> NDArray:
    try:
        return np.array(tensor.detach().cpu().numpy(), order="C")
    # numpy has no such type: bfloat16, say.
    except TypeError as error:
        raise TypeError(
            f"{name!r} is {tensor.dtype}, which cannot be stored; use float32."
        ) from error
