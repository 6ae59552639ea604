"""What the text of a column stands for: numbers, dates, lengths of time, yes or no.

It is decided over the whole column at fit, and kept as a `style`, plain values ready for JSON.
Every cell is read by the style alone, so that it means the same in every file and every batch.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul.tables._dates import find_date_style, read_date, read_stamps, say_dates
from mixpul.tables._durations import find_duration_style, read_duration
from mixpul.tables._numerals import (
    PLAIN,
    find_numeral_style,
    is_code,
    read_numeral,
    say_numerals,
)
from mixpul.tables._words import find_yes_no, is_gap, is_yes

__all__ = ["Found", "insist", "read_texts", "recognise", "settle_orders"]

Style = dict[str, Any]

# So much of a column must be readable; what is not, counts as a gap. Then it must have so many
# different values, too: among a few, another word is another category.
LEAST_READABLE, LEAST_DISTINCT = 0.95, 10
MOST_TEXTS = 20_000  # different ones that are looked at to decide


class Found(NamedTuple):
    """What a column of text stands for: a kind, how to read it, and that in words."""

    kind: str
    style: Style | None
    said: str


def recognise(texts: Sequence[str], counts: NDArray[np.intp], order: str | None) -> Found:
    """Find out what the texts of a column stand for; 'text' if for nothing but themselves.

    Parameters
    ----------
    texts : sequence of str
        The different texts.
    counts : ndarray of int
        How many rows have each.
    order : str or None
        'dmy' or 'mdy' if a user says so.
    """
    by_text = _sum_counts(texts, counts)
    cells = _sample_cells(by_text)
    if not cells:
        return Found("text", None, "")
    if pair := find_yes_no(cells):
        return _finish("boolean", {"as": "yes/no", **pair}, "yes or no", by_text)
    if not any(any(map(str.isdigit, text)) for text in list(cells)[:1000]):
        return Found("text", None, "")
    numerals = find_numeral_style(cells)
    if not any(map(is_code, cells)) and _is_readable(numerals, cells):
        return _finish("number", numerals, say_numerals(numerals), by_text)
    durations = find_duration_style(cells)
    if durations is not None and _is_readable(durations, cells):
        return _finish("number", durations, "lengths of time, in seconds", by_text)
    dates = find_date_style(cells, order)
    if _is_readable(dates, cells):
        return _finish("date", dates, say_dates(dates), by_text)
    return Found("text", None, "")


def insist(
    kind: str, texts: Sequence[str], counts: NDArray[np.intp], order: str | None
) -> Found | None:
    """Read a column as numbers or dates because a user says so; None if no cell can be."""
    by_text = _sum_counts(texts, counts)
    cells = _sample_cells(by_text)
    candidates: list[tuple[Style, str]] = []
    if kind == "number":
        numerals = find_numeral_style(cells)
        candidates.append((numerals, say_numerals(numerals)))
        if (durations := find_duration_style(cells)) is not None:
            candidates.append((durations, "lengths of time, in seconds"))
    else:
        dates = find_date_style(cells, order)
        candidates.append((dates, say_dates(dates)))
    share, style, said = max(
        ((_measure_readable(style, cells)[0], style, said) for style, said in candidates),
        key=lambda one: one[0],
    )
    return _finish(kind, style, said, by_text) if share else None


def settle_orders(found: Mapping[str, Found]) -> dict[str, Found]:
    """Let columns of dates that do not tell whether the day comes first follow those that do."""
    told = {
        one.style["order"]: name
        for name, one in found.items()
        if one.style is not None and one.style.get("why", "").startswith("a day")
    }
    if len(told) != 1:
        return dict(found)
    ((order, like),) = told.items()
    settled = {}
    for name, one in found.items():
        if one.style is not None and one.style.get("why") == "assumed":
            style = {**one.style, "order": order, "why": f"as in {like!r}"}
            one = one._replace(style=style, said=say_dates(style))
        settled[name] = one
    return settled


def _sum_counts(texts: Sequence[str], counts: NDArray[np.intp]) -> dict[str, int]:
    """Return how many rows have each text: different values may have the same one."""
    by_text: dict[str, int] = {}
    for text, count in zip(texts, counts, strict=True):
        if count:
            by_text[text] = by_text.get(text, 0) + int(count)
    return by_text


def _sample_cells(by_text: Mapping[str, int]) -> dict[str, int]:
    """Return the cells that are no gaps, every so many of them if there are many."""
    cells = [(text, count) for text, count in by_text.items() if not is_gap(text)]
    return dict(cells[:: -(-len(cells) // MOST_TEXTS) or 1])


def _measure_readable(style: Style, cells: Mapping[str, int]) -> tuple[float, int]:
    """Return the share of rows that can be read in a style, and how many values they have."""
    values, _ = read_texts(list(cells), style)
    is_read = ~np.isnan(values)
    counts = np.array(list(cells.values()))
    return float(counts[is_read].sum() / counts.sum()), len(np.unique(values[is_read]))


def _is_readable(style: Style, cells: Mapping[str, int]) -> bool:
    share, n_distinct = _measure_readable(style, cells)
    return share == 1 or (share >= LEAST_READABLE and n_distinct >= LEAST_DISTINCT)


def _finish(kind: str, style: Style, said: str, by_text: Mapping[str, int]) -> Found:
    """Say which words are read as gaps, and remember whether all words are."""
    gaps = [text for text in by_text if is_gap(text) and text.strip()]
    _, is_bad = read_texts(list(by_text), style)
    bad = [text for text, own in zip(by_text, is_bad, strict=True) if own]
    # Whoever fits a column with such words will have others of them to predict.
    style = {**style, "lenient": bool(bad)}
    words = sorted(gaps + bad, key=lambda text: -by_text[text])
    if words:
        shown = ", ".join(repr(word[:30]) for word in words[:3])
        said += f", {shown}{' and others' if len(words) > 3 else ''} read as gaps"
    return Found(kind, style, said)


def _read_yes_no(text: str, style: Mapping[str, Any]) -> float:
    value = is_yes(text, style)
    return np.nan if value is None else value


def _read_stamp(text: str, style: Mapping[str, Any]) -> float:
    return float(read_stamps(np.array([read_numeral(text, PLAIN)]), style)[0])


READERS: dict[str, Callable[[str, Mapping[str, Any]], float]] = {
    "numerals": read_numeral,
    "durations": read_duration,
    "dates": read_date,
    "epoch": _read_stamp,
    "compact": _read_stamp,
    "yes/no": _read_yes_no,
}


def read_texts(
    texts: Sequence[str], style: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the value of each text in a style, and which of them have none and are no gaps."""
    read = READERS[style["as"]]
    values = np.array([read(text, style) for text in texts], dtype=np.float64)
    is_bad = np.isnan(values)
    for k in np.flatnonzero(is_bad):
        is_bad[k] = not is_gap(texts[int(k)])
    return values, is_bad
