"""Results on standard output, everything else on standard error."""

import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from mixpul.metrics import Estimate

__all__ = ["interval", "note", "print_json", "say", "shows_progress", "spoken_warnings"]


def say(text: Any) -> None:
    Console(highlight=False, soft_wrap=isinstance(text, str)).print(text)


def note(sentence: str) -> None:
    print(f"mixpul: {sentence}", file=sys.stderr)


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=1, allow_nan=False))


def interval(estimate: Estimate | Mapping[str, Any]) -> str:
    numbers = estimate._asdict() if isinstance(estimate, Estimate) else estimate
    value, low, high = (
        # Zero is added to what rounds to -0.0.
        "-" if numbers[name] is None else f"{round(numbers[name], 3) + 0.0:.3f}"
        for name in ("value", "low", "high")
    )
    return f"{value} ({low} to {high})"


def shows_progress() -> int:
    return int(sys.stderr.isatty())


@contextmanager
def spoken_warnings() -> Iterator[list[str]]:
    """Collect warnings meant for users and say each of them once, as a sentence."""
    spoken: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield spoken
    for warning in caught:
        sentence = str(warning.message)
        # Subclasses, such as those on convergence, are for programmers.
        if warning.category is UserWarning and sentence not in spoken:
            spoken.append(sentence)
            note(f"warning: {sentence}")
