"""Held-out PU-AUC of candidate defaults, on splits that no reported number uses.

    python benchmarks/defaults.py [--seeds 5] [--cells krvskp:0.05,spambase:0.01] [--only WSVM]

For every cell and seed the usual training part is made into PU data. The remaining rows become PU
data too (half of their positives labeled), and a candidate is judged by its PU-AUC there. No
negative label is used, and seeds start at 1000, where `quality.py` uses 0 to 9. Methods that need
the class prior get the true one of the training part, as in the paper. The last column compares
each candidate with the first of its method, split by split: mean difference and standard error.
"""

import argparse
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import mixpul
from mixpul.base import PUClassifier
from mixpul.datasets import make_pu
from mixpul.metrics import pu_auc_score
from mixpul.paper.methods import ONE_NETWORK
from mixpul.paper.perform import make_preparation, split_data
from quality import CELLS

Settings = dict[str, Any]
# For a hundred positives.
DECAYS = (0.02, 0.001, 0.0001)


class Candidates(NamedTuple):
    """What may become the defaults of a method: settings by name, the present defaults first."""

    method: str
    kind: type[PUClassifier]
    common: Settings
    choices: dict[str, Settings]

    def build(self) -> Iterator[tuple[str, PUClassifier]]:
        for name, settings in {"defaults": {}, **self.choices}.items():
            yield f"{self.method}: {name}", self.kind(**self.common, **settings)


CANDIDATES = [
    Candidates(
        "MixPUL",
        mixpul.MixPULClassifier,
        common={},
        choices={
            "as it was": ONE_NETWORK,
            "hidden layers alone": {"net": "narrow-skip-mlp"},
            "kernel alone": {"net": "kernel"},
            "hidden layers, three decays": {"net": "narrow-skip-mlp", "weight_decay": DECAYS},
            "learning rate .02": {"learning_rate": 0.02},
            "learning rate .08": {"learning_rate": 0.08},
            "36 epochs": {"n_epochs": 36},
            "batches of 128": {"batch_size": 128},
            "alpha 1": {"alpha": 1.0},
            "margin .5": {"margin": 0.5},
            "no margin term": {"gamma": 0.0},
            "gamma 1": {"gamma": 1.0},
            "no L_U": {"beta": 0.0},
            "half the negatives": {"negative_fraction": 0.5},
            "warm-up of a quarter": {"warmup": 0.25},
            "single network": {"cross_fitting": None},
        },
    ),
    Candidates(
        "NNPU",
        mixpul.NNPUClassifier,
        common={},
        choices={
            "weight decay .005": {"weight_decay": 0.005},
            "learning rate .003": {"learning_rate": 0.003},
            ".005, .003": {"weight_decay": 0.005, "learning_rate": 0.003},
            "logistic loss": {"loss": "logistic"},
            "SGD .04": {"optimizer": "sgd", "learning_rate": 0.04},
        },
    ),
    Candidates(
        "UPU",
        mixpul.UPUClassifier,
        common={},
        choices={
            "logistic loss": {"loss": "logistic"},
            "double hinge": {"loss": "double-hinge"},
            "100 centres": {"n_centres": 100},
            "400 centres": {"n_centres": 400},
        },
    ),
    Candidates(
        "UPU network",
        mixpul.UPUClassifier,
        common={"model": "mlp"},
        choices={
            "weight decay .005": {"weight_decay": 0.005},
            "logistic loss": {"loss": "logistic"},
        },
    ),
    Candidates(
        "Ramp", mixpul.RampClassifier, common={}, choices={"100 centres": {"n_centres": 100}}
    ),
    Candidates(
        "Ramp network",
        mixpul.RampClassifier,
        common={"model": "mlp"},
        choices={"weight decay .005": {"weight_decay": 0.005}},
    ),
    Candidates(
        "VPU",
        mixpul.VPUClassifier,
        common={},
        choices={
            "mixup weight .1": {"mixup_weight": 0.1},
            "mixup weight 1": {"mixup_weight": 1.0},
            "weight decay 1e-4": {"weight_decay": 1e-4},
            "weight decay .005": {"weight_decay": 0.005},
            "learning rate .003": {"learning_rate": 0.003},
            "SGD .04": {"optimizer": "sgd", "learning_rate": 0.04},
        },
    ),
    Candidates(
        "PU-AUC",
        mixpul.PUAUCClassifier,
        common={},
        choices={
            "100 centres": {"n_centres": 100},
            "400 centres": {"n_centres": 400},
            "width 1": {"width": 1.0},
            "width 2": {"width": 2.0},
            "width 4": {"width": 4.0},
            "mined negatives": {"miner": "rand"},
        },
    ),
    Candidates(
        "WSVM",
        mixpul.WeightedSVMClassifier,
        common={},
        choices={
            **{
                f"C_labeled {C_labeled:g}, C {C:g}": {"C": C, "C_labeled": C_labeled}
                for C_labeled in (0.01, 0.1, 1.0)
                for C in (0.1, 1.0, 10.0)
            },
            "not balanced": {"balanced": False, "C_labeled": 1.0},
            "e3": {"frequency": "e3"},
        },
    ),
    Candidates(
        "Bagging",
        mixpul.BaggingPUClassifier,
        common={},
        choices={
            "leaves of 5": {"estimator": DecisionTreeClassifier(min_samples_leaf=5)},
            "random features": {"estimator": DecisionTreeClassifier(max_features="sqrt")},
            "logistic C .01": {"estimator": LogisticRegression(C=0.01)},
            "SVM C .1": {"estimator": SVC(C=0.1)},
            "SVM C 1": {"estimator": SVC(C=1.0)},
            "SVM C 10": {"estimator": SVC(C=10.0)},
        },
    ),
    Candidates(
        "Supervised",
        mixpul.SupervisedClassifier,
        common={},
        choices={"scaled leaves": {"min_leaf": "scaled"}},
    ),
]


