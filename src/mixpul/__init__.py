"""Positive-unlabeled learning: learn from some rows labeled positive and many unlabeled ones."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixpul import datasets, losses, metrics, miners, nets, training
    from mixpul.methods.mixpul import MixPULClassifier
    from mixpul.persistence import load, save

__version__ = "0.1.0"

__all__ = [
    "MixPULClassifier",
    "__version__",
    "datasets",
    "load",
    "losses",
    "metrics",
    "miners",
    "nets",
    "save",
    "training",
]

# Imported on first use: torch takes seconds, which `mixpul --help` should not.
_HOMES = {
    "MixPULClassifier": "mixpul.methods.mixpul",
    "load": "mixpul.persistence",
    "save": "mixpul.persistence",
}
_MODULES = {"datasets", "losses", "metrics", "miners", "nets", "training"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"mixpul.{name}")
    raise AttributeError(f"module 'mixpul' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
