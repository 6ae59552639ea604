"""What `mixpul demo` does: a PU data set, five classifiers, a leaderboard, a picture, a report."""

import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from mixpul import BaggingPUClassifier, MixPULClassifier, VPUClassifier, datasets
from mixpul._util.files import write_whole
from mixpul.datasets import PUData
from mixpul.methods.neural import NeuralPUClassifier
from mixpul.metrics import Estimate, auc_interval

__all__ = ["run"]


@dataclass
class Result:
    """One line of the leaderboard."""

    method: str
    auc: float
    pu_auc: Estimate
    seconds: float


def run(out: Path, c: float, seed: int) -> None:
    """Fit, print the leaderboard, put the picture and the report into the folder `out`."""
    console = Console()
    mails = datasets.load("spambase")
    X_train, X_test, y_train, y_test = datasets.paper_split(mails.X, mails.y, random_state=seed)
    pu = datasets.make_pu(X_train, y_train, c=c, random_state=seed)
    out.mkdir(parents=True, exist_ok=True)  # better to fail before the work than after
    console.print(
        f"[bold]spambase[/bold]: {pu.s.sum()} mails labeled spam, {(pu.s == 0).sum()} unlabeled "
        f"of which {pu.prior:.0%} are spam too; {len(y_test)} mails to test on."
    )
    mixpul = prepared(MixPULClassifier(random_state=seed, verbose=1))
    results = [
        judged("MixPUL", mixpul, pu, X_test, y_test, seed),
        judged(
            "VPU", prepared(VPUClassifier(random_state=seed, verbose=1)), pu, X_test, y_test, seed
        ),
        judged(
            "bagged trees",
            prepared(BaggingPUClassifier(random_state=seed)),
            pu, X_test, y_test, seed,
        ),
        judged(
            "logistic regression, unlabeled as negative",
            prepared(LogisticRegression(max_iter=1000)),
            pu, X_test, y_test, seed,
        ),
        judged(
            "gradient boosting, unlabeled as negative",
            prepared(HistGradientBoostingClassifier(random_state=seed)),
            pu, X_test, y_test, seed,
        ),
    ]  # fmt: skip
    console.print(leaderboard(results))
    console.print(
        "AUC needs the true labels of the test mails, which a user of PU learning does not have. "
        "PU-AUC ranks labeled positives against unlabeled rows, out of fold: it is what a user "
        "sees. Both put the methods in the same order when the labeled positives are a random "
        "draw of all positives."
    )
    try:
        picture = draw(mixpul, pu, X_test, y_test)
    except ImportError:
        console.print(escape("No picture: it needs matplotlib; pip install 'mixpul[plots]'."))
    else:
        write_whole(out / "demo.png", picture)
        console.print(f"Picture: {out / 'demo.png'}")
    try:
        page = report(pu, mails.feature_names, seed)
    except ImportError:
        console.print(escape("No report: it needs pandas; pip install 'mixpul[tables]'."))
    else:
        write_whole(out / "report.html", page.encode())
        console.print(f"Report, with a cut to move: {out / 'report.html'}")


def prepared(classifier: Any) -> Pipeline:
    """A pipeline for counts and frequencies: log1p, standardise, classify."""
    return make_pipeline(FunctionTransformer(np.log1p), StandardScaler(), classifier)


def judged(
    name: str, model: Pipeline, pu: PUData, X_test: NDArray, y_test: NDArray, seed: int
) -> Result:
    """Fit `model` on what the learner sees; judge it by hidden truth and by PU labels alone."""
    start = time.perf_counter()
    if isinstance(model[-1], NeuralPUClassifier):  # has its own bar and its own held-out scores
        held_out = model.fit(pu.X, pu.s)[-1].oof_scores_
    else:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        # One thread, as MixPUL: with more, boosting small data can crawl on a busy machine.
        with Progress(*columns) as bar, threadpool_limits(1):
            bar.add_task(name)
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            held_out = cross_val_predict(model, pu.X, pu.s, cv=folds, method="decision_function")
            model.fit(pu.X, pu.s)
    seconds = time.perf_counter() - start
    auc = roc_auc_score(y_test, model.decision_function(X_test))
    return Result(name, auc, auc_interval(pu.s, held_out), seconds)


