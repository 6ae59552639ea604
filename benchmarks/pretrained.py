"""Errors on CIFAR-10 with pretrained features: the paper's task, but with outside data.

    python benchmarks/pretrained.py --data FOLDER --cache FOLDER [--labeled 100,500] [--seeds 3]
    python benchmarks/pretrained.py --show     # the results as a table
    python benchmarks/pretrained.py --rate     # images per second, beside the bare network

Vehicles against animals, the labels of the paper's protocol, all 50,000 images to learn from and
all 10,000 test images. Images are enlarged to 128 x 128 pixels, as `mixpul fit-images` would do,
and MixPUL learns from the features of EfficientNet-Lite0, which was trained on ImageNet. So these
numbers do not compare with those of the paper, whose networks have seen CIFAR-10 only.

Features are computed once and kept in the folder --cache, some thousand at a time; a run that was
stopped goes on where it stopped. Results are in benchmarks/results/pretrained.jsonl, one line for
each fit, and the last rates in benchmarks/results/pretrained_rate.json. Settings were chosen on
held-out training images, with seeds from 1000 on.
"""

import argparse
import io
import json
import os
import platform
import time
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from joblib import cpu_count
from PIL import Image

from mixpul import __version__, datasets
from mixpul._names import METHODS
from mixpul.images import ImageFeatures, extractors, read_features
from mixpul.metrics import pu_auc_score

RESULTS = Path(__file__).parent / "results" / "pretrained.jsonl"
RATES = RESULTS.with_name("pretrained_rate.json")
AT_A_TIME = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with cifar10.npz")
    parser.add_argument("--cache", type=Path, help="folder for features")
    parser.add_argument("--labeled", default="100,500,1000")
    parser.add_argument("--method", default="mixpul", choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="show what is there, and run nothing")
    parser.add_argument("--rate", action="store_true", help="measure images per second")
    asked = parser.parse_args()
    if asked.rate:
        measure_rate()
        return
    if not asked.show:
        seeds = range(asked.first, asked.first + asked.seeds)
        run(asked, [int(n) for n in asked.labeled.split(",")], seeds)
    print(make_table(read_results(asked.results)))


def run(asked: argparse.Namespace, labeled: list[int], seeds: range) -> None:
    done = {
        (one["method"], count_features(one), one["labeled"], one["seed"])
        for one in read_results(asked.results)
    }
    X, y, X_test, y_test = datasets.cifar10_vehicles(data=asked.data)
    asked.cache.mkdir(exist_ok=True)
    features, test = (
        load_features(asked.cache, name, pixels)
        for name, pixels in (("train", X), ("test", X_test))
    )
    for seed in seeds:
        for n in labeled:
            if (asked.method, features.shape[1], n, seed) in done:
                continue
            # The draw of labels is that of the paper's target, whatever the columns are.
            pu = datasets.make_pu(features, y, n_positive=n, scheme="single", random_state=seed)
            record = fit_and_test(asked.method, pu, test, y_test, seed) | {"labeled": n}
            with asked.results.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(json.dumps(record), flush=True)


def fit_and_test(method, pu, test, y_test, seed):
    step = ImageFeatures()
    model = METHODS[method](random_state=seed)
    start = time.perf_counter()
    rows = step.fit_features(pu.X).transform_features(pu.X)
    model.fit(rows, pu.s)
    seconds = time.perf_counter() - start
    scores = model.decision_function(step.transform_features(test))
    found = {
        "method": method,
        "seed": seed,
        "error": round(float(np.mean((scores > 0) != (y_test == 1))), 5),
        "fit_seconds": round(seconds, 1),
        "extractor": step.find_extractor().checksum,
        "features": pu.X.shape[1],
        "components": rows.shape[1],
        "version": __version__,
        "processor": platform.machine(),
    }
    if hasattr(model, "oof_scores_"):
        # Without a single test label: what a user sees.
        found["pu_auc"] = round(float(pu_auc_score(pu.s, model.oof_scores_)), 5)
    return found


