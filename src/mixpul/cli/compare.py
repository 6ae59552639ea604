"""`mixpul compare`: rank methods on a user's own table."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from mixpul._names import METHODS
from mixpul.cli._columns import describe_columns
from mixpul.cli._messages import (
    choose_verbosity,
    escape,
    format_interval,
    note,
    print_json,
    say,
    speak_warnings,
)
from mixpul.cli._outputs import check_result_folder, explain_full_disk
from mixpul.cli.options import (
    JsonOption,
    KnownPrior,
    Reading,
    SchedulerOption,
    SeedOption,
    TableArgument,
    TableOptions,
    choices_option,
)

if TYPE_CHECKING:
    from mixpul.cli._inputs import LabeledTable

__all__ = ["compare"]

GOES_ON = "The same command goes on where it stopped."


def compare(
    table: TableArgument,
    *,
    options: TableOptions,
    reading: Reading,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="Folder of results; a run that was stopped continues there."
        ),
    ],
    methods: Annotated[Any, choices_option(METHODS)] = "all",
    folds: Annotated[int, typer.Option(min=2, help="Every method is fitted once per fold.")] = 5,
    known: KnownPrior,
    seed: SeedOption = 0,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rank methods on the same folds of a table; recommend one and say how sure that is.

    Example: [bold]mixpul compare leads.csv --label bought --methods mixpul,nnpu -o methods[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul._util.cluster import use_cluster
    from mixpul.cli._inputs import quote_command, read_labeled_table

    check_result_folder(out)
    with use_cluster(scheduler), speak_warnings():
        data = read_labeled_table(table, options, reading)
        content = _compare_methods(data, methods, folds, known, seed, out)
    _write(content, table, out)
    if as_json:
        print_json(content)
    else:
        _show(content)
        for sentence in describe_columns(data.input.fit(data.X).report_):
            say(escape(sentence))
        say(f"Page: {escape(str(out / 'comparison.html'))}")
        if content["recommended"]:
            tables = [table] if isinstance(table, str) else table
            words = ["fit", *tables, *_repeat_options(options, reading, known)]
            command = quote_command([*words, "--method", content["recommended"]])
            say(escape(f"Next: {command}"))
    if content["recommended"] is None:
        # Scripts see that every method failed, although the results were written.
        raise typer.Exit(1)


def _compare_methods(
    data: "LabeledTable",
    methods: list[str],
    folds: int,
    known: KnownPrior,
    seed: int,
    out: Path,
) -> dict[str, Any]:
    from mixpul import assess

    try:
        with explain_full_disk(f"All of {str(out)!r}", f"Make room. {GOES_ON}"):
            found = assess.compare(
                data.X,
                data.is_positive,
                methods,
                table=data.input,
                folder=out,
                **known._asdict(),
                n_folds=folds,
                random_state=seed,
                verbose=choose_verbosity(),
                negative=data.is_negative,
            )
    except KeyboardInterrupt:
        note(f"Stopped. {GOES_ON}")
        raise
    return found.to_dict()


def _write(content: Mapping[str, Any], table: str, out: Path) -> None:
    """Write the comparison into its folder, as JSON and as a page."""
    import json

    from mixpul._util.files import write_whole
    from mixpul.cli._inputs import name_table, quote_command
    from mixpul.pages import render_comparison_page

    with explain_full_disk(f"All of {str(out)!r}", f"Make room. {GOES_ON}"):
        # First: a page that fails must not take the numbers along.
        write_whole(out / "comparison.json", (json.dumps(content, indent=1) + "\n").encode())
        page = render_comparison_page(content, source=name_table(table), command=quote_command())
        write_whole(out / "comparison.html", page.encode())


def _show(content: Mapping[str, Any]) -> None:
    leaderboard = Table(title=f"Out-of-fold PU-AUC, {content['folds']} folds")
    is_known = content["prior"] is not None
    titles = ["method", "PU-AUC (95 %)", "behind the best", "seconds"]
    for title in titles + ["AUC against negatives"] * is_known:
        leaderboard.add_column(
            title, justify="left" if title == "method" else "right", no_wrap=True
        )
    for entry in content["methods"]:
        leaderboard.add_row(
            entry["method"],
            format_interval(entry["pu_auc"]) if entry["pu_auc"] else "failed",
            format_interval(entry["behind"]) if entry["behind"] else "",
            "" if entry["seconds"] is None else f"{entry['seconds']:.1f}",
            *[format_interval(entry["corrected_auc"]) if entry["corrected_auc"] else ""] * is_known,
        )
    say(leaderboard)
    for entry in content["methods"]:
        if entry["failure"]:
            say(f"{entry['method']} failed: {escape(entry['failure'])}")
    say(escape(content["text"]))


def _repeat_options(*groups: TableOptions | Reading | KnownPrior) -> list[str]:
    """Return what was said of the table and of the class prior, as words of a command line."""
    words = []
    for group in groups:
        for name, value in group._asdict().items():
            option = "--" + name.removesuffix("_column").replace("_", "-")
            if value is True:
                words.append(option)
            # Joined by commas, since these options are given once; `parse_names` reads the quotes.
            elif name in ("drop", "keep", "categorical") and value:
                words += [option, ",".join(f'"{one}"' if "," in one else one for one in value)]
            elif isinstance(value, list):
                words += [word for one in value for word in (option, one)]
            elif isinstance(value, tuple):
                words += [option, ",".join(map(str, value))]
            elif value:
                words += [option, str(value)]
    return words
