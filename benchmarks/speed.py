"""Seconds of the default fit of every method and of every class-prior estimator, on one thread.

    python benchmarks/speed.py [--only VPU tice]

Methods learn from the usual training rows of spambase at c = .1, and get the true class prior where
they want one; prior estimators get 4,000 rows of spambase. The ratio to MixPUL's fit in the same
run is the number to compare between machines. Limits and ratios are about processor seconds, which
on an idle machine are the wall seconds and on a busy one do not wait for others.

A second table has 4,000 rows of 20 columns with 250 labeled positives. There the ratio is to one
pass of gradient boosting (scikit-learn's, unlabeled rows as negatives), and scoring is counted in
rows per second.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import mixpul
from mixpul import datasets
from mixpul.base import PUClassifier
from mixpul.paper.names import SPAMBASE
from mixpul.paper.perform import make_preparation, split_data
from mixpul.priors import PRIORS

LIMIT, SLOW_LIMITS, PRIOR_LIMIT = 20.0, {"Supervised": 60.0, "AutoPU": 60.0}, 30.0
METHODS = {
    name.removesuffix("Classifier"): getattr(mixpul, name)
    for name in mixpul.__all__
    if name.endswith("Classifier")
}


class Cost(NamedTuple):
    wall: float
    processor: float


def measure(model: Any, X: np.ndarray, s: np.ndarray) -> Cost:
    """Measure the seconds that `model.fit` takes."""
    wall, processor = time.perf_counter(), time.process_time()
    model.fit(X, s)
    return Cost(time.perf_counter() - wall, time.process_time() - processor)


def make_method(name: str, prior: float) -> PUClassifier:
    """Make a classifier with its defaults, except for the true class prior."""
    model = METHODS[name](random_state=0)
    return model.set_params(prior=prior) if "prior" in model.get_params() else model


def measure_small_table(names: list[str]) -> Iterator[str]:
    """Fit 4,000 rows of 20 columns and score 40,000; yield the lines of a table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(44_000, 20)).astype(np.float32)
    is_positive = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 1
    s = np.isin(np.arange(4000), np.flatnonzero(is_positive)[:250])
    unit = measure(HistGradientBoostingClassifier(random_state=0), X[:4000], s)
    yield "| 4,000 x 20 | wall s | processor s | over boosting's | limit | rows scored per s |"
    yield "|---|---|---|---|---|---|"
    for name in names:
        model = METHODS[name](random_state=0)
        spent = measure(model, X[:4000], s)
        start = time.process_time()
        model.decision_function(X[4000:])
        rate = 40_000 / (time.process_time() - start)
        yield f"{write_line(name, spent, unit, SLOW_LIMITS.get(name, LIMIT))} {rate:,.0f} |"


def draw_spambase(n: int) -> datasets.PUData:
    X, y = datasets.load(SPAMBASE, return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    X = make_preparation(SPAMBASE).fit_transform(np.asarray(X, dtype=float)[rows])
    return datasets.make_pu(X, np.asarray(y)[rows], c=0.1, random_state=0)


def write_line(name: str, spent: Cost, unit: Cost, limit: float) -> str:
    verdict = "holds" if spent.processor < limit else "DOES NOT HOLD"
    ratio = spent.processor / unit.processor
    return (
        f"| {name} | {spent.wall:.1f} | {spent.processor:.1f} | {ratio:.2f} | "
        f"{limit:.0f} s {verdict} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*METHODS, *PRIORS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    wanted = parser.parse_args().only
    torch.set_num_threads(1)
    pu, *_ = split_data(SPAMBASE, 0, {"c": 0.1})
    X = make_preparation(SPAMBASE).fit_transform(pu.X)
    make_method("MixPUL", pu.prior).set_params(n_epochs=1).fit(
        X, pu.s
    )  # torch's first steps are slow
    unit = measure(make_method("MixPUL", pu.prior), X, pu.s)
    print("| fit | wall s | processor s | over MixPUL's | limit |\n|---|---|---|---|---|")
    for name in METHODS:
        if name in wanted:
            spent = unit if name == "MixPUL" else measure(make_method(name, pu.prior), X, pu.s)
            print(write_line(name, spent, unit, SLOW_LIMITS.get(name, LIMIT)), flush=True)
    few = draw_spambase(4000)
    for name in PRIORS:
        if name in wanted:
            spent = measure(PRIORS[name](random_state=0), few.X, few.s)
            print(write_line(f"prior: {name}", spent, unit, PRIOR_LIMIT), flush=True)
    print()
    some = [name for name in ("AutoPU", "MixPUL", "VPU", "BaggingPU") if name in wanted]
    for line in measure_small_table(some) if some else ():
        print(line, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        main()
