"""How one trial is carried out: data, preparation, fit, scores."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mixpul import datasets
from mixpul.datasets import PUData
from mixpul.metrics import pu_auc_score
from mixpul.paper.methods import find_method
from mixpul.paper.names import (
    AUC,
    CIFAR10,
    CIFAR10_CPU,
    EPOCHS,
    ERROR,
    IMAGE_SOURCES,
    MNIST,
    N_LABELED,
    SHARE_LABELED,
    SPAMBASE,
    SUBSET,
    find_digit,
    find_source,
)
from mixpul.paper.trial import Trial
from mixpul.paper.watched import WatchedMixPUL, share_wrong
from mixpul.training import own_torch_state

__all__ = ["Split", "make_preparation", "perform", "split_data"]


class Split(NamedTuple):
    """What the learner sees, and the rows it is tested on."""

    pu: PUData
    X_test: NDArray
    y_test: NDArray


class _Times(NamedTuple):
    """Seconds of a fit and of its predictions."""

    fit: float
    predict: float


def perform(
    trial: Trial,
    data: str | os.PathLike | None = None,
    results: str | os.PathLike | None = None,
    threads: int = 1,
) -> dict[str, Any]:
    """Fit and score.

    `data` is the folder of data sets that are not bundled, `results` that of results: trainings
    on CIFAR-10, which are long, leave a checkpoint there to go on from. They alone use `threads`:
    convolutions gain from more than one.
    """
    split = split_data(trial.dataset, trial.seed, trial.settings, data)
    method = find_method(trial.target, trial.method, trial.settings)
    model = method.build(trial.seed, split.pu.prior)
    # Some methods have no epochs to shorten.
    if EPOCHS in trial.settings and "n_epochs" in model.get_params():
        model.set_params(n_epochs=trial.settings[EPOCHS])
    is_long = trial.target in (CIFAR10, CIFAR10_CPU)
    is_resumed = False
    if is_long and results is not None:
        checkpoint = Path(results) / trial.target / f"{trial.id}.checkpoint"
        is_resumed = checkpoint.exists()
        model.set_params(checkpoint=checkpoint)
    preparation = make_preparation(trial.dataset)
    X_train = preparation.fit_transform(split.pu.X)
    X_test = preparation.transform(split.X_test)
    if isinstance(model, WatchedMixPUL):
        # Hundreds of looks at these rows: made what the network takes in once.
        model.watch(np.ascontiguousarray(X_test, dtype=np.float32), split.y_test)
    with own_torch_state(trial.seed, threads if is_long else None):
        scores, times = _fit_and_score(model, X_train, split.pu.s, X_test)
    return {
        AUC: float(roc_auc_score(split.y_test, scores)),
        ERROR: share_wrong(split.y_test, scores > 0),
        "labeled": int(split.pu.s.sum()),
        "unlabeled": int((split.pu.s == 0).sum()),
        "prior": split.pu.prior,
        # Nobody has timed the part of a training that a killed process has done.
        "fit_seconds": None if is_resumed else times.fit,
        "predict_seconds": times.predict,
        **({"threads": threads} if is_long else {}),
        **_describe_fit(model, split.pu.s),
    }


def split_data(
    dataset: str, seed: int, settings: Mapping[str, Any], data: str | os.PathLike | None = None
) -> Split:
    """Split into training rows with PU labels and test rows, by the paper's protocols.

    Tables: int(0.7 n) rows to train on, a share `c` or a number `n_positive` of their positives
    labeled, all other rows unlabeled. "mnist-0vK": zeros against the digit K, and "cifar10":
    vehicles against animals, with the train and test parts they come with.
    """
    X: NDArray
    X_test: NDArray
    if find_source(dataset) == MNIST:
        X, y, X_test, y_test = datasets.mnist_pair(find_digit(dataset), data=data)
    elif dataset == CIFAR10:
        X, y, X_test, y_test = datasets.cifar10_vehicles(data=data)
    else:
        X, y = datasets.load(dataset, data=data, return_X_y=True)
        X, X_test, y, y_test = datasets.paper_split(X, y, random_state=seed)
    if SUBSET in settings:
        # Drawn before labels are hidden, so that shares and numbers of labels hold in the subset.
        random, n = np.random.default_rng(seed), settings[SUBSET]
        some, others = random.permutation(len(X))[:n], random.permutation(len(X_test))[:n]
        X, y, X_test, y_test = X[some], y[some], X_test[others], y_test[others]
    labeled = {key: settings[key] for key in (SHARE_LABELED, N_LABELED) if key in settings}
    pu = datasets.make_pu(X, y, **labeled, scheme="single", random_state=seed)
    return Split(pu, X_test, y_test)


def make_preparation(dataset: str) -> Pipeline:
    """Make the steps that put the columns of `dataset` on one scale; images stay as they are."""
    if find_source(dataset) in IMAGE_SOURCES:
        return make_pipeline("passthrough")
    # The columns of spambase are frequencies with long tails.
    logs = [FunctionTransformer(np.log1p)] if dataset == SPAMBASE else []
    return make_pipeline(*logs, StandardScaler())


def _fit_and_score(model: Any, X: NDArray, s: NDArray, X_test: NDArray) -> tuple[NDArray, _Times]:
    start = time.perf_counter()
    model.fit(X, s)
    fitted = time.perf_counter()
    scores = model.decision_function(X_test)
    predicted = time.perf_counter()
    return scores, _Times(round(fitted - start, 3), round(predicted - fitted, 3))


def _describe_fit(model: Any, s: NDArray) -> dict[str, Any]:
    """Return what only some classifiers have learned, besides their scores."""
    record: dict[str, Any] = {}
    if hasattr(model, "oof_scores_"):
        record["pu_auc"] = pu_auc_score(s, model.oof_scores_)
    if hasattr(model, "n_epochs_"):
        record["epochs"] = int(model.n_epochs_)
    if hasattr(model, "prior_"):
        record["used_prior"] = float(model.prior_)
    if isinstance(model, WatchedMixPUL):
        record["curve"] = model.curve
        record["warmup"] = model.warmup
    return record
