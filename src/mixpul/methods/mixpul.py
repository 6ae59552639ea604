"""MixPUL: consistency under mixup for positive-unlabeled learning (Wei et al., 2020)."""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray

from mixpul._util.random import RandomStateLike
from mixpul._util.validation import HasMethods, Interval, StrOptions
from mixpul.augment import AugmentSpec
from mixpul.base import HeldOut, pick_shared
from mixpul.methods._mixpul_objective import MixPULObjective, SideBySideJoint
from mixpul.methods._verified import share_verified
from mixpul.methods.neural import Member, NeuralPUClassifier, Objective
from mixpul.methods.neural.negatives import MinedNegatives, rank_negatives
from mixpul.methods.neural.objective import JointObjective
from mixpul.methods.neural.selection import GAP
from mixpul.methods.neural.settings import Setting
from mixpul.metrics import balanced_threshold
from mixpul.miners import MINERS, NegativeMiner, prepare_miner
from mixpul.nets import NETS, NetSpec, SideBySide

__all__ = ["MixPULClassifier", "MixPULObjective"]

# Networks and weight decays of a single positive that are trained on a table and weighed: no one
# of them suits all tables. How they were chosen: docs/explanation/decisions.md.
SETTINGS = (
    ("narrow-skip-mlp", 0.01),
    ("narrow-skip-mlp", 10.0),
    ("kernel", 20.0),
    ("kernel", 2.0),
)

# Smallest and largest batch, and the same of the most steps of an epoch.
BATCH_SIZES, MOST_STEPS = (32, 128), (50, 250)


