"""How a column becomes features: a plan is made at fit, and `FILLERS` carry it out."""

import re
from collections import Counter
from collections.abc import Sequence
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
from mixpul.tables._ngrams import embed_texts, plan_embedding, read_embedding

__all__ = [
    "CYCLES",
    "FILLERS",
    "MISSING",
    "as_numbers",
    "make_plan",
    "normalise_category",
    "read_embedding",
    "shares_words",
]

Plan = dict[str, Any]

# Of a normal distribution the 99.5 % point lies 4 times as far from the median as the upper
# quartile, of an exponential one 7 times, of a lognormal one 13 times.
HEAVY_TAIL = 10.0
# Values are clipped this many times as far from the median as the 99.5 % point.
REACH = 3.0
# A category in fewer rows than this joins the others (in fewer than 1 % if there are few rows).
ROWS_OF_A_CATEGORY = 10
# Where the categories worth a column together cover less than this share of the rows, texts also
# become numbers by their words and letters. If they cover hardly anything, they get no columns.
MUCH_COVER, LEAST_COVER = 0.9, 0.1
LEAST_RARE = 10  # so many others make it worth while
# Numbers that a category and a free text become.
N_OF_CATEGORY, N_OF_TEXT = 4, 8
# Categories whose number of rows is kept.
MOST_COUNTED = 2_000
# Beyond this, squares would not be finite; larger numbers are taken for it.
LARGEST = 1e150
# Of what single precision computes with, and of how far from zero by its spread a column may lie.
LARGEST_SINGLE, FAR = 1e30, 16.0
# Of a logarithmic scale in single precision: its digits are those of 1, and squares are finite.
LEAST_BENT, MOST_BENT = 0.05, 40.0
# Words of so many letters, in more than one row but not in nearly all, tell text from ids.
WORD = re.compile(r"[^\W\d_]{3,}")
LEAST_SHARED_WORDS, MOST_COMMON = 3, 0.95

CYCLES = {"day": 1.0, "week": 7.0, "year": 365.2425}  # in days
MISSING = "=(missing)"


def make_plan(
    content: Content, n_rows: int, max_categories: int, *, as_words: bool = False
) -> tuple[Plan, str]:
    """Decide how a column becomes features, and say it; a plan without `endings` makes none.

    With `as_words` a text is no category: only its words and letters count.
    """
    kind = content.kind
    if content.distinct == 1:  # and gaps: whether there is a value is all it tells
        plan: Plan = {"kind": kind, "endings": [MISSING], "marked": True, "only_mark": True}
        return plan | _keep_style(content), "one value only; used as missing or not"
    if kind == "text" and as_words:
        plan, note = _plan_words(content.counts, content.texts, N_OF_TEXT)
    elif kind == "text":
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
    whole = {"kind": kind, "marked": marked, "only_mark": False, **plan}
    return whole | _keep_style(content), note


def _keep_style(content: Content) -> Plan:
    # Plans of columns that need none are as they were before there were styles.
    return {} if content.style is None else {"style": content.style}


# -- numbers --------------------------------------------------------------------------------


