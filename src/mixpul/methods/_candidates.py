"""The candidates of the portfolio: what they are, and how each is fitted on given folds."""

import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from mixpul._names import METHODS
from mixpul._util.cross_validation import cross_validate
from mixpul._util.errors import RankLost
from mixpul._util.progress import progress_bar
from mixpul._util.random import seed_parts
from mixpul._util.ranks import take_from_main
from mixpul._util.threads import use_one_thread
from mixpul.base import PUClassifier
from mixpul.methods.bagging import BaggingPUClassifier
from mixpul.methods.logistic import LogisticPUClassifier
from mixpul.methods.mixpul import MixPULClassifier
from mixpul.methods.neural import NeuralPUClassifier
from mixpul.methods.neural.for_images import make_image_settings
from mixpul.methods.vpu import VPUClassifier
from mixpul.training import use_threads

__all__ = [
    "CANDIDATES",
    "Candidate",
    "Fitted",
    "Labels",
    "list_candidates",
    "plan_fits",
    "score_with",
]


class Candidate(NamedTuple):
    """A classifier of the portfolio.

    Attributes
    ----------
    name : str
    model : estimator
        Not fitted.
    belief : float
        How far it is trusted before any row is seen.
    """

    name: str
    model: BaseEstimator
    belief: float = 1.0


# Quick ones first: with a time limit these are there in any case. How the beliefs were chosen:
# docs/explanation/decisions.md.
CANDIDATES: dict[str, Candidate] = {
    one.name: one
    for one in (
        Candidate("trees", BaggingPUClassifier(), 4.0),
        Candidate("logistic-0.001", LogisticPUClassifier(C=0.001), 0.25),
        Candidate("logistic-0.1", LogisticPUClassifier(C=0.1), 0.25),
        Candidate("logistic-10", LogisticPUClassifier(C=10.0), 0.5),
        Candidate("kernel-narrow", LogisticPUClassifier(C=0.1, n_landmarks=200, width=1.0), 4.0),
        Candidate("kernel-wide", LogisticPUClassifier(C=10.0, n_landmarks=200, width=2.2), 0.25),
        Candidate("forest", BaggingPUClassifier(n_estimators=100, splits="best"), 1.0),
        Candidate("vpu", VPUClassifier(), 0.25),
        Candidate("mixpul", MixPULClassifier(), 1.0),
    )
}
# Networks for images; other candidates would take each pixel for a column.
OF_IMAGES = ("vpu", "mixpul")


class Labels(NamedTuple):
    """What is known of the rows: labeled positives, verified negatives, and weights if there are.

    Attributes
    ----------
    is_positive, is_negative : ndarray of bool of shape (n,)
    weights : ndarray of shape (n,) or None
    """

    is_positive: NDArray[np.bool_]
    is_negative: NDArray[np.bool_]
    weights: NDArray[np.float64] | None = None

    def choose_for(self, model: Any) -> dict[str, Any]:
        """Return verified negatives and weights as arguments, if a candidate can use them."""
        is_own = isinstance(model, PUClassifier)
        known: dict[str, Any] = {}
        if is_own and model._uses_negatives and self.is_negative.any():
            known["negative"] = self.is_negative
        takes_weights = model._uses_weights if is_own else has_fit_parameter(model, "sample_weight")
        if takes_weights and self.weights is not None:
            known["sample_weight"] = self.weights
        return known


class Fitted(NamedTuple):
    """A candidate after its fit, or the reason why there is none.

    Attributes
    ----------
    name : str
    model : estimator or None
        Fitted on all rows.
    scores : ndarray of shape (n,)
        Scores of each row by fits that have not seen it.
    parts : list or None
        The fit of each fold; None where out-of-bag scores took their place.
    seconds : float
    failure : str
        Why it is left out; empty if it is not.
    """

    name: str
    model: Any
    scores: NDArray[np.float64]
    parts: list[Any] | None
    seconds: float
    failure: str = ""


def list_candidates(asked: Sequence[Any] | Mapping[str, Any] | None, X: Any) -> list[Candidate]:
    """Return the candidates that were asked for by name or as estimators, or the default ones."""
    if asked is None:
        return _list_image_candidates(X) if X.ndim == 4 else list(CANDIDATES.values())
    if isinstance(asked, Mapping):
        found = [Candidate(str(name), _check_estimator(model)) for name, model in asked.items()]
    else:
        found = [_find_candidate(one) for one in asked]
    if not found:
        raise ValueError("candidates is empty; name at least one, or leave it out.")
    names = [candidate.name for candidate in found]
    # Two of a kind are told apart by number: names are keys of what is learned.
    return [
        candidate._replace(name=f"{candidate.name}-{names[: k + 1].count(candidate.name)}")
        if names.count(candidate.name) > 1
        else candidate
        for k, candidate in enumerate(found)
    ]


