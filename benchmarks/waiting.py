"""Threads that sleep while they wait for each other, against threads that spin (OMP_WAIT_POLICY).

    python benchmarks/waiting.py [--repeats 3]

Small networks on images are trained on all cores. `mixpul` lets threads sleep; the default of
OpenMP is to spin for a while. Each way trains the same in processes of their own, in turn, on a
machine that has nothing else to do, and beside a process that keeps one core busy.
"""

import argparse
import os
import statistics
import subprocess
import sys

TRAINING = """
import time
import numpy as np
from mixpul import MixPULClassifier

random = np.random.default_rng(0)
X = random.integers(0, 256, (600, 3, 32, 32), dtype=np.uint8)
y = np.arange(len(X)) % 3 == 0
model = MixPULClassifier(
    net="small-conv", augment=("flip", "shift"), batch_size=64, n_epochs=2, max_steps=12,
    min_steps=12, cross_fitting=None, weight_decay=5e-4, random_state=0,
)
start = time.perf_counter()
model.fit(X, y)
print(time.perf_counter() - start)
"""
WAYS = {"spinning": {}, "sleeping": {"OMP_WAIT_POLICY": "PASSIVE"}}


def measure(way: str) -> float:
    """Return the seconds of a training."""
    free = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run(
        [sys.executable, "-c", TRAINING], env=free | WAYS[way], capture_output=True, check=True
    )
    return float(done.stdout)


def compare(repeats: int) -> dict[str, float]:
    """Return the middle time of each way, which take turns."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(repeats):
        for way in WAYS:
            found[way].append(measure(way))
    return {way: statistics.median(seconds) for way, seconds in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    print(f"{os.cpu_count()} cores")
    for place in ("alone", "beside a busy process"):
        busy = None
        if place != "alone":
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            found = compare(asked.repeats)
        finally:
            if busy is not None:
                busy.kill()
                busy.wait()
        ratio = found["sleeping"] / found["spinning"]
        print(
            f"{place}: spinning {found['spinning']:.1f} s, sleeping {found['sleeping']:.1f} s, "
            f"ratio {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
