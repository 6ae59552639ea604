"""How thresholds are suggested, and what is to be expected at each of many of them."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.intervals import bound_draws, bound_share
from mixpul.metrics import Estimate, PURates, best_threshold, prior_threshold
from mixpul.metrics.intervals import resample_prior
from mixpul.metrics.thresholds import list_thresholds

__all__ = [
    "compute_curves",
    "compute_histogram",
    "find_recall_threshold",
    "suggest_thresholds",
]

N_BOOTSTRAP = 1000
N_THRESHOLDS = 200
# Thresholds at every 2 % of recall, and at every 2 % of the unlabeled rows.
N_STEPS = 50
N_BINS = 40


def suggest_thresholds(
    is_positive: NDArray[np.bool_], scores: NDArray[np.float32], prior: float
) -> dict[str, float]:
    """Return the default threshold, the one that fits the class prior, and that of the best F1."""
    with warnings.catch_warnings():
        # They warn of ties and impossible values, which the curves show anyway.
        warnings.simplefilter("ignore", UserWarning)
        by_prior = prior_threshold(is_positive, scores, prior)
        by_f1 = best_threshold(is_positive, scores, prior, metric="f1")
    suggested = {"default": 0.5, "prior": by_prior, "f1": by_f1}
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


def compute_curves(
    is_positive: NDArray[np.bool_],
    scores: NDArray[np.float32],
    prior: Estimate,
    suggested: Mapping[str, float],
    random: np.random.Generator,
) -> dict[str, Any]:
    """Return recall, flagged share, precision and F1 at 200 thresholds, each with a band.

    The thresholds divide the rows into groups. A resample of the rows is a multinomial draw of
    the sizes of these groups, so it costs the same for any number of rows, and yields all
    points of a curve together.
    """
    thresholds = _place_thresholds(is_positive, scores, suggested)
    counts = [
        np.bincount(np.searchsorted(thresholds, scores[kind]), minlength=len(thresholds) + 1)
        for kind in (is_positive, ~is_positive)
    ]
    # A score equal to a threshold is not above it, as at prediction.
    recall, flagged = (_share_above(count) for count in counts)
    drawn_recall, drawn_flagged = (
        _share_above(random.multinomial(count.sum(), count / count.sum(), N_BOOTSTRAP))
        for count in counts
    )
    # A beta distribution of a share cannot have a larger standard deviation than that.
    se = min(prior.se, 0.99 * math.sqrt(prior.value * (1 - prior.value)))
    priors = np.asarray(resample_prior(prior.value, se, N_BOOTSTRAP, random)).reshape(-1, 1)
    rates = PURates(recall, flagged, prior.value)
    drawn = PURates(drawn_recall, drawn_flagged, priors)
    n_positive, n_unlabeled = (int(count.sum()) for count in counts)
    precision = bound_draws(_clip(rates.precision), _clip(drawn.precision))
    # Where nothing is flagged nothing is known of the precision: 1, but anything from 0 to 1.
    for name, value in {"value": 1.0, "low": 0.0, "high": 1.0}.items():
        precision[name] = np.where(flagged == 0, value, precision[name])
    curves = {
        "recall": bound_share(recall, n_positive),
        "flagged": bound_share(flagged, n_unlabeled),
        "precision": precision,
        "f1": bound_draws(_clip(rates.f1), _clip(drawn.f1)),
    }
    return {"threshold": thresholds.tolist()} | {
        name: {part: numbers.tolist() for part, numbers in curve.items()}
        for name, curve in curves.items()
    }


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


def _share_above(counts: NDArray) -> NDArray[np.float64]:
    """Return shares of the rows above each threshold, from numbers of rows between thresholds."""
    from_above = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]
    return from_above[..., 1:] / from_above[..., :1]


def _clip(values: Any) -> NDArray[np.float64]:
    """Keep precision and F1 within [0, 1]; chance or too high a prior takes them beyond."""
    return np.clip(values, 0.0, 1.0)


def compute_histogram(is_positive: NDArray[np.bool_], scores: NDArray) -> dict[str, list[float]]:
    """Return the shares of the positives and of the unlabeled rows in bins of the score."""
    edges = np.linspace(0, 1, N_BINS + 1)
    shares = {
        name: (np.histogram(scores[kind], edges)[0] / kind.sum()).tolist()
        for name, kind in (("positives", is_positive), ("unlabeled", ~is_positive))
    }
    return {"edges": edges.tolist()} | shares
