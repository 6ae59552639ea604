"""What uPU and Ramp share: a class prior, and a choice between a kernel model and a network."""

from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mixpul._util.random import RandomStateLike, as_generator
from mixpul._util.schema import Spec
from mixpul._util.validation import Interval, StrOptions
from mixpul.augment import AugmentSpec
from mixpul.base import HeldOut, pick_shared
from mixpul.losses import pn_risk, upu_risk
from mixpul.methods._kernel.basis import KERNEL_MODEL, kernel_scores
from mixpul.methods._kernel.solvers import Array, select_kernel_model
from mixpul.methods._verified import find_others
from mixpul.methods.neural import NeuralPUClassifier
from mixpul.nets import NetSpec
from mixpul.priors import PriorEstimator, resolve_prior, warn_if_impossible
from mixpul.priors.base import PRIOR_CONSTRAINT
from mixpul.training import Batch


def split_logits(net: nn.Module, batch: Batch) -> Batch:
    """Return the logits of the rows of a batch, computed in one pass."""
    return Batch(*net(torch.cat(batch)).split([len(part) for part in batch]))


def mix_risks(
    risk: Tensor, logits: Batch, prior: float, loss: str, eta: float
) -> dict[str, Tensor]:
    r"""Return the terms of the PNU risk :math:`(1 - \eta) R_{PU} + \eta R_{PN}`.

    Without verified negatives eta is 0, and a PU `risk` is all there is. So it is for a network
    whose fold holds all of them out.
    """
    if not eta:
        return {"R_PU": risk}
    if not len(logits.negative):
        return {"R_PU": risk, "R_PN": risk.new_zeros(())}
    of_negatives = pn_risk(logits.positive, logits.negative, prior, loss)
    return {"R_PU": (1 - eta) * risk, "R_PN": eta * of_negatives}


class RiskClassifier(NeuralPUClassifier):
    """Base of uPU and Ramp: the unbiased PU risk of one loss, for a kernel model or a network.

    A subclass has parameters `prior` and `model`, writes `_solve`, which minimises the risk over
    coefficients of basis functions, and `_name_loss`, which names the loss for the network.
    """

    _parameter_constraints: dict = NeuralPUClassifier._parameter_constraints | {
        "prior": PRIOR_CONSTRAINT,
        "model": [StrOptions({"kernel", "mlp"})],
        "n_centres": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        prior: float | str | PriorEstimator = "bbe",
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
        super().__init__(**pick_shared(locals(), NeuralPUClassifier))
        self.prior = prior
        self.model = model
        self.n_centres = n_centres

    def _solve(
        self,
        phi_p: Array,
        phi_u: Array,
        prior: float,
        penalty: float,
        phi_n: Array | None = None,
        eta: float = 0.0,
    ) -> Array:
        raise NotImplementedError

    def _name_loss(self) -> str:
        raise NotImplementedError

    _uses_negatives = True

    @property
    def _uses_weights(self) -> bool:  # type: ignore[override]
        return self.model == "mlp"

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> HeldOut | None:
        others = find_others(self._is_negative)
        self.prior_, estimator = resolve_prior(
            self.prior, X[others], is_positive[others], self.random_state
        )
        if self.model == "mlp":
            held_out = super()._fit(X, is_positive)
        else:
            held_out = self._fit_kernel(X, is_positive)
        # Rows held out by a single network are too few to contradict a prior.
        # An estimate is not checked: it rests on the same rows.
        if estimator is None and held_out is not None and held_out.is_known.all():
            warn_if_impossible(self.prior_, held_out.scores[others], is_positive[others])
        return held_out

    def _fit_kernel(self, X: Any, is_positive: NDArray[np.bool_]) -> HeldOut | None:
        random = as_generator(self.random_state)
        found = select_kernel_model(
            X,
            is_positive,
            self.prior_,
            self._solve,
            random,
            is_negative=self._is_negative,
            n_centres=self.n_centres,
        )
        self.centres_, self.width_, self.coef_ = found.centres, found.width, found.coef
        self.intercept_, self.penalty_ = found.intercept, found.penalty
        return found.held_out

    def _list_needed(self) -> tuple[str, ...]:
        kernel = ("centres_", "width_", "coef_", "intercept_")
        return kernel if self.model == "kernel" else super()._list_needed()

    def _describe_learned(self) -> dict[str, Spec]:
        return super()._describe_learned() | KERNEL_MODEL

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A network may end at calling every row negative if the prior is estimated as about 0.
        estimated = not isinstance(self.prior, Real)
        tags.classifier_tags.poor_score = self.model == "mlp" and estimated
        return tags

    def _loss_terms(self, batch: Batch, progress: float) -> dict[str, Tensor]:
        logits = split_logits(self.net_, batch)
        risk = upu_risk(logits.positive, logits.unlabeled, self.prior_, self._name_loss())
        return mix_risks(risk, logits, self.prior_, self._name_loss(), self._eta)

    def _scores(self, X: Any) -> NDArray[np.float32]:
        if self.model == "mlp":
            return super()._scores(X)
        scores = kernel_scores(X, self.centres_, self.width_, self.coef_, self.intercept_)
        return scores.astype(np.float32)
