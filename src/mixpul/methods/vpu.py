"""Variational PU learning (Chen, Liu, Wang, Zhao, Wu, 2020); beyond the MixPUL paper."""

import math
from collections.abc import Sequence
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from mixpul._util.random import RandomStateLike
from mixpul._util.validation import Interval
from mixpul.augment import AugmentSpec
from mixpul.base import HeldOut, pick_shared
from mixpul.losses import mix, variational_risk
from mixpul.methods.neural import Member, NeuralPUClassifier, Objective
from mixpul.nets import NetSpec
from mixpul.training import Batch

__all__ = ["VPUClassifier"]


class VPUClassifier(NeuralPUClassifier):
    r"""Network trained by a variational bound; needs no class prior.

    Learns :math:`\Phi(x)` proportional to P(y = 1 | x) by pulling the density of unlabeled rows,
    weighted by :math:`\Phi`, towards that of the positives. Mixtures of positives with other rows
    should get mixed values on the log scale (`mixup_weight`). Verified negatives add the mean of
    :math:`-\log(1 - \Phi)`, weighted by their share. The decision is :math:`\Phi` above
    half of its largest value on the training rows.

    Parameters
    ----------
    mixup_weight : float, default=0.3
        Weight of the consistency under mixup.
    alpha : float, default=0.3
        Mixing weights are drawn from Beta(alpha, alpha).
    net : str, sequence of int, or callable, default='skip-mlp'
    n_epochs : int, default=30
    learning_rate : float, default=0.001
    optimizer : {'sgd', 'adam'}, default='adam'
    momentum : float, default=0.9
    weight_decay : float, 'auto' or sequence of float, default='auto'
    batch_size : int, default=128
    max_steps : int or None, default=250
    min_steps : int or None, default=None
    augment : str, sequence of str, callable or None, default=None
    cross_fitting : int or None, default=5
    early_stopping : bool, default=True
    validation_fraction : float, default=0.2
    patience : int or None, default=10
    pos_label : label or None, default=None
    random_state : int, RandomState, Generator or None, default=None
    device : str or torch.device, default='auto'
    precision : {'bfloat16', 'auto'} or None, default=None
    checkpoint : str, path-like or None, default=None
    verbose : int, default=0
        The parameters from `net` on are those of `MixPULClassifier`.

    Attributes
    ----------
    threshold_ : float
        The logit of `net_` at which the decision lies, and which becomes the score 0. `cut_` is
        its former name.
    classes_, net_, n_epochs_, history_, oof_scores_, n_features_in_, feature_names_in_
        As in `MixPULClassifier`.

    Examples
    --------
    >>> from mixpul import VPUClassifier, datasets
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> VPUClassifier(n_epochs=3, random_state=0).fit(pu.X, pu.s).predict(pu.X).shape
    (2201,)
    """

    _parameter_constraints: dict = NeuralPUClassifier._parameter_constraints | {
        "mixup_weight": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        mixup_weight: float = 0.3,
        alpha: float = 0.3,
        net: NetSpec = "skip-mlp",
        n_epochs: int = 30,
        learning_rate: float = 0.001,
        optimizer: str = "adam",
        momentum: float = 0.9,
        weight_decay: float | str | Sequence[float] = "auto",
        batch_size: int = 128,
        max_steps: int | None = 250,
        min_steps: int | None = None,
        augment: AugmentSpec = None,
        cross_fitting: int | None = 5,
        early_stopping: bool = True,
        validation_fraction: float = 0.2,
        patience: int | None = 10,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
        device: str | torch.device = "auto",
        precision: str | None = None,
        checkpoint: str | PathLike | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(**pick_shared(locals(), NeuralPUClassifier))
        self.mixup_weight = mixup_weight
        self.alpha = alpha

    @property
    def cut_(self) -> float:
        """The former name of `threshold_`."""
        return self.threshold_

    _uses_negatives = True

    def _make_objective(self, member: Member) -> Objective:
        return VPUObjective(self, member)

    def _choose_threshold(
        self, X: Any, is_positive: NDArray[np.bool_], held_out: HeldOut | None
    ) -> float:
        # Half of the largest Phi on the training rows, as a logit.
        largest = 1 / (1 + math.exp(-float(self._scores(X).max())))
        return math.log(largest / 2) - math.log1p(-largest / 2)


class VPUObjective(Objective):
    """The variational bound, and consistency under mixup with positives."""

    method: VPUClassifier

    def terms(self, batch: Batch, progress: float) -> dict[str, Tensor]:
        """Return L_var and L_mix of a batch."""
        x_p, x_u = batch.positive, batch.unlabeled
        weight = self.member.rng.beta(self.method.alpha, self.method.alpha)
        parts = [x_p, x_u, mix(x_u, x_p, weight)]
        if len(batch.negative):
            parts.append(batch.negative)
        # One pass, so that batch norm cannot tell the parts apart.
        logits = self.member.net(torch.cat(parts)).split([len(part) for part in parts])
        z_p, z_u, z_mixed = logits[:3]
        # A mixture with a positive, whose Phi is 1, should have the mixed Phi.
        target = torch.log(mix(torch.sigmoid(z_u), torch.ones_like(z_u), weight))
        terms = {
            "L_var": variational_risk(z_p, z_u),
            "L_mix": self.method.mixup_weight * F.mse_loss(F.logsigmoid(z_mixed), target),
        }
        if self.method._eta:
            # -log(1 - Phi) of verified negatives, of which a fold may hold out all.
            z_n = logits[3] if len(batch.negative) else z_p[:0]
            terms["L_N"] = self.method._eta * F.softplus(z_n).sum() / max(1, len(z_n))
        return terms
