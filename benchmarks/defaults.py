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
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from mixpul import (
    BaggingPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    PUAUCClassifier,
    RampClassifier,
    SupervisedClassifier,
    UPUClassifier,
    VPUClassifier,
    WeightedSVMClassifier,
)
from mixpul.base import PUClassifier
from mixpul.datasets import make_pu
from mixpul.metrics import pu_auc_score
from mixpul.nets import SkipMLP
from quality import CELLS, prepared, pu_split

CANDIDATES: dict[str, dict[str, PUClassifier]] = {
    "MixPUL": {
        "defaults": MixPULClassifier(),
        "widths 64": MixPULClassifier(net=partial(SkipMLP, widths=(64, 64))),
        "widths 256": MixPULClassifier(net=partial(SkipMLP, widths=(256, 256))),
        "plain MLP": MixPULClassifier(net=(128, 128)),
        "learning rate .02": MixPULClassifier(learning_rate=0.02),
        "learning rate .08": MixPULClassifier(learning_rate=0.08),
        "60 epochs": MixPULClassifier(n_epochs=60),
        "margin .5": MixPULClassifier(margin=0.5),
        "no margin term": MixPULClassifier(gamma=0.0),
        "no L_U": MixPULClassifier(beta=0.0),
        "half the negatives": MixPULClassifier(negative_fraction=0.5),
        "warm-up of a quarter": MixPULClassifier(warmup=0.25),
        "gamma .3": MixPULClassifier(gamma=0.3),
        "single network": MixPULClassifier(cross_fitting=None),
        "Adam .001": MixPULClassifier(optimizer="adam", learning_rate=0.001),
        "weight decay 1e-4": MixPULClassifier(weight_decay=1e-4),
    },
    "NNPU": {
        "defaults": NNPUClassifier(),
        "weight decay .005": NNPUClassifier(weight_decay=0.005),
        "learning rate .003": NNPUClassifier(learning_rate=0.003),
        ".005, .003": NNPUClassifier(weight_decay=0.005, learning_rate=0.003),
        "logistic loss": NNPUClassifier(loss="logistic"),
        "SGD .04": NNPUClassifier(optimizer="sgd", learning_rate=0.04),
    },
    "UPU": {
        "defaults": UPUClassifier(),
        "logistic loss": UPUClassifier(loss="logistic"),
        "double hinge": UPUClassifier(loss="double-hinge"),
        "100 centres": UPUClassifier(n_centres=100),
        "400 centres": UPUClassifier(n_centres=400),
    },
    "UPU network": {
        "defaults": UPUClassifier(model="mlp"),
        "weight decay .005": UPUClassifier(model="mlp", weight_decay=0.005),
        "logistic loss": UPUClassifier(model="mlp", loss="logistic"),
    },
    "Ramp": {
        "defaults": RampClassifier(),
        "100 centres": RampClassifier(n_centres=100),
    },
    "Ramp network": {
        "defaults": RampClassifier(model="mlp"),
        "weight decay .005": RampClassifier(model="mlp", weight_decay=0.005),
    },
    "VPU": {
        "defaults": VPUClassifier(),
        "mixup weight .1": VPUClassifier(mixup_weight=0.1),
        "mixup weight 1": VPUClassifier(mixup_weight=1.0),
        "weight decay 1e-4": VPUClassifier(weight_decay=1e-4),
        "weight decay .005": VPUClassifier(weight_decay=0.005),
        "learning rate .003": VPUClassifier(learning_rate=0.003),
        "SGD .04": VPUClassifier(optimizer="sgd", learning_rate=0.04),
    },
    "PU-AUC": {
        "defaults": PUAUCClassifier(),
        "100 centres": PUAUCClassifier(n_centres=100),
        "400 centres": PUAUCClassifier(n_centres=400),
        "width 1": PUAUCClassifier(width=1.0),
        "width 2": PUAUCClassifier(width=2.0),
        "width 4": PUAUCClassifier(width=4.0),
        "mined negatives": PUAUCClassifier(miner="rand"),
    },
    "WSVM": {
        "defaults": WeightedSVMClassifier(),
        **{
            f"C_labeled {C_labeled:g}, C {C:g}": WeightedSVMClassifier(C=C, C_labeled=C_labeled)
            for C_labeled in (0.01, 0.1, 1.0)
            for C in (0.1, 1.0, 10.0)
        },
        "not balanced": WeightedSVMClassifier(balanced=False, C_labeled=1.0),
        "e3": WeightedSVMClassifier(frequency="e3"),
    },
    "Bagging": {
        "defaults": BaggingPUClassifier(),
        "leaves of 5": BaggingPUClassifier(estimator=DecisionTreeClassifier(min_samples_leaf=5)),
        "random features": BaggingPUClassifier(
            estimator=DecisionTreeClassifier(max_features="sqrt")
        ),
        "logistic C .01": BaggingPUClassifier(estimator=LogisticRegression(C=0.01)),
        "SVM C .1": BaggingPUClassifier(estimator=SVC(C=0.1)),
        "SVM C 1": BaggingPUClassifier(estimator=SVC(C=1.0)),
        "SVM C 10": BaggingPUClassifier(estimator=SVC(C=10.0)),
    },
    "Supervised": {
        "defaults": SupervisedClassifier(),
        "scaled leaves": SupervisedClassifier(min_leaf="scaled"),
    },
}


def judged(model: PUClassifier, name: str, c: float, seed: int) -> float:
    warnings.simplefilter("ignore", UserWarning)  # of few positives: cells are chosen to have few
    pu, X_test, y_test = pu_split(name, c, seed)
    held_out = make_pu(X_test, y_test, c=0.5, random_state=seed)
    model = clone(model).set_params(random_state=seed)
    if "prior" in model.get_params():
        model.set_params(prior=pu.prior)
    fitted = prepared(name, model).fit(pu.X, pu.s)
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
    for method, candidates in CANDIDATES.items():
        first = None
        for name, model in candidates.items():
            if not any(part in f"{method}: {name}" for part in args.only.split("|")):
                continue
            tasks = [(*cell, seed) for cell in cells for seed in seeds]
            aucs = np.array(Parallel(args.jobs)(delayed(judged)(model, *task) for task in tasks))
            first = aucs if first is None else first
            means = aucs.reshape(len(cells), len(seeds)).mean(axis=1)
            print(
                f"{method + ': ' + name:34s}"
                + "".join(f"{mean:9.3f}" for mean in means)
                + f"{means.mean():9.4f}{compared(aucs - first)}",
                flush=True,
            )


def compared(differences: np.ndarray) -> str:
    if not differences.any():
        return ""
    error = differences.std(ddof=1) / len(differences) ** 0.5
    return f"  {differences.mean():+.4f} ± {error:.4f}"


if __name__ == "__main__":
    main()
