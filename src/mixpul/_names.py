"""The one registry: what can be asked for by name, and where it lives.

The package's public names, the command line, `assess`, `persistence`, the paper's experiments and
the common tests read it, so a new method is one file and one line here. Nothing is imported until
it is used: `mixpul --help` lists names without waiting for torch.
"""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

__all__ = [
    "EXTRACTORS",
    "IMAGE_METHODS",
    "IMAGE_NETS",
    "METHODS",
    "MINERS",
    "NETS",
    "PRESETS",
    "PRIORS",
    "STUDENTS",
    "Registry",
    "find_object",
]


def find_object(place: str) -> Any:
    """Import what a place such as ``"mixpul.methods.vpu:VPUClassifier"`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


class Registry(MutableMapping[str, Any]):
    """A mapping of names to objects, each imported when it is first looked up.

    Examples
    --------
    >>> from mixpul._names import METHODS
    >>> METHODS["vpu"].__name__, METHODS.list_class_names()[:2]
    ('VPUClassifier', ['AutoPUClassifier', 'MixPULClassifier'])
    """

    def __init__(self, places: dict[str, Any]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Any:
        place = self._places[name]
        # What was registered at run time may be the object itself.
        return find_object(place) if isinstance(place, str) else place

    def __setitem__(self, name: str, value: Any) -> None:
        self._places[name] = value

    def __delitem__(self, name: str) -> None:
        del self._places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"Registry({', '.join(self)})"

    def list_class_names(self) -> list[str]:
        """List the names of the classes, in the order of the registry; import nothing."""
        return list(self.locate_classes())

    def locate_classes(self) -> dict[str, str]:
        """Map the name of each class to its place; import nothing."""
        places = [_find_place(value) for value in self._places.values()]
        return {place.partition(":")[2]: place for place in places}


def _find_place(value: Any) -> str:
    """Return the place of what is registered: a place already, or a class added at run time."""
    return value if isinstance(value, str) else f"{value.__module__}:{value.__qualname__}"


# The order is that of menus and of `compare`.
METHODS = Registry(
    {
        "auto": "mixpul.methods.auto:AutoPUClassifier",
        "mixpul": "mixpul.methods.mixpul:MixPULClassifier",
        "nnpu": "mixpul.methods.nnpu:NNPUClassifier",
        "upu": "mixpul.methods.upu:UPUClassifier",
        "ramp": "mixpul.methods.ramp:RampClassifier",
        "pnu": "mixpul.methods.pu_auc:PUAUCClassifier",
        "wsvm": "mixpul.methods.wsvm:WeightedSVMClassifier",
        "supervised": "mixpul.methods.supervised:SupervisedClassifier",
        "vpu": "mixpul.methods.vpu:VPUClassifier",
        "bagging": "mixpul.methods.bagging:BaggingPUClassifier",
        "boosting": "mixpul.methods.boosting:BoostingPUClassifier",
        "logistic": "mixpul.methods.logistic:LogisticPUClassifier",
    }
)

# What other classifiers become, so not a method to compare with them.
STUDENTS = Registry({"distilled": "mixpul.methods.distilled:DistilledPUClassifier"})

PRIORS = Registry(
    {
        "bbe": "mixpul.priors:BBEPrior",
        "dedpul": "mixpul.priors:DEDPULPrior",
        "tice": "mixpul.priors:TIcEPrior",
        "km": "mixpul.priors:KMPrior",
        "pen-l1": "mixpul.priors:PenL1Prior",
        "elkan-noto": "mixpul.priors:ElkanNotoPrior",
    }
)

MINERS = Registry(
    {
        "rand": "mixpul.miners:RandomMiner",
        "dist": "mixpul.miners:DistanceMiner",
        "ntc": "mixpul.miners:NTCMiner",
    }
)

NETS = Registry(
    {
        "skip-mlp": "mixpul.nets:SkipMLP",
        "narrow-skip-mlp": "mixpul.nets:make_narrow_skip_mlp",
        "mlp": "mixpul.nets:MLP",
        "linear": "mixpul.nets:make_linear",
        "kernel": "mixpul.nets:KernelNet",
        "allconv13": "mixpul.nets:AllConv13",
        "small-conv": "mixpul.nets:SmallConv",
        "plain-conv": "mixpul.nets:PlainConv",
    }
)
# Networks for images; the others take rows of numbers.
IMAGE_NETS = ("small-conv", "plain-conv", "allconv13")
# Methods that learn from images by name; `methods/neural/for_images.py` has their settings.
IMAGE_METHODS = ("mixpul", "nnpu", "upu", "vpu")

# Networks trained on other images, whose features a classifier can learn from.
EXTRACTORS = Registry({"efficientnet-lite0": "mixpul.images.extractors:load_efficientnet_lite0"})

# The target of the paper's experiments by the way CIFAR-10 is learned: as published, made for a
# GPU, or within minutes on a CPU.
PRESETS = {"paper": "cifar10", "cpu": "cifar10-cpu"}
