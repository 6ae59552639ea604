"""Numbers as people write them: money, percent, separators, units, hexadecimal ones."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PLAIN", "find_numeral_style", "is_code", "read_numeral", "say_numerals"]

# How a column of plain numbers is read where some of its cells come as text.
PLAIN: dict[str, Any] = {"as": "numerals", "decimal": ".", "units": {}}

SYMBOLS = set("$€£¥₹₽₩₺₫₴₦₪₱฿₡₲₵₸₭₮¢")
CODE_WORDS = """
    usd eur gbp jpy chf cny inr rub krw try vnd uah ngn ils php thb aud cad nzd sgd hkd twd sek
    nok dkk isk pln czk huf ron bgn brl mxn ars clp cop pen zar egp mad aed sar qar kwd idr myr
    pkr bdt kes ghs euro euros dollar dollars kr kč zł ft rs rs. r$ us$ ca$ c$ a$ au$ nz$ hk$ s$
    nt$ fr fr.
"""
CODES = set(CODE_WORDS.split())
MULTIPLES = {
    "k": 1e3,
    "tsd": 1e3,
    "m": 1e6,
    "mn": 1e6,
    "mio": 1e6,
    "mio.": 1e6,
    "bn": 1e9,
    "b": 1e9,
}
PERCENT = {"%", "percent", "pct", "prozent", "‰"}
# Per dimension the units and how many of the first they are; times are in `_durations`.
DIMENSIONS: tuple[dict[str, float], ...] = (
    {"m": 1.0, "metre": 1.0, "meter": 1.0, "metres": 1.0, "meters": 1.0, "mm": 1e-3, "cm": 1e-2,
     "dm": 1e-1, "km": 1e3, "in": 0.0254, "inch": 0.0254, "inches": 0.0254, '"': 0.0254,
     "ft": 0.3048, "feet": 0.3048, "foot": 0.3048, "yd": 0.9144, "mi": 1609.344, "mile": 1609.344,
     "miles": 1609.344},
    {"kg": 1.0, "kgs": 1.0, "mg": 1e-6, "g": 1e-3, "gr": 1e-3, "t": 1e3, "lb": 0.45359237,
     "lbs": 0.45359237, "oz": 0.028349523},
    {"l": 1.0, "litre": 1.0, "liter": 1.0, "litres": 1.0, "liters": 1.0, "ml": 1e-3, "cl": 1e-2,
     "dl": 1e-1, "hl": 1e2, "gal": 3.785411784},
    {"mb": 1.0, "kb": 1e-3, "gb": 1e3, "tb": 1e6, "mib": 1.048576, "gib": 1073.741824},
    {"kwh": 1.0, "wh": 1e-3, "gwh": 1e6},
    {"kw": 1.0, "w": 1e-3, "gw": 1e6, "hp": 0.745699872, "ps": 0.73549875},
    {"m²": 1.0, "m2": 1.0, "sqm": 1.0, "qm": 1.0, "cm²": 1e-4, "km²": 1e6, "ha": 1e4,
     "sqft": 0.09290304, "ft²": 0.09290304, "acre": 4046.8564224, "acres": 4046.8564224},
    {"km/h": 1.0, "kmh": 1.0, "kph": 1.0, "mph": 1.609344, "m/s": 3.6, "kn": 1.852},
    {"v": 1.0, "mv": 1e-3, "kv": 1e3},
    {"hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9},
)  # fmt: skip
# Units that cannot be converted by a factor, or need not.
OTHER_UNITS = {
    "°c",
    "°f",
    "°",
    "c°",
    "f°",
    "px",
    "pt",
    "pts",
    "pcs",
    "x",
    "bar",
    "psi",
    "ppm",
    "db",
}

SPACES = dict.fromkeys(map(ord, "\u00a0\u202f\u2009\u2007\u2008"), " ")
WRITTEN_OTHERWISE = SPACES | {ord("\u2212"): "-", ord("\u2019"): "'", ord("\uff0c"): ","}
NUMERAL = re.compile(
    r"(?P<open>\()?\s*(?P<sign>[-+])?\s*(?P<before>[^\W\d_]{0,4}[^\w\s.,+'()%-]?\.?)\s*(?P<sign2>[-+])?\s*"
    r"(?P<body>\d+(?:[., ']\d+)*[.,]?|[.,]\d+)(?P<exponent>[eE][-+]?\d+)?(?P<dash>,?-)?"
    r"(?P<gap>\s*)(?P<after>[^\W\d_]{1,12}[²³2]?\.?(?:/[^\W\d_]{1,3})?|[^\w\s.,+'()-][^\W\d_]?"
    r"|[^\W\d_]{1,4}\.?\s?[^\w\s.,+'()-])?\s*(?P<minus>-)?\s*(?P<close>\))?"
)
LONGEST = 64  # longer cells hold no number, and would take the expression long
HEX = re.compile(r"[-+]?0[xX][0-9a-fA-F]+")


class Numeral(NamedTuple):
    """A cell taken apart: what is multiplied with the number, its digits, and what it counts.

    Money has the mark 'money', whatever its `currency`.
    """

    factor: float
    body: str
    exponent: str
    mark: str
    spaced: bool
    currency: str


@lru_cache(maxsize=2**16)
def take_apart(text: str) -> Numeral | None:
    """Take a number as people write it apart; None if it is none."""
    text = text.translate(WRITTEN_OTHERWISE).strip()
    match = NUMERAL.fullmatch(text) if len(text) <= LONGEST else None
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    is_negative = "-" in (match["sign"], match["sign2"], match["minus"]) or bool(match["open"])
    factor, mark = -1.0 if is_negative else 1.0, ""
    before, after = match["before"].lower(), (match["after"] or "").lower()
    if before:
        if not is_currency(before):
            return None
        mark = "money"
    if after:
        multiple, own = _name_mark(after)
        # A multiple alone may be a unit: 5 m are metres unless they are money.
        if before and after in MULTIPLES:
            factor *= MULTIPLES[after]
        elif before and own != "money":
            return None
        else:
            factor, mark = factor * multiple, own
    # A minus behind the number; but 5,- are five euros.
    if match["dash"] == "-" and match["body"][-1].isdigit():
        factor = -abs(factor)
    return Numeral(
        factor,
        match["body"],
        match["exponent"] or "",
        mark,
        bool(match["gap"]),
        (before or after) if mark == "money" else "",
    )


def is_currency(text: str) -> bool:
    """Whether text stands for a currency: a sign, a code or both."""
    return text in CODES or text in SYMBOLS


def _name_mark(after: str) -> tuple[float, str]:
    """Return by what a number is multiplied, and what it counts."""
    after = after.strip()
    if after in PERCENT:
        return 1.0, "percent"
    if is_currency(after):
        return 1.0, "money"
    for multiple, factor in MULTIPLES.items():
        rest = after.removeprefix(multiple).strip()
        if rest != after and rest and is_currency(rest):
            return factor, "money"
    return 1.0, after


def read_body(body: str, decimal: str) -> float:
    """Return the digits as a number; NaN where the separators make no sense.

    >>> read_body("1.234,5", ","), read_body("1.234,5", ".")
    (1234.5, nan)
    """
    whole, _, fraction = body.partition(decimal)
    if fraction and not fraction.isdigit():
        return np.nan
    groups = re.split(r"[., ']", whole)
    if len(groups) > 1:
        separators = {sign for sign in whole if not sign.isdigit()}
        first, *middle, last = groups
        # India writes 12,34,567.
        is_whole = len(last) == 3 and all(len(group) in (2, 3) for group in middle)
        if len(separators) > 1 or not 1 <= len(first) <= 3 or not is_whole:
            return np.nan
    return float(f"{''.join(groups) or 0}.{fraction or 0}")


def vote(body: str) -> str:
    """Return the decimal sign that the digits of a cell prove; '?' and a sign if it may be both."""
    signs = [sign for sign in body if sign in ".,"]
    if not signs:
        return ""
    last, other = signs[-1], "," if signs[-1] == "." else "."
    if signs.count(last) > 1:
        return other
    head, _, tail = body.partition(last)
    if other in body or " " in head or "'" in head:
        return last
    return f"?{last}" if len(tail) == 3 and re.fullmatch(r"[1-9]\d{0,2}", head) else last


def is_code(text: str) -> bool:
    """Whether digits are a code rather than a number: 007 has zeros that a number would lose."""
    return re.fullmatch(r"[-+]?0\d+", text.strip()) is not None


def find_numeral_style(counts: Mapping[str, int]) -> dict[str, Any]:
    """Decide over a whole column which sign is decimal and what its numbers count.

    Parameters
    ----------
    counts : mapping of cells to how often they come
    """
    votes: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    spaced: Counter[str] = Counter()
    currencies: set[str] = set()
    for text, count in counts.items():
        numeral = None if HEX.fullmatch(text.strip()) else take_apart(text)
        if numeral is not None:
            votes[vote(numeral.body)] += count
            marks[numeral.mark] += count
            spaced[numeral.mark] += count * numeral.spaced
            currencies.add(numeral.currency)
    style: dict[str, Any] = {"as": "numerals", "decimal": ".", "units": {}}
    if votes[","] > votes["."]:
        style["decimal"] = ","
    elif not votes["."] and votes["?."] and not votes["?,"] and marks["money"]:
        # Nobody writes money with three decimals.
        style["decimal"] = ","
    # Three digits behind a sign may be thousands or decimals, if no cell tells.
    grouping = "?," if style["decimal"] == "." else "?."
    style["assumed"] = bool(votes[grouping]) and not (votes["."] or votes[","])
    common = next((mark for mark, _ in marks.most_common() if mark), "")
    if common:
        style["units"] = _convert_units(common, marks, spaced)
        style["unit"] = common
    if len(several := sorted(currencies - {""})) > 1:
        style["currencies"] = several[:4]
    return style


def _convert_units(
    common: str, marks: Iterable[str], spaced: Mapping[str, int]
) -> dict[str, float]:
    """Return by how much each unit is multiplied to become the commonest one."""
    dimension = next((units for units in DIMENSIONS if common in units), None)
    if dimension is not None:
        return {mark: dimension[mark] / dimension[common] for mark in marks if mark in dimension}
    # A letter right behind a number that is no unit makes it a code, such as a seat.
    is_unit = common in OTHER_UNITS | {"money", "percent"} or bool(spaced[common])
    return {common: 1.0} if is_unit else {}


def read_numeral(text: str, style: Mapping[str, Any]) -> float:
    """Return the number in a cell as its column writes it; NaN if it is none.

    >>> euros = {"as": "numerals", "decimal": ",", "units": {"money": 1.0}}
    >>> read_numeral("1.234,50 €", euros), read_numeral("(1.200)", euros), read_numeral("x", euros)
    (1234.5, -1200.0, nan)
    >>> read_numeral("0x1F", PLAIN)
    31.0
    """
    if style["decimal"] == "." and "_" not in text:
        try:
            return float(text)
        except ValueError:
            pass
    if HEX.fullmatch(text.strip()):
        return float(int(text.strip(), 16)) if len(text) < 40 else np.nan
    numeral = take_apart(text)
    if numeral is None:
        return np.nan
    factor = _find_factor(numeral.mark, style)
    value = read_body(numeral.body, style["decimal"])
    if numeral.exponent:
        # Not `10 ** exponent`, which rounds, and fails where it is large.
        value = float(f"{value!r}{numeral.exponent}") if "e" not in repr(value) else np.nan
    return factor * numeral.factor * value


def _find_factor(mark: str, style: Mapping[str, Any]) -> float:
    """Return how many of a column's unit the unit of a cell is; NaN if it is another thing."""
    units = style["units"]
    if not mark:
        return 1.0
    if mark in units:
        return float(units[mark])
    common = style.get("unit")
    if common is None:  # a column of plain numbers: what they count was clear without saying
        return 1.0 if mark in ("money", "percent") else np.nan
    for dimension in DIMENSIONS:
        if common in dimension and mark in dimension:
            return dimension[mark] / dimension[common]
    return np.nan


def say_numerals(style: Mapping[str, Any]) -> str:
    """Say what a column of numbers looks like; empty if it is plain."""
    unit = style.get("unit", "")
    words = {"": "", "money": "money", "percent": "percent"}.get(unit, f"numbers in {unit}")
    if others := [mark for mark in style["units"] if mark not in (unit, "")]:
        words += f" ({', '.join(others)} converted)"
    if several := style.get("currencies"):
        words += f" ({' and '.join(several)}, not converted)"
    words = words or "numbers written as text"
    if style["decimal"] == ",":
        words += ", decimal commas"
    if style["assumed"]:
        sign = "commas" if style["decimal"] == "." else "points"
        words += f", {sign} taken for thousands separators"
    return words
