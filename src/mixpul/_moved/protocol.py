"""Now `mixpul.paper.perform`."""

from mixpul.paper.perform import *  # noqa: F403
