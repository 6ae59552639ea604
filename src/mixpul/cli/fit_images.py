"""`mixpul fit-images`."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mixpul.assess import Source, assess
from mixpul.cli._fitted import info_of_fit, made_classifier, write_fit
from mixpul.cli._inputs import command_line
from mixpul.cli._outputs import check_outputs
from mixpul.cli._words import note, shows_progress, spoken_warnings
from mixpul.images import LabeledImages, Skipped, label_images, make_thumbnails
from mixpul.images.defaults import SETTINGS_BY_METHOD, count_image_epochs
from mixpul.pages import table_page

__all__ = ["fit_images", "tell_skipped"]

MOST_NAMES = 10


def fit_images(
    positive: Path,
    unlabeled: Path,
    *,
    method: str,
    net: str,
    settings: Sequence[str] | None,
    size: int,
    odd: str,
    seed: int,
    out: Path,
    report: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Learn from two folders of pictures, judge what was learned, write the model and the page."""
    classifier = made_classifier(
        method,
        settings,
        seed,
        defaults=SETTINGS_BY_METHOD[method] | {"net": net},
        set_otherwise={
            "net": "use --net",
            "model": "pictures are learned by networks only",
            "pos_label": "the folders say which pictures are positive",
        },
    )
    check_outputs([out, *([report] if report else [])], [], force)
    with spoken_warnings() as spoken:
        data = label_images(positive, unlabeled, size=size, odd=odd, verbose=shows_progress())
        _tell(data)
        for sentence in data.warnings:
            warnings.warn(sentence, UserWarning, stacklevel=2)
    if not any(setting.startswith("n_epochs=") for setting in settings or ()):
        n_epochs = count_image_epochs(
            int((~data.is_positive).sum()),
            batch_size=classifier.batch_size,
            cross_fitting=classifier.cross_fitting,
        )
        classifier.set_params(n_epochs=n_epochs)
    with spoken_warnings():
        found = assess(
            classifier,
            data.pixels,
            data.is_positive,
            source=Source(
                name=f"{positive.resolve().name} and {unlabeled.resolve().name}",
                fingerprint=data.fingerprint,
                command=command_line(),
                warnings=spoken,
                odd=odd,
                n_resized=data.n_resized,
                twins=data.twins,
                skipped=data.skipped,
            ),
            ids=data.names,
            random_state=seed,
            verbose=shows_progress(),
        )
    content = found.to_dict()
    write_fit(
        found,
        content,
        info={"pictures": {"size": size, "odd": odd}} | info_of_fit(content),
        page=table_page(content, thumbnails=_shown(content, unlabeled)) if report else "",
        out=out,
        report=report,
        as_json=as_json,
        inputs=f"{size} x {size} pixels",
    )


def tell_skipped(skipped: Iterable[Skipped]) -> None:
    for picture, reason in skipped:
        note(f"skipped: {picture} {reason}.")


def _tell(data: LabeledImages) -> None:
    tell_skipped(data.skipped)
    if data.twins:
        rest = len(data.twins) - MOST_NAMES
        names = ", ".join(data.twins[:MOST_NAMES]) + (f" and {rest:,} more" if rest > 0 else "")
        note(f"In both folders, so taken as positive only: {names}.")


def _shown(content: Mapping[str, Any], unlabeled: Path) -> dict[str, str]:
    """Thumbnails of the unlabeled pictures that the page names."""
    names = [entry["id"] for entry in content["top"] + content["bottom"]]
    made = make_thumbnails(unlabeled / name for name in names)
    return {name: one for name, one in zip(names, made, strict=True) if one is not None}
