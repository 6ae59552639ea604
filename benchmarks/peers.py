"""Other PU libraries beside ours: the same splits, one environment, one run.

    python benchmarks/peers.py [--seeds 3] [--frequencies 0.1 0.4] [--jobs 2]   # runs and prints
    python benchmarks/peers.py --save     # also keeps results/peers.json
    python benchmarks/peers.py --show     # runs nothing: prints the kept results

The first run builds a virtual environment with the peers, which later runs reuse (`--env`). Splits
are those of `quality.py`, and such of a synthetic set of Gaussian clusters. All methods get the
same standardised rows and one thread. Ours run with their defaults. A peer gets a grid of settings
around what its documentation shows, and of these, split by split, the one with the best PU-AUC in
three folds of the training rows. Fit times are processor seconds, without that search. Methods that
want the class prior or the label frequency, ours or not, get the true one and are marked "(prior)".
True labels are used for test scores and nothing else.

Left out: the weighted Elkan-Noto of pulearn, whose scores order rows as its unweighted one does.
Of pu-toolbox, PNU needs negatives, DGPU a generative model from the user, weighted contrastive PU
minutes for a fit; LBE, LLSVM, Self-PU and InfoMax had lower PU-AUC than those shown on splits that
are not reported here; KLDCE and the kernel form of PUSB were not compared.
"""

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import time
import venv
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from mixpul import (
    BaggingPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    UPUClassifier,
    VPUClassifier,
    datasets,
)
from mixpul.metrics import pu_auc_score
from mixpul.paper.perform import make_preparation, split_data

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "peers.json"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mixpul" / "peers"
PEERS = ("pulearn==0.2.0", "pu-toolbox==1.11.0", "six==1.17.0")
CLUSTERS = "clusters"
DATASETS = (*datasets.BUNDLED, CLUSTERS)
SCORES = ("auc", "accuracy", "f1", "seconds")

Grid = dict[str, BaseEstimator]  # settings of one method, by what they are called


