"""Save and load fitted classifiers: one safetensors file with JSON metadata, never a pickle.

A file holds tensors, the class name, the parameters and what was learned, as text and numbers; of a
portfolio, the same of each member; and of a pipeline, the same of its steps. Loading looks classes
up in a closed list and runs nothing from the file.
"""

import json
import math
import os
import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

import mixpul
from mixpul._util.errors import DamagedFile, MixpulError
from mixpul._util.json_values import to_plain
from mixpul._util.schema import Array, check_value
from mixpul.base import PUClassifier
from mixpul.persistence._file import (
    FORMAT,
    checksum,
    open_file,
    read_file,
    refuse,
    split_names,
    write_file,
)
from mixpul.persistence._image_features import WrongExtractor
from mixpul.persistence._models import pack_model, rebuild_model
from mixpul.persistence._steps import pack_steps, rebuild_steps, show_steps
from mixpul.persistence._tables import build_pipeline, is_simple, take_apart
from mixpul.persistence._values import CLASSES, UNSTORED, holds_unstored

__all__ = ["FORMAT", "checksum", "describe", "load", "read_scores", "save"]

# Parameters that only a new fit would use: without them a loaded classifier predicts all the same.
NEEDED_TO_FIT_AGAIN = ("miner", "prior", "augment", "candidates")
# The tensors of a classifier's networks, or of those of a portfolio's members.
OF_NETS = re.compile(r"(members_\.\d+\.)*net_\.")
# The scores of training rows. With a dot in it, `load` does not take it for what was learned.
OF_ROWS = "rows.scores"


def save(
    model: PUClassifier | Pipeline,
    path: str | os.PathLike,
    *,
    info: dict[str, Any] | None = None,
    scores: ArrayLike | None = None,
) -> None:
    """Write a fitted classifier to one file, whole or not at all.

    Parameters
    ----------
    model : PUClassifier or Pipeline
        A classifier, or a pipeline that ends in one. Its other steps are `tables.TableInput`,
        `ColumnTransformer`, `FeatureUnion`, pipelines, and the common steps of scikit-learn:
        scalers, encoders, `SimpleImputer`, `PCA` and others. One that is not on the list is named
        in the error. A network of your own is stored as its tensors only: pass it again to
        `load`. The members of an `AutoPUClassifier` must be classifiers of mixpul.
    path : str or path-like
    info : dict, optional
        What else is worth knowing, as plain values: text, numbers, lists and dicts of them. The
        name of the label column, say. `persistence.describe` shows it.
    scores : array of shape (n_rows,), optional
        Out-of-fold scores of the training rows, from 0 to 1, in their order. They are stored in
        single precision; `persistence.read_scores` returns them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mixpul import MixPULClassifier, datasets, load, save
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.1, random_state=0)
    >>> model = MixPULClassifier(n_epochs=2, random_state=0).fit(pu.X, pu.s)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "titanic.mixpul"
    >>> save(model, path)
    >>> bool((load(path).predict_proba(pu.X) == model.predict_proba(pu.X)).all())
    True
    """
    steps: dict[str, Any] = {}
    of_steps: dict[str, NDArray] = {}
    if is_simple(model):
        table, classifier = take_apart(model)
    else:
        table = None
        steps["steps"], of_steps, classifier = pack_steps(model)
    packed, tensors = pack_model(classifier)
    tensors |= of_steps
    if scores is not None:
        tensors[OF_ROWS] = np.array(scores, dtype=np.float32)
    description = {
        "format": 3 if steps else _find_lowest_format(packed["learned"]),
        "version": mixpul.__version__,
        **packed,
        "info": _check_info(info),
        "table": table,
        **steps,
    }
    write_file(path, tensors, description)


def load(path: str | os.PathLike, **params: Any) -> PUClassifier | Pipeline:
    """Read a classifier written by `save`; its predictions are the same to the bit.

    Parameters
    ----------
    path : str or path-like
    **params
        Parameters of the classifier to set instead of the stored ones. ``net=`` is needed when it
        was fitted with a network of your own, and ``extractor=`` when images went through an
        extractor of your own. Own miners and candidates are worth passing if you will fit again.
        So is ``checkpoint=``: a file does not say where the next fit writes.

    Returns
    -------
    PUClassifier or Pipeline
        What was saved, on the CPU.
    """
    tensors, description = read_file(path)
    extractor = params.pop("extractor", None)
    name = description["class"]
    if name not in CLASSES:
        raise DamagedFile(
            f"{os.fspath(path)!r} holds a {name!r}; "
            f"this version of mixpul loads {', '.join(CLASSES)}."
        )
    stored = description["params"]
    if stored.get("net") == UNSTORED and "net" not in params:
        raise MixpulError(
            f"{os.fspath(path)!r} was fitted with a network of your own, which is not stored: "
            "pass the same callable as load(path, net=...)."
        )
    try:
        missing = [
            part
            for part in NEEDED_TO_FIT_AGAIN
            if part not in params and holds_unstored(stored.get(part))
        ]
        model = rebuild_model(description, tensors, params)
        table = description.get("table")
        whole = model if table is None else build_pipeline(model, table)
        if "steps" in description:
            of_steps = split_names(tensors).get("steps", {})
            whole = rebuild_steps(description["steps"], of_steps, model, extractor)
    except WrongExtractor as error:
        raise WrongExtractor(f"{os.fspath(path)!r} cannot be loaded: {error}") from error
    # A checksum can be right and the content still not add up: anyone can compute one. Whatever
    # goes wrong then, it is the file.
    except Exception as error:
        raise refuse(path, "not a whole mixpul model file", error) from error
    for part in missing:
        warnings.warn(_write_warning(part), UserWarning, stacklevel=2)
    return whole


