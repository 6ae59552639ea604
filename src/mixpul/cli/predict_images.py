"""`mixpul predict-images`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mixpul import load
from mixpul.base import PUClassifier
from mixpul.cli._scored import asked_threshold, write_scores
from mixpul.cli._thresholds import found_cut
from mixpul.cli.fit_images import tell_skipped
from mixpul.images import Images, stream_images
from mixpul.persistence import describe
from mixpul.tables.frames import import_tables
from mixpul.tables.scoring import scored_columns

__all__ = ["predict_images"]


def predict_images(
    model: Path, folder: Path, *, out: str, threshold: str | None, force: bool, as_json: bool
) -> None:
    """Score the pictures of a folder of any size, some hundred at a time."""
    inputs = [str(model)]
    asked = asked_threshold(threshold, out=out, inputs=inputs, force=force, as_json=as_json)
    classifier, size = _load(model)
    info = describe(model)["info"]
    cut = None if asked is None else found_cut(asked, info)
    odd = info.get("pictures", {}).get("odd", "resize")
    skipped: list[dict[str, str]] = []
    write_scores(
        _scored(classifier, stream_images(folder, size=size, odd=odd), cut, skipped),
        out=out,
        cut=cut,
        as_json=as_json,
        unit="picture",
        more={"skipped": skipped},
    )


def _load(path: Path) -> tuple[PUClassifier, int]:
    """The classifier, and the size of its pictures."""
    classifier = load(path)
    if isinstance(classifier, Pipeline):
        raise ValueError(
            f"{str(path)!r} was fitted on a table and takes no pictures; score a table with "
            "`mixpul predict`."
        )
    size = classifier._row_shape[-1]
    if classifier._row_dtype != np.uint8 or classifier._row_shape != (3, size, size):
        raise ValueError(
            f"{str(path)!r} takes rows of shape {classifier._row_shape}, not square pictures in "
            "colour; fit one with `mixpul fit-images`."
        )
    return classifier, size


def _scored(
    classifier: PUClassifier,
    parts: Iterable[Images],
    cut: float | None,
    skipped: list[dict[str, str]],
) -> Iterator[Any]:
    """Record batches; what was skipped on the way is told, and added to `skipped`."""
    pa = import_tables()
    for part in parts:
        tell_skipped(part.skipped)
        skipped += [one._asdict() for one in part.skipped]
        if part.names:
            names = {"picture": pa.array(part.names)}
            yield scored_columns(names, classifier.decision_function(part.pixels), cut)
