"""What it costs that a tree sees some thousand rows of each side: test AUC by that number.

    python benchmarks/caps.py [--show]

A made table as that of scale.py, with 70,000 labeled positives and 115,000 unlabeled rows of 30
numbers; AUC on 30,000 other rows. A few trees are enough to compare numbers of rows. Results are
in benchmarks/results/caps.jsonl; what is there is left out of the next run.
"""

import argparse
import json
import time
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from mixpul import BaggingPUClassifier
from mixpul.methods import bagging

RESULTS = Path(__file__).parent / "results" / "caps.jsonl"
SEED, N_POSITIVE, N_UNLABELED, N_TEST, N_COLUMNS = 1000, 70_000, 115_000, 30_000, 30
N_SAMPLE = 250_000
# How trees choose thresholds, how many of them, and rows of a side.
PLAN = [("random", 50, n) for n in (2_500, 5_000, 10_000, 20_000, 70_000)]
PLAN += [("best", 20, n) for n in (2_500, 5_000, 10_000, 20_000)]
PLAN += [("best", 100, n) for n in (5_000, 10_000, 20_000)]  # as many as a portfolio has


def draw_rows(random: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    X = random.standard_normal((n_rows, N_COLUMNS), dtype=np.float32)
    noise = random.standard_normal(n_rows, dtype=np.float32)
    is_true = X[:, 0] + X[:, 1] * X[:, 2] + noise > 2
    X[:, ::2] = np.exp(X[:, ::2])
    return X, is_true


@cache
def make_table() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels, test rows and their classes."""
    random = np.random.default_rng(SEED)
    positive: list[np.ndarray] = []
    while sum(map(len, positive)) < N_POSITIVE:
        X, is_true = draw_rows(random, 200_000)
        positive.append(X[is_true])
    unlabeled, _ = draw_rows(random, N_SAMPLE - N_POSITIVE)
    order = random.permutation(N_SAMPLE)
    X = np.concatenate([np.concatenate(positive)[:N_POSITIVE], unlabeled])[order]
    X_test, y_test = draw_rows(random, 100_000)
    chosen = [np.flatnonzero(order < N_POSITIVE), np.flatnonzero(order >= N_POSITIVE)[:N_UNLABELED]]
    s = np.arange(N_POSITIVE + N_UNLABELED) < N_POSITIVE
    return X[np.concatenate(chosen)], s, X_test[:N_TEST], y_test[:N_TEST]


class WithoutOutOfBag(BaggingPUClassifier):
    """Trees whose out-of-bag scores, which take most of the time, are not asked for."""

    def score_out_of_bag(self, X, was_seen):
        return np.random.default_rng(0).normal(size=len(X))


def measure(splits: str, n_trees: int, cap: int) -> dict[str, object]:
    X, s, X_test, y_test = make_table()
    bagging.MOST_OF_A_SIDE = dict.fromkeys(bagging.MOST_OF_A_SIDE, cap)
    start = time.process_time()
    model = WithoutOutOfBag(n_estimators=n_trees, splits=splits, random_state=SEED).fit(X, s)
    seconds = time.process_time() - start
    auc = roc_auc_score(y_test, model.decision_function(X_test))
    return {
        "splits": splits,
        "n": n_trees,
        "cap": cap,
        "auc": round(float(auc), 5),
        "fit": round(seconds, 1),
        "nodes": len(model.tree_value_),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", action="store_true", help="only print what is there")
    show_only = parser.parse_args().show
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    known = [json.loads(line) for line in lines]
    done = {(one["splits"], one["n"], one["cap"]) for one in known}
    for job in [] if show_only else [job for job in PLAN if job not in done]:
        known.append(measure(*job))
        RESULTS.write_text("".join(json.dumps(one) + "\n" for one in known))
    print("| splits | trees | rows of a side | test AUC | processor seconds | nodes |")
    print("|---|---|---|---|---|---|")
    for one in known:
        print(
            f"| {one['splits']} | {one['n']} | {one['cap']:,} | {one['auc']:.4f} | "
            f"{one['fit']:.1f} | {one['nodes']:,} |"
        )


if __name__ == "__main__":
    main()
