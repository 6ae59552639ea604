"""Now `mixpul.paper.reproduce`."""

from mixpul.paper.reproduce import *  # noqa: F403
