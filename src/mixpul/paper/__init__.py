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

from mixpul._names import PRESETS, find_object
from mixpul.paper.names import TOLD
from mixpul.paper.published import Published
from mixpul.paper.targets import TARGETS, Target

if TYPE_CHECKING:
    from mixpul.paper.grid import matches as matches
    from mixpul.paper.grid import parse_only as parse_only
    from mixpul.paper.grid import trials_of as trials_of

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


def __getattr__(name: str) -> Any:
    # On first use: a trial knows the parameters of its classifier, and those need torch.
    if name in ("matches", "parse_only", "trials_of"):
        return find_object(f"mixpul.paper.grid:{name}")
    raise AttributeError(f"module 'mixpul.paper' has no attribute {name!r}")
