"""A small table with gaps, categories, codes, dates and heavy tails, and models fitted on it."""

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from mixpul.tables import TableInput

N_ROWS = 300


def make_table(seed=0, n=N_ROWS):
    """Return a table, and which of its rows are labeled positive."""
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.4
    table = pd.DataFrame(
        {
            "age": (random.normal(40, 10, n) + 8 * truth).round(1),
            "income": np.exp(random.normal(8, 1.5, n) + truth),
            "visits": random.integers(0, 9, n),
            "city": random.choice(["Rome", "Oslo", "Lima", "Köln, West"], n).astype(object),
            "zone": random.choice([1, 2, 7, 30], n),
            "flag": random.choice(["true", "false"], n),
            "rare": [f"r{k % 30}" if k % 2 else "often" for k in range(n)],
            "vip": random.random(n) < 0.5 + 0.3 * truth,
            "since": pd.Timestamp("2022-01-01")
            + pd.to_timedelta(random.integers(0, 900 * 24, n), unit="h"),
            "told": np.where(random.random(n) < 0.3, np.nan, 1.0),
        }
    )
    table.loc[random.random(n) < 0.1, "age"] = np.nan
    table.loc[random.random(n) < 0.1, "city"] = None
    return table, truth & (random.random(n) < 0.5)


def fit_pipeline(classifier, table=None, label=None):
    """Fit a classifier behind a TableInput, by default on the table of this module."""
    if table is None:
        table, label = make_table()
    return make_pipeline(TableInput(categorical=["zone"]), classifier).fit(table, label)
