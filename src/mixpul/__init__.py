"""Positive-unlabeled learning: learn from some rows labeled positive and many unlabeled ones."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixpul import (
        assess,
        augment,
        datasets,
        images,
        losses,
        metrics,
        miners,
        nets,
        priors,
        tables,
        training,
    )
    from mixpul.methods.bagging import BaggingPUClassifier
    from mixpul.methods.mixpul import MixPULClassifier
    from mixpul.methods.nnpu import NNPUClassifier, UPUClassifier
    from mixpul.methods.pu_auc import PUAUCClassifier
    from mixpul.methods.ramp import RampClassifier
    from mixpul.methods.supervised import SupervisedClassifier
    from mixpul.methods.vpu import VPUClassifier
    from mixpul.methods.wsvm import WeightedSVMClassifier
    from mixpul.persistence import load, save

__version__ = "0.1.0"

# Modules under the names they had before: `mixpul.experiments` is found in `_moved`.
__path__.append(str(Path(__file__).parent / "_moved"))

__all__ = [
    "BaggingPUClassifier",
    "MixPULClassifier",
    "NNPUClassifier",
    "PUAUCClassifier",
    "RampClassifier",
    "SupervisedClassifier",
    "UPUClassifier",
    "VPUClassifier",
    "WeightedSVMClassifier",
    "__version__",
    "assess",
    "augment",
    "datasets",
    "images",
    "load",
    "losses",
    "metrics",
    "miners",
    "nets",
    "priors",
    "save",
    "tables",
    "training",
]

# Imported on first use: torch takes seconds, which `mixpul --help` should not.
_HOMES = {
    "BaggingPUClassifier": "mixpul.methods.bagging",
    "MixPULClassifier": "mixpul.methods.mixpul",
    "NNPUClassifier": "mixpul.methods.nnpu",
    "PUAUCClassifier": "mixpul.methods.pu_auc",
    "RampClassifier": "mixpul.methods.ramp",
    "SupervisedClassifier": "mixpul.methods.supervised",
    "UPUClassifier": "mixpul.methods.nnpu",
    "VPUClassifier": "mixpul.methods.vpu",
    "WeightedSVMClassifier": "mixpul.methods.wsvm",
    "load": "mixpul.persistence",
    "save": "mixpul.persistence",
}
_MODULES = {
    "assess",
    "augment",
    "datasets",
    "images",
    "losses",
    "metrics",
    "miners",
    "nets",
    "pictures",
    "priors",
    "tables",
    "training",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"mixpul.{name}")
    raise AttributeError(f"module 'mixpul' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
