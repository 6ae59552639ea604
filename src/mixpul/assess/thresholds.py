"""The class prior, cuts, and what is to be expected at each of them."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mixpul.assess._scores import LEVEL
from mixpul.metrics import Estimate, PURates, best_threshold, prior_threshold
from mixpul.metrics.intervals import resampled_prior
from mixpul.metrics.thresholds import _cuts

N_BOOTSTRAP = 1000
N_THRESHOLDS = 200
N_STEPS = 50  # of 2 % each
N_BINS = 40


def suggest_thresholds(
    is_positive: NDArray[np.bool_], scores: NDArray[np.float32], prior: float
) -> dict[str, float]:
    with warnings.catch_warnings():
        # Ties and impossible values show in the curves.
        warnings.simplefilter("ignore", UserWarning)
        by_prior = prior_threshold(is_positive, scores, prior)
        by_f1 = best_threshold(is_positive, scores, prior, metric="f1")
    found = {"default": 0.5, "prior": by_prior, "f1": by_f1}
    return {name: min(max(cut, 0.0), 1.0) for name, cut in found.items()}


def find_recall_threshold(cuts: Sequence[float], recall: Sequence[float], wanted: float) -> float:
    """The highest of the cuts of a curve that finds the wanted share of the positives.

    >>> find_recall_threshold([0.0, 0.4, 0.7], [1.0, 0.9, 0.5], wanted=0.9)
    0.4
    """
    return max((c for c, found in zip(cuts, recall, strict=True) if found >= wanted), default=0.0)


def draw_curves(
    is_positive: NDArray[np.bool_],
    scores: NDArray[np.float32],
    prior: Estimate,
    suggested: Mapping[str, float],
    random: np.random.Generator,
) -> dict[str, Any]:
    """Rates at many cuts, each with a band; resampling costs the same for any number of rows.

    Between two cuts there are so many rows: a resample of the rows is a multinomial draw of these
    counts, and gives all points of a curve together.
    """
    cuts = _cut_points(is_positive, scores, suggested)
    counts = [
        np.bincount(np.searchsorted(cuts, scores[kind]), minlength=len(cuts) + 1)
        for kind in (is_positive, ~is_positive)
    ]
    recall, flagged = (_above(count) for count in counts)
    drawn_recall, drawn_flagged = (
        _above(random.multinomial(count.sum(), count / count.sum(), N_BOOTSTRAP))
        for count in counts
    )
    # A share cannot vary more than that.
    se = min(prior.se, 0.99 * math.sqrt(prior.value * (1 - prior.value)))
    priors = np.asarray(resampled_prior(prior.value, se, N_BOOTSTRAP, random)).reshape(-1, 1)
    rates = PURates(recall, flagged, prior.value)
    drawn = PURates(drawn_recall, drawn_flagged, priors)
    n_positive, n_unlabeled = (int(count.sum()) for count in counts)
    precision = _band(_share(rates.precision), _share(drawn.precision))
    for name, value in {"value": 1.0, "low": 0.0, "high": 1.0}.items():
        precision[name] = np.where(flagged == 0, value, precision[name])
    curves = {
        "recall": _wilson(recall, n_positive),
        "flagged": _wilson(flagged, n_unlabeled),
        "precision": precision,
        "f1": _band(_share(rates.f1), _share(drawn.f1)),
    }
    return {"threshold": cuts.tolist()} | {
        name: {part: numbers.tolist() for part, numbers in curve.items()}
        for name, curve in curves.items()
    }


def _cut_points(
    is_positive: NDArray[np.bool_], scores: NDArray[np.float32], suggested: Mapping[str, float]
) -> NDArray[np.float64]:
    """Cuts at even recall, at even shares of the unlabeled rows, the suggested ones, even ones."""
    wanted = np.arange(1, N_STEPS + 1) / N_STEPS
    cuts, recall = _cuts(scores.astype(np.float64), is_positive)
    by_recall = cuts[[int(np.argmax(recall >= share)) for share in wanted]]
    by_rows = np.quantile(scores[~is_positive], wanted - 0.5 / N_STEPS)
    even = np.linspace(0, 1, N_THRESHOLDS - 2 * N_STEPS - len(suggested))
    found = np.concatenate([np.clip(by_recall, 0, 1), by_rows, list(suggested.values()), even])
    # Rounded as scores are, so that a row is above a cut here if it is at prediction.
    return np.sort(found.astype(np.float32)).astype(np.float64)


def _above(counts: NDArray) -> NDArray[np.float64]:
    """Shares of the rows above each cut, from the numbers of rows between cuts."""
    from_above = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]
    return from_above[..., 1:] / from_above[..., :1]


def _share(values: Any) -> NDArray[np.float64]:
    """Precision and F1 may leave [0, 1] by chance or for a prior that is too high."""
    return np.clip(values, 0.0, 1.0)


def _band(values: NDArray[np.float64], drawn: NDArray[np.float64]) -> dict[str, NDArray]:
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return {"value": values, "low": np.minimum(low, values), "high": np.maximum(high, values)}


def _wilson(share: NDArray[np.float64], n: int) -> dict[str, NDArray]:
    """Interval of a share of n rows; it has a width also where none or all rows are above."""
    z = float(ndtri((1 + LEVEL) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    low, high = np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)
    return {"value": share, "low": np.minimum(low, share), "high": np.maximum(high, share)}


def count_scores(is_positive: NDArray[np.bool_], scores: NDArray) -> dict[str, list[float]]:
    edges = np.linspace(0, 1, N_BINS + 1)
    shares = {
        name: (np.histogram(scores[kind], edges)[0] / kind.sum()).tolist()
        for name, kind in (("positives", is_positive), ("unlabeled", ~is_positive))
    }
    return {"edges": edges.tolist()} | shares
