"""What `predict-images` and `review` share: a model of images, and folders as it takes them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mixpul.cli._messages import choose_verbosity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mixpul.images import ImageFeatures, Images

__all__ = ["ImageModel", "load_image_model", "name_cache"]


class ImageModel(NamedTuple):
    """A classifier of images, and how images become what it takes.

    Attributes
    ----------
    classifier : PUClassifier or Pipeline
        Without the step that computes features.
    step : ImageFeatures or None
        None is a classifier of pixels.
    size : int
    odd : str
        What to do with images of another size.
    cache : Path or None
        A folder of features that are known already; new ones are kept there.
    """

    classifier: Any
    step: "ImageFeatures | None"
    size: int
    odd: str
    cache: Path | None

    def stream(self, folder: Path) -> "Iterator[tuple[Images, NDArray]]":
        """Yield the images of a folder some hundred at a time, and what the classifier takes.

        Files that were skipped come with them; the last part may hold nothing else.
        """
        from mixpul.images import stream_features, stream_images

        verbose = choose_verbosity()
        if self.step is None:
            for part in stream_images(folder, size=self.size, odd=self.odd, verbose=verbose):
                yield part, part.pixels
            return
        parts = stream_features(folder, self.step, cache=self.cache, odd=self.odd, verbose=verbose)
        for part in parts:
            found = part.features
            yield part, part.pixels if found is None else self.step.transform_features(found)


def name_cache(model: Path) -> Path:
    """Return the folder where features are kept, unless another one is asked for."""
    return model.with_name(f"{model.name}.features")


def load_image_model(path: Path, cache: Path | None = None) -> ImageModel:
    """Return the classifier of a model file; features of the fit are used where they are there."""
    import numpy as np
    from sklearn.pipeline import Pipeline

    from mixpul import load
    from mixpul.images import ImageFeatures
    from mixpul.persistence import describe

    classifier = load(path)
    # A model that was saved from Python does not say what to do with other sizes.
    odd = describe(path)["info"].get("pictures", {}).get("odd", "resize")
    if isinstance(classifier, Pipeline) and isinstance(classifier[0], ImageFeatures):
        step = classifier[0]
        # Now: missing weights should not cost the reading of a folder.
        key = step.find_extractor().key
        known = name_cache(path)
        # Where nothing can be written, as in production, the model is all there is.
        if cache is None and key is not None and known.is_dir() and os.access(known, os.W_OK):
            cache = known
        return ImageModel(classifier[1:], step, step.size, odd, cache)
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
    if cache is not None:
        raise ValueError(
            f"{str(path)!r} learned from pixels and has no features to keep; leave --cache out."
        )
    return ImageModel(classifier, None, size, odd, None)
