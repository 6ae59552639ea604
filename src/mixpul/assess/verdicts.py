"""What people say of rows: yes, no or unsure, and nothing where nobody has answered yet."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import MixpulError

__all__ = ["NO", "UNSURE", "WORDS", "YES", "check_verdicts", "read_verdict"]

YES, NO, UNSURE = "yes", "no", "unsure"
# All that is accepted, in any case and with any space around it.
WORDS = {"yes": YES, "y": YES, "no": NO, "n": NO, "unsure": UNSURE, "u": UNSURE, "": ""}


def read_verdict(text: Any) -> str:
    """Return 'yes', 'no', 'unsure', or '' if there is no answer yet; refuse other words.

    Examples
    --------
    >>> from mixpul.assess.verdicts import read_verdict
    >>> [read_verdict(text) for text in (" Yes", "N", "unsure ", "")]
    ['yes', 'no', 'unsure', '']
    """
    word = WORDS.get(str(text).strip().lower())
    if word is None:
        raise MixpulError(
            f"A verdict is yes, no or unsure (or y, n, u), or empty where nobody has answered; "
            f"got {str(text)!r}."
        )
    return word


def check_verdicts(verdicts: Any) -> NDArray[np.str_]:
    """Return verdicts as an array of 'yes', 'no', 'unsure' and ''; booleans are yes and no."""
    values = np.asarray(verdicts)
    if values.ndim != 1:
        raise MixpulError(f"verdicts must be one entry per row; got the shape {values.shape}.")
    if values.dtype == bool:
        return np.where(values, YES, NO)
    return np.array([read_verdict(value) for value in values.tolist()], dtype="<U6")