def load_features(cache: Path, name: str, pixels: np.ndarray) -> np.ndarray:
    """Return the features of CIFAR-10's images, from the cache as far as they are there."""
    features = ImageFeatures()
    prefix = sha256(features.find_extractor().key.encode()).hexdigest()[:8]
    parts = []
    for start in range(0, len(pixels), AT_A_TIME):
        path = cache / f"{prefix}-{name}-{start:05}.npy"
        if not path.exists():
            enlarged = enlarge(pixels[start : start + AT_A_TIME], features.size)
            partial = path.with_suffix(".partial.npy")
            np.save(partial, features.extract(enlarged))
            partial.rename(path)
            print(path.name, flush=True)
        parts.append(np.load(path))
    return np.concatenate(parts)


def enlarge(pixels: np.ndarray, size: int) -> np.ndarray:
    """Resize images, (n, 3, 32, 32), as reading them from files would do."""
    bicubic = Image.Resampling.BICUBIC
    images = (Image.fromarray(one).resize((size, size), bicubic) for one in to_rows(pixels))
    return np.stack([np.asarray(one) for one in images]).transpose(0, 3, 1, 2)


def to_rows(pixels: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))


def measure_rate(n: int = 1024) -> None:
    """Compare reading a folder and computing features with the bare network, in one run."""
    random = np.random.default_rng(0)
    size = ImageFeatures().size
    extractor = extractors.find_extractor("efficientnet-lite0")
    pixels = random.integers(0, 256, (n, 3, size, size), dtype=np.uint8)
    steps = [torch.from_numpy(pixels[k : k + 16]) for k in range(0, n, 16)]
    with TemporaryDirectory() as folder:
        for k in range(n):
            coarse = Image.fromarray(random.integers(0, 256, (40, 40, 3), dtype=np.uint8))
            content = io.BytesIO()
            coarse.resize((400, 300), Image.Resampling.BICUBIC).save(content, "JPEG")
            (Path(folder) / f"{k}.jpg").write_bytes(content.getvalue())
        bare, whole = [], []
        # By turns, so that other work on the machine meets both.
        for _ in range(3):
            bare.append(time_call(run_bare, extractor, steps))
            whole.append(time_call(read_features, folder))
    rates = {
        "cores": cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "images": n,
        "bare": [round(n / seconds, 1) for seconds in bare],
        "files_to_features": [round(n / seconds, 1) for seconds in whole],
        "ratio": round(min(bare) / min(whole), 2),
    }
    RATES.write_text(json.dumps(rates, indent=1) + "\n")
    print(f"{cpu_count()} cores, {n} JPEG files of 400 x 300 pixels, best of three")
    print(f"bare network, torch's own threads: {n / min(bare):.0f} images per second")
    print(f"files to features:                 {n / min(whole):.0f} images per second")
    print(f"ratio: {rates['ratio']} (at least 0.5 is wanted)")


def run_bare(extractor: extractors.Extractor, steps: list[torch.Tensor]) -> None:
    with torch.inference_mode():
        for step in steps:
            extractor.compute(step)


def time_call(call, *arguments) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def read_results(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def make_table(results: list[dict]) -> str:
    """Write mean errors over seeds as a Markdown table."""
    by_cell = defaultdict(list)
    for one in results:
        row = f"{one['method']}, {count_features(one):,} features"
        by_cell[row, one["labeled"]].append(one["error"])
    columns = sorted({n for _, n in by_cell})
    lines = ["| labeled images | " + " | ".join(f"{n:,}" for n in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for row in dict.fromkeys(row for row, _ in by_cell):
        cells = [write_cell(by_cell.get((row, n))) for n in columns]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def count_features(result: dict) -> int:
    # The first results were of the last layer alone, and did not say so.
    return result.get("features", 1280)


def write_cell(errors: list[float] | None) -> str:
    if not errors:
        return ""
    # In percent, with the standard error of the mean.
    mean, n = 100 * np.mean(errors), len(errors)
    spread = f" ± {100 * np.std(errors, ddof=1) / np.sqrt(n):.2f}" if n > 1 else ""
    return f"{mean:.2f}{spread} ({n} runs)"


if __name__ == "__main__":
    main()
