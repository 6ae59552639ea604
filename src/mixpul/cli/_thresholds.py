"""Where predictions are cut: a number, or a name to look up in the curve of the fit."""

from collections.abc import Mapping
from typing import Any

import typer

from mixpul.assess.thresholds import find_recall_threshold

__all__ = ["found_cut", "parsed_threshold"]


def parsed_threshold(text: str) -> float | str:
    """A number, 'prior' or 'recall=0.9'."""
    name, sign, number = text.partition("=")
    try:
        if text == "prior" or (name == "recall" and sign and 0 < float(number) <= 1):
            return text
        if 0 <= float(text) <= 1:
            return float(text)
    except ValueError:
        pass
    raise typer.BadParameter(
        f"--threshold is a number from 0 to 1, prior, or recall=SHARE such as recall=0.9; got "
        f"{text!r}."
    )


def found_cut(asked: float | str, info: Mapping[str, Any]) -> float:
    """The cut itself; by name it is read from the curve that was measured at fit."""
    if isinstance(asked, float):
        return asked
    curve = info.get("thresholds")
    if curve is None:
        raise ValueError(
            f"The model file has no curve to find the cut for {asked!r} in; give a number, or "
            "fit the model with `mixpul fit` or `mixpul fit-images`."
        )
    if asked == "prior":
        return float(curve["suggested"]["prior"])
    return find_recall_threshold(
        curve["threshold"], curve["recall"], float(asked.removeprefix("recall="))
    )
