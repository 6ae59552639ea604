"""Results of trials as a page to read, and as Markdown: our numbers beside the published ones.

Nothing here runs a trial. Means, standard deviations (of the population: divided by the number of
runs) and ranks are taken from the records alone, so the same results lead to the same page.

- `gaps`, `numbers`: paired differences, means, ranks, and where a method loses
- `sections`: one table or figure, its cells as text
- `evidence`, `claims`: what the paper claims, and what speaks for and against it
- `figures`, `markdown`, `page`: what is drawn and written
"""

from mixpul.paper.results.claims import Claim, count_verdicts, judge_claims
from mixpul.paper.results.evidence import Evidence
from mixpul.paper.results.markdown import render_paper_markdown, render_quality_table
from mixpul.paper.results.numbers import (
    MEASURES,
    Cell,
    find_best_methods,
    find_losses,
    find_published,
    keep_newest,
    rank_methods,
    read_folder,
    summarise,
)
from mixpul.paper.results.page import render_paper_page, write_report
from mixpul.paper.results.sections import read_sections

__all__ = [
    "MEASURES",
    "Cell",
    "Claim",
    "Evidence",
    "count_verdicts",
    "find_best_methods",
    "find_losses",
    "find_published",
    "judge_claims",
    "keep_newest",
    "rank_methods",
    "read_folder",
    "read_sections",
    "render_paper_markdown",
    "render_paper_page",
    "render_quality_table",
    "summarise",
    "write_report",
]
