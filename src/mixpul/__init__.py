"""Positive-unlabeled learning: learn from some rows labeled positive and many unlabeled ones."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixpul._names import METHODS, STUDENTS, find_object

if TYPE_CHECKING:  # what follows is looked up in the registry; this is for type checkers
    from mixpul import assess as assess
    from mixpul import augment as augment
    from mixpul import datasets as datasets
    from mixpul import deploy as deploy
    from mixpul import images as images
    from mixpul import losses as losses
    from mixpul import metrics as metrics
    from mixpul import miners as miners
    from mixpul import nets as nets
    from mixpul import priors as priors
    from mixpul import tables as tables
    from mixpul import training as training
    from mixpul.methods.auto import AutoPUClassifier as AutoPUClassifier
    from mixpul.methods.bagging import BaggingPUClassifier as BaggingPUClassifier
    from mixpul.methods.boosting import BoostingPUClassifier as BoostingPUClassifier
    from mixpul.methods.distilled import DistilledPUClassifier as DistilledPUClassifier
    from mixpul.methods.logistic import LogisticPUClassifier as LogisticPUClassifier
    from mixpul.methods.mixpul import MixPULClassifier as MixPULClassifier
    from mixpul.methods.nnpu import NNPUClassifier as NNPUClassifier
    from mixpul.methods.pu_auc import PUAUCClassifier as PUAUCClassifier
    from mixpul.methods.ramp import RampClassifier as RampClassifier
    from mixpul.methods.supervised import SupervisedClassifier as SupervisedClassifier
    from mixpul.methods.upu import UPUClassifier as UPUClassifier
    from mixpul.methods.vpu import VPUClassifier as VPUClassifier
    from mixpul.methods.wsvm import WeightedSVMClassifier as WeightedSVMClassifier
    from mixpul.persistence import load as load
    from mixpul.persistence import save as save

__version__ = "0.1.0"

# Modules under other names are found in `_moved`: `mixpul.experiments`, as it was called before,
# and `mixpul.spark`, a short name.
__path__.append(str(Path(__file__).parent / "_moved"))

# Imported on first use: torch takes seconds, which `mixpul --help` should not.
_OBJECTS = {
    **METHODS.locate_classes(),
    **STUDENTS.locate_classes(),
    "load": "mixpul.persistence:load",
    "save": "mixpul.persistence:save",
}
_MODULES = [
    "assess",
    "augment",
    "datasets",
    "deploy",
    "images",
    "losses",
    "metrics",
    "miners",
    "nets",
    "priors",
    "tables",
    "training",
]

__all__ = sorted([*_OBJECTS, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _OBJECTS:
        return find_object(_OBJECTS[name])
    # Not listed: `pictures` is a former name, and `spark` a short one of a module in `deploy`.
    if name in (*_MODULES, "pictures", "spark"):
        return import_module(f"mixpul.{name}")
    raise AttributeError(f"module 'mixpul' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
