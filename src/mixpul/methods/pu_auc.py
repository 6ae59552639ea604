"""PU-AUC maximisation in closed form (Sakai, Niu, Sugiyama, 2018)."""

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.stats import rankdata

from mixpul._util.random import (
    RandomStateLike,
    as_generator,
    count_folds,
    draw_seed,
    number_folds,
)
from mixpul._util.schema import Spec
from mixpul._util.validation import HasMethods, Interval, StrOptions
from mixpul.base import HeldOut, PUClassifier
from mixpul.methods._kernel.basis import (
    KERNEL_MODEL,
    gaussian,
    kernel_scores,
    median_distance,
    pick_centres,
    squared_distances,
)
from mixpul.methods._verified import find_others
from mixpul.miners import MINERS, NegativeMiner, prepare_miner
from mixpul.priors import PriorEstimator, resolve_prior, warn_if_impossible
from mixpul.priors.base import PRIOR_CONSTRAINT

__all__ = ["PUAUCClassifier", "auc_system", "pu_auc_system", "solve_system"]

System = tuple[NDArray[np.float64], NDArray[np.float64]]

# The grids of the method's authors; widths are multiples of the median distance.
WIDTHS = (1 / 8, 1 / 4, 1 / 2, 1.0, 1.5, 2.0)
PENALTIES = tuple(float(p) for p in 10.0 ** np.linspace(-3, 1, 10))


