"""Now `mixpul.paper.trial`."""

from mixpul.paper.trial import *  # noqa: F403