def judge(model: PUClassifier, name: str, c: float, seed: int) -> float:
    warnings.simplefilter("ignore", UserWarning)  # of few positives: cells are chosen to have few
    pu, X_test, y_test = split_data(name, seed, {"c": c})
    held_out = make_pu(X_test, y_test, c=0.5, random_state=seed)
    model = clone(model).set_params(random_state=seed)
    if "prior" in model.get_params():
        model.set_params(prior=pu.prior)
    fitted = make_pipeline(make_preparation(name), model).fit(pu.X, pu.s)
    return pu_auc_score(held_out.s, fitted.decision_function(held_out.X))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cells", default=",".join(f"{name}:{c}" for name, c in CELLS))
    parser.add_argument(
        "--only",
        default="",
        help="candidates whose 'method: name' contains one of these, split by |",
    )
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    cells = [(cell.split(":")[0], float(cell.split(":")[1])) for cell in args.cells.split(",")]
    seeds = range(1000, 1000 + args.seeds)
    print(f"{'held-out PU-AUC':34s}" + "".join(f"{n[:4]}{c:>5}" for n, c in cells) + "     mean")
    tasks = [(*cell, seed) for cell in cells for seed in seeds]
    for candidates in CANDIDATES:
        first = None
        for name, model in candidates.build():
            if not any(part in name for part in args.only.split("|")):
                continue
            aucs = np.array(Parallel(args.jobs)(delayed(judge)(model, *task) for task in tasks))
            first = aucs if first is None else first
            means = aucs.reshape(len(cells), len(seeds)).mean(axis=1)
            print(
                f"{name:34s}"
                + "".join(f"{mean:9.3f}" for mean in means)
                + f"{means.mean():9.4f}{write_difference(aucs - first)}",
                flush=True,
            )


def write_difference(differences: np.ndarray) -> str:
    if not differences.any():
        return ""
    error = differences.std(ddof=1) / len(differences) ** 0.5
    return f"  {differences.mean():+.4f} ± {error:.4f}"


if __name__ == "__main__":
    main()
