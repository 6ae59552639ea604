"""`mixpul predict`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixpul.cli._inputs import load_model, merged_reading
from mixpul.cli._scored import asked_threshold, write_scores
from mixpul.cli._thresholds import found_cut
from mixpul.tables import score_stream, stream_table
from mixpul.tables.formats import is_stream

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
    inputs = [table, str(model)]
    asked = asked_threshold(threshold, out=out, inputs=inputs, force=force, as_json=as_json)
    pipeline, info = load_model(model)
    cut = None if asked is None else found_cut(asked, info)
    reading = merged_reading(info, reading)
    keep = _kept_id(table, id_column, info, reading)
    kinds = {name: "text" for name in keep} | pipeline[0].kinds_
    scored = score_stream(
        pipeline, stream_table(table, kinds=kinds, **reading), keep=keep, threshold=cut
    )
    write_scores(scored, out=out, cut=cut, as_json=as_json, unit="row", more={})


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
