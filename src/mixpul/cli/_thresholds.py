"""The threshold of predictions: a number, or a name to look up in the curve of the fit."""

from collections.abc import Mapping
from typing import Any

from mixpul.assess.thresholds import find_recall_threshold

__all__ = ["find_threshold"]


def find_threshold(asked: float | str, info: Mapping[str, Any]) -> float:
    """Return the number that was typed, or that of 'prior' or 'recall=SHARE' at the fit."""
    if isinstance(asked, float):
        return asked
    curve = info.get("thresholds")
    if curve is None:
        raise ValueError(
            f"The model file has no curve to find the threshold for {asked!r} in; give a number, "
            "or fit the model with `mixpul fit` or `mixpul fit-images`."
        )
    if asked == "prior":
        return float(curve["suggested"]["prior"])
    wanted = float(asked.removeprefix("recall="))
    return find_recall_threshold(curve["threshold"], curve["recall"], wanted)
