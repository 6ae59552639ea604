"""Dates as people write them: 14.09.2008, 04/03/2018 16:08, 3 March 2018, seconds since 1970."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import TableError
from mixpul._util.validation import list_values

__all__ = [
    "ORDERS",
    "check_years",
    "find_date_style",
    "find_epoch",
    "read_date",
    "read_stamps",
    "say_dates",
]

ORDERS = {"day-first": "dmy", "month-first": "mdy", "year-first": "ymd"}
WORDS = {order: words.replace("-", " ") for words, order in ORDERS.items()}
DAY_OF_1970 = date(1970, 1, 1).toordinal()
SECONDS_OF_A_DAY = 86_400
# What a calendar holds, whatever the time zone.
FIRST, LAST = np.datetime64("0001-01-02", "s"), np.datetime64("9999-12-30", "s")

TIME = (
    r"(?:(?:[T ]|,\s)\s*(?:at |um )?(?P<hour>\d{1,2}):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d(?:[.,]\d+)?))?\s?(?P<half>[ap]\.?m\.?)?(?: Uhr)?"
    r"\s?(?P<zone>Z|[A-Z]{3,4}|(?:UTC|GMT)?[+-]\d\d(?::?\d\d)?)?)?"
)
YEAR = r"(?P<year>\d{4}|'?\d\d)"
MONTH = r"(?P<month>[^\W\d_]{3,10})\.?"
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.)?"
WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,?\s)?"
NUMERIC = re.compile(
    rf"{WEEKDAY}(?P<first>\d{{1,4}})(?P<sign>[./-]\s?)(?P<second_>\d{{1,2}})(?P=sign)(?P<third>\d{{1,4}})"
    + TIME,
    re.IGNORECASE,
)
NAMED = tuple(
    re.compile(WEEKDAY + form + TIME, re.IGNORECASE)
    for form in (
        rf"{DAY}[\s-]?(?:of |de )?{MONTH}(?:,?[\s-]|\sde\s){YEAR}",
        rf"{MONTH}[\s-]{DAY},?[\s-]\s?{YEAR}",
        rf"(?P<year>\d{{4}})[\s-]{MONTH}[\s-]{DAY}",
        rf"{MONTH}[\s-](?P<year>\d{{4}})(?P<day>)",
    )
)
LONGEST = 64
DIGITS = re.compile(r"\d\d")
MONTH_ALONE = re.compile(r"(?P<year>\d{4})[-/](?P<month>\d\d)(?P<day>)")
ZONES = {"Z": 0, "UTC": 0, "GMT": 0, "CET": 1, "CEST": 2, "BST": 1, "EST": -5, "EDT": -4,
         "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "JST": 9}  # fmt: skip
MONTHS = (
    "january januar janvier enero gennaio janeiro januari jänner",
    "february februar fevrier febrero febbraio fevereiro februari feber",
    "march marz mars marzo marco maart maerz mrz",
    "april avril abril aprile avr abr",
    "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august aout agosto augustus ago",
    "september septembre septiembre settembre setembro sept",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember decembre diciembre dicembre dezembro",
)
# What a column of stamps is called; any other whole number stays one.
STAMP_NAME = re.compile(
    r"(?i:(^|[\W_])(date|time|datetime|timestamp|ts|epoch|unix|unixtime|created|updated|modified"
    r"|when|at|on|datum|zeit)($|[\W_]))|[a-z](At|On|Time|Date|Timestamp)$|(?i:timestamp$|datetime$)"
)
# From 2000 to 2040, in seconds: conservative, because amounts may be as large.
FIRST_STAMP, LAST_STAMP = 946_684_800, 2_208_988_800


class Parts(NamedTuple):
    """The numbers of a date, of which the first and second may be a day or a month."""

    first: int
    second: int
    third: int
    sign: str
    days: float  # the time of day, in UTC


@lru_cache(maxsize=2**16)
def take_apart(text: str) -> Parts | float | None:
    """Take a date apart: its numbers if their order matters, else its day; None if it is none."""
    text = " ".join(text.split())
    if not 6 <= len(text) <= LONGEST or not DIGITS.search(text):
        return None
    if match := NUMERIC.fullmatch(text):
        time = _read_time(match)
        lengths = len(match["first"]), len(match["third"])
        if time is None or 3 in lengths or lengths == (4, 4):
            return None
        numbers = (int(match[name]) for name in ("first", "second_", "third"))
        first, second, third = numbers
        if lengths[0] == 4:
            return _count_days(first, second, third, time) if lengths[1] < 3 else None
        if lengths[1] == 1:
            return None
        return Parts(first, second, third, match["sign"].strip(), time)
    for form in NAMED:
        if (match := form.fullmatch(text)) and (month := find_month(match["month"])):
            time = _read_time(match)
            year = int(match["year"].lstrip("'"))
            return None if time is None else _count_days(year, month, int(match["day"] or 1), time)
    if match := MONTH_ALONE.fullmatch(text):
        return _count_days(int(match["year"]), int(match["month"]), 1, 0.0)
    return None


def _read_time(match: re.Match) -> float | None:
    """Return the time of day in UTC, as a share of a day; None if it is none."""
    if match["hour"] is None:
        return 0.0
    hour, minute = int(match["hour"]), int(match["minute"])
    second = float((match["second"] or "0").replace(",", "."))
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * match["half"].lower().startswith("p")
    if hour > 24 or minute > 59 or second >= 61 or (hour == 24 and (minute or second)):
        return None
    offset = 0.0
    if zone := (match["zone"] or "").upper():
        if zone in ZONES:
            offset = ZONES[zone] * 3600.0
        elif digits := re.fullmatch(r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)?", zone):
            sign, hours, minutes = digits.groups()
            offset = (3600 * int(hours) + 60 * int(minutes or 0)) * (1 if sign == "+" else -1)
        else:
            return None
    return (3600 * hour + 60 * minute + second - offset) / SECONDS_OF_A_DAY


def _count_days(year: int, month: int, day: int, time: float) -> float | None:
    """Return the days since 1970; None if there is no such day."""
    if year < 100:
        year += 2000 if year < 69 else 1900
    try:
        return date(year, month, day).toordinal() - DAY_OF_1970 + time
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def find_month(word: str) -> int | None:
    """Return the number of a month by its name or the beginning of it, in several languages."""
    plain = unicodedata.normalize("NFKD", word.lower()).encode("ascii", "ignore").decode()
    if len(plain) < 3:
        return None
    found = {
        k for k, names in enumerate(MONTHS, 1) if any(n.startswith(plain) for n in names.split())
    }
    return found.pop() if len(found) == 1 else None


def find_date_style(counts: Mapping[str, int], order: str | None = None) -> dict[str, Any]:
    """Decide over a whole column whether the day or the month comes first.

    Parameters
    ----------
    counts : mapping of cells to how often they come
    order : 'dmy', 'mdy' or 'ymd', optional
        As a user says.

    Returns
    -------
    dict
        The `order` and `why` it is this one, 'assumed' if nothing tells.
    """
    parts = [(p, n) for t, n in counts.items() if isinstance(p := take_apart(t), Parts)]
    if order is not None or not parts:
        return {"as": "dates", "order": order or "dmy", "why": "asked" if order else "clear"}
    firsts, seconds = ({getattr(p, name) for p, _ in parts} for name in ("first", "second"))
    if max(firsts) > 31:
        return {"as": "dates", "order": "ymd", "why": "a year above 31 comes first"}
    n_day_first = sum(n for p, n in parts if p.first > 12 >= p.second)
    n_month_first = sum(n for p, n in parts if p.second > 12 >= p.first)
    if n_day_first or n_month_first:
        is_day_first = n_day_first >= n_month_first
        why = f"a day above 12 comes {'first' if is_day_first else 'second'}"
        return {"as": "dates", "order": "dmy" if is_day_first else "mdy", "why": why}
    # Dates that all are the first of a month.
    if firsts == {1} != seconds or seconds == {1} != firsts:
        order = "dmy" if firsts == {1} else "mdy"
        return {"as": "dates", "order": order, "why": "every day is the first of its month"}
    has_slash = any(p.sign == "/" for p, _ in parts)
    return {"as": "dates", "order": "mdy" if has_slash else "dmy", "why": "assumed"}


def read_date(text: str, style: Mapping[str, Any]) -> float:
    """Return a date as days since 1970 in UTC; NaN if the cell has none.

    >>> read_date("04/03/2018 12:00", {"order": "dmy"}), read_date("3 March 2018", {"order": "mdy"})
    (17594.5, 17593.0)
    """
    found = take_apart(text)
    if isinstance(found, Parts):
        places = {"dmy": (2, 1, 0), "mdy": (2, 0, 1), "ymd": (0, 1, 2)}[style["order"]]
        numbers = found.first, found.second, found.third
        year, month, day = (numbers[k] for k in places)
        found = _count_days(year, month, day, found.days)
    return np.nan if found is None else found


def say_dates(style: Mapping[str, Any]) -> str:
    """Say how the dates of a column are read, and how to have them read otherwise."""
    if style["as"] == "epoch":
        unit = "seconds" if style["seconds"] == 1 else "milliseconds"
        return f"{unit} since 1970 by its name and range, read as dates"
    if style["as"] == "compact":
        return "dates such as 20240229 by its name and range"
    if style["why"] == "clear":
        return "dates"
    words = WORDS[style["order"]]
    if style["why"] == "assumed":
        other = "day-first" if style["order"] == "mdy" else "month-first"
        return f"dates, {words} is assumed, since no day is above 12 (--date-order {other} if not)"
    return f"dates, {words}" + ("" if style["why"] == "asked" else f" ({style['why']})")


def find_epoch(name: str, numbers: NDArray[np.float64], asked: bool) -> dict[str, Any] | None:
    """Return how whole numbers are dates: as 20240229, or as seconds or milliseconds since 1970.

    Unless dates were `asked` for, both the name and the range must say so.
    """
    present = numbers[~np.isnan(numbers)]
    if not len(present) or not (asked or STAMP_NAME.search(name)):
        return None
    if not (np.isfinite(present).all() and (present == np.floor(present)).all()):
        return None
    if present.min() >= 19_000_101 and present.max() <= 21_001_231:
        stamps = read_stamps(present, {"as": "compact"})
        return None if np.isnan(stamps).any() else {"as": "compact"}
    for seconds in (1.0, 1e-3):
        if present.min() * seconds >= FIRST_STAMP and present.max() * seconds <= LAST_STAMP:
            return {"as": "epoch", "seconds": seconds}
    return None


def read_stamps(numbers: NDArray[np.float64], style: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return numbers that stand for dates as days since 1970, NaN where they do not."""
    if style["as"] == "epoch":
        return numbers * (style["seconds"] / SECONDS_OF_A_DAY)
    days = np.full(len(numbers), np.nan)
    for k in np.flatnonzero((numbers >= 10_000_101) & (numbers <= 99_991_231)):
        whole = int(numbers[k])
        found = _count_days(whole // 10_000, whole // 100 % 100, whole % 100, 0.0)
        days[k] = np.nan if found is None or whole != numbers[k] else found
    return days


def check_years(column: Any, name: Any) -> None:
    """Refuse moments beyond the calendar, which a damaged file or another unit makes."""
    times = column.to_numpy(dtype="datetime64[s]")
    if ((times < FIRST) | (times > LAST)).any():
        raise TableError(
            f"Column {list_values([str(name)])} has a date outside the years 1 to 9999; correct "
            "it, or write the column as numbers."
        )
