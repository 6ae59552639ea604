"""Which layers of EfficientNet-Lite0 make the features: compared on held-out training images.

    python benchmarks/pretrained_layers.py --data FOLDER --cache FOLDER
    python benchmarks/pretrained_layers.py --show     # the results as a table

The first 8,000 training images of CIFAR-10: 60 % to learn from with 500 labeled vehicles, the rest
held out. Of these, the vehicles of one half are taken as labeled and all of the other half as
unlabeled, and the other way round. Test images and seeds below 1000 are not used. "Gap" is the
recall less the share of the unlabeled images that are flagged, at the classifier's own threshold
and at the best one. The folders are those of benchmarks/pretrained.py; results are in
benchmarks/results/pretrained_layers.jsonl.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from mixpul import datasets
from mixpul._names import METHODS
from mixpul.images import ImageFeatures
from mixpul.metrics import pu_auc_score
from pretrained import load_features, read_results

RESULTS = Path(__file__).parent / "results" / "pretrained_layers.jsonl"
N_IMAGES, N_LABELED, SHARE = 8000, 500, 0.6
SEEDS = range(1000, 1003)
# The last layer comes first, then four stages.
COLUMNS = {
    "last layer": [(0, 1280)],
    "and stage 7": [(0, 1280), (1664, 1984)],
    "and stages 6 and 7": [(0, 1280), (1472, 1984)],
    "and stages 4 to 7": [(0, 1984)],
}
PLAN = [(layers, "logistic") for layers in COLUMNS]
PLAN += [("last layer", "mixpul"), ("and stages 4 to 7", "mixpul")]
FIGURES = ("pu_auc", "gap", "best_gap")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with cifar10.npz")
    parser.add_argument("--cache", type=Path, help="folder for features")
    parser.add_argument("--show", action="store_true", help="show what is there, and run nothing")
    asked = parser.parse_args()
    if not asked.show:
        run(asked.data, asked.cache)
    print(make_table(read_results(RESULTS)))


def run(data: Path, cache: Path) -> None:
    done = {(one["layers"], one["method"], one["seed"]) for one in read_results(RESULTS)}
    X, y, _, _ = datasets.cifar10_vehicles(data=data)
    features, is_vehicle = load_features(cache, "train", X[:N_IMAGES]), y[:N_IMAGES] == 1
    for layers, method in PLAN:
        own = np.concatenate([features[:, slice(*ends)] for ends in COLUMNS[layers]], axis=1)
        # No labels are looked at, so held-out images may take part.
        rows = ImageFeatures().fit_features(own).transform_features(own)
        for seed in SEEDS:
            if (layers, method, seed) in done:
                continue
            found = judge(METHODS[method](random_state=seed), rows, is_vehicle, seed)
            record = {"layers": layers, "method": method, "seed": seed} | found
            with RESULTS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(json.dumps(record), flush=True)


def judge(model, rows: np.ndarray, is_vehicle: np.ndarray, seed: int) -> dict[str, float]:
    random = np.random.default_rng(seed)
    learned, held_out = np.split(random.permutation(len(rows)), [int(SHARE * len(rows))])
    labeled = random.choice(learned[is_vehicle[learned]], N_LABELED, replace=False)
    model.fit(rows[learned], np.isin(learned, labeled).astype(int))
    scores = model.decision_function(rows)
    first, second = np.array_split(held_out, 2)
    found = [
        measure(scores[one[is_vehicle[one]]], scores[other])
        for one, other in ((first, second), (second, first))
    ]
    return {name: round(float(np.mean([one[name] for one in found])), 5) for name in FIGURES}


def measure(positive: np.ndarray, unlabeled: np.ndarray) -> dict[str, float]:
    """Return figures of scores of labeled positives and of unlabeled rows."""
    scores = np.concatenate([positive, unlabeled])
    is_positive = np.arange(len(scores)) < len(positive)
    recall, flagged = (
        1 - np.searchsorted(np.sort(own), scores, side="right") / len(own)
        for own in (positive, unlabeled)
    )
    return {
        "pu_auc": pu_auc_score(is_positive.astype(int), scores),
        "gap": (positive > 0).mean() - (unlabeled > 0).mean(),
        "best_gap": (recall - flagged).max(),
    }


def make_table(results: list[dict]) -> str:
    """Write means over seeds, and the gain over the last layer with its standard error."""
    head = [f"{name.replace('_', ' ')}, gain" for name in FIGURES]
    lines = [f"| method | layers | {' | '.join(head)} |", "|---" * 5 + "|"]
    for layers, method in PLAN:
        of_both = [
            {
                one["seed"]: [one[name] for name in FIGURES]
                for one in results
                if (one["layers"], one["method"]) == (wanted, method)
            }
            for wanted in (layers, "last layer")
        ]
        seeds = sorted(of_both[0].keys() & of_both[1].keys())
        if len(seeds) > 1:
            own, last = (np.array([one[seed] for seed in seeds]) for one in of_both)
            cells = [
                f"{mean:.4f}, {gain:+.4f} ± {error:.4f}"
                for mean, gain, error in zip(
                    own.mean(0),
                    (own - last).mean(0),
                    (own - last).std(0, ddof=1) / np.sqrt(len(seeds)),
                    strict=True,
                )
            ]
            lines.append(f"| {method} | {layers} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
