"""Strange and damaged tables and images through everything that reads them; `make fuzz` runs it.

    python tests/fuzz_tables.py --tables 50000 --commands 500 --images 4000

A child process reads them, as in `fuzz_files.py`: a signal, a hang, an exception that is not ours,
or a table that means something else when it is read again is a failure; the file is kept.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from damage import SUFFIXES, write_sound
from fuzz_files import HERE, Reader
from hostile_table_worker import judge_command
from hostile_tables import MAKERS

KEPT = HERE / "data" / "tables"
ENDINGS = SUFFIXES | {"tsv": ".tsv", "PNG": ".png", "JPEG": ".jpeg"}
GOOD = ("read", "refused")
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
        if self.counts.total() % 1000 == 0:
            print(f"{self.counts.total():,} files, {len(self.failures)} failures", flush=True)
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
        for k in range(n):
            what, form = TABLES[k % len(TABLES)]
            self.try_task(self.make_task(what, form, first + k), "tables")

    def read_images(self, n, first):
        for k in range(n):
            task = self.make_task("image", ("PNG", "JPEG")[k % 2], first + k)
            self.try_task(task, "images")
            Path(task["path"]).unlink()

    def run_commands(self, n, first, n_children=0):
        """Run commands on tables, the first of them in processes of their own as well."""
        model = make_model(self.folder)
        for k in range(n):
            # Models know the columns of the damaged table; strange ones are fitted.
            what, form = (DAMAGED if k % 2 else STRANGE)[
                k // 2 % len(DAMAGED if k % 2 else STRANGE)
            ]
            words = COMMANDS[k // 2 % len(COMMANDS) if k % 2 else 0]
            label = "flag" if what == "damaged" else "c0"
            filled = {"{label}": label, "{model}": str(model), "{out}": str(self.folder / "out")}
            for sign, value in filled.items():
                words = [word.replace(sign, value) for word in words]
            task = self.make_task(what, form, first + k, words)
            self.try_task(task, "commands")
            if k < n_children:
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
    table, model = Path(folder) / "sound-to-fit.csv", Path(folder) / "model.mixpul"
    write_sound(table, "csv")
    words = ["fit", str(table), "--label", "flag", *QUICK, "-o", str(model)]
    subprocess.run([sys.executable, "-m", "mixpul", *words], capture_output=True, check=True)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=50_000)
    parser.add_argument("--commands", type=int, default=500)
    parser.add_argument("--processes", type=int, default=25)
    parser.add_argument("--images", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    first = options.seed * 10**6
    with tempfile.TemporaryDirectory() as folder:
        fuzz = TableFuzz(folder, KEPT)
        # Whoever stops it sees what was found until then.
        with suppress(KeyboardInterrupt):
            fuzz.repeat_kept()
            if options.images:
                fuzz.read_images(options.images, first)
            if options.commands:
                fuzz.run_commands(options.commands, first, options.processes)
            fuzz.read_tables(options.tables, first)
        fuzz.reader.stop()
    for (what, word), count in sorted(fuzz.counts.items()):
        print(f"{what:12}{word:20}{count:8,}")
    print(f"largest memory of the reader: {fuzz.peak} MB; failures: {len(fuzz.failures)}")
    sys.exit(bool(fuzz.failures))


if __name__ == "__main__":
    main()
