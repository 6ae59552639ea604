"""Arrays in files that nobody sees: the system can take their memory back when it is needed."""

import tempfile

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["make_on_disk"]


def make_on_disk(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Make an array of zeros in a temporary file, which is gone when the array is.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul._util.scratch import make_on_disk
    >>> rows = make_on_disk((2, 3), np.float16)
    >>> rows[1] = 7
    >>> float(rows.sum())
    21.0
    """
    if 0 in shape:  # a file of no bytes cannot be mapped
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile() as file:
        return np.asarray(np.memmap(file, dtype, "w+", shape=shape))
