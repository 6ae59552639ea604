"""How often what `mixpul fit` and `mixpul audit` say is right, counted against hidden truth.

    python benchmarks/trust.py --data FOLDER [--jobs 2] [--draws 10] [--only dataset=german]

60 positives of a table, but never more than half of them, are labeled: at random, or 3 or 10 times
as often above the median of one column, another one for each draw. A portfolio without networks is
fitted, so that many draws are affordable; the claims rest on its out-of-fold scores. Each claim is
then compared with the truth: the class prior, and recall, precision and AUC of the unlabeled rows.
For an audit, rows are drawn as by `mixpul review`, and the truth answers.

The tables are the bundled ones and, from the folder, development tables (`dev/NAME.npz`) and messy
tables (`messy/NAME.csv.gz` with a column `truth`). A table that is not found is left out with a
message. A run that was stopped goes on where it stopped; results are in
benchmarks/results/trust.jsonl.
"""

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from mixpul import AutoPUClassifier, datasets
from mixpul.assess import audit, review
from mixpul.assess.claims import Claims, make_claims
from mixpul.paper.grid import matches, parse_only
from mixpul.paper.runs import Record, Trial, has_failed, pack_results, read_results, run
from mixpul.tables import TableInput, read_table
from suite import RESULTS, load_table

TARGET = "trust"
TABLES = (
    "krvskp", "titanic", "spambase",
    "contraceptive", "german", "mammographic", "segment", "vehicle", "yeast1",
)  # fmt: skip
# With a column `truth`, and how to read them.
MESSY_TABLES: dict[str, dict[str, Any]] = {
    "attr": {},
    "credit": {"delimiter": ";", "decimal": ",", "encoding": "latin-1"},
}
N_LABELED = 60
# How much more often positives on one side of a column are labeled; 1 is at random.
BIASES = (1, 3, 10)
N_VERDICTS = (60, 200)
CANDIDATES = ("trees", "logistic-0.1", "kernel-narrow")
# The threshold at which recall and precision are compared: what `predict` uses by default.
THRESHOLD = 0.5

Interval = tuple[float, float]


class Truth(NamedTuple):
    """What is true of the unlabeled rows."""

    prior: float
    auc: float
    recall: float
    precision: float


def load_any_table(name: str, data: Path | None) -> tuple[NDArray, NDArray]:
    """Read a table as numbers, and the true classes."""
    if name not in MESSY_TABLES:
        return load_table(name, data)
    path = None if data is None else data / "messy" / f"{name}.csv.gz"
    if path is None or not path.exists():
        raise datasets.DataNotAvailable(f"messy/{name}.csv.gz is not in the folder {str(data)!r}.")
    frame = read_table(str(path), **MESSY_TABLES[name])
    truth = frame.pop("truth").astype(int).to_numpy()
    return TableInput().fit(frame).transform(frame), truth


