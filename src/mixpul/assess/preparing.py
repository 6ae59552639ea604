"""All that comes before a fit: rows, labels and weights, and what is refused without a fit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from mixpul._util.errors import MixpulError
from mixpul._util.random import number_folds
from mixpul._util.validation import check_negative, check_weights, split_labels
from mixpul.assess.models import hand_on_prior
from mixpul.assess.out_of_fold import N_FOLDS
from mixpul.assess.priors import SURE, check_given_prior, refuse_impossible
from mixpul.assess.propensity import Propensity
from mixpul.assess.rows import Rows, check_rows, prepare_rows
from mixpul.assess.simple_method import score_simple_method
from mixpul.priors import largest_prior

__all__ = ["Prepared", "prepare_fit"]


class Prepared(NamedTuple):
    """What a fit takes.

    Attributes
    ----------
    rows : Rows
        With the classifier, not fitted yet.
    is_positive, is_negative : ndarray of bool of shape (n,)
    weights : ndarray of shape (n,) or None
    propensity : Propensity or None
        Where the weights of labeled positives come from.
    """

    rows: Rows
    is_positive: NDArray[np.bool_]
    is_negative: NDArray[np.bool_]
    weights: NDArray[np.float64] | None
    propensity: Propensity | None


def prepare_fit(
    model: str | BaseEstimator | None,
    X: Any,
    y: ArrayLike,
    *,
    negative: ArrayLike | None,
    sample_weight: ArrayLike | None,
    propensity: Sequence[str],
    prior: float | None,
    prior_interval: tuple[float, float] | None,
    seed: int,
) -> Prepared:
    """Check everything, and tell the classifier the class prior; the arguments are of `assess`."""
    known = check_given_prior(prior, prior_interval)
    _, is_positive = split_labels(y)
    rows = prepare_rows(model, X, is_positive, seed)
    is_negative = check_negative(negative, is_positive)
    others = ~is_negative
    check_rows(is_positive[others], is_positive[others])
    weights = check_weights(sample_weight, is_positive, is_negative)
    found = None
    if propensity and not rows.has_columns:
        raise MixpulError("Images have no columns to weigh labeled positives by.")
    if rows.has_columns and (known or propensity):
        scores = _score_quickly(rows, is_positive, others, seed)
        if known:
            _refuse_early(known[0], scores, is_positive[others])
        if propensity:
            found = rows.take(np.flatnonzero(others)).weigh_by_columns(
                is_positive[others], scores, propensity
            )
            own = np.ones(len(is_positive))
            own[others] = found.weights
            weights = check_weights(own if weights is None else own * weights, is_positive, ~others)
    hand_on_prior(rows.classifier, prior, prior_interval)
    return Prepared(rows, is_positive, is_negative, weights, found)


def _score_quickly(
    rows: Rows, is_positive: NDArray[np.bool_], others: NDArray[np.bool_], seed: int
) -> NDArray[np.float64]:
    """Score rows out of fold by a simple method, which takes about a second."""
    folds = number_folds(is_positive[others], N_FOLDS, seed)
    random = np.random.default_rng(seed)
    return score_simple_method(rows.values[others], is_positive[others], folds, random)


def _refuse_early(prior: float, scores: NDArray, is_positive: NDArray[np.bool_]) -> None:
    """Refuse a prior that even a simple method speaks against, before anything long is begun."""
    upper = largest_prior(scores[is_positive], scores[~is_positive], level=SURE)
    refuse_impossible(prior, upper, level=SURE)
