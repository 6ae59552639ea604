"""`mixpul predict-images`: score a folder of images."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixpul.cli._messages import note_skipped
from mixpul.cli.options import ModelArgument, ScoreOutputs

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from mixpul.base import PUClassifier
    from mixpul.images import Images

__all__ = ["load_image_model", "predict_images"]


def predict_images(
    model: ModelArgument,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Images to score.")],
    outputs: ScoreOutputs,
) -> None:
    """Score a folder of images of any size: columns `picture`, `score` and `predicted`.

    Example: [bold]mixpul predict-images cats.mixpul more -o scores.csv --threshold prior[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.cli._scores import check_score_outputs, write_scores
    from mixpul.cli._thresholds import find_threshold
    from mixpul.images import stream_images
    from mixpul.persistence import describe
    from mixpul.persistence.notes import check_notes

    check_score_outputs(outputs, [str(model)])
    classifier, size = load_image_model(model)
    info = check_notes(describe(model)["info"])
    asked = outputs.threshold
    threshold = None if asked is None else find_threshold(asked, info)
    # A model that was saved from Python does not say what to do with other sizes.
    parts = stream_images(folder, size=size, odd=info.get("pictures", {}).get("odd", "resize"))
    skipped: list[dict[str, str]] = []
    write_scores(
        _score(classifier, parts, outputs, threshold, skipped),
        outputs,
        threshold=threshold,
        unit="image",
        key="pictures",
        further={"skipped": skipped},
    )


def load_image_model(path: Path) -> "tuple[PUClassifier | Pipeline, int]":
    """Return the classifier of a model file, and the size of its images."""
    import numpy as np
    from sklearn.pipeline import Pipeline

    from mixpul import load
    from mixpul.images import ImageFeatures

    classifier = load(path)
    if isinstance(classifier, Pipeline) and isinstance(classifier[0], ImageFeatures):
        # Now: missing weights should not cost the reading of a folder.
        classifier[0].find_extractor()
        return classifier, classifier[0].size
    if isinstance(classifier, Pipeline):
        raise ValueError(
            f"{str(path)!r} was fitted on a table and does not take images; score a table with "
            "`mixpul predict`."
        )
    size = classifier._row_shape[-1]
    if classifier._row_dtype != np.uint8 or classifier._row_shape != (3, size, size):
        raise ValueError(
            f"{str(path)!r} takes rows of shape {classifier._row_shape}, not square images in "
            "colour; fit one with `mixpul fit-images`."
        )
    return classifier, size


def _score(
    classifier: "PUClassifier | Pipeline",
    parts: "Iterable[Images]",
    outputs: ScoreOutputs,
    threshold: float | None,
    skipped: list[dict[str, str]],
) -> Iterator[Any]:
    """Yield record batches; what was skipped on the way is said, and added to `skipped`."""
    from sklearn.pipeline import Pipeline

    from mixpul.tables.frames import import_tables
    from mixpul.tables.scoring import make_calibrator, make_scored_batch

    pa = import_tables()
    last = classifier[-1] if isinstance(classifier, Pipeline) else classifier
    calibrate = make_calibrator(last, outputs.prior) if outputs.probability else None
    for part in parts:
        note_skipped(part.skipped)
        skipped += [one._asdict() for one in part.skipped]
        # All files of the last part may have been skipped.
        if part.names:
            names = {"picture": pa.array(part.names)}
            logits = classifier.decision_function(part.pixels)
            yield make_scored_batch(names, logits, threshold, calibrate)
