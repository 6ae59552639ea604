"""Elkan and Noto: the label frequency from a calibrated classifier."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from mixpul._util.platt import platt
from mixpul._util.random import RandomStateLike
from mixpul._util.validation import Interval, StrOptions
from mixpul.priors._scorers import ScorePrior
from mixpul.priors.base import check_both, prior_from_label_frequency


class ElkanNotoPrior(ScorePrior):
    r"""Class prior from the label frequency of Elkan and Noto.

    With g(x) the probability of a row to be labeled, the label frequency is the value of g where
    all rows are positive; see `elkan_noto` for the three ways to read it. The prior
    follows as :math:`n_P (1 - c) / (c \, n_U)`. Scores are made probabilities by fitting a
    sigmoid to the labels as they are, so the scorer may be balanced or not.

    'e1' and 'e2' average g over positives, which is c only if the classes do not overlap.
    Otherwise the prior is too large, often by a factor of two and more. 'e3' takes the largest g
    (up to `quantile`). A sigmoid has no ceiling below 1, so with rows far out the prior is too
    small. Take this as the historical baseline; `DEDPULPrior` and `BBEPrior` are more accurate.

    Parameters
    ----------
    estimator : {'e1', 'e2', 'e3'}, default='e1'
        How the label frequency is read.
    scorer : classifier or None, default=None
        What tells positives from unlabeled rows. If it has `oof_scores_` after `fit`, as
        `MixPULClassifier` does, those are used; otherwise it is cross-validated. It gets images
        as they are. By default a balanced logistic regression on the standardised features and
        on Gaussian bumps, for which images are flattened.
    quantile : float in [0, 1), default=0.05
        Share of the rows above the g that 'e3' takes; 0 takes the largest.
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
        Percentile bootstrap interval of the scores, widened to hold `prior_`. It covers what
        the estimator aims at, which is not the prior if classes overlap.
    scorer_ : classifier
        The scorer, trained on all rows.
    scores_ : ndarray of shape (n_samples,)
        Out-of-fold logits of the scorer.

    References
    ----------
    Charles Elkan, Keith Noto: Learning Classifiers from Only Positive and Unlabeled Data. KDD
    2008.

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul.priors import ElkanNotoPrior
    >>> X, y = datasets.load("krvskp", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.4, random_state=0)
    >>> ElkanNotoPrior(random_state=0).fit(pu.X, pu.s).prior_ > pu.prior
    True
    """

    _parameter_constraints: dict = ScorePrior._parameter_constraints | {
        "estimator": [StrOptions({"e1", "e2", "e3"})],
        "quantile": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        estimator: str = "e1",
        scorer: Any = None,
        *,
        quantile: float = 0.05,
        n_folds: int = 5,
        level: float = 0.95,
        n_bootstrap: int = 200,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.scorer = scorer
        self.quantile = quantile
        self.n_folds = n_folds
        self.level = level
        self.n_bootstrap = n_bootstrap
        self.pos_label = pos_label
        self.random_state = random_state

    def _from_scores(self, positive: NDArray[np.float64], unlabeled: NDArray[np.float64]) -> float:
        c = elkan_noto(
            *_label_probabilities(positive, unlabeled),
            estimator=self.estimator,
            quantile=self.quantile,
        )
        return prior_from_label_frequency(c, len(positive), len(unlabeled))


def elkan_noto(
    positive: ArrayLike, unlabeled: ArrayLike, *, estimator: str = "e1", quantile: float = 0.0
) -> float:
    r"""Estimate the share of positives that are labeled, c, from probabilities g to be labeled.

    `positive` (n,) and `unlabeled` (m,) hold g of held-out rows (Elkan and Noto 2008).
    ``e1``: :math:`mean_P g`; ``e2``: :math:`\sum_P g / \sum g`; ``e3``: :math:`\max g`, or the
    g that a share `quantile` of all rows exceeds.
    """
    p, u = check_both(positive, unlabeled, least=1)
    every = np.concatenate([p, u])
    if estimator == "e1":
        return float(p.mean())
    if estimator == "e2":
        return float(p.sum() / every.sum())
    if estimator == "e3":
        return float(np.quantile(every, 1 - quantile))
    raise ValueError(f"estimator must be 'e1', 'e2' or 'e3'; got {estimator!r}.")


# The former name. `mixpul.datasets.label_frequency` computes the same share from a known prior.
label_frequency = elkan_noto


def _label_probabilities(
    positive: NDArray[np.float64], unlabeled: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a sigmoid of the scores, fitted to the labels as they are."""
    scores = np.concatenate([positive, unlabeled])
    slope, offset = platt(scores, np.repeat([1.0, 0.0], [len(positive), len(unlabeled)]))
    # Never 0 or 1: the prior divides by c.
    g = np.clip(expit(slope * scores + offset), 1e-6, 1 - 1e-6)
    return g[: len(positive)], g[len(positive) :]
