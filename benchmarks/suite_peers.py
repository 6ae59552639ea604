"""Test AUC of other PU libraries on the splits of suite.py: their best methods without a prior.

    python benchmarks/suite_peers.py --data FOLDER [--seeds 3] [--only dataset=german] [--show]

The methods are the two of each package that had the best mean AUC in results/peers.json among those
that need no class prior. As in `peers.py`, a method gets a grid of settings, and of these, split by
split, the one with the best PU-AUC in three folds of the training rows. Seconds are processor
seconds on one thread; `fit_seconds` is the last fit, `search_seconds` the choice before it.

The environment with the peers is that of `peers.py` (`--env`). Its Python gets the training rows,
their labels and the test rows, and returns scores; true labels stay here. A run that was stopped
goes on where it stopped; results are in benchmarks/results/suite-peers.jsonl. A failure is a result
too, and is not tried again while its line is there.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from mixpul._util.files import write_whole
from mixpul.paper.grid import matches, parse_only
from mixpul.paper.runs import Record, Trial, has_failed, read_results
from peers import (
    CACHE,
    PEERS,
    build_environment,
    choose,
    list_prior_free_pu_toolbox,
    list_prior_free_pulearn,
    score_rows,
)
from suite import LABELED, RESULTS, TARGET, find_tables, load_table, split_table

NAME = "suite-peers"  # of the file of results; its records are of the target "suite"
VERSIONS = dict(pin.split("==") for pin in PEERS)
# The class and its settings, those to choose from divided by "|", as `peers.py` makes them.
RECIPES = {
    "pulearn bagging": (
        "BaggingPuClassifier(max_samples=labeled/unlabeled, oob_score=False, "
        "DecisionTreeClassifier(), n_estimators=100 | SVC(C=10, probability=True), n_estimators=15 "
        "| LogisticRegression(C=0.1), n_estimators=100)"
    ),
    "pulearn Elkan-Noto": (
        "ElkanotoPuClassifier(hold_out_ratio=0.2, SVC(C=10, probability=True) | "
        "LogisticRegression(C=0.01) | LogisticRegression(C=1) | "
        "RandomForestClassifier(n_estimators=100, min_samples_leaf=5))"
    ),
    "pu-toolbox Elkan-Noto": (
        "ElkanNotoClassifier(LogisticRegression(C=0.01) | LogisticRegression(C=0.1) | "
        "LogisticRegression(C=1) | RandomForestClassifier(n_estimators=50, min_samples_leaf=5), "
        "mode=probability_correction)"
    ),
    "pu-toolbox PUSB": "PUSBClassifier(C=0.01 | C=0.1 | C=1)",
}


def find_package(method: str) -> str:
    return method.split()[0]


def list_trials(tables: list[str], n_seeds: int, only: str) -> list[Trial]:
    """List all cells of the first seed first, and in these one package after the other."""
    chosen = parse_only(only)
    trials = []
    for seed in range(n_seeds):
        for package in dict.fromkeys(map(find_package, RECIPES)):
            for method in (name for name in RECIPES if find_package(name) == package):
                recipe = f"{package} {VERSIONS[package]} {RECIPES[method]}"
                trials += [
                    Trial(TARGET, table, method, seed, {"n_positive": n}, recipe)
                    for table in tables
                    for n in LABELED
                ]
    return [trial for trial in trials if matches(trial, chosen)]


def serve() -> None:
    """Answer each line of the input, a fit to make, by a line; run by the Python of the peers."""
    warnings.simplefilter("ignore")
    # What a peer prints must not be taken for an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        question = json.loads(line)
        answer = fit_peer(**question)
        answer["made_with"] = describe_software(find_package(question["method"]))
        print(json.dumps(answer), file=answers, flush=True)


def fit_peer(folder: str, method: str, seed: int) -> dict[str, Any]:
    """Choose a setting, fit it and write test scores to `scores.npy`; a failure is told."""
    with np.load(Path(folder, "split.npz"), allow_pickle=False) as arrays:
        X, s, X_test = arrays["X"], arrays["s"], arrays["X_test"]
    try:
        grid = list_grids(find_package(method), s, seed)[method]
        start = time.process_time()
        setting = choose(grid, X, s, seed)
        chosen = time.process_time()
        model = clone(grid[setting]).fit(X, s)
        fitted = time.process_time()
        np.save(Path(folder, "scores.npy"), score_rows(model, X_test))
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"}
    return {
        "setting": setting,
        "fit_seconds": round(fitted - chosen, 3),
        "search_seconds": round(chosen - start, 3),
    }


def describe_software(package: str) -> dict[str, str]:
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scikit-learn", "scipy", package)},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def list_grids(package: str, s: np.ndarray, seed: int) -> dict[str, Any]:
    if package == "pulearn":
        return list_prior_free_pulearn(s.sum() / (len(s) - s.sum()), seed)
    return list_prior_free_pu_toolbox(seed)


@contextmanager
def start_server(python: Path) -> Iterator[subprocess.Popen]:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with subprocess.Popen(
        [python, __file__, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | one_thread,
    ) as server:
        yield server


def ask(server: subprocess.Popen, question: dict[str, Any]) -> dict[str, Any]:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(question) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    if not answer:
        raise SystemExit("The process of the peers ended; start again to go on from here.")
    return json.loads(answer)


def perform(trial: Trial, data: Path | None, server: subprocess.Popen) -> Record:
    """Have the peer fitted and scored over there, and test its scores here."""
    start = time.perf_counter()
    table = load_table(trial.dataset, data)
    split = split_table(*table, trial.settings["n_positive"], trial.seed)
    record = {
        "id": trial.id,
        **asdict(trial),
        "labeled": int(split.pu.s.sum()),
        "rows": len(split.pu.s),
        "prior": split.pu.prior,
    }
    with TemporaryDirectory() as folder:
        np.savez(Path(folder, "split.npz"), X=split.pu.X, s=split.pu.s, X_test=split.X_test)
        record |= ask(server, {"folder": folder, "method": trial.method, "seed": trial.seed})
        if not has_failed(record):
            scores = np.load(Path(folder, "scores.npy"), allow_pickle=False)
            if np.isfinite(scores).all():
                record["auc"] = float(roc_auc_score(split.y_test, scores))
            else:
                record["failure"] = "ValueError: scores are not finite"
    now = datetime.datetime.now(datetime.UTC)
    return record | {
        "seconds": round(time.perf_counter() - start, 3),
        "finished": now.isoformat(timespec="seconds"),
    }


def run(trials: list[Trial], data: Path | None, env: Path) -> None:
    """Perform the trials that have no result; every result is written as it comes."""
    records = {record["id"]: record for record in read_results(RESULTS, NAME)}
    left = [trial for trial in trials if trial.id not in records]
    if not left:
        return
    python = build_environment(env.resolve())
    for (seed, package), group in groupby(left, lambda t: (t.seed, find_package(t.method))):
        print(f"seed {seed}, {package}", file=sys.stderr)
        with start_server(python) as server:
            for trial in group:
                records[trial.id] = perform(trial, data, server)
                lines = "".join(json.dumps(records[key]) + "\n" for key in sorted(records))
                write_whole(RESULTS / f"{NAME}.jsonl", lines.encode())


def summarise(records: list[Record]) -> str:
    """Compare the peers over the splits that all of them were tried on; say what failed.

    A mean is left out if a split failed: without its hardest splits a method would look better.
    """
    found: dict[tuple[str, int, int], dict[str, Record]] = {}
    for r in records:
        split = r["dataset"], r["settings"]["n_positive"], r["seed"]
        found.setdefault(split, {})[r["method"]] = r
    found = {split: tried for split, tried in found.items() if len(tried) == len(RECIPES)}
    columns = {"all": LABELED} | {f"{n} labeled": (n,) for n in LABELED}
    lines = [
        f"Mean test AUC over {len(found)} splits of {len({name for name, _, _ in found})} tables.",
        "",
        f"| method | {' | '.join(columns)} | failed | seconds |",
        "| --- |" + " ---: |" * (len(columns) + 2),
    ]
    for method in RECIPES:
        numbers = []
        for labeled in columns.values():
            aucs = [found[split][method].get("auc") for split in found if split[1] in labeled]
            numbers.append(f"{np.mean(aucs):.3f}" if aucs and None not in aucs else "–")
        done = [r for r in (tried[method] for tried in found.values()) if not has_failed(r)]
        seconds = f"{np.mean([r['fit_seconds'] for r in done]):.2f}" if done else "–"
        lines.append(f"| {method} | {' | '.join(numbers)} | {len(found) - len(done)} | {seconds} |")
    failures = [f"failed: {r['id']}: {r['failure']}" for r in records if has_failed(r)]
    return "\n".join([*lines, "", *failures])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("MIXPUL_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--env", type=Path, default=CACHE, help="folder of the environment")
    parser.add_argument("--show", action="store_true", help="only print what is there")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve()
        return
    if not args.show:
        data = None if args.data is None else Path(args.data)
        run(list_trials(find_tables(data), args.seeds, args.only), data, args.env)
    print(summarise(read_results(RESULTS, NAME)))


if __name__ == "__main__":
    main()
