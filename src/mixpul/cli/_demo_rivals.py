"""What the demo compares: mails, six classifiers, and how good each of them is."""

import time
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    MixPULClassifier,
    VPUClassifier,
    datasets,
)
from mixpul.assess import Assessment, Source, assess
from mixpul.datasets import PUData
from mixpul.methods.neural import NeuralPUClassifier
from mixpul.metrics import Estimate, auc_interval

__all__ = ["Mails", "Portfolio", "Result", "fit_portfolio", "judge", "load_mails", "make_models"]

PORTFOLIO = "AutoPU"


@dataclass(frozen=True)
class Mails:
    """Mails to learn from, some of them labeled spam, and mails to test on."""

    pu: PUData
    X_test: NDArray
    y_test: NDArray
    columns: list[str]


@dataclass(frozen=True)
class Result:
    """One line of the leaderboard."""

    method: str
    auc: float
    pu_auc: Estimate
    seconds: float


@dataclass(frozen=True)
class Portfolio:
    """The fitted portfolio, test mails as it takes them, its line, and its assessment if any."""

    model: Pipeline
    X_test: Any
    result: Result
    assessment: Assessment | None


def load_mails(c: float, seed: int) -> Mails:
    """Split the bundled mails and label the share `c` of the spam to learn from."""
    mails = datasets.load("spambase")
    X_train, X_test, y_train, y_test = datasets.paper_split(mails.X, mails.y, random_state=seed)
    pu = datasets.make_pu(X_train, y_train, c=c, random_state=seed)
    return Mails(pu, X_test, y_test, mails.feature_names)


def make_models(seed: int) -> dict[str, Pipeline]:
    """Return MixPUL and its rivals but for the portfolio, not fitted yet."""
    classifiers = {
        "MixPUL": MixPULClassifier(random_state=seed, verbose=1),
        "VPU": VPUClassifier(random_state=seed, verbose=1),
        "balanced extra trees": BaggingPUClassifier(random_state=seed),
        "logistic regression, unlabeled as negative": LogisticRegression(max_iter=1000),
        "gradient boosting, unlabeled as negative": HistGradientBoostingClassifier(
            random_state=seed
        ),
    }
    # Counts and frequencies have long tails, hence the logarithm.
    return {
        name: make_pipeline(FunctionTransformer(np.log1p), StandardScaler(), classifier)
        for name, classifier in classifiers.items()
    }


def judge(name: str, model: Pipeline, mails: Mails, seed: int) -> Result:
    """Fit `model` on what the learner sees; judge it by hidden truth and by PU labels alone."""
    pu = mails.pu
    start = time.perf_counter()
    # These have a bar of their own, and scores of mails that were left out.
    if isinstance(model[-1], NeuralPUClassifier | AutoPUClassifier):
        held_out = model.fit(pu.X, pu.s)[-1].oof_scores_
    else:
        held_out = _fit_with_folds(name, model, pu, seed)
    # The folds are timed too: MixPUL also trains one network per fold.
    seconds = time.perf_counter() - start
    auc = roc_auc_score(mails.y_test, model.decision_function(mails.X_test))
    return Result(name, auc, auc_interval(pu.s, held_out), seconds)


def _fit_with_folds(name: str, model: Pipeline, pu: PUData, seed: int) -> Any:
    """Fit `model` on all mails; return scores of mails that other fits have not seen."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    # One thread, as MixPUL: with more, boosting small data can crawl on a busy machine.
    with Progress(*columns) as bar, threadpool_limits(1):
        bar.add_task(name)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        held_out = cross_val_predict(model, pu.X, pu.s, cv=folds, method="decision_function")
        model.fit(pu.X, pu.s)
    return held_out


def fit_portfolio(mails: Mails, seed: int) -> Portfolio:
    """Fit the portfolio and judge it; with pandas, assess it as on a user's own table."""
    classifier = AutoPUClassifier(n_jobs=2, random_state=seed, verbose=1)
    try:
        import pandas as pd
    except ImportError:
        model = make_pipeline(FunctionTransformer(), classifier)
        return Portfolio(model, mails.X_test, judge(PORTFOLIO, model, mails, seed), None)
    X, X_test = (pd.DataFrame(rows, columns=mails.columns) for rows in (mails.pu.X, mails.X_test))
    start, moments = time.perf_counter(), []
    found = assess(
        classifier,
        X,
        mails.pu.s,
        source=Source("spambase, bundled", "labeled spam", positive="1", command="mixpul demo"),
        random_state=seed,
        verbose=1,
        # Before it is judged: the leaderboard shows the time of fits.
        on_fitted=lambda model: moments.append(time.perf_counter()),
    )
    auc = roc_auc_score(mails.y_test, found.model.decision_function(X_test))
    result = Result(PORTFOLIO, auc, found.pu_auc, moments[0] - start)
    return Portfolio(cast(Pipeline, found.model), X_test, result, found)
