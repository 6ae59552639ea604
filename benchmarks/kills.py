"""Commands killed at random moments: nothing is lost, and the next run tidies up.

    python benchmarks/kills.py [--kills 200] [--seed 0]

Each command runs once undisturbed; then, again and again, it is started in a folder of its own,
sent SIGKILL after a random part of that time, checked, and started once more. After a kill every
file is whole: absent, or one that a run of this command leaves. After the next run the results
equal those of the undisturbed run, byte by byte where a command's files hold no times, and the
folder holds nothing else. What is counted is in benchmarks/results/robustness.jsonl, ten kills a
line: a run that is stopped goes on there.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

# Imported before children are forked, and never used here: it starts no threads.
from mixpul import assess, cli, images, pages, persistence, tables  # noqa: F401
from mixpul.paper import reproduce  # noqa: F401
from pieces import Piece, count_pieces, hash_code

TREES = ["--method", "bagging", "--set", "n_estimators=3"]
N_ROWS = 150
SIZE = 10  # kills of a piece
# What takes longer is killed less often.
TURNS = (
    *("fit", "predict", "review", "audit", "compare", "fit", "predict", "review", "audit"),
    *("fit-images", "fit", "predict", "compare", "review", "audit", "fit", "predict", "reproduce"),
)
PNG = {"positive": 12, "unlabeled": 30}
# What tells of the time that a run took is not compared.
TIMES = ("seconds", "finished", "fit_seconds", "predict_seconds")


class Command(NamedTuple):
    """A command line, `{out}` being the folder of its files, and whether it goes on by itself."""

    words: list[str]
    goes_on: bool = False


def list_commands(inputs: Path) -> dict[str, Command]:
    table, model = str(inputs / "table.csv"), str(inputs / "model.mixpul")
    fit = ["fit", table, "--label", "label", *TREES]
    image = ["fit-images", str(inputs / "positive"), str(inputs / "unlabeled"), "--size", "8"]
    image += ["--features", "none"]
    image += [w for s in ("n_epochs=1", "cross_fitting=2", "batch_size=8") for w in ("--set", s)]
    compare = ["compare", table, "--label", "label", "--folds", "2"]
    only = "dataset=titanic,method=class means,method=logistic regression"
    return {
        "fit": Command([*fit, "-o", "{out}/m.mixpul", "--report", "{out}/m.html", "--force"]),
        "fit-images": Command(
            [*image, "-o", "{out}/m.mixpul", "--report", "{out}/m.html", "--force"]
        ),
        "compare": Command(
            [*compare, "--methods", "logistic,pnu", "-o", "{out}/methods"],
            goes_on=True,
        ),
        "predict": Command(["predict", model, table, "-o", "{out}/scores.csv", "--force"]),
        "reproduce": Command(
            [
                "reproduce",
                "uci",
                "--only",
                only,
                "--runs",
                "1",
                "--jobs",
                "2",
                "--out",
                "{out}/runs",
            ],
            goes_on=True,
        ),
        "review": Command(["review", model, table, "-n", "20", "-o", "{out}/queue.csv", "--force"]),
        "audit": Command(
            ["audit", model, str(inputs / "queue.csv"), "--report", "{out}/audit.html", "--force"]
        ),
    }


def make_inputs(folder: Path) -> None:
    """Write a table, folders of images, a model of the table and an answered queue."""
    draw = np.random.default_rng(0)
    truth = draw.random(N_ROWS) < 0.4
    X = draw.normal(size=(N_ROWS, 3)) + 2 * truth[:, None]
    label = truth & (draw.random(N_ROWS) < 0.5)
    lines = [
        "a,b,c,label",
        *(f"{','.join(map(str, row))},{int(s)}" for row, s in zip(X, label, strict=True)),
    ]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    for name, n in PNG.items():
        (folder / name).mkdir()
        for k in range(n):
            pixels = draw.integers(0, 255, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{k}.png")
    table, model = str(folder / "table.csv"), str(folder / "model.mixpul")
    start(["fit", table, "--label", "label", *TREES, "-o", model]).wait()
    queue = folder / "queue.csv"
    start(["review", model, table, "-n", "20", "-o", str(queue)]).wait()
    header, *rows = queue.read_text().splitlines()
    place = header.split(",").index("verdict")
    answered = [
        [*row.split(",")[:place], "yes" if k % 2 else "no", *row.split(",")[place + 1 :]]
        for k, row in enumerate(rows)
    ]
    queue.write_text("\n".join([header, *(",".join(row) for row in answered)]) + "\n")


class Run:
    """A command in a forked child: what takes seconds to import is there already.

    What it prints is thrown away, or added to the file `said`.
    """

    def __init__(self, words: list[str], said: Path | str = os.devnull) -> None:
        self.pid = os.fork()
        if self.pid:
            return
        code = 1
        try:
            os.setsid()
            for number in (1, 2):
                os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
            sys.argv = ["mixpul", *words]
            cli.main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        finally:
            os._exit(code)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return the exit code."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def start(words: list[str]) -> Run:
    return Run(words)


def fill(command: Command, out: Path) -> list[str]:
    return [word.replace("{out}", str(out)) for word in command.words]


def read_folder(out: Path) -> dict[str, str]:
    """Return a digest of each file in the folder, without what tells of times."""
    return {
        str(path.relative_to(out)): digest(path, out)
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def digest(path: Path, out: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".json":
        content = json.dumps(_drop_times(json.loads(content))).encode()
    # Pages hold the command and the seconds: that they are whole is all that can be compared.
    elif path.suffix == ".html":
        content = content[:15] + content.rstrip()[-7:]
    return hashlib.sha256(content).hexdigest()


def _drop_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: _drop_times(v)
            for k, v in value.items()
            if k not in (*TIMES, "text", "checksum", "sha256")
        }
    return [_drop_times(one) for one in value] if isinstance(value, list) else value


def is_alive(session: int) -> bool:
    """Whether a process of the session runs."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = stat.read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(own) == session and state != "Z":
            return True
    return False


