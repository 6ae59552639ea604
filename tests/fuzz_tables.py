"""Strange and damaged tables and images through everything that reads them; `make fuzz` runs it.

    python tests/fuzz_tables.py --tables 50000 --commands 500 --images 4000

A child process reads them, as in `fuzz_files.py`: a signal, a hang, an exception that is not ours,
or a table that means something else when it is read again is a failure; the file is kept. What it
counts is in benchmarks/results/robustness.jsonl: a run that is stopped goes on there.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

from damage import SUFFIXES, write_sound
from fuzz_files import HERE, Reader
from hostile_table_worker import judge_command
from hostile_tables import MAKERS

sys.path.append(str(HERE.parent / "benchmarks"))
from pieces import Piece, count_pieces, hash_code

KEPT = HERE / "data" / "tables"
ENDINGS = SUFFIXES | {"tsv": ".tsv", "PNG": ".png", "JPEG": ".jpeg"}
GOOD = ("read", "refused")
MODEL = "model.mixpul"
# What makes and judges the files: counts of another attack do not add up with these.
ATTACK = ("damage", "hostile_tables", "hostile_table_worker")
# Each (what, form) of tables by turns; strange ones twice, since each is a new idea.
STRANGE = [("strange", form) for form in MAKERS]
DAMAGED = [("damaged", form) for form in SUFFIXES]
TABLES = [*STRANGE, *(one for one in STRANGE if one[1] not in ("tsv", "xlsx", "sqlite")), *DAMAGED]
QUICK = ["--method", "bagging", "--set", "n_estimators=3"]
COMMANDS = [
    ["fit", "{table}", "--label", "{label}", *QUICK, "-o", "{out}.mixpul", "--force"],
    ["predict", "{model}", "{table}", "-o", "{out}.csv", "--force"],
    ["predict", "{model}", "{table}", "-o", "{out}.parquet", "--force", "--id", "city"],
    ["prior", "{table}", "--label", "{label}"],
    ["evaluate", "{model}", "{table}", "--label", "{label}"],
    ["review", "{model}", "{table}", "-n", "5", "-o", "{out}-queue.csv", "--force"],
    ["audit", "{model}", "{table}"],
    ["monitor", "{model}", "{table}"],
]


class TableFuzz:
    """Counts what became of tables and images, and keeps those that failed."""

    def __init__(self, folder, kept=None):
        self.folder, self.kept = Path(folder), kept
        self.reader = Reader("hostile_table_worker.py")
        self.counts = Counter()
        self.failures = []
        self.peak = 0

    def try_task(self, task, counted_as):
        found = self.reader.ask(task)
        self.counts[counted_as, found["word"]] += 1
        self.peak = max(self.peak, found["peak"])
        if found["word"] not in GOOD:
            self.note(task, counted_as, found["word"], found["detail"])
        return found

    def note(self, task, counted_as, word, detail):
        said = (counted_as, task["what"], task["form"], task["seed"], word, detail)
        self.failures.append((*said, task["command"][:1]))
        print(*self.failures[-1], sep=" | ", flush=True)
        if self.kept is not None and Path(task["path"]).exists():
            self.kept.mkdir(parents=True, exist_ok=True)
            name = f"{task['what']}-{task['form']}-{task['seed']}{Path(task['path']).suffix}"
            (self.kept / name).write_bytes(Path(task["path"]).read_bytes())

    def make_task(self, what, form, seed, command=()):
        path = self.folder / f"table{ENDINGS[form]}"
        if what == "image":
            path = self.folder / "images" / f"image{ENDINGS[form]}"
            path.parent.mkdir(exist_ok=True)
        task = {"what": what, "form": form, "seed": seed, "path": str(path)}
        return task | {"command": list(command)}

    def read_tables(self, n, first):
        for seed in range(first, first + n):
            what, form = TABLES[seed % len(TABLES)]
            self.try_task(self.make_task(what, form, seed), "tables")

    def read_images(self, n, first):
        for seed in range(first, first + n):
            task = self.make_task("image", ("PNG", "JPEG")[seed % 2], seed)
            self.try_task(task, "images")
            Path(task["path"]).unlink()

    def run_commands(self, n, first, has_children=False):
        """Run commands on tables, one of nineteen in a process of its own as well."""
        if not (self.folder / MODEL).exists():
            make_model(self.folder)
        for seed in range(first, first + n):
            # Models know the columns of the damaged table; strange ones are fitted.
            kinds = DAMAGED if seed % 2 else STRANGE
            what, form = kinds[seed // 2 % len(kinds)]
            words = COMMANDS[seed // 2 % len(COMMANDS) if seed % 2 else 0]
            filled = {
                "{label}": "flag" if what == "damaged" else "c0",
                "{model}": str(self.folder / MODEL),
                "{out}": str(self.folder / "out"),
            }
            for sign, value in filled.items():
                words = [word.replace(sign, value) for word in words]
            task = self.make_task(what, form, seed, words)
            self.try_task(task, "commands")
            if has_children and seed % 19 == 0:
                self.run_child(task)

    def run_child(self, task):
        words = [word.replace("{table}", task["path"]) for word in task["command"]]
        done = subprocess.run(
            [sys.executable, "-m", "mixpul", *words], capture_output=True, timeout=600
        )
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        word, detail = judge_command(done.returncode, out, err)
        self.counts["processes", word] += 1
        if word not in GOOD:
            self.note(task, "processes", word, detail)

    def repeat_kept(self):
        """Try what once failed."""
        for path in sorted(KEPT.iterdir()):
            copy = self.folder / f"table{path.suffix}"
            copy.write_bytes(path.read_bytes())
            task = {"what": "kept", "form": path.name, "seed": 0, "path": str(copy), "command": []}
            self.try_task(task, "kept")


def make_model(folder):
    """Fit a model of the table that is damaged elsewhere."""
    table, model = Path(folder) / "sound-to-fit.csv", Path(folder) / MODEL
    write_sound(table, "csv")
    words = ["fit", str(table), "--label", "flag", *QUICK, "-o", str(model)]
    subprocess.run([sys.executable, "-m", "mixpul", *words], capture_output=True, check=True)


def count_piece(fuzz, what, attack, size, first):
    """Do one piece; commands in processes of their own are counted beside the others."""
    fuzz.counts.clear()
    fuzz.failures.clear()
    fuzz.peak = 0
    attack(size, first)
    words = {
        word if name == what else f"{word}, in {name}": count
        for (name, word), count in sorted(fuzz.counts.items())
    }
    return Piece(words, [" | ".join(map(str, failure)) for failure in fuzz.failures], fuzz.peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=50_000)
    parser.add_argument("--commands", type=int, default=500)
    parser.add_argument("--images", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fuzz = TableFuzz(folder, KEPT)
        fuzz.repeat_kept()
        n_failures = len(fuzz.failures)
        attacks = {
            # What is attacked, how many seeds a piece has, and how.
            "images": (["src/mixpul/images"], 500, fuzz.read_images),
            "commands": (["src/mixpul"], 25, partial(fuzz.run_commands, has_children=True)),
            "tables": (["src/mixpul/tables"], 1000, fuzz.read_tables),
        }
        lines = []
        for what, (attacked, size, attack) in attacks.items():
            code = hash_code(*attacked, *(f"tests/{name}.py" for name in ATTACK))
            first = options.seed * 10**6
            firsts = range(first, first + getattr(options, what), size)
            if firsts:
                count = partial(count_piece, fuzz, what, attack, size)
                lines.append(count_pieces(what, code, firsts, count))
        fuzz.reader.stop()
    print(*lines, sep="\n")
    sys.exit(bool(n_failures) or not all(line.endswith("failures: 0") for line in lines))


if __name__ == "__main__":
    main()
