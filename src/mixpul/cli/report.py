"""`mixpul report`: the results of `mixpul reproduce` as a page."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    results: Annotated[Path, typer.Argument(help="Folder of results of `mixpul reproduce`.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write.")] = Path(
        "report.html"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Also write the tables as Markdown.", show_default=False)
    ] = None,
) -> None:
    """Turn results into one page: the paper's tables and figures, our numbers beside them.

    Example: [bold]mixpul report results -o report.html[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.paper.results import write_report

    write_report(results, out, markdown)
    print(f"Page: {out}")
