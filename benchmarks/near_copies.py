"""How many near copies of labeled positives are found, and how many other images are named.

    python benchmarks/near_copies.py [--data FOLDER] [--show]

100 images of CIFAR-10, or of the digit 1 of MNIST, are labeled positives. Unlabeled are 300 others
and a changed copy of each positive. Digits are the hard case: many look alike and are no copies.
Results are in benchmarks/results/near_copies.json.
"""

import argparse
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

from mixpul import datasets
from mixpul._util.files import write_whole
from mixpul.images import ImageFeatures, find_near_copies
from mixpul.images.features import FEATURE_SIZE
from mixpul.images.thumbnails import shrink_pixels

RESULTS = Path(__file__).parent / "results" / "near_copies.json"
SEED, N_POSITIVE, N_OTHER = 1000, 100, 300


def compress(image: Image.Image, quality: int) -> Image.Image:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return Image.open(file).convert("RGB")


CHANGES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "JPEG, quality 75": lambda image: compress(image, 75),
    "JPEG, quality 40": lambda image: compress(image, 40),
    "enlarged by a quarter, quality 60": lambda image: compress(image.resize((40, 40)), 60),
    "reduced by a quarter": lambda image: image.resize((24, 24)),
    "brighter by 15 %": lambda image: ImageEnhance.Brightness(image).enhance(1.15),
    "a border of one pixel cut off": lambda image: image.crop(
        (1, 1, image.width - 1, image.height - 1)
    ),
}


def draw_images(name: str, data: Path | None) -> list[Image.Image]:
    """Draw images of a data set, those of positives first."""
    found = datasets.load(name, data=data)
    pixels = found.X_train if name == "cifar10" else found.X_train[found.y_train == 1]
    chosen = np.random.default_rng(SEED).permutation(len(pixels))[: N_POSITIVE + N_OTHER]
    return [as_image(pixels[row]) for row in chosen]


def as_image(pixels: np.ndarray) -> Image.Image:
    # Channels come first; digits have none.
    return Image.fromarray(pixels if pixels.ndim == 2 else pixels.transpose(1, 2, 0)).convert("RGB")


def read_pixels(image: Image.Image) -> np.ndarray:
    large = image.resize((FEATURE_SIZE, FEATURE_SIZE), Image.Resampling.BICUBIC)
    return np.asarray(large).transpose(2, 0, 1)


def measure(name: str, data: Path | None) -> list[dict[str, object]]:
    features = ImageFeatures()
    images = draw_images(name, data)
    pixels = np.stack([read_pixels(image) for image in images])
    own = features.extract(pixels)
    names = [f"{k}" for k in range(len(images))] + [f"copy of {k}" for k in range(N_POSITIVE)]
    is_positive = np.arange(len(names)) < N_POSITIVE
    records = []
    for change, alter in CHANGES.items():
        copies = np.stack([read_pixels(alter(image)) for image in images[:N_POSITIVE]])
        thumbnails = shrink_pixels(np.concatenate([pixels, copies]))
        both = np.concatenate([own, features.extract(copies)])
        named = find_near_copies(names, thumbnails, is_positive, both)
        n_right = sum(one.id == f"copy of {one.positive}" for one in named)
        record = {
            "images": name,
            "change": change,
            "found": n_right,
            "others": len(named) - n_right,
        }
        print(show(record), flush=True)
        records.append(record)
    return records


def show(record: dict[str, object]) -> str:
    return (
        f"{record['images']:8} {record['change']:34} found {record['found']} of {N_POSITIVE}, "
        f"others named {record['others']} of {N_OTHER}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--show", action="store_true", help="show the results that are there")
    args = parser.parse_args()
    if args.show:
        print("\n".join(map(show, json.loads(RESULTS.read_text()))))
        return
    records = [one for name in ("cifar10", "mnist") for one in measure(name, args.data)]
    write_whole(RESULTS, (json.dumps(records, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
