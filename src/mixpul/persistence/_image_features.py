"""`ImageFeatures` before a classifier: name and checksum of its extractor, never its weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mixpul._names import EXTRACTORS
from mixpul._util.errors import DamagedFile, MixpulError
from mixpul._util.schema import Anything, Array, Choice, Maybe, Number, Record, Text, check_value
from mixpul.images import ImageFeatures
from mixpul.images.extractors import CHECKSUMS, find_extractor
from mixpul.persistence._step_values import decode_value, encode_value

__all__ = ["WrongExtractor", "describe_extractor", "pack_features", "rebuild_features"]

# More than a picture on a screen has.
MOST_PIXELS = 4096
# None is an extractor of the user's own.
OF_PARAMS = Record(
    {
        "extractor": Maybe(Choice(tuple(EXTRACTORS))),
        "size": Number(1, MOST_PIXELS, whole=True),
        "n_components": Maybe(Number(1, whole=True)),
    }
)
LEARNED = {
    "centre_": Array("float", ("n_features",)),
    "scale_": Array("float", ("n_features",), 0),
    "components_": Array("float", ("n_features", "n_columns")),
}
NODE = Record({"params": OF_PARAMS, "checksum": Maybe(Text())})


class WrongExtractor(MixpulError):
    """An extractor of the user's own that was not passed, or is another one."""


def pack_features(step: ImageFeatures, tensors: list[NDArray]) -> dict[str, Any]:
    """Return what to store: which extractor it is, and how wide its features are."""
    check_is_fitted(step, "components_")
    extractor = step.extractor if isinstance(step.extractor, str) else None
    return {
        "params": {
            "extractor": extractor,
            "size": int(step.size),
            "n_components": None if step.n_components is None else int(step.n_components),
        },
        "checksum": step.checksum_,
        "learned": {name: encode_value(getattr(step, name), tensors) for name in LEARNED},
    }


def rebuild_features(
    node: dict[str, Any], tensors: dict[str, NDArray], own: Any = None
) -> ImageFeatures:
    """Build an `ImageFeatures`; `own` is an extractor of the user's, passed to `load`."""
    check_value(node, NODE)
    name, checksum = node["params"]["extractor"], node["checksum"]
    if name is None:
        if own is None:
            raise WrongExtractor(
                "The model was fitted with an extractor of your own, which is not stored: pass the "
                "same one as load(path, extractor=...)."
            )
        if find_extractor(own).checksum != checksum:
            raise WrongExtractor(
                "The extractor is not the one that the model was fitted with: its weights have "
                "another checksum."
            )
        name = own
    # Not the weights themselves: a model can be looked at where these are not installed.
    elif checksum != CHECKSUMS[name]:
        raise DamagedFile(f"its extractor {name!r} has a checksum that is not that of its weights.")
    params = {key: node["params"][key] for key in ("size", "n_components")}
    step = ImageFeatures(name, **params)
    step.checksum_ = checksum
    sizes: dict[str, int] = {}
    learned: Any = node.get("learned")
    check_value(learned, Record(dict.fromkeys(LEARNED, Anything())), "learned")
    for key, spec in LEARNED.items():
        value = decode_value(learned[key], tensors)
        check_value(value, spec, key, sizes)
        setattr(step, key, value.astype(np.float32))
    if (step.scale_ <= 0).any():
        raise DamagedFile("its features have a width of zero.")
    return step


def describe_extractor(node: dict[str, Any]) -> dict[str, Any]:
    """Return the extractor of a step, for a reader."""
    check_value(node, NODE)
    name = node["params"]["extractor"]
    return {
        "extractor": "one of the user's own" if name is None else name,
        "checksum": node["checksum"],
        "size": node["params"]["size"],
    }
