"""From the columns of a table to features: what `TableInput` does, as operations of a graph."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from mixpul._util.errors import MixpulError
from mixpul.deploy.onnx._graph import DOUBLE, FLOAT, INT64, ML, STRING, Graph
from mixpul.tables.plans import CYCLES, normalise_category

__all__ = ["ColumnInput", "add_features", "list_inputs"]

# Numbers as text. Not more digits than double precision holds: a runtime may fail on others.
NUMBER = r"[+-]?[0-9]{1,15}(\.[0-9]{0,17})?([eE][+-]?[0-9]{1,2})?"
# From here on arcsinh is the logarithm of twice the value, and squares would overflow later.
LARGE = 1e10

Plan = dict[str, Any]


class ColumnInput(NamedTuple):
    """An input of the graph: the column, its kind, and how it is given."""

    column: str
    kind: str
    type: int
    about: str


GIVEN = {
    "number": (DOUBLE, "a number; NaN where it is missing"),
    "boolean": (DOUBLE, "1 for true, 0 for false; NaN where it is missing"),
    "date": (DOUBLE, "days since 1970-01-01 in UTC, with fractions; NaN where it is missing"),
    "text": (STRING, "the text; empty where it is missing"),
}


# What a plan may say. What else there is was thought of later, or has no operations in ONNX.
KNOWN = {
    "kind", "column", "place", "endings", "marked", "only_mark", "fill", "bend", "low", "high",
    "mean", "scale", "cycles", "categories", "has_other",
    "style",  # how cells are written; the input is the number that they mean
}  # fmt: skip


def list_inputs(plans: list[Plan]) -> list[ColumnInput]:
    """List the inputs that the columns of a plan become; refuse kinds that are not exported."""
    for plan in plans:
        further = sorted(plan.keys() - KNOWN)
        if plan["kind"] in GIVEN and not further:
            continue
        what = f"becomes numbers by its {further[0]}" if further else f"holds {plan['kind']}"
        raise MixpulError(
            f"The column {plan['column']!r} {what}, which is not exported to ONNX; fit again with "
            f"--drop {plan['column']!r}, or score with `mixpul predict` or `mixpul serve`."
        )
    return [ColumnInput(p["column"], p["kind"], *GIVEN[p["kind"]]) for p in plans]


def add_features(graph: Graph, plans: list[Plan]) -> str:
    """Add the inputs and what makes features of them; return the features, in single precision."""
    features = []
    for plan, given in zip(plans, list_inputs(plans), strict=True):
        column = graph.take_input(given.column, given.type, given.about)
        features.append(ADDERS[plan["kind"]](graph, plan, column))
    return graph.add("Concat", *features, axis=1)


def _join(graph: Graph, parts: list[str]) -> str:
    """Return values of any precision side by side, in single precision."""
    singles = [graph.cast(part, FLOAT) for part in parts]
    return singles[0] if len(singles) == 1 else graph.add("Concat", *singles, axis=1)


def _add_numbers(graph: Graph, plan: Plan, column: str) -> str:
    is_missing = graph.add("IsNaN", column)
    parts = [] if plan["only_mark"] else [_standardise(graph, plan, column, is_missing)]
    return _join(graph, parts + [is_missing] * plan["marked"])


def _add_booleans(graph: Graph, plan: Plan, column: str) -> str:
    is_missing = graph.add("IsNaN", column)
    parts = []
    if not plan["only_mark"]:
        is_true = graph.add("Not", graph.add("Equal", column, np.float64(0)))
        truth = graph.cast(is_true, DOUBLE)
        parts = [graph.add("Where", is_missing, np.float64(plan["fill"]), truth)]
    return _join(graph, parts + [is_missing] * plan["marked"])


def _add_dates(graph: Graph, plan: Plan, column: str) -> str:
    is_missing = graph.add("IsNaN", column)
    parts = []
    if not plan["only_mark"]:
        parts.append(_standardise(graph, plan, column, is_missing))
        days = graph.add("Where", is_missing, np.float64(0), column)
        for name in plan["cycles"]:
            angle = graph.add("Mul", days, np.float64(2 * np.pi / CYCLES[name]))
            for function in ("Sin", "Cos"):
                point = graph.add(function, angle)
                parts.append(graph.add("Where", is_missing, np.float64(0), point))
    return _join(graph, parts + [is_missing] * plan["marked"])


def _standardise(graph: Graph, plan: Plan, column: str, is_missing: str) -> str:
    """Add bending, clipping, filling and scaling, in double precision."""
    bent = column if plan["bend"] is None else _bend(graph, column, *plan["bend"])
    clipped = graph.add("Clip", bent, np.float64(plan["low"]), np.float64(plan["high"]))
    filled = graph.add("Where", is_missing, np.float64(plan["fill"]), clipped)
    centred = graph.add("Sub", filled, np.float64(plan["mean"]))
    return graph.add("Div", centred, np.float64(plan["scale"]))


def _bend(graph: Graph, column: str, centre: float, spread: float) -> str:
    """Add arcsinh of the distance from the centre; runtimes have it in single precision only."""
    distance = graph.add("Sub", column, np.float64(centre))
    ratio = graph.add("Div", distance, np.float64(spread))
    size = graph.add("Abs", ratio)
    root = graph.add("Sqrt", graph.add("Add", graph.add("Mul", size, size), np.float64(1)))
    near = graph.add("Log", graph.add("Add", size, root))
    far = graph.add("Add", graph.add("Log", size), np.log(2.0))
    is_far = graph.add("Greater", size, np.float64(LARGE))
    return graph.add("Mul", graph.add("Sign", ratio), graph.add("Where", is_far, far, near))


def _add_text(graph: Graph, plan: Plan, column: str) -> str:
    """Add one column for each category, for the others if there are any, and for gaps."""
    # A column in which the empty text is a category of its own has no text for a gap.
    can_be_missing = "" not in plan.get("categories", [])
    is_missing = graph.add("Equal", column, np.array("" if can_be_missing else "\0", dtype=object))
    parts = []
    if not plan["only_mark"]:
        n_slots = len(plan["categories"]) + plan["has_other"]
        slot = _find_slot(graph, plan, column)
        slot = graph.add("Where", is_missing, np.int64(-1), slot) if can_be_missing else slot
        # An empty slot, -1, is equal to none of them.
        parts = [graph.add("Equal", slot, np.arange(n_slots, dtype=np.int64)[None])]
    return _join(graph, parts + [is_missing] * plan["marked"])


def _find_slot(graph: Graph, plan: Plan, column: str) -> str:
    """Add the lookup of a category as it is written, else by the number or truth it means."""
    categories = plan["categories"]
    other = len(categories) if plan["has_other"] else -1
    slots = {text: k for k, text in enumerate(categories)}
    alike = {normalise_category(text): k for text, k in reversed(slots.items())}
    for word in ("True", "False"):
        if word in alike:
            spelled = map("".join, product(*({c.lower(), c.upper()} for c in word)))
            slots = dict.fromkeys(sorted(spelled), alike[word]) | slots
    unknown = -2
    found = graph.add(
        "LabelEncoder", column, domain=ML, keys_strings=list(slots),
        values_int64s=list(slots.values()), default_int64=unknown,
    )  # fmt: skip
    numbers = {value: k for text, k in alike.items() if (value := _read_number(text)) is not None}
    second = _find_number(graph, column, numbers, other) if numbers else np.int64(other)
    return graph.add("Where", graph.add("Equal", found, np.int64(unknown)), second, found)


def _read_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _find_number(graph: Graph, column: str, numbers: dict[float, int], other: int) -> str:
    """Add the lookup of text such as 7.0 or 007 among codes that are numbers."""
    is_number = graph.add("RegexFullMatch", column, pattern=NUMBER)
    readable = graph.add("Where", is_number, column, np.array("nan", dtype=object))
    value = graph.cast(readable, DOUBLE)
    is_equal = graph.cast(graph.add("Equal", value, np.array([list(numbers)])), INT64)
    # At most one is equal: its slot counted from `other` on, so that none leads to `other`.
    shifts = np.array([[slot - other] for slot in numbers.values()], dtype=np.int64)
    return graph.add("Add", graph.add("MatMul", is_equal, shifts), np.int64(other))


ADDERS = {
    "number": _add_numbers,
    "boolean": _add_booleans,
    "date": _add_dates,
    "text": _add_text,
}
