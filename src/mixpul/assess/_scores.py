"""Scores of rows that were left out of training, by whatever method."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, ndtri
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from mixpul._names import METHODS
from mixpul._util.progress import progress_bar
from mixpul.base import PUClassifier
from mixpul.images.defaults import SETTINGS_BY_METHOD, count_image_epochs
from mixpul.metrics import Estimate
from mixpul.metrics.ranking import components
from mixpul.tables import TableInput
from mixpul.training import as_rows, score_rows

LEVEL = 0.95
N_FOLDS = 5
# More unlabeled rows hardly change a logistic regression on some dozens of features.
UNLABELED_OF_SIMPLE = 20_000


class OutOfFold(NamedTuple):
    """A classifier fitted on all rows, and the scores of rows that scorers have not seen."""

    classifier: PUClassifier
    scores: NDArray[np.float32]  # logits
    folds: NDArray[np.int32]  # per row the number of the scorer that has not seen it
    scorers: list[Callable[[NDArray], NDArray]]

    @property
    def shares(self) -> NDArray[np.float32]:
        """The scores on the scale of `predict_proba`."""
        return expit(self.scores)


def fit_whole(classifier: Any, rows: NDArray, is_positive: NDArray[np.bool_], verbose: int) -> None:
    """Fit the classifier on all rows, in place; it shows its progress if `verbose` says so."""
    shows_itself = "verbose" in classifier.get_params()
    given = classifier.get_params().get("verbose")
    if shows_itself:
        classifier.set_params(verbose=verbose)
    classifier.fit(rows, is_positive.astype(int))
    if shows_itself:
        classifier.set_params(verbose=given)


def out_of_fold(
    classifier: Any,
    rows: NDArray,
    is_positive: NDArray[np.bool_],
    n_folds: int,
    seed: int,
    verbose: int,
) -> OutOfFold:
    """Score each row by a fit that has not seen it; `classifier` is fitted on all rows."""
    labels = is_positive.astype(int)
    if hasattr(classifier, "oof_scores_"):
        scorers = [_net_scorer(net) for net in classifier.net_.members]
        return OutOfFold(classifier, classifier.oof_scores_, classifier.oof_folds_, scorers)
    folds = make_folds(is_positive, n_folds, seed)
    with progress_bar(int(folds.max()) + 1, type(classifier).__name__, verbose, "folds") as advance:
        parts = []
        for part in fitted_per_fold(classifier, rows, labels, folds):
            parts.append(part)
            advance({})
    scores = np.empty(len(rows), dtype=np.float32)
    for k, part in enumerate(parts):
        scores[folds == k] = part.decision_function(rows[folds == k])
    return OutOfFold(classifier, scores, folds, [part.decision_function for part in parts])


def _net_scorer(net: torch.nn.Module) -> Callable[[NDArray], NDArray]:
    def scores(rows: NDArray) -> NDArray:
        device = next(net.parameters()).device
        return score_rows(net, as_rows(rows, device), torch.arange(len(rows)))

    return scores


def make_folds(is_positive: NDArray[np.bool_], n_folds: int, seed: int) -> NDArray[np.int32]:
    n_folds = min(n_folds, int(is_positive.sum()), int((~is_positive).sum()))
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    folds = np.empty(len(is_positive), dtype=np.int32)
    for k, (_, held_out) in enumerate(splitter.split(is_positive, is_positive)):
        folds[held_out] = k
    return folds


def fitted_per_fold(
    classifier: Any, rows: NDArray, labels: NDArray, folds: NDArray[np.int32]
) -> Iterator[Any]:
    for k in range(int(folds.max()) + 1):
        yield clone(classifier).fit(rows[folds != k], labels[folds != k])


def check_rows(frame: Any, is_positive: NDArray[np.bool_]) -> None:
    if len(frame) != len(is_positive):
        raise ValueError(
            f"X and is_positive must have one entry per row; got {len(frame)} rows and "
            f"{len(is_positive)} labels."
        )
    n_positive = int(is_positive.sum())
    if min(n_positive, len(frame) - n_positive) < 2:
        raise ValueError(
            "To hold some rows out, at least 2 labeled positives and 2 unlabeled rows are needed; "
            f"got {n_positive} and {len(frame) - n_positive}."
        )


def as_pipeline(model: str | BaseEstimator, seed: int) -> Pipeline:
    if not isinstance(model, Pipeline):
        return make_pipeline(TableInput(), as_classifier(model, seed))
    if len(model) != 2 or not isinstance(model[0], TableInput):
        raise ValueError(
            "A pipeline to assess has two steps, a TableInput and a classifier; got "
            f"{', '.join(type(step).__name__ for _, step in model.steps)}."
        )
    pipeline = clone(model)
    pipeline.steps[-1] = (pipeline.steps[-1][0], as_classifier(pipeline[-1], seed))
    return pipeline


def as_classifier(model: str | BaseEstimator, seed: int) -> PUClassifier:
    if isinstance(model, str):
        return chosen_methods([model], seed)[model]
    return _seeded(model, seed, METHODS)


def as_image_classifier(model: str | BaseEstimator, seed: int, n_unlabeled: int) -> PUClassifier:
    if isinstance(model, str) and model in SETTINGS_BY_METHOD:
        settings = SETTINGS_BY_METHOD[model] | {"n_epochs": count_image_epochs(n_unlabeled)}
        return METHODS[model](**settings, random_state=seed)
    return _seeded(model, seed, SETTINGS_BY_METHOD)


def _seeded(model: Any, seed: int, names: Iterable[str]) -> PUClassifier:
    """A copy of a classifier of ours, with a seed if it has none."""
    if not isinstance(model, PUClassifier):
        got = repr(model) if isinstance(model, str) else type(model).__name__
        raise ValueError(
            f"model must be one of {', '.join(names)}, or a classifier of mixpul; got {got}."
        )
    classifier = clone(model)
    if classifier.get_params()["random_state"] is None:
        classifier.set_params(random_state=seed)
    return classifier


def plain_settings(classifier: Any) -> dict[str, Any]:
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in classifier.get_params(deep=False).items()
    }


def simple_scores(
    rows: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    folds: NDArray[np.int32],
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Out-of-fold scores of a balanced logistic regression, unlabeled as negative."""
    unlabeled = random.permutation(np.flatnonzero(~is_positive))[:UNLABELED_OF_SIMPLE]
    used = np.sort(np.concatenate([np.flatnonzero(is_positive), unlabeled]))
    scores = np.empty(len(rows))
    simple = LogisticRegression(C=0.3, class_weight="balanced", max_iter=1000)
    with warnings.catch_warnings():
        # Where positives can be separated; its scores are good enough by then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = fitted_per_fold(simple, rows[used], is_positive[used], folds[used])
        for k, part in enumerate(fitted):
            scores[folds == k] = part.decision_function(rows[folds == k])
    return scores


