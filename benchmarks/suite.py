"""Test AUC of the methods that need no class prior, on many tables and with few labels.

    python benchmarks/suite.py --data FOLDER [--jobs 2] [--seeds 3] [--only method=VPU] [--show]

The tables are those of the paper and, from the folder, development tables: `NAME.npz` with `X` and
`y` there or in its folder `dev`. A table that is not found is left out with a message. 60 % of the
rows, at most 4,000, are trained on, with 12, 60 or 250 labeled positives, but never more than half
of all; the other rows are tested on. A run that was stopped goes on where it stopped; results are
in benchmarks/results/suite.jsonl. Settings of ours must not be chosen by these numbers.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mixpul import datasets
from mixpul._names import METHODS
from mixpul._util.validation import write_recipe
from mixpul.paper.baselines import ClassMeans, TunedLogisticRegression
from mixpul.paper.grid import matches, parse_only
from mixpul.paper.perform import Split
from mixpul.paper.runs import Record, Trial, has_failed, pack_results, read_results, run

RESULTS = Path(__file__).parent / "results"
TARGET = "suite"
PAPER_TABLES = ("krvskp", "titanic", "spambase", "mushroom", "satimage", "texture", "twonorm")
DEVELOPMENT_TABLES = (
    "banana", "contraceptive", "german", "letter", "mammographic", "segment", "splice",
    "tic-tac-toe", "vehicle", "vowel", "yeast1",
)  # fmt: skip
LABELED = (12, 60, 250)
MOST_TRAINING_ROWS = 4000
# A column with a value so many standard deviations from its mean has a heavy tail.
HEAVY_TAIL = 8.0
# By the names that tables of results show.
CLASSIFIERS: dict[str, Any] = {
    "MixPUL": METHODS["mixpul"](),
    "VPU": METHODS["vpu"](),
    "Bagging": METHODS["bagging"](),
    "WSVM": METHODS["wsvm"](),
    "Supervised": METHODS["supervised"](),
    "logistic regression": TunedLogisticRegression(),
    "class means": ClassMeans(),
}


def load_table(name: str, data: Path | None) -> tuple[NDArray, NDArray]:
    """Read a table of the paper, or a development table from the folder."""
    if name in PAPER_TABLES:
        return datasets.load(name, data=data, return_X_y=True)
    for path in [] if data is None else [data / f"{name}.npz", data / "dev" / f"{name}.npz"]:
        if path.exists():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"], arrays["y"]
    raise datasets.DataNotAvailable(f"{name}.npz is not in the folder {str(data)!r}.")


def split_table(X: NDArray, y: NDArray, n_labeled: int, seed: int) -> Split:
    """Label some positives of the training rows; put all columns on one scale."""
    share = min(0.6, MOST_TRAINING_ROWS / len(X))
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=share, stratify=y, random_state=seed
    )
    # Half of the positives stay hidden, so that there is something left to find.
    n_labeled = min(n_labeled, int(y_train.sum()) // 2)
    # All other training rows are unlabeled, as in a table of one's own.
    pu = datasets.make_pu(
        X_train, y_train, n_positive=n_labeled, scheme="single", random_state=seed
    )
    prepare = make_preparation(pu.X)
    return Split(replace(pu, X=prepare(pu.X)), prepare(X_test), y_test)


def make_preparation(X: NDArray) -> Callable[[NDArray], NDArray]:
    """Learn from training rows how to scale; tails are drawn in first, by a signed logarithm."""
    spread = X.std(axis=0)
    farthest = np.abs(X - X.mean(axis=0)).max(axis=0)
    is_heavy = farthest > HEAVY_TAIL * np.where(spread > 0, spread, np.inf)

    def draw_in(rows: NDArray) -> NDArray:
        return np.where(is_heavy, np.sign(rows) * np.log1p(np.abs(rows)), rows)

    scaler = StandardScaler().fit(draw_in(X))
    return lambda rows: scaler.transform(draw_in(rows))


def perform(trial: Trial, data: Path | None) -> Record:
    """Fit and test one method."""
    table = load_table(trial.dataset, data)
    split = split_table(*table, trial.settings["n_positive"], trial.seed)
    model = clone(CLASSIFIERS[trial.method])
    if "random_state" in model.get_params():
        model.set_params(random_state=trial.seed)
    start = time.perf_counter()
    model.fit(split.pu.X, split.pu.s)
    seconds = time.perf_counter() - start
    auc = roc_auc_score(split.y_test, model.decision_function(split.X_test))
    return {
        "auc": float(auc),
        "labeled": int(split.pu.s.sum()),
        "rows": len(split.pu.s),
        "prior": split.pu.prior,
        "fit_seconds": round(seconds, 3),
    }


def list_trials(tables: list[str], n_seeds: int, only: str) -> list[Trial]:
    chosen = parse_only(only)
    trials = [
        Trial(TARGET, table, method, seed, {"n_positive": n}, write_recipe(model))
        for seed in range(n_seeds)
        for table in tables
        for n in LABELED
        for method, model in CLASSIFIERS.items()
    ]
    return [trial for trial in trials if matches(trial, chosen)]


def find_tables(data: Path | None) -> list[str]:
    """List the tables that are here; say which are not."""
    found = []
    for name in (*PAPER_TABLES, *DEVELOPMENT_TABLES):
        try:
            load_table(name, data)
            found.append(name)
        except datasets.DataNotAvailable as error:
            print(f"{name} is left out: {error}")
    return found


def summarise(records: list[Record]) -> str:
    """Compare methods over the cells that all of them have: a table in Markdown."""
    aucs: dict[tuple[str, int], dict[str, list[float]]] = {}
    seconds: dict[str, list[float]] = {}
    for record in records:
        cell = record["dataset"], record["settings"]["n_positive"]
        aucs.setdefault(cell, {}).setdefault(record["method"], []).append(record["auc"])
        seconds.setdefault(record["method"], []).append(record["fit_seconds"])
    methods = [name for name in CLASSIFIERS if name in seconds]
    cells = [cell for cell in aucs if all(name in aucs[cell] for name in methods)]
    if not cells:
        return "No cell has a result of every method yet."
    means = np.array([[np.mean(aucs[cell][name]) for name in methods] for cell in cells])
    ranks = rankdata(-means, axis=1)
    labeled = np.array([n for _, n in cells])
    lines = [
        f"Mean test AUC over {len(cells)} cells of {len({name for name, _ in cells})} tables.",
        "",
        "| method | all | " + " | ".join(f"{n} labeled" for n in LABELED)
        + " | mean rank | wins | seconds |",
        "| --- |" + " ---: |" * (4 + len(LABELED)),
    ]  # fmt: skip
    for k in np.argsort(-means.mean(axis=0)):
        parts = [means[:, k], *(means[labeled == n, k] for n in LABELED)]
        numbers = [f"{part.mean():.3f}" if len(part) else "–" for part in parts]
        wins = int((ranks[:, k] == ranks.min(axis=1)).sum())
        more = [f"{ranks[:, k].mean():.1f}", f"{wins}", f"{np.mean(seconds[methods[k]]):.1f}"]
        lines.append(f"| {methods[k]} | " + " | ".join([*numbers, *more]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("MIXPUL_DATA"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true", help="only print what is there")
    args = parser.parse_args()
    if not args.show:
        data = None if args.data is None else Path(args.data)
        trials = list_trials(find_tables(data), args.seeds, args.only)
        records = run(trials, partial(perform, data=data), RESULTS, jobs=args.jobs, verbose=1)
        for record in filter(has_failed, records):
            print(f"failed: {record['id']}: {record['failure']}")
        pack_results(RESULTS, TARGET)
    print(summarise([r for r in read_results(RESULTS, TARGET) if not has_failed(r)]))


if __name__ == "__main__":
    main()
