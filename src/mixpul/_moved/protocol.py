"""Now `mixpul.paper.perform`."""

from mixpul.paper.grid import make_trial as make_trial
from mixpul.paper.perform import *  # noqa: F403