def _plan_numbers(values: NDArray[np.float64], n_distinct: int) -> tuple[Plan, str]:
    """Find centre and scale of a column, on a logarithmic scale if its tails are heavy."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return {"endings": []}, "no finite values"
    n_beyond = int((np.abs(finite) > LARGEST).sum())
    finite = np.clip(finite, -LARGEST, LARGEST)
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
    note = "standardised" + (" on a logarithmic scale (heavy tails)" if plan["bend"] else "")
    return plan, note + (f", {n_beyond:,} beyond 1e150 taken for it" if n_beyond else "")


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
    bent = np.clip(values, -LARGEST, LARGEST)
    with np.errstate(over="ignore"):  # a spread may be tiny; then it is far out, too
        bent -= centre
        bent /= spread
    np.clip(bent, -LARGEST, LARGEST, out=bent)
    return _compute_arcsinh(bent)


def _compute_arcsinh(values: NDArray) -> NDArray:
    """Return arcsinh of `values`, which are overwritten, as a logarithm.

    Off by two roundings of 1 at most, where numpy's is exact for the smallest numbers as well; but
    that one takes three to eight times as long, most of the time to encode a table. Squares that
    are not finite make it infinite.
    """
    signs = values.copy()
    np.abs(values, out=values)
    roots = values * values
    roots += 1
    np.sqrt(roots, out=roots)
    values += roots
    np.log(values, out=values)
    return np.copysign(values, signs, out=values)


def _standardise(plan: Plan, values: NDArray[np.float64], out: NDArray[np.float32]) -> None:
    """Bend, clip, fill and scale numbers as planned, in one copy of them."""
    bent = values if plan["bend"] is None else _bend(values, plan["bend"])
    bent = np.clip(bent, plan["low"], plan["high"], out=None if bent is values else bent)
    if np.isnan(bent.sum()):  # one quick pass; gaps are rare
        bent[np.isnan(bent)] = plan["fill"]
    bent -= plan["mean"]
    np.divide(bent, plan["scale"], out=out, casting="same_kind")


def _fits_single(plan: Plan) -> bool:
    """Whether numbers can be standardised in single precision to nearly its last digit.

    They cannot where they lie far from zero by their spread: a centre would be rounded too much.
    """
    if plan["only_mark"]:
        return True
    centre, spread = plan["bend"] or (0.0, 1.0)
    is_near = abs(centre) <= FAR * spread and abs(plan["mean"]) <= FAR * plan["scale"]
    smallest = min(spread, plan["scale"])  # not above 0 only in a file that was tampered with
    reach = max(abs(plan["low"]), abs(plan["high"]))
    if plan["bend"] is not None and (plan["scale"] < LEAST_BENT or reach > MOST_BENT):
        return False
    largest = max(reach, spread, plan["scale"])
    return is_near and smallest > 1 / LARGEST_SINGLE and largest < LARGEST_SINGLE


def _standardise_single(plan: Plan, values: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Do the same in single precision, in half the time."""
    # In place, unless that would be with large steps through memory.
    room = out if out.flags.c_contiguous else np.empty_like(values)
    if plan["bend"] is not None:
        centre, spread = plan["bend"]
        with np.errstate(over="ignore"):  # what is infinite is clipped
            np.subtract(values, np.float32(centre), out=room)
            room *= np.float32(1 / spread)
            values = _compute_arcsinh(room)
    np.clip(values, np.float32(plan["low"]), np.float32(plan["high"]), out=room)
    if np.isnan(room.min()):  # a third of the time of a sum
        room[np.isnan(room)] = plan["fill"]
    room -= np.float32(plan["mean"])
    np.multiply(room, np.float32(1 / plan["scale"]), out=out)


def _fill_numbers(plan: Plan, column: Any, out: NDArray[np.float32]) -> None:
    is_plain = isinstance(column, np.ndarray)
    is_single = is_plain and column.dtype == np.float32 and _fits_single(plan)
    if is_single:
        values = column
    elif is_plain:
        values = column.astype(np.float64, copy=False)
    else:
        values = as_numbers(column, plan["kind"], plan["column"], plan.get("style"))
    if plan["marked"]:
        out[:, -1] = np.isnan(values)
    if not plan["only_mark"]:
        (_standardise_single if is_single else _standardise)(plan, values, out[:, 0])


def _fill_booleans(plan: Plan, column: Any, out: NDArray[np.float32]) -> None:
    values = as_numbers(column, plan["kind"], plan["column"], plan.get("style"))
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
    days = as_days(column, plan["column"], plan.get("style"))
    missing = np.isnan(days)
    if plan["marked"]:
        out[:, -1] = missing
    if plan["only_mark"]:
        return
    _standardise(plan, days, out[:, 0])
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
        frequent = []
    n_other = len(order) - len(frequent)
    endings = [f"={text}" for text in frequent] + (["=(other)"] if n_other and frequent else [])
    plan: Plan = {
        "endings": endings,
        "categories": frequent,
        "has_other": bool(n_other and frequent),
    }
    note = f"one column for each of {len(frequent)} categories"
    note += f", one for {n_other} rare ones" if n_other else ""
    if covered >= MUCH_COVER or n_other < LEAST_RARE:
        return plan, note
    # All of them together count as rows: how often a text comes may tell, too.
    counted = _plan_counts({text: total[text] for text in order})
    words, how = _plan_words(counts, texts, N_OF_CATEGORY)
    plan |= counted | {key: words[key] for key in words if key == "words"}
    plan["endings"] = [*endings, *["_rows"] * bool(counted), *words["endings"]]
    notes = [note] * bool(frequent) + ["its number of rows"] * bool(counted) + [how]
    return plan, ", ".join(notes)


