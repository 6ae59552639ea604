"""The equations: tensors in, a scalar out; no network, no randomness, no state."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["consistency", "mix", "pairwise_hinge", "pairwise_margin"]

# Above this many pairs sorting beats the dense matrix (measured on one CPU thread: equal near
# 360 x 360 pairs, 200 times faster at 4096 x 4096).
DENSE_PAIRS = 2**17


def mix(a: Tensor, b: Tensor, weight: float | Tensor) -> Tensor:
    r"""Mixup :math:`\lambda a + (1 - \lambda) b` (MixPUL, Mix).

    `a` and `b` have one shape; `weight` is a number or broadcasts against them. A weight of 1
    returns `a` to the bit.
    """
    return torch.lerp(b, a, weight)


def consistency(logits: Tensor, target: Tensor) -> Tensor:
    r"""Mean of :math:`(\sigma(z) - y')^2` over rows (MixPUL, L_PN and L_U).

    `logits` and `target` are (n,); targets lie in [0, 1]. With a softmax over two outputs the
    same formula counts every row twice.
    """
    return torch.nn.functional.mse_loss(torch.sigmoid(logits), target)


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

    Exact in value and gradient for any number of pairs: the full matrix while it is small, one
    sort above that.
    """
    if positive.numel() * unlabeled.numel() <= DENSE_PAIRS:
        return torch.relu(unlabeled[None, :] - positive[:, None] + margin).mean()
    return _HingeBySorting.apply(positive, unlabeled, margin)


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