def leaderboard(results: list[Result]) -> Table:
    table = Table(title="Leaderboard")
    table.add_column("method")
    table.add_column("AUC\nhidden truth", justify="right")
    table.add_column("PU-AUC\nout of fold", justify="right")
    table.add_column("seconds", justify="right")
    ranked = sorted(results, key=lambda result: -result.auc)
    for result in ranked:
        table.add_row(
            result.method,
            f"{result.auc:.3f}",
            f"{result.pu_auc.value:.3f} ± {result.pu_auc.se:.3f}",
            f"{result.seconds:.1f}",
            style="bold" if result is ranked[0] else None,
        )
    return table


def report(pu: PUData, columns: list[str], seed: int) -> str:
    """The page of `mixpul fit` for these mails, as if they were a table of one's own."""
    import pandas as pd

    from mixpul.assess import Source, assess
    from mixpul.pages import table_page

    source = Source("spambase, bundled", "labeled spam", positive="1", command="mixpul demo")
    found = assess(
        MixPULClassifier(random_state=seed, verbose=1),
        pd.DataFrame(pu.X, columns=columns),
        pu.s,
        source=source,
        random_state=seed,
        verbose=1,
    )
    return table_page(found.to_dict())


def draw(model: Pipeline, pu: PUData, X_test: NDArray, y_test: NDArray) -> bytes:
    """Score distributions as a user sees them and as they truly are, and training curves."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    mixpul = model[-1]
    figure = Figure(figsize=(13, 4), layout="constrained")
    seen, hidden, curves = figure.subplots(1, 3)
    bins = np.linspace(0, 1, 31)
    held_out = 1 / (1 + np.exp(-mixpul.oof_scores_))
    test = model.predict_proba(X_test)[:, 1]
    panels = [
        (seen, "What the user sees: out-of-fold scores", held_out, pu.s == 1,
         ("labeled positive", "unlabeled")),
        (hidden, "What is hidden: test scores", test, y_test == 1,
         ("spam", "no spam")),
    ]  # fmt: skip
    for axes, title, scores, is_first, names in panels:
        for mask, name, colour in zip((is_first, ~is_first), names, ("C1", "C0"), strict=True):
            axes.hist(scores[mask], bins, density=True, alpha=0.6, color=colour, label=name)
        axes.set(title=title, xlabel="score", ylabel="density")
        axes.axvline(0.5, color="0.4", linestyle=":", linewidth=1)
        axes.legend(frameon=False, loc="upper center")

    epochs = [record["epoch"] for record in mixpul.history_]
    for term in ("L_PN", "L_U", "L_PU"):
        curves.plot(epochs, [record[term] for record in mixpul.history_], label=term)
    right = curves.twinx()
    right.plot(epochs, [record["pu_auc"] for record in mixpul.history_], "k--", label="PU-AUC")
    low, high = right.get_ylim()
    right.set(ylabel="held-out PU-AUC", ylim=(low - 0.02, high + 0.02))  # noise looks like noise
    curves.axvline(mixpul.n_epochs_, color="0.4", linestyle=":", linewidth=1)
    curves.set(title="Training: loss terms and held-out PU-AUC", xlabel="epoch", ylabel="loss")
    handles = [*curves.get_lines()[:3], *right.get_lines()]
    curves.legend(handles=handles, frameon=False, loc="upper center", ncols=2)
    curves.set_ylim(top=1.3 * curves.get_ylim()[1])  # room for the legend

    content = BytesIO()
    FigureCanvasAgg(figure).print_png(content)
    return content.getvalue()
