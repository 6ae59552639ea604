"""How often `mixpul fit` notices labels that favour some positives, and what the remedies do.

    python benchmarks/scar.py --data FOLDER [--seeds 8] [--first 8] [--check | --show]

Positives of the messy, the development and the bundled tables are labeled at random, and in every
second pair of seeds also 10 and 3 times as often on one side of a column (another one for each
seed), 60 or 200 of them but never more than two fifths. Prints how often the check "random draw of
positives" names a column that does not decide on labels, and how often the one that does. For
biased labels it also prints the errors of the class prior and of the AUC, plain and with the
remedies: the prior by the two sides of the column (`prior_by_subtype`) or by clusters, and our own
methods, logistic regression and trees, with `sample_weight` by `propensity_weights`. Scores are
those of a portfolio of one logistic regression, which is fast.

Settings were chosen with seeds from 1000 on, and the limit of 3 to 1 after a look at the seeds 0 to
7. Results are in benchmarks/results/scar.jsonl, one line for each draw; a run that was stopped goes
on where it stopped. `--check` runs the check again on all draws that are there, and keeps what was
measured of the remedies, which do not depend on it.
"""

import argparse
import json
import warnings
import zlib
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import messy
from mixpul import AutoPUClassifier, BaggingPUClassifier, LogisticPUClassifier, __version__
from mixpul.assess.checks.label_odds import compare_sides
from mixpul.assess.importance import score_shuffled
from mixpul.assess.out_of_fold import OutOfFold, cross_validate, score_out_of_fold
from mixpul.priors import dedpul, find_subtypes, prior_by_subtype, propensity_weights
from mixpul.tables import TableInput

