"""Time with two processes over that with one: trials of the paper, and a fit of the portfolio.

    python benchmarks/parallel.py [--runs 16] [--only portfolio]

On two free cores half would be perfect for trials; starting the processes costs some seconds once,
which the portfolio's first fit pays here. Its unit is a candidate, so it cannot be faster than
MixPUL alone, which takes .63 of the time of all (benchmarks/shares.py).
"""

import argparse
import os
import tempfile
import time

from mixpul import AutoPUClassifier
from mixpul.paper import trials_of
from mixpul.paper.names import UCI
from mixpul.paper.perform import perform
from mixpul.paper.runs import has_failed, run
from shares import draw_table

ONLY = "dataset=krvskp,dataset=spambase,method=MixPUL,method=PNU,c=0.1"


def measure_seconds(runs: int, jobs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        records = run(trials_of(UCI, runs=runs, only=ONLY), perform, folder, jobs=jobs)
        taken = time.perf_counter() - start
    assert not any(has_failed(record) for record in records)
    return taken


def compare_trials(runs: int) -> None:
    one, two = (measure_seconds(runs, jobs) for jobs in (1, 2))
    print(f"{len(trials_of(UCI, runs=runs, only=ONLY))} trials on {os.cpu_count()} cores")
    print(f"one process {one:.0f} s, two processes {two:.0f} s: ratio {two / one:.2f}")


def compare_portfolio(rounds: int = 2) -> None:
    X, y = draw_table(4000)
    AutoPUClassifier(candidates=["trees"], n_jobs=2, random_state=0).fit(X[:500], y[:500])
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):  # in turns: the machine's mood hits both alike
        for n_jobs, own in seconds.items():
            start = time.perf_counter()
            AutoPUClassifier(n_jobs=n_jobs, random_state=0).fit(X, y)
            own.append(time.perf_counter() - start)
    one, two = (min(own) for own in seconds.values())
    print(f"the portfolio on {len(X):,} x {X.shape[1]}, on {os.cpu_count()} cores")
    print(f"n_jobs=1 {one:.0f} s, n_jobs=2 {two:.0f} s: ratio {two / one:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--only", choices=("trials", "portfolio"))
    args = parser.parse_args()
    if args.only != "portfolio":
        compare_trials(args.runs)
    if args.only != "trials":
        compare_portfolio()


if __name__ == "__main__":
    main()