def draw_labels(X: NDArray, truth: NDArray, bias: int, seed: int) -> NDArray[np.bool_]:
    """Label some of the positives, at random or more often on one side of a column."""
    random = np.random.default_rng(seed)
    positives = np.flatnonzero(truth == 1)
    chances = np.ones(len(positives))
    if bias > 1:
        chances[pick_side(X[positives], random)] = bias
    n = min(N_LABELED, len(positives) // 2)
    chosen = random.choice(positives, n, replace=False, p=chances / chances.sum())
    return np.isin(np.arange(len(truth)), chosen)


def pick_side(rows: NDArray, random: np.random.Generator) -> NDArray[np.bool_]:
    """Return the rows above the median of a column that has a quarter of them on each side."""
    sides = rows > np.median(rows, axis=0)
    usable = np.flatnonzero((sides.mean(axis=0) >= 0.25) & (sides.mean(axis=0) <= 0.75))
    return sides[:, random.choice(usable)]


def perform(trial: Trial, data: Path | None) -> Record:
    """Fit once; note each claim with the truth beside it."""
    X, truth = load_any_table(trial.dataset, data)
    is_positive = draw_labels(X, truth, trial.settings["bias"], trial.seed)
    model = AutoPUClassifier(candidates=list(CANDIDATES), random_state=trial.seed)
    logits = model.fit(X, is_positive).oof_scores_
    scores = 1 / (1 + np.exp(-logits.astype(np.float64)))
    unlabeled = ~is_positive
    true = find_truth(scores[unlabeled], truth[unlabeled])
    claims = {
        "without a prior": note_claims(make_claims(is_positive, logits)),
        "with the prior": note_claims(make_known_claims(is_positive, logits, true.prior)),
        **{
            f"{n} verdicts": audit_draw(scores, is_positive, truth, n, trial.seed)
            for n in N_VERDICTS
        },
    }
    return {"truth": true._asdict(), "claims": claims, "labeled": int(is_positive.sum())}


def find_truth(scores: NDArray, truth: NDArray) -> Truth:
    flagged, hidden = scores > THRESHOLD, truth == 1
    return Truth(
        prior=float(hidden.mean()),
        auc=float(roc_auc_score(hidden, scores)),
        recall=float(flagged[hidden].mean()),
        precision=float(hidden[flagged].mean()) if flagged.any() else float("nan"),
    )


def make_known_claims(is_positive: NDArray, logits: NDArray, prior: float) -> Claims | None:
    """Claim with the true prior; None where the data are taken to rule it out."""
    try:
        return make_claims(is_positive, logits, prior=prior)
    except ValueError:
        return None


def note_claims(claims: Claims | None) -> dict[str, Any] | None:
    """Return each figure as the interval that is shown; [0, x] for "at most x"."""
    if claims is None:
        return None
    at = claims.at(THRESHOLD)
    prior = claims.prior
    is_known = prior["source"] != "estimated"
    return {
        "prior": [prior["value"]] * 2 if is_known else [0.0, prior["upper"]],
        "auc": [claims.corrected_auc["low"], claims.corrected_auc["high"]],
        "recall": [at["recall"]["low"], at["recall"]["high"]],
        "precision": [at["precision"]["low"] if is_known else 0.0, at["precision"]["high"]],
    }


def audit_draw(
    scores: NDArray, is_positive: NDArray, truth: NDArray, n: int, seed: int
) -> dict[str, Interval]:
    """Draw rows to check, let the truth answer, and return what the audit says."""
    drawn = review(scores, is_positive, n=n, random_state=seed)
    n_flagged = int((scores[~is_positive] > THRESHOLD).sum())
    found = audit(drawn, truth[drawn.rows] == 1, [THRESHOLD], flagged=[n_flagged])
    rates = {
        name: (found.thresholds[name]["low"][0], found.thresholds[name]["high"][0])
        for name in ("recall", "precision")
    }
    return {
        "prior": (found.prior.low, found.prior.high),
        "auc": (found.auc.low, found.auc.high),
        **rates,
    }


def list_trials(tables: Iterable[str], n_draws: int, only: str) -> list[Trial]:
    chosen = parse_only(only)
    recipe = f"AutoPUClassifier(candidates={list(CANDIDATES)})"
    trials = [
        Trial(TARGET, table, "Auto", seed, {"bias": bias}, recipe)
        for bias in BIASES
        for seed in range(n_draws)
        for table in tables
    ]
    return [trial for trial in trials if matches(trial, chosen)]


def find_tables(data: Path | None) -> list[str]:
    """List the tables that are here; say which are not."""
    found = []
    for name in (*TABLES, *MESSY_TABLES):
        try:
            load_any_table(name, data)
            found.append(name)
        except datasets.DataNotAvailable as error:
            print(f"{name} is left out: {error}")
    return found


# -- the table ------------------------------------------------------------------------------

ROUTES = ("without a prior", "with the prior", *(f"{n} verdicts" for n in N_VERDICTS))
FIGURES = ("prior", "auc", "recall", "precision")
WORDS = {
    "prior": "class prior",
    "auc": "AUC against negatives",
    "recall": "recall",
    "precision": "precision",
}


def write_tables(records: Sequence[Record]) -> str:
    """Write how often each claim was right, in Markdown; one table for each kind of labels."""
    parts = []
    for bias in BIASES:
        own = [r for r in records if r["settings"]["bias"] == bias and not has_failed(r)]
        if own:
            parts += [*_write_title(bias, own), *_write_rows(own), ""]
    return "\n".join(parts).strip() or "There are no results yet."


def _write_title(bias: int, records: Sequence[Record]) -> list[str]:
    tables = {record["dataset"] for record in records}
    how = "at random" if bias == 1 else f"{bias} times as often on one side of a column"
    return [
        f"Positives labeled {how}: {len(records)} draws from {len(tables)} tables. Share of draws "
        "in which the claim held, and its mean width.",
        "",
        "| claim | " + " | ".join(ROUTES) + " |",
        "| --- |" + " --- |" * len(ROUTES),
    ]


def _write_rows(records: Sequence[Record]) -> list[str]:
    return [
        f"| {WORDS[figure]} | "
        + " | ".join(_write_cell(records, figure, route) for route in ROUTES)
        + " |"
        for figure in FIGURES
    ]


def _write_cell(records: Sequence[Record], figure: str, route: str) -> str:
    if (figure, route) == ("prior", "with the prior"):
        refused = sum(record["claims"][route] is None for record in records)
        return f"given; refused in {refused} of {len(records)}"
    held, widths = [], []
    for record in records:
        claim = record["claims"][route]
        true = record["truth"][figure]
        # A figure that is not defined, such as the precision of no row, is not claimed either.
        if claim is None or None in claim[figure] or true is None or np.isnan(true):
            continue
        low, high = claim[figure]
        held.append(low - 1e-9 <= true <= high + 1e-9)
        widths.append(high - low)
    return f"{100 * np.mean(held):.0f} % ({np.mean(widths):.2f})" if held else "–"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("MIXPUL_DATA"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true", help="only print what is there")
    args = parser.parse_args()
    if not args.show:
        data = None if args.data is None else Path(args.data)
        trials = list_trials(find_tables(data), args.draws, args.only)
        act: Callable[[Trial], Record] = partial(perform, data=data)
        for record in run(trials, act, RESULTS, jobs=args.jobs, verbose=1):
            if has_failed(record):
                print(f"failed: {record['id']}: {record['failure']}")
        pack_results(RESULTS, TARGET)
    print(write_tables(read_results(RESULTS, TARGET)))


if __name__ == "__main__":
    main()
