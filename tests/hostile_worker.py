"""Read files that may be hostile, one after the other, in a process that may die of it.

Each line on standard input names a file and what to do with it. Each line on standard output says
what happened: a word and a detail. `same` and `refused` are good; so is `other`, a forged file that
predicts something else, and `again`, damaged work that was done anew. All else is a failure.
"""

import contextlib
import io
import json
import os
import re
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path

# Imported before memory is limited: what a library takes for itself is not asked for by a file.
import numpy as np
import pandas as pd  # noqa: F401
import pyarrow as pa  # noqa: F401

import mixpul.assess
import mixpul.tables  # noqa: F401
from hostile_files import list_kinds, load_kind, make_rows
from hostile_others import OTHERS
from mixpul._util.errors import MixpulError
from mixpul.cli.inspect import inspect
from mixpul.persistence import read_scores

MEGABYTE = 2**20
# More address space than the imports take: what a file may ask for.
MOST_MEMORY = 1024 * MEGABYTE


def read_peak() -> int:
    """Return the most memory that this process has used, in kB.

    What `getrusage` tells includes the process that started it, which may be large.
    """
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def limit_memory():
    """Let no file allocate more than a gigabyte."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def read_model(path, kind, expected, is_forged):
    """Load a model file, score rows, and look into it; return a word and a detail."""
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown):
            inspect(path)
            inspect(path, as_json=True)
            read_scores(path)
    except MixpulError:
        pass
    if set(map(ord, shown.getvalue())) & ({*range(32)} - {10}):
        return "control codes", repr(shown.getvalue()[:200])
    try:
        model = load_kind(path, kind)
    except MixpulError as error:
        if "\n" in str(error) or str(path) not in str(error):
            return "no sentence", str(error)
        return "refused", str(error)
    last = model[-1] if hasattr(model, "steps") else model
    if getattr(last, "checkpoint", None) is not None:
        return "a path from the file", str(last.checkpoint)
    rows, _ = make_rows(list_kinds()[kind][1])
    try:
        scores = model.decision_function(rows)
        model.predict(rows)
        model.predict_proba(rows)
    except MixpulError as error:
        return "refused", f"at predict: {error}"
    # A forged file may have been fitted on other columns, or make NaN of them, and says so.
    except ValueError as error:
        said = ("features", "fitted on", "X contains NaN", "X contains infinity")
        if is_forged and any(words in str(error) for words in said):
            return "refused", f"at predict: {error}"
        raise
    if np.isnan(scores).any():
        return "NaN", ""
    if np.array_equal(scores, expected):
        return "same", ""
    return ("other" if is_forged else "silently different"), ""


def read_back(task):
    """Read a model file, or another file that a later command reads back."""
    if task["what"] in OTHERS:
        return OTHERS[task["what"]].read(Path(task["path"]))
    expected = np.load(task["expected"])
    return read_model(Path(task["path"]), task["kind"], expected, task["what"] == "forged")


def handle(task, do):
    """Do one task; whatever is raised that is not ours is `foreign`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return do(task)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return "foreign", f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"


def answer_tasks(do):
    """Answer tasks until there are none; `do` returns a word and a detail for each."""
    out = os.fdopen(os.dup(1), "w")
    # Whatever is printed elsewhere is no answer.
    os.dup2(2, 1)
    limit_memory()
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        start = time.monotonic()
        word, detail = handle(json.loads(line), do)
        # Well below the limit after which the parent takes it for a hang.
        seconds = round(time.monotonic() - start, 1)
        peak = read_peak() // 1024
        print(
            json.dumps({"word": word, "detail": detail[:300], "peak": peak, "seconds": seconds}),
            file=out,
            flush=True,
        )


if __name__ == "__main__":
    answer_tasks(read_back)
