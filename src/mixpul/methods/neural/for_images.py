"""The default settings for learning from images: minutes of training on one core."""

from typing import Any

from mixpul._names import IMAGE_METHODS

__all__ = ["IMAGE_SETTINGS", "SETTINGS_BY_METHOD", "count_image_epochs", "make_image_settings"]

IMAGE_SETTINGS: dict[str, Any] = {
    "net": "small-conv",
    "augment": ("flip", "shift"),
    "batch_size": 64,
    "cross_fitting": 3,
}
# What a method needs on top of that. MixPUL's defaults are for tables; images keep these, by which
# the results on MNIST and CIFAR-10 were reached.
FURTHER_SETTINGS: dict[str, dict[str, Any]] = {
    "upu": {"model": "mlp"},
    "mixpul": {"alpha": 1.0, "gamma": 1.0, "mixing": None, "min_steps": None, "max_steps": 250},
}
SETTINGS_BY_METHOD: dict[str, dict[str, Any]] = {
    name: IMAGE_SETTINGS | FURTHER_SETTINGS.get(name, {}) for name in IMAGE_METHODS
}

# With fewer steps a network cannot tell shapes apart, however often it sees each image.
LEAST_STEPS = 60
LEAST_EPOCHS = 3


def count_image_epochs(
    n_unlabeled: int,
    *,
    batch_size: int = IMAGE_SETTINGS["batch_size"],
    cross_fitting: int | None = IMAGE_SETTINGS["cross_fitting"],
) -> int:
    """Return how often to go through the unlabeled images.

    Parameters
    ----------
    n_unlabeled : int
    batch_size, cross_fitting
        As in the classifier: with `cross_fitting` = k each network sees all folds but one.

    Returns
    -------
    int
        At least 3, and as many as make 60 steps of training.

    Examples
    --------
    Two thirds of 480 images are five batches of 64, so twelve epochs make sixty steps.

    >>> from mixpul.methods.neural.for_images import count_image_epochs
    >>> count_image_epochs(480), count_image_epochs(480, batch_size=16)
    (12, 3)
    """
    share_seen = 1 - 1 / cross_fitting if cross_fitting else 1.0
    steps = max(1, n_unlabeled * share_seen / batch_size)
    return max(LEAST_EPOCHS, round(LEAST_STEPS / steps))


def make_image_settings(shape: tuple[int, ...]) -> dict[str, dict[str, Any]]:
    """Return the settings of each method for an array of images, (n, channels, height, width)."""
    # Smaller ones are gone before the last convolution.
    own: dict[str, Any] = {} if min(shape[2:]) >= 8 else {"net": "skip-mlp"}
    own["n_epochs"] = count_image_epochs(shape[0])
    return {name: settings | own for name, settings in SETTINGS_BY_METHOD.items()}
