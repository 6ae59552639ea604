"""Strange and damaged tables and images through everything that reads them; `make fuzz` runs it.

    python tests/fuzz_tables.py --tables 50000 --commands 500 --notes 1000

A child process reads them, as in `fuzz_files.py`: a signal, a hang, an exception that is not ours,
or a table that means something else when it is read again is a failure; the file is kept. What it
counts is in benchmarks/results/robustness.jsonl: a run that is stopped goes on there.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

from damage import SUFFIXES, write_sound
from fuzz_files import HERE, Reader
from hostile_files import forge_notes, read_parts
from hostile_table_worker import judge_command, make_content
from hostile_tables import MAKERS
from mixpul._util.errors import MixpulError
from mixpul.assess.queues import CHECK, DESIGN, ROW, VERDICT, compute_check
from mixpul.persistence import describe

sys.path.append(str(HERE.parent / "benchmarks"))
from pieces import Piece, count_pieces, hash_code

KEPT = HERE / "data" / "tables"
ENDINGS = SUFFIXES | {"tsv": ".tsv", "PNG": ".png", "JPEG": ".jpeg"}
GOOD = ("read", "refused")
MODEL, TABLE, QUEUE = "model.mixpul", "sound-to-fit.csv", "queue.csv"
# What makes and judges the files: counts of another attack do not add up with these.
ATTACK = tuple(f"tests/{name}.py" for name in ("damage", "hostile_tables", "hostile_table_worker"))
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
# What goes on with what a model file notes of its fit.
WITH_NOTES = [
    ["inspect", "{model}"],
    ["predict", "{model}", "{table}", "-o", "{out}.csv", "--force", "--probability"],
    ["predict", "{model}", "{table}", "-o", "{out}.csv", "--force", "--threshold", "recall>=0.9"],
    ["predict", "{model}", "{table}", "-o", "{out}.csv", "--force", "--threshold", "prior"],
    ["predict", "{model}", "{table}", "-o", "{out}.csv", "--force", "--out-of-fold"],
    ["review", "{model}", "{table}", "-n", "5", "-o", "{out}-queue.csv", "--force"],
    ["audit", "{model}", "{queue}", "--report", "{out}.html", "--force"],
    ["evaluate", "{model}", "{table}"],
    ["monitor", "{model}", "{table}", "--report", "{out}.html", "--force"],
    ["card", "{model}", "-o", "{out}.md", "--force"],
    ["export", "{model}", "{out}.onnx", "--force"],
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
        return self.count(task, counted_as, self.reader.ask(task))

    def count(self, task, counted_as, found):
        self.counts[counted_as, found["word"]] += 1
        self.peak = max(self.peak, found["peak"])
        if found["word"] not in GOOD:
            self.note(task, counted_as, found["word"], found["detail"])
        return found

    def note(self, task, counted_as, word, detail):
        said = (counted_as, task["what"], task["form"], task["seed"], word, detail)
        self.failures.append((*said, task["command"][:1]))
        print(*self.failures[-1], sep=" | ", flush=True)
        if self.kept is not None and task["what"] in ("strange", "damaged", "image"):
            self.kept.mkdir(parents=True, exist_ok=True)
            path = Path(task["path"])
            name = f"{task['what']}-{task['form']}-{task['seed']}{path.suffix}"
            # Made anew: the child may have gone on to the next one.
            (self.kept / name).write_bytes(make_content(task, path))

    def make_task(self, what, form, seed, command=()):
        path = self.folder / f"table{ENDINGS[form]}"
        if what == "image":
            path = self.folder / "images" / f"image{ENDINGS[form]}"
            path.parent.mkdir(exist_ok=True)
        task = {"what": what, "form": form, "seed": seed, "path": str(path)}
        return task | {"command": list(command)}

    def read_tables(self, n, first):
        tasks = [
            self.make_task(*TABLES[seed % len(TABLES)], seed) for seed in range(first, first + n)
        ]
        for task, found in zip(tasks, self.reader.ask_all(tasks), strict=True):
            self.count(task, "tables", found)

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

    def forge_notes(self, n, first):
        """Run commands on a model that notes something else of its fit."""
        if not (self.folder / MODEL).exists():
            make_model(self.folder)
        parts = read_parts((self.folder / MODEL).read_bytes(), self.folder)
        names = {"model": "forged.mixpul", "table": TABLE, "queue": "forged.csv", "out": "out"}
        for seed in range(first, first + n):
            model = self.folder / names["model"]
            model.write_bytes(forge_notes(*parts, np.random.default_rng(seed)))
            words = WITH_NOTES[seed % len(WITH_NOTES)]
            if words[0] == "audit" and not readdress_queue(self.folder / QUEUE, model):
                continue
            for name, file in names.items():
                words = [w.replace("{" + name + "}", str(self.folder / file)) for w in words]
            task = {"what": "notes", "form": "mixpul", "seed": seed, "path": str(model)}
            self.try_task(task | {"command": words}, "notes")

    def repeat_kept(self):
        """Try what once failed."""
        for path in sorted(KEPT.iterdir()):
            copy = self.folder / f"table{path.suffix}"
            copy.write_bytes(path.read_bytes())
            task = {"what": "kept", "form": path.name, "seed": 0, "path": str(copy), "command": []}
            self.try_task(task, "kept")


def make_model(folder):
    """Fit a model of the table that is damaged elsewhere, and draw a queue."""
    table, model, queue = (str(Path(folder) / name) for name in (TABLE, MODEL, QUEUE))
    write_sound(Path(table), "csv")
    for words in (
        ["fit", table, "--label", "flag", *QUICK, "-o", model],
        ["review", model, table, "-n", "10", "-o", queue],
    ):
        command = [sys.executable, "-m", "mixpul", *words]
        subprocess.run(command, capture_output=True, check=True, timeout=600)


def readdress_queue(path, model):
    """Answer a queue as if another model had drawn it; false if that file tells no checksum."""
    try:
        checksum = describe(model)["checksum"]
    except MixpulError:
        return False
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    known = {ROW, VERDICT, CHECK, *DESIGN}
    for k, line in enumerate(lines):
        line["mixpul_model"] = checksum[:16]
        line[VERDICT] = "yes" if k % 2 else "no"
        line[CHECK] = compute_check(line, [name for name in line if name not in known])
    with path.with_name("forged.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return True


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
    parser.add_argument("--notes", type=int, default=1_000)
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
            "notes": (["src/mixpul", "tests/hostile_files.py"], 100, fuzz.forge_notes),
            "tables": (["src/mixpul/tables"], 1000, fuzz.read_tables),
        }
        lines = []
        for what, (attacked, size, attack) in attacks.items():
            # How scores are written is attacked through commands only.
            code = hash_code(*attacked, *ATTACK, but="scoring.py" if what == "tables" else None)
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
