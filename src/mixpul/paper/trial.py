"""How one trial of the paper's experiments is carried out: data, preparation, method, scores."""

import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mixpul import (
    BaggingPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    PUAUCClassifier,
    RampClassifier,
    SupervisedClassifier,
    UPUClassifier,
    VPUClassifier,
    WeightedSVMClassifier,
    datasets,
)
from mixpul._util.validation import recipe
from mixpul.datasets import PUData
from mixpul.metrics import pu_auc_score, pu_auc_scorer
from mixpul.paper.runs import Trial
from mixpul.paper.targets import TOLD
from mixpul.priors import PRIORS
from mixpul.training import as_rows, own_torch_state, score_rows

__all__ = [
    "METHODS",
    "ClassMeans",
    "Method",
    "TunedLogisticRegression",
    "make_trial",
    "perform",
    "prepared",
    "pu_split",
    "source_of",
]

# Test error is looked at this many times in the course of a training that is watched.
LOOKS = 200


class ClassMeans(ClassifierMixin, BaseEstimator):
    """Scores along the difference of the means of positives and unlabeled rows."""

    def fit(self, X: NDArray, y: NDArray) -> Self:
        positive, unlabeled = X[y == 1].mean(axis=0), X[y == 0].mean(axis=0)
        self.direction_, self.middle_ = positive - unlabeled, (positive + unlabeled) / 2
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X: NDArray) -> NDArray:
        return (X - self.middle_) @ self.direction_

    def predict(self, X: NDArray) -> NDArray:
        return (self.decision_function(X) > 0).astype(int)


