"""Test AUC with 10, 30 and 100 verified negatives, and with as many further labeled positives.

    python benchmarks/negatives.py --data FOLDER [--seeds 3] [--only method=Auto] [--show]

Tables and splits are those of suite.py, with 60 labeled positives; from the folder `messy` of the
data folder come tables with text, dates and gaps as well (`NAME.csv.gz` with the answer in the
column `truth`). A table that is not found is left out with a message. All fits of a method on a
split begin with the same seed, and the rows of 10 are among those of 30 and 100. Verified negatives
are drawn

- at random from all unlabeled negatives, or
- as an audit finds them: unlabeled rows are drawn equally often from five strata of the out-of-bag
  score of trees, of which the highest has 5 % of the rows, until there are enough negatives.
  Positives that come up stay unlabeled.

A run that was stopped goes on where it stopped; results are in benchmarks/results/negatives.jsonl.
"""

import argparse
import os
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    datasets,
)
from mixpul._util.validation import write_recipe
from mixpul.paper.grid import matches, parse_only
from mixpul.paper.runs import Record, Trial, has_failed, pack_results, read_results, run
from mixpul.tables import TableInput, read_table
from suite import load_table, split_table

RESULTS = Path(__file__).parent / "results"
TARGET = "negatives"
TABLES = ("krvskp", "titanic", "spambase", "german", "contraceptive", "vehicle", "yeast1", "banana")
# How the CSV files are written.
MESSY: dict[str, dict[str, Any]] = {
    "attr": {},
    "credit": {"delimiter": ";", "decimal": ",", "encoding": "latin-1"},
}
N_LABELED = 60
COUNTS = (10, 30, 100)
KINDS = ("negatives", "audit", "positives")
# Shares of the unlabeled rows, by score, at which the strata of an audit begin.
STRATA = (0.0, 0.5, 0.7, 0.85, 0.95)
# Quick ones first: a run that is stopped early has them for all tables.
CLASSIFIERS: dict[str, Any] = {
    "logistic regression": LogisticPUClassifier(C=0.1),
    "Bagging": BaggingPUClassifier(),
    # Without networks, so that all fits take minutes.
    "Auto": AutoPUClassifier(candidates=["trees", "logistic-0.1", "kernel-narrow"]),
    "MixPUL": MixPULClassifier(n_epochs=10),
}


def load_any_table(name: str, data: Path | None) -> tuple[NDArray, NDArray]:
    """Read a table of the suite, or a messy one through `TableInput`, which sees no labels."""
    if name not in MESSY:
        return load_table(name, data)
    path = None if data is None else data / "messy" / f"{name}.csv.gz"
    if path is None or not path.exists():
        raise datasets.DataNotAvailable(f"{name}.csv.gz is not in messy of {str(data)!r}.")
    frame = read_table(path, **MESSY[name])
    y = frame.pop("truth").to_numpy(dtype=int)
    return TableInput().fit_transform(frame), y


def draw_rows(pu: Any, kind: str, seed: int) -> NDArray[np.intp]:
    """Return unlabeled rows that someone has looked at, in the order in which they did."""
    random = np.random.default_rng(seed)
    is_unlabeled = pu.s == 0
    if kind != "audit":
        wanted = pu.y == (1 if kind == "positives" else 0)
        return random.permutation(np.flatnonzero(is_unlabeled & wanted))
    scores = BaggingPUClassifier(random_state=seed).fit(pu.X, pu.s).oob_scores_
    unlabeled = np.flatnonzero(is_unlabeled)
    by_score = unlabeled[np.argsort(scores[unlabeled], kind="stable")]
    edges = np.rint(np.array([*STRATA, 1.0]) * len(by_score)).astype(int)
    strata = [random.permutation(by_score[a:b]) for a, b in pairwise(edges)]
    turns = [(turn, k, row) for k, rows in enumerate(strata) for turn, row in enumerate(rows)]
    checked = np.array([row for *_, row in sorted(turns)])
    return checked[pu.y[checked] == 0]


