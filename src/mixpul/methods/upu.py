"""Unbiased PU learning with a convex loss (du Plessis, Niu, Sugiyama, 2015)."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import torch

from mixpul._util.random import RandomStateLike
from mixpul._util.validation import StrOptions
from mixpul.augment import AugmentSpec
from mixpul.base import pick_shared
from mixpul.methods._kernel.solvers import Array, upu_convex, upu_squared
from mixpul.methods._risk import RiskClassifier
from mixpul.nets import NetSpec
from mixpul.priors import PriorEstimator

__all__ = ["UPUClassifier"]


class UPUClassifier(RiskClassifier):
    """Unbiased PU learning with a convex loss (du Plessis, Niu, Sugiyama, 2015).

    Minimises an unbiased estimate of the classification risk from positives and unlabeled rows;
    needs the class prior. The method of the paper is a sum of Gaussians whose width and penalty
    have the least PU 0-1 risk in cross-validation; the network is ours, on the loop of all neural
    methods, and overfits without early stopping.

    Parameters
    ----------
    prior : float, {'bbe', 'dedpul', 'tice', 'km', 'pen-l1', 'elkan-noto'} or PriorEstimator, \
default='bbe'
        Share of positives among the unlabeled rows, or how to estimate it.
    loss : {'squared', 'logistic', 'double-hinge'}, default='squared'
        'squared' has a closed form for the kernel model, the others take L-BFGS.
    model : {'kernel', 'mlp'}, default='kernel'
        'mlp' trains the network that `net` names.
    n_centres : int, default=200
        Number of Gaussians of the kernel model.
    net : {'skip-mlp', 'mlp', 'linear', 'small-conv', 'allconv13'}, sequence of int, or callable, \
default='skip-mlp'
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
    prior_ : float
        The share of positives among the unlabeled rows that was used.
    centres_, width_, coef_, intercept_, penalty_
        The kernel model.
    classes_, net_, n_epochs_, history_, oof_scores_, n_features_in_, feature_names_in_
        As in `MixPULClassifier`; those of the network with ``model='mlp'`` only.

    Examples
    --------
    >>> from mixpul import UPUClassifier, datasets
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> UPUClassifier(prior=pu.prior, random_state=0).fit(pu.X, pu.s).predict(pu.X).shape
    (2201,)
    """

    _parameter_constraints: dict = RiskClassifier._parameter_constraints | {
        "loss": [StrOptions({"squared", "logistic", "double-hinge"})],
    }

    def __init__(
        self,
        *,
        prior: float | str | PriorEstimator = "bbe",
        loss: str = "squared",
        model: str = "kernel",
        n_centres: int = 200,
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
        super().__init__(**pick_shared(locals(), RiskClassifier))
        self.loss = loss

    def _solve(
        self,
        phi_p: Array,
        phi_u: Array,
        prior: float,
        penalty: float,
        phi_n: Array | None = None,
        eta: float = 0.0,
    ) -> Array:
        if self.loss == "squared":
            return upu_squared(phi_p, phi_u, prior, penalty, phi_n, eta)
        return upu_convex(phi_p, phi_u, prior, penalty, self.loss, phi_n, eta)

    def _name_loss(self) -> str:
        return self.loss