def _find_candidate(asked: Any) -> Candidate:
    if not isinstance(asked, str):
        return Candidate(type(asked).__name__, _check_estimator(asked))
    if asked in CANDIDATES:
        return CANDIDATES[asked]
    if asked in METHODS and asked != "auto":
        return Candidate(asked, METHODS[asked]())
    known = [*CANDIDATES, *(name for name in METHODS if name not in CANDIDATES and name != "auto")]
    raise ValueError(f"There is no candidate {asked!r}; take some of {', '.join(known)}.")


def _check_estimator(model: Any) -> Any:
    if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise ValueError(
            "A candidate is a name or an estimator with fit and get_params, such as "
            f"LogisticPUClassifier(); got {model!r}."
        )
    return model


def _list_image_candidates(X: Any) -> list[Candidate]:
    settings = make_image_settings(X.shape)
    return [
        CANDIDATES[name]._replace(model=clone(CANDIDATES[name].model).set_params(**settings[name]))
        for name in OF_IMAGES
    ]


def plan_fits(
    candidates: list[Candidate],
    X: Any,
    labels: Labels,
    folds: NDArray[np.int32],
    seed: int,
    deadline: float | None,
) -> list[Callable[[int], Fitted]]:
    """Return a function for each candidate that fits it; workers can run them anywhere."""
    plans: list[Callable[[int], Fitted]] = []
    for candidate in candidates:
        model = clone(candidate.model)
        # By name: a candidate is the same whatever others are beside it.
        own = np.random.default_rng([seed, zlib.crc32(candidate.name.encode())])
        seed_parts(model, own)
        plans.append(partial(_fit_candidate, candidate.name, model, X, labels, folds, deadline))
    return plans


def _fit_candidate(
    name: str,
    model: Any,
    X: Any,
    labels: Labels,
    folds: NDArray[np.int32],
    deadline: float | None,
    verbose: int,
) -> Fitted:
    """Fit one candidate; any failure becomes a sentence."""
    nothing = np.empty(0)
    if deadline is not None and take_from_main(time.time() > deadline):
        return Fitted(name, None, nothing, None, 0.0, "the time limit was reached before its turn.")
    if isinstance(model, PUClassifier) and "verbose" in model.get_params():
        model.set_params(verbose=verbose)
    start = time.perf_counter()
    try:
        # One thread each: results do not depend on the number of cores, and jobs not on each other.
        with (
            use_one_thread(),
            use_threads(1),
            warnings.catch_warnings(),
            _show_progress(name, model, verbose),
        ):
            warnings.simplefilter("ignore")
            scores, parts = _fit_on_folds(model, X, labels, folds, deadline)
        if not np.isfinite(scores).all():
            raise ValueError("it returned scores that are not finite.")
    except RankLost:
        # Not a failure of the candidate: no other one could be trained, either.
        raise
    except Exception as error:
        lines = str(error).splitlines() or [""]
        reason = f"{type(error).__name__}: {lines[0]}"
        return Fitted(name, None, nothing, None, time.perf_counter() - start, reason)
    if isinstance(model, PUClassifier) and "verbose" in model.get_params():
        model.set_params(verbose=0)  # how loud a fit was is not a setting to keep
    return Fitted(name, model, scores, parts, time.perf_counter() - start)


@contextmanager
def _show_progress(name: str, model: Any, verbose: int) -> Iterator[None]:
    """Show a bar that is full when the fit is over; networks have bars of their own."""
    is_shown = verbose and not isinstance(model, NeuralPUClassifier)
    with progress_bar(1, name, int(bool(is_shown)), "fit") as advance:
        yield
        advance({})


def _fit_on_folds(
    model: Any,
    X: Any,
    labels: Labels,
    folds: NDArray[np.int32],
    deadline: float | None,
) -> tuple[NDArray[np.float64], list[Any] | None]:
    """Fit on all rows; return scores of all rows by fits without them, and these fits."""
    y, more = labels.is_positive.astype(int), labels.choose_for(model)
    has_folds = folds.max() > 0
    if isinstance(model, NeuralPUClassifier):
        model._given_folds, model._deadline = (folds if has_folds else None), deadline
        model.fit(X, y, **more)
        if hasattr(model, "oof_scores_"):
            return model.oof_scores_.astype(np.float64), model.make_fold_scorers()
    else:
        model.fit(X, y, **more)
        if has_out_of_bag(model):
            return model.oob_scores_, None
    if not has_folds:
        return score_with(model, X), None
    return cross_validate(model, X, y, folds, score=score_with, **more)


def has_out_of_bag(model: Any) -> bool:
    """Whether a fitted model has out-of-bag scores of all rows."""
    return isinstance(model, BaggingPUClassifier) and model.estimator is None


def score_with(model: Any, X: Any) -> NDArray[np.float64]:
    """Score rows by any classifier: logits, if it has them."""
    if callable(model):
        return np.asarray(model(X), dtype=np.float64)
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    # Ranks are all that counts; only 0 and 1 have no logit.
    return logit(np.clip(model.predict_proba(X)[:, 1], 1e-12, 1 - 1e-12))
