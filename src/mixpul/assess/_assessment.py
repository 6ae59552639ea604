"""How good a method is on a user's own PU data."""

import datetime
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version as installed
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mixpul import __version__
from mixpul._progress import progress_bar
from mixpul._validation import split_labels
from mixpul.assess._checks import (
    check_leaks,
    check_positives,
    check_prior,
    check_ranking,
    check_scar,
    check_simple,
)
from mixpul.assess._columns import column_importance, shuffled_scores, top_rows
from mixpul.assess._curves import (
    prior_estimates,
    recall_cut,
    score_histogram,
    suggested_cuts,
    threshold_curves,
)
from mixpul.assess._scores import (
    LEVEL,
    N_FOLDS,
    as_pipeline,
    check_rows,
    out_of_fold,
    plain_settings,
    plain_values,
    simple_scores,
)
from mixpul.metrics import Estimate
from mixpul.metrics._ranking import delong
from mixpul.tables import leaks
from mixpul.tables._frames import as_frame

# Of the judging, besides one per column: two priors, leaks, the simple method, curves, checks.
N_STEPS = 6


@dataclass
class Assessment:
    """A fitted model and what can be said of it without negatives.

    Attributes
    ----------
    model : Pipeline
        A `TableInput` and a classifier, fitted on all rows.
    scores : ndarray of shape (n,)
        Out-of-fold scores on the scale of `predict_proba`, from 0 to 1.
    data : dict
        Numbers of rows, and what became of each column.
    method, settings, seed, folds
        How the scores came about.
    pu_auc : Estimate
    prior : dict
        The share of positives among the unlabeled rows: an Estimate by ``"bbe"`` and one by
        ``"dedpul"``, the one ``"used"`` and which one it is ``"from"``.
    corrected_auc : Estimate or None
        AUC against true negatives; None if the prior leaves no negatives.
    thresholds : dict
        ``"threshold"``, 200 cuts, and for each the ``"recall"``, the ``"flagged"`` share of the
        unlabeled rows, the ``"precision"`` and ``"f1"``, as ``"value"``, ``"low"`` and ``"high"``.
        Precision and F1 are cut off at 1; where no row is flagged the precision is 1, from 0 to 1.
    suggested : dict
        Cuts worth offering: ``"default"``, ``"prior"`` (flags as many rows as there should be
        positives), ``"recall_90"``, ``"f1"``.
    histogram : dict
        Shares of the positives and of the unlabeled rows in bins of the score.
    top : list of dict
        The unlabeled rows with the highest out-of-fold scores.
    importance : list of dict
        By how much the PU-AUC drops if a column is shuffled among rows left out of training.
    history : list of dict
        Loss terms and PU-AUC of each epoch, of methods that have epochs.
    checks : list of dict
        ``"name"``, ``"verdict"`` (good, caution or bad) and ``"text"``.
    warnings : list of str
    made : dict
        Versions, date and seconds.
    """

    model: Pipeline
    scores: NDArray[np.float32]
    data: dict[str, Any]
    method: str
    settings: dict[str, Any]
    seed: int
    folds: int
    pu_auc: Estimate
    prior: dict[str, Any]
    corrected_auc: Estimate | None
    thresholds: dict[str, Any]
    suggested: dict[str, float]
    histogram: dict[str, list[float]]
    top: list[dict[str, Any]]
    importance: list[dict[str, Any]]
    history: list[dict[str, float]]
    checks: list[dict[str, str]]
    warnings: list[str]
    made: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model and the scores of all rows, ready for `json.dumps`."""
        kept = [field.name for field in fields(self) if field.name not in ("model", "scores")]
        return {name: plain_values(getattr(self, name)) for name in kept}


def assess(
    model: str | BaseEstimator,
    X: Any,
    is_positive: ArrayLike,
    *,
    ids: Sequence[Any] | None = None,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
    verbose: int = 0,
) -> Assessment:
    """Fit a method on all rows, and judge it by rows left out of training.

    A classifier that trains one network per fold (MixPUL's default) gives the out-of-fold scores
    of its one fit; others are fitted on all rows and then once per fold. `TableInput` learns
    nothing from labels and is fitted once, on all rows. MixPUL also chooses its epochs by its
    out-of-fold scores, which flatters them a little; `compare` avoids that.

    Parameters
    ----------
    model : str, classifier or Pipeline
        A name in `METHODS`, a classifier, or a pipeline of a `TableInput` and a classifier. A
        copy is fitted.
    X : data frame, Arrow table or array
    is_positive : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    ids : sequence, optional
        What to call the rows; by default their numbers from 1.
    n_folds : int, default=5
        Folds for methods that have no out-of-fold scores of their own.
    random_state : int, default=0
        Seed of folds and resamples, and of the method unless it has one.
    verbose : int, default=0
        1 shows a progress bar.

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
    ['enough positives', 'ranks better than chance']
    """
    start = time.perf_counter()
    frame = as_frame(X, least_rows=2)
    _, positive = split_labels(is_positive)
    check_rows(frame, positive)
    pipeline = as_pipeline(model, random_state)
    random = np.random.default_rng(random_state)
    rows = pipeline[0].fit_transform(frame)
    found = out_of_fold(pipeline[-1], rows, positive, n_folds, random_state, verbose)
    pipeline.steps[-1] = (pipeline.steps[-1][0], found.classifier)
    logits = found.scores.astype(np.float64)
    scores = expit(found.scores)

    n_columns = len(pipeline[0].plan_)
    with progress_bar(n_columns + N_STEPS, "Judging", verbose, "steps") as advance:
        prior = prior_estimates(logits, positive, random, advance)
        used = prior[prior["from"]]._replace(value=prior["used"])
        shuffled = shuffled_scores(pipeline[0], rows, positive, found, random, advance)
        importance = column_importance(pipeline[0], shuffled)
        named = frame.set_axis([str(name) for name in frame.columns], axis=1)
        leaking = leaks(named[list(pipeline[0].kinds_)], positive)
        advance({})
        simple = simple_scores(rows, positive, found.folds, random)
        advance({})
        cuts = suggested_cuts(positive, scores, used.value)
        curves = threshold_curves(positive, scores, used, cuts, random)
        cuts["recall_90"] = recall_cut(curves["threshold"], curves["recall"]["value"], 0.9)
        advance({})
        checks = [
            check_positives(positive),
            check_ranking(positive, scores),
            check_prior(prior),
            check_scar(pipeline[0], shuffled, importance),
            check_simple(positive, logits, simple, found.classifier),
            check_leaks(leaking),
        ]
        advance({})
    return Assessment(
        model=pipeline,
        scores=scores,
        data={
            "source": None,
            "rows": len(frame),
            "positives": int(positive.sum()),
            "unlabeled": int((~positive).sum()),
            "label": None,
            "positive": None,
            "id": None,
            "columns": pipeline[0].report_,
            "features": rows.shape[1],
            "fingerprint": None,
        },
        method=type(found.classifier).__name__,
        settings=plain_settings(found.classifier),
        seed=random_state,
        folds=int(found.folds.max()) + 1,
        pu_auc=delong(positive, logits, 0.0, 0.0, LEVEL),
        prior=prior,
        corrected_auc=delong(positive, logits, used.value, used.se, LEVEL),
        thresholds=curves,
        suggested=cuts,
        histogram=score_histogram(positive, scores),
        top=top_rows(named, positive, scores, ids, importance),
        importance=importance,
        history=[dict(record) for record in getattr(found.classifier, "history_", [])],
        checks=checks,
        warnings=[str(leak) for leak in leaking],
        made={
            "mixpul": __version__,
            "python": platform.python_version(),
            **{name: installed(name) for name in ("torch", "scikit-learn")},
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": None,
            "seconds": round(time.perf_counter() - start, 3),
        },
    )
