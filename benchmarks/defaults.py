"""Held-out PU-AUC of candidate defaults, on splits that no reported number uses.

    python benchmarks/defaults.py [--seeds 5] [--cells krvskp:0.05,spambase:0.01]

For every cell and seed the usual training part is made into PU data. The remaining rows become PU
data too (half of their positives labeled), and a candidate is judged by its PU-AUC there. No
negative label is used, and seeds start at 1000, where `quality.py` uses 0 to 9.
"""

import argparse
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from mixpul import MixPULClassifier
from mixpul.datasets import make_pu
from mixpul.metrics import pu_auc_score
from mixpul.nets import SkipMLP
from quality import CELLS, prepared, pu_split

CANDIDATES = {
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
}


def judged(model: MixPULClassifier, name: str, c: float, seed: int) -> float:
    pu, X_test, y_test = pu_split(name, c, seed)
    held_out = make_pu(X_test, y_test, c=0.5, random_state=seed)
    model = prepared(name, clone(model).set_params(random_state=seed)).fit(pu.X, pu.s)
    return pu_auc_score(held_out.s, model.decision_function(held_out.X))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cells", default=",".join(f"{name}:{c}" for name, c in CELLS))
    parser.add_argument("--only", default="", help="candidates whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    cells = [(cell.split(":")[0], float(cell.split(":")[1])) for cell in args.cells.split(",")]
    names = [name for name in CANDIDATES if any(part in name for part in args.only.split("|"))]
    seeds = range(1000, 1000 + args.seeds)
    tasks = [(k, cell, seed) for k in names for cell in cells for seed in seeds]
    aucs = Parallel(args.jobs)(delayed(judged)(CANDIDATES[k], *cell, s) for k, cell, s in tasks)
    table = np.array(aucs).reshape(len(names), len(cells), len(seeds)).mean(-1)
    print(f"{'held-out PU-AUC':20s}" + "".join(f"{n[:4]}{c:>5}" for n, c in cells) + "     mean")
    for name, row in zip(names, table, strict=True):
        print(f"{name:20s}" + "".join(f"{value:9.3f}" for value in row) + f"{row.mean():9.4f}")


if __name__ == "__main__":
    main()
