"""The chart of the demo: scores as a user sees them and as they truly are, and the training."""

from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from mixpul.cli._demo_rivals import Mails

__all__ = ["draw_chart"]


def draw_chart(model: Pipeline, mails: Mails) -> bytes:
    """Return the chart of a fitted pipeline that ends in MixPUL, as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Not pyplot: it would keep the figure, and might ask for a screen.
    figure = Figure(figsize=(13, 4), layout="constrained")
    seen, hidden, curves = figure.subplots(1, 3)
    held_out = 1 / (1 + np.exp(-model[-1].oof_scores_))
    _draw_scores(seen, held_out, mails.pu.s == 1, ("labeled positive", "unlabeled"))
    seen.set_title("What the user sees: out-of-fold scores")
    _draw_scores(
        hidden, model.predict_proba(mails.X_test)[:, 1], mails.y_test == 1, ("spam", "no spam")
    )
    hidden.set_title("What is hidden: test scores")
    _draw_training(curves, model[-1])
    content = BytesIO()
    FigureCanvasAgg(figure).print_png(content)
    return content.getvalue()


def _draw_scores(
    axes: Any, scores: NDArray, is_first: NDArray[np.bool_], names: tuple[str, str]
) -> None:
    bins = np.linspace(0, 1, 31)
    for mask, name, colour in zip((is_first, ~is_first), names, ("C1", "C0"), strict=True):
        axes.hist(scores[mask], bins, density=True, alpha=0.6, color=colour, label=name)
    axes.set(xlabel="score", ylabel="density")
    axes.axvline(0.5, color="0.4", linestyle=":", linewidth=1)
    axes.legend(frameon=False, loc="upper center")


def _draw_training(axes: Any, mixpul: Any) -> None:
    epochs = [record["epoch"] for record in mixpul.history_]
    for term in ("L_PN", "L_U", "L_PU"):
        axes.plot(epochs, [record[term] for record in mixpul.history_], label=term)
    right = axes.twinx()
    right.plot(epochs, [record["pu_auc"] for record in mixpul.history_], "k--", label="PU-AUC")
    low, high = right.get_ylim()
    right.set(ylabel="held-out PU-AUC", ylim=(low - 0.02, high + 0.02))  # noise looks like noise
    axes.axvline(mixpul.n_epochs_, color="0.4", linestyle=":", linewidth=1)
    axes.set(title="Training: loss terms and held-out PU-AUC", xlabel="epoch", ylabel="loss")
    handles = [*axes.get_lines()[:3], *right.get_lines()]
    axes.legend(handles=handles, frameon=False, loc="upper center", ncols=2)
    axes.set_ylim(top=1.3 * axes.get_ylim()[1])  # room for the legend
