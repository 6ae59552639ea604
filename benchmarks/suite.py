"""Test AUC of the methods that need no class prior, on many tables and with few labels.

    python benchmarks/suite.py --data FOLDER [--jobs 2] [--seeds 3] [--only method=Auto] [--show]

The tables are those of the paper and, from the folder, development tables: `NAME.npz` with `X` and
`y` there or in its folder `dev`. A table that is not found is left out with a message. 60 % of the
rows, at most 4,000, are trained on, with 12, 60 or 250 labeled positives, but never more than half
of all; the other rows are tested on. A run that was stopped goes on where it stopped; results are
in benchmarks/results/suite.jsonl, those of other libraries (suite_peers.py) beside them. No setting
of ours may be chosen by these numbers.

A fit of the portfolio also tells what each of its candidates reaches alone, what the others reach
without it, and how far its out-of-fold PU-AUC is too good because the weights come from the same
rows: there each fold is combined by weights that the other folds have chosen.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mixpul import VPUClassifier, datasets
from mixpul._names import METHODS
from mixpul._util.validation import write_recipe
from mixpul.methods._candidates import CANDIDATES
from mixpul.methods._portfolio import make_score_table, to_normal_scores, weigh_candidates
from mixpul.methods.auto import LEAST_WEIGHT
from mixpul.metrics import pu_auc_score
from mixpul.paper.baselines import ClassMeans, TunedLogisticRegression
from mixpul.paper.grid import matches, parse_only
from mixpul.paper.perform import Split
from mixpul.paper.runs import Record, Trial, has_failed, pack_results, read_results, run

RESULTS = Path(__file__).parent / "results"
TARGET, PEERS = "suite", "suite-peers"
PAPER_TABLES = ("krvskp", "titanic", "spambase", "mushroom", "satimage", "texture", "twonorm")
DEVELOPMENT_TABLES = (
    "banana", "contraceptive", "german", "letter", "mammographic", "segment", "splice",
    "tic-tac-toe", "vehicle", "vowel", "yeast1",
)  # fmt: skip
# The candidates of the portfolio, most of them methods with their defaults: what each reaches alone
# is noted with every fit of the portfolio, on the same rows.
ALONE = {
    "mixpul": "MixPUL",
    "vpu": "VPU",
    "trees": "Bagging",
    "forest": "balanced forest",
    "kernel-narrow": "logistic regression, narrow kernel",
    "kernel-wide": "logistic regression, wide kernel",
    "logistic-0.001": "logistic regression, C = 0.001",
    "logistic-0.1": "logistic regression, C = 0.1",
    "logistic-10": "logistic regression, C = 10",
}
LABELED = (12, 60, 250)
# A table, a number of labeled positives and a seed.
SplitName = tuple[str, int, int]
MOST_TRAINING_ROWS = 4000
# A column with a value so many standard deviations from its mean has a heavy tail.
HEAVY_TAIL = 8.0
# A difference in mean AUC that a user would mind.
CLEARLY_BEHIND = 0.02
# By the names that tables of results show.
AUTO, WEAK_VPU = "Auto", "VPU, weak decay"
CLASSIFIERS: dict[str, Any] = {
    AUTO: METHODS["auto"](),
    WEAK_VPU: VPUClassifier(weight_decay=0.1),
    "WSVM": METHODS["wsvm"](),
    "Supervised": METHODS["supervised"](),
    "logistic regression": TunedLogisticRegression(),
    "class means": ClassMeans(),
}


def load_table(name: str, data: Path | None) -> tuple[NDArray, NDArray]:
    """Read a table of the paper, or a development table from the folder."""
    if name in PAPER_TABLES:
        return datasets.load(name, data=data, return_X_y=True)
    for path in [] if data is None else [data / f"{name}.npz", data / "dev" / f"{name}.npz"]:
        if path.exists():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"], arrays["y"]
    raise datasets.DataNotAvailable(f"{name}.npz is not in the folder {str(data)!r}.")


def split_table(X: NDArray, y: NDArray, n_labeled: int, seed: int) -> Split:
    """Label some positives of the training rows; put all columns on one scale."""
    share = min(0.6, MOST_TRAINING_ROWS / len(X))
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=share, stratify=y, random_state=seed
    )
    # Half of the positives stay hidden, so that there is something left to find.
    n_labeled = min(n_labeled, int(y_train.sum()) // 2)
    # All other training rows are unlabeled, as in a table of one's own.
    pu = datasets.make_pu(
        X_train, y_train, n_positive=n_labeled, scheme="single", random_state=seed
    )
    prepare = make_preparation(pu.X)
    return Split(replace(pu, X=prepare(pu.X)), prepare(X_test), y_test)


def make_preparation(X: NDArray) -> Callable[[NDArray], NDArray]:
    """Learn from training rows how to scale; tails are drawn in first, by a signed logarithm."""
    spread = X.std(axis=0)
    farthest = np.abs(X - X.mean(axis=0)).max(axis=0)
    is_heavy = farthest > HEAVY_TAIL * np.where(spread > 0, spread, np.inf)

    def draw_in(rows: NDArray) -> NDArray:
        return np.where(is_heavy, np.sign(rows) * np.log1p(np.abs(rows)), rows)

    scaler = StandardScaler().fit(draw_in(X))
    return lambda rows: scaler.transform(draw_in(rows))


def perform(trial: Trial, data: Path | None) -> Record:
    """Fit and test one method."""
    table = load_table(trial.dataset, data)
    split = split_table(*table, trial.settings["n_positive"], trial.seed)
    model = clone(CLASSIFIERS[trial.method])
    if trial.method == WEAK_VPU:
        # Of a single positive, as the decays of other networks are.
        model.set_params(weight_decay=model.weight_decay / split.pu.s.sum())
    if "random_state" in model.get_params():
        model.set_params(random_state=trial.seed)
    if trial.method == AUTO:
        model._least_weight = 0.0  # keep all candidates, to look at each
    start = time.perf_counter()
    model.fit(split.pu.X, split.pu.s)
    seconds = time.perf_counter() - start
    if trial.method == AUTO:
        judged = judge_portfolio(model, split)
    else:
        scores = model.decision_function(split.X_test)
        judged = {"auc": float(roc_auc_score(split.y_test, scores))}
    return {
        **judged,
        "labeled": int(split.pu.s.sum()),
        "rows": len(split.pu.s),
        "prior": split.pu.prior,
        "fit_seconds": round(seconds, 3),
    }


def judge_portfolio(model: Any, split: Split) -> Record:
    """Test the portfolio, each candidate alone, and the portfolio without each candidate."""
    is_positive, folds = split.pu.s == 1, model.oof_folds_
    left_out, tested = model._scores_left_out, model.score_by_member(split.X_test)
    names = list(left_out)

    def test(*chosen: str) -> float:
        weights = weigh_names(left_out, chosen, is_positive)
        return float(roc_auc_score(split.y_test, combine(tested, left_out, weights)))

    weights = weigh_names(left_out, names, is_positive)
    nested = np.empty(len(is_positive))
    for k in range(int(folds.max()) + 1):
        # Weights by the other folds only.
        others = {name: scores[folds != k] for name, scores in left_out.items()}
        own = {name: scores[folds == k] for name, scores in left_out.items()}
        nested[folds == k] = combine(
            own, left_out, weigh_names(others, names, is_positive[folds != k])
        )
    return {
        "auc": test(*names),
        "alone": {name: float(roc_auc_score(split.y_test, tested[name])) for name in names},
        "without": {name: test(*(n for n in names if n != name)) for name in names},
        "weights": {name: round(weight, 4) for name, weight in weights.items()},
        "pu_auc": pu_auc_score(is_positive, combine(left_out, left_out, weights)),
        "nested_pu_auc": pu_auc_score(is_positive, nested),
        "seconds_each": {one["candidate"]: one["seconds"] for one in model.leaderboard_},
    }


def weigh_names(
    left_out: dict[str, NDArray], names: Sequence[str], is_positive: NDArray
) -> dict[str, float]:
    """Weigh candidates as the portfolio does."""
    beliefs = np.array([CANDIDATES[name].belief for name in names])
    scores = np.stack([left_out[name] for name in names])
    weights = weigh_candidates(is_positive, scores, beliefs, LEAST_WEIGHT)
    return dict(zip(names, weights.tolist(), strict=True))


def combine(
    scores: dict[str, NDArray], left_out: dict[str, NDArray], weights: dict[str, float]
) -> NDArray:
    """Combine scores as the portfolio does: normal scores by weight."""
    return sum(
        weight * to_normal_scores(scores[name], make_score_table(left_out[name]))
        for name, weight in weights.items()
        if weight
    )


def list_trials(tables: list[str], n_seeds: int, only: str) -> list[Trial]:
    chosen = parse_only(only)
    trials = [
        Trial(TARGET, table, method, seed, {"n_positive": n}, write_recipe(model))
        for seed in range(n_seeds)
        for table in tables
        for n in LABELED
        for method, model in CLASSIFIERS.items()
    ]
    return [trial for trial in trials if matches(trial, chosen)]


def read_records(n_seeds: int = 3) -> list[Record]:
    """Read the results of the first splits that belong to the present settings.

    Those of the portfolio's candidates are there as if they had been run alone.
    """
    found = [*read_results(RESULTS, TARGET), *read_results(RESULTS, PEERS)]
    # Of a method whose defaults have changed since, old results say nothing.
    current = {name: write_recipe(model) for name, model in CLASSIFIERS.items()}
    current |= dict.fromkeys(ALONE.values(), "")
    records = [
        record
        for record in found
        if not has_failed(record)
        and record["seed"] < n_seeds
        and current.get(record["method"], record["recipe"]) == record["recipe"]
    ]
    for record in [record for record in records if record["method"] == AUTO]:
        for name, auc in record["alone"].items():
            seconds = record["seconds_each"][name]
            records.append(record | {"method": ALONE[name], "auc": auc, "fit_seconds": seconds})
    return records


def find_tables(data: Path | None) -> list[str]:
    """List the tables that are here; say which are not."""
    found = []
    for name in (*PAPER_TABLES, *DEVELOPMENT_TABLES):
        try:
            load_table(name, data)
            found.append(name)
        except datasets.DataNotAvailable as error:
            print(f"{name} is left out: {error}")
    return found


def summarise(records: list[Record]) -> str:
    """Compare methods on the splits that all of them have: a table in Markdown."""
    found: dict[str, dict[SplitName, Record]] = {}
    for record in records:
        split = record["dataset"], record["settings"]["n_positive"], record["seed"]
        found.setdefault(record["method"], {})[split] = record
    # A method that lacks some of the portfolio's splits would take them from all others.
    wanted = set(found.get(AUTO) or next(iter(found.values()), {}))
    methods = [name for name, own in found.items() if wanted <= own.keys()]
    if not wanted:
        return "There are no results yet."
    cells = sorted({(dataset, n) for dataset, n, _ in wanted})
    means = np.array([[_average(found[m], wanted, cell) for m in methods] for cell in cells])
    ranks = rankdata(-means, axis=1)
    labeled = np.array([n for _, n in cells])
    seeds = sorted({seed for *_, seed in wanted})
    lines = [
        f"Mean test AUC over {len(cells)} cells of {len({name for name, _ in cells})} tables, "
        f"{len(seeds)} split{'s' if len(seeds) > 1 else ''} each.",
        "",
        "| method | all | " + " | ".join(f"{n} labeled" for n in LABELED)
        + " | mean rank | wins | seconds |",
        "| --- |" + " ---: |" * (4 + len(LABELED)),
    ]  # fmt: skip
    for k in np.argsort(-means.mean(axis=0)):
        parts = [means[:, k], *(means[labeled == n, k] for n in LABELED)]
        numbers = [f"{part.mean():.3f}" if len(part) else "–" for part in parts]
        wins = int((ranks[:, k] == ranks.min(axis=1)).sum())
        seconds = np.mean([found[methods[k]][split]["fit_seconds"] for split in wanted])
        more = [f"{ranks[:, k].mean():.1f}", f"{wins}", f"{seconds:.1f}"]
        lines.append(f"| {methods[k]} | " + " | ".join([*numbers, *more]) + " |")
    for name in found.keys() - set(methods):
        n_there = len(wanted & found[name].keys())
        lines.append(f"\nNot in the table: {name}, which has {n_there} of {len(wanted)} splits.")
    return "\n".join(lines)


def _average(own: dict[SplitName, Record], wanted: set[SplitName], cell: tuple[str, int]) -> float:
    return float(np.mean([own[split]["auc"] for split in wanted if split[:2] == cell]))


def list_lost_cells(records: list[Record]) -> str:
    """List where the portfolio is clearly behind the best single method, with 60 or more labels."""
    means: dict[tuple[str, int], dict[str, list[float]]] = {}
    for record in records:
        cell = record["dataset"], record["settings"]["n_positive"]
        means.setdefault(cell, {}).setdefault(record["method"], []).append(record["auc"])
    lines = []
    for (table, n), found in sorted(means.items()):
        n_splits = len(found.get(AUTO, ()))
        own = {name: np.mean(aucs) for name, aucs in found.items() if len(aucs) == n_splits}
        best = max(own, key=own.__getitem__, default=AUTO)
        if n >= 60 and n_splits and own[best] - own[AUTO] > CLEARLY_BEHIND:
            lines.append(f"- {table}, {n} labeled: {own[AUTO]:.3f}; {best} {own[best]:.3f}")
    title = f"More than {CLEARLY_BEHIND} below the best single method, with 60 or more labeled:"
    return "\n".join([title, *(lines or ["- nowhere"])])


def summarise_portfolio(records: list[Record]) -> str:
    """Show what each candidate is worth, and how honest the out-of-fold PU-AUC is."""
    autos = [record for record in records if record["method"] == AUTO]
    if not autos:
        return "The portfolio has no results yet."
    lines = [
        "What each candidate is worth to the portfolio.",
        "",
        "| candidate | alone | without it | costs | mean weight | seconds |",
        "| --- |" + " ---: |" * 5,
    ]
    whole = np.mean([record["auc"] for record in autos])
    for name in autos[0]["alone"]:
        alone, without, weight, seconds = (
            np.mean([record[key][name] for record in autos])
            for key in ("alone", "without", "weights", "seconds_each")
        )
        lines.append(
            f"| {name} | {alone:.3f} | {without:.4f} | {whole - without:+.4f} | {weight:.2f} | "
            f"{seconds:.1f} |"
        )
    return "\n".join([*lines, "", *summarise_optimism(autos)])


def summarise_optimism(autos: list[Record]) -> list[str]:
    """Show how far the portfolio's out-of-fold PU-AUC is too good, and what of it is the weights.

    On fresh rows the PU-AUC is (1 - prior) AUC + prior / 2, so the test rows tell what the
    out-of-fold PU-AUC should have been. This counts everything: weights and epochs that were chosen
    by the same rows, and, in the other direction, that a model learns from more rows than those
    that scored its out-of-fold rows.
    """
    lines = [
        "How far the out-of-fold PU-AUC is too good: beside that of fresh rows, and beside that",
        "with each fold combined by weights that the other folds have chosen.",
        "",
        "| labeled | beside fresh rows | standard error | beside nested weights |",
        "| --- |" + " ---: |" * 3,
    ]
    for n in LABELED:
        own = [record for record in autos if record["settings"]["n_positive"] == n]
        if own:
            fresh = np.array([one["pu_auc"] - expect_pu_auc(one) for one in own])
            nested = np.mean([one["pu_auc"] - one["nested_pu_auc"] for one in own])
            error = fresh.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
            lines.append(f"| {n} | {fresh.mean():+.4f} | {error:.4f} | {nested:+.4f} |")
    return lines


def expect_pu_auc(record: Record) -> float:
    """Compute the PU-AUC that a ranking of this test AUC has among fresh unlabeled rows."""
    return (1 - record["prior"]) * record["auc"] + record["prior"] / 2


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
    whole = read_records(args.seeds)
    print("\n\n".join([summarise(whole), list_lost_cells(whole), summarise_portfolio(whole)]))


if __name__ == "__main__":
    main()
