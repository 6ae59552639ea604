"""The paper's experiments: what they are, how a trial runs, and what came out."""

from mixpul.paper.targets import (
    PRESETS,
    TARGETS,
    TOLD,
    Published,
    Target,
    matches,
    parse_only,
    trials_of,
)

__all__ = [
    "PRESETS",
    "TARGETS",
    "TOLD",
    "Published",
    "Target",
    "matches",
    "parse_only",
    "trials_of",
]
