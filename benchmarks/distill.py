"""Test AUC of one small network beside the portfolio whose scores it has learned.

    python benchmarks/distill.py --data FOLDER [--jobs 2] [--seeds 1] [--first-seed 0] [--show]

Tables and splits are those of suite.py, with 12, 60 and 250 labeled positives. Each trial fits the
portfolio once and lets several networks learn from it; with `--models FOLDER` portfolios are kept
there, and other networks can learn from them later without another fit. Settings of the network
are chosen by seeds from 1000 on; the numbers to show are those of the seeds before. A run that was
stopped goes on where it stopped; results are in benchmarks/results/distill.jsonl.

    python benchmarks/distill.py --speed

counts rows per second of a network for 30 numbers, beside a plain product of the same matrices and
beside reading the rows from Parquet. Seconds are those of the processor on one thread, so that a
busy machine hardly matters; pieces of a table are scored on as many threads as there are cores.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from mixpul import AutoPUClassifier, BaggingPUClassifier, DistilledPUClassifier, load, save
from mixpul._util.validation import write_recipe
from mixpul.methods._distilling import distill_scores
from mixpul.methods._student import N_STEPS, WIDTHS, score_by_student
from mixpul.paper.perform import Split
from mixpul.paper.runs import Record, Trial, has_failed, pack_results, read_results, run
from suite import RESULTS, find_tables, load_table, split_table

TARGET = "distill"
LABELED = (60, 250, 12)
DEFAULT = "default"
# What was tried; the first one is what the package does.
STUDENTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "layers of 128 units": {"widths": (128, 128)},
    "layers of 64 units": {"widths": (64, 64)},
    "layers of 64 and 32 units": {"widths": (64, 32)},
    "twice the steps": {"n_steps": 2 * N_STEPS},
    "twice the steps, 150,000 rows": {"n_steps": 2 * N_STEPS, "n_made": 150_000},
}


def perform(trial: Trial, data: Path | None, models: Path | None) -> Record:
    """Fit the portfolio, and let each network learn its scores."""
    split = split_table(*load_table(trial.dataset, data), trial.settings["n_positive"], trial.seed)
    model = fit_portfolio(trial, split, models)
    rows = split.X_test.astype(np.float32)
    theirs = model.decision_function(rows)
    found = {}
    # Other networks than the default one are for choosing only.
    names = STUDENTS if trial.seed >= 1000 else [DEFAULT]
    for name in names:
        start = time.process_time()
        student, agreement = distill_scores(
            model.decision_function,
            split.pu.X.astype(np.float32),
            0.0,
            np.random.default_rng(trial.seed),
            **STUDENTS[name],
        )
        ours = score_by_student(student, rows)
        found[name] = {
            "auc": float(roc_auc_score(split.y_test, ours)),
            "rank_correlation": float(spearmanr(theirs, ours)[0]),
            "same_decision": float(np.mean((theirs > 0) == (ours > 0))),
            "said": agreement._asdict(),
            "seconds": round(time.process_time() - start, 1),
        }
    return {
        "auc": float(roc_auc_score(split.y_test, theirs)),
        "students": found,
        "rows": len(split.pu.s),
    }


def fit_portfolio(trial: Trial, split: Split, models: Path | None) -> AutoPUClassifier:
    """Fit the portfolio, or read it from the folder if it was fitted before."""
    if models is None:
        return AutoPUClassifier(random_state=trial.seed).fit(split.pu.X, split.pu.s)
    path = models / f"{trial.dataset}-{trial.settings['n_positive']}-{trial.seed}.mixpul"
    if not path.exists():
        models.mkdir(parents=True, exist_ok=True)
        save(AutoPUClassifier(random_state=trial.seed).fit(split.pu.X, split.pu.s), path)
    return load(path)


def list_trials(tables: list[str], seeds: range) -> list[Trial]:
    recipe = f"{write_recipe(AutoPUClassifier())} {write_recipe(DistilledPUClassifier())}"
    return [
        Trial(TARGET, table, "distilled", seed, {"n_positive": n}, recipe)
        for seed in seeds
        for n in LABELED
        for table in tables
    ]


def summarise(records: list[Record]) -> str:
    """Show what each network has lost: a table in Markdown."""
    if not records:
        return "There are no results yet."
    names = [name for name in STUDENTS if all(name in one["students"] for one in records)]
    lines = [
        f"{len(records)} splits of {len({one['dataset'] for one in records})} tables; "
        f"mean AUC of the portfolio {np.mean([one['auc'] for one in records]):.4f}.",
        "",
        "| network | AUC | lost on average | lost at most | rank correlation | same decision "
        "| seconds |",
        "| --- |" + " ---: |" * 6,
    ]
    for name in names:
        own = [one["students"][name] for one in records]
        lost = np.array([one["auc"] - s["auc"] for one, s in zip(records, own, strict=True)])
        auc, correlation, same, seconds = (
            np.mean([student[key] for student in own])
            for key in ("auc", "rank_correlation", "same_decision", "seconds")
        )
        lines.append(
            f"| {name} | {auc:.4f} | {lost.mean():+.4f} | {lost.max():+.4f} | "
            f"{correlation:.4f} | {same:.3f} | {seconds:.0f} |"
        )
    worst = sorted(records, key=lambda one: one["students"][DEFAULT]["auc"] - one["auc"])[:5]
    told = "; ".join(
        f"{one['dataset']} with {one['settings']['n_positive']} labeled "
        f"{one['auc']:.3f} to {one['students'][DEFAULT]['auc']:.3f}"
        for one in worst
    )
    return "\n".join([*lines, "", f"Most is lost on: {told}."])


def show_speed(n_rows: int = 200_000, n_columns: int = 30) -> None:
    """Count rows per second of one network beside what bounds it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_columns)).astype(np.float32)
    y = (X[:, 0] > 1).astype(int)
    trees = BaggingPUClassifier(random_state=0).fit(X[:2000], y[:2000])
    model = DistilledPUClassifier(n_steps=100, random_state=0).learn_from(trees, X[:2000])
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        path = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({f"x{k}": X[:, k] for k in range(n_columns)}), path)
        works: dict[str, Callable[[], Any]] = {
            "one network": lambda: model.decision_function(X),
            "matrix product": lambda: _multiply(X),
            "reading Parquet": lambda: pq.ParquetFile(path).read(use_threads=False),
        }
        seconds = {name: np.inf for name in works}
        for _ in range(10):  # in turns: the machine's mood hits all alike
            for name, work in works.items():
                start = time.process_time()
                work()
                seconds[name] = min(seconds[name], time.process_time() - start)
    for name, least in seconds.items():
        print(
            f"{name:<16} {n_rows / least / 1e6:5.2f} million rows in a second of one core, "
            f"{2 * n_rows / least / 1e6:5.2f} of two; the network's rate over this one "
            f"{least / seconds['one network']:.2f}"
        )


