"""`mixpul predict`: score a table of any size."""

from collections.abc import Mapping
from typing import Any

from mixpul.cli.options import IdOption, ModelArgument, Reading, ScoreOutputs, TableArgument

__all__ = ["predict"]


def predict(
    model: ModelArgument,
    table: TableArgument,
    *,
    id_column: IdOption = None,
    outputs: ScoreOutputs,
    reading: Reading,
) -> None:
    """Score a table of any size: columns `score` and `predicted`, in the order of the rows.

    With --probability also `probability`, of being positive. A score only ranks rows.

    Example: [bold]mixpul predict model.mixpul new.csv -o scores.csv --threshold recall=0.9[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.cli._inputs import load_table_model
    from mixpul.cli._messages import speak_warnings
    from mixpul.cli._scores import check_score_outputs, write_scores
    from mixpul.cli._thresholds import find_threshold
    from mixpul.tables import score_stream, stream_table

    check_score_outputs(outputs, [table, str(model)])
    pipeline, info = load_table_model(model)
    asked = outputs.threshold
    threshold = None if asked is None else find_threshold(asked, info)
    style = reading.fill_from(info.get("reading", {})).to_arguments()
    with speak_warnings():
        keep = _choose_id(table, id_column, info, style)
    # As text, so that an id such as 007 keeps its zeros; columns of the model keep their kind.
    kinds = {name: "text" for name in keep} | pipeline[0].kinds_
    rows = stream_table(table, kinds=kinds, **style)
    scored = score_stream(
        pipeline,
        rows,
        keep=keep,
        threshold=threshold,
        probability=outputs.probability,
        prior=outputs.prior,
    )
    write_scores(scored, outputs, threshold=threshold, unit="row", key="rows")


def _choose_id(
    table: str, id_column: str | None, info: Mapping[str, Any], style: Mapping[str, Any]
) -> list[str]:
    """Return the id column asked for, or that of the fit if the table has it."""
    from mixpul.tables import stream_table
    from mixpul.tables.opening import is_stream

    if id_column is not None:
        return [id_column]
    of_fit = info.get("id")
    if of_fit is None or is_stream(table):  # which cannot be looked at twice
        return []
    return [of_fit] if of_fit in next(stream_table(table, **style)).schema.names else []
