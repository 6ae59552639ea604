"""The threshold of predictions: a number, or a name to look up in what the fit has found."""

from collections.abc import Mapping
from typing import Any

from mixpul.assess.thresholds import find_promised_threshold, find_recall_threshold

__all__ = ["find_threshold"]


def find_threshold(asked: float | str, info: Mapping[str, Any]) -> float:
    """Return the number that was typed, or what a name such as 'prior' meant at the fit."""
    if isinstance(asked, float):
        return asked
    curve = info.get("thresholds")
    if curve is None:
        raise ValueError(
            f"The model file has no curve to find the threshold for {asked!r} in; give a number, "
            "or fit the model with `mixpul fit` or `mixpul fit-images`."
        )
    if asked.startswith("recall>="):
        if "lowest" not in curve:
            raise ValueError(
                f"The model file was written before {asked!r} could be asked for; fit the model "
                "again, or use recall=SHARE."
            )
        return find_promised_threshold(curve["lowest"], float(asked.removeprefix("recall>=")))
    if asked.startswith("recall="):
        wanted = float(asked.removeprefix("recall="))
        return find_recall_threshold(curve["threshold"], curve["recall"], wanted)
    return float(curve["suggested"][asked])
