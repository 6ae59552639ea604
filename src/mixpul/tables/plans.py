"""How a column becomes features: a plan is made at fit, and `FILLERS` carry it out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.tables._kinds import (
    Content,
    as_days,
    as_numbers,
    code_categories,
    normalise_category,
)

__all__ = [
    "CYCLES",
    "FILLERS",
    "MISSING",
    "as_numbers",
    "hint_at_numbers",
    "make_plan",
    "normalise_category",
]

Plan = dict[str, Any]

# Of a normal distribution the 99.5 % point lies 4 times as far from the median as the upper
# quartile, of an exponential one 7 times, of a lognormal one 13 times.
HEAVY_TAIL = 10.0
# Values are clipped this many times as far from the median as the 99.5 % point.
REACH = 3.0
# A category in fewer rows than this joins the others (in fewer than 1 % if there are few rows).
ROWS_OF_A_CATEGORY = 10
# Text is free text if all categories worth a column together cover less than this share of it.
LEAST_COVER = 0.1

CYCLES = {"day": 1.0, "week": 7.0, "year": 365.2425}  # in days
MISSING = "=(missing)"


def make_plan(content: Content, n_rows: int, max_categories: int) -> tuple[Plan, str]:
    """Decide how a column becomes features, and say it; a plan without `endings` makes none."""
    kind = content.kind
    if content.distinct == 1:  # and gaps: whether there is a value is all it tells
        plan: Plan = {"kind": kind, "endings": [MISSING], "marked": True, "only_mark": True}
        return plan, "one value only; used as missing or not"
    if kind == "text":
        plan, note = _plan_text(content.counts, content.texts, n_rows, max_categories)
    elif kind == "date":
        plan, note = _plan_dates(content.numbers, content.distinct)
    elif kind == "number":
        plan, note = _plan_numbers(content.numbers, content.distinct)
    else:
        plan, note = {"endings": [""], "fill": float(np.nanmedian(content.numbers))}, "0 and 1"
    marked = content.missing > 0
    if marked and plan["endings"]:
        plan["endings"].append(MISSING)
        note += ", missing values marked" if kind == "text" else ", gaps filled and marked"
    return {"kind": kind, "marked": marked, "only_mark": False, **plan}, note


# -- numbers --------------------------------------------------------------------------------


def _plan_numbers(values: NDArray[np.float64], n_distinct: int) -> tuple[Plan, str]:
    """Find centre and scale of a column, on a logarithmic scale if its tails are heavy."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return {"endings": []}, "no finite values"
    plan: Plan = {"endings": [""], "bend": None}
    # Two values stay two values, however they are bent.
    if n_distinct > 2 and _is_heavy(finite):
        plan["bend"] = _find_bend(finite)
    bent = _bend(finite, plan["bend"])
    low, middle, high = np.quantile(bent, [0.005, 0.5, 0.995])
    # Where a tail is all at the median there is no distance to multiply: take the range seen.
    plan["low"] = float(middle - REACH * (middle - low) if low < middle else bent.min())
    plan["high"] = float(middle + REACH * (high - middle) if high > middle else bent.max())
    clipped = np.clip(bent, plan["low"], plan["high"])
    plan["mean"], plan["scale"] = float(clipped.mean()), float(clipped.std()) or 1.0
    # On the bent scale, because gaps are filled after bending.
    plan["fill"] = float(middle)
    return plan, "standardised" + (" on a logarithmic scale (heavy tails)" if plan["bend"] else "")


def _find_bend(values: NDArray[np.float64]) -> list[float]:
    """Return the median, and how far values typically are from it.

    If most values equal the median, only the others count.
    """
    centre = float(np.median(values))
    distances = np.abs(values - centre)
    spread = float(np.median(distances)) or float(np.median(distances[distances > 0]))
    return [centre, spread]


def _is_heavy(values: NDArray[np.float64]) -> bool:
    """Whether the 99.5 % point is far out, measured by the quartile, on either side."""
    low, lower, middle, upper, high = np.quantile(values, [0.005, 0.25, 0.5, 0.75, 0.995])
    sides = [(middle - low, middle - lower), (high - middle, upper - middle)]
    return any(far > HEAVY_TAIL * near for far, near in sides)


def _bend(values: NDArray[np.float64], bend: list[float] | None) -> NDArray[np.float64]:
    """Return a copy of `values`; with `bend` linear near the centre, logarithmic far from it."""
    if bend is None:
        return values.copy()
    centre, spread = bend
    bent = values - centre
    bent /= spread
    return np.arcsinh(bent, out=bent)


