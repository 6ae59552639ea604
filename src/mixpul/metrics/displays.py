"""Plots in scikit-learn's style: a display holds numbers, `plot` draws them.

They need matplotlib: ``pip install 'mixpul[plots]'``.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from mixpul._util.validation import check_scores, split_labels
from mixpul.metrics.ranking import pu_auc_score

__all__ = ["PURecallFlaggedDisplay", "ScoreHistogramDisplay", "TrainingCurveDisplay"]

POSITIVE, UNLABELED = "#b3541e", "#4c72b0"


def _open_axes(ax: Any) -> Any:
    """Return axes to draw into; those given, or new ones."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'mixpul[plots]'.") from error
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _score_shares(model: Any, X: Any) -> NDArray:
    """Score rows from 0 to 1, where positives are."""
    if hasattr(model, "decision_function"):
        return np.asarray(expit(model.decision_function(X)))
    return np.asarray(model.predict_proba(X))[:, 1]


class _Display:
    """What displays of scores share."""

    ax_: Any
    figure_: Any

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None, **options: Any
    ) -> Self:
        """Score rows with a fitted classifier or pipeline, and plot.

        Parameters
        ----------
        estimator : classifier or Pipeline
        X : array, data frame or Arrow table
            Rows that were left out of training: a model that has memorised its positives looks
            better on those.
        y : array-like of shape (n_samples,)
            PU labels: two values, of which the larger means labeled positive.
        ax : matplotlib Axes, optional
        **options
            As of `from_predictions`.

        Returns
        -------
        display
        """
        options.setdefault(
            "name", type(getattr(estimator, "steps", [[estimator]])[-1][-1]).__name__
        )
        return cls.from_predictions(y, _score_shares(estimator, X), ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, scores: ArrayLike, *, ax: Any = None, **options: Any
    ) -> Self:
        raise NotImplementedError

    def _finish(self, ax: Any) -> None:
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure


class PURecallFlaggedDisplay(_Display):
    """The recall against the share of unlabeled rows that is flagged, over all thresholds.

    The area under this curve is the PU-AUC. Without negatives it takes the place of a ROC curve.

    Parameters
    ----------
    flagged, recall : ndarray
        Shares of the unlabeled rows and of the labeled positives above each threshold.
    thresholds : ndarray
        The scores at which they are flagged, falling.
    pu_auc : float, optional
    name : str, optional
        For the legend.

    Attributes
    ----------
    ax_, figure_, line_
        What was drawn.

    Examples
    --------
    >>> from mixpul.metrics import PURecallFlaggedDisplay
    >>> shown = PURecallFlaggedDisplay.from_predictions([1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1])
    >>> shown.recall.tolist(), shown.flagged.tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5, 1.0])
    """

    def __init__(
        self,
        *,
        flagged: NDArray,
        recall: NDArray,
        thresholds: NDArray,
        pu_auc: float | None = None,
        name: str | None = None,
    ) -> None:
        self.flagged = flagged
        self.recall = recall
        self.thresholds = thresholds
        self.pu_auc = pu_auc
        self.name = name

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, scores: ArrayLike, *, ax: Any = None, **options: Any
    ) -> Self:
        """Plot scores of rows that were left out of training; `name` is for the legend."""
        _, is_positive = split_labels(y)
        values = check_scores(scores, is_positive, finite=True)
        order = np.argsort(-values, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)
        found, flagged = (
            np.append(0.0, np.cumsum(kind[order])[ends] / kind.sum())
            for kind in (is_positive, ~is_positive)
        )
        thresholds = np.append(np.inf, values[order][ends])
        auc = pu_auc_score(is_positive, values)
        display = cls(
            flagged=flagged,
            recall=found,
            thresholds=thresholds,
            pu_auc=auc,
            name=options.pop("name", None),
        )
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw into axes, new ones by default; `line` goes to `Axes.plot`."""
        ax = _open_axes(ax)
        parts = [self.name] if self.name else []
        parts += [f"PU-AUC {self.pu_auc:.3f}"] if self.pu_auc is not None else []
        line = {"label": ", ".join(parts) or None, "drawstyle": "default"} | line
        (self.line_,) = ax.plot(self.flagged, self.recall, **line)
        ax.plot([0, 1], [0, 1], linestyle=":", color="grey", linewidth=1)
        ax.set(
            xlabel="Share of unlabeled rows flagged",
            ylabel="Share of labeled positives found (recall)",
            xlim=(-0.01, 1.01),
            ylim=(-0.01, 1.01),
            aspect="equal",
        )
        if line["label"]:
            ax.legend(loc="lower right", frameon=False)
        self._finish(ax)
        return self


class ScoreHistogramDisplay(_Display):
    """How the scores of labeled positives and of unlabeled rows are spread.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
    positive, unlabeled : ndarray of shape (n_bins,)
        Shares of the rows of each kind; each sums to 1.
    name : str, optional
        For the title.

    Attributes
    ----------
    ax_, figure_
        What was drawn.

    Examples
    --------
    >>> from mixpul.metrics import ScoreHistogramDisplay
    >>> shown = ScoreHistogramDisplay.from_predictions([1, 1, 0, 0], [0.9, 0.4, 0.3, 0.1], bins=2)
    >>> shown.positive.tolist(), shown.unlabeled.tolist()
    ([0.5, 0.5], [1.0, 0.0])
    """

    def __init__(
        self, *, edges: NDArray, positive: NDArray, unlabeled: NDArray, name: str | None = None
    ) -> None:
        self.edges = edges
        self.positive = positive
        self.unlabeled = unlabeled
        self.name = name

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, scores: ArrayLike, *, ax: Any = None, **options: Any
    ) -> Self:
        """Plot scores in `bins` (30) of equal width, from 0 to 1 if they lie there."""
        _, is_positive = split_labels(y)
        values = check_scores(scores, is_positive, finite=True)
        low, high = float(values.min()), float(values.max())
        ends = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
        edges = np.histogram_bin_edges(values, options.pop("bins", 30), range=ends)
        positive, unlabeled = (
            np.histogram(values[kind], edges)[0] / kind.sum()
            for kind in (is_positive, ~is_positive)
        )
        display = cls(
            edges=edges, positive=positive, unlabeled=unlabeled, name=options.pop("name", None)
        )
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw into axes, new ones by default; options go to `Axes.stairs`."""
        ax = _open_axes(ax)
        for values, color, label in (
            (self.unlabeled, UNLABELED, "unlabeled rows"),
            (self.positive, POSITIVE, "labeled positives"),
        ):
            ax.stairs(values, self.edges, fill=True, alpha=0.35, color=color)
            ax.stairs(
                values, self.edges, **({"color": color, "linewidth": 1.5, "label": label} | options)
            )
        ax.set(xlabel="Score", ylabel="Share of the rows of each kind", title=self.name or "")
        ax.legend(frameon=False)
        self._finish(ax)
        return self


