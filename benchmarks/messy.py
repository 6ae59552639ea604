"""Tables for the benchmarks of trust: bundled ones, and others from a data folder."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from mixpul import datasets
from mixpul.tables import read_table

BUNDLED = ("krvskp", "titanic", "spambase")
MESSY = ("attr", "credit")
# splice has 287 columns, each of which would be shuffled.
DEVELOPMENT = (
    "banana", "contraceptive", "german", "letter", "mammographic", "segment", "tic-tac-toe",
    "vehicle", "vowel", "yeast1",
)  # fmt: skip
# How the messy files are written, and the column that names their rows.
READING = {
    "attr": ({}, "EmployeeNumber"),
    "credit": ({"delimiter": ";", "decimal": ",", "encoding": "latin-1"}, "Kunde"),
}
MOST_ROWS = 5000


@cache
def load_table(name: str, folder: Path | None) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns and the truth (bool) of a table; `folder` has `messy` and `dev` in it."""
    if name in BUNDLED:
        data = datasets.load(name)
        return pd.DataFrame(data.X, columns=data.feature_names), data.y == 1
    if folder is None:
        raise SystemExit(f"{name} is not bundled; say where it is with --data FOLDER.")
    if name in READING:
        style, row_name = READING[name]
        table = read_table(folder / "messy" / f"{name}.csv.gz", **style)
        truth = table.pop("truth").to_numpy() == 1
        return table.drop(columns=row_name), truth
    with np.load(folder / "dev" / f"{name}.npz", allow_pickle=False) as data:
        X, truth = data["X"], data["y"] == 1
    # Every so many rows of a large table.
    step = -(-len(X) // MOST_ROWS)
    names = [f"column {k}" for k in range(X.shape[1])]
    return pd.DataFrame(X[::step], columns=names), truth[::step]


def label_some(
    truth: np.ndarray, n_labeled: int, random: np.random.Generator, weight: np.ndarray | None = None
) -> np.ndarray:
    """Label positives, at random or with a chance proportional to `weight`."""
    chance = truth.astype(float) if weight is None else truth * weight
    is_labeled = np.zeros(len(truth), dtype=bool)
    chosen = random.choice(len(truth), n_labeled, replace=False, p=chance / chance.sum())
    is_labeled[chosen] = True
    return is_labeled
