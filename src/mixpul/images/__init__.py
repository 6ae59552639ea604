"""A user's own folders of images: read them into arrays of bytes, label them, show them.

Files are read with Pillow: ``pip install "mixpul[images]"``.
"""

from mixpul.images.labels import LabeledImages, label_images
from mixpul.images.reading import Images, Skipped, read_images, stream_images
from mixpul.images.thumbnails import make_thumbnails

__all__ = [
    "Images",
    "LabeledImages",
    "Skipped",
    "label_images",
    "make_thumbnails",
    "read_images",
    "stream_images",
]
