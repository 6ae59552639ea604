"""Fits beside each other, in threads and in processes, against the same fits one after another.

    python benchmarks/threads.py [--repeats 20] [--methods "mixpul*,vpu*"] [--ways threads,forks]

For every classifier: fits with the same seed in two threads, on joblib's threading and loky
backends, and in forked children after the parent has fitted and scored; and fits in processes with
one BLAS thread and with two. Counts how many end in the same model file and the same scores, to
the bit, and how often torch's, numpy's and Python's random states changed.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed
from torch import nn

from mixpul import load, save
from mixpul._names import METHODS

# A child that has not answered by then hangs.
PATIENCE = 600.0


class WithDropout(nn.Module):
    """A user's own network: its first weights and its dropout come from torch's own generator."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.hidden, self.top = nn.Linear(shape[0], 8), nn.Linear(8, 1)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.top(self.dropout(torch.relu(self.hidden(x)))).squeeze(-1)


def list_models() -> dict[str, Callable]:
    """Return makers of all classifiers, quick ones; a star marks networks."""
    short = {"n_epochs": 2, "cross_fitting": 2, "random_state": 0}
    known = {"prior": 0.3, "random_state": 0}
    settings = {
        "auto": {"candidates": _list_candidates(), "random_state": 0},
        "mixpul": short | {"net": (16,)},
        "vpu": short,
        "nnpu": short | known,
        "upu": known | {"n_centres": 100},
        "ramp": known | {"n_centres": 50},
        "pnu": {"random_state": 0},
        "supervised": {"n_evals": 2, "n_rounds": 10, "random_state": 0},
        "bagging": {"n_estimators": 10, "random_state": 0},
        "boosting": {"n_estimators": 2, "n_trees": 5, "random_state": 0},
    }
    made = {name: (name, settings.get(name, {"random_state": 0})) for name in METHODS}
    made |= {f"{name}*": made.pop(name) for name in ("mixpul", "vpu", "nnpu")}
    made |= {f"{name} mlp*": (name, short | known | {"model": "mlp"}) for name in ("upu", "ramp")}
    made["mixpul auto*"] = ("mixpul", short)
    # All settings as they are, and weighed, but for fewer steps.
    few = {"n_epochs": 4, "min_steps": 5, "max_steps": 5, "random_state": 0}
    made["mixpul default*"] = ("mixpul", few)
    made["own net*"] = ("vpu", short | {"net": WithDropout})
    return {
        name: lambda kind=kind, own=own: METHODS[kind](**own) for name, (kind, own) in made.items()
    }


def _list_candidates() -> dict[str, object]:
    quick = METHODS["vpu"](n_epochs=2, cross_fitting=2)
    return {"trees": METHODS["bagging"](n_estimators=10), "vpu": quick}


def make_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    truth = draw.random(n_rows) < 0.4
    X = draw.normal(size=(n_rows, 6)) + 1.5 * truth[:, None] * [1, 1, 0, 0, 0, 0]
    return X.astype(np.float32), (truth & (draw.random(n_rows) < 0.5)).astype(int)


def fit_and_digest(name: str, n_rows: int) -> str:
    """Fit and score; return a hash of the model file and of the scores."""
    X, y = make_rows(n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = list_models()[name]().fit(X, y)
    digest = hashlib.sha256(model.decision_function(X).tobytes())
    with tempfile.TemporaryDirectory() as folder:
        save(model, f"{folder}/model")
        content = Path(f"{folder}/model").read_bytes()
        loaded = (
            load(f"{folder}/model", net=WithDropout)
            if name == "own net*"
            else load(f"{folder}/model")
        )
    # The seconds of candidates differ from fit to fit.
    if not name.startswith("auto"):
        digest.update(content)
    digest.update(loaded.decision_function(X).tobytes())
    return digest.hexdigest()


def read_random_states() -> tuple[bytes, bytes, int]:
    numbers = np.random.get_state()[1]  # noqa: NPY002 (the caller's own)
    return torch.get_rng_state().numpy().tobytes(), numbers.tobytes(), hash(random.getstate())


def fit_in_threads(name: str, n_rows: int, repeats: int) -> list[str]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda _: fit_and_digest(name, n_rows), range(repeats)))


