"""What an epoch of the paper is: a pass over the unlabeled rows or over the labeled positives.

    python benchmarks/epochs.py [--jobs 1] [--show]

Both readings of "200 epochs" take the published settings, at all 15 settings of the bundled data
sets, with the splits and seeds of `mixpul reproduce uci`. Passes over the unlabeled rows are in
results/uci.jsonl. Passes over the labeled positives are run here. A run that was stopped goes on
where it stopped; results are in benchmarks/results/epochs.jsonl. Prints a table in Markdown.
"""

import argparse
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from mixpul import MixPULClassifier
from mixpul._util.validation import write_recipe
from mixpul.datasets import BUNDLED
from mixpul.paper.names import AUC, MIXPUL, MIXPUL_AS_PUBLISHED, SHARE_LABELED, UCI
from mixpul.paper.perform import make_preparation, split_data
from mixpul.paper.published import FREQUENCIES, UCI_AUC
from mixpul.paper.results.numbers import Cell, Key, summarise
from mixpul.paper.runs import Record, Trial, has_failed, pack_results, read_results, run
from mixpul.paper.targets import TARGETS

RESULTS = Path(__file__).parent / "results"
PAPER_RESULTS = Path(__file__).parents[1] / "results"
TARGET = "epochs"
OVER_POSITIVES = "passes over labeled positives"
# By the method that its results are kept under.
READINGS = {MIXPUL_AS_PUBLISHED: "over unlabeled rows", OVER_POSITIVES: "over labeled positives"}


def list_trials() -> list[Trial]:
    recipe = write_recipe(MixPULClassifier.from_paper()) + f", {OVER_POSITIVES}"
    return [
        Trial(TARGET, dataset, OVER_POSITIVES, seed, {SHARE_LABELED: c}, recipe)
        for seed in range(TARGETS[UCI].runs)
        for dataset in BUNDLED
        for c in FREQUENCIES
    ]


def perform(trial: Trial) -> Record:
    """Fit and test the published settings with epochs that pass over the labeled positives."""
    split = split_data(trial.dataset, trial.seed, trial.settings)
    n_labeled = int(split.pu.s.sum())
    model = MixPULClassifier.from_paper(random_state=trial.seed)
    # The last batch is filled up with positives that come again.
    model.set_params(max_steps=math.ceil(n_labeled / model.batch_size))
    preparation = make_preparation(trial.dataset)
    model.fit(preparation.fit_transform(split.pu.X), split.pu.s)
    scores = model.decision_function(preparation.transform(split.X_test))
    return {
        AUC: float(roc_auc_score(split.y_test, scores)),
        "labeled": n_labeled,
        "unlabeled": len(split.pu.s) - n_labeled,
        "steps": model.max_steps * model.n_epochs,
    }


def compare(cells: Mapping[Key, Cell]) -> str:
    """Set both readings beside the paper: a table in Markdown."""
    needed = {(d, method, c) for d in BUNDLED for method in READINGS for c in FREQUENCIES}
    if missing := needed - cells.keys():
        return f"{len(missing)} of {len(needed)} cells have no result yet."
    lines = [
        "| data set | c | published | " + " | ".join(READINGS.values()) + " | closer |",
        "| --- |" + " ---: |" * (2 + len(READINGS)) + " --- |",
    ]
    gaps = []
    for dataset in BUNDLED:
        for c in FREQUENCIES:
            published = UCI_AUC[dataset, MIXPUL, c]
            both = [cells[dataset, method, c] for method in READINGS]
            gaps.append([abs(cell.mean - published.mean) for cell in both])
            closer = list(READINGS.values())[int(np.argmin(gaps[-1]))]
            shown = " | ".join(f"{cell.mean:.3f} ± {cell.sd:.3f}" for cell in both)
            paper = f"{published.mean:.2f} ± {published.sd:.2f}"
            lines.append(f"| {dataset} | {c} | {paper} | {shown} | {closer} |")
    lines += ["", f"Mean absolute distance to the published AUC, {len(gaps)} cells:", ""]
    distances = np.array(gaps)
    n_closer = np.bincount(distances.argmin(axis=1), minlength=len(READINGS))
    for k, reading in enumerate(READINGS.values()):
        of_sets = distances[:, k].reshape(len(BUNDLED), -1).mean(axis=1)
        parts = ", ".join(f"{d} {gap:.3f}" for d, gap in zip(BUNDLED, of_sets, strict=True))
        mean = distances[:, k].mean()
        lines.append(f"- {reading}: {mean:.4f} ({parts}), closer in {n_closer[k]} cells")
    return "\n".join(lines)


def read_cells() -> dict[Key, Cell]:
    """Read the results of both readings."""
    published = [r for r in read_results(PAPER_RESULTS, UCI) if r["method"] in READINGS]
    return summarise([*published, *read_results(RESULTS, TARGET)], TARGETS[UCI])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="only print what is there")
    args = parser.parse_args()
    if not args.show:
        records = run(list_trials(), perform, RESULTS, jobs=args.jobs, verbose=1)
        for record in filter(has_failed, records):
            print(f"failed: {record['id']}: {record['failure']}")
        pack_results(RESULTS, TARGET)
    print(compare(read_cells()))


if __name__ == "__main__":
    main()