def perform(trial: Trial, data: Path | None) -> Record:
    """Fit one method with none, and with more and more, known rows of each kind."""
    table = load_any_table(trial.dataset, data)
    split = split_table(*table, trial.settings["n_positive"], trial.seed)
    pu = split.pu

    def test(y: NDArray, negative: NDArray | None) -> float:
        model = clone(CLASSIFIERS[trial.method]).set_params(random_state=trial.seed)
        scores = model.fit(pu.X, y, negative=negative).decision_function(split.X_test)
        return float(roc_auc_score(split.y_test, scores))

    aucs = {"0": test(pu.s, None)}
    for kind in KINDS:
        rows = draw_rows(pu, kind, trial.seed)
        # Half of the hidden ones stay hidden.
        for n in [n for n in COUNTS if n <= len(rows) // 2]:
            is_known = np.isin(np.arange(len(pu.s)), rows[:n])
            aucs[f"{kind}-{n}"] = (
                test(np.where(is_known, 1, pu.s), None)
                if kind == "positives"
                else test(pu.s, is_known)
            )
    return {"aucs": aucs, "labeled": int(pu.s.sum()), "rows": len(pu.s), "prior": pu.prior}


def list_trials(tables: list[str], n_seeds: int, only: str) -> list[Trial]:
    chosen = parse_only(only)
    trials = [
        Trial(TARGET, table, method, seed, {"n_positive": N_LABELED}, write_recipe(model))
        for seed in range(n_seeds)
        for method, model in CLASSIFIERS.items()
        for table in tables
    ]
    return [trial for trial in trials if matches(trial, chosen)]


def find_tables(data: Path | None) -> list[str]:
    """List the tables that are here; say which are not."""
    found = []
    for name in (*TABLES, *MESSY):
        try:
            load_any_table(name, data)
            found.append(name)
        except datasets.DataNotAvailable as error:
            print(f"{name} is left out: {error}")
    return found


def read_records() -> list[Record]:
    """Read all results that belong to the present settings."""
    current = {name: write_recipe(model) for name, model in CLASSIFIERS.items()}
    return [
        record
        for record in read_results(RESULTS, TARGET)
        if not has_failed(record) and current.get(record["method"]) == record["recipe"]
    ]


def summarise(records: list[Record]) -> str:
    """Show the change of the test AUC, over all tables and table by table: Markdown."""
    if not records:
        return "There are no results yet."
    columns = [f"{kind}-{n}" for kind in KINDS for n in COUNTS]
    titles = [f"{n} {kind}" for kind in KINDS for n in COUNTS]
    lines = [
        f"Test AUC with {N_LABELED} labeled positives, and its change (± standard error over "
        "splits) with verified negatives drawn at random, by an audit, and with more positives.",
        "",
        "| method | table | prior | splits | AUC | " + " | ".join(titles) + " |",
        "| --- | --- |" + " ---: |" * (3 + len(columns)),
    ]
    for method in CLASSIFIERS:
        own = [record for record in records if record["method"] == method]
        tables = sorted({record["dataset"] for record in own})
        parts = [("all", own)] if own else []
        parts += [(name, [r for r in own if r["dataset"] == name]) for name in tables]
        for name, part in parts:
            auc, prior = (np.mean([get(r) for r in part]) for get in (_get_auc, _get_prior))
            cells = [_write_change(part, column) for column in columns]
            lines.append(
                f"| {method} | {name} | {prior:.2f} | {len(part)} | {auc:.3f} | "
                + " | ".join(cells)
                + " |"
            )
    return "\n".join(lines)


def _get_auc(record: Record) -> float:
    return record["aucs"]["0"]


def _get_prior(record: Record) -> float:
    return record["prior"]


def _write_change(records: list[Record], column: str) -> str:
    changes = [r["aucs"][column] - r["aucs"]["0"] for r in records if column in r["aucs"]]
    if not changes:
        return "–"
    error = f" ± {np.std(changes, ddof=1) / np.sqrt(len(changes)):.3f}" if len(changes) > 1 else ""
    return f"{np.mean(changes):+.3f}{error}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("MIXPUL_DATA"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true", help="only print what is there")
    args = parser.parse_args()
    if not args.show:
        data = None if args.data is None else Path(args.data)
        trials = list_trials(find_tables(data), args.seeds, args.only)
        records = run(trials, partial(perform, data=data), RESULTS, jobs=args.jobs, verbose=1)
        for record in filter(has_failed, records):
            print(f"failed: {record['id']}: {record['failure']}")
        pack_results(RESULTS, TARGET)
    print(summarise(read_records()))


if __name__ == "__main__":
    main()