def read_scores(path: str | os.PathLike) -> NDArray[np.float32]:
    """Read the out-of-fold scores of the training rows from a model file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    ndarray of shape (n_rows,)
        In the order of the training rows, from 0 to 1.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mixpul import MixPULClassifier, datasets, persistence, save
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.1, random_state=0)
    >>> model = MixPULClassifier(n_epochs=2, random_state=0).fit(pu.X, pu.s)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "titanic.mixpul"
    >>> save(model, path, scores=[0.25] * len(pu.X))
    >>> persistence.read_scores(path)[:2]
    array([0.25, 0.25], dtype=float32)
    """
    tensors, _ = read_file(path)
    scores = tensors.get(OF_ROWS)
    if scores is None:
        raise MixpulError(
            f"{os.fspath(path)!r} has no scores of the rows it was fitted on; fit it again with "
            "`mixpul fit`, which keeps them."
        )
    try:
        check_value(scores, Array("float", (None,), 0, 1), OF_ROWS)
    except DamagedFile as error:
        raise refuse(path, "not a whole mixpul model file", error) from error
    return scores.astype(np.float32, copy=False)


def describe(path: str | os.PathLike) -> dict[str, Any]:
    """Tell what is in a model file without building the model or running anything from it.

    Only the header is read, so damage to the tensors is not seen; `load` sees it.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict
        Plain values, ready for JSON: `format`, `version` of mixpul that wrote it, the `class`, its
        `params`, `learned` (text and short numbers), the `members` of a portfolio by name (`class`,
        `params`, `learned`, `members`), the `tensors` with their types and shapes, `n_parameters`,
        `info` as given to `save`, `table`, the parameters and the report of the `TableInput`,
        or None, the `steps` of another pipeline by name and class, or None, and the `checksum` of
        the content. `n_parameters` counts all numbers of all
        networks, also those that are not trained, such as the landmarks of a kernel.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mixpul import MixPULClassifier, datasets, persistence, save
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.1, random_state=0)
    >>> model = MixPULClassifier(n_epochs=2, random_state=0).fit(pu.X, pu.s)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "titanic.mixpul"
    >>> save(model, path, info={"label": "survived"})
    >>> about = persistence.describe(path)
    >>> about["class"], about["info"]
    ('MixPULClassifier', {'label': 'survived'})
    """
    head = open_file(path)
    description, kinds = head.description, head.kinds
    of_nets = [math.prod(shape) for name, (_, shape) in kinds.items() if OF_NETS.match(name)]
    try:
        steps = show_steps(description.get("steps"))
    except DamagedFile as error:
        raise refuse(path, "not a whole mixpul model file", error) from error
    # Plain, because JSON has no NaN.
    return to_plain(
        {
            "format": description["format"],
            "version": description["version"],
            **_show_model(description),
            "tensors": {
                name: {"dtype": dtype, "shape": shape} for name, (dtype, shape) in kinds.items()
            },
            "n_parameters": sum(of_nets),
            "info": description.get("info", {}),
            "table": _show_table(description.get("table")),
            "steps": steps,
            "checksum": description.get("sha256"),
        }
    )


def _show_table(table: dict[str, Any] | None) -> dict[str, Any] | None:
    if table is None:
        return None
    return {"params": table["params"], "report": table["learned"].get("report_", [])}


def _show_model(description: dict[str, Any]) -> dict[str, Any]:
    """Show a classifier, and the members of a portfolio in the same way."""
    learned = description["learned"]
    return {
        "class": description["class"],
        "params": description["params"],
        "learned": {name: value for name, value in learned.items() if name != "members_"},
        "members": {
            name: _show_model(member) for name, member in learned.get("members_", {}).items()
        },
    }


def _find_lowest_format(learned: dict[str, Any]) -> int:
    """Return the lowest format in which a model can be read, so that older versions can do so."""
    return 2 if "members_" in learned or "nets" in learned.get("net_", {}) else 1


def _write_warning(part: str) -> str:
    what, is_stored, it = (
        ("candidates", "are", "them") if part == "candidates" else (f"a {part}", "is", "it")
    )
    return (
        f"The model was fitted with {what} of your own, which {is_stored} not stored. Predictions "
        f"do not need {it}; to fit again with {it}, pass load(path, {part}=...)."
    )


def _check_info(info: dict[str, Any] | None) -> dict[str, Any]:
    try:
        plain = json.loads(json.dumps(info or {}))
    except (TypeError, ValueError) as error:
        raise TypeError(f"info must hold plain values, as JSON does: {error}.") from error
    # JSON would turn tuples into lists and numbers into text keys without a word.
    if plain != (info or {}):
        raise TypeError("info must hold plain values, as JSON does: text keys, lists, no tuples.")
    return plain