def _standardise(plan: Plan, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bend, clip, fill and scale numbers as planned, in one copy of them."""
    bent = _bend(values, plan["bend"])
    np.clip(bent, plan["low"], plan["high"], out=bent)
    if np.isnan(bent.sum()):  # one quick pass; gaps are rare
        bent[np.isnan(bent)] = plan["fill"]
    bent -= plan["mean"]
    bent /= plan["scale"]
    return bent


def _fill_numbers(plan: Plan, column: Any, out: NDArray[np.float32]) -> None:
    values = as_numbers(column, plan["kind"], plan["column"])
    if plan["marked"]:
        out[:, -1] = np.isnan(values)
    if not plan["only_mark"]:
        out[:, 0] = _standardise(plan, values)


def _fill_booleans(plan: Plan, column: Any, out: NDArray[np.float32]) -> None:
    values = as_numbers(column, plan["kind"], plan["column"])
    if plan["marked"]:
        out[:, -1] = np.isnan(values)
    if not plan["only_mark"]:
        out[:, 0] = np.where(np.isnan(values), plan["fill"], values != 0)


# -- dates ----------------------------------------------------------------------------------


def _plan_dates(days: NDArray[np.float64], n_distinct: int) -> tuple[Plan, str]:
    """Plan days as a number, and the cycles that the dates run through."""
    plan, _ = _plan_numbers(days, n_distinct)
    present = days[~np.isnan(days)]
    has_hours = bool((present != np.floor(present)).any())
    # Dates that do not run through a whole cycle cannot teach it.
    plan["cycles"] = [
        name
        for name, length in CYCLES.items()
        if np.ptp(present) >= length and (name != "day" or has_hours)
    ]
    plan["endings"] += [f"_{name}_{part}" for name in plan["cycles"] for part in ("sin", "cos")]
    seen = f", and the time of {' and '.join(plan['cycles'])}" if plan["cycles"] else ""
    return plan, f"days, standardised{seen}"


def _fill_dates(plan: Plan, column: Any, out: NDArray[np.float32]) -> None:
    days = as_days(column, plan["column"])
    missing = np.isnan(days)
    if plan["marked"]:
        out[:, -1] = missing
    if plan["only_mark"]:
        return
    out[:, 0] = _standardise(plan, days)
    for k, name in enumerate(plan["cycles"]):
        angle = np.where(missing, 0.0, days) * (2 * np.pi / CYCLES[name])
        # A gap is the middle of the circle, as far from every time.
        out[:, 1 + 2 * k] = np.where(missing, 0.0, np.sin(angle))
        out[:, 2 + 2 * k] = np.where(missing, 0.0, np.cos(angle))


# -- text -----------------------------------------------------------------------------------


def _plan_text(
    counts: NDArray[np.intp], texts: list[str], n_rows: int, max_categories: int
) -> tuple[Plan, str]:
    """Find the categories worth a column each, most frequent first, and whether others are left."""
    least = max(1, min(ROWS_OF_A_CATEGORY, n_rows // 100))
    # Different values may have the same text, such as 1 and '1'.
    total: dict[str, int] = {}
    for text, count in zip(texts, counts, strict=True):
        total[text] = total.get(text, 0) + int(count)
    # Ties go by text, so that the order of the rows does not matter.
    order = sorted((t for t in total if total[t]), key=lambda text: (-total[text], text))
    frequent = [text for text in order if total[text] >= least][:max_categories]
    covered = sum(total[text] for text in frequent) / sum(total.values())
    if covered < LEAST_COVER:
        note = "free text: hardly any value comes more than a few times"
        return {"endings": []}, note + hint_at_numbers(texts)
    n_other = len(order) - len(frequent)
    endings = [f"={text}" for text in frequent] + (["=(other)"] if n_other else [])
    note = f"one column for each of {len(frequent)} categories"
    note += f", one for {n_other} rare ones" if n_other else ""
    return {"endings": endings, "categories": frequent, "has_other": n_other > 0}, note


def hint_at_numbers(texts: list[str]) -> str:
    """Return a hint if text would be numbers, perhaps except for words such as "unknown"."""
    import pandas as pd

    is_number = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").notna()
    if is_number.sum() <= len(texts) / 2:
        return ""
    if is_number.all():
        return "; all are numbers stored as text: store them as numbers to use them so"
    word = texts[int((~is_number).to_numpy().argmax())]
    return f"; most are numbers, but not {word!r}: if that is a missing value, tell read_table"


def _fill_text(plan: Plan, column: Any, out: NDArray[np.float32]) -> None:
    codes, texts = code_categories(column)
    if plan["marked"]:
        out[:, -1] = codes < 0
    if plan["only_mark"]:
        return
    slots = {text: k for k, text in enumerate(plan["categories"])}
    other = len(slots) if plan["has_other"] else -1
    # Second choice: the same code written in another way. Of two the more frequent comes first.
    alike = {normalise_category(text): k for text, k in reversed(slots.items())}
    slot_of_text = [
        slots[text] if text in slots else alike.get(normalise_category(text), other)
        for text in texts
    ]
    # The last entry is that of code -1, a missing value.
    slot = np.array([*slot_of_text, -1], dtype=np.intp)[codes]
    rows = np.flatnonzero(slot >= 0)
    out[rows, slot[rows]] = 1


FILLERS = {
    "number": _fill_numbers,
    "boolean": _fill_booleans,
    "date": _fill_dates,
    "text": _fill_text,
}
