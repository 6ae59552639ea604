"""Test AUC of MixPUL with its defaults, beside the paper's numbers and logistic regression.

    python benchmarks/quality.py [--seeds 10] [--jobs 2]

The paper's protocol: int(0.7 n) rows to train on, a share c of their positives labeled, all other
training rows unlabeled. Mean and standard deviation over seeds 0 to 9, each a new split and a new
draw of the labeled positives. Logistic regression is balanced, on the same splits, with its C
chosen by PU-AUC in five folds. True labels are used for the test AUC and nothing else.
"""

import argparse
import json
import platform
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import mixpul
from mixpul import MixPULClassifier, datasets
from mixpul.metrics import pu_auc_scorer

FREQUENCIES = (0.01, 0.05, 0.1, 0.2, 0.4)
# MixPUL's row of the paper's table "benchmark datasets".
PAPER = {
    "krvskp": (0.70, 0.90, 0.93, 0.96, 0.97),
    "titanic": (0.67, 0.68, 0.70, 0.71, 0.71),
    "spambase": (0.89, 0.92, 0.94, 0.94, 0.96),
}
CELLS = [(name, c) for name in PAPER for c in FREQUENCIES]
RESULTS = Path(__file__).parent / "results" / "quality.json"


def pu_split(name: str, c: float, seed: int) -> tuple[datasets.PUData, np.ndarray, np.ndarray]:
    X, y = datasets.load(name, return_X_y=True)
    X_train, X_test, y_train, y_test = datasets.paper_split(X, y, random_state=seed)
    return datasets.make_pu(X_train, y_train, c=c, random_state=seed), X_test, y_test


def prepared(name: str, classifier: ClassifierMixin) -> Pipeline:
    logs = [FunctionTransformer(np.log1p)] if name == "spambase" else []
    return make_pipeline(*logs, StandardScaler(), classifier)


def logistic_regression(n_positive: int, seed: int) -> GridSearchCV:
    return GridSearchCV(
        LogisticRegression(class_weight="balanced", max_iter=1000),
        {"C": 10.0 ** np.arange(-4, 3)},
        scoring=pu_auc_scorer,
        cv=StratifiedKFold(min(5, n_positive), shuffle=True, random_state=seed),
    )


def trial(name: str, c: float, seed: int) -> dict[str, float]:
    warnings.simplefilter("ignore", ConvergenceWarning)  # at C = 100 on separable folds
    pu, X_test, y_test = pu_split(name, c, seed)
    models = {
        "MixPUL": MixPULClassifier(random_state=seed),
        "logistic": logistic_regression(int(pu.s.sum()), seed),
    }
    result = {"dataset": name, "c": c, "seed": seed}
    for method, model in models.items():
        start = time.perf_counter()
        scores = prepared(name, model).fit(pu.X, pu.s).decision_function(X_test)
        result[f"{method} seconds"] = round(time.perf_counter() - start, 2)
        result[method] = float(roc_auc_score(y_test, scores))
    return result


def table(trials: list[dict[str, float]]) -> str:
    """Markdown: mean and standard deviation of both methods in every cell."""
    lines = [
        "| data | c | labeled | MixPUL | balanced logistic regression | paper's MixPUL |",
        "|---|---|---|---|---|---|",
    ]
    means = []
    for name, c in CELLS:
        cell = [t for t in trials if (t["dataset"], t["c"]) == (name, c)]
        ours, theirs = (np.array([t[m] for t in cell]) for m in ("MixPUL", "logistic"))
        means.append((ours.mean(), theirs.mean()))
        texts = [f"{v.mean():.3f} ± {v.std():.3f}" for v in (ours, theirs)]
        best = int(round(theirs.mean(), 3) > round(ours.mean(), 3))
        texts[best] = f"**{texts[best]}**"
        published = PAPER[name][FREQUENCIES.index(c)]
        n_positive = pu_split(name, c, 0)[0].s.sum()
        lines.append(f"| {name} | {c} | {n_positive} | {' | '.join(texts)} | {published:.2f} |")
    mean = np.mean(means, axis=0)
    lines.append(f"| mean | | | {mean[0]:.3f} | {mean[1]:.3f} | {np.mean([*PAPER.values()]):.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS.name}")
    args = parser.parse_args()
    tasks = [(name, c, seed) for name, c in CELLS for seed in range(args.seeds)]
    trials = Parallel(args.jobs, verbose=1)(delayed(trial)(*task) for task in tasks)
    print(table(trials))
    if args.save:
        RESULTS.parent.mkdir(exist_ok=True)
        about = {"mixpul": mixpul.__version__, "machine": platform.machine()}
        RESULTS.write_text(json.dumps({"about": about, "trials": trials}, indent=1) + "\n")


if __name__ == "__main__":
    main()
