"""Now `mixpul.images`, with other names."""

from mixpul.images import Images as Pictures
from mixpul.images import LabeledImages as LabeledPictures
from mixpul.images import Skipped
from mixpul.images import label_images as label_pictures
from mixpul.images import make_thumbnails as thumbnails
from mixpul.images import read_images as read_pictures
from mixpul.images import stream_images as stream_pictures

__all__ = [
    "LabeledPictures",
    "Pictures",
    "Skipped",
    "label_pictures",
    "read_pictures",
    "stream_pictures",
    "thumbnails",
]
