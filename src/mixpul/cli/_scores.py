"""What `predict` and `predict-images` share: scores are written as they come."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from mixpul.cli._messages import note, print_json
from mixpul.cli._outputs import check_outputs, explain_full_disk
from mixpul.cli.options import ScoreOutputs
from mixpul.tables import write_table

__all__ = ["check_score_outputs", "write_scores"]


def check_score_outputs(outputs: ScoreOutputs, inputs: list[str]) -> None:
    """Refuse before any work what could not be written after it."""
    if outputs.out != "-":
        check_outputs([Path(outputs.out)], inputs, outputs.force)
    elif outputs.as_json:
        raise typer.BadParameter("--json and -o - both want standard output.")


def write_scores(
    batches: Iterable[Any],
    outputs: ScoreOutputs,
    *,
    threshold: float | None,
    unit: str,
    further: dict[str, Any] | None = None,
) -> None:
    """Write record batches with a column `predicted`, and say how many rows there were.

    `further` goes into the JSON; it may be filled while the batches are made.
    """
    out, units = outputs.out, f"{unit}s"
    counts = {units: 0, "flagged": 0}

    def count() -> Iterator[Any]:
        with Console(stderr=True).status("Scoring") as status:
            for batch in batches:
                counts[units] += batch.num_rows
                counts["flagged"] += int(batch.column("predicted").true_count)
                status.update(f"{counts[units]:,} {units}")
                yield batch

    what = ("Standard output", "Make room.") if out == "-" else (repr(out),)
    with explain_full_disk(*what):
        write_table(count(), out)
    used = 0.5 if threshold is None else threshold
    if outputs.as_json:
        print_json({**counts, **(further or {}), "threshold": used, "output": out})
        return
    scored = f"{counts[units]:,} {unit if counts[units] == 1 else units} scored"
    place = "." if out == "-" else f": {out}"
    note(f"{scored}, {counts['flagged']:,} above {used:.4g}{place}")