def chosen_methods(
    methods: Sequence[str] | Mapping[str, PUClassifier] | None, seed: int
) -> dict[str, PUClassifier]:
    if isinstance(methods, Mapping):
        return {name: clone(classifier) for name, classifier in methods.items()}
    names = list(METHODS) if methods is None else list(methods)
    if unknown := [name for name in names if name not in METHODS]:
        raise ValueError(f"There is no method {unknown[0]!r}; there are {', '.join(METHODS)}.")
    if not names:
        raise ValueError(f"Name at least one method of {', '.join(METHODS)}.")
    return {name: METHODS[name](random_state=seed) for name in names}


def auc_difference(is_positive: NDArray[np.bool_], scores: NDArray, others: NDArray) -> Estimate:
    """PU-AUC of `scores` less that of `others` on the same rows, by the method of DeLong."""
    mine, theirs = components(is_positive, scores), components(is_positive, others)
    of_positive, of_unlabeled = mine[0] - theirs[0], mine[1] - theirs[1]
    variance = of_positive.var(ddof=1) / len(of_positive)
    variance += of_unlabeled.var(ddof=1) / len(of_unlabeled)
    value, se = float(of_positive.mean()), float(np.sqrt(variance))
    reach = float(ndtri((1 + LEVEL) / 2)) * se
    return Estimate(value, se, value - reach, value + reach)