def build_environment(folder: Path) -> Path:
    """Return the Python of the environment in `folder`; build it unless it is there whole."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    constraints = ROOT / "constraints.txt"
    wanted = "\n".join([sys.version, str(ROOT), *PEERS, constraints.read_text()])
    whole = folder / "complete.txt"  # written last: without it the build was cut short
    if whole.is_file() and whole.read_text() == wanted:
        return python
    if folder.exists() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").is_file():
        raise SystemExit(
            f"{folder} holds something else than a virtual environment, and building one would "
            "delete it; give a new folder as --env."
        )
    print(f"Building an environment with {', '.join(PEERS)} in {folder}", file=sys.stderr)
    venv.create(folder, clear=True, with_pip=True, symlinks=os.name != "nt")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # torch is pinned by the constraints; a free choice may be a CUDA build of several gigabytes.
    built = subprocess.run([*pip, "-c", constraints, "-e", ROOT, *PEERS], check=False)
    if built.returncode:
        raise SystemExit(f"pip could not install the peers (exit code {built.returncode}).")
    whole.write_text(wanted)
    return python


def draw_clusters(c: float, seed: int) -> tuple[datasets.PUData, np.ndarray, np.ndarray]:
    """4,000 rows of ten Gaussian clusters in eight dimensions, four of them positive."""
    centres = np.random.default_rng(0).normal(scale=1.2, size=(10, 8))
    rng = np.random.default_rng(seed)
    cluster = rng.integers(len(centres), size=4000)
    X, y = centres[cluster] + rng.normal(size=(len(cluster), 8)), (cluster < 4).astype(int)
    X_train, X_test, y_train, y_test = datasets.paper_split(X, y, random_state=seed)
    return datasets.make_pu(X_train, y_train, c=c, random_state=seed), X_test, y_test


def list_our_methods(prior: float, seed: int) -> dict[str, Grid]:
    models = {
        "MixPUL": MixPULClassifier(random_state=seed),
        "bagging": BaggingPUClassifier(random_state=seed),
        "VPU": VPUClassifier(random_state=seed),
        "nnPU (prior)": NNPUClassifier(prior=prior, random_state=seed),
        "uPU (prior)": UPUClassifier(prior=prior, random_state=seed),
    }
    return {f"mixpul {name}": {"defaults": model} for name, model in models.items()}


def list_prior_free_pulearn(positives_per_unlabeled: float, seed: int) -> dict[str, Grid]:
    import pulearn

    bases = {
        "SVM, C 10": SVC(C=10, probability=True, random_state=seed),
        "logistic regression, C .01": LogisticRegression(C=0.01, max_iter=1000),
        "logistic regression, C 1": LogisticRegression(C=1, max_iter=1000),
        "forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=seed),
    }
    bagged = {
        "tree": DecisionTreeClassifier(),
        "SVM, C 10": bases["SVM, C 10"],
        "logistic regression, C .1": LogisticRegression(C=0.1, max_iter=1000),
    }
    bayesian = {
        "naive Bayes": pulearn.PositiveNaiveBayesClassifier,
        "weighted naive Bayes": pulearn.WeightedNaiveBayesClassifier,
        "TAN": pulearn.PositiveTANClassifier,
        "weighted TAN": pulearn.WeightedTANClassifier,
    }
    return {
        "pulearn Elkan-Noto": {
            name: pulearn.ElkanotoPuClassifier(base, hold_out_ratio=0.2, random_state=seed)
            for name, base in bases.items()
        },
        # Samples as large as the positives: its default, all unlabeled rows, is far worse.
        "pulearn bagging": {
            name: pulearn.BaggingPuClassifier(
                base,
                n_estimators=15 if name.startswith("SVM") else 100,
                max_samples=positives_per_unlabeled,
                oob_score=False,
                random_state=seed,
            )
            for name, base in bagged.items()
        },
        "pulearn Bayesian": {name: kind() for name, kind in bayesian.items()},
    }


def list_pulearn_methods(
    prior: float, positives_per_unlabeled: float, seed: int
) -> dict[str, Grid]:
    import pulearn

    return list_prior_free_pulearn(positives_per_unlabeled, seed) | {
        "pulearn nnPU (prior)": {
            f"learning rate {rate}": pulearn.NNPUClassifier(
                prior, learning_rate=rate, random_state=seed
            )
            for rate in (0.01, 0.1, 1.0, 10.0)
        },
    }


def list_prior_free_pu_toolbox(seed: int) -> dict[str, Grid]:
    import pu_toolbox

    elkan_noto = {
        f"logistic regression, C {C}": pu_toolbox.ElkanNotoClassifier(
            LogisticRegression(C=C, max_iter=1000), random_state=seed
        )
        for C in (0.01, 0.1, 1.0)
    }
    # Not retrained, as is its default: around anything but a linear model it calibrates on weighted
    # copies of rows, which fails or turns scores upside down. Calibration makes it five forests.
    elkan_noto["forest"] = pu_toolbox.ElkanNotoClassifier(
        RandomForestClassifier(50, min_samples_leaf=5, random_state=seed),
        mode="probability_correction",
        random_state=seed,
    )
    return {
        "pu-toolbox Elkan-Noto": elkan_noto,
        "pu-toolbox PUSB": {f"C {C}": pu_toolbox.PUSBClassifier(C=C) for C in (0.01, 0.1, 1.0)},
    }


def list_pu_toolbox_methods(prior: float, c: float, n_features: int, seed: int) -> dict[str, Grid]:
    import pu_toolbox

    upu = {}
    for loss in ("squared", "logistic"):
        for penalty in (0.001, 0.01, 0.1):
            options = {"loss": loss, "reg_lambda": penalty, "random_state": seed}
            upu[f"linear, {loss}, {penalty}"] = pu_toolbox.UPUClassifier(prior, **options)
            for width in (0.5, 1, 2):
                upu[f"Gaussian {width}, {loss}, {penalty}"] = pu_toolbox.UPUClassifier(
                    prior, basis="rbf", kernel_width=width * n_features**0.5, **options
                )
    net = make_mlp(n_features, seed)
    options = {"class_prior": prior, "max_epochs": 100, "random_state": seed}
    nnpu = {
        "linear": pu_toolbox.NonNegativePUClassifier(**options),
        "MLP": pu_toolbox.NonNegativePUClassifier(
            net,
            optimizer=torch.optim.Adam(net.parameters(), lr=0.001, weight_decay=0.005),
            **options,
        ),
    }
    return list_prior_free_pu_toolbox(seed) | {
        "pu-toolbox uPU (prior)": upu,
        "pu-toolbox nnPU (prior)": nnpu,
        "pu-toolbox Dist-PU (prior)": {
            f"learning rate {rate}": pu_toolbox.DistPUClassifier(
                prior, learning_rate=rate, random_state=seed
            )
            for rate in (0.001, 0.01)
        },
        "pu-toolbox LDCE (prior)": {
            "1,000 rounds": pu_toolbox.LDCEClassifier(1 - c, max_iter=1000, random_state=seed)
        },
    }


def make_mlp(n_features: int, seed: int) -> torch.nn.Module:
    """Make a network as wide and deep as ours."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(n_features, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 1),
    )


