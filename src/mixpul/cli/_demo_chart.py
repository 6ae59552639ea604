"""The chart of the demo: scores as a user sees them and as they truly are, and the weights."""

from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mixpul.cli._demo_rivals import Mails, Portfolio

__all__ = ["draw_chart"]


def draw_chart(portfolio: Portfolio, mails: Mails) -> bytes:
    """Return the chart of the fitted portfolio as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Not pyplot: it would keep the figure, and might ask for a screen.
    figure = Figure(figsize=(13, 4), layout="constrained")
    seen, hidden, weights = figure.subplots(1, 3)
    classifier = portfolio.model[-1]
    held_out = expit(classifier.oof_scores_)
    _draw_scores(seen, held_out, mails.pu.s == 1, ("labeled positive", "unlabeled"))
    seen.set_title("What the user sees: out-of-fold scores")
    tested = portfolio.model.predict_proba(portfolio.X_test)[:, 1]
    _draw_scores(hidden, tested, mails.y_test == 1, ("spam", "no spam"))
    hidden.set_title("What is hidden: test scores")
    _draw_weights(weights, classifier.leaderboard_)
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


def _draw_weights(axes: Any, leaderboard: list[dict[str, Any]]) -> None:
    """Draw the PU-AUC of each candidate with its standard error, the best on top."""
    for place, one in enumerate(reversed(leaderboard)):
        colour = "C0" if one["weight"] > 0 else "0.65"
        axes.errorbar(one["pu_auc"], place, xerr=one["standard_error"], fmt="o", color=colour)
        weight = f"{one['weight']:.0%}" if one["weight"] > 0 else "left out"
        # At the right edge, whatever the numbers on the axis are.
        axes.text(
            0.98, place, weight, transform=axes.get_yaxis_transform(), color=colour,
            horizontalalignment="right", verticalalignment="center",
        )  # fmt: skip
    low, high = axes.get_xlim()
    axes.set_xlim(low, high + 0.3 * (high - low))  # room for the weights
    axes.set_yticks(range(len(leaderboard)), [one["candidate"] for one in reversed(leaderboard)])
    axes.set(title="How AutoPU weighed its candidates", xlabel="out-of-fold PU-AUC, and the weight")
