"""The paper's experiments: what they are, how a trial runs, and what came out.

Each module imports only those before it:

- `names`: targets, data sets, methods and settings, each name written once
- `published`, `targets`: the tables and figures, with the numbers in the paper
- `baselines`, `watched`, `methods`: the columns, which classifier with which settings
- `trial`, `grid`: what a trial is, and the trials of a target
- `perform`: how one trial is carried out
- `runs`: many trials, in parallel, resumed, their result files
- `reproduce`: what `mixpul reproduce` does
- `results`: tables, figures and the page; they only read result files
"""

from typing import TYPE_CHECKING, Any

from mixpul._names import find_object

if TYPE_CHECKING:  # what follows is imported on first use; this is for type checkers
    from mixpul._names import PRESETS as PRESETS
    from mixpul.paper.grid import matches as matches
    from mixpul.paper.grid import parse_only as parse_only
    from mixpul.paper.grid import trials_of as trials_of
    from mixpul.paper.names import TOLD as TOLD
    from mixpul.paper.published import Published as Published
    from mixpul.paper.targets import TARGETS as TARGETS
    from mixpul.paper.targets import Target as Target

# A trial knows the parameters of its classifier, and those need torch; `names` need nothing.
_PLACES = {
    "PRESETS": "mixpul._names:PRESETS",
    "TARGETS": "mixpul.paper.targets:TARGETS",
    "TOLD": "mixpul.paper.names:TOLD",
    "Published": "mixpul.paper.published:Published",
    "Target": "mixpul.paper.targets:Target",
    "matches": "mixpul.paper.grid:matches",
    "parse_only": "mixpul.paper.grid:parse_only",
    "trials_of": "mixpul.paper.grid:trials_of",
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return find_object(_PLACES[name])
    raise AttributeError(f"module 'mixpul.paper' has no attribute {name!r}")
