"""Kernel forms of unbiased PU learning: du Plessis et al. (2014, ramp loss; 2015, convex losses).

All solvers take basis functions at positives (n, k) and unlabeled rows (m, k) and return the
k coefficients of g. With ``bias=True`` the last basis function is the constant 1, and its
coefficient is not penalised. With `phi_n`, basis functions at verified negatives, the risk is the
PNU risk (1 - eta) R_PU + eta R_PN (Sakai et al. 2017).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.optimize import minimize
from scipy.special import expit

from mixpul._util.random import count_folds, draw_seed, number_folds
from mixpul.base import HeldOut
from mixpul.methods._kernel.basis import gaussian, median_distance, pick_centres, squared_distances
from mixpul.methods._verified import share_verified

__all__ = [
    "KernelModel",
    "held_out_risk",
    "ramp_cccp",
    "ramp_risk",
    "select_kernel_model",
    "upu_convex",
    "upu_squared",
]

Array = NDArray[np.float64]
# Takes positives, unlabeled rows, prior and penalty; then verified negatives and eta, if any.
Solver = Callable[..., Array]

# Half width of the arc that rounds off the kink of a hinge; the hinge is off by a quarter of it.
ROUNDING = 0.03
MAX_ITERATIONS = 200


def upu_squared(
    phi_p: Array,
    phi_u: Array,
    prior: float,
    penalty: float,
    phi_n: Array | None = None,
    eta: float = 0.0,
    *,
    bias: bool = True,
) -> Array:
    r"""Find the minimum of the unbiased PU risk with the squared loss :math:`(z - 1)^2 / 4`.

    :math:`\alpha = (H + \lambda D)^{-1} h` with :math:`H = \Phi_U^T \Phi_U / n_U`,
    :math:`h = 2 \pi \, mean_P \Phi - mean_U \Phi` and D the identity, 0 for the bias. The penalty
    on the scale of the risk is :math:`\lambda/4 \, \|\alpha\|^2`, half of that in `upu_convex`.
    R_PN has :math:`\pi \Phi_P^T \Phi_P / n_P + (1 - \pi) \Phi_N^T \Phi_N / n_N` in place of H and
    :math:`\pi \, mean_P \Phi - (1 - \pi) \, mean_N \Phi` in place of h.
    """
    H = phi_u.T @ phi_u / len(phi_u)
    h = 2 * prior * phi_p.mean(axis=0) - phi_u.mean(axis=0)
    if phi_n is not None:
        of_p, of_n = phi_p.T @ phi_p / len(phi_p), phi_n.T @ phi_n / len(phi_n)
        H = (1 - eta) * H + eta * (prior * of_p + (1 - prior) * of_n)
        h_pn = prior * phi_p.mean(axis=0) - (1 - prior) * phi_n.mean(axis=0)
        h = (1 - eta) * h + eta * h_pn
    H = H + penalty * np.diag(_mark_penalised(phi_u, bias))
    # Least squares: equal rows make equal basis functions, and H is singular without a penalty.
    return lstsq(H, h, lapack_driver="gelsy")[0]


def upu_convex(
    phi_p: Array,
    phi_u: Array,
    prior: float,
    penalty: float,
    loss: str = "logistic",
    phi_n: Array | None = None,
    eta: float = 0.0,
    *,
    bias: bool = True,
    start: Array | None = None,
) -> Array:
    r"""Find the minimum of :math:`-\pi \, mean_P g + mean_U \ell(-g) + \lambda/2 \, \|\alpha\|^2`.

    `loss` is 'logistic', :math:`\log(1 + e^{-z})`, or 'double-hinge',
    :math:`\max(-z, \max(0, 1/2 - z/2))`; for both the loss of a positive less that of a negative
    is -z, which makes the risk convex. The kinks of the double hinge are rounded off.
    """
    linear = -(1 - eta) * prior * phi_p.mean(axis=0)
    penalised = penalty * _mark_penalised(phi_u, bias)
    # Each part, its share of the risk: rows that should be positive come with the other sign, since
    # l(g) is l(-(-g)).
    parts = [(phi_u, 1 - eta)]
    if phi_n is not None:
        parts += [(phi_n, eta * (1 - prior)), (-phi_p, eta * prior)]

    def objective(alpha: Array) -> tuple[float, Array]:
        total, gradient = linear @ alpha, linear
        for rows, share in parts:
            value, slope = _lose_as_negative(rows @ alpha, loss)
            total = total + share * value.mean()
            gradient = gradient + share * (rows.T @ slope / len(rows))
        return float(total + penalised @ alpha**2 / 2), gradient + penalised * alpha

    return _minimise(objective, np.zeros(phi_u.shape[1]) if start is None else start)


def _lose_as_negative(g: Array, loss: str) -> tuple[Array, Array]:
    """Return the loss of -g, and its slope in g."""
    if loss == "logistic":
        return np.logaddexp(0, g), expit(g)
    # The double hinge of -g is half a hinge with its kink at -1 and half one at 1.
    low, low_slope = _hinge(1 + g)
    high, high_slope = _hinge(g - 1)
    return (low + high) / 2, (low_slope + high_slope) / 2


def ramp_risk(g_p: Array, g_u: Array, prior: float) -> float:
    r"""Unbiased PU risk :math:`2 \pi \, mean_P \ell(g) + mean_U \ell(-g) - \pi` of the ramp loss.

    :math:`\ell(z) = \min(2, \max(0, 1 - z)) / 2`, for which :math:`\ell(z) + \ell(-z) = 1`.
    """
    lost_p, lost_u = np.clip(1 - g_p, 0, 2) / 2, np.clip(1 + g_u, 0, 2) / 2
    return float(2 * prior * lost_p.mean() + lost_u.mean() - prior)


def ramp_cccp(
    phi_p: Array,
    phi_u: Array,
    prior: float,
    penalty: float,
    phi_n: Array | None = None,
    eta: float = 0.0,
    *,
    bias: bool = True,
    max_rounds: int = 50,
    tol: float = 1e-4,
) -> tuple[Array, list[float]]:
    r"""Minimise the ramp risk by the concave-convex procedure (du Plessis et al. 2014).

    The ramp is a hinge less a hinge, :math:`\frac12 (1-z)_+ - \frac12 (-1-z)_+`; each round puts
    the tangent in place of the second and solves the convex problem that is left. Returns the
    coefficients and the objective :math:`J + \lambda/2 \, \|\alpha\|^2` after each round, which
    never rises. Kinks are rounded off, alike in all rounds, so that this holds to the last digit;
    the rounded ramp still has :math:`\ell(z) + \ell(-z) = 1`.
    """
    parts, shares = [phi_p, -phi_u], [(2 - eta) * prior, 1 - eta]
    if phi_n is not None:
        parts.append(-phi_n)
        shares.append(eta * (1 - prior))
    margins = np.concatenate(parts)  # times alpha: z
    sizes = [len(part) for part in parts]
    weight = np.repeat([s / n for s, n in zip(shares, sizes, strict=True)], sizes)
    penalised = penalty * _mark_penalised(phi_u, bias)

    def whole(alpha: Array) -> float:
        z = margins @ alpha
        ramp = (_hinge(1 - z)[0] - _hinge(-1 - z)[0]) / 2
        return float(weight @ ramp - (1 - eta) * prior + penalised @ alpha**2 / 2)

    def convex(alpha: Array, tangent: Array) -> tuple[float, Array]:
        z = margins @ alpha
        value, slope = _hinge(1 - z)
        total = weight @ (value + tangent * z) / 2 + penalised @ alpha**2 / 2
        return float(total), margins.T @ (weight * (tangent - slope)) / 2 + penalised * alpha

    alpha = np.zeros(phi_p.shape[1])
    tangent = np.zeros(len(margins))  # the first round is a weighted SVM
    trace: list[float] = []
    for _ in range(max_rounds):
        found = _minimise(partial(convex, tangent=tangent), alpha)
        value = whole(found)
        if trace and value > trace[-1]:  # by less than the solver's precision
            break
        alpha = found
        trace.append(value)
        # The slope of the second hinge: 1 where z < -1, 0 where it is above.
        new = _hinge(-1 - margins @ alpha)[1]
        converged = len(trace) > 1 and trace[-2] - value < tol
        if converged or np.array_equal(new, tangent):
            break
        tangent = new
    return alpha, trace


def held_out_risk(g_p: Array, g_u: Array, prior: float) -> float:
    r"""Misclassification rate from PU data, :math:`\pi FNR + \max(0, P_U(g>0) + \pi FNR - \pi)`."""
    missed = prior * float(np.mean(g_p <= 0))
    # The second part counts false alarms: only chance makes its estimate negative.
    return missed + max(0.0, float(np.mean(g_u > 0)) + missed - prior)


class KernelModel(NamedTuple):
    """A sum of Gaussians and a bias, with the settings that were chosen for it.

    Attributes
    ----------
    centres : ndarray of shape (k, n_features)
    width : float
    coef : ndarray of shape (k,)
    intercept : float
        With these, ``basis.kernel_scores(X, centres, width, coef, intercept)`` is g.
    penalty : float
    risk : float
        PU 0-1 risk on rows left out; NaN if there was no search.
    held_out : HeldOut or None
        g of each row by the model that has not seen it; None if there was no search.
    """

    centres: Array
    width: float
    coef: Array
    intercept: float
    penalty: float
    risk: float
    held_out: HeldOut | None


def select_kernel_model(
    X: Any,
    is_positive: NDArray[np.bool_],
    prior: float,
    solve: Solver,
    random: np.random.Generator,
    *,
    is_negative: NDArray[np.bool_] | None = None,
    widths: Sequence[float] = (0.5, 1.0, 2.0),
    penalties: Sequence[float] = (1e-3, 1e-2, 1e-1, 1.0, 10.0),
    n_centres: int = 200,
    n_folds: int = 5,
) -> KernelModel:
    """Fit a Gaussian basis whose width and penalty have the least PU 0-1 risk on rows left out.

    `solve(phi_p, phi_u, prior, penalty)` returns coefficients, the last one of the constant 1; with
    verified negatives among the rows it also gets their `phi_n`, and eta. They are not among the
    rows that judge. Widths are multiples of the median distance between rows. Of equals the widest
    and most penalised, hence the smoothest, is taken. With fewer than two positives nothing can be
    left out, and the middle of both lists is taken.
    """
    centres = pick_centres(X, n_centres, random)
    squared = squared_distances(X, centres)
    median = median_distance(X, random)
    if is_negative is None:
        is_negative = np.zeros(len(is_positive), dtype=bool)
    labels, judged = (is_positive, is_negative), ~is_negative
    n_folds = count_folds(is_positive[judged], n_folds)
    width, penalty = sorted(widths)[len(widths) // 2], sorted(penalties)[len(penalties) // 2]
    # Unless rows can be left out to choose by.
    risk, held_out = np.nan, None
    if n_folds >= 2 and len(widths) * len(penalties) > 1:
        folds = number_folds(is_positive, n_folds, draw_seed(random), is_negative)
        scores = {
            (w, p): _score_left_out(squared, labels, prior, solve, median * w, p, folds)
            for w in widths
            for p in penalties
        }
        # Over all folds at once: a fold with two positives knows little of their share.
        risks = {
            key: held_out_risk(g[is_positive], g[judged & ~is_positive], prior)
            for key, g in scores.items()
        }
        width, penalty = min(risks, key=lambda key: (risks[key], -key[0], -key[1]))
        risk = risks[width, penalty]
        held_out = HeldOut(scores[width, penalty], np.ones(len(is_positive), dtype=bool))
    phi = _add_bias(gaussian(squared, median * width))
    alpha = _solve_all(solve, phi, labels, prior, penalty)
    return KernelModel(
        centres, median * width, alpha[:-1], float(alpha[-1]), float(penalty), risk, held_out
    )


def _score_left_out(
    squared: Array,
    labels: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    prior: float,
    solve: Solver,
    width: float,
    penalty: float,
    folds: NDArray[np.int32],
) -> Array:
    """Return g of each row by the model of the fold that has not seen it."""
    phi = _add_bias(gaussian(squared, width))
    g = np.empty(len(phi))
    for k in range(int(folds.max()) + 1):
        is_seen = folds != k
        seen = labels[0][is_seen], labels[1][is_seen]
        g[~is_seen] = phi[~is_seen] @ _solve_all(solve, phi[is_seen], seen, prior, penalty)
    return g


def _solve_all(
    solve: Solver,
    phi: Array,
    labels: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    prior: float,
    penalty: float,
) -> Array:
    """Find coefficients by positives, unlabeled rows and, if there are any, verified negatives."""
    is_positive, is_negative = labels
    phi_p, phi_u, phi_n = phi[is_positive], phi[~is_positive & ~is_negative], phi[is_negative]
    if not len(phi_n):
        return solve(phi_p, phi_u, prior, penalty)
    return solve(phi_p, phi_u, prior, penalty, phi_n, share_verified(len(phi_n), len(phi_p)))


def _add_bias(phi: Array) -> Array:
    return np.column_stack([phi, np.ones(len(phi))])


def _mark_penalised(phi: Array, bias: bool) -> Array:
    """Return 1 for each coefficient that is penalised, 0 for the bias."""
    mask = np.ones(phi.shape[1])
    if bias:
        mask[-1] = 0
    return mask


def _hinge(t: Array) -> tuple[Array, Array]:
    r"""Return value and slope of :math:`\max(0, t)` with the kink rounded off.

    Value(t) - value(-t) is t and the slopes at t and -t add up to 1, as without the rounding.
    """
    arc = np.clip(t + ROUNDING, 0, 2 * ROUNDING)
    return arc**2 / (4 * ROUNDING) + np.maximum(t - ROUNDING, 0), arc / (2 * ROUNDING)


def _minimise(objective: Callable[[Array], tuple[float, Array]], start: Array) -> Array:
    # A smaller ftol doubles the time, and the held-out risk does not see the difference.
    options = {"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS, "gtol": 1e-6, "ftol": 1e-7}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
