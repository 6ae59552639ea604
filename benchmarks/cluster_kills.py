"""Commands on a Dask cluster, with a worker or the client killed at random moments.

    python benchmarks/cluster_kills.py [--kills 10] [--seed 0]

A cluster of two worker processes runs `predict`, `compare` and `fit`, each once undisturbed. Then,
again and again, a command is started in a folder of its own, and after a random part of that time
SIGKILL is sent to one of the workers, or to the command itself. If a worker was killed, the command
has to end as if nothing had happened. If the command was, it is started again. The results must
equal those of the undisturbed run, and nothing else may be left.
"""

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import IO

# Imported before children are forked, and used in them only.
import distributed
import numpy as np
import pandas as pd

from kills import Run, digest
from mixpul import load
from mixpul.cli import _parts_on_cluster  # noqa: F401
from mixpul.cli._parts import LOG
from mixpul.persistence import read_scores

N_PARTS, N_ROWS = 30, 5000


def make_inputs(folder: Path) -> None:
    draw = np.random.default_rng(0)
    (folder / "lake").mkdir()
    for k in range(N_PARTS):
        rows = pd.DataFrame(draw.normal(size=(N_ROWS, 6)), columns=list("abcdef"))
        rows["id"] = np.arange(k * N_ROWS, (k + 1) * N_ROWS)
        rows.to_parquet(folder / "lake" / f"{k:02}.parquet", index=False)
    rows["label"] = (rows["a"] > 1) & (draw.random(N_ROWS) < 0.3)
    rows[:1500].to_csv(folder / "table.csv", index=False)
    words = ["fit", str(folder / "table.csv"), "--label", "label", "--id", "id"]
    Run([*words, "--method", "logistic", "-o", str(folder / "m.mixpul")]).wait()


def list_commands(inputs: Path) -> dict[str, list[str]]:
    table, few = str(inputs / "table.csv"), "candidates=trees,forest,kernel-narrow,logistic-0.1"
    labels = ["--label", "label", "--id", "id"]
    methods = ["--methods", "bagging,logistic,boosting", "--folds", "3"]
    return {
        "predict": [
            "predict",
            str(inputs / "m.mixpul"),
            str(inputs / "lake"),
            "-o",
            "{out}/scores/",
        ],
        "compare": ["compare", table, *labels, *methods, "-o", "{out}/methods"],
        "fit": ["fit", table, *labels, "--set", few, "-o", "{out}/m.mixpul", "--force"],
    }


def start(words: list[str], folder: Path, scheduler: str, again: bool, said: Path) -> Run:
    """Start a command in a child: what takes seconds to import is there already."""
    more = ["--resume"] if again and words[0] == "predict" else []
    filled = [word.replace("{out}", str(folder)) for word in words]
    return Run([*filled, *more, "--scheduler", scheduler], said)


@contextmanager
def start_cluster():
    """Yield the address of a cluster in a process of its own, and a file to ask for kills by."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process.stdout.readline().strip(), process.stdin
        process.stdin.close()


def serve() -> None:
    """Run a cluster of two workers; for each line that comes, kill one and start another."""
    with distributed.LocalCluster(
        n_workers=0, dashboard_address=":0", silence_logs=100, host="127.0.0.1"
    ) as local:
        # Not by Dask's nannies: on a busy machine they give up workers that take long to start.
        workers = [start_worker(local.scheduler_address) for _ in range(2)]
        with distributed.Client(local) as client:
            client.wait_for_workers(2)
        print(local.scheduler_address, flush=True)
        for line in sys.stdin:
            victim = workers.pop(int(line) % len(workers))
            victim.kill()
            victim.wait()
            workers.append(start_worker(local.scheduler_address))
        for worker in workers:
            worker.kill()
            worker.wait()


def start_worker(scheduler: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
    return subprocess.Popen([*command, *options], **quiet)


def read_results(folder: Path) -> dict[str, str]:
    """Return a digest of each file, of a model that of its scores, of a log that of its lines."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".mixpul":
            found[name] = hashlib.sha256(read_scores(path).tobytes()).hexdigest()
            found[f"{name}, class"] = type(load(path)[-1]).__name__
        elif path.name == LOG:
            # Parts come in any order.
            found[name] = " ".join(sorted(path.read_text().splitlines()))
        elif path.is_file():
            found[name] = digest(path, folder)
    return found


def kill_once(
    words: list[str],
    undisturbed: tuple[dict[str, str], float],
    cluster: tuple[str, IO[str]],
    draw: random.Random,
) -> tuple[str, list[str]]:
    """Kill a worker or the command, let the command end; return the victim and what was wrong."""
    (expected, seconds), (scheduler, killer), wrong = undisturbed, cluster, []
    victim = draw.choice(["worker", "client"])
    with tempfile.TemporaryDirectory() as name, tempfile.NamedTemporaryFile() as file:
        folder, said = Path(name), Path(file.name)
        process = start(words, folder, scheduler, False, said)
        time.sleep(draw.uniform(0.1, 1.0) * seconds)
        if victim == "worker":
            print(draw.randrange(2), file=killer, flush=True)
        else:
            process.kill()
        code = process.wait()
        if victim == "worker" and code:
            wrong.append(f"it ended with {code}")
        if victim == "client" and (code := start(words, folder, scheduler, True, said).wait()):
            wrong.append(f"the next run ended with {code}")
        found = read_results(folder)
        printed = " ".join(said.read_text().split())
    if set(found) != set(expected):
        wrong.append(f"stray or missing files: {set(found) ^ set(expected)}")
    wrong += [f"{k} differs" for k in expected if found.get(k, expected[k]) != expected[k]]
    return victim, [*wrong, f"it said: {printed}"] if wrong else []


def run_undisturbed(words: list[str], scheduler: str) -> tuple[dict[str, str], float]:
    with tempfile.TemporaryDirectory() as name, tempfile.NamedTemporaryFile() as file:
        begun, said = time.monotonic(), Path(file.name)
        if code := start(words, Path(name), scheduler, False, said).wait():
            sys.exit(f"{words[0]} fails undisturbed, with exit code {code}: {said.read_text()}")
        return read_results(Path(name)), time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--commands", default="predict,compare,fit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve()
        return
    draw, counts, n_wrong = random.Random(args.seed), Counter[str](), 0
    with tempfile.TemporaryDirectory() as name, start_cluster() as cluster:
        make_inputs(Path(name))
        commands = list_commands(Path(name))
        names, undisturbed = args.commands.split(","), {}
        for k in range(args.kills):
            command = names[k % len(names)]
            if command not in undisturbed:
                undisturbed[command] = run_undisturbed(commands[command], cluster[0])
            victim, wrong = kill_once(commands[command], undisturbed[command], cluster, draw)
            counts[f"{command}, {victim}"] += 1
            n_wrong += bool(wrong)
            for sentence in wrong:
                print(f"{command}, {victim} killed: {sentence}", flush=True)
            print(f"{k + 1} kills, {n_wrong} wrong", file=sys.stderr, flush=True)
    print(f"{args.kills} kills {json.dumps(counts)}: {n_wrong} wrong")
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()
