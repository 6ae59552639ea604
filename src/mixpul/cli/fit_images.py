"""`mixpul fit-images`: learn from a user's own folders of images."""

import warnings
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixpul.cli._messages import choose_verbosity, note, note_skipped, speak_warnings
from mixpul.cli._outputs import check_outputs
from mixpul.cli.options import (
    FitOutputs,
    ImageMethod,
    ImageNet,
    KnownPrior,
    SeedOption,
    SetOption,
)

if TYPE_CHECKING:
    from mixpul.assess import Source
    from mixpul.images import LabeledImages

__all__ = ["fit_images"]

MOST_NAMES = 10
SET_OTHERWISE = {
    "net": "use --net",
    "model": "images are learned by networks only",
    "pos_label": "the folders say which images are positive",
}


class Odd(StrEnum):
    """What to do with images of another size."""

    resize = "resize"
    skip = "skip"


def fit_images(
    positive: Annotated[
        Path, typer.Argument(metavar="POSITIVE", help="Folder of images known to be positive.")
    ],
    unlabeled: Annotated[
        Path, typer.Argument(metavar="UNLABELED", help="Folder of images nobody has labeled.")
    ],
    *,
    size: Annotated[
        int, typer.Option(min=8, help="Height and width in pixels to learn from.")
    ] = 32,
    odd: Annotated[Odd, typer.Option(help="What to do with images of another size.")] = Odd.resize,
    method: Annotated[ImageMethod, typer.Option(help="How to learn.")] = ImageMethod["mixpul"],
    net: Annotated[
        ImageNet, typer.Option(help="Network; allconv13 is large, made for a GPU.")
    ] = ImageNet["small-conv"],
    settings: SetOption = None,
    known: KnownPrior,
    seed: SeedOption = 0,
    outputs: FitOutputs,
) -> None:
    """Learn from a folder of known positives and one of unlabeled images; say how good it is.

    Example: [bold]mixpul fit-images cats photos -o cats.mixpul --report cats.html[/bold]

    On several GPUs: [bold]torchrun --nproc-per-node 4 -m mixpul fit-images ...[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.cli._ranks import join_quietly
    from mixpul.cli._results import assess_and_save, show_results
    from mixpul.cli._settings import make_classifier
    from mixpul.images.defaults import SETTINGS_BY_METHOD

    defaults = SETTINGS_BY_METHOD[method] | {"net": net.value}
    classifier = make_classifier(
        method, settings, seed, defaults=defaults, set_otherwise=SET_OTHERWISE
    )
    check_outputs(outputs.list_files(), [], outputs.force)
    with join_quietly() as is_main:
        with speak_warnings() as spoken:
            data = _read_images(positive, unlabeled, size, odd)
        _set_epochs(classifier, data, settings)
        found = assess_and_save(
            classifier,
            data.pixels,
            data.is_positive,
            ids=data.names,
            source=_describe_source(positive, unlabeled, odd, data, spoken),
            known=known,
            seed=seed,
            path=outputs.model if is_main else None,
            info={"pictures": {"size": size, "odd": odd}},
        )
    if is_main:
        show_results(found, outputs, f"{size} x {size} pixels")
        _write_report(found.to_dict(), unlabeled, outputs)


def _write_report(content: dict[str, Any], unlabeled: Path, outputs: FitOutputs) -> None:
    from mixpul.cli._results import write_page
    from mixpul.pages import render_fit_page

    def render() -> str:
        return render_fit_page(content, thumbnails=_make_thumbnails(content, unlabeled))

    if outputs.report is not None:
        write_page(render, outputs)


def _read_images(positive: Path, unlabeled: Path, size: int, odd: Odd) -> "LabeledImages":
    """Read both folders; say what was left out and what is doubtful."""
    from mixpul.images import label_images

    data = label_images(positive, unlabeled, size=size, odd=odd, verbose=choose_verbosity())
    note_skipped(data.skipped)
    if data.twins:
        n_more = len(data.twins) - MOST_NAMES
        names = ", ".join(data.twins[:MOST_NAMES]) + (f" and {n_more:,} more" if n_more > 0 else "")
        note(f"In both folders, so taken as positive only: {names}.")
    for sentence in data.warnings:
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return data


def _set_epochs(classifier: Any, data: "LabeledImages", settings: list[str] | None) -> None:
    """Train as long as the number of images asks for, unless --set says how long."""
    from mixpul.images.defaults import count_image_epochs

    # Only now: settings are checked before the images are read and counted.
    if any(setting.startswith("n_epochs=") for setting in settings or ()):
        return
    n_epochs = count_image_epochs(
        int((~data.is_positive).sum()),
        batch_size=classifier.batch_size,
        cross_fitting=classifier.cross_fitting,
    )
    classifier.set_params(n_epochs=n_epochs)


def _describe_source(
    positive: Path, unlabeled: Path, odd: Odd, data: "LabeledImages", spoken: list[str]
) -> "Source":
    """Return what the page should know about the folders."""
    from mixpul.assess import Source
    from mixpul.cli._inputs import quote_command

    return Source(
        # Resolved, because the name of '.' is empty.
        name=f"{positive.resolve().name} and {unlabeled.resolve().name}",
        fingerprint=data.fingerprint,
        command=quote_command(),
        warnings=spoken,
        odd=odd,
        n_resized=data.n_resized,
        twins=data.twins,
        skipped=data.skipped,
    )


def _make_thumbnails(content: Mapping[str, Any], unlabeled: Path) -> dict[str, str]:
    """Return thumbnails of the unlabeled images that the page names."""
    from mixpul.images import make_thumbnails

    names = [entry["id"] for entry in content["top"] + content["bottom"]]
    # From the files again: images of --size may be too small for the eye.
    made = make_thumbnails(unlabeled / name for name in names)
    return {name: one for name, one in zip(names, made, strict=True) if one is not None}
