"""Files other than models that are read back: checkpoints, comparisons, results and queues.

Each of them has `write`, which makes a good file in a folder and returns its path, and `read`,
which uses a file that may be damaged and returns a word and a detail as `hostile_worker` does.
"""

import json
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mixpul import LogisticPUClassifier, MixPULClassifier
from mixpul._util.errors import MixpulError
from mixpul.assess import compare
from mixpul.assess.answered import read_answers
from mixpul.assess.queues import make_queue, write_csv, write_tasks
from mixpul.assess.strata import Review
from mixpul.methods.neural.checkpoint import Checkpoint
from mixpul.paper.runs import pack_results, plan, read_results, run
from mixpul.paper.trial import Trial

MODEL = "0123456789abcdef"


class Other(NamedTuple):
    """How to make a good file, and how to use one."""

    write: object
    read: object


def make_data():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3)).astype(np.float32)
    return X, (X[:, 0] > 0.3).astype(int)


# -- checkpoints ----------------------------------------------------------------------------


class Stopped(Exception):
    """The training ends here, as if the process were killed."""


def make_network(path):
    return MixPULClassifier(
        net=(4,), n_epochs=3, batch_size=16, min_steps=None, cross_fitting=None, random_state=0,
        checkpoint=path,
    )  # fmt: skip


def write_checkpoint(folder):
    path = Path(folder) / "half.checkpoint"
    save, n_saved = Checkpoint.save, []

    def save_once(self, history):
        save(self, history)
        n_saved.append(1)
        if len(n_saved) == 2:
            raise Stopped

    Checkpoint.save = save_once
    try:
        make_network(path).fit(*make_data())
    except Stopped:
        pass
    finally:
        Checkpoint.save = save
    return path


def read_checkpoint(path):
    X, y = make_data()
    expected = score_network(X, y)
    content = path.read_bytes()
    try:
        scores = make_network(path).fit(X, y).decision_function(X)
    except MixpulError as error:
        if path.read_bytes() != content:
            return "lost", "a file that was refused was overwritten"
        return "refused", str(error)
    return ("same" if np.array_equal(scores, expected) else "silently different"), ""


def score_network(X, y, known=[]):  # noqa: B006 - computed once in a process
    if not known:
        known.append(make_network(None).fit(X, y).decision_function(X))
    return known[0]


# -- comparisons ----------------------------------------------------------------------------

RIVALS = {"line": LogisticPUClassifier(C=1.0, random_state=0)}


def write_comparison(folder):
    compare(*make_data(), RIVALS, folder=folder, n_folds=2)
    return Path(folder) / "line.json"


def read_comparison(path):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder) / "line.json")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = compare(*make_data(), RIVALS, folder=folder, n_folds=2)
            except MixpulError as error:
                return "refused", str(error)
    is_same = found.methods[0]["pu_auc"] == compare_once()
    word = "again" if any("damaged" in str(one.message) for one in caught) else "same"
    return (word if is_same else "silently different"), ""


def compare_once(known=[]):  # noqa: B006 - computed once in a process
    if not known:
        known.append(compare(*make_data(), RIVALS, n_folds=2).methods[0]["pu_auc"])
    return known[0]


# -- results --------------------------------------------------------------------------------


def perform(trial):
    return {"auc": trial.seed / 7, "error": 0.25, "labeled": 12, "unlabeled": 90, "prior": 0.4}


TRIALS_OF_RESULTS = [Trial("uci", "titanic", "MixPUL", seed, {"c": 0.1}) for seed in range(4)]


def write_result(folder):
    run(TRIALS_OF_RESULTS[3:], perform, folder)
    return next((Path(folder) / "uci").glob("*.json"))


def write_packed(folder):
    run(TRIALS_OF_RESULTS, perform, folder)
    return pack_results(folder, "uci")


def read_result(path):
    """Read it for a report, which refuses it, and for a run, which does the trial again."""
    trials = TRIALS_OF_RESULTS
    with tempfile.TemporaryDirectory() as folder:
        if path.name.endswith("jsonl"):
            shutil.copy(path, Path(folder) / "uci.jsonl")
        else:
            (Path(folder) / "uci").mkdir()
            shutil.copy(path, Path(folder) / "uci" / "one.json")
        done = plan(trials, folder).done
        for record in done:
            wanted = perform(next(trial for trial in trials if trial.id == record["id"]))
            if any(record[name] != value for name, value in wanted.items()):
                return "silently different", str(record)
        try:
            read_results(folder, "uci")
        except MixpulError as error:
            return "refused", str(error)
    return "same", ""


# -- queues ---------------------------------------------------------------------------------


def make_review():
    return Review(
        rows=np.array([7, 3, 11, 2]),
        scores=np.array([0.91, 0.5, 0.25, 0.125]),
        ranks=np.array([1, 2, 3, 4]),
        strata=np.array([0, 0, 1, 1]),
        sizes=np.array([5, 9]),
        seed=3,
        number=1,
    )


def make_lines():
    cells = [{"name": f"row {k}, ünï;code", "amount": f"{k}.5"} for k in range(4)]
    return make_queue(
        make_review(), ids=["a", "b", "c", "d"], id_column="who", cells=cells,
        contents=["c0", "c1", "c2", "c3"], model=MODEL, table="fedcba9876543210",
    )  # fmt: skip


def write_queue(folder):
    path = Path(folder) / "queue.csv"
    path.write_bytes(write_csv(make_lines()))
    return path


def write_label_studio(folder):
    tasks = json.loads(write_tasks(make_lines()))
    for task in tasks:
        task["annotations"] = [{"result": [{"value": {"choices": ["yes"]}}]}]
    path = Path(folder) / "tasks.json"
    path.write_text(json.dumps(tasks))
    return path


def read_queue(path):
    expected = make_review()
    try:
        found = read_answers([path], MODEL)
    except MixpulError as error:
        return "refused", str(error)
    own = found.reviews[0]
    # Verdicts are what people write: any word that is one is their answer.
    is_same = len(found.reviews) == 1 and all(
        np.array_equal(one, other) for one, other in zip(own, expected, strict=True)
    )
    return ("same" if is_same else "silently different"), ""


OTHERS = {
    "checkpoint": Other(write_checkpoint, read_checkpoint),
    "comparison": Other(write_comparison, read_comparison),
    "result": Other(write_result, read_result),
    "packed results": Other(write_packed, read_result),
    "queue": Other(write_queue, read_queue),
    "tasks": Other(write_label_studio, read_queue),
}