class PUAUCClassifier(PUClassifier):
    r"""Kernel ranker that maximises the AUC, in closed form ("PU-AUC").

    Minimises the squared loss of :math:`g(x) - g(x')` over pairs of a positive and a negative,
    estimated from pairs with unlabeled rows less pairs of positives, where g is a sum of Gaussians.
    This is what remains of PNU-AUC when there are no labeled negatives. Width and penalty are
    chosen by the PU-AUC on rows left out, which needs no class prior.

    With verified negatives the risk is the mix :math:`(1 - \eta) R_{PN} + \eta R_{PU}` of PNU-AUC.
    With a `miner` the unlabeled rows it picks stand in for negatives. The method's authors had
    labeled negatives, so that is a variant of ours.

    A score is :math:`4 (g(x) - t)`, where t lies halfway between the means of g over positives
    and over negatives: scores above 0 are positive if both kinds are equally frequent. Standardise
    the features first.

    Parameters
    ----------
    prior : float, str or PriorEstimator, default='bbe'
        Share of positives among the unlabeled rows, or how to estimate it: a name in
        `priors.PRIORS`, or an estimator.
    n_centres : int, default=200
        Largest number of Gaussians; their centres are rows drawn from X.
    width : float or None, default=None
        Width of the Gaussians as a multiple of the median distance between rows; None tries
        1/8 to 2.
    penalty : float or None, default=None
        L2 penalty of the coefficients; None tries 10 values from 0.001 to 10.
    n_folds : int, default=5
        Folds of the search; fewer if there are fewer positives.
    miner : {'rand', 'dist', 'ntc'}, NegativeMiner or None, default=None
        Picks unlabeled rows that stand in for negatives.
    negative_fraction : float, default=0.5
        Share of the unlabeled rows to mine; of no effect without `miner`.
    eta : float, default=0.5
        Weight of R_PU against R_PN; of no effect without verified negatives or a `miner`.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
        Centres, folds and miner.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    prior_ : float
        The share of positives among the unlabeled rows that was used.
    centres_ : ndarray of shape (n_centres, n_features)
    width_ : float
        Chosen width, in units of X.
    penalty_ : float
        Chosen penalty.
    coef_ : ndarray of shape (n_centres,)
    threshold_ : float
        t, the value of g at which scores are 0.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    References
    ----------
    Sakai, Niu, Sugiyama (2018). Semi-supervised AUC optimization based on positive-unlabeled
    learning. Machine Learning 107.

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul import PUAUCClassifier
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> model = PUAUCClassifier(prior=pu.prior, n_centres=50, random_state=0).fit(pu.X, pu.s)
    >>> model.decision_function(pu.X).shape
    (2201,)
    """

    _parameter_constraints: dict = {
        "prior": PRIOR_CONSTRAINT,
        "n_centres": [Interval(Integral, 1, None, closed="left")],
        "width": [Interval(Real, 0, None, closed="neither"), None],
        "penalty": [Interval(Real, 0, None, closed="neither"), None],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "miner": [StrOptions(set(MINERS)), HasMethods("mine"), None],
        "negative_fraction": [Interval(Real, 0, 1, closed="right")],
        "eta": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        prior: float | str | PriorEstimator = "bbe",
        n_centres: int = 200,
        width: float | None = None,
        penalty: float | None = None,
        n_folds: int = 5,
        miner: str | NegativeMiner | None = None,
        negative_fraction: float = 0.5,
        eta: float = 0.5,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.prior = prior
        self.n_centres = n_centres
        self.width = width
        self.penalty = penalty
        self.n_folds = n_folds
        self.miner = miner
        self.negative_fraction = negative_fraction
        self.eta = eta
        self.pos_label = pos_label
        self.random_state = random_state

    _uses_negatives = True

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> HeldOut:
        others = find_others(self._is_negative)
        self.prior_, estimator = resolve_prior(
            self.prior, X[others], is_positive[others], self.random_state
        )
        random = as_generator(self.random_state)
        is_negative = self._is_negative | self._mine(X, is_positive, random)
        self.centres_ = pick_centres(X, self.n_centres, random)
        squared = squared_distances(X, self.centres_)
        median = median_distance(X, random)
        # Around the median distance: the width then does not depend on the scale of the columns.
        widths = [median * w for w in ([self.width] if self.width else WIDTHS)]
        penalties = [self.penalty] if self.penalty else list(PENALTIES)
        self.width_, self.penalty_, left_out = self._search(
            squared, is_positive, is_negative, widths, penalties, random
        )
        phi = gaussian(squared, self.width_)
        everyone = np.ones(len(is_positive), dtype=bool)
        A, b = self._build_system(phi, is_positive, is_negative, everyone)
        self.coef_ = solve_system(A, b, self.penalty_)
        if estimator is None and left_out is not None:
            warn_if_impossible(self.prior_, left_out[others], is_positive[others])
        # Positives used in training score higher than new ones: better the scores left out.
        scores = phi @ self.coef_ if left_out is None else left_out
        return HeldOut(scores, everyone)

    def _choose_threshold(
        self, X: Any, is_positive: NDArray[np.bool_], held_out: HeldOut | None
    ) -> float:
        """Return the middle of the mean of positives and that of negatives, by the prior."""
        assert held_out is not None
        is_unlabeled = held_out.is_known & ~is_positive
        mean_p, mean_u = (held_out.scores[kind].mean() for kind in (is_positive, is_unlabeled))
        mean_n = (mean_u - self.prior_ * mean_p) / (1 - self.prior_)
        return float((mean_p + mean_n) / 2)

    # A sigmoid has slope 1/4 at 0: probabilities then differ by as much as raw scores.
    _slope = 4.0

    def _list_needed(self) -> tuple[str, ...]:
        return ("centres_", "width_", "coef_")

    def _describe_learned(self) -> dict[str, Spec]:
        return super()._describe_learned() | KERNEL_MODEL

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return kernel_scores(X, self.centres_, float(self.width_), self.coef_)

    def _mine(
        self, X: Any, is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Return the mask of the rows that stand in for negatives."""
        is_negative = np.zeros(len(is_positive), dtype=bool)
        if self.miner is None:
            return is_negative
        miner, _ = prepare_miner(self.miner, random)
        unlabeled = np.flatnonzero(~is_positive & ~self._is_negative)
        n = max(1, round(self.negative_fraction * len(unlabeled)))
        is_negative[unlabeled[miner.mine(X[is_positive], X[unlabeled], n)]] = True
        return is_negative

    def _build_system(
        self,
        phi: NDArray[np.float64],
        is_positive: NDArray[np.bool_],
        is_negative: NDArray[np.bool_],
        seen: NDArray[np.bool_],
    ) -> System:
        phi_p = phi[is_positive & seen]
        is_unlabeled = ~is_positive & ~self._is_negative
        A, b = pu_auc_system(phi_p, phi[is_unlabeled & seen], self.prior_)
        if not (is_negative & seen).any():
            return A, b
        A_pn, b_pn = auc_system(phi_p, phi[is_negative & seen])
        return (1 - self.eta) * A_pn + self.eta * A, (1 - self.eta) * b_pn + self.eta * b

    def _search(
        self,
        squared: NDArray[np.float64],
        is_positive: NDArray[np.bool_],
        is_negative: NDArray[np.bool_],
        widths: Sequence[float],
        penalties: Sequence[float],
        random: np.random.Generator,
    ) -> tuple[float, float, NDArray[np.float64] | None]:
        """Find width and penalty with the highest PU-AUC on rows left out; return g there, too."""
        judged = ~self._is_negative
        if count_folds(is_positive[judged], self.n_folds) < 2:
            return widths[len(widths) // 2], penalties[len(penalties) // 2], None
        numbers = number_folds(is_positive, self.n_folds, draw_seed(random), self._is_negative)
        best, found = -np.inf, (widths[0], penalties[0], None)
        for width in widths:
            phi = gaussian(squared, width)
            scores = np.empty((len(penalties), len(phi)))
            aucs = np.zeros(len(penalties))
            for k in range(int(numbers.max()) + 1):
                is_out = numbers == k
                A, b = self._build_system(phi, is_positive, is_negative, ~is_out)
                # One decomposition serves every penalty.
                values, vectors = np.linalg.eigh(A)
                values, projected = np.maximum(values, 0), vectors.T @ b
                weights = np.array([projected / (values + penalty) for penalty in penalties])
                scores[:, is_out] = (weights @ vectors.T) @ phi[is_out].T
                is_judge = is_out & judged
                aucs += _score_pu_aucs(scores[:, is_judge], is_positive[is_judge])
            # The last of equals: the strongest penalty.
            k = len(aucs) - 1 - int(np.argmax(aucs[::-1]))
            # Of equals the widest, hence the smoothest: widths rise.
            if aucs[k] >= best:
                best, found = aucs[k], (width, penalties[k], scores[k])
        return found


def auc_system(phi_p: NDArray[np.float64], phi_n: NDArray[np.float64]) -> System:
    r"""Return A, b of the mean of :math:`(1 - g(x) + g(x'))^2 = 1 - 2 b^T a + a^T A a` over pairs.

    `phi_p` (n, k) and `phi_n` (m, k) are basis functions at positives x and negatives x'; g is
    their sum weighted by a.
    """
    h_p, h_n = phi_p.mean(axis=0), phi_n.mean(axis=0)
    cross = np.outer(h_p, h_n)
    A = phi_p.T @ phi_p / len(phi_p) - cross - cross.T + phi_n.T @ phi_n / len(phi_n)
    return A, h_p - h_n


def pu_auc_system(
    phi_p: NDArray[np.float64], phi_u: NDArray[np.float64], prior: float, *, unbiased: bool = False
) -> System:
    r"""Return A and b of the PU-AUC risk :math:`(R_{PU} - \pi R_{PP}) / (1 - \pi)` (Sakai 2018).

    R_PP counts pairs of a positive with itself, as the method's authors do; with `unbiased` it
    does not. With the pairs A is, up to 1 / (1 - prior),
    :math:`(1 - 2\pi) C_P + C_U + (h_P - h_U)(h_P - h_U)^T` for covariances C, which has negative
    eigenvalues only if the prior is above one half.
    """
    A_pu, b_pu = auc_system(phi_p, phi_u)
    A_pp, _ = auc_system(phi_p, phi_p)
    if unbiased:
        A_pp *= len(phi_p) / (len(phi_p) - 1)
    return (A_pu - prior * A_pp) / (1 - prior), b_pu / (1 - prior)


def solve_system(
    A: NDArray[np.float64], b: NDArray[np.float64], penalty: float
) -> NDArray[np.float64]:
    r"""Compute :math:`(A + \lambda I)^{-1} b`; negative eigenvalues become 0 where they prevail."""
    try:
        factor = cho_factor(A + penalty * np.eye(len(A)))
    except LinAlgError:
        values, vectors = np.linalg.eigh(A)
        warnings.warn(
            f"The PU-AUC risk has no minimum: its matrix has {(values < 0).sum()} negative "
            f"eigenvalues, down to {values[0]:.3g}, which are set to 0. There are too few "
            "positives for this prior; check the prior, or take a larger penalty.",
            UserWarning,
            stacklevel=2,
        )
        return vectors @ ((vectors.T @ b) / (np.maximum(values, 0) + penalty))
    return cho_solve(factor, b)


def _score_pu_aucs(
    scores: NDArray[np.float64], is_positive: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Compute `metrics.pu_auc_score` of all rows of `scores` at once: the search needs hundreds."""
    n_positive, n_unlabeled = is_positive.sum(), (~is_positive).sum()
    above = rankdata(scores, axis=1)[:, is_positive].mean(axis=1) - (n_positive + 1) / 2
    return above / n_unlabeled
