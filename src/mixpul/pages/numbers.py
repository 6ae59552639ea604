"""Numbers as text.

Half is rounded up, as readers expect; Python's own rounding would take the even neighbour.
"""

import math

__all__ = [
    "format_count",
    "format_count_span",
    "format_percent",
    "format_score",
    "format_span",
    "format_thousandths",
    "format_threshold",
    "round_half_up",
]

UNKNOWN = "–"


def format_percent(share: float | None) -> str:
    """Write a share in percent with one decimal.

    >>> format_percent(0.8125)
    '81.3\\xa0%'
    """
    # A no-break space: the sign stays on the line of its number.
    return UNKNOWN if share is None else f"{_format_tenths(share)}\xa0%"


def format_span(low: float | None, high: float | None) -> str:
    """Write an interval of shares."""
    if low is None or high is None:
        return UNKNOWN
    return f"{_format_tenths(low)} to {format_percent(high)}"


def format_count(number: float) -> str:
    """Write a number of rows.

    >>> format_count(1234.5)
    '1,235'
    """
    return f"{round_half_up(number):,}"


def format_count_span(low: float | None, high: float | None, n: int) -> str:
    """Write an interval of shares of `n` rows as numbers of rows."""
    if low is None or high is None:
        return UNKNOWN
    return f"{format_count(low * n)} to {format_count(high * n)}"


def format_threshold(threshold: float) -> str:
    """Write a threshold with three decimals."""
    return f"{round_half_up(1000 * threshold) / 1000:.3f}"


def format_score(score: float) -> str:
    """Write the score of a row; one that is all but certain is not shown as certain.

    >>> format_score(0.99999), format_score(0.00001), format_score(0.25)
    ('> 0.9999', '< 0.0001', '0.2500')
    """
    if score < 0.00005:
        return "< 0.0001"
    return f"{score:.4f}" if score < 0.99995 else "> 0.9999"


def format_thousandths(value: float) -> str:
    """Write a number with three decimals, with a true minus sign."""
    # Zero is added to what rounds to -0.0.
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")


def round_half_up(number: float) -> int:
    """Round to the nearest whole number, half up."""
    return math.floor(number + 0.5)


def _format_tenths(share: float) -> str:
    return f"{round_half_up(1000 * share) / 10:.1f}".replace("-", "−")
