"""BBE: best bin estimation."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixpul._util.random import RandomStateLike
from mixpul._util.validation import Interval
from mixpul.priors._scorers import ScorePrior
from mixpul.priors.base import check_both


class BBEPrior(ScorePrior):
    r"""Class prior by best bin estimation (BBE).

    Above any score t the unlabeled share :math:`q_U(t)` is at least the prior times the positive
    share :math:`q_P(t)`. Where negatives are absent the two are equal, so
    :math:`q_U(t) / q_P(t)` is the prior; t is chosen with a penalty on thin tails, see `bbe`.

    It errs upward where even the highest scores hold negatives, and with few labeled positives:
    the penalty then asks for a tail of many rows. With about 50 positives and classes that
    overlap everywhere (Titanic) it can be too large by a factor of two; DEDPUL fares better.

    Parameters
    ----------
    scorer : classifier or None, default=None
        What tells positives from unlabeled rows. If it has `oof_scores_` after `fit`, as
        `MixPULClassifier` does, those are used; otherwise it is cross-validated. It gets images
        as they are. By default a balanced logistic regression on the standardised features and
        on Gaussian bumps, for which images are flattened.
    delta : float in (0, 1), default=0.1
        Probability with which the bound on the tails may fail.
    gamma : float, default=0.01
        Extra weight of the penalty.
    n_folds : int, default=5
        Folds of the cross-validation.
    level : float in (0, 1), default=0.95
        Coverage of `interval_`.
    n_bootstrap : int, default=200
        Number of resamples; 0 skips the interval.
    pos_label : optional
        The value of `y` that means labeled positive; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Randomness of the scorer, the folds and the resamples.

    Attributes
    ----------
    prior_ : float
        Share of positives among the unlabeled rows.
    interval_ : tuple of two floats
        Percentile bootstrap interval of the scores, widened to hold `prior_`. It knows neither
        the error of the scorer nor negatives among the highest scores.
    scorer_ : classifier
        The scorer, trained on all rows.
    scores_ : ndarray of shape (n_samples,)
        Out-of-fold logits.

    References
    ----------
    Saurabh Garg, Yifan Wu, Alex Smola, Sivaraman Balakrishnan, Zachary Lipton: Mixture Proportion
    Estimation and PU Learning: A Modern Approach. NeurIPS 2021.

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul.priors import BBEPrior
    >>> X, y = datasets.load("krvskp", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.4, random_state=0)
    >>> abs(BBEPrior(random_state=0).fit(pu.X, pu.s).prior_ - pu.prior) < 0.06
    True
    """

    _parameter_constraints: dict = ScorePrior._parameter_constraints | {
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        scorer: Any = None,
        *,
        delta: float = 0.1,
        gamma: float = 0.01,
        n_folds: int = 5,
        level: float = 0.95,
        n_bootstrap: int = 200,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.scorer = scorer
        self.delta = delta
        self.gamma = gamma
        self.n_folds = n_folds
        self.level = level
        self.n_bootstrap = n_bootstrap
        self.pos_label = pos_label
        self.random_state = random_state

    def _from_scores(self, positive: NDArray[np.float64], unlabeled: NDArray[np.float64]) -> float:
        return bbe(positive, unlabeled, delta=self.delta, gamma=self.gamma)


def bbe(
    positive_scores: ArrayLike,
    unlabeled_scores: ArrayLike,
    *,
    delta: float = 0.1,
    gamma: float = 0.01,
) -> float:
    r"""Compute :math:`q_U(t) / q_P(t)` at the t that minimises it plus a penalty (Garg 2021).

    :math:`q` is the share of scores of at least t. Penalty:
    :math:`(1+\gamma) (\sqrt{\ln(4/\delta) / 2 n_P} + \sqrt{\ln(4/\delta) / 2 n_U}) / q_P(t)`.
    Scores (n,) and (m,) on any scale, larger means more likely positive; at most 1.
    """
    positive, unlabeled = map(np.sort, check_both(positive_scores, unlabeled_scores))
    n, m = len(positive), len(unlabeled)
    # Between two positives the ratio only falls with t, so the best t is a positive's score.
    tail_positive = 1 - np.searchsorted(positive, positive) / n
    tail_unlabeled = 1 - np.searchsorted(unlabeled, positive) / m
    spread = np.sqrt(np.log(4 / delta) / 2) * (1 / np.sqrt(n) + 1 / np.sqrt(m))
    best = np.argmin((tail_unlabeled + (1 + gamma) * spread) / tail_positive)
    return float(min(tail_unlabeled[best] / tail_positive[best], 1))