class TunedLogisticRegression(ClassifierMixin, BaseEstimator):
    """Balanced logistic regression, unlabeled as negative, with C chosen by PU-AUC in folds."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: NDArray, y: NDArray) -> Self:
        folds = StratifiedKFold(
            max(2, min(5, int(y.sum()))), shuffle=True, random_state=self.random_state
        )
        search = GridSearchCV(
            LogisticRegression(class_weight="balanced", max_iter=1000),
            {"C": 10.0 ** np.arange(-4, 3)},
            scoring=pu_auc_scorer,
            cv=folds,
        )
        with warnings.catch_warnings():
            # At C = 100 on folds that can be separated.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model_ = search.fit(X, y).best_estimator_
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X: NDArray) -> NDArray:
        return self.model_.decision_function(X)

    def predict(self, X: NDArray) -> NDArray:
        return self.model_.predict(X)


class WatchedMixPUL(MixPULClassifier):
    """MixPUL that notes the error on given rows in the course of its training.

    For the figures of the paper; nothing of it reaches the training.
    """

    def watch(self, X: NDArray, y: NDArray) -> Self:
        self._watched_X, self._watched_y = X, y
        self.curve: dict[str, list[float]] = {"step": [], "error": [], "student_error": []}
        return self

    def _prepare(self) -> None:
        super()._prepare()
        self._step = 0

    def _after_step(self) -> None:
        super()._after_step()
        self._step += 1
        n_steps = len(self._batches) * self.n_epochs
        if self._step % max(1, n_steps // LOOKS):
            return
        # Steps are counted per network; the curve is one list for all copies of this classifier.
        self.curve["step"].append(self._step)
        self.curve["error"].append(self._error(self._teacher.net))
        self.curve["student_error"].append(self._error(self.net_))

    def _error(self, net: Any) -> float:
        rows = as_rows(self._watched_X, torch.device("cpu"))
        scores = score_rows(net, rows, torch.arange(len(self._watched_y)))
        return _share_wrong(self._watched_y, scores > 0)


@dataclass(frozen=True)
class Method:
    """A column of a table: the classifier, and whether it is told the true prior.

    `settings_of` gives the parameters that depend on the number of labeled positives.
    """

    model: Any
    true_prior: bool = False
    settings_of: Callable[[int], dict[str, Any]] | None = None


METHODS: dict[str, Method] = {
    # The paper's columns.
    "Supervised": Method(SupervisedClassifier()),
    "WSVM": Method(WeightedSVMClassifier()),
    "uPU": Method(UPUClassifier(), true_prior=True),
    "nnPU": Method(NNPUClassifier(), true_prior=True),
    "PNU": Method(PUAUCClassifier(), true_prior=True),
    "MixPUL": Method(MixPULClassifier()),
    "Ramp": Method(RampClassifier(), true_prior=True),
    # Ours.
    "MixPUL as published": Method(MixPULClassifier.from_paper()),
    "VPU": Method(VPUClassifier()),
    "Bagging": Method(BaggingPUClassifier()),
    "logistic regression": Method(TunedLogisticRegression()),
    "class means": Method(ClassMeans()),
    # Ways to mine reliable negatives; with all unlabeled rows as negatives there is none.
    "Rand": Method(MixPULClassifier(miner="rand", negative_fraction=0.5)),
    "Dist": Method(MixPULClassifier(miner="dist", negative_fraction=0.5)),
    "NTC": Method(MixPULClassifier(miner="ntc", negative_fraction=0.5)),
    "Rand as published": Method(MixPULClassifier.from_paper(miner="rand")),
    "Dist as published": Method(MixPULClassifier.from_paper(miner="dist")),
    "NTC as published": Method(MixPULClassifier.from_paper(miner="ntc")),
    # nnPU with estimated priors.
    **{f"nnPU, {name} prior": Method(NNPUClassifier(prior=name)) for name in PRIORS},
    # Loss terms left out.
    "with L_U and L_PU": Method(WatchedMixPUL.from_paper()),
    "without L_U": Method(WatchedMixPUL.from_paper(beta=0.0)),
    "without L_PU": Method(WatchedMixPUL.from_paper(gamma=0.0)),
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
# ... or a small one, for minutes. How it was chosen: docs/explanation/decisions.md. Epochs and
# networks go by the number of labeled pictures, see `_by_positives`.
_ON_CPU: dict[str, Any] = {
    "net": "small-conv",
    "augment": ("flip", "shift"),
    "max_steps": 50,
    "patience": None,
    "batch_size": 64,
    "learning_rate": 0.01,
    "weight_decay": 5e-4,
}
# Gradients of the sigmoid loss, weighed by the prior, are too small for SGD in so few steps.
_ADAM: dict[str, Any] = {"optimizer": "adam", "learning_rate": 1e-3}


def _by_positives(n_positive: int) -> dict[str, Any]:
    """Epochs and networks: a hundred positives are soon known by heart, ten thousand never."""
    # The mean of several ranks better, and all labeled pictures set their cut, not a fifth. With
    # more than two thousand five networks take longer than half an hour on two cores.
    n_folds = 5 if n_positive <= 2000 else None
    return {"n_epochs": round(n_positive**0.4 / 2), "cross_fitting": n_folds}


METHODS_OF_CIFAR10: dict[str, dict[str, Method]] = {
    "cifar10": {
        "nnPU": Method(NNPUClassifier(**_ON_GPU, learning_rate=1e-5), true_prior=True),
        # The paper trains uPU for less than ten epochs, because it overfits.
        "uPU": Method(
            UPUClassifier(model="mlp", **_ON_GPU | {"n_epochs": 9}, learning_rate=1e-5),
            true_prior=True,
        ),
        "MixPUL": Method(MixPULClassifier(**_ON_GPU)),
        "MixPUL as published": Method(
            MixPULClassifier.from_paper(net="allconv13", learning_rate=1e-5),
        ),
    },
    "cifar10-cpu": {
        "nnPU": Method(NNPUClassifier(**_ON_CPU | _ADAM), True, _by_positives),
        "uPU": Method(UPUClassifier(model="mlp", **_ON_CPU | _ADAM), True, _by_positives),
        "MixPUL": Method(
            MixPULClassifier(**_ON_CPU, mixing="row", ema_decay=0.99), False, _by_positives
        ),
    },
}


class Split(NamedTuple):
    """What the learner sees, and the rows it is tested on."""

    pu: PUData
    X_test: NDArray
    y_test: NDArray


def make_trial(
    target: str, dataset: str, method: str, seed: int, settings: dict[str, Any]
) -> Trial:
    """A trial of one of `METHODS`, with its parameters as the recipe."""
    own = _method(target, method, settings)
    text = recipe(own.model) + (TOLD if own.true_prior else "")
    return Trial(target, dataset, method, seed, settings, text)


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
    split = pu_split(trial.dataset, trial.seed, trial.settings, data)
    model = _own(_method(trial.target, trial.method, trial.settings), trial.seed, split.pu.prior)
    if "epochs" in trial.settings and "n_epochs" in model.get_params():
        model.set_params(n_epochs=trial.settings["epochs"])
    is_long, is_taken_up = trial.target in METHODS_OF_CIFAR10, False
    if is_long and results is not None:
        checkpoint = Path(results) / trial.target / f"{trial.id}.checkpoint"
        is_taken_up = checkpoint.exists()
        model.set_params(checkpoint=checkpoint)
    pipeline = prepared(trial.dataset, model)
    X_train = pipeline[:-1].fit_transform(split.pu.X) if len(pipeline) > 1 else split.pu.X
    X_test = pipeline[:-1].transform(split.X_test) if len(pipeline) > 1 else split.X_test
    if isinstance(model, WatchedMixPUL):
        model.watch(np.ascontiguousarray(X_test, dtype=np.float32), split.y_test)
    with own_torch_state(trial.seed, threads if is_long else None):
        start = time.perf_counter()
        model.fit(X_train, split.pu.s)
        fitted = time.perf_counter()
        scores = model.decision_function(X_test)
        predicted = time.perf_counter()
    record: dict[str, Any] = {
        "auc": float(roc_auc_score(split.y_test, scores)),
        "error": _share_wrong(split.y_test, scores > 0),
        "labeled": int(split.pu.s.sum()),
        "unlabeled": int((split.pu.s == 0).sum()),
        "prior": split.pu.prior,
        # Nobody has timed the part of a training that a killed process has done.
        "fit_seconds": None if is_taken_up else round(fitted - start, 3),
        "predict_seconds": round(predicted - fitted, 3),
    }
    if is_long:
        record["threads"] = threads
    if hasattr(model, "oof_scores_"):
        record["pu_auc"] = pu_auc_score(split.pu.s, model.oof_scores_)
    if hasattr(model, "n_epochs_"):
        record["epochs"] = int(model.n_epochs_)
    if hasattr(model, "prior_"):
        record["used_prior"] = float(model.prior_)
    if isinstance(model, WatchedMixPUL):
        record["curve"] = model.curve
        record["warmup"] = model.warmup
    return record


def pu_split(
    dataset: str, seed: int, settings: Mapping[str, Any], data: str | os.PathLike | None = None
) -> Split:
    """Training rows with PU labels, and test rows: the paper's protocols.

    Tables: int(0.7 n) rows to train on, a share `c` or a number `n_positive` of their positives
    labeled, all other rows unlabeled. "mnist-0vK": zeros against the digit K, and "cifar10":
    vehicles against animals, with the train and test parts they come with.
    """
    X: NDArray
    X_test: NDArray
    if source_of(dataset) == "mnist":
        X, y, X_test, y_test = datasets.mnist_pair(int(dataset[-1]), data=data)
    elif dataset == "cifar10":
        X, y, X_test, y_test = datasets.cifar10_vehicles(data=data)
    else:
        X, y = datasets.load(dataset, data=data, return_X_y=True)
        X, X_test, y, y_test = datasets.paper_split(X, y, random_state=seed)
    if "subset" in settings:
        random, n = np.random.default_rng(seed), settings["subset"]
        some, others = random.permutation(len(X))[:n], random.permutation(len(X_test))[:n]
        X, y, X_test, y_test = X[some], y[some], X_test[others], y_test[others]
    labeled = {key: settings[key] for key in ("c", "n_positive") if key in settings}
    pu = datasets.make_pu(X, y, **labeled, scheme="single", random_state=seed)
    return Split(pu, X_test, y_test)


def source_of(dataset: str) -> str:
    """The name under which the data of a trial are stored: 'mnist' for 'mnist-0v3'."""
    return dataset.partition("-")[0]


def prepared(dataset: str, classifier: Any) -> Pipeline:
    """A pipeline that puts the columns of `dataset` on one scale, then classifies."""
    if source_of(dataset) in ("mnist", "cifar10"):
        return make_pipeline(classifier)
    logs = [FunctionTransformer(np.log1p)] if dataset == "spambase" else []
    return make_pipeline(*logs, StandardScaler(), classifier)


def _method(target: str, name: str, settings: Mapping[str, Any]) -> Method:
    own = METHODS_OF_CIFAR10.get(target, METHODS)[name]
    if own.settings_of is None:
        return own
    model = clone(own.model).set_params(**own.settings_of(settings["n_positive"]))
    return replace(own, model=model)


def _own(method: Method, seed: int, prior: float) -> Any:
    """A fresh classifier with its seed, and with the true prior if it is told."""
    model = clone(method.model)
    own = {"random_state": seed} if "random_state" in model.get_params() else {}
    return model.set_params(**own, **({"prior": prior} if method.true_prior else {}))


def _share_wrong(y: NDArray, is_positive: NDArray) -> float:
    return float(np.mean(is_positive != (y == 1)))
