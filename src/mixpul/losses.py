"""The equations: tensors in, a scalar out; no network, no randomness, no state."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = [
    "SURROGATES",
    "consistency",
    "mix",
    "nnpu_risk",
    "pairwise_hinge",
    "pairwise_margin",
    "pn_risk",
    "upu_risk",
    "variational_risk",
]

# Above this many pairs sorting beats the dense matrix (measured on one CPU thread: equal near
# 360 x 360 pairs, 200 times faster at 4096 x 4096).
DENSE_PAIRS = 2**17


def mix(a: Tensor, b: Tensor, weight: float | Tensor) -> Tensor:
    r"""Compute the mixup :math:`\lambda a + (1 - \lambda) b` (MixPUL, Mix).

    `a` and `b` have one shape; `weight` is a number or broadcasts against them. A weight of 1
    returns `a` to the bit.
    """
    return torch.lerp(b, a, weight)


def consistency(logits: Tensor, target: Tensor) -> Tensor:
    r"""Compute the mean of :math:`(\sigma(z) - y')^2` over rows (MixPUL, L_PN and L_U).

    `logits` and `target` are (n,); targets lie in [0, 1]. With a softmax over two outputs the
    same formula counts every row twice.
    """
    return F.mse_loss(torch.sigmoid(logits), target)


def pairwise_margin(positive: Tensor, unlabeled: Tensor, margin: float) -> Tensor:
    r"""Mean of :math:`\max(0, \sigma(z_u) - \sigma(z_p) + \eta)` over all pairs (MixPUL, L_PU).

    `positive` (n,) and `unlabeled` (m,) are logits. Probabilities differ by at most 1, so with
    `margin` >= 1 no pair is clipped and the mean of differences is the difference of means.
    """
    p, u = torch.sigmoid(positive), torch.sigmoid(unlabeled)
    if margin >= 1:
        return margin + u.mean() - p.mean()
    return pairwise_hinge(p, u, margin)


def pairwise_hinge(positive: Tensor, unlabeled: Tensor, margin: float) -> Tensor:
    r"""Mean of :math:`\max(0, u - p + \eta)` over all pairs of scores p (n,) and u (m,).

    Of several networks, (k, n) and (k, m), the mean over all pairs of the same network. Exact in
    value and gradient for any number of pairs: the full matrix while it is small, one sort above
    that.
    """
    if positive.shape[-1] * unlabeled.shape[-1] <= DENSE_PAIRS:
        return torch.relu(unlabeled[..., None, :] - positive[..., None] + margin).mean()
    if positive.ndim == 1:
        return _HingeBySorting.apply(positive, unlabeled, margin)
    each = [_HingeBySorting.apply(p, u, margin) for p, u in zip(positive, unlabeled, strict=True)]
    return torch.stack(each).mean()


class _HingeBySorting(torch.autograd.Function):
    r"""The pairwise hinge in O(n log n).

    With a = p - margin, :math:`(u - a)_+` is the length of the line between a and u, so the sum
    over pairs adds up, gap by gap along the sorted line, (how many a lie left) x (how many u lie
    right). All summands are >= 0, hence no cancellation: float32 is enough, also far from zero.
    The slope at a point is a count, hence exact.
    """

    @staticmethod
    def forward(ctx: Any, positive: Tensor, unlabeled: Tensor, margin: float) -> Tensor:
        n, m = positive.numel(), unlabeled.numel()
        # u before a, and a stable sort: pairs exactly at the margin get slope 0 on both sides.
        line, order = torch.cat([unlabeled, positive - margin]).sort(stable=True)
        # NaN is sorted last, so the last entry tells.
        if torch.isnan(line[-1]):
            raise ValueError("The pairwise margin loss got NaN scores.")
        is_positive = order >= m
        positives_left = is_positive.cumsum(0)
        unlabeled_right = m - (~is_positive).cumsum(0)
        # Divided before multiplied: products of counts would leave float32's exact integers.
        left, right = positives_left[:-1].to(line) / n, unlabeled_right[:-1].to(line) / m
        slopes = torch.where(is_positive, -unlabeled_right, positives_left).to(line) / n / m
        ctx.save_for_backward(torch.empty_like(slopes).scatter_(0, order, slopes))
        ctx.n_unlabeled = m
        return (line.diff() * left * right).sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        (slopes,) = ctx.saved_tensors
        m = ctx.n_unlabeled
        return grad * slopes[m:], grad * slopes[:m], None


# Margin losses of z = y g(x). Those up to the double hinge have loss(z) - loss(-z) = -z, which
# makes the PU risk convex; sigmoid and ramp have loss(z) + loss(-z) = 1.
SURROGATES: dict[str, Callable[[Tensor], Tensor]] = {
    "squared": lambda z: (z - 1) ** 2 / 4,
    "logistic": lambda z: F.softplus(-z),
    "double-hinge": lambda z: torch.maximum(-z, torch.relu(0.5 - 0.5 * z)),
    "sigmoid": lambda z: torch.sigmoid(-z),
    "ramp": lambda z: torch.clamp(0.5 - 0.5 * z, 0, 1),
}


def upu_risk(positive: Tensor, unlabeled: Tensor, prior: float, loss: str) -> Tensor:
    r"""Unbiased risk :math:`\pi E_P[l(g)] - \pi E_P[l(-g)] + E_U[l(-g)]` (du Plessis 2014, 2015).

    `positive` (n,) and `unlabeled` (m,) are logits; `prior` is the share of positives among the
    unlabeled rows; `loss` names one of `SURROGATES`.
    """
    surrogate = SURROGATES[loss]
    of_positives = surrogate(positive).mean() - surrogate(-positive).mean()
    return prior * of_positives + surrogate(-unlabeled).mean()


def nnpu_risk(
    positive: Tensor,
    unlabeled: Tensor,
    prior: float,
    loss: str = "sigmoid",
    beta: float = 0.0,
    gamma: float = 1.0,
) -> Tensor:
    r"""Non-negative risk (Kiryo 2017), with the gradient of its training step.

    With :math:`r = E_U[l(-g)] - \pi E_P[l(-g)]` the value is :math:`\pi E_P[l(g)] + r`, or
    :math:`\pi E_P[l(g)] - \beta` where r < -beta. In the latter case the gradient is that of
    :math:`-\gamma r`: it climbs back out of the overfit, it does not merely drop r.
    Arguments are those of `upu_risk`.
    """
    surrogate = SURROGATES[loss]
    of_positives = prior * surrogate(positive).mean()
    of_negatives = surrogate(-unlabeled).mean() - prior * surrogate(-positive).mean()
    value = of_positives + torch.where(of_negatives >= -beta, of_negatives, -beta)
    step = torch.where(of_negatives >= -beta, of_positives + of_negatives, -gamma * of_negatives)
    # The value of the risk with the gradient of the step.
    return step + (value - step).detach()


def pn_risk(positive: Tensor, negative: Tensor, prior: float, loss: str) -> Tensor:
    r"""Risk :math:`\pi E_P[l(g)] + (1 - \pi) E_N[l(-g)]` of positives and verified negatives.

    With a PU risk it makes the PNU risk :math:`(1 - \eta) R_{PU} + \eta R_{PN}` (Sakai 2017).
    `positive` (n,) and `negative` (m,) are logits; the rest is as in `upu_risk`.
    """
    surrogate = SURROGATES[loss]
    return prior * surrogate(positive).mean() + (1 - prior) * surrogate(-negative).mean()


def variational_risk(positive: Tensor, everything: Tensor) -> Tensor:
    r"""Variational loss :math:`\log E[\Phi] - E_P[\log \Phi]` with :math:`\Phi = \sigma(z)`.

    It is the loss of VPU (Chen 2020). `positive` (n,) are logits of positives, `everything` (m,) of
    rows in which positives hide. It is smallest where :math:`\Phi` is proportional to
    P(y = 1 | x); the scale of :math:`\Phi` does not matter.
    """
    # In logs throughout: tiny values of Phi would round to 0.
    log_mean = torch.logsumexp(F.logsigmoid(everything), dim=0) - math.log(len(everything))
    return log_mean - F.logsigmoid(positive).mean()