def _multiply(rows: np.ndarray) -> None:
    """Do the products of the network, and nothing else."""
    sizes = [rows.shape[1], *WIDTHS]
    weights = [np.ones(shape, dtype=np.float32) for shape in pairwise(sizes)]
    for start in range(0, len(rows), 4096):
        hidden = rows[start : start + 4096]
        for weight in weights:
            hidden = hidden @ weight


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("MIXPUL_DATA"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of tables")
    parser.add_argument("--models", type=Path, help="folder to keep fitted portfolios in")
    parser.add_argument("--show", action="store_true", help="only print what is there")
    parser.add_argument("--speed", action="store_true", help="only count rows per second")
    args = parser.parse_args()
    if args.speed:
        show_speed()
        return
    if not args.show:
        data = None if args.data is None else Path(args.data)
        seeds = range(args.first_seed, args.first_seed + args.seeds)
        trials = list_trials(args.only or find_tables(data), seeds)
        records = run(
            trials,
            partial(perform, data=data, models=args.models),
            RESULTS,
            jobs=args.jobs,
            verbose=1,
        )
        for record in filter(has_failed, records):
            print(f"failed: {record['id']}: {record['failure']}")
        pack_results(RESULTS, TARGET)
    found = [record for record in read_results(RESULTS, TARGET) if not has_failed(record)]
    for title, chosen in (
        (
            "Seeds from 1000 on, by which settings are chosen",
            [r for r in found if r["seed"] >= 1000],
        ),
        ("Seeds before 1000", [r for r in found if r["seed"] < 1000]),
    ):
        print(f"{title}: {summarise(chosen)}\n")


if __name__ == "__main__":
    main()
