"""Folders of many images: memory of a fit by their number, and what a kill costs.

    python benchmarks/image_folders.py [--images 5000,50000] [--size 128] [--folder /tmp/images]
    python benchmarks/image_folders.py --show     # the results as a table

Draws folders of small PNG files, 500 of them known. `mixpul fit-images` runs in a process of its
own, by logistic regression, so that most of it is features. Its peak of memory is that of reading,
features, fit and assessment together. Then the smallest folder is fitted again, killed when about
half of the features are there, and fitted once more: images whose features were computed in both
runs are counted, and the model has to be the same to the byte.

Results are in benchmarks/results/image_folders.json with the hardware. What has been measured is
left out of the next run.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from mixpul._util.files import write_whole

RESULTS = Path(__file__).parent / "results" / "image_folders.json"
N_KNOWN, SIDE = 500, 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", default="5000,50000", help="how many, in all")
    parser.add_argument("--size", type=int, default=128, help="pixels that the network sees")
    parser.add_argument("--folder", type=Path, help="where images are kept, by default nowhere")
    parser.add_argument("--show", action="store_true", help="show what is there, and run nothing")
    parser.add_argument("--fit", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fit:
        fit_here(*asked.fit)
        return
    if not asked.show:
        counts = sorted(int(n) for n in asked.images.split(","))
        with tempfile.TemporaryDirectory() as scratch:
            measure_all(asked.folder or Path(scratch), counts, asked.size)
    print(make_table(read_results()))


def measure_all(folder: Path, counts: list[int], size: int) -> None:
    for n in counts:
        name = f"fit {n} at {size}"
        if name not in read_results():
            with tempfile.TemporaryDirectory() as out:
                images = draw_images(folder, n)
                remember(name, measure_fit(images, Path(out), size))
    name = f"kill {counts[0]} at {size}"
    if name not in read_results():
        with tempfile.TemporaryDirectory() as out:
            images = draw_images(folder, counts[0])
            remember(name, measure_kill(images, Path(out), size))


# -- images ---------------------------------------------------------------------------------


def draw_images(folder: Path, n: int) -> Path:
    """Write the images that are missing: known ones are bright, and so is a third of the others."""
    images = folder / f"{n}-images"
    for name, first, last in (("known", 0, N_KNOWN), ("unlabeled", N_KNOWN, n)):
        (images / name).mkdir(parents=True, exist_ok=True)
        for k in range(first, last):
            path = images / name / f"{k:06}.png"
            if not path.exists():
                is_bright = name == "known" or k % 3 == 0
                draw_image(np.random.default_rng(k), is_bright).save(path)
    return images


def draw_image(random: np.random.Generator, is_bright: bool) -> Image.Image:
    least = 128 if is_bright else 0
    coarse = random.integers(least, least + 128, (4, 4, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC)


# -- runs -----------------------------------------------------------------------------------


def fit_here(images: str, model: str, log: str, size: str) -> None:
    """In a process of its own: fit, and write down the images whose features are begun."""
    from mixpul import cli
    from mixpul.images import featured

    compute = featured.compute_features

    def compute_and_count(extractor, pixels):
        with Path(log).open("a") as file:
            file.write(f"{len(pixels)}\n")
        return compute(extractor, pixels)

    featured.compute_features = compute_and_count
    words = ["--size", size, "--method", "logistic", "--features", "efficientnet-lite0"]
    folders = [f"{images}/known", f"{images}/unlabeled"]
    sys.argv = ["mixpul", "fit-images", *folders, "-o", model, *words]
    cli.main()


def start_fit(images: Path, out: Path, size: int) -> subprocess.Popen:
    words = map(str, (images, out / "model", out / "begun.txt", size))
    command = [sys.executable, __file__, "--fit", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure_fit(images: Path, out: Path, size: int) -> dict[str, float]:
    start = time.perf_counter()
    child = start_fit(images, out, size)
    peaks = watch_memory(child)
    return {
        "images": count_begun(out),
        "size": size,
        "megabytes": round(peaks["VmHWM"]),
        "own_megabytes": round(peaks["RssAnon"]),
        "seconds": round(time.perf_counter() - start, 1),
    }


def watch_memory(child: subprocess.Popen) -> dict[str, float]:
    """Return the most megabytes that a process has held: in all, and without pages of files.

    The system takes pages of files back when it needs memory, so they do not count against it.
    """
    peaks = {"VmHWM": 0, "RssAnon": 0}
    while child.poll() is None:
        try:
            status = Path(f"/proc/{child.pid}/status").read_text().splitlines()
        except OSError:
            continue
        for line in status:
            name, _, value = line.partition(":")
            if name in peaks:
                peaks[name] = max(peaks[name], int(value.split()[0]))
        time.sleep(0.05)
    if child.returncode:
        raise SystemExit(f"The fit ended with the code {child.returncode}.")
    return {name: kilobytes / 1024 for name, kilobytes in peaks.items()}


def measure_kill(images: Path, out: Path, size: int) -> dict[str, float]:
    n = sum(1 for _ in images.rglob("*.png"))
    child = start_fit(images, out, size)
    while child.poll() is None and count_begun(out) < n // 2:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    begun = count_begun(out)
    watch_memory(start_fit(images, out, size))
    whole = (out / "model").read_bytes()
    again = out / "again"
    again.mkdir()
    watch_memory(start_fit(images, again, size))
    return {
        "images": n,
        "size": size,
        "before_the_kill": begun,
        "twice": count_begun(out) - n,
        "same_model": (again / "model").read_bytes() == whole,
    }


def count_begun(out: Path) -> int:
    log = out / "begun.txt"
    return sum(map(int, log.read_text().split())) if log.exists() else 0


# -- results --------------------------------------------------------------------------------


def read_results() -> dict[str, dict]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def remember(name: str, found: dict[str, float]) -> None:
    hardware = {"cores": os.cpu_count(), "machine": platform.machine()}
    hardware["load"] = round(os.getloadavg()[0], 1)
    results = read_results() | {name: found | {"hardware": hardware}}
    write_whole(RESULTS, (json.dumps(results, indent=1, sort_keys=True) + "\n").encode())
    print(name, json.dumps(found), flush=True)


def make_table(results: dict[str, dict]) -> str:
    lines = ["| images | pixels | peak (MB) | without files (MB) |", "|---|---|---|---|"]
    fits = [one for name, one in results.items() if name.startswith("fit")]
    for one in sorted(fits, key=lambda one: (one["size"], one["images"])):
        own = one["own_megabytes"]
        lines.append(f"| {one['images']:,} | {one['size']} | {one['megabytes']:,} | {own:,} |")
    for one in (one for name, one in results.items() if name.startswith("kill")):
        same = "is" if one["same_model"] else "is NOT"
        lines.append(
            f"\nKilled after {one['before_the_kill']:,} of {one['images']:,} images at "
            f"{one['size']} pixels: {one['twice']:,} were computed twice, and the model {same} "
            "that of a run without a kill."
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
