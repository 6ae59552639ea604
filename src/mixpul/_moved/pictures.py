"""Now `mixpul.images`."""

from mixpul.images import *  # noqa: F403