class MixPULClassifier(NeuralPUClassifier):
    """Positive-unlabeled classifier trained for consistency under mixup; needs no class prior.

    Minimises ``L_PN + beta * L_U + gamma * L_PU``: predictions on mixtures of positives and mined
    negatives (L_PN), and of unlabeled pairs (L_U), should be the mixtures of their targets, and
    positives should outrank unlabeled rows by `margin` (L_PU). Targets of unlabeled rows come from
    a teacher, the moving average of the network; the teacher also predicts. Verified negatives
    join the mined ones.

    The defaults are ours. Four settings train on the same folds: networks of hidden layers and
    networks that are linear in kernel features, each with two weight decays. Each network leaves
    out one fold and is averaged over the epochs in which the rows left out are told apart best;
    settings are weighed by how well they rank the rows left out. `from_paper` takes the published
    settings. Standardise the features first.

    Parameters
    ----------
    net : {'auto', 'skip-mlp', 'narrow-skip-mlp', 'mlp', 'linear', 'kernel', 'small-conv', \
'allconv13'}, sequence of int, or callable, default='auto'
        'auto' trains 'narrow-skip-mlp' and 'kernel', each with two weight decays, and weighs them;
        for images, or with a `weight_decay` of your own, it is 'skip-mlp'. Or one kind of network:
        by name; widths of the hidden layers of an MLP; or a function that takes the shape of one
        row and returns a `torch.nn.Module` with one logit per row.
    miner : {'rand', 'dist', 'ntc'} or NegativeMiner, default='rand'
        How reliable negatives are picked from the unlabeled rows.
    negative_fraction : float, default=1.0
        Share of the unlabeled rows to mine as negatives, in (0, 1].
    alpha : float, default=0.2
        Mixing weights are drawn from Beta(alpha, alpha). Larger mixes more evenly.
    mixing : 'row' or None, default='row'
        'row' draws a mixing weight for each row, None one for all rows of a batch, as the paper.
    beta : float, default=1.0
        Weight of L_U.
    gamma : float, default=0.3
        Weight of L_PU. At 1, as in the paper, it drives probabilities to 0 and 1 before the other
        terms have taught much.
    margin : float, default=1.0
        How far positives should outrank unlabeled rows, in probability. From 1 on every pair
        counts, and the term is a difference of means.
    ema_decay : float, default=0.999
        Slowest decay of the teacher's moving average.
    warmup : float, default=0.0
        Share of the epochs before L_U sets in; its weight then rises over a tenth of them.
    n_epochs : int, default=20
        Most epochs to train. An epoch is one pass over the unlabeled rows, within the limits of
        `min_steps` and `max_steps`.
    learning_rate : float, default=0.04
    optimizer : {'sgd', 'adam'}, default='sgd'
        SGD takes Nesterov momentum.
    momentum : float, default=0.9
    weight_decay : float, 'auto' or sequence of float, default='auto'
        L2 penalty, in proportion to 1 / number of labeled positives by 'auto', so that a handful of
        them is not memorised. Of several, each trains networks of its own, which are weighed.
    batch_size : int or 'auto', default='auto'
        Rows of each kind (positive, negative, unlabeled) per step; 'auto' is an eighth of the
        number of labeled positives, within 32 and 128.
    max_steps : int, 'auto' or None, default='auto'
        Most steps per epoch: bounds the time on large tables. 'auto' is a fifth of the number of
        labeled positives, within 50 and 250.
    min_steps : int or None, default=50
        Fewest steps per epoch: rows of a small table come several times.
    augment : {'flip', 'shift', 'cutout'}, sequence of them, callable or None, default=None
        Random changes to the images of a training batch, one after the other, or a function of
        the batch and a `torch.Generator` (see `mixpul.augment`). With 'flip', scores are means over
        an image and its mirror image.
    cross_fitting : int or None, default=5
        Number of folds and networks; None trains a single network.
    early_stopping : bool, default=True
        Whether to stop, and to average over the best epochs, by rows held out: the mean
        probability of the positives among them less that of the others. Otherwise the network is
        the one after the last epoch.
    validation_fraction : float, default=0.2
        Share of the rows that a single network leaves out to be stopped by.
    patience : int or None, default=10
        Epochs without progress after which training stops. None trains all epochs and takes the
        last: rows held out then set the threshold and nothing else.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
    device : str or torch.device, default='auto'
        'auto' takes a CUDA device if there is one, else the CPU.
    precision : {'bfloat16', 'auto'} or None, default=None
        What networks compute in while they train: float32, or bfloat16 where torch deems it safe.
        'auto' times both on a few steps and takes bfloat16 if it is faster by a fifth.
    checkpoint : str, path-like or None, default=None
        File for the state of the training after each epoch. If the process dies, the same fit
        goes on from there and ends in the same weights; the file is removed when it is done.
        Needs a number as `random_state`.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    net_ : torch.nn.Module
        The trained network; one logit per row.
    n_epochs_ : int
        The best epoch by held-out rows, or the last one without early stopping.
    settings_ : list of dict
        If several were trained: `net`, `weight_decay` and `weight` of each; they add up to 1.
    history_ : list of dict
        Per epoch the mean of each loss term over steps and networks; of held-out rows "pu_auc",
        and "gap", by which epochs are judged.
    oof_scores_ : ndarray of shape (n_samples,)
        With cross-fitting: the score of each row by the network that has not seen it.
    oof_folds_ : ndarray of shape (n_samples,)
        With cross-fitting: the number of that network.
    threshold_ : float
        Logit of `net_` that became the score 0, so that `predict` is best balanced on out-of-fold
        scores (`metrics.balanced_threshold`), or on held-out ones if there is one network; 0 if
        no row was held out.
    reliable_negatives_ : ndarray of shape (n_mined,)
        Rows of X that were used as negatives, surest first: verified ones, then mined ones.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    References
    ----------
    Wei, Shi, Wang, Tu, Li (2020). MixPUL: Consistency-based Augmentation for Positive and
    Unlabeled Learning. arXiv:2004.09388.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mixpul import MixPULClassifier, datasets
    >>> X, y = datasets.load("krvskp", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.1, random_state=0)
    >>> model = make_pipeline(StandardScaler(), MixPULClassifier(n_epochs=3, random_state=0))
    >>> model.fit(pu.X, pu.s).predict_proba(pu.X).shape
    (3196, 2)
    """

    _parameter_constraints: dict = NeuralPUClassifier._parameter_constraints | {
        "net": [StrOptions({"auto", *NETS}), "array-like", callable],
        "miner": [StrOptions(set(MINERS)), HasMethods("mine")],
        "negative_fraction": [Interval(Real, 0, 1, closed="right")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "max_steps": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "mixing": [StrOptions({"row"}), None],
        "beta": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "margin": [Interval(Real, 0, None, closed="left")],
        "ema_decay": [Interval(Real, 0, 1, closed="left")],
        "warmup": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        net: NetSpec = "auto",
        miner: str | NegativeMiner = "rand",
        negative_fraction: float = 1.0,
        alpha: float = 0.2,
        mixing: str | None = "row",
        beta: float = 1.0,
        gamma: float = 0.3,
        margin: float = 1.0,
        ema_decay: float = 0.999,
        warmup: float = 0.0,
        n_epochs: int = 20,
        learning_rate: float = 0.04,
        optimizer: str = "sgd",
        momentum: float = 0.9,
        weight_decay: float | str | Sequence[float] = "auto",
        batch_size: int | str = "auto",
        max_steps: int | str | None = "auto",
        min_steps: int | None = 50,
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
        self.miner = miner
        self.negative_fraction = negative_fraction
        self.alpha = alpha
        self.mixing = mixing
        self.beta = beta
        self.gamma = gamma
        self.margin = margin
        self.ema_decay = ema_decay
        self.warmup = warmup

    @classmethod
    def from_paper(cls, **params: Any) -> Self:
        """Make a classifier with the published settings; `params` override them.

        The paper fixes the objective, beta = gamma = 1, alpha = 1 to start from, Rand mining and
        EMA decay 0.999. It trains by SGD with Nesterov momentum 0.9, learning rate 1e-3 (1e-5 on
        CIFAR-10) and L2 1e-4, in batches of 128, for 200 epochs without early stopping. It leaves
        open the margin, the widths, the share of mined negatives and the start of L_U; there we
        take 0.1, 256-256, one half and a quarter of the epochs.
        """
        published: dict[str, Any] = {
            "net": (256, 256),
            "negative_fraction": 0.5,
            "alpha": 1.0,
            "mixing": None,
            "gamma": 1.0,
            "margin": 0.1,
            "warmup": 0.25,
            "n_epochs": 200,
            "learning_rate": 1e-3,
            "weight_decay": 1e-4,
            "batch_size": 128,
            "max_steps": None,
            "min_steps": None,
            "cross_fitting": None,
            "early_stopping": False,
        }
        return cls(**(published | params))

    def _list_settings(self, is_positive: NDArray[np.bool_]) -> list[Setting]:
        if not (isinstance(self.net, str) and self.net == "auto"):
            return super()._list_settings(is_positive)
        # Networks for images take minutes, not seconds: one kind of them.
        if not isinstance(self.weight_decay, str) or len(self._row_shape) > 1:
            return [s._replace(net="skip-mlp") for s in super()._list_settings(is_positive)]
        return [Setting(net, decay / float(is_positive.sum())) for net, decay in SETTINGS]

    # Steps on few positives are noisy whatever the size of a batch, and small ones are quick. The
    # more positives there are, the more a step and an epoch can learn from.
    def _choose_batch_size(self, n_positive: int) -> int:
        if isinstance(self.batch_size, str):
            return int(np.clip(n_positive // 8, *BATCH_SIZES))
        return self.batch_size

    def _choose_most_steps(self, n_positive: int) -> int | None:
        if isinstance(self.max_steps, str):
            return int(np.clip(n_positive // 5, *MOST_STEPS))
        return self.max_steps

    _uses_negatives = True
    # The term L_PU at margin 1, on rows held out.
    _criterion = GAP

    def _make_objective(self, member: Member) -> Objective:
        return MixPULObjective(self, member)

    def _join(
        self, objectives: Sequence[Objective], precision: Callable[[], Any]
    ) -> JointObjective:
        nets = [objective.member.net for objective in objectives]
        # A subclass may do more in a step than this would repeat.
        if (
            len(nets) > 1
            and all(type(objective) is MixPULObjective for objective in objectives)
            and all(SideBySide.can_hold([net]) for net in nets)
        ):
            return SideBySideJoint(cast(Sequence[MixPULObjective], objectives), precision)
        return super()._join(objectives, precision)

    def _make_negatives(
        self, member: Member, X: Any, positive: NDArray, unlabeled: NDArray
    ) -> MinedNegatives:
        miner, stream = prepare_miner(self.miner, member.rng)
        if stream is not None:
            member.streams.append(stream)
        n = max(1, round(self.negative_fraction * len(unlabeled)))
        share = share_verified(len(member.verified), len(positive))
        return MinedNegatives(miner, X, positive, unlabeled, n, member.verified, share)

    def _choose_threshold(
        self, X: Any, is_positive: NDArray[np.bool_], held_out: HeldOut | None
    ) -> float:
        # Networks that have seen a row as unlabeled push it below those they have not, positives
        # too: the threshold is judged by rows that none of them has seen in training.
        if held_out is None:
            return 0.0
        is_known = held_out.is_known
        return balanced_threshold(is_positive[is_known], held_out.scores[is_known])

    def _publish_more(self, members: list[Member]) -> None:
        sources = [member.batches.mine for member in members]
        mined = rank_negatives(cast(list[MinedNegatives], sources))
        # None is surer than a verified one.
        self.reliable_negatives_ = np.concatenate([np.flatnonzero(self._is_negative), mined])
