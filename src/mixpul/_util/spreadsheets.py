"""Cells that spreadsheets show, and must not run."""

from typing import Any

__all__ = ["disarm_formula"]


def disarm_formula(value: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    text = str(value)
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    # A negative number begins with a minus sign, too, and should stay a number.
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return value
