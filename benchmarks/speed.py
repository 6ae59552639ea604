"""Seconds of the default fit of every method and of every class-prior estimator, on one thread.

    python benchmarks/speed.py [--only VPU tice]

Methods learn from the usual training rows of spambase at c = .1, and get the true class prior where
they want one; prior estimators get 4,000 rows of spambase. The ratio to MixPUL's fit in the same
run is the number to compare between machines. Limits and ratios are about processor seconds, which
on an idle machine are the wall seconds and on a busy one do not wait for others.
"""

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import mixpul
from mixpul import datasets
from mixpul.base import PUClassifier
from mixpul.priors import PRIORS
from quality import prepared, pu_split

LIMIT, SLOW_LIMITS, PRIOR_LIMIT = 20.0, {"Supervised": 60.0}, 30.0
METHODS = {
    name.removesuffix("Classifier"): getattr(mixpul, name)
    for name in mixpul.__all__
    if name.endswith("Classifier")
}


class Cost(NamedTuple):
    wall: float
    processor: float


def cost(model: Any, X: np.ndarray, s: np.ndarray) -> Cost:
    """Seconds that `model.fit` takes."""
    wall, processor = time.perf_counter(), time.process_time()
    model.fit(X, s)
    return Cost(time.perf_counter() - wall, time.process_time() - processor)


def method(name: str, prior: float) -> PUClassifier:
    """Defaults, except for the true class prior."""
    model = METHODS[name](random_state=0)
    return model.set_params(prior=prior) if "prior" in model.get_params() else model


def spambase_rows(n: int) -> datasets.PUData:
    X, y = datasets.load("spambase", return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    X = StandardScaler().fit_transform(np.log1p(np.asarray(X, dtype=float)[rows]))
    return datasets.make_pu(X, np.asarray(y)[rows], c=0.1, random_state=0)


def line(name: str, spent: Cost, unit: Cost, limit: float) -> str:
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
    pu, *_ = pu_split("spambase", 0.1, 0)
    X = prepared("spambase", "passthrough").fit_transform(pu.X)
    method("MixPUL", pu.prior).set_params(n_epochs=1).fit(X, pu.s)  # torch's first steps are slow
    unit = cost(method("MixPUL", pu.prior), X, pu.s)
    print("| fit | wall s | processor s | over MixPUL's | limit |\n|---|---|---|---|---|")
    for name in METHODS:
        if name in wanted:
            spent = unit if name == "MixPUL" else cost(method(name, pu.prior), X, pu.s)
            print(line(name, spent, unit, SLOW_LIMITS.get(name, LIMIT)), flush=True)
    few = spambase_rows(4000)
    for name in PRIORS:
        if name in wanted:
            spent = cost(PRIORS[name](random_state=0), few.X, few.s)
            print(line(f"prior: {name}", spent, unit, PRIOR_LIMIT), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        main()
