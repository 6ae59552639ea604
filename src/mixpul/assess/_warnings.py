"""Warnings of a fit, kept for the page and passed on to the caller."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["record_warnings"]


@contextmanager
def record_warnings() -> Iterator[list[str]]:
    """Collect warnings meant for users; when the block ends, raise them again for the caller.

    They are raised again also when the block fails. What the caller filters stays filtered, but
    is collected all the same: two assessments of the same rows say the same.
    """
    sentences: list[str] = []
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield sentences
    finally:
        # Subclasses, such as those on convergence, are for programmers.
        found = [str(one.message) for one in caught if one.category is UserWarning]
        sentences += dict.fromkeys(found)
        for one in caught:
            # With their own file and line: `warnings.warn` would name this one for all.
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
