"""What a trial is: one fit and its scores, under an id of its own."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mixpul import __version__

__all__ = ["Trial"]


@dataclass(frozen=True)
class Trial:
    """One fit and its scores.

    Parameters
    ----------
    target : str
        The table or figure it belongs to.
    dataset, method : str
    seed : int
        Of the split, of the labels that are kept, and of the method.
    settings : dict
        What else tells trials of a target apart, such as ``{"c": 0.05}``.
    recipe : str
        All parameters of the method as text. Results of other recipes are other trials, so a
        changed default does not pass off old results as new.
    version : str
        Of the code.

    Examples
    --------
    >>> from mixpul.paper.trial import Trial
    >>> Trial("uci", "titanic", "MixPUL", 3, {"c": 0.05}, "n_epochs=30", "0.1.0").id
    'titanic_mixpul_c0.05_seed3_b43be3c9'
    """

    target: str
    dataset: str
    method: str
    seed: int
    # A dict has no hash; the other fields are enough for one.
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    recipe: str = ""
    version: str = __version__

    @property
    def work(self) -> str:
        """All but the target, as text: what two targets share is one training."""
        return json.dumps(asdict(replace(self, target="")), sort_keys=True)

    @property
    def id(self) -> str:
        """Words to read, and a hash of everything."""
        words = [self.dataset, self.method, *(f"{k}{v}" for k, v in self.settings.items())]
        readable = "_".join(_make_slug(word) for word in [*words, f"seed{self.seed}"])
        # Sorted: the order in which settings were given makes no other trial.
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
        return f"{readable}_{digest[:8]}"


def _make_slug(word: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-")
