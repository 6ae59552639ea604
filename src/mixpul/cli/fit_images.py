"""`mixpul fit-images`: learn from a user's own folders of images."""

import warnings
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from mixpul._names import IMAGE_METHODS
from mixpul._util.processes import is_one_of_several
from mixpul.cli._image_models import name_cache
from mixpul.cli._messages import choose_verbosity, note, note_skipped, speak_warnings
from mixpul.cli._outputs import check_outputs
from mixpul.cli.options import (
    Features,
    FitOutputs,
    ImageNet,
    KnownPrior,
    Method,
    SeedOption,
    SetOption,
)

if TYPE_CHECKING:
    from mixpul.assess import Source
    from mixpul.images import ImageFeatures, LabeledImages, NearCopy

__all__ = ["fit_images"]

MOST_NAMES = 10
MOST_COPIES = 24  # on the page
NO_LABEL = {"pos_label": "the folders say which images are positive"}
OF_NETWORK = {"net": "use --net", "model": "images are learned by networks only"} | NO_LABEL
# What is learned from, if nothing is asked for and its weights are installed.
DEFAULT_FEATURES = "efficientnet-lite0"
# How they were chosen: docs/explanation/decisions.md.
DEFAULT_METHOD, DEFAULT_NETWORK_METHOD, DEFAULT_NET = "mixpul", "mixpul", "small-conv"
NETWORK_SIZE, LEAST_FEATURE_SIZE = 32, 32


class Odd(StrEnum):
    """What to do with images of another size."""

    resize = "resize"
    skip = "skip"


class Learning(NamedTuple):
    """What is learned from the images, and how."""

    features: Annotated[
        Features | None,
        typer.Option(
            help="Learn from features by a network that was trained on other images, the default "
            "if mixpul\\[pretrained] is installed; none trains a small network instead."
        ),
    ] = None
    size: Annotated[
        int | None,
        typer.Option(
            min=8, help="Height and width in pixels; by default 128 for features, else 32."
        ),
    ] = None
    odd: Annotated[Odd, typer.Option(help="What to do with images of another size.")] = Odd.resize
    method: Annotated[
        Method | None,
        typer.Option(help="How to learn, by default mixpul; without features a neural method."),
    ] = None
    net: Annotated[
        ImageNet | None,
        typer.Option(
            help="Network to train without features, by default small-conv; allconv13 is large, "
            "made for a GPU."
        ),
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder where features are kept; by default MODEL.features."),
    ] = None