def _plan_counts(total: dict[str, int]) -> Plan:
    """Plan the number of rows of each text as a number, on a logarithmic scale."""
    numbers = np.array(list(total.values()), dtype=np.float64)
    logs = np.log(numbers)
    mean = float(np.average(logs, weights=numbers))
    scale = float(np.sqrt(np.average((logs - mean) ** 2, weights=numbers)))
    if scale < 1e-9:  # all come as often
        return {}
    kept = {text: n for text, n in list(total.items())[:MOST_COUNTED] if n > 1}
    return {"counts": kept, "count_mean": mean, "count_scale": scale}


def _plan_words(counts: NDArray[np.intp], texts: list[str], n_components: int) -> tuple[Plan, str]:
    """Plan a text as numbers by its words and letters."""
    total: dict[str, int] = {}
    for text, count in zip(map(normalise_category, texts), counts, strict=True):
        if count:
            total[text] = total.get(text, 0) + int(count)
    words = plan_embedding(list(total), np.array(list(total.values())), n_components)
    if words is None:
        return {"endings": [], "categories": [], "has_other": False}, "its texts hardly differ"
    endings = [f"_text{k}" for k in range(1, 1 + words["size"])]
    plan: Plan = {"endings": endings, "categories": [], "has_other": False, "words": words}
    return plan, f"{len(endings)} numbers for its words and letters"


def shares_words(texts: Sequence[str]) -> bool:
    """Whether texts that all differ share words, as free text does and ids do not."""
    # Every so many of many.
    some = texts[:: -(-len(texts) // 5_000) or 1]
    words = [set(WORD.findall(text.lower())) for text in some]
    rows = Counter(word for own in words for word in own)
    shared = {word for word, n in rows.items() if 1 < n <= MOST_COMMON * len(some)}
    n_with = sum(bool(own & shared) for own in words)
    return len(shared) >= LEAST_SHARED_WORDS and n_with >= len(some) / 2


def _fill_text(plan: Plan, column: Any, out: NDArray[np.float32]) -> None:
    codes, texts = code_categories(column)
    if plan["marked"]:
        out[:, -1] = codes < 0
    if plan["only_mark"]:
        return
    slots = {text: k for k, text in enumerate(plan["categories"])}
    other = len(slots) if plan["has_other"] else -1
    slot_of_text = _find_texts(texts, slots, other)
    # The last entry is that of code -1, a missing value.
    slot = np.array([*slot_of_text, -1], dtype=np.intp)[codes]
    rows = np.flatnonzero(slot >= 0)
    out[rows, slot[rows]] = 1
    start = len(slots) + plan["has_other"]
    if "counts" in plan:
        # A text that was not there at fit is as rare as one that was there once.
        logs = np.log(np.array([*_find_texts(texts, plan["counts"], 1), 1], dtype=np.float64))
        scaled = (logs - plan["count_mean"]) / plan["count_scale"]
        scaled[-1] = 0.0
        out[:, start] = scaled[codes]
        start += 1
    if "words" in plan:
        present = np.unique(codes[codes >= 0])
        numbers = np.zeros((len(texts) + 1, plan["words"]["size"]), dtype=np.float32)
        numbers[present] = embed_texts(
            plan["words"], [normalise_category(texts[k]) for k in present]
        )
        out[:, start : start + numbers.shape[1]] = numbers[codes]


def _find_texts(texts: list[str], known: dict[str, int], otherwise: int) -> list[int]:
    """Return what is known of each text, or of the same code written in another way."""
    # Of two that are written alike the more frequent comes first.
    alike = {normalise_category(text): value for text, value in reversed(known.items())}
    return [
        known[text] if text in known else alike.get(normalise_category(text), otherwise)
        for text in texts
    ]


FILLERS = {
    "number": _fill_numbers,
    "boolean": _fill_booleans,
    "date": _fill_dates,
    "text": _fill_text,
}
