"""The default settings for learning from images: minutes of training on one core."""

from typing import Any

from mixpul._names import IMAGE_METHODS

__all__ = ["IMAGE_SETTINGS", "SETTINGS_BY_METHOD", "count_image_epochs"]

IMAGE_SETTINGS: dict[str, Any] = {
    "net": "small-conv",
    "augment": ("flip", "shift"),
    "batch_size": 64,
    "cross_fitting": 3,
}
# What a method needs on top of that to train a network at all.
FURTHER_SETTINGS: dict[str, dict[str, Any]] = {"upu": {"model": "mlp"}}
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

    >>> from mixpul.images.defaults import count_image_epochs
    >>> count_image_epochs(480), count_image_epochs(480, batch_size=16)
    (12, 3)
    """
    share_seen = 1 - 1 / cross_fitting if cross_fitting else 1.0
    steps = max(1, n_unlabeled * share_seen / batch_size)
    return max(LEAST_EPOCHS, round(LEAST_STEPS / steps))
