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
    """Turn results into one page: the paper's claims with verdicts, its tables and its figures.

    Example: [bold]mixpul report results -o report.html[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.paper.results import count_verdicts, judge_claims, read_sections, write_report

    write_report(results, out, markdown)
    print(f"Claims of the paper: {count_verdicts(judge_claims(read_sections(results)))}.")
    print(f"Page: {out}")
