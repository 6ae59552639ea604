"""Now `mixpul.paper.runs`."""

from mixpul.paper.runs import *  # noqa: F403
