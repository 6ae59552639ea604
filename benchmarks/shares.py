"""Where the time of a fit goes: processor seconds of each candidate of the portfolio, by rows.

    python benchmarks/shares.py [--rows 4000 40000 400000] [--show]

Each candidate is fitted alone, as the portfolio fits it: on all rows and on five folds. One row in
16 is a labeled positive. MixPUL is fitted once more with a profiler, which tells how much of it are
steps, the judging of epochs, and the rest. What was measured stands in
benchmarks/results/shares.json and is left out of the next run. The table shows shares, because
seconds depend on the machine.
"""

import argparse
import cProfile
import json
import pstats
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from mixpul import AutoPUClassifier, MixPULClassifier
from mixpul._util.files import write_whole
from mixpul.methods._candidates import CANDIDATES

RESULTS = Path(__file__).parent / "results" / "shares.json"
ROWS, N_COLUMNS, LABELED_OF = (4_000, 40_000, 400_000), 30, 16
# Functions of a MixPUL fit by file and name, and what they are for.
PARTS = {
    ("settings.py", "learn_features"): "kernel features",
    ("training.py", "train"): "training",
    ("selection.py", "score_held_out"): "scores of rows left out",
}


def draw_table(n_rows: int, seed: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of which three columns tell the class; label some of the positives."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, N_COLUMNS), dtype=np.float32)
    is_true = X[:, 0] + X[:, 1] * X[:, 2] + random.standard_normal(n_rows) > 1
    X[:, ::2] = np.exp(X[:, ::2])
    labeled = random.permutation(np.flatnonzero(is_true))[: n_rows // LABELED_OF]
    return X, np.isin(np.arange(n_rows), labeled)


def measure_candidate(name: str, n_rows: int) -> float:
    X, s = draw_table(n_rows)
    start = time.process_time()
    AutoPUClassifier(candidates=[name], random_state=1000).fit(X, s)
    return round(time.process_time() - start, 2)


def profile_mixpul(n_rows: int) -> dict[str, float]:
    """Return shares of the processor time of a fit by what it is for."""
    X, s = draw_table(n_rows)
    profile = cProfile.Profile(time.process_time)
    start = time.process_time()
    profile.runcall(MixPULClassifier(random_state=1000).fit, X, s)
    whole = time.process_time() - start
    spent = dict.fromkeys(PARTS.values(), 0.0)
    for (file, _, name), (*_, cumulative, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if part := PARTS.get((Path(file).name, name)):
            spent[part] += cumulative
    # Epochs are judged inside of the training.
    spent["training"] -= spent["scores of rows left out"]
    return {part: round(seconds / whole, 3) for part, seconds in spent.items()}


def read_results() -> dict[str, dict]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def show(results: dict[str, dict]) -> None:
    # Shares of all candidates only.
    rows = [n for n in sorted(results, key=int) if set(results[n]["seconds"]) == set(CANDIDATES)]
    print(
        "| share of the portfolio's time | " + " | ".join(f"{int(n):,} rows" for n in rows) + " |"
    )
    print("|---|" + "---|" * len(rows))
    sums = {n: sum(results[n]["seconds"].values()) for n in rows}
    for name in CANDIDATES:
        cells = [results[n]["seconds"].get(name, np.nan) / sums[n] for n in rows]
        print(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    print("| all, processor seconds | " + " | ".join(f"{sums[n]:.0f}" for n in rows) + " |")
    for part in PARTS.values():
        cells = [results[n].get("mixpul", {}).get(part, np.nan) for n in rows]
        print(f"| of MixPUL: {part} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--show", action="store_true", help="only print what is there")
    arguments = parser.parse_args()
    for n_rows in [] if arguments.show else arguments.rows:
        for name in CANDIDATES:
            results = read_results()
            found = results.setdefault(str(n_rows), {"seconds": {}})
            if name not in found["seconds"]:
                found["seconds"][name] = measure_candidate(name, n_rows)
                write_whole(RESULTS, (json.dumps(results, indent=1) + "\n").encode())
        results = read_results()
        if "mixpul" not in results[str(n_rows)]:
            results[str(n_rows)]["mixpul"] = profile_mixpul(n_rows)
            write_whole(RESULTS, (json.dumps(results, indent=1) + "\n").encode())
    show(read_results())


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
