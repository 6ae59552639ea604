"""Now `mixpul.paper.results`."""

from mixpul.paper.results import *  # noqa: F403
