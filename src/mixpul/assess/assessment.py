"""How good a method is on a user's own PU data."""

import datetime
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.metadata import version as find_version
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mixpul import __version__
from mixpul._util.files import write_whole
from mixpul._util.json_values import to_plain
from mixpul._util.progress import progress_bar
from mixpul.assess._warnings import record_warnings
from mixpul.assess.checks import Check, Remedy, run_checks
from mixpul.assess.checks.file_facts import list_leaks
from mixpul.assess.claims import Claims, make_claims
from mixpul.assess.models import list_networks, write_settings
from mixpul.assess.out_of_fold import N_FOLDS, OutOfFold, fit_on_all_rows, score_out_of_fold
from mixpul.assess.preparing import Prepared, prepare_fit
from mixpul.assess.rows import Rows
from mixpul.assess.source import Source
from mixpul.assess.thresholds import compute_histogram
from mixpul.base import PUClassifier
from mixpul.images import FileFacts
from mixpul.metrics import Estimate, learn_density_ratio

__all__ = ["Assessment", "assess"]

# Steps of the judging that a progress bar shows: claims, checks.
N_STEPS = 2


@dataclass(frozen=True)
class Assessment:
    """A fitted model, and what can be said of it without negatives.

    Attributes
    ----------
    model : Pipeline or PUClassifier
        A `TableInput` and a classifier, fitted on all rows; for images the classifier alone, or
        behind an `ImageFeatures`.
    scores : ndarray of shape (n,)
        Out-of-fold scores on the scale of `predict_proba`, from 0 to 1.
    data : dict
        The source, numbers of rows, and what became of each column. ``"unit"`` is what a row is
        called: ``"row"`` or ``"image"``. ``"negatives"`` counts verified negatives, which are not
        among the ``"unlabeled"`` rows. ``"weighed"`` says whether rows had different weights.
        ``"propensity"`` has the columns by which labeled positives were weighed, and the kinds of
        rows with their weights, or is None. ``"sample"`` has the same numbers of the whole table if
        these rows are a random sample of it, or is None; shares hold for both.
    method, settings, seed, folds
        How the scores came about.
    pu_auc : Estimate
        How often a labeled positive outranks an unlabeled row.
    prior : dict
        The class prior, which is the share of positives among the unlabeled rows: what
        `mixpul.assess.priors.estimate_priors` returns.
    corrected_auc : dict
        AUC against true negatives: ``"kind"``, ``"value"``, ``"low"`` and ``"high"``. If the
        kind is ``"at most"``, it lies between ``"low"`` and ``"value"``.
    thresholds : dict
        200 times a ``"threshold"``, and at each the ``"recall"``, the ``"flagged"`` share of the
        unlabeled rows, the ``"precision"`` and ``"f1"``, as ``"value"``, ``"low"`` and ``"high"``.
        The last two also have a ``"kind"``: ``"at most"`` if the class prior is not known, else
        ``"estimate"``. Where no row is flagged the precision is None.
    suggested : dict
        Thresholds to choose from, by names that `mixpul predict --threshold` takes: ``"0.5"``,
        ``"prior"`` (flags as many rows as there are positives, by `prior`), ``"f1"`` (the best
        F1, by the same), ``"recall>=0.9"`` (finds nine positives out of ten with 95 % confidence;
        only there with 29 labeled positives or more).
    histogram : dict
        Shares of the positives and of the unlabeled rows in bins of the score.
    top, bottom : list of dict
        The unlabeled rows with the highest out-of-fold scores and, for images, the lowest.
    doubtful : list of dict
        Labeled positives whose labels look wrong, the lowest-scored first: out of fold they score
        below the middle one of the unlabeled rows. At most 24.
    importance : list of dict
        For a table: by how much the PU-AUC drops if a column is shuffled among rows left out of
        training.
    leaderboard : list of dict
        The candidates of a portfolio, the best first, and how each was weighed:
        `AutoPUClassifier.leaderboard_`. Empty for other methods.
    agreement : dict or None
        Where one network has learned the scores of the model and takes its place, how far both
        agree: `AutoPUClassifier.agreement_`. The figures are those of the model.
    networks : list of dict
        For MixPUL with several settings each ``"net"`` with its ``"weight_decay"`` and its
        ``"weight"``. ``"candidate"`` is the name of that MixPUL in a portfolio, or None.
    history : list of dict
        Loss terms and PU-AUC of each epoch, for methods that have epochs.
    checks : list of Check
        Dicts of the ``"name"``, the ``"question"``, the ``"verdict"`` (good, note, caution or
        bad) and the ``"text"``. A note says that something is not known.
    warnings : list of str
        Columns or files that give the label away, the warnings of the source, those raised by the
        fit.
    made : dict
        Versions, date, command and seconds.
    """

    model: Pipeline | PUClassifier
    scores: NDArray[np.float32]
    data: dict[str, Any]
    method: str
    settings: dict[str, Any]
    seed: int
    folds: int
    pu_auc: Estimate
    prior: dict[str, Any]
    corrected_auc: dict[str, Any]
    thresholds: dict[str, Any]
    suggested: dict[str, float]
    histogram: dict[str, list[float]]
    top: list[dict[str, Any]]
    bottom: list[dict[str, Any]]
    doubtful: list[dict[str, Any]]
    importance: list[dict[str, Any]]
    leaderboard: list[dict[str, Any]]
    agreement: dict[str, float] | None
    networks: list[dict[str, Any]]
    history: list[dict[str, float]]
    checks: list[Check]
    warnings: list[str]
    made: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the model and the scores of all rows, ready for `json.dumps`."""
        names = [field.name for field in fields(self) if field.name not in ("model", "scores")]
        return {name: to_plain(getattr(self, name)) for name in names}

    def to_html(self, path: str | os.PathLike | None = None) -> str:
        """Return the report as one HTML page that loads nothing; with a path, write it there."""
        page = _import_pages().render_fit_page(self.to_dict())
        if path is not None:
            write_whole(path, page.encode())
        return page

    def _repr_html_(self) -> str:
        return _import_pages().render_fit_summary(self.to_dict())


def assess(
    model: str | BaseEstimator | None,
    X: Any,
    is_positive: ArrayLike,
    *,
    source: Source | None = None,
    ids: Sequence[Any] | None = None,
    prior: float | None = None,
    prior_interval: tuple[float, float] | None = None,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
    verbose: int = 0,
    on_fitted: Callable[[Any], None] | None = None,
    negative: ArrayLike | None = None,
    n_jobs: int | None = None,
    sample_weight: ArrayLike | None = None,
    propensity: Sequence[str] = (),
) -> Assessment:
    """Fit a method on all rows, and judge it by rows left out of training.

    The portfolio ('auto') and classifiers that train one network per fold (MixPUL's default) have
    out-of-fold scores from their one fit. Others are fitted on all rows and then once per fold.
    `TableInput` learns nothing from labels and is fitted once, on all rows. The portfolio chooses
    its weights by its out-of-fold scores, and MixPUL its epochs. This flatters them a little;
    `compare` avoids that.

    Parameters
    ----------
    model : str, classifier, Pipeline or None
        A name in `METHODS`, a classifier, or a pipeline of a `TableInput` and a classifier. A
        copy is fitted. For images a classifier, or 'mixpul', 'nnpu', 'upu' or 'vpu', which then
        train convolutional networks for minutes; or a pipeline of an `ImageFeatures` and a
        classifier. None means 'auto', and 'mixpul' for images.
    X : data frame, Arrow table or array
        An array of uint8 with shape (n, channels, height, width) holds images. Behind an
        `ImageFeatures` it may also hold their features, as `mixpul.images.read_features` returns.
    is_positive : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    source : Source, optional
        Where the rows come from; the assessment passes it on.
    ids : sequence, optional
        What to call the rows; by default their numbers from 1.
    prior : float in (0, 1), optional
        The class prior, where it is known: the share of positives among the unlabeled rows.
        Without it precision, F1 and the AUC against negatives are bounds; with it, estimates.
        Methods that take a prior get it. One that the rows speak against is refused.
    prior_interval : tuple of two floats, optional
        Ends between which the class prior lies, such as (0.03, 0.06); the intervals of what
        rests on it become wider. Without `prior` the middle is taken.
    n_folds : int, default=5
        Folds for methods that have no out-of-fold scores of their own.
    random_state : int, default=0
        Seed of folds and resamples, and of the method unless it has one.
    verbose : int, default=0
        1 shows a progress bar.
    on_fitted : callable, optional
        Called with the model as soon as it is fitted on all rows, before it is judged; for
        example to save it, so that it is there if anything fails later.
    negative : array-like of bool of shape (n,), optional
        Verified negatives, which the method learns from if it can. Every figure compares positives
        with unlabeled rows, as without them: rows that were looked at are seldom a random draw.
    n_jobs : int or None, default=None
        How many folds are fitted at a time; -1 is all cores. The figures do not depend on it.
    sample_weight : array-like of shape (n,), optional
        How much each row counts among those of its kind when the method learns, if it can use
        that. The figures count all rows the same.
    propensity : sequence of str, default=()
        Columns that decide which positives get labeled. Labeled positives then weigh the more, the
        rarer their kind is labeled: `mixpul.priors.propensity_weights`.

    Returns
    -------
    Assessment

    Examples
    --------
    >>> from mixpul import MixPULClassifier, datasets
    >>> from mixpul.assess import assess
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.3, random_state=0)
    >>> found = assess(MixPULClassifier(n_epochs=3), pu.X, pu.s)
    >>> found.pu_auc.low < found.pu_auc.value < found.pu_auc.high
    True
    >>> [check["name"] for check in found.checks][:2]
    ['labeled positives', 'ranking']
    """
    start = time.perf_counter()
    source = source or Source()
    known: dict[str, Any] = {"prior": prior, "prior_interval": prior_interval}
    weighing: dict[str, Any] = {"sample_weight": sample_weight, "propensity": propensity}
    with record_warnings() as raised:
        # Whatever can be refused is, before anything is fitted.
        ready = prepare_fit(
            model, X, is_positive, negative=negative, seed=random_state, **known, **weighing
        )
        whole = _learn(ready, n_folds, random_state, verbose, on_fitted, n_jobs)
        rows, labeled, fitted, ids = _leave_out(ready, whole, ids)
        remedy = Remedy(source.command, propensity)
        asked = _Asked(known, remedy, list(compress(source.files, ~ready.is_negative)))
        judged = _judge(rows, labeled, fitted, asked, random_state, verbose)
    _enable_probabilities(fitted, labeled, judged.claims.prior)
    extremes = rows.list_extremes(labeled, fitted, ids, judged.importance)
    return Assessment(
        model=rows.model,
        scores=whole.shares,
        data=_describe_data(rows, labeled, ready, source),
        seed=random_state,
        folds=int(fitted.folds.max()) + 1,
        thresholds=judged.claims.curves,
        **_repeat_claims(judged.claims),
        histogram=compute_histogram(labeled, fitted.shares),
        **extremes._asdict(),
        importance=judged.importance,
        checks=judged.checks,
        warnings=list(dict.fromkeys([*judged.leaks, *source.warnings, *raised])),
        made=_describe_making(source, time.perf_counter() - start),
        **_describe_method(fitted.classifier),
    )


def _import_pages() -> Any:
    # Pages are made of assessments, so they stand above; a notebook asks for one from here.
    return import_module("mixpul.pages")


def _learn(
    ready: Prepared,
    n_folds: int,
    seed: int,
    verbose: int,
    on_fitted: Callable[[Any], None] | None,
    n_jobs: int | None,
) -> OutOfFold:
    """Fit the classifier on all rows, and find the scores of rows left out."""
    rows, is_positive = ready.rows, ready.is_positive
    known = (ready.is_negative if ready.is_negative.any() else None, ready.weights)
    fit_on_all_rows(rows.classifier, rows.values, is_positive, verbose, *known)
    if on_fitted is not None:
        on_fitted(rows.model)
    return score_out_of_fold(
        rows.classifier, rows.values, is_positive, n_folds, seed, verbose, *known, n_jobs
    )


def _leave_out(
    ready: Prepared, fitted: OutOfFold, ids: Sequence[Any] | None
) -> tuple[Rows, NDArray[np.bool_], OutOfFold, Sequence[Any] | None]:
    """Return the same without verified negatives, which would bias every figure."""
    rows, is_positive, is_negative = ready.rows, ready.is_positive, ready.is_negative
    if not is_negative.any():
        return rows, is_positive, fitted, ids
    others = np.flatnonzero(~is_negative)
    ids = [row + 1 if ids is None else ids[row] for row in others.tolist()]
    return rows.take(others), is_positive[others], fitted.take(others), ids


def _enable_probabilities(
    fitted: OutOfFold, is_positive: NDArray[np.bool_], prior: dict[str, Any]
) -> None:
    """Store in the classifier what `predict_proba` needs to return probabilities."""
    fitted.classifier.density_ratio_ = learn_density_ratio(is_positive, fitted.scores)
    # Of an unknown prior the limit, so that probabilities are limits, too.
    value = prior["upper"] if prior["source"] == "estimated" else prior["value"]
    fitted.classifier.class_prior_ = {"value": float(value), "source": prior["source"]}


class _Asked(NamedTuple):
    """What is known besides the rows: class prior, what could be done, how images were saved."""

    known: dict[str, Any]
    remedy: Remedy
    files: Sequence[FileFacts]


class _Judged(NamedTuple):
    """Parts of an `Assessment` that take time to find out, and what leaks, in words."""

    claims: Claims
    importance: list[dict[str, Any]]
    leaks: list[str]
    checks: list[Check]


def _judge(
    rows: Rows,
    is_positive: NDArray[np.bool_],
    fitted: OutOfFold,
    asked: _Asked,
    seed: int,
    verbose: int,
) -> _Judged:
    # One generator for all: the order of the draws is part of what a seed means.
    random = np.random.default_rng(seed)
    with progress_bar(N_STEPS + rows.n_steps, "Judging", verbose, "steps") as advance:
        claims = make_claims(is_positive, fitted.scores, **asked.known)
        advance({})
        evidence = rows.gather_evidence(is_positive, fitted, random, advance)
        checks = run_checks(
            is_positive, fitted, claims.prior, evidence, rows.unit, asked.remedy, asked.files
        )
        advance({})
    return _Judged(
        claims=claims,
        importance=evidence.importance if evidence else [],
        leaks=[str(leak) for leak in evidence.leaks] if evidence else list_leaks(checks),
        checks=checks,
    )


def _repeat_claims(claims: Claims) -> dict[str, Any]:
    return {name: getattr(claims, name) for name in claims._fields if name != "curves"}


def _describe_method(classifier: Any) -> dict[str, Any]:
    return {
        "method": type(classifier).__name__,
        "settings": write_settings(classifier),
        "leaderboard": [dict(entry) for entry in getattr(classifier, "leaderboard_", [])],
        "agreement": getattr(classifier, "agreement_", None),
        "networks": list_networks(classifier),
        "history": [dict(record) for record in getattr(classifier, "history_", [])],
    }


def _describe_data(
    rows: Rows, is_positive: NDArray[np.bool_], ready: Prepared, source: Source
) -> dict[str, Any]:
    n_negative = int(ready.is_negative.sum())
    return {
        "source": source.name,
        "rows": len(is_positive) + n_negative,
        "positives": int(is_positive.sum()),
        "unlabeled": int((~is_positive).sum()),
        "negatives": n_negative,
        "weighed": ready.weights is not None,
        "propensity": None if ready.propensity is None else ready.propensity.to_dict(),
        "sample": None if source.sample is None else dict(source.sample),
        **rows.describe(source),
        "fingerprint": source.fingerprint,
    }


def _describe_making(source: Source, seconds: float) -> dict[str, Any]:
    return {
        "mixpul": __version__,
        "python": platform.python_version(),
        **{name: find_version(name) for name in ("torch", "scikit-learn")},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": source.command,
        "seconds": round(seconds, 3),
    }
