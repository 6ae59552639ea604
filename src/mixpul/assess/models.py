"""Which classifier is fitted: a method by name, or a copy of a user's own, with a seed."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline

from mixpul._names import METHODS
from mixpul._util.errors import MixpulError
from mixpul._util.random import seed_parts
from mixpul.assess.priors import check_given_prior
from mixpul.base import PUClassifier
from mixpul.images import ImageFeatures
from mixpul.images.defaults import SETTINGS_BY_METHOD, count_image_epochs
from mixpul.tables import TableInput

__all__ = [
    "choose_feature_pipeline",
    "choose_image_classifier",
    "choose_methods",
    "choose_pipeline",
    "hand_on_prior",
    "list_networks",
    "write_settings",
]

# What is fitted where nothing is asked for.
DEFAULT_METHOD, DEFAULT_IMAGE_METHOD = "auto", "mixpul"


def choose_pipeline(model: str | BaseEstimator | None, seed: int) -> Pipeline:
    """Return an unfitted pipeline of a `TableInput` and a classifier; None takes the portfolio."""
    if model is None:
        model = DEFAULT_METHOD
    if not isinstance(model, Pipeline):
        return make_pipeline(TableInput(), _choose_classifier(model, seed))
    if len(model) != 2 or not isinstance(model[0], TableInput):
        raise MixpulError(
            "A pipeline to assess has two steps, a TableInput and a classifier; got "
            f"{', '.join(type(step).__name__ for _, step in model.steps)}."
        )
    pipeline = clone(model)
    pipeline.steps[-1] = (pipeline.steps[-1][0], _choose_classifier(pipeline[-1], seed))
    return pipeline


def choose_image_classifier(
    model: str | BaseEstimator | None, seed: int, n_unlabeled: int
) -> PUClassifier:
    """Return an unfitted classifier; a method by name has the settings for images."""
    if model is None:
        model = DEFAULT_IMAGE_METHOD
    if isinstance(model, str) and model in SETTINGS_BY_METHOD:
        settings = SETTINGS_BY_METHOD[model] | {"n_epochs": count_image_epochs(n_unlabeled)}
        return METHODS[model](**settings, random_state=seed)
    _check_classifier(model, SETTINGS_BY_METHOD)
    return _copy_seeded(model, seed)


def choose_feature_pipeline(model: Pipeline, seed: int) -> Pipeline:
    """Return an unfitted pipeline of `ImageFeatures` and a classifier."""
    if len(model) != 2:
        raise MixpulError(
            "A pipeline for images has two steps, an ImageFeatures and a classifier; got "
            f"{', '.join(type(step).__name__ for _, step in model.steps)}."
        )
    (first, features), (last, classifier) = model.steps
    # Not cloned: a network of the user's own would be copied with it.
    own = ImageFeatures(**features.get_params())
    return Pipeline([(first, own), (last, _choose_classifier(classifier, seed))])


def choose_methods(
    methods: Sequence[str] | Mapping[str, PUClassifier] | None, seed: int
) -> dict[str, PUClassifier]:
    """Return unfitted classifiers by name; None means all methods."""
    if isinstance(methods, Mapping):
        return {name: _copy_seeded(classifier, seed) for name, classifier in methods.items()}
    names = list(METHODS) if methods is None else list(methods)
    if unknown := [name for name in names if name not in METHODS]:
        raise MixpulError(f"There is no method {unknown[0]!r}; there are {', '.join(METHODS)}.")
    if not names:
        raise MixpulError(f"Name at least one method of {', '.join(METHODS)}.")
    return {name: METHODS[name](random_state=seed) for name in names}


def hand_on_prior(
    classifier: Any, prior: float | None, interval: tuple[float, float] | None = None
) -> None:
    """Tell a method that takes a class prior the one that is known, unless it has a number."""
    known = check_given_prior(prior, interval)
    own = classifier.get_params(deep=False)
    if known is not None and "prior" in own and not isinstance(own["prior"], Real):
        classifier.set_params(prior=known[0])


def write_settings(classifier: Any) -> dict[str, Any]:
    """Return the parameters as plain values, or as text where they are not plain."""
    return {name: _write_value(v) for name, v in classifier.get_params(deep=False).items()}


def list_networks(classifier: Any) -> list[dict[str, Any]]:
    """List the settings that MixPUL has weighed, of its own or as a member of a portfolio."""
    members = {None: classifier} | getattr(classifier, "members_", {})
    return [
        {
            "candidate": name,
            "net": _write_value(one["net"]),
            "weight_decay": float(one["weight_decay"]),
            "weight": float(one["weight"]),
        }
        for name, member in members.items()
        for one in getattr(member, "settings_", [])
    ]


def _write_value(value: Any) -> Any:
    """Return a plain value as it is, and any other as text."""
    if isinstance(value, str | int | float | bool | None):
        return value
    # By name: the text of a function holds its address, another one in each process.
    return getattr(value, "__qualname__", repr(value))


def _choose_classifier(model: str | BaseEstimator, seed: int) -> PUClassifier:
    if isinstance(model, str):
        return choose_methods([model], seed)[model]
    _check_classifier(model, METHODS)
    return _copy_seeded(model, seed)


def _check_classifier(model: Any, names: Iterable[str]) -> None:
    if not isinstance(model, PUClassifier):
        got = repr(model) if isinstance(model, str) else type(model).__name__
        raise MixpulError(
            f"model must be one of {', '.join(names)}, or a classifier of mixpul; got {got}."
        )


def _copy_seeded(model: Any, seed: int) -> Any:
    """Return an unfitted copy, seeded if it has no seed, so that its scores can be repeated."""
    copy = clone(model)
    own = copy.get_params(deep=False)
    if "random_state" not in own:
        # A pipeline has no seed of its own, but its steps may.
        return seed_parts(copy, seed)
    # A classifier with a seed takes care of its parts itself.
    return copy.set_params(random_state=seed) if own["random_state"] is None else copy
