"""`mixpul review` and `mixpul audit` for folders of images."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from mixpul.assess import review as draw_rows
from mixpul.assess.answered import Answered
from mixpul.assess.queues import Queue, make_queue
from mixpul.cli._image_models import load_image_model
from mixpul.cli._messages import choose_verbosity, note_skipped
from mixpul.images import make_thumbnails
from mixpul.images.labels import hash_content, list_labeled
from mixpul.persistence import read_scores

__all__ = ["ID_COLUMN", "draw_images", "show_disagreements"]

ID_COLUMN = "image"
# Of an image on the page, in pixels: large enough to judge it, small enough to be sent.
SHOWN_SIZE = 320


class _Files(NamedTuple):
    """Images to draw from."""

    names: list[str]
    digests: list[str]
    is_known: NDArray[np.bool_]
    scores: NDArray
    fingerprint: str
    folder: Path  # of the unlabeled ones


def draw_images(
    model: Path,
    checksum: str,
    info: Mapping[str, Any],
    folders: str | Sequence[str],
    *,
    n: int,
    prior: float,
    is_unseen: bool,
    rounds: Answered | None,
    seed: int,
) -> tuple[Queue, list[str | None]]:
    """Draw unlabeled images; return the queue, and an address to show for each of them."""
    names = [folders] if isinstance(folders, str) else list(folders)
    files = _score_unseen(model, names) if is_unseen else _find_scored(model, info, names)
    if rounds is not None and rounds.table != files.fingerprint:
        raise ValueError("The earlier queue was drawn from other images; draw from the same ones.")
    drawn = draw_rows(
        files.scores,
        files.is_known,
        n=n,
        prior=prior,
        earlier=rounds.reviews if rounds else (),
        verdicts=rounds.verdicts if rounds else (),
        random_state=seed,
    )
    if not len(drawn.rows):
        raise ValueError("All unlabeled images were drawn before; there is none left to check.")
    ids = [files.names[row] for row in drawn.rows]
    queue = make_queue(
        drawn,
        ids=ids,
        id_column=ID_COLUMN,
        cells=[{} for _ in ids],
        contents=[_name_content(files.digests[row]) for row in drawn.rows],
        model=checksum[:16],
        table=files.fingerprint,
    )
    return queue, make_thumbnails((files.folder / name for name in ids), size=SHOWN_SIZE)


def show_disagreements(
    disagreements: Mapping[str, Sequence[Mapping[str, Any]]], folder: Path
) -> dict[str, str]:
    """Return what a page shows of images, by name; nothing of those that have changed."""
    asked = [one for found in disagreements.values() for one in found]
    paths = [folder / str(one["id"]) for one in asked]
    shown = {}
    for one, path, address in zip(asked, paths, make_thumbnails(paths), strict=True):
        if address is not None and _name_content(_hash_file(path)) == one["content"]:
            shown[one["id"]] = address
    return shown


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _name_content(digest: str) -> str:
    """Return the hash of an image in a queue."""
    # A letter first: a spreadsheet would take digits for a number and round them.
    return f"r{digest[:12]}"


def _find_scored(model: Path, info: Mapping[str, Any], folders: list[str]) -> _Files:
    """Return the images of the fit with their scores out of fold."""
    if len(folders) != 2:
        raise typer.BadParameter(
            "For images, name the two folders of the fit, POSITIVE and UNLABELED; or another "
            "folder with --unseen."
        )
    how = info["pictures"]
    found = list_labeled(*folders, size=how["size"], odd=how["odd"], verbose=choose_verbosity())
    if found.fingerprint != info.get("fingerprint"):
        raise ValueError(
            "These are not the images that the model was fitted on, or files have changed since. "
            "Name the two folders as they were; or, if the model has seen none of the images of "
            "one folder, name that folder with --unseen."
        )
    return _Files(
        found.names,
        found.digests,
        found.is_positive,
        read_scores(model),
        _shorten(found.fingerprint),
        Path(folders[1]),
    )


def _score_unseen(model: Path, folders: list[str]) -> _Files:
    """Return the images of another folder, scored by the model."""
    if len(folders) != 1:
        raise typer.BadParameter("With --unseen, name one folder of images.")
    loaded = load_image_model(model)
    names: list[str] = []
    digests: list[str] = []
    scores: list[NDArray] = []
    for part, rows in loaded.stream(Path(folders[0])):
        note_skipped(part.skipped)
        if part.names:
            names += part.names
            digests += part.digests
            scores.append(loaded.classifier.predict_proba(rows)[:, 1])
    is_known = np.zeros(len(names), dtype=bool)
    fingerprint = _shorten(hash_content(digests, is_known))
    return _Files(names, digests, is_known, np.concatenate(scores), fingerprint, Path(folders[0]))


def _shorten(fingerprint: str) -> str:
    return fingerprint.removeprefix("sha256:")[:16]
