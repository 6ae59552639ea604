"""How good a method is on a user's own PU data."""

import datetime
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from importlib.metadata import version as installed
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mixpul import __version__
from mixpul._util.json_values import to_plain
from mixpul._util.progress import progress_bar
from mixpul._util.validation import split_labels
from mixpul.assess._checks import check_positives, check_prior, check_ranking
from mixpul.assess._judged import Judged, judge_pictures, judge_table
from mixpul.assess._scores import (
    LEVEL,
    N_FOLDS,
    as_image_classifier,
    as_pipeline,
    check_rows,
    fit_whole,
    out_of_fold,
    plain_settings,
)
from mixpul.assess._warnings import record_warnings
from mixpul.assess.priors import estimate_priors
from mixpul.assess.source import Source
from mixpul.assess.thresholds import (
    count_scores,
    draw_curves,
    find_recall_threshold,
    suggest_thresholds,
)
from mixpul.base import PUClassifier
from mixpul.metrics import Estimate
from mixpul.metrics.ranking import delong
from mixpul.tables.frames import as_frame
from mixpul.training import is_images

# Of the judging: two priors, curves, checks; of a table also leaks, the simple method, and one
# for each column.
N_STEPS, N_STEPS_OF_TABLE = 4, 2


@dataclass(frozen=True)
class Assessment:
    """A fitted model and what can be said of it without negatives.

    Attributes
    ----------
    model : Pipeline or PUClassifier
        A `TableInput` and a classifier, fitted on all rows; for pictures the classifier alone.
    scores : ndarray of shape (n,)
        Out-of-fold scores on the scale of `predict_proba`, from 0 to 1.
    data : dict
        Numbers of rows, and what became of each column. ``"unit"`` is what one of them is called:
        ``"row"`` or ``"picture"``.
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
    top, bottom : list of dict
        The unlabeled rows with the highest out-of-fold scores and, of pictures, the lowest.
    importance : list of dict
        Of a table: by how much the PU-AUC drops if a column is shuffled among rows left out of
        training.
    history : list of dict
        Loss terms and PU-AUC of each epoch, of methods that have epochs.
    checks : list of dict
        ``"name"``, ``"verdict"`` (good, caution or bad) and ``"text"``.
    warnings : list of str
        Columns that give the label away, the warnings of the source, those raised by the fit.
    made : dict
        Versions, date and seconds.
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
    corrected_auc: Estimate | None
    thresholds: dict[str, Any]
    suggested: dict[str, float]
    histogram: dict[str, list[float]]
    top: list[dict[str, Any]]
    bottom: list[dict[str, Any]]
    importance: list[dict[str, Any]]
    history: list[dict[str, float]]
    checks: list[dict[str, str]]
    warnings: list[str]
    made: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model and the scores of all rows, ready for `json.dumps`."""
        kept = [field.name for field in fields(self) if field.name not in ("model", "scores")]
        return {name: to_plain(getattr(self, name)) for name in kept}


def assess(
    model: str | BaseEstimator,
    X: Any,
    is_positive: ArrayLike,
    *,
    source: Source | None = None,
    ids: Sequence[Any] | None = None,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
    verbose: int = 0,
    on_fitted: Callable[[Any], None] | None = None,
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
        copy is fitted. For pictures 'mixpul', 'nnpu', 'upu', 'vpu', which then train convolutional
        networks for minutes, or a classifier.
    X : data frame, Arrow table or array
        An array of uint8 with shape (n, channels, height, width) holds pictures.
    is_positive : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    source : Source, optional
        Where the rows come from; the assessment passes it on.
    ids : sequence, optional
        What to call the rows; by default their numbers from 1.
    n_folds : int, default=5
        Folds for methods that have no out-of-fold scores of their own.
    random_state : int, default=0
        Seed of folds and resamples, and of the method unless it has one.
    verbose : int, default=0
        1 shows a progress bar.
    on_fitted : callable, optional
        Called with the model as soon as it is fitted on all rows, before anything judges it; to
        save it, for example, so that it outlives whatever fails later.

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
    source = source or Source()
    _, positive = split_labels(is_positive)
    judge: Callable[..., Judged]
    if is_images(X):
        check_rows(X, positive)
        classifier = as_image_classifier(model, random_state, int((~positive).sum()))
        pipeline, rows, n_steps = None, X, N_STEPS
        judge = partial(judge_pictures, source=source, pixels=X)
    else:
        frame = as_frame(X, least_rows=2)
        check_rows(frame, positive)
        pipeline = as_pipeline(model, random_state)
        rows, classifier = pipeline[0].fit_transform(frame), pipeline[-1]
        n_steps = N_STEPS + N_STEPS_OF_TABLE + len(pipeline[0].plan_)
        judge = partial(judge_table, source=source, table=pipeline[0], frame=frame, rows=rows)
    random = np.random.default_rng(random_state)
    with record_warnings() as raised:
        fit_whole(classifier, rows, positive, verbose)
        if on_fitted is not None:
            on_fitted(classifier if pipeline is None else pipeline)
        found = out_of_fold(classifier, rows, positive, n_folds, random_state, verbose)
    logits, scores = found.scores.astype(np.float64), found.shares

    with progress_bar(n_steps, "Judging", verbose, "steps") as advance:
        prior = estimate_priors(logits, positive, random, advance)
        used = prior[prior["from"]]._replace(value=prior["used"])
        own = judge(found, positive, ids, random, advance)
        cuts = suggest_thresholds(positive, scores, used.value)
        curves = draw_curves(positive, scores, used, cuts, random)
        cuts["recall_90"] = find_recall_threshold(
            curves["threshold"], curves["recall"]["value"], 0.9
        )
        advance({})
        checks = [
            check_positives(positive),
            check_ranking(positive, scores, own.data["unit"]),
            check_prior(prior, own.data["unit"]),
            *own.checks,
        ]
        advance({})
    return Assessment(
        model=found.classifier if pipeline is None else pipeline,
        scores=scores,
        data={
            "source": source.name,
            "rows": len(rows),
            "positives": int(positive.sum()),
            "unlabeled": int((~positive).sum()),
            **own.data,
            "fingerprint": source.fingerprint,
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
        histogram=count_scores(positive, scores),
        top=own.top,
        bottom=own.bottom,
        importance=own.importance,
        history=[dict(record) for record in getattr(found.classifier, "history_", [])],
        checks=checks,
        warnings=list(dict.fromkeys([*own.warnings, *source.warnings, *raised])),
        made={
            "mixpul": __version__,
            "python": platform.python_version(),
            **{name: installed(name) for name in ("torch", "scikit-learn")},
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": source.command,
            "seconds": round(time.perf_counter() - start, 3),
        },
    )
