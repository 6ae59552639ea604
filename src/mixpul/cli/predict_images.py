"""`mixpul predict-images`: score a folder of images."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixpul.cli._messages import note_skipped
from mixpul.cli.options import ModelArgument, ScoreOutputs

if TYPE_CHECKING:
    from mixpul.cli._image_models import ImageModel

__all__ = ["predict_images"]


def predict_images(
    model: ModelArgument,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Images to score.")],
    *,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder where features are kept, so that a run that was stopped goes on; by "
            "default MODEL.features, if it is there."
        ),
    ] = None,
    outputs: ScoreOutputs,
) -> None:
    """Score a folder of images of any size: columns `picture`, `score` and `predicted`.

    Example: [bold]mixpul predict-images cats.mixpul more -o scores.csv --threshold prior[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.cli._image_models import load_image_model
    from mixpul.cli._scores import check_score_outputs, write_scores
    from mixpul.cli._thresholds import find_threshold
    from mixpul.persistence import describe
    from mixpul.persistence.notes import check_notes

    check_score_outputs(outputs, [str(model)])
    loaded = load_image_model(model, cache)
    info = check_notes(describe(model)["info"])
    asked = outputs.threshold
    threshold = None if asked is None else find_threshold(asked, info)
    skipped: list[dict[str, str]] = []
    write_scores(
        _score(loaded, folder, outputs, threshold, skipped),
        outputs,
        threshold=threshold,
        unit="image",
        key="pictures",
        further={"skipped": skipped},
        shows_progress=True,
    )


def _score(
    model: "ImageModel",
    folder: Path,
    outputs: ScoreOutputs,
    threshold: float | None,
    skipped: list[dict[str, str]],
) -> Iterator[Any]:
    """Yield record batches; what was skipped on the way is said, and added to `skipped`."""
    from sklearn.pipeline import Pipeline

    from mixpul.tables.frames import import_tables
    from mixpul.tables.scoring import make_calibrator, make_scored_batch

    pa = import_tables()
    classifier = model.classifier
    last = classifier[-1] if isinstance(classifier, Pipeline) else classifier
    calibrate = make_calibrator(last, outputs.prior) if outputs.probability else None
    for part, rows in model.stream(folder):
        note_skipped(part.skipped)
        skipped += [one._asdict() for one in part.skipped]
        # All files of the last part may have been skipped.
        if part.names:
            names = {"picture": pa.array(part.names)}
            logits = classifier.decision_function(rows)
            yield make_scored_batch(names, logits, threshold, calibrate)
