"""What `predict` and `predict-images` share: scores are written as they come."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from mixpul.cli._messages import note, print_json, speak_warnings
from mixpul.cli._outputs import check_outputs, explain_full_disk
from mixpul.cli.options import ScoreOutputs
from mixpul.tables import write_table

__all__ = ["check_score_outputs", "write_scores"]


def check_score_outputs(outputs: ScoreOutputs, inputs: Sequence[str | Sequence[str]]) -> None:
    """Refuse before any work what could not be written after it."""
    if outputs.out != "-":
        check_outputs([Path(outputs.out)], inputs, outputs.force)
    elif outputs.as_json:
        raise typer.BadParameter("--json and -o - both write to standard output; use one of them.")
    if outputs.prior is not None and not outputs.probability:
        raise typer.BadParameter("--prior has a meaning with --probability only; add that.")


def write_scores(
    batches: Iterable[Any],
    outputs: ScoreOutputs,
    *,
    threshold: float | None,
    unit: str,
    key: str,
    further: dict[str, Any] | None = None,
    shows_progress: bool = False,
) -> None:
    """Write record batches with a column `predicted`, and say how many rows there were.

    Rows are called `unit`; the JSON has their number under `key`, and `further`, which may be
    filled while the batches are made. They are counted on the terminal, unless they show their own
    progress.
    """
    out, n_rows, n_flagged = outputs.out, 0, 0

    def count() -> Iterator[Any]:
        nonlocal n_rows, n_flagged
        # Standard output may be where the scores go.
        status = None if shows_progress else Console(stderr=True).status("Scoring")
        with status or nullcontext():
            for batch in batches:
                n_rows += batch.num_rows
                n_flagged += int(batch.column("predicted").true_count)
                if status is not None:
                    status.update(f"{n_rows:,} {unit}s")
                yield batch

    what = ("Standard output", "Make room.") if out == "-" else (repr(out),)
    # An estimated prior makes upper bounds of probabilities, which is said at the first row.
    with explain_full_disk(*what), speak_warnings():
        write_table(count(), out)
    used = 0.5 if threshold is None else threshold
    if outputs.as_json:
        counts = {key: n_rows, "flagged": n_flagged}
        print_json({**counts, **(further or {}), "threshold": used, "output": out})
        return
    place = "." if out == "-" else f": {out}"
    note(
        f"{n_rows:,} {unit}{'' if n_rows == 1 else 's'} scored, {n_flagged:,} above {used:.4g}"
        f"{place}"
    )
