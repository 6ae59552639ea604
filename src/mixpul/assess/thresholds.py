"""How thresholds are suggested, and what is to be expected at each of many of them."""

import warnings
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import MixpulError
from mixpul.assess.figures import bound_f1, bound_precision, count_looked_at
from mixpul.assess.intervals import bound_share
from mixpul.metrics import best_threshold, prior_threshold, recall_threshold
from mixpul.metrics.thresholds import (
    explain_few_for_recall,
    find_recall_depth,
    list_thresholds,
    step_below,
)

__all__ = [
    "PROMISE",
    "PROMISED_RECALL",
    "compute_curves",
    "compute_histogram",
    "find_promised_threshold",
    "find_recall_threshold",
    "list_lowest_positives",
    "suggest_thresholds",
]

N_THRESHOLDS = 200
# Thresholds at every 2 % of recall, and at every 2 % of the unlabeled rows.
N_STEPS = 50
N_BINS = 40
# Scores of positives that a model file keeps.
MOST_KEPT = 10_000
# The recall that a suggestion promises, and the name of that suggestion.
PROMISED_RECALL = 0.9
PROMISE = f"recall>={PROMISED_RECALL}"


def suggest_thresholds(
    is_positive: NDArray[np.bool_], scores: NDArray[np.float32], prior: float
) -> dict[str, float]:
    """Return thresholds by the names that can be typed for them.

    ``"recall>=0.9"`` is only there with enough labeled positives to promise it.
    """
    with warnings.catch_warnings():
        # They warn of ties and impossible values, which the curves show anyway.
        warnings.simplefilter("ignore", UserWarning)
        by_prior = prior_threshold(is_positive, scores, prior)
        by_f1 = best_threshold(is_positive, scores, prior, metric="f1")
    suggested = {"0.5": 0.5, "prior": by_prior, "f1": by_f1}
    if find_recall_depth(int(is_positive.sum()), PROMISED_RECALL):
        suggested[PROMISE] = recall_threshold(is_positive, scores, PROMISED_RECALL)
    # A threshold below all scores is -inf, which a slider and JSON do not have.
    return {name: min(max(threshold, 0.0), 1.0) for name, threshold in suggested.items()}


def find_recall_threshold(
    thresholds: Sequence[float], recall: Sequence[float], wanted: float
) -> float:
    """Return the highest threshold of a curve that finds the wanted share of the positives.

    Parameters
    ----------
    thresholds, recall : sequence of float
        The points of the curve.
    wanted : float
        Recall to reach.

    Returns
    -------
    float
        0 if no point of the curve reaches it.

    Examples
    --------
    >>> from mixpul.assess.thresholds import find_recall_threshold
    >>> find_recall_threshold([0.0, 0.4, 0.7], [1.0, 0.9, 0.5], wanted=0.9)
    0.4
    """
    points = zip(thresholds, recall, strict=True)
    return max((threshold for threshold, found in points if found >= wanted), default=0.0)


def list_lowest_positives(
    is_positive: NDArray[np.bool_], scores: NDArray[np.float32]
) -> dict[str, Any]:
    """Return what a model file keeps to promise any recall later.

    The scores of the labeled positives in order, each with its ``"depth"``: how many are as low.
    Of very many positives only some are kept.
    """
    positive = np.sort(scores[is_positive])
    depths = np.unique(np.linspace(1, len(positive), MOST_KEPT).round().astype(int))
    return {
        "positives": len(positive),
        "depth": depths.tolist(),
        "score": [float(score) for score in positive[depths - 1]],
    }


def find_promised_threshold(lowest: Mapping[str, Any], recall: float) -> float:
    """Return the threshold that promises a recall, from what `list_lowest_positives` returned.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.assess.thresholds import find_promised_threshold, list_lowest_positives
    >>> scores = np.linspace(0, 1, 50, dtype=np.float32)
    >>> lowest = list_lowest_positives(np.ones(50, dtype=bool), scores)
    >>> round(find_promised_threshold(lowest, 0.8), 3)  # just below the 6th lowest of 50
    0.102
    """
    depth = find_recall_depth(lowest["positives"], recall)
    if depth == 0:
        raise MixpulError(explain_few_for_recall(lowest["positives"], recall))
    # Of those kept the last one that is not too deep: it keeps the promise as well.
    return step_below(lowest["score"][bisect_right(lowest["depth"], depth) - 1])


def compute_curves(
    is_positive: NDArray[np.bool_],
    scores: NDArray[np.float32],
    prior: Mapping[str, Any],
    suggested: Mapping[str, float],
) -> dict[str, Any]:
    """Return recall, flagged share, precision and F1 at 200 thresholds, each with a band.

    Precision and F1 are bounds unless the prior, which `estimate_priors` describes, was given.
    """
    thresholds = _place_thresholds(is_positive, scores, suggested)
    # A score equal to a threshold is not above it, as at prediction.
    recall, flagged = (
        1 - np.searchsorted(np.sort(scores[kind]), thresholds, side="right") / kind.sum()
        for kind in (is_positive, ~is_positive)
    )
    n_positive, n_unlabeled = int(is_positive.sum()), int((~is_positive).sum())
    rates = (prior, recall, flagged, n_positive, n_unlabeled)
    curves = {
        # Of the hidden positives, which are as many as the prior says; more would change little.
        "recall": bound_share(recall, count_looked_at(prior["value"], n_positive, n_unlabeled)),
        "flagged": bound_share(flagged, n_unlabeled),
        "precision": bound_precision(*rates),
        "f1": bound_f1(*rates),
    }
    return {"threshold": thresholds.tolist()} | {
        name: {part: _list_known(numbers) for part, numbers in curve.items()}
        for name, curve in curves.items()
    }


def _list_known(numbers: Any) -> Any:
    """Return an array as a list with None for NaN; words as they are."""
    if isinstance(numbers, str):
        return numbers
    return [None if np.isnan(number) else float(number) for number in numbers]


def _place_thresholds(
    is_positive: NDArray[np.bool_], scores: NDArray[np.float32], suggested: Mapping[str, float]
) -> NDArray[np.float64]:
    """Place thresholds evenly by recall, by unlabeled rows and by score; add the suggested ones."""
    wanted = np.arange(1, N_STEPS + 1) / N_STEPS
    thresholds, recall = list_thresholds(scores.astype(np.float64), is_positive)
    # From the highest threshold down: the first that reaches the recall.
    by_recall = thresholds[[int(np.argmax(recall >= share)) for share in wanted]]
    # Midway through each step: at the end of the last one nothing would be flagged.
    by_rows = np.quantile(scores[~is_positive], wanted - 0.5 / N_STEPS)
    by_score = np.linspace(0, 1, N_THRESHOLDS - 2 * N_STEPS - len(suggested))
    chosen = np.concatenate([np.clip(by_recall, 0, 1), by_rows, list(suggested.values()), by_score])
    # Rounded as scores are: a row is above a threshold here exactly if it is at prediction.
    return np.sort(chosen.astype(np.float32)).astype(np.float64)


def compute_histogram(is_positive: NDArray[np.bool_], scores: NDArray) -> dict[str, list[float]]:
    """Return the shares of the positives and of the unlabeled rows in bins of the score."""
    edges = np.linspace(0, 1, N_BINS + 1)
    shares = {
        name: (np.histogram(scores[kind], edges)[0] / kind.sum()).tolist()
        for name, kind in (("positives", is_positive), ("unlabeled", ~is_positive))
    }
    return {"edges": edges.tolist()} | shares
