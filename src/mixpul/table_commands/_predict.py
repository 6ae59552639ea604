"""`mixpul predict`."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from mixpul.table_commands._cuts import found_cut, parsed_threshold
from mixpul.table_commands._inputs import load_model, merged_reading
from mixpul.table_commands._outputs import check_outputs, told_if_full
from mixpul.table_commands._words import note, print_json
from mixpul.tables import score_stream, stream_table, write_table
from mixpul.tables._formats import is_stream

__all__ = ["predict"]


def predict(
    model: Path,
    table: str,
    *,
    out: str,
    id_column: str | None,
    threshold: str | None,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Score a table of any size, row by row."""
    if as_json and out == "-":
        raise typer.BadParameter("--json and -o - both want standard output.")
    asked = None if threshold is None else parsed_threshold(threshold)
    if out != "-":
        check_outputs([Path(out)], [table, str(model)], force)
    pipeline, info = load_model(model)
    cut = None if asked is None else found_cut(asked, info)
    reading = merged_reading(info, reading)
    keep = _kept_id(table, id_column, info, reading)
    kinds = {name: "text" for name in keep} | pipeline[0].kinds_
    scored = score_stream(
        pipeline, stream_table(table, kinds=kinds, **reading), keep=keep, threshold=cut
    )
    counts = {"rows": 0, "flagged": 0}
    with told_if_full(repr(out)) if out != "-" else told_if_full("Standard output", "Make room."):
        write_table(_counted(scored, counts), out)
    shown = 0.5 if cut is None else cut
    if as_json:
        print_json({**counts, "threshold": shown, "output": out})
    else:
        rows = "row" if counts["rows"] == 1 else "rows"
        note(
            f"{counts['rows']:,} {rows} scored, {counts['flagged']:,} above {shown:.4g}"
            + ("." if out == "-" else f": {out}")
        )


def _kept_id(
    table: str, id_column: str | None, info: Mapping[str, Any], reading: Mapping[str, Any]
) -> list[str]:
    """The id column asked for, or that of the fit if the table has it."""
    if id_column is not None:
        return [id_column]
    of_fit = info.get("id")
    if of_fit is None or is_stream(table):  # which cannot be looked at twice
        return []
    return [of_fit] if of_fit in next(stream_table(table, **reading)).schema.names else []


def _counted(batches: Iterable[Any], counts: dict[str, int]) -> Iterator[Any]:
    with Console(stderr=True).status("Scoring") as status:
        for batch in batches:
            counts["rows"] += batch.num_rows
            counts["flagged"] += int(batch.column("predicted").true_count)
            status.update(f"{counts['rows']:,} rows")
            yield batch
