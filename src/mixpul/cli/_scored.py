"""What `predict` and `predict-images` share: scores go out as they come."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from mixpul.cli._outputs import check_outputs, told_if_full
from mixpul.cli._thresholds import parsed_threshold
from mixpul.cli._words import note, print_json
from mixpul.tables import write_table

__all__ = ["asked_threshold", "write_scores"]


def asked_threshold(
    threshold: str | None, *, out: str, inputs: list[str], force: bool, as_json: bool
) -> float | str | None:
    """The cut as it was typed, unless something else makes no sense."""
    if as_json and out == "-":
        raise typer.BadParameter("--json and -o - both want standard output.")
    asked = None if threshold is None else parsed_threshold(threshold)
    if out != "-":
        check_outputs([Path(out)], inputs, force)
    return asked


def write_scores(
    batches: Iterable[Any],
    *,
    out: str,
    cut: float | None,
    as_json: bool,
    unit: str,
    more: dict[str, Any],
) -> None:
    """Write record batches with a column `predicted`, and say how many rows that was.

    `more` goes into the JSON; it may be filled while the batches are made.
    """
    counts = {f"{unit}s": 0, "flagged": 0}

    def counted() -> Iterator[Any]:
        with Console(stderr=True).status("Scoring") as status:
            for batch in batches:
                counts[f"{unit}s"] += batch.num_rows
                counts["flagged"] += int(batch.column("predicted").true_count)
                status.update(f"{counts[f'{unit}s']:,} {unit}s")
                yield batch

    with told_if_full(repr(out)) if out != "-" else told_if_full("Standard output", "Make room."):
        write_table(counted(), out)
    shown, n = 0.5 if cut is None else cut, counts[f"{unit}s"]
    if as_json:
        print_json({**counts, **more, "threshold": shown, "output": out})
    else:
        note(
            f"{n:,} {unit if n == 1 else unit + 's'} scored, {counts['flagged']:,} above "
            f"{shown:.4g}" + ("." if out == "-" else f": {out}")
        )