RESULTS = Path(__file__).parent / "results" / "scar.jsonl"
TABLES = (*messy.MESSY, *messy.DEVELOPMENT, *messy.BUNDLED)
FAVOURS = (1, 10, 3)
LABELED = (60, 200)
METHODS: dict[str, Any] = {
    "logistic regression": LogisticPUClassifier(C=0.1),
    "trees": BaggingPUClassifier(n_estimators=100),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the messy and development tables")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=8, help="the first seed")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="show what is there, and run nothing")
    parser.add_argument(
        "--check", action="store_true", help="run the check again, on what is there"
    )
    arguments = parser.parse_args()
    done = read(arguments.results)
    if arguments.check:
        done = check_again(done, arguments.data, arguments.results)
    elif not arguments.show:
        keys = {(one["table"], one["favour"], one["seed"]) for one in done}
        seeds = range(arguments.first, arguments.first + arguments.seeds)
        for favour, seed, name in product(FAVOURS, seeds, TABLES):
            is_asked = favour == 1 or seed % 4 < 2
            if is_asked and (name, favour, seed) not in keys:
                one = perform(name, favour, seed, arguments.data)
                done.append(one)
                with arguments.results.open("a") as file:
                    print(json.dumps(one), file=file)
    print(write_report(done))


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def check_again(
    done: list[dict[str, Any]], folder: Path | None, results: Path
) -> list[dict[str, Any]]:
    """Run the check on the same draws; a run that was stopped goes on where it stopped."""
    partial = results.with_suffix(".again")
    again = read(partial)
    with partial.open("a") as file:
        for one in done[len(again) :]:
            draw = draw_labels(one["table"], one["favour"], one["seed"], folder)
            again.append(one | {"version": __version__} | run_check(draw)[0])
            print(json.dumps(again[-1]), file=file, flush=True)
    partial.replace(results)
    return again


class Draw(NamedTuple):
    """A table with labels."""

    table: TableInput
    rows: np.ndarray
    truth: np.ndarray
    labeled: np.ndarray
    column: str | None
    side: np.ndarray | None
    seed: int
    random: np.random.Generator


def perform(name: str, favour: int, seed: int, folder: Path | None) -> dict[str, Any]:
    """Draw labels, run the check, and measure the remedies where labels are biased."""
    draw = draw_labels(name, favour, seed, folder)
    checked, fitted = run_check(draw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        remedies = measure_remedies(draw, fitted) if favour > 1 else {}
    n_labeled = int(draw.labeled.sum())
    about = {"table": name, "favour": favour, "seed": seed, "labeled": n_labeled}
    return about | {"column": draw.column, "version": __version__} | checked | remedies


def draw_labels(name: str, favour: int, seed: int, folder: Path | None) -> Draw:
    """Label some positives, perhaps more often on one side of a column."""
    frame, truth = messy.load_table(name, folder)
    table = TableInput()
    rows = table.fit_transform(frame)
    random = np.random.default_rng([seed, favour, zlib.crc32(name.encode())])
    n_labeled = min(LABELED[seed % 2], int(0.4 * truth.sum()))
    column, side, weight = choose_column(table, rows, truth, favour, random)
    labeled = messy.label_some(truth, n_labeled, random, weight)
    return Draw(table, rows, truth, labeled, column, side, seed, random)


def run_check(draw: Draw) -> tuple[dict[str, Any], OutOfFold]:
    """Return the columns that are named, and those that a lower limit would name."""
    table, rows, labeled, seed = draw.table, draw.rows, draw.labeled, draw.seed
    classifier = AutoPUClassifier(candidates=["logistic-0.1"], random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(rows, labeled)
        fitted = score_out_of_fold(classifier, rows, labeled, 5, seed, 0)
        shuffled = score_shuffled(table, rows, labeled, fitted, draw.random, lambda record: None)
        splits = compare_sides(table, shuffled)
    named = sorted({split.column for split in splits if split.is_uneven})
    limits = {split.column: round(split.least, 2) for split in splits if split.least > 2}
    return {"named": named, "limits": limits}, fitted


def choose_column(
    table: TableInput, rows: np.ndarray, truth: np.ndarray, favour: int, random: np.random.Generator
) -> tuple[str | None, np.ndarray | None, np.ndarray | None]:
    """Choose a column with a fifth of the positives on either side, and weights by its side."""
    if favour == 1:
        return None, None, None
    sides, start = [], 0
    for plan in table.plan_:
        values = rows[:, start]
        middle = np.median(values[truth])
        for upper in (values > middle, values >= middle):
            if 0.2 <= upper[truth].mean() <= 0.8:
                sides.append((plan["column"], upper))
                break
        start += len(plan["endings"])
    column, upper = sides[random.integers(len(sides))]
    favoured = upper if random.random() < 0.5 else ~upper
    return column, upper, np.where(favoured, favour, 1.0)


def measure_remedies(draw: Draw, fitted: OutOfFold) -> dict[str, Any]:
    """Return priors and AUCs, plain and by subtype; None where a subtype has too few labels."""
    rows, truth, labeled, seed = draw.rows, draw.truth, draw.labeled, draw.seed
    scores = fitted.scores.astype(np.float64)
    found: dict[str, Any] = {
        "prior": float(truth[~labeled].mean()),
        "plain": dedpul(scores[labeled], scores[~labeled]),
        "by_side": None,
        "by_cluster": None,
        "auc": score_methods(rows, truth, labeled, None, fitted.folds, seed),
        "auc_weighted": None,
    }
    try:
        found["by_side"], parts = prior_by_subtype(scores, labeled, draw.side)
        weights = propensity_weights(labeled, draw.side, parts)
        found["auc_weighted"] = score_methods(rows, truth, labeled, weights, fitted.folds, seed)
        clusters = find_subtypes(rows, labeled, 3, random_state=seed)
        found["by_cluster"], _ = prior_by_subtype(scores, labeled, clusters)
    except ValueError:
        pass  # too few labeled positives of some kind
    return found


def score_methods(
    rows: np.ndarray,
    truth: np.ndarray,
    labeled: np.ndarray,
    weights: np.ndarray | None,
    folds: np.ndarray,
    seed: int,
) -> dict[str, float]:
    """Return the AUC against the truth, out of fold, of methods that perhaps weigh rows."""
    aucs = {}
    for name, model in METHODS.items():
        seeded = clone(model).set_params(random_state=seed)
        scores, _ = cross_validate(seeded, rows, labeled, folds, sample_weight=weights)
        aucs[name] = float(roc_auc_score(truth, scores))
    return aucs


def write_report(done: list[dict[str, Any]]) -> str:
    """Return false alarms, power and the effect of the remedies as text."""
    lines = []
    by_kind = defaultdict(list)
    for one in done:
        by_kind[one["favour"], 100 * (one["labeled"] > 100)].append(one)
    unbiased = [one for one in done if one["favour"] == 1]
    for title, tables in (
        ("messy and development", TABLES[: -len(messy.BUNDLED)]),
        ("all", TABLES),
    ):
        own = [one for one in unbiased if one["table"] in tables]
        lines.append(
            f"false alarms, {title} tables: {sum(bool(one['named']) for one in own)} of {len(own)}"
        )
    for (favour, many), own in sorted(by_kind.items()):
        how = "at random" if favour == 1 else f"{favour} to 1 by a column"
        wrong = sum(bool(set(one["named"]) - {one["column"]}) for one in own)
        right = sum(one["column"] in one["named"] for one in own)
        kind = "more than 100" if many else "at most 100"
        text = f"labeled {how}, {kind}: {len(own)} draws, another column named in {wrong}"
        lines.append(text + (f", the right one in {right}" if favour > 1 else ""))
    for favour in sorted({one["favour"] for one in done} - {1}):
        own = [one for one in done if one["favour"] == favour and one["by_side"] is not None]
        lines += [f"{favour} to 1, {len(own)} draws with enough labels on both sides:"]
        for key in ("plain", "by_side", "by_cluster"):
            some = [one for one in own if one[key] is not None]
            errors = [one[key] - one["prior"] for one in some]
            lines.append(
                f"  prior {key}: mean error {np.mean(errors):+.3f}, "
                f"absolute {np.mean(np.abs(errors)):.3f} ({len(some)} draws)"
            )
        for name in METHODS:
            plain, weighed = (
                np.array([one[key][name] for one in own]) for key in ("auc", "auc_weighted")
            )
            gain = weighed - plain
            lines.append(
                f"  AUC of {name} with weights {weighed.mean():.3f}, without {plain.mean():.3f}; "
                f"gain {gain.mean():+.4f} +- {gain.std(ddof=1) / np.sqrt(len(gain)):.4f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
