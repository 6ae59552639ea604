"""The default settings for learning from images: minutes of training on one core."""

from mixpul.methods.neural.for_images import IMAGE_SETTINGS, SETTINGS_BY_METHOD, count_image_epochs

__all__ = ["IMAGE_SETTINGS", "SETTINGS_BY_METHOD", "count_image_epochs"]
