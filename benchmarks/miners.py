"""Time and peak extra memory of DistanceMiner: 200,000 unlabeled x 5,000 positive x 50 features.

A full matrix of these distances would take 8 GB.
"""

import resource
import subprocess
import sys
import time

import numpy as np

from mixpul.miners import DistanceMiner

N_UNLABELED, N_POSITIVE, N_FEATURES = 200_000, 5_000, 50


def main() -> None:
    # The peak of a process never falls, so what earlier work left behind would hide the miner's.
    subprocess.run([sys.executable, __file__, "--measure"], check=True)


def measure() -> None:
    generator = np.random.default_rng(0)
    unlabeled = generator.standard_normal((N_UNLABELED, N_FEATURES), dtype=np.float32)
    positive = generator.standard_normal((N_POSITIVE, N_FEATURES), dtype=np.float32)
    before, start = measure_peak_mb(), time.perf_counter()
    DistanceMiner().mine(positive, unlabeled, n=N_UNLABELED // 2)
    seconds = time.perf_counter() - start
    print(
        f"DistanceMiner, {N_UNLABELED:,} x {N_POSITIVE:,} x {N_FEATURES}: "
        f"{seconds:.1f} s, {measure_peak_mb() - before:.0f} MB extra at the peak"
    )


def measure_peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Kilobytes, except on macOS.
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    measure() if "--measure" in sys.argv else main()
