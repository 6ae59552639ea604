"""What is said: results on standard output, everything else on standard error."""

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape as escape_markup

from mixpul._util.printable import make_printable
from mixpul.cli._streams import complain

__all__ = [
    "choose_verbosity",
    "count_sample",
    "escape",
    "format_auc",
    "format_interval",
    "format_prior",
    "format_propensity",
    "format_weights",
    "note",
    "note_skipped",
    "print_json",
    "say",
    "speak_warnings",
]


def say(text: Any) -> None:
    """Print a line with rich's markup, or one of rich's tables, on standard output."""
    # Text is not wrapped, so paths and commands can be copied; tables fit the terminal.
    Console(highlight=False, soft_wrap=isinstance(text, str)).print(text)


def escape(text: Any) -> str:
    """Return text from users and files as rich should print it: no markup, no terminal codes."""
    return escape_markup(make_printable(str(text)))


def note(sentence: str) -> None:
    """Print a sentence on standard error."""
    complain(make_printable(sentence))


def format_sample(data: Mapping[str, Any]) -> str:
    """Say what rests on a sample of the rows; `data` is that of an `Assessment`."""
    drawn = count_sample(data["positives"], data["unlabeled"], data["sample"])
    return (
        f"{drawn}; rates rest on it, and numbers of flagged and positive rows are those of the "
        "whole table by these rates"
    )


def count_sample(n_positive: int, n_unlabeled: int, whole: Mapping[str, Any]) -> str:
    """Say how many rows of a large table were drawn; `whole` are the numbers of the table."""
    return (
        f"a random sample: {n_positive:,} of {whole['positives']:,} labeled positives and "
        f"{n_unlabeled:,} of {whole['unlabeled']:,} unlabeled rows ({whole['share']:.2%})"
    )


def note_skipped(skipped: Iterable[tuple[str, str]]) -> None:
    """Name the images that were left out, each with the reason."""
    for image, reason in skipped:
        note(f"skipped: {image} {reason}.")


def print_json(content: Any) -> None:
    """Print `content` as JSON on standard output."""
    import json

    # JSON has no NaN: a parser other than Python's would fail on it.
    print(json.dumps(content, indent=1, allow_nan=False))


def format_interval(estimate: Any) -> str:
    """Return an Estimate, or the same as a mapping, as text: the value and its interval."""
    numbers = estimate if isinstance(estimate, Mapping) else estimate._asdict()
    value, low, high = (
        # Zero is added to what rounds to -0.0.
        "-" if numbers[name] is None else f"{round(numbers[name], 3) + 0.0:.3f}"
        for name in ("value", "low", "high")
    )
    return f"{value} ({low} to {high})"


def format_prior(prior: Mapping[str, Any]) -> str:
    """Return what is known of the class prior as text.

    >>> format_prior({"source": "estimated", "upper": 0.42})
    'at most 0.420 (95 % confidence)'
    """
    if prior["source"] == "estimated":
        return f"at most {prior['upper']:.3f} (95 % confidence)"
    source = f"{prior['source']}; the scores allow at most {prior['upper']:.3f}"
    if prior["low"] is None:
        return f"{prior['value']:.3g} ({source})"
    return f"{prior['value']:.3g}, {prior['low']:.3g} to {prior['high']:.3g} ({source})"


def format_auc(auc: Mapping[str, Any]) -> str:
    """Return the AUC against negatives as text: between two ends, or estimated."""
    if auc["kind"] == "at most":
        return f"{auc['low']:.3f} to {auc['value']:.3f}, by the class prior"
    return format_interval(auc)


def format_weights(leaderboard: Iterable[Mapping[str, Any]]) -> str:
    """Return the candidates that count and their weights as text, the heaviest first.

    >>> format_weights([{"candidate": "vpu", "weight": 0.0}, {"candidate": "trees", "weight": 1.0}])
    'trees 1.00'
    """
    kept = sorted((one for one in leaderboard if one["weight"] > 0), key=lambda one: -one["weight"])
    return ", ".join(f"{one['candidate']} {one['weight']:.2f}" for one in kept)


def format_propensity(propensity: Mapping[str, Any]) -> str:
    r"""Return how labeled positives were weighed as text, the heaviest kind first.

    >>> kinds = [{"name": "age is low", "weight": 0.5}, {"name": "age is high", "weight": 2.5}]
    >>> print(format_propensity({"columns": ["age"], "kinds": kinds}).replace(". ", "\n"))
    Labeled positives count by how rarely their kind is labeled: age is high 2.50, age is low 0.50
    The figures count them all the same.
    """
    kinds = sorted(propensity["kinds"], key=lambda kind: -kind["weight"])
    listed = ", ".join(f"{kind['name']} {kind['weight']:.2f}" for kind in kinds)
    said = f"Labeled positives count by how rarely their kind is labeled: {listed}"
    return f"{said}. The figures count them all the same."


def choose_verbosity() -> int:
    """Return 1, which shows progress bars, where standard error is a terminal; else 0."""
    return int(sys.stderr.isatty())


@contextmanager
def speak_warnings() -> Iterator[list[str]]:
    """Collect warnings meant for users and say each of them once, as a sentence.

    They are said when the block ends, also when it fails: a warning may tell why it did.
    """
    spoken: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield spoken
        finally:
            for warning in caught:
                sentence = str(warning.message)
                # Subclasses, such as those on convergence, are for programmers.
                if warning.category is UserWarning and sentence not in spoken:
                    spoken.append(sentence)
                    note(f"warning: {sentence}")
