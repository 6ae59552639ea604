"""What all methods that train a network share.

A fit builds members (one network each), gives each an objective, trains them side by side,
averages each over its best epochs, and publishes their mean as the classifier.
"""

from typing import TYPE_CHECKING, Any

from mixpul._names import find_object

if TYPE_CHECKING:  # what follows is looked up when it is asked for; this is for type checkers
    from mixpul.methods.neural.classifier import NeuralPUClassifier as NeuralPUClassifier
    from mixpul.methods.neural.member import Member as Member
    from mixpul.methods.neural.objective import Objective as Objective

# Imported on first use: `for_images` is read by those who may train no network, without torch.
_OBJECTS = {
    "Member": "mixpul.methods.neural.member:Member",
    "NeuralPUClassifier": "mixpul.methods.neural.classifier:NeuralPUClassifier",
    "Objective": "mixpul.methods.neural.objective:Objective",
}

__all__ = ["Member", "NeuralPUClassifier", "Objective"]


def __getattr__(name: str) -> Any:
    if name in _OBJECTS:
        return find_object(_OBJECTS[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
