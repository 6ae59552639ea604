"""How far probabilities are from the truth: expected calibration error with the true class prior.

    python benchmarks/calibration.py [--data FOLDER] [--seeds 5] [--first 0] [--show | --limit]

Positives of the bundled tables (a share c of them) and of the messy ones (60) are labeled at
random. Three tenths of the unlabeled rows are put aside; their probabilities by
``predict_proba(calibrated=True)`` with the true prior are compared with the truth, in ten bins.
Beside them stands the error of the plain scores, and the floor: what the error would be on average
if the probabilities were exact, because so many rows say no more. Methods are bagged trees and a
portfolio of trees, a linear and a kernel logistic regression. Settings were chosen with seeds from
1000 on. Results are in benchmarks/results/calibration.jsonl; a run that was stopped goes on where
it stopped. `--limit` shows what few labels cost even if all else is known: on titanic, which has
some kinds of rows that come again and again, a row gets the true share of positives of its kind as
its score.
"""

import argparse
import json
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import messy
from mixpul import AutoPUClassifier, BaggingPUClassifier, __version__
from mixpul.metrics import calibration_error, learn_density_ratio, to_probabilities
from mixpul.tables import TableInput

RESULTS = Path(__file__).parent / "results" / "calibration.jsonl"
# A number of labeled positives, or a share of all.
CELLS: tuple[tuple[str, float], ...] = (
    *((name, 60) for name in messy.MESSY),
    *((name, c) for name in messy.BUNDLED for c in (0.05, 0.1, 0.2)),
)
METHODS: dict[str, Any] = {
    "bagging": BaggingPUClassifier(),
    "auto": AutoPUClassifier(candidates=["trees", "logistic-0.1", "kernel-narrow"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the messy tables")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="show what is there, and run nothing")
    parser.add_argument("--limit", action="store_true", help="show errors of perfect scores")
    arguments = parser.parse_args()
    if arguments.limit:
        print(write_limits())
        return
    path = arguments.results
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    keys = {(one["table"], one["labeled"], one["method"], one["seed"]) for one in done}
    seeds = () if arguments.show else range(arguments.first, arguments.first + arguments.seeds)
    for seed in seeds:
        for name, labeled in CELLS:
            for method in METHODS:
                if (name, labeled, method, seed) not in keys:
                    one = perform(name, labeled, method, seed, arguments.data)
                    done.append(one)
                    with path.open("a") as file:
                        print(json.dumps(one), file=file)
    print(write_report(done))


def perform(name: str, labeled: float, method: str, seed: int, folder: Path | None) -> dict:
    """Fit a method, and compare probabilities of rows put aside with the truth."""
    frame, truth = messy.load_table(name, folder)
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    n_labeled = int(labeled) if labeled >= 1 else round(labeled * truth.sum())
    is_labeled = messy.label_some(truth, n_labeled, random)
    # Rows like the unlabeled ones of the fit: the prior is theirs.
    is_test = ~is_labeled & (random.random(len(truth)) < 0.3)
    rows = TableInput().fit_transform(frame)
    model = METHODS[method].set_params(random_state=seed).fit(rows[~is_test], is_labeled[~is_test])
    prior = float(truth[~is_test & ~is_labeled].mean())
    probabilities = model.predict_proba(rows[is_test], calibrated=True, prior=prior)[:, 1]
    scores = model.predict_proba(rows[is_test])[:, 1]
    return {
        "table": name,
        "labeled": labeled,
        "method": method,
        "seed": seed,
        "prior": prior,
        "error": calibration_error(truth[is_test], probabilities),
        "error_of_scores": calibration_error(truth[is_test], scores),
        "floor": find_floor(probabilities, random),
        "version": __version__,
    }


def write_limits(n_draws: int = 40) -> str:
    """Return the mean error, with its spread, of scores that rank the kinds of rows as they are."""
    frame, truth = messy.load_table("titanic", None)
    _, kinds = np.unique(TableInput().fit_transform(frame), axis=0, return_inverse=True)
    kinds = kinds.ravel()
    scores = (np.bincount(kinds, weights=truth) / np.bincount(kinds))[kinds]
    lines = []
    for share in (0.05, 0.1, 0.2):
        errors = []
        for seed in range(1000, 1000 + n_draws):
            random = np.random.default_rng(seed)
            is_labeled = messy.label_some(truth, round(share * truth.sum()), random)
            is_test = ~is_labeled & (random.random(len(truth)) < 0.3)
            table = learn_density_ratio(is_labeled[~is_test], scores[~is_test])
            prior = float(truth[~is_test & ~is_labeled].mean())
            found = to_probabilities(scores[is_test], table, prior)
            errors.append(calibration_error(truth[is_test], found))
        mean, worst = np.mean(errors), np.mean(np.array(errors) > 0.05)
        lines.append(f"titanic, {share:.0%} labeled: error {mean:.3f}, above .05 in {worst:.0%}")
    return "\n".join(lines)


def find_floor(probabilities: np.ndarray, random: np.random.Generator) -> float:
    """Return the mean error of exact probabilities, by 50 draws of the truth."""
    draws = random.random((50, len(probabilities))) < probabilities
    return float(np.mean([calibration_error(drawn, probabilities) for drawn in draws]))


def write_report(done: list[dict[str, Any]]) -> str:
    """Return the mean error of each cell as text, with its standard error over draws."""
    cells = defaultdict(list)
    for one in done:
        cells[one["table"], one["labeled"], one["method"]].append(one)
    lines = [
        f"{'table':10}{'labeled':>8} {'method':8}{'error':>7}{'±':>7}{'floor':>7}{'scores':>8}"
        f"{'draws':>7}"
    ]
    for (name, labeled, method), own in sorted(cells.items()):
        error, floor, of_scores = (
            np.mean([one[key] for one in own]) for key in ("error", "floor", "error_of_scores")
        )
        spread = np.std([one["error"] for one in own], ddof=1) if len(own) > 1 else np.nan
        numbers = f"{error:7.3f}{spread / np.sqrt(len(own)):7.3f}"
        numbers += f"{floor:7.3f}{of_scores:8.3f}{len(own):7}"
        lines.append(f"{name:10}{labeled:8g} {method:8}{numbers}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
