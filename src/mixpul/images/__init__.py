"""A user's own folders of images: read them, label them, compute their features, show them.

Files are read with Pillow: ``pip install "mixpul[images]"``. Features come from a network that was
trained on other images: ``pip install "mixpul[pretrained]"``.
"""

from mixpul.images.copies import NearCopy, find_near_copies
from mixpul.images.featured import read_features, stream_features
from mixpul.images.features import ImageFeatures
from mixpul.images.files import FileFacts
from mixpul.images.labels import LabeledImages, label_images
from mixpul.images.reading import Images, Skipped, read_images, stream_images
from mixpul.images.thumbnails import make_thumbnails

__all__ = [
    "FileFacts",
    "ImageFeatures",
    "Images",
    "LabeledImages",
    "NearCopy",
    "Skipped",
    "find_near_copies",
    "label_images",
    "make_thumbnails",
    "read_features",
    "read_images",
    "stream_features",
    "stream_images",
]