def score_rows(model: Any, X: np.ndarray) -> np.ndarray:
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def choose(grid: Grid, X: np.ndarray, s: np.ndarray, seed: int) -> str:
    """Return the setting with the best mean PU-AUC in three folds; one that fails is out."""
    if len(grid) == 1:
        return next(iter(grid))
    folds = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(X, s))
    found, failure = {}, None
    for setting, model in grid.items():
        try:
            found[setting] = np.mean(
                [
                    pu_auc_score(s[out], score_rows(clone(model).fit(X[rows], s[rows]), X[out]))
                    for rows, out in folds
                ]
            )
        except Exception as error:
            failure = error
    if not found:
        raise RuntimeError(f"no setting could be fitted; the last: {failure}") from failure
    return max(found, key=lambda setting: found[setting])


def judge(grid: Grid, pu: Any, X_test: np.ndarray, y_test: np.ndarray, seed: int) -> dict[str, Any]:
    """Choose a setting, fit it, and score it; a failure is a result too."""
    try:
        setting = choose(grid, pu.X, pu.s, seed)
        model = clone(grid[setting])
        start = time.process_time()
        model.fit(pu.X, pu.s)
        seconds = time.process_time() - start
        predicted = np.asarray(model.predict(X_test)) == 1  # a peer's negatives are 0 or -1
        return {
            "auc": float(roc_auc_score(y_test, score_rows(model, X_test))),
            "accuracy": float(accuracy_score(y_test, predicted)),
            "f1": float(f1_score(y_test, predicted)),
            "seconds": round(seconds, 3),
            "setting": setting,
        }
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def run_trial(name: str, c: float, seed: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # what peers warn of is theirs, and not seen in a table
    torch.set_num_threads(1)
    split = draw_clusters(c, seed) if name == CLUSTERS else split_data(name, seed, {"c": c})
    pu, X_test, y_test = split
    preparation = make_preparation(name).fit(pu.X)
    X, X_test = (np.asarray(preparation.transform(rows), dtype=float) for rows in (pu.X, X_test))
    pu = dataclasses.replace(pu, X=X)
    n_positive = int(pu.s.sum())
    methods = (
        list_our_methods(pu.prior, seed)
        | list_pulearn_methods(pu.prior, n_positive / (len(X) - n_positive), seed)
        | list_pu_toolbox_methods(pu.prior, c, X.shape[1], seed)
    )
    results = {method: judge(grid, pu, X_test, y_test, seed) for method, grid in methods.items()}
    return {"dataset": name, "c": c, "seed": seed, "labeled": n_positive, "methods": results}


def average(trials: list[dict]) -> dict[str, dict[str, float]]:
    """Return the mean scores of every method over the trials in which it did not fail."""
    methods = {method: None for trial in trials for method in trial["methods"]}  # in their order
    found = {}
    for method in methods:
        done = [t["methods"][method] for t in trials if "failed" not in t["methods"][method]]
        if done:
            found[method] = {score: float(np.mean([r[score] for r in done])) for score in SCORES}
    return found


def group_cells(trials: list[dict]) -> dict[str, list[dict]]:
    """Group trials by data set and label frequency."""
    found: dict[str, list[dict]] = {}
    for t in trials:
        found.setdefault(f"{t['dataset']}, c = {t['c']}", []).append(t)
    return found


def average_cells(trials: list[dict]) -> dict[str, dict[str, float]]:
    """Return the mean over cells of methods that did not fail in all trials of any."""
    by_cell = [average(cell) for cell in group_cells(trials).values()]
    return {
        method: {score: float(np.mean([c[method][score] for c in by_cell])) for score in SCORES}
        for method in by_cell[0]
        if all(method in c for c in by_cell)
    }


def write_table(rows: dict[str, dict[str, float]]) -> str:
    """Write Markdown, best AUC first, the best of every column in bold."""
    lines = ["| method | AUC | accuracy | F1 | fit, s |", "|---|---|---|---|---|"]
    formats = {"auc": ".3f", "accuracy": ".3f", "f1": ".3f", "seconds": ".2f"}
    best = {
        score: (min if score == "seconds" else max)(row[score] for row in rows.values())
        for score in SCORES
    }
    for method, row in sorted(rows.items(), key=lambda item: -item[1]["auc"]):
        texts = []
        for score, style in formats.items():
            text, winner = format(row[score], style), format(best[score], style)
            texts.append(f"**{text}**" if text == winner else text)
        lines.append(f"| {method} | {' | '.join(texts)} |")
    return "\n".join(lines)


def write_verdict(rows: dict[str, dict[str, float]]) -> str:
    """Say in one sentence who has the best mean AUC, and how far the other side is behind."""
    order = sorted(rows, key=lambda method: -rows[method]["auc"])
    prior_free = [m for m in order if m.startswith("mixpul") and "(prior)" not in m]
    peers = [m for m in order if not m.startswith("mixpul")]
    best, mine, other = (f"{m[0]}, {rows[m[0]]['auc']:.3f}" for m in (order, prior_free, peers))
    if order[0] == prior_free[0]:
        return f"Best mean AUC, a prior-free method of ours: {best}. Best of the peers: {other}."
    return (
        f"Best mean AUC, NOT a prior-free method of ours: {best}. "
        f"Best of ours without a prior: {mine}. Best of the peers: {other}."
    )


def write_report(trials: list[dict]) -> str:
    """Write a table for every data set and label frequency, their means, and what failed."""
    parts = [
        f"### {name}\n\n{write_table(average(cell))}" for name, cell in group_cells(trials).items()
    ]
    rows = average_cells(trials)
    parts.append(
        f"### Mean of all {len(trials)} splits\n\n{write_table(rows)}\n\n{write_verdict(rows)}"
    )
    failures = [
        f"- {method} failed on {t['dataset']}, c = {t['c']}, seed {t['seed']}: {result['failed']}"
        for t in trials
        for method, result in t["methods"].items()
        if "failed" in result
    ]
    return "\n\n".join([*parts, *(["\n".join(failures)] if failures else [])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--frequencies", type=float, nargs="+", default=[0.1])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--env", type=Path, default=CACHE, help="folder of the environment")
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS.name}")
    parser.add_argument("--show", action="store_true", help="print the kept results")
    args = parser.parse_args()
    if args.show:
        print(write_report(json.loads(RESULTS.read_text())["trials"]))
        return
    folder = args.env.resolve()
    if Path(sys.prefix).resolve() != folder:  # again, by the Python that has the peers
        command = [build_environment(folder), __file__, *sys.argv[1:]]
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        done = subprocess.run(command, env=os.environ | one_thread, check=False)
        raise SystemExit(done.returncode)
    tasks = [(n, c, s) for n in DATASETS for c in args.frequencies for s in range(args.seeds)]
    trials = Parallel(args.jobs, verbose=1)(delayed(run_trial)(*task) for task in tasks)
    print(write_report(trials))
    if args.save:
        packages = ("mixpul", "pulearn", "pu-toolbox", "torch", "scikit-learn")
        about = {name: version(name) for name in packages} | {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "seeds": args.seeds,
        }
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"about": about, "trials": trials}, indent=1) + "\n")


if __name__ == "__main__":
    main()