class TrainingCurveDisplay(_Display):
    """What the loss and the PU-AUC were in each epoch.

    Parameters
    ----------
    history : list of dict
        As classifiers with epochs have it: `history_`.
    name : str, optional
        For the title.

    Attributes
    ----------
    ax_, figure_
        What was drawn.

    Examples
    --------
    >>> from mixpul.metrics import TrainingCurveDisplay
    >>> shown = TrainingCurveDisplay([{"loss": 0.7, "pu_auc": 0.6}, {"loss": 0.5, "pu_auc": 0.7}])
    >>> shown.plot().ax_.get_xlabel()
    'Epoch'
    """

    def __init__(self, history: Sequence[dict[str, float]], *, name: str | None = None) -> None:
        self.history = history
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Plot the training of a fitted classifier, or of the last step of a pipeline."""
        model = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
        history = getattr(model, "history_", None)
        if not history:
            raise ValueError(
                f"{type(model).__name__} has no training curve: only fitted methods with epochs "
                "have a history_, such as MixPULClassifier."
            )
        name = options.pop("name", type(model).__name__)
        return cls(history, name=name).plot(ax, **options)

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, scores: ArrayLike, *, ax: Any = None, **options: Any
    ) -> Self:
        """Refuse: predictions do not tell how a model was trained."""
        raise TypeError("A training curve comes from a classifier: use from_estimator(model).")

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw into axes, new ones by default; `line` goes to `Axes.plot`."""
        ax = _open_axes(ax)
        epochs = np.arange(1, len(self.history) + 1)
        drawn = [
            ax.plot(epochs, self._list("loss"), **({"color": UNLABELED, "label": "loss"} | line))[0]
        ]
        ax.set(xlabel="Epoch", ylabel="Loss", title=self.name or "")
        ax.xaxis.get_major_locator().set_params(integer=True)
        self._finish(ax)
        pu_auc = self._list("pu_auc")
        if np.isfinite(pu_auc).any():
            right = ax.twinx()
            options = {"color": POSITIVE, "label": "PU-AUC, rows left out"} | line
            drawn.append(right.plot(epochs, pu_auc, **options)[0])
            right.set_ylabel("PU-AUC")
            right.spines["top"].set_visible(False)
        ax.legend(handles=drawn, frameon=False, loc="center right")
        return self

    def _list(self, name: str) -> NDArray[np.float64]:
        return np.array([record.get(name, np.nan) for record in self.history], dtype=np.float64)
