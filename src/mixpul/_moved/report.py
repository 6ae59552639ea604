"""Now `mixpul.paper.results`."""

from mixpul.paper.results import *  # noqa: F403
from mixpul.paper.results import render_paper_markdown as paper_markdown  # noqa: F401
from mixpul.paper.results import render_paper_page as paper_page  # noqa: F401
from mixpul.paper.results import render_quality_table as quality_markdown  # noqa: F401
