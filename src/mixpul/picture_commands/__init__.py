"""What `mixpul fit-images` and `predict-images` do."""

from mixpul.picture_commands._fit import fit_images
from mixpul.picture_commands._predict import predict_images

__all__ = ["fit_images", "predict_images"]