def fit_images(
    positive: Annotated[
        Path, typer.Argument(metavar="POSITIVE", help="Folder of images known to be positive.")
    ],
    unlabeled: Annotated[
        Path, typer.Argument(metavar="UNLABELED", help="Folder of images nobody has labeled.")
    ],
    *,
    learning: Learning,
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
    from mixpul.cli._results import assess_and_save, show_results, write_page

    extractor, learning = _fill_learning(learning, outputs.model)
    step, model = _make_model(extractor, learning, settings, seed)
    check_outputs(outputs.list_files(), [], outputs.force)
    with join_quietly() as is_main:
        with speak_warnings() as spoken:
            data = _read_images(positive, unlabeled, learning, step)
            copies = _find_copies(data)
        if step is None:
            _set_epochs(model, data, settings)
        found = assess_and_save(
            model,
            data.pixels if data.features is None else data.features,
            data.is_positive,
            ids=data.names,
            source=_describe_source(positive, unlabeled, learning.odd, data, spoken, copies),
            known=known,
            seed=seed,
            path=outputs.model if is_main else None,
            info={"pictures": _describe_images(extractor, learning)},
        )
    if not is_main:
        return
    by = "" if extractor is None else f", features by {extractor}"
    show_results(found, outputs, f"{learning.size} x {learning.size} pixels{by}")
    if outputs.report is not None:
        write_page(lambda: _render_page(found.to_dict(), positive, unlabeled), outputs)


def _describe_images(extractor: str | None, learning: Learning) -> dict[str, Any]:
    """Return what the model file should know of how images were read."""
    how = {"size": learning.size, "odd": learning.odd.value}
    # Only if there are features: files of other fits stay as they were.
    return how if extractor is None else how | {"features": extractor}


def _fill_learning(asked: Learning, model: Path) -> tuple[str | None, Learning]:
    """Return the extractor, None if a network is trained here, and all that was not said."""
    from mixpul.images.features import FEATURE_SIZE

    extractor = _choose_features(asked.features, asked.net)
    size = asked.size or (NETWORK_SIZE if extractor is None else FEATURE_SIZE)
    return extractor, asked._replace(size=size, cache=asked.cache or name_cache(model))


def _choose_features(asked: Features | None, net: ImageNet | None) -> str | None:
    """Return the extractor to use; None is a network that is trained here."""
    from mixpul.images.extractors import is_installed

    if asked is not None and asked != "none":
        if is_one_of_several():
            raise typer.BadParameter(
                f"--features {asked} are computed in one process; start it without torchrun."
            )
        if net is not None:
            raise typer.BadParameter(
                f"--net {net} trains a network, and --features {asked} takes one that is trained; "
                "leave one of them out."
            )
        return asked.value
    is_free = asked is None and net is None and not is_one_of_several()
    return DEFAULT_FEATURES if is_free and is_installed(DEFAULT_FEATURES) else None


def _make_model(
    extractor: str | None, learning: Learning, settings: list[str] | None, seed: int
) -> "tuple[ImageFeatures | None, Any]":
    """Return the step that computes features, if there is one, and what is to be fitted."""
    from sklearn.pipeline import Pipeline

    from mixpul.cli._settings import make_classifier
    from mixpul.images import ImageFeatures
    from mixpul.images.defaults import SETTINGS_BY_METHOD

    method, net, size = learning.method, learning.net, learning.size or NETWORK_SIZE
    if extractor is None:
        name = method.value if method else DEFAULT_NETWORK_METHOD
        if name not in IMAGE_METHODS:
            raise typer.BadParameter(
                f"--method {name} does not learn from pixels; take one of "
                f"{', '.join(IMAGE_METHODS)}, or --features {DEFAULT_FEATURES}."
            )
        defaults = SETTINGS_BY_METHOD[name] | {"net": net.value if net else DEFAULT_NET}
        made = make_classifier(name, settings, seed, defaults=defaults, set_otherwise=OF_NETWORK)
        return None, made
    if size < LEAST_FEATURE_SIZE:
        raise typer.BadParameter(
            f"Features take images from --size {LEAST_FEATURE_SIZE} on; got {size}. Smaller ones "
            "go with --features none."
        )
    name = method.value if method else DEFAULT_METHOD
    classifier = make_classifier(name, settings, seed, defaults={}, set_otherwise=NO_LABEL)
    step = ImageFeatures(extractor, size=size)
    # Now: missing weights should not cost the reading of a folder.
    step.find_extractor()
    return step, Pipeline([("features", step), ("classifier", classifier)])


def _render_page(content: dict[str, Any], positive: Path, unlabeled: Path) -> str:
    from mixpul.pages import render_fit_page

    shown, known = _make_thumbnails(content, positive, unlabeled)
    return render_fit_page(content, thumbnails=shown, known_thumbnails=known)


def _read_images(
    positive: Path, unlabeled: Path, learning: Learning, step: "ImageFeatures | None"
) -> "LabeledImages":
    """Read both folders; say what was left out and what is doubtful."""
    from mixpul.images import label_images

    if step is not None:
        note(
            f"Features by {step.extractor}, trained on ImageNet, {step.size} x {step.size} pixels, "
            f"are kept in {str(learning.cache)!r}; --features none trains a small network instead."
        )
    data = label_images(
        positive,
        unlabeled,
        size=learning.size or NETWORK_SIZE,
        odd=learning.odd,
        verbose=choose_verbosity(),
        features=step,
        cache=None if step is None else learning.cache,
    )
    note_skipped(data.skipped)
    if data.twins:
        n_more = len(data.twins) - MOST_NAMES
        names = ", ".join(data.twins[:MOST_NAMES]) + (f" and {n_more:,} more" if n_more > 0 else "")
        note(f"In both folders, so taken as positive only: {names}.")
    for sentence in data.warnings:
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return data


def _find_copies(data: "LabeledImages") -> "list[NearCopy]":
    """Find near copies of positives among the unlabeled images, and say so."""
    from mixpul.images import find_near_copies

    copies = find_near_copies(data.names, data.thumbnails, data.is_positive, data.features)
    if copies:
        first = copies[0]
        sentence = (
            f"Unlabeled images that are near copies of labeled positives: {len(copies):,}, such as "
            f"{first.id} of {first.positive}. They are positives that nobody has labeled; move "
            "them to the folder of positives, or remove them."
        )
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return copies


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
    positive: Path,
    unlabeled: Path,
    odd: Odd,
    data: "LabeledImages",
    spoken: list[str],
    copies: "list[NearCopy]",
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
        copies=copies,
        files=data.facts,
    )


def _make_thumbnails(
    content: Mapping[str, Any], positive: Path, unlabeled: Path
) -> tuple[dict[str, str], dict[str, str]]:
    """Return thumbnails of the unlabeled images that the page names, and of the positives."""
    from mixpul.images import make_thumbnails

    copies = content["data"]["copies"][:MOST_COPIES]
    of_folders = (
        (unlabeled, content["top"] + content["bottom"] + copies),
        (positive, content["doubtful"] + [{"id": one["positive"]} for one in copies]),
    )
    shown: list[dict[str, str]] = []
    for folder, entries in of_folders:
        names = list(dict.fromkeys(entry["id"] for entry in entries))
        # From the files again: images of --size may be too small for the eye.
        made = make_thumbnails(folder / name for name in names)
        shown.append({name: one for name, one in zip(names, made, strict=True) if one is not None})
    return shown[0], shown[1]