def kill_once(
    command: Command, expected: dict[str, str], seconds: float, draw: random.Random
) -> list[str]:
    """Kill a run, check, run again, check; return what was wrong."""
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        process = start(fill(command, out))
        time.sleep(draw.uniform(0.02, 1.05) * seconds)
        # The command alone: its workers have to end by themselves.
        process.kill()
        process.wait()
        until = time.monotonic() + 30
        while is_alive(process.pid) and time.monotonic() < until:
            time.sleep(0.1)
        if is_alive(process.pid):
            wrong.append("a worker outlives the run")
            os.killpg(process.pid, signal.SIGKILL)
        survived = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()}
        try:
            found = {k: v for k, v in read_folder(out).items() if not k.endswith(".partial")}
        except ValueError:
            return [*wrong, "a file is broken"]
        if unknown := set(found) - set(expected):
            wrong.append(f"after the kill: {unknown}")
        if start(fill(command, out)).wait():
            wrong.append("the next run failed")
        after = read_folder(out)
        if set(after) != set(expected):
            wrong.append(f"stray or missing files: {set(after) ^ set(expected)}")
        wrong += [f"{k} differs" for k in expected if after.get(k, expected[k]) != expected[k]]
        if command.goes_on:
            # A result that was there is not computed again; summaries are.
            results = [p for p in survived if p.suffix == ".json" and p.stem != "comparison"]
            again = [p.name for p in results if p.exists() and p.stat().st_mtime_ns != survived[p]]
            wrong += [f"{name} was done again" for name in again]
    return wrong


class Kills:
    """Kills by number; each command is run undisturbed once, when it is first needed."""

    def __init__(self, inputs: Path) -> None:
        make_inputs(inputs)
        self.commands = list_commands(inputs)
        self.undisturbed: dict[str, tuple[dict[str, str], float]] = {}

    def count(self, first: int) -> Piece:
        """Kill commands as often as a piece has kills, from this number on."""
        counts, failures = Counter[str](), []
        for number in range(first, first + SIZE):
            name = TURNS[number % len(TURNS)]
            if name not in self.undisturbed:
                self.undisturbed[name] = run_undisturbed(self.commands[name])
            draw = random.Random(number)
            wrong = kill_once(self.commands[name], *self.undisturbed[name], draw)
            counts[name] += 1
            if wrong:
                failures.append(f"{number} {name}: {'; '.join(wrong)}")
                print(failures[-1], flush=True)
        return Piece(dict(counts), failures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    inputs = Path(tempfile.mkdtemp())
    try:
        code = hash_code("src/mixpul", "benchmarks/kills.py")
        first = args.seed * 10**6
        firsts = range(first, first + args.kills, SIZE)
        said = count_pieces("kills", code, firsts, Kills(inputs).count)
    finally:
        shutil.rmtree(inputs)
    print(said)
    sys.exit(not said.endswith("failures: 0"))


def run_undisturbed(command: Command) -> tuple[dict[str, str], float]:
    with tempfile.TemporaryDirectory() as name:
        begun = time.monotonic()
        code = start(fill(command, Path(name))).wait()
        seconds = time.monotonic() - begun
        if code:
            sys.exit(f"{command.words[0]} fails undisturbed, with exit code {code}.")
        return read_folder(Path(name)), seconds


if __name__ == "__main__":
    main()
