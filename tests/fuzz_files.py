"""Damaged and forged files through everything that reads them back; `make fuzz` runs it for long.

A child process reads the files, within a limit of memory and of time for each. A signal, a hang, an
exception that is not ours, or a result that differs without a word is a failure; the file is kept.

    python tests/fuzz_files.py --mutated 10000 --forged 3000 --others 2000
"""

import argparse
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CORPUS = HERE / "data" / "corpus"
GOOD = ("same", "refused", "other", "again")
FILES_PER_READER = 1_000
TASKS_AHEAD = 50  # as many as a pipe takes: on a busy machine each wait costs more than the work
SECONDS = 120  # of one file; most take milliseconds, but the machine may be busy


class Reader:
    """A child process that reads files; a new one takes its place if it dies or hangs."""

    def __init__(self, program="hostile_worker.py"):
        self.process, self.program, self.n_asked = None, program, 0

    def start(self):
        # Two threads would share out memory in arenas of their own, and hide what a file takes.
        env = os.environ | {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
        # Arrow's own allocator sets a gigabyte of addresses aside, which is all that there is.
        env |= {"ARROW_DEFAULT_MEMORY_POOL": "system"}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / self.program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            # Unbuffered: an answer that is here already must be seen by `select`.
            bufsize=0,
        )
        # Its imports may take minutes on a busy machine, which is not the fault of a file.
        self.process.stdout.readline()

    def ask(self, task):
        """Return what became of a file."""
        return next(self.ask_all([task]))

    def ask_all(self, tasks):
        """Yield what became of each file; some tasks wait, so that the child need not."""
        tasks = list(tasks)
        for start in range(0, len(tasks), TASKS_AHEAD):
            waiting = tasks[start : start + TASKS_AHEAD]
            while waiting:
                self.send(waiting)
                for k in range(len(waiting)):
                    found = self.receive()
                    yield found
                    # What was still to be read has died with the child.
                    if found["word"] in ("signal", "hang"):
                        waiting = waiting[k + 1 :]
                        break
                else:
                    waiting = []

    def send(self, tasks):
        # What libraries keep of thousands of files is not asked for by one of them.
        if self.n_asked + len(tasks) > FILES_PER_READER:
            self.stop()
        if self.process is None:
            self.start()
            self.n_asked = 0
        self.n_asked += len(tasks)
        for task in tasks:
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self):
        """Return the next answer; end a child that does not give one."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            is_ready = selector.select(SECONDS)
        answer = self.process.stdout.readline() if is_ready else b""
        if answer:
            return json.loads(answer)
        code = self.stop()
        return {"word": "signal" if is_ready else "hang", "detail": f"exit code {code}", "peak": 0}

    def stop(self):
        """End the child, and return its exit code."""
        if self.process is None:
            return 0
        code = self.process.poll()
        self.process.kill()
        self.process.communicate()
        code = self.process.returncode if code is None else code
        self.process = None
        return code


class Fuzz:
    """Counts what became of files, and keeps those that failed."""

    def __init__(self, folder, corpus=None):
        self.folder, self.corpus = Path(folder), corpus
        self.reader = Reader()
        self.counts = Counter()
        self.failures = []
        self.peak = 0

    def try_file(self, content, what, kind, note="", suffix=""):
        path = self.folder / f"spoiled{suffix}"
        path.write_bytes(content)
        expected = str(self.folder / f"{kind}.npy")
        found = self.reader.ask(
            {"path": str(path), "what": what, "kind": kind, "expected": expected}
        )
        self.counts[what, found["word"]] += 1
        self.peak = max(self.peak, found["peak"])
        if found["word"] not in GOOD:
            self.failures.append((what, kind, note, found["word"], found["detail"]))
            print(*self.failures[-1], sep=" | ", flush=True)
            if self.corpus is not None:
                self.corpus.mkdir(parents=True, exist_ok=True)
                name = f"{what}-{kind}-{len(self.failures)}".replace(" ", "_")
                (self.corpus / f"{name}{suffix}").write_bytes(content)
        return found

    def mutate_models(self, names, n, random):
        from hostile_files import mutate

        contents = {name: (self.folder / f"{name}.mixpul").read_bytes() for name in names}
        for k in range(n):
            name = names[k % len(names)]
            self.try_file(mutate(contents[name], random), "mutated", name)

    def forge_models(self, names, n, random):
        from hostile_files import forge, read_parts

        parts = self.read_all(names, read_parts)
        for k in range(n):
            name = names[k % len(names)]
            try:
                content = forge(*parts[name], random)
            # Some changes have no form as a file, or cannot be computed.
            except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
                continue
            self.try_file(content, "forged", name)

    def craft_models(self, names, every=1):
        from hostile_files import craft_by_hand, read_parts

        number = 0
        for name, parts in self.read_all(names, read_parts).items():
            for note, content in craft_by_hand(*parts):
                number += 1
                if number % every == 0:
                    self.try_file(content, "forged", name, note)

    def read_all(self, names, read_parts):
        return {
            name: read_parts((self.folder / f"{name}.mixpul").read_bytes(), self.folder)
            for name in names
        }

    def mutate_others(self, n, random):
        from hostile_files import mutate
        from hostile_others import OTHERS

        for k, (what, other) in enumerate(OTHERS.items()):
            with tempfile.TemporaryDirectory() as folder:
                path = other.write(folder)
                content = path.read_bytes()
            self.try_file(content, what, what, "good", path.suffix)
            for _ in range(n // len(OTHERS) + (k < n % len(OTHERS))):
                self.try_file(mutate(content, random), what, what, suffix=path.suffix)

    def repeat_corpus(self):
        """Try what once failed."""
        for path in sorted(CORPUS.glob("*-*-*")):
            what, _, rest = path.name.partition("-")
            kind = rest.rpartition("-")[0]  # which may have a dash itself, as pu-auc
            self.try_file(path.read_bytes(), what, kind.replace("_", " "), path.name, path.suffix)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutated", type=int, default=10_000)
    parser.add_argument("--forged", type=int, default=3_000)
    parser.add_argument("--others", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    from hostile_files import write_models

    random = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        names = write_models(folder)
        fuzz = Fuzz(folder, CORPUS)
        steps = {
            "what once failed": fuzz.repeat_corpus,
            "mutated": lambda: fuzz.mutate_models(names, options.mutated, random),
            "other files": lambda: fuzz.mutate_others(options.others, random),
            "crafted by hand": lambda: fuzz.craft_models(names),
            "forged at random": lambda: fuzz.forge_models(names, options.forged, random),
        }
        for name, step in steps.items():
            before = fuzz.counts.total()
            step()
            print(f"{name}: {fuzz.counts.total() - before:,} files", flush=True)
        fuzz.reader.stop()
    for (what, word), count in sorted(fuzz.counts.items()):
        print(f"{what:16}{word:20}{count:8,}")
    print(f"largest memory of the reader: {fuzz.peak} MB; failures: {len(fuzz.failures)}")
    sys.exit(bool(fuzz.failures))


if __name__ == "__main__":
    main()
