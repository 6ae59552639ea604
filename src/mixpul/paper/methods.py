"""The columns of the paper's tables: which classifier with which settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    PUAUCClassifier,
    RampClassifier,
    SupervisedClassifier,
    UPUClassifier,
    VPUClassifier,
    WeightedSVMClassifier,
)
from mixpul._names import PRIORS
from mixpul._util.validation import write_recipe
from mixpul.paper.baselines import ClassMeans, TunedLogisticRegression
from mixpul.paper.names import (
    AS_PUBLISHED,
    AUTO,
    BAGGING,
    CIFAR10,
    CIFAR10_CPU,
    CLASS_MEANS,
    DIST,
    LOGISTIC_REGRESSION,
    MIXPUL,
    MIXPUL_AS_PUBLISHED,
    MNIST,
    N_LABELED,
    NNPU,
    NNPU_WITH,
    NNPU_WITH_AUTO,
    NTC,
    PNU,
    RAMP,
    RAND,
    SUPERVISED,
    TOLD,
    UPU,
    VPU,
    WITH_ALL_TERMS,
    WITHOUT_L_PU,
    WITHOUT_L_U,
    WSVM,
)
from mixpul.paper.watched import WatchedMixPUL

__all__ = ["METHODS", "METHODS_OF_IMAGES", "ONE_NETWORK", "Method", "find_method"]


@dataclass(frozen=True)
class Method:
    """A column of a table: the classifier, and whether it is given the true class prior.

    `settings_of` returns the parameters that depend on the number of labeled positives.
    """

    model: Any
    true_prior: bool = False
    settings_of: Callable[[int], dict[str, Any]] | None = None

    @property
    def recipe(self) -> str:
        """All parameters as text: trials of other recipes are other trials."""
        is_changed = getattr(self.model, "net", None) == "small-conv"
        recipe = write_recipe(self.model) + (WHITENED if is_changed else "")
        return recipe + (TOLD if self.true_prior else "")

    def build(self, seed: int, prior: float) -> Any:
        """Make a new classifier with its seed, and with `prior` if it is given the true one."""
        model = clone(self.model)
        own: dict[str, Any] = {"prior": prior} if self.true_prior else {}
        if "random_state" in model.get_params():
            own["random_state"] = seed
        return model.set_params(**own)


# The network of this name was another one at first, so trials of it are other trials.
WHITENED = ", whitened"

# MixPUL with one kind of network, as it was before several were weighed.
ONE_NETWORK: dict[str, Any] = {
    "net": "skip-mlp",
    "alpha": 1.0,
    "mixing": None,
    "gamma": 1.0,
    "n_epochs": 30,
    "batch_size": 128,
    "max_steps": 250,
    "min_steps": None,
}

METHODS: dict[str, Method] = {
    # The paper's columns.
    SUPERVISED: Method(SupervisedClassifier()),
    WSVM: Method(WeightedSVMClassifier()),
    UPU: Method(UPUClassifier(), true_prior=True),
    NNPU: Method(NNPUClassifier(), true_prior=True),
    PNU: Method(PUAUCClassifier(), true_prior=True),
    MIXPUL: Method(MixPULClassifier()),
    RAMP: Method(RampClassifier(), true_prior=True),
    # Ours.
    AUTO: Method(AutoPUClassifier()),
    MIXPUL_AS_PUBLISHED: Method(MixPULClassifier.from_paper()),
    VPU: Method(VPUClassifier()),
    BAGGING: Method(BaggingPUClassifier()),
    LOGISTIC_REGRESSION: Method(TunedLogisticRegression()),
    CLASS_MEANS: Method(ClassMeans()),
    # Ways to mine reliable negatives; with all unlabeled rows as negatives, our default, there
    # would be nothing to choose.
    RAND: Method(MixPULClassifier(miner="rand", negative_fraction=0.5)),
    DIST: Method(MixPULClassifier(miner="dist", negative_fraction=0.5)),
    NTC: Method(MixPULClassifier(miner="ntc", negative_fraction=0.5)),
    RAND + AS_PUBLISHED: Method(MixPULClassifier.from_paper(miner="rand")),
    DIST + AS_PUBLISHED: Method(MixPULClassifier.from_paper(miner="dist")),
    NTC + AS_PUBLISHED: Method(MixPULClassifier.from_paper(miner="ntc")),
    # nnPU with estimated class priors.
    **{name: Method(NNPUClassifier(prior=prior)) for prior, name in NNPU_WITH.items()},
    **{
        name: Method(NNPUClassifier(prior=PRIORS[prior](scorer=AutoPUClassifier())))
        for prior, name in NNPU_WITH_AUTO.items()
    },
    # Loss terms left out.
    WITH_ALL_TERMS: Method(WatchedMixPUL.from_paper()),
    WITHOUT_L_U: Method(WatchedMixPUL.from_paper(beta=0.0)),
    WITHOUT_L_PU: Method(WatchedMixPUL.from_paper(gamma=0.0)),
}
# On CIFAR-10 all methods train the paper's network for it, made for a GPU ...
_ON_GPU: dict[str, Any] = {
    "net": "allconv13",
    "n_epochs": 200,
    "batch_size": 128,
    "max_steps": None,
    "cross_fitting": None,
    "precision": "auto",
}
# ... or a small one, for minutes. How it was chosen: docs/explanation/decisions.md. Epochs depend
# on the number of labeled images, see `_scale_with_positives`.
_ON_CPU: dict[str, Any] = {
    "net": "small-conv",
    "augment": ("flip", "shift"),
    "max_steps": 50,
    "patience": None,
    "batch_size": 64,
    "learning_rate": 0.01,
    "weight_decay": 5e-4,
    # The mean of several networks ranks better, and all labeled images help to find the threshold.
    # Five would take two thirds more time for another tenth of a percent.
    "cross_fitting": 3,
}
# MixPUL's defaults are for tables.
_MIXPUL_ON_IMAGES: dict[str, Any] = {
    "alpha": 1.0,
    "mixing": None,
    "gamma": 1.0,
    "min_steps": None,
}
# Gradients of the sigmoid loss, weighed by the class prior, are too small for SGD in so few steps.
_ADAM: dict[str, Any] = {"optimizer": "adam", "learning_rate": 1e-3}


def _scale_with_positives(n_positive: int) -> dict[str, Any]:
    """Return the number of epochs: a network soon memorises 100 positives, never 10,000."""
    return {"n_epochs": round(n_positive**0.4 / 2)}


# A learning rate of 1e-5 is what the paper states for CIFAR-10.
METHODS_OF_IMAGES: dict[str, dict[str, Method]] = {
    MNIST: METHODS | {MIXPUL: Method(MixPULClassifier(**ONE_NETWORK))},
    CIFAR10: {
        NNPU: Method(NNPUClassifier(**_ON_GPU, learning_rate=1e-5), true_prior=True),
        # The paper trains uPU for less than ten epochs, because it overfits.
        UPU: Method(
            UPUClassifier(model="mlp", **_ON_GPU | {"n_epochs": 9}, learning_rate=1e-5),
            true_prior=True,
        ),
        MIXPUL: Method(MixPULClassifier(**_ON_GPU, **_MIXPUL_ON_IMAGES)),
        MIXPUL_AS_PUBLISHED: Method(
            MixPULClassifier.from_paper(net="allconv13", learning_rate=1e-5)
        ),
    },
    CIFAR10_CPU: {
        NNPU: Method(
            NNPUClassifier(**_ON_CPU | _ADAM), true_prior=True, settings_of=_scale_with_positives
        ),
        UPU: Method(
            UPUClassifier(model="mlp", **_ON_CPU | _ADAM),
            true_prior=True,
            settings_of=_scale_with_positives,
        ),
        MIXPUL: Method(
            MixPULClassifier(**_ON_CPU, **_MIXPUL_ON_IMAGES | {"mixing": "row"}, ema_decay=0.99),
            settings_of=_scale_with_positives,
        ),
    },
}


def find_method(target: str, name: str, settings: Mapping[str, Any]) -> Method:
    """Return a column of a target, with the parameters that fit the number of positives."""
    method = METHODS_OF_IMAGES.get(target, METHODS)[name]
    if method.settings_of is None:
        return method
    model = clone(method.model).set_params(**method.settings_of(settings[N_LABELED]))
    return replace(method, model=model)
