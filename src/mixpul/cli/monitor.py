"""`mixpul monitor`: has the world moved since the fit?"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from mixpul.cli._messages import print_json, say
from mixpul.cli._outputs import check_outputs, explain_full_disk
from mixpul.cli.options import ForceOption, JsonOption, ModelArgument, Reading, TableArgument

__all__ = ["monitor"]

# What a scheduler sees; 2 is bad input, as for all commands.
HAS_MOVED = 3


class Against(StrEnum):
    """The rows of the fit that new rows should be like."""

    unlabeled = "unlabeled"
    all = "all"


def monitor(
    model: ModelArgument,
    table: TableArgument,
    *,
    against: Annotated[
        Against, typer.Option(help="The rows of the fit that new rows should be like.")
    ] = Against.unlabeled,
    page: Annotated[
        Path | None, typer.Option("--report", help="Page to write (.html).", metavar="FILE")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    reading: Reading,
) -> None:
    """Say whether columns, scores or the share of positives have moved since the fit.

    The exit code is 0 if nothing has moved, 3 if something has, and 2 if the input is bad.

    Example: [bold]mixpul monitor model.mixpul today.csv --report today.html[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul._util.files import write_whole
    from mixpul._util.json_values import to_plain
    from mixpul.cli._inputs import load_table_model, name_table, quote_command
    from mixpul.pages import render_monitor_page

    if page is not None:
        check_outputs([page], [table, str(model)], force)
    pipeline, info = load_table_model(model)
    if "summary" not in info:
        raise ValueError(
            f"{str(model)!r} keeps no summaries of the table it was fitted on, so nothing can be "
            "compared; fit it again with `mixpul fit`, which keeps them."
        )
    style = reading.fill_from(info.get("reading", {})).to_arguments()
    found = to_plain(_watch(pipeline, info, table, against, style))
    found |= {"table": name_table(table), "model": model.name, "command": quote_command()}
    if page is not None:
        with explain_full_disk(repr(str(page))):
            write_whole(page, render_monitor_page(found).encode())
    if as_json:
        print_json(found)
    else:
        _show(found)
    if found["moved"]:
        raise typer.Exit(HAS_MOVED)


def _watch(
    pipeline: Any, info: Mapping[str, Any], table: str, against: Against, style: dict[str, Any]
) -> dict[str, Any]:
    """Read the table once, in pieces, and compare."""
    from mixpul.assess.monitoring import Watch
    from mixpul.tables import stream_table
    from mixpul.tables.opening import is_stream

    kinds = pipeline[0].kinds_
    missing: list[str] = []
    if not is_stream(table):  # which cannot be looked at twice
        names = next(stream_table(table, **style)).schema.names
        missing = [name for name in kinds if name not in names]
        kinds = {name: kind for name, kind in kinds.items() if name in names}
    if not kinds:
        raise ValueError("The table has none of the columns of the model; is it another table?")
    watch = Watch(pipeline, info["summary"], against.value, missing)
    for batch in stream_table(table, kinds=kinds, **style):
        watch.add(batch)
    return watch.conclude(info.get("assessment", {}).get("prior"))


def _show(found: Mapping[str, Any]) -> None:
    from mixpul.pages.monitor import describe_share

    verdict = "[yellow]moved[/]" if found["moved"] else "[green]nothing has moved[/]"
    say(
        f"{escape(found['table'])}: {verdict} ({found['rows']:,} rows against "
        f"{found['rows_at_fit']:,} {'unlabeled ' if found['against'] == 'unlabeled' else ''}rows "
        "of the fit)"
    )
    if found["missing_columns"]:
        say(f"Missing columns, so no scores: {escape(', '.join(found['missing_columns']))}")
    if scores := found["scores"]:
        say(
            f"Scores: {'moved' if scores['moved'] else 'as before'}, by {scores['distance']:.2f} "
            f"standard deviations ({scores['noise']:.2f} by chance)"
        )
    if share := found["positives"]:
        say(f"Share of positives: {describe_share(share)}")
    columns = Table(title="Columns that moved")
    for title in ("column", "what", "PSI"):
        columns.add_column(title)
    for entry in found["columns"]:
        if entry["findings"]:
            what = "; ".join(entry["findings"])
            columns.add_row(escape(entry["column"]), escape(what), _write_psi(entry))
    if columns.row_count:
        say(columns)


def _write_psi(entry: Mapping[str, Any]) -> str:
    return f"{entry['psi']:.3f} ({entry['noise']:.3f} by chance)"
