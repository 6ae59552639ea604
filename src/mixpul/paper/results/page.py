"""The paper's tables and figures as one HTML page."""

import os

from mixpul._util.files import write_whole
from mixpul.pages.render import render
from mixpul.paper.results.claims import SPEAKS, judge_claims
from mixpul.paper.results.figures import draw_figure, draw_ranks
from mixpul.paper.results.markdown import render_paper_markdown
from mixpul.paper.results.sections import describe_provenance, describe_setting, read_sections

__all__ = ["render_paper_page", "write_report"]

# With fewer methods, the table of ranks says as much as a chart.
_FEWEST_RANKS_TO_DRAW = 7


def render_paper_page(folder: str | os.PathLike) -> str:
    """Render the paper's tables and figures with our numbers: one page that loads nothing."""
    everything = read_sections(folder)
    sections = [section for section in everything if section.records]
    return render(
        "paper.html.j2",
        sections=sections,
        missing=[section for section in everything if not section.records],
        cut_short=[row for section in everything for row in section.cut_short],
        claims=judge_claims(everything),
        speaks=SPEAKS,
        headlines=[section.headline for section in sections if section.headline],
        figures={section.target.name: draw_figure(section) for section in sections},
        rank_charts={
            section.target.name: draw_ranks(section)
            for section in sections
            if section.is_compared and len(section.overall) >= _FEWEST_RANKS_TO_DRAW
        },
        provenance=describe_provenance(everything),
        setting_text=describe_setting,
    )


def write_report(
    results: str | os.PathLike, out: str | os.PathLike, markdown: str | os.PathLike | None = None
) -> None:
    """Write the page to `out` and, if asked for, the Markdown tables to `markdown`."""
    write_whole(out, render_paper_page(results).encode())
    if markdown is not None:
        write_whole(markdown, render_paper_markdown(results).encode())
