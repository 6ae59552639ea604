"""Find crosses among circles and triangles when only a few crosses are labeled.

    python examples/images.py [FOLDER]

Draws three folders of images: known crosses, a mixture that nobody has labeled, and a new mixture.
Runs `mixpul fit-images` and `mixpul predict-images` on them. Then it looks at the truth, which you
do not have with images of your own: how many of the hidden crosses were found?
"""

import csv
import math
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from PIL import Image, ImageDraw
from sklearn.metrics import roc_auc_score

N_KNOWN, N_UNLABELED, N_NEW = 60, 600, 300
SHARE_OF_CROSSES = 0.3


def draw(shape: str, random: np.random.Generator) -> Image.Image:
    """Draw one shape on a noisy ground: size, place, angle and both colours are random."""
    width, height = random.integers(40, 81, 2)
    colours = random.integers(0, 256, (2, 3))
    while abs(colours[0] - colours[1]).sum() < 250:
        colours = random.integers(0, 256, (2, 3))
    image = Image.new("RGB", (width, height), tuple(colours[0].tolist()))
    side = min(width, height)
    radius = random.uniform(0.22, 0.34) * side
    x, y = np.array([width, height]) / 2 + random.uniform(-0.12, 0.12, 2) * side
    turn = random.uniform(0, 2 * math.pi)

    def corner(share_of_circle: float, length: float = radius) -> tuple[float, float]:
        angle = turn + 2 * math.pi * share_of_circle
        return x + length * math.cos(angle), y + length * math.sin(angle)

    pen, colour = ImageDraw.Draw(image), tuple(colours[1].tolist())
    if shape == "circle":
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colour)
    elif shape == "triangle":
        pen.polygon([corner(k / 3, 1.2 * radius) for k in range(3)], fill=colour)
    else:
        for k in range(2):
            line = [corner(k / 4, 1.2 * radius), corner(k / 4 + 0.5, 1.2 * radius)]
            pen.line(line, fill=colour, width=round(0.55 * radius))
    noise = random.normal(0, 20, (height, width, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def draw_folder(folder: Path, n: int, share: float, random: np.random.Generator) -> dict[str, bool]:
    """Draw a folder of images whose names tell nothing; return which of them are crosses."""
    folder.mkdir(parents=True, exist_ok=True)
    crosses = random.permutation(np.arange(n) < share * n)
    is_cross = {f"{number:04d}.png": bool(cross) for number, cross in enumerate(crosses)}
    for name, cross in is_cross.items():
        shape = "cross" if cross else random.choice(["circle", "triangle"])
        draw(shape, random).save(folder / name)
    return is_cross


def mixpul(*words: object) -> None:
    print("$ mixpul", *words)
    subprocess.run([sys.executable, "-m", "mixpul", *map(str, words)], check=True)


def main(folder: Path, *settings: str) -> float:
    """Run the example; `settings` go to `fit-images`. Return the AUC on the new images."""
    random = np.random.default_rng(0)
    known, unlabeled, new = (folder / name for name in ("known", "unlabeled", "new"))
    draw_folder(known, N_KNOWN, 1.0, random)
    draw_folder(unlabeled, N_UNLABELED, SHARE_OF_CROSSES, random)
    is_cross = draw_folder(new, N_NEW, SHARE_OF_CROSSES, random)

    model, report, scores = (folder / name for name in ("m.mixpul", "report.html", "scores.csv"))
    mixpul("fit-images", known, unlabeled, "-o", model, "--report", report, "--force", *settings)
    mixpul("predict-images", model, new, "-o", scores, "--threshold", "prior", "--force")

    with scores.open() as file:
        rows = list(csv.DictReader(file))
    truth = np.array([is_cross[row["picture"]] for row in rows])
    flagged = np.array([row["predicted"] == "true" for row in rows])
    auc = roc_auc_score(truth, [float(row["score"]) for row in rows])
    print(f"{truth.sum()} of the {len(truth)} new images are crosses. {flagged.sum()} are flagged,")
    print(f"{(flagged & truth).sum()} of them rightly; a cross outranks another shape in {auc:.1%}")
    print(f"of the pairs. The page with the images: {report}")
    return float(auc)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else mkdtemp()), *sys.argv[2:])
