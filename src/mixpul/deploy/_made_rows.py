"""Rows that are made up from what a model knows of its columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["make_rows"]

MICROSECONDS_OF_A_DAY = 86_400e6
UNSEEN = ("a category that was not in the table", "-17.25", "Ünseen ☃")
EXTREMES = (-np.inf, -1e300, -1e9, 0.0, 1e-300, 1e9, 1e300, np.inf)

Plan = dict[str, Any]
Maker = Callable[[Plan, np.random.Generator, NDArray[np.bool_]], NDArray]


def make_rows(plans: list[Plan], n_rows: int, *, strange: float, seed: int = 0) -> Any:
    """Make rows such as a table of the fit might have, and stranger ones: gaps, extremes, others.

    `strange` is the share of those. Others are ordinary in all columns, since scores of strange
    rows hardly differ.
    """
    import pandas as pd

    random = np.random.default_rng(seed)
    is_strange = np.arange(n_rows) >= round((1 - strange) * n_rows)
    columns = {}
    for plan in plans:
        values = MAKERS[plan["kind"]](plan, random, is_strange)
        is_missing = random.random(n_rows) < np.where(is_strange, 0.15, 0.02 * (strange > 0))
        if plan["kind"] == "text":
            if "" not in plan.get("categories", []):
                values[is_missing] = None
            columns[plan["column"]] = pd.Series(values, dtype=object)
            continue
        values[is_missing] = np.nan
        if plan["kind"] == "date":
            whole = np.where(is_missing, 0, values * MICROSECONDS_OF_A_DAY).astype(np.int64)
            times = np.where(is_missing, np.datetime64("NaT"), whole.astype("datetime64[us]"))
            columns[plan["column"]] = pd.Series(times)
            continue
        columns[plan["column"]] = pd.Series(values)
    return pd.DataFrame(columns)


def _make_numbers(plan: Plan, random: np.random.Generator, is_strange: NDArray) -> NDArray:
    n = len(is_strange)
    if plan["only_mark"]:
        return random.normal(size=n)
    drawn = plan["mean"] + plan["scale"] * random.normal(size=n)
    # Values of tables are often whole, and ties with thresholds of trees are rows, too.
    whole = random.random(n) < 0.3
    if plan["bend"] is not None:
        centre, spread = plan["bend"]
        drawn = centre + spread * np.sinh(np.clip(drawn, -300, 300))
    drawn = np.where(whole, np.round(drawn), drawn)
    extreme = random.choice(EXTREMES, n)
    return np.where(is_strange & (random.random(n) < 0.3), extreme, drawn)


def _make_booleans(plan: Plan, random: np.random.Generator, is_strange: NDArray) -> NDArray:
    n = len(is_strange)
    return random.integers(0, 2, n).astype(np.float64)


def _make_days(plan: Plan, random: np.random.Generator, is_strange: NDArray) -> NDArray:
    n = len(is_strange)
    spread = np.where(is_strange, 10, 1) * plan.get("scale", 1.0)
    days = plan.get("mean", 20_000.0) + spread * random.normal(size=n)
    # Dates of years that calendars have; in whole microseconds, as tables store them.
    return np.clip(np.round(days * MICROSECONDS_OF_A_DAY) / MICROSECONDS_OF_A_DAY, -5e5, 1e6)


def _make_texts(plan: Plan, random: np.random.Generator, is_strange: NDArray) -> NDArray:
    n = len(is_strange)
    known = plan.get("categories", ["some text"])
    texts = np.array([*known, *UNSEEN], dtype=object)
    ordinary = random.integers(0, len(known), n)
    others = random.integers(0, len(texts), n)
    return texts[np.where(is_strange, others, ordinary)]


MAKERS: dict[str, Maker] = {
    "number": _make_numbers,
    "boolean": _make_booleans,
    "date": _make_days,
    "text": _make_texts,
}