def fit_in_joblib(name: str, n_rows: int, repeats: int, backend: str) -> list[str]:
    task = delayed(fit_and_digest)(name, n_rows)
    return Parallel(n_jobs=2, backend=backend)([task] * repeats)


def fit_in_forks(name: str, n_rows: int, repeats: int) -> list[str]:
    """Fit in forked children; "hang" where one does not answer."""
    forking, found = multiprocessing.get_context("fork"), []
    for _ in range(repeats):
        here, there = forking.Pipe(duplex=False)
        child = forking.Process(target=_answer, args=(there, name, n_rows))
        with warnings.catch_warnings():
            # Later versions of Python warn of forks beside threads: that is what is tried here.
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        there.close()
        try:
            found.append(here.recv() if here.poll(PATIENCE) else "hang")
        except EOFError:
            found.append("died")
        if found[-1] == "hang":
            child.kill()
        child.join()
    return found


def _answer(pipe: multiprocessing.connection.Connection, name: str, n_rows: int) -> None:
    pipe.send(fit_and_digest(name, n_rows))


def fit_with_blas_threads(names: list[str], n_rows: int, n_threads: int) -> dict[str, str]:
    """Fit in a new process whose libraries may use `n_threads`."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(n_threads))
    command = [
        sys.executable,
        __file__,
        "--digests",
        "--rows",
        str(n_rows),
        "--methods",
        ",".join(names),
    ]
    done = subprocess.run(
        command, env=os.environ | limits, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


WAYS: dict[str, Callable[[str, int, int], list[str]]] = {
    "serial": lambda name, n_rows, repeats: [fit_and_digest(name, n_rows)],
    "threads": fit_in_threads,
    "threading": lambda *asked: fit_in_joblib(*asked, "threading"),
    "loky": lambda *asked: fit_in_joblib(*asked, "loky"),
    "forks": fit_in_forks,
}


def measure(
    names: list[str], ways: list[str], repeats: int, n_rows: int, blas_rows: int
) -> dict[str, dict[str, int]]:
    """Return for each classifier and way of running how many fits equal the first, serial one."""
    counts: dict[str, dict[str, int]] = {}
    if "BLAS" in ways:
        one, two = (fit_with_blas_threads(names, blas_rows, n) for n in (1, 2))
    for name in names:
        before = read_random_states()
        expected = fit_and_digest(name, n_rows)
        counts[name] = {
            way: WAYS[way](name, n_rows, repeats).count(expected) for way in ways if way in WAYS
        }
        if "BLAS" in ways:
            counts[name]["BLAS"] = int(one[name] == two[name])
        counts[name]["kept"] = int(read_random_states() == before)
        print(name, counts[name], file=sys.stderr, flush=True)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--blas-rows", type=int, default=400)
    parser.add_argument("--methods", default=",".join(list_models()))
    parser.add_argument("--ways", default=",".join([*WAYS, "BLAS"]))
    parser.add_argument("--digests", action="store_true", help="Print hashes of serial fits only.")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    names = args.methods.split(",")
    if args.digests:
        print(json.dumps({name: fit_and_digest(name, args.rows) for name in names}))
        return
    ways = args.ways.split(",")
    counts = measure(names, ways, args.repeats, args.rows, args.blas_rows)
    if args.json:
        print(json.dumps(counts))
        return
    ways = list(counts[names[0]])
    print(f"| classifier (* a network), {args.repeats} fits each | {' | '.join(ways)} |")
    print("|---" * (len(ways) + 1) + "|")
    for name, own in counts.items():
        print(f"| {name} | {' | '.join(str(own[way]) for way in ways)} |")


if __name__ == "__main__":
    main()
