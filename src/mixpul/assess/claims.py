"""All that is claimed of a model from out-of-fold scores alone; nothing is fitted."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mixpul.assess.figures import bound_auc
from mixpul.assess.intervals import estimate_auc
from mixpul.assess.priors import Interval, estimate_priors
from mixpul.assess.thresholds import compute_curves, suggest_thresholds
from mixpul.metrics import Estimate

__all__ = ["Claims", "make_claims"]

RATES = ("recall", "flagged", "precision", "f1")


class Claims(NamedTuple):
    """What is said of a model without negatives; see `Assessment` for each part.

    Attributes
    ----------
    prior : dict
    pu_auc : Estimate
    corrected_auc : dict
    suggested : dict
    curves : dict
        `Assessment.thresholds`.
    """

    prior: dict[str, Any]
    pu_auc: Estimate
    corrected_auc: dict[str, Any]
    suggested: dict[str, float]
    curves: dict[str, Any]

    def at(self, threshold: float) -> dict[str, Any]:
        """Return the figures at a suggested threshold, or at the nearest one of the curve."""
        place = int(np.argmin(np.abs(np.array(self.curves["threshold"]) - threshold)))
        parts = ("value", "low", "high")
        return {"threshold": self.curves["threshold"][place]} | {
            name: {part: self.curves[name][part][place] for part in parts}
            | {key: self.curves[name][key] for key in self.curves[name] if key not in parts}
            for name in RATES
        }


def make_claims(
    is_positive: NDArray[np.bool_],
    scores: NDArray,
    *,
    prior: float | None = None,
    prior_interval: Interval | None = None,
) -> Claims:
    """Claim what can be claimed of scores of rows left out of training.

    Parameters
    ----------
    is_positive : ndarray of bool, shape (n,)
    scores : ndarray of shape (n,)
        Out-of-fold logits, such as `oof_scores_`.
    prior, prior_interval
        The class prior, where it is known: see `assess`.

    Returns
    -------
    Claims

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.assess.claims import make_claims
    >>> random = np.random.default_rng(0)
    >>> is_positive, truth = np.arange(600) < 100, np.arange(600) < 200
    >>> scores = random.normal(size=600) + 3 * truth - 2
    >>> claims = make_claims(is_positive, scores)
    >>> claims.at(claims.suggested["recall>=0.9"])["precision"]["kind"]
    'at most'
    >>> make_claims(is_positive, scores, prior=0.2).corrected_auc["kind"]
    'estimate'
    """
    logits = np.asarray(scores, dtype=np.float64)
    # As at prediction: shares in single precision.
    shares = expit(np.asarray(scores, dtype=np.float32))
    known = estimate_priors(logits, is_positive, prior=prior, prior_interval=prior_interval)
    # By logits: in single precision all shares above a logit of 17 are 1, and tie.
    pu_auc = estimate_auc(is_positive, logits)
    n_rows = (int(is_positive.sum()), int((~is_positive).sum()))
    suggested = suggest_thresholds(is_positive, shares, known["value"])
    return Claims(
        prior=known,
        pu_auc=pu_auc,
        corrected_auc=bound_auc(known, pu_auc, *n_rows),
        suggested=suggested,
        curves=compute_curves(is_positive, shares, known, suggested),
    )
