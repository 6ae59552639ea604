"""How often the check of `mixpul fit` notices labels that favour some positives.

    python benchmarks/scar.py [--seeds 3] [--favour 9]

Positives of spambase and krvskp are labeled at random, and `favour` times as often above the median
of one column, another one for each seed; a tenth and three tenths of them. Prints what the check
"random draw of positives" made of it. Seeds start at 1000.
"""

import argparse
from collections import Counter

import numpy as np
import pandas as pd

from mixpul import datasets
from mixpul.assess import assess
from mixpul.assess.checks import random_draw

COLUMNS = {
    "krvskp": ("bxqsq", "wknck", "rimmx", "wkpos", "bkxbq", "wkcti", "r2ar8", "skewr"),
    "spambase": ("our", "charExclamation", "you", "free", "your", "all", "capitalAve"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--favour", type=float, default=9.0)
    arguments = parser.parse_args()
    for name, columns in COLUMNS.items():
        for is_biased in (False, True):
            seen: Counter[str] = Counter()
            for seed in range(1000, 1000 + arguments.seeds):
                column = columns[seed % len(columns)] if is_biased else None
                for share in (0.1, 0.3):
                    seen[judge(name, column, share, arguments.favour, seed)] += 1
            kind = f"{arguments.favour:g} to 1 by one column" if is_biased else "at random"
            shown = ", ".join(f"{what} {n}" for what, n in seen.most_common())
            print(f"{name:9} labeled {kind}: {shown}", flush=True)


def judge(name: str, column: str | None, share: float, favour: float, seed: int) -> str:
    """Return what the check says: the right column, another one, all is well, or it cannot say."""
    data = datasets.load(name)
    table = pd.DataFrame(data.X, columns=data.feature_names)
    weight = data.y.astype(float)
    if column is not None:
        weight *= np.where(is_above_median(table[column].to_numpy(), data.y == 1), favour, 1.0)
    n_labeled = round(share * data.y.sum())
    random = np.random.default_rng(seed)
    is_positive = np.zeros(len(table), dtype=bool)
    chosen = random.choice(len(table), n_labeled, replace=False, p=weight / weight.sum())
    is_positive[chosen] = True
    found = assess("mixpul", table, is_positive, random_state=seed)
    check = next(c for c in found.checks if c["name"] == random_draw.QUESTION.name)
    if "seem to be labeled" not in check["text"]:
        return "no alarm" if check["verdict"] == "good" else "cannot be judged"
    named = check["text"].split(" If so,")[0]
    return "alarm, right column" if f"'{column}'" in named else "alarm, other column"


def is_above_median(values: np.ndarray, is_positive: np.ndarray) -> np.ndarray:
    """Compare with the median of the positives, itself included if hardly any is above it."""
    middle = np.median(values[is_positive])
    above = values > middle
    return above if above[is_positive].mean() >= 0.1 else values >= middle


if __name__ == "__main__":
    main()
