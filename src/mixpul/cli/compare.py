"""`mixpul compare`."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from mixpul._util.files import write_whole
from mixpul.assess import METHODS, Comparison
from mixpul.assess import compare as compare_methods
from mixpul.cli._inputs import chosen, command_line, read_labeled, source_name
from mixpul.cli._outputs import check_folder, told_if_full
from mixpul.cli._words import (
    interval,
    note,
    print_json,
    say,
    shows_progress,
    spoken_warnings,
)
from mixpul.pages import comparison_page

__all__ = ["compare"]

GOES_ON = "The same command goes on where it stopped."


def compare(
    table: str,
    label: str,
    *,
    methods: Sequence[str],
    folds: int,
    seed: int,
    out: Path,
    as_json: bool,
    **source: Any,
) -> None:
    """Fit methods on the same folds, rank them, recommend one."""
    names = chosen(methods, METHODS, "--methods")
    check_folder(out)
    with spoken_warnings():
        data = read_labeled(table, label, **source)
        try:
            with told_if_full(f"All of {str(out)!r}", f"Make room. {GOES_ON}"):
                found = compare_methods(
                    data.X,
                    data.is_positive,
                    names,
                    table=data.input,
                    folder=out,
                    n_folds=folds,
                    random_state=seed,
                    verbose=shows_progress(),
                )
        except KeyboardInterrupt:
            note(f"Stopped. {GOES_ON}")
            raise
    content = found.to_dict()
    page = comparison_page(content, source=source_name(table), command=command_line())
    with told_if_full(f"All of {str(out)!r}", f"Make room. {GOES_ON}"):
        write_whole(out / "comparison.json", (json.dumps(content, indent=1) + "\n").encode())
        write_whole(out / "comparison.html", page.encode())
    if as_json:
        print_json(content)
    else:
        _show(found)
        say(f"Page: {escape(str(out / 'comparison.html'))}")
        if found.recommended:
            words = ["mixpul", "fit", table, "--label", label, *_again(source)]
            say(escape(f"Next: {shlex.join([*words, '--method', found.recommended])}"))
    if found.recommended is None:
        raise typer.Exit(1)


def _again(source: Mapping[str, Any]) -> list[str]:
    """What was said of the table, as words of a command line."""
    words = []
    for name, value in source.items():
        option = "--" + name.replace("id_column", "id").replace("_", "-")
        if value is True:
            words.append(option)
        elif name in ("drop", "keep", "categorical") and value:
            words += [option, ",".join(f'"{one}"' if "," in one else one for one in value)]
        elif isinstance(value, list):
            words += [word for one in value for word in (option, one)]
        elif value:
            words += [option, value]
    return words


def _show(found: Comparison) -> None:
    leaderboard = Table(title=f"Out-of-fold PU-AUC, {found.folds} folds")
    for title in ("method", "PU-AUC (95 %)", "behind the best", "seconds"):
        leaderboard.add_column(
            title, justify="left" if title == "method" else "right", no_wrap=True
        )
    for entry in found.methods:
        leaderboard.add_row(
            entry["method"],
            interval(entry["pu_auc"]) if entry["pu_auc"] else "failed",
            interval(entry["behind"]) if entry["behind"] else "",
            "" if entry["seconds"] is None else f"{entry['seconds']:.1f}",
        )
    say(leaderboard)
    for entry in found.methods:
        if entry["failure"]:
            say(f"{entry['method']} failed: {escape(entry['failure'])}")
    say(escape(found.text))
