"""Non-negative PU learning (Kiryo, Niu, du Plessis, Sugiyama, 2017)."""

from collections.abc import Sequence
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mixpul._util.random import RandomStateLike
from mixpul._util.validation import Interval, StrOptions
from mixpul.augment import AugmentSpec
from mixpul.base import HeldOut, pick_shared
from mixpul.losses import nnpu_risk
from mixpul.methods._risk import mix_risks, split_logits
from mixpul.methods._verified import find_others
from mixpul.methods.neural import NeuralPUClassifier
from mixpul.nets import NetSpec
from mixpul.priors import PriorEstimator, resolve_prior, warn_if_impossible
from mixpul.priors.base import PRIOR_CONSTRAINT
from mixpul.training import Batch

__all__ = ["NNPUClassifier"]


class NNPUClassifier(NeuralPUClassifier):
    """Network trained by the non-negative PU risk (Kiryo, Niu, du Plessis, Sugiyama, 2017).

    Minimises an estimate of the misclassification risk from positives and unlabeled rows. The part
    that stands for negatives cannot be negative in truth; where its estimate falls below
    ``-beta`` the network has overfitted, and steps go uphill on it, scaled by `gamma`.

    Parameters
    ----------
    prior : float, {'bbe', 'dedpul', 'tice', 'km', 'pen-l1', 'elkan-noto'} or PriorEstimator, \
default='bbe'
        Share of positives among the unlabeled rows, or how to estimate it. A number you know
        beats every estimate.
    loss : {'sigmoid', 'logistic'}, default='sigmoid'
    beta : float, default=0.0
        How far below zero the risk of negatives may fall.
    gamma : float, default=1.0
        Length of the uphill steps.
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
    classes_, net_, n_epochs_, history_, oof_scores_, n_features_in_, feature_names_in_
        As in `MixPULClassifier`.

    Examples
    --------
    >>> from mixpul import NNPUClassifier, datasets
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> model = NNPUClassifier(prior=pu.prior, n_epochs=3, random_state=0).fit(pu.X, pu.s)
    >>> model.predict(pu.X).shape
    (2201,)
    """

    _parameter_constraints: dict = NeuralPUClassifier._parameter_constraints | {
        "prior": PRIOR_CONSTRAINT,
        "loss": [StrOptions({"sigmoid", "logistic"})],
        "beta": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        prior: float | str | PriorEstimator = "bbe",
        loss: str = "sigmoid",
        beta: float = 0.0,
        gamma: float = 1.0,
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
        self.prior = prior
        self.loss = loss
        self.beta = beta
        self.gamma = gamma

    _uses_negatives = True

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> HeldOut | None:
        others = find_others(self._is_negative)
        self.prior_, estimator = resolve_prior(
            self.prior, X[others], is_positive[others], self.random_state
        )
        held_out = super()._fit(X, is_positive)
        # Rows held out by a single network are too few to contradict a prior.
        if estimator is None and hasattr(self, "oof_scores_"):
            warn_if_impossible(self.prior_, self.oof_scores_[others], is_positive[others])
        return held_out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Where the unlabeled rows hold no positives an estimated prior is about 0, and the least
        # risk is then that of calling every row negative.
        tags.classifier_tags.poor_score = not isinstance(self.prior, Real)
        return tags

    def _loss_terms(self, batch: Batch, progress: float) -> dict[str, Tensor]:
        logits = split_logits(self.net_, batch)
        risk = nnpu_risk(
            logits.positive, logits.unlabeled, self.prior_, self.loss, self.beta, self.gamma
        )
        return mix_risks(risk, logits, self.prior_, self.loss, self._eta)
