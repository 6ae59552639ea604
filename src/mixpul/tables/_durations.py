"""Lengths of time as people write them: 1:30:00, 2h 5m, 3 days, PT2H5M."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["find_duration_style", "read_duration"]

SECONDS = {
    1e-3: "ms millisecond milliseconds",
    1.0: "s sec secs second seconds sek sekunde sekunden",
    60.0: "m min mins minute minutes minuten minuto minutos",
    3600.0: "h hr hrs hour hours std stunde stunden heure heures hora horas",
    86_400.0: "d day days tag tage tagen jour jours día dias días",
    604_800.0: "w wk wks week weeks woche wochen semaine semaines",
    2_629_746.0: "mo mos month months monat monate monaten mois mes meses",
    31_556_952.0: "y yr yrs year years jahr jahre jahren an ans año años",
}
UNITS = {word: seconds for seconds, words in SECONDS.items() for word in words.split()}

CLOCK = re.compile(
    r"(?P<sign>-)?(?:(?P<days>\d+)\s*(?:d|days?|tage?)?[,. ]\s*)?"
    r"(?P<hours>\d+):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d(?:[.,]\d+)?))?"
)
PIECE = re.compile(r"(\d+(?:[.,]\d+)?)\s*([^\W\d_]+)\.?")
PIECES = re.compile(rf"-?(?:{PIECE.pattern}(?:[\s,]|and|und)*)+")
LONGEST = 64
ISO = re.compile(
    r"P(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)


def find_duration_style(counts: Mapping[str, int]) -> dict[str, Any] | None:
    """Decide what a bare number among lengths of time means; None if there are none of these."""
    units: Counter[str] = Counter()
    for text, count in counts.items():
        if not np.isnan(read_duration(text, {"bare": None})):
            pieces = PIECE.findall(text.lower())
            units[pieces[-1][1] if len(pieces) == 1 and ":" not in text else ""] += count
    if not units:
        return None
    named = [unit for unit, _ in units.most_common() if unit in UNITS]
    # A column of nothing but metres has no other unit of time beside its m.
    if units.keys() == {"m"}:
        return None
    return {"as": "durations", "bare": UNITS[named[0]] if named else None}


def read_duration(text: str, style: Mapping[str, Any]) -> float:
    """Return a length of time in seconds; NaN if the cell has none.

    >>> [read_duration(text, {"bare": 60.0}) for text in ("1:30:00", "2h 5m", "3 days", "45")]
    [5400.0, 7500.0, 259200.0, 2700.0]
    """
    text = text.strip().lower()
    if len(text) > LONGEST:
        return np.nan
    if match := CLOCK.fullmatch(text):
        parts = (float((match[name] or "0").replace(",", ".")) for name in
                 ("days", "hours", "minutes", "seconds"))  # fmt: skip
        days, hours, minutes, seconds = parts
        value = 86_400 * days + 3600 * hours + 60 * minutes + seconds
        return -value if match["sign"] else value
    if PIECES.fullmatch(text):
        pieces = PIECE.findall(text)
        if all(unit in UNITS for _, unit in pieces):
            total = sum(float(number.replace(",", ".")) * UNITS[unit] for number, unit in pieces)
            return -total if text.startswith("-") else total
        return np.nan
    if len(text) > 1 and (match := ISO.fullmatch(text.upper())):
        sizes = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
        given = {name: float(number) for name, number in match.groupdict().items() if number}
        return sum(sizes[name] * number for name, number in given.items()) if given else np.nan
    if style["bare"] is not None and re.fullmatch(r"-?\d+(?:\.\d+)?", text):
        return float(text) * float(style["bare"])
    return np.nan
