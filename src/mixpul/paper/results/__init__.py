"""Results of trials as a page to read, and as Markdown: our numbers beside the published ones.

Nothing here runs a trial. Means, standard deviations (of the population: divided by the number of
runs) and ranks are taken from the records alone, so the same results give the same page.
"""

import os

from mixpul._util.files import write_whole
from mixpul.pages.render import render
from mixpul.paper.results.figures import figure, rank_chart
from mixpul.paper.results.markdown import paper_markdown, quality_markdown
from mixpul.paper.results.numbers import (
    MEASURES,
    Cell,
    best_methods,
    losses,
    mean_ranks,
    newest,
    published_value,
    read_folder,
    summarise,
)
from mixpul.paper.results.sections import provenance, read_sections, setting_text

__all__ = [
    "MEASURES",
    "Cell",
    "best_methods",
    "losses",
    "mean_ranks",
    "newest",
    "paper_markdown",
    "paper_page",
    "published_value",
    "quality_markdown",
    "read_folder",
    "render",
    "summarise",
    "write_report",
]


def paper_page(folder: str | os.PathLike) -> str:
    """The paper's tables and figures with our numbers: one HTML page that loads nothing."""
    everything = read_sections(folder)
    sections = [section for section in everything if section.records]
    return render(
        "paper.html.j2",
        sections=sections,
        missing=[section for section in everything if not section.records],
        headlines=[section.headline for section in sections if section.headline],
        figures={section.target.name: figure(section) for section in sections},
        rank_charts={
            section.target.name: rank_chart(section)
            for section in sections
            if section.is_compared and len(section.overall) > 6
        },
        provenance=provenance(everything),
        setting_text=setting_text,
    )


def write_report(
    results: str | os.PathLike, out: str | os.PathLike, markdown: str | os.PathLike | None = None
) -> None:
    """Write the page to `out` and, if asked for, the Markdown tables to `markdown`."""
    write_whole(out, paper_page(results).encode())
    if markdown is not None:
        write_whole(markdown, paper_markdown(results).encode())
