"""Time of the same trials with two processes over that with one.

    python benchmarks/parallel.py [--runs 16]

On two free cores half would be perfect; starting the processes costs some seconds once.
"""

import argparse
import os
import tempfile
import time

from mixpul.paper import trials_of
from mixpul.paper.names import UCI
from mixpul.paper.perform import perform
from mixpul.paper.runs import has_failed, run

ONLY = "dataset=krvskp,dataset=spambase,method=MixPUL,method=PNU,c=0.1"


def measure_seconds(runs: int, jobs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        records = run(trials_of(UCI, runs=runs, only=ONLY), perform, folder, jobs=jobs)
        taken = time.perf_counter() - start
    assert not any(has_failed(record) for record in records)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=16)
    args = parser.parse_args()
    one, two = (measure_seconds(args.runs, jobs) for jobs in (1, 2))
    print(f"{len(trials_of(UCI, runs=args.runs, only=ONLY))} trials on {os.cpu_count()} cores")
    print(f"one process {one:.0f} s, two processes {two:.0f} s: ratio {two / one:.2f}")


if __name__ == "__main__":
    main()
