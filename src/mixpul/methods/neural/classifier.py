"""The base of all methods that train a network: its parameters, and how a fit goes."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from torch import Tensor, nn

from mixpul._names import NETS
from mixpul._util.errors import TrainingDiverged
from mixpul._util.progress import progress_bar
from mixpul._util.random import (
    RandomStateLike,
    as_generator,
    count_folds,
    draw_seed,
    hold_out,
    number_folds,
)
from mixpul._util.ranks import is_main, take_from_main
from mixpul._util.validation import Interval, StrOptions, write_recipe
from mixpul.augment import AUGMENTATIONS, AugmentSpec, flips, make_augment
from mixpul.base import HeldOut, PUClassifier
from mixpul.methods._verified import join_weights, share_verified
from mixpul.methods.bagging import weigh_verified
from mixpul.methods.neural.checkpoint import Checkpoint, take_fingerprint
from mixpul.methods.neural.member import Member, choose_precision, return_float
from mixpul.methods.neural.negatives import MinedNegatives
from mixpul.methods.neural.objective import JointObjective, Objective
from mixpul.methods.neural.ranks import check_ranks, train_together
from mixpul.methods.neural.selection import PU_AUC, AverageOfEach, Criterion, EpochAverage
from mixpul.methods.neural.settings import (
    Setting,
    draws_by_itself,
    join_folds,
    learn_features,
    list_weighed,
    make_average,
    own_randomness,
    split_by_setting,
    weigh_settings,
)
from mixpul.nets import Averaged, Mirrored, NetSpec, make_net, refresh_batch_norm, simplify
from mixpul.training import (
    WAY_OUT,
    Batch,
    PUBatches,
    Rows,
    add_decays,
    as_rows,
    make_optimizer,
    pick_device,
    score_all,
    score_rows,
    train,
    use_threads,
)

__all__ = ["NeuralPUClassifier"]


# The loss is a mean over positives, so a prior belief in small weights counts as 1 / n_positive.
# Chosen on held-out PU-AUC (benchmarks/defaults.py): with a dozen positives it keeps a network
# from memorising them, with hundreds it is gone.
DECAY_OF_ONE_POSITIVE = 2.0


class NeuralPUClassifier(PUClassifier):
    """Base of all methods that train a network.

    A subclass writes `_loss_terms(batch, progress)`, which returns the weighted terms of its loss
    as a dict; inside it `self.net_` is the network in training. A method with more to it writes an
    `Objective` and returns it from `_make_objective`; one that uses negatives writes
    `_make_negatives` (see MixPULClassifier for both).

    With `cross_fitting` = k the labeled and the unlabeled rows are dealt into k folds and k members
    train side by side, each without one fold. Their logits on the rows they have not seen judge
    every epoch honestly, by PU-AUC or what the method names, and epochs are weighed by it
    (`EpochAverage`); the classifier is the mean of the k networks.
    """

    _parameter_constraints: dict = {
        "net": [StrOptions(set(NETS)), "array-like", callable],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "optimizer": [StrOptions({"sgd", "adam"})],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "weight_decay": [
            Interval(Real, 0, None, closed="left"),
            StrOptions({"auto"}),
            "array-like",
        ],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
        "min_steps": [Interval(Integral, 1, None, closed="left"), None],
        "augment": [StrOptions(set(AUGMENTATIONS)), "array-like", callable, None],
        "cross_fitting": [Interval(Integral, 2, None, closed="left"), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state", np.random.Generator],
        "device": [str, torch.device],
        "precision": [StrOptions({"bfloat16", "auto"}), None],
        "checkpoint": [str, PathLike, None],
        "verbose": ["verbose"],
    }

    _trains_nets = True
    # How held-out rows judge an epoch; a method may have its own.
    _criterion: Criterion = PU_AUC
    _eta = 0.0  # the share of verified negatives, for methods whose loss has a term of them
    _uses_weights = True  # rows are drawn for batches as often as they weigh
    _drawn_by: NDArray[np.float64] | None = None  # these weights, and those of verified negatives

    # A portfolio gives all of its candidates the same folds, and a time by which to end.
    _given_folds: NDArray[np.int32] | None = None
    _deadline: float | None = None

    net_: nn.Module

    def __init__(
        self,
        *,
        net: NetSpec = "skip-mlp",
        n_epochs: int = 30,
        learning_rate: float = 0.04,
        optimizer: str = "sgd",
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
        self.net = net
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.min_steps = min_steps
        self.augment = augment
        self.cross_fitting = cross_fitting
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.pos_label = pos_label
        self.random_state = random_state
        self.device = device
        self.precision = precision
        self.checkpoint = checkpoint
        self.verbose = verbose

    # -- what a method may write ------------------------------------------------------------

    def _loss_terms(self, batch: Batch, progress: float) -> dict[str, Tensor]:
        """Return the weighted terms of the loss of `self.net_`."""
        raise NotImplementedError

    def _make_objective(self, member: Member) -> Objective:
        """Return what a member is trained for."""
        return Objective(self, member)

    def _join(
        self, objectives: Sequence[Objective], precision: Callable[[], Any]
    ) -> JointObjective:
        """Return how to train several members in one loop."""
        return JointObjective(objectives, precision)

    def _make_negatives(
        self, member: Member, X: Any, positive: NDArray, unlabeled: NDArray
    ) -> Callable[[], NDArray] | None:
        """Return a source of rows to use as negatives, if there are any: the verified ones."""
        return (lambda: member.verified) if len(member.verified) else None

    # -- fit: build members, train, average, publish --------------------------------------------

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> HeldOut | None:
        random = as_generator(self.random_state)
        self._eta = share_verified(int(self._is_negative.sum()), int(is_positive.sum()))
        of_verified = weigh_verified(X, is_positive, self._is_negative, self._weights, random)
        self._drawn_by = join_weights(self._weights, of_verified)
        settings = self._list_settings(is_positive)
        # Small networks run fastest on one thread, by far when other processes are busy.
        n_threads = 1 if X.ndim == 2 else None
        with own_randomness(self, settings, draw_seed(random), n_threads) as first_weights:
            rows = as_rows(X, pick_device(self.device))
            seen = self._split_rows(is_positive, random)
            # Settings one after the other, each with a member for every fold.
            members = [
                self._build_member(
                    X, rows, is_positive, is_seen, draw_seed(random), k, setting, first_weights
                )
                for k, setting in enumerate(settings)
                for is_seen in seen
            ]
            learn_features(members, rows, len(is_positive), random)
            objectives = [self._make_objective(member) for member in members]
            average, checkpoint = self._train_members(objectives, X, is_positive)
            nets = self._average_members(objectives, average)
            held_out = self._publish_members(objectives, nets, rows, is_positive)
        # Last: a process that dies before this line can still go on from the file.
        if checkpoint is not None:
            checkpoint.remove()
        return held_out if held_out.is_known.any() else None

    def _build_member(
        self,
        X: Any,
        rows: Rows,
        is_positive: NDArray[np.bool_],
        is_seen: NDArray[np.bool_],
        seed: int,
        number: int = 0,
        setting: Setting | None = None,
        first_weights: torch.Generator | None = None,
    ) -> Member:
        """Build the network that trains on the rows `is_seen`, and its batches."""
        own = setting or self._list_settings(is_positive)[0]
        net = make_net(own.net, self._row_shape, first_weights).to(pick_device(self.device))
        member = Member(net, is_seen, seed, own.decay, number, self._is_negative)
        if self.precision is not None:
            # Whatever the network computes in, losses need the digits.
            net.register_forward_hook(return_float)
        positive = np.flatnonzero(is_seen & is_positive)
        unlabeled = np.flatnonzero(is_seen & ~is_positive & ~self._is_negative)
        member.batches = PUBatches(
            rows,
            torch.from_numpy(positive),
            torch.from_numpy(unlabeled),
            self._make_negatives(member, X, positive, unlabeled),
            batch_size=self._choose_batch_size(int(is_positive.sum())),
            generator=member.generator,
            max_steps=self._choose_most_steps(int(is_positive.sum())),
            min_steps=self.min_steps,
            augment=make_augment(self.augment),
            weights=None if self._drawn_by is None else torch.from_numpy(self._drawn_by),
        )
        return member

    def _train_members(
        self, objectives: list[Objective], X: Any, is_positive: NDArray[np.bool_]
    ) -> tuple[EpochAverage | AverageOfEach, Checkpoint | None]:
        """Train all members step by step in one loop; return how to average over epochs."""
        joint = self._join(objectives, choose_precision(self.precision, objectives[0].member))
        optimizer = self._make_optimizer(joint)
        patience = self.patience if self.early_stopping else None
        average = make_average(objectives, is_positive, patience, self._criterion)
        identity = partial(self._identify, X, is_positive)
        checkpoint = self._open_checkpoint(objectives, identity, is_positive, optimizer, average)
        # Resuming also sets the state of torch, so nothing may be drawn between here and training.
        history = [] if checkpoint is None else checkpoint.resume()
        joint.resume(len(history) * len(joint))
        check_ranks(self.random_state, identity, joint.networks, len(history))

        def end_epoch(record: dict[str, float]) -> bool:
            # Before `average` adds its judgements, which are no sums.
            for name in record.keys() - {"epoch"}:
                record[name] /= len(objectives)  # the loss is a sum over members
            stop = average(record)
            show(record)
            if checkpoint is not None:
                checkpoint.save(history)
            is_late = self._deadline is not None and time.time() > self._deadline
            return take_from_main(stop or is_late)

        name = type(self).__name__.removesuffix("Classifier")
        verbose = self.verbose if is_main() else 0
        with progress_bar(self.n_epochs, name, verbose) as show, train_together(joint, optimizer):
            for record in history:
                show(record)
            self.history_ = train(
                joint.networks,
                joint,
                joint.terms,
                optimizer=optimizer,
                # The process may have died after the last epoch: then none is left to train.
                n_epochs=len(history) if average.is_over(len(history)) else self.n_epochs,
                after_step=joint.after_step,
                on_epoch=end_epoch,
                history=history,
            )
        return average, checkpoint

    def _make_optimizer(self, joint: JointObjective) -> torch.optim.Optimizer:
        decays = {objective.member.decay for objective in joint.objectives}
        is_one = len(decays) == 1
        optimizer = make_optimizer(
            joint.networks,
            self.optimizer,
            self.learning_rate,
            self.momentum,
            max(decays) if is_one else 0.0,
        )
        if not is_one:
            add_decays(optimizer, joint.list_decays())
        return optimizer

    def _average_members(
        self, objectives: list[Objective], average: EpochAverage | AverageOfEach
    ) -> list[nn.Module]:
        """Turn each member's network into its average over the best epochs."""
        average.finish()
        self.n_epochs_ = average.n_epochs
        for objective, net in zip(objectives, average.nets, strict=True):
            refresh_batch_norm(net, objective.clean_batches())
        pairs = zip(objectives, average.nets, strict=True)
        nets = [objective.member.wrap(net) for objective, net in pairs]
        return [Mirrored(net) if flips(self.augment) else net for net in nets]

    def _publish_members(
        self,
        objectives: list[Objective],
        nets: list[nn.Module],
        rows: Rows,
        is_positive: NDArray[np.bool_],
    ) -> HeldOut:
        """Make the networks the classifier; return the scores of the rows they have not seen."""
        every = [objective.member for objective in objectives]
        members = [objective.member for objective in split_by_setting(objectives)[0]]
        # A step into infinity may come last, when no loss is computed any more.
        if any(np.isnan(score_rows(net, rows, members[0].seen[:100])).any() for net in nets):
            raise TrainingDiverged(f"Training diverged: scores are NaN. {WAY_OUT}")
        # Scored once more: averages and mirror images have changed the networks since then.
        settings = weigh_settings(
            nets, [m.held_out for m in members], rows, is_positive, self._is_negative
        )
        self.net_ = join_folds(settings.nets)
        self.net_.eval().requires_grad_(False)
        if len(nets) > len(members):
            self.settings_ = list_weighed(self._list_settings(is_positive), settings.weights)
        if len(members) > 1:
            self.oof_scores_ = settings.held_out.scores.copy()  # shifted later, with the threshold
            self.oof_folds_ = np.empty(len(is_positive), dtype=np.int32)
            for k, member in enumerate(members):
                self.oof_folds_[member.held_out.numpy()] = k
        self._publish_more(every)
        return settings.held_out

    def _publish_more(self, members: list[Member]) -> None:
        """Publish what else users may want to see of a method's members."""

    # -- the settings of a training -------------------------------------------------------------

    def _split_rows(
        self, is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> list[NDArray[np.bool_]]:
        """Return masks of the rows each network may see."""
        others, folds = np.flatnonzero(~self._is_negative), None
        if self.cross_fitting and self._given_folds is not None:
            folds = self._given_folds
        elif self.cross_fitting and count_folds(is_positive[others], self.cross_fitting) >= 2:
            folds = number_folds(
                is_positive, self.cross_fitting, draw_seed(random), self._is_negative
            )
        if folds is not None:
            held_out = [np.flatnonzero(folds == k) for k in range(int(folds.max()) + 1)]
        elif self.early_stopping:
            held_out = [others[hold_out(is_positive[others], self.validation_fraction, random)]]
        else:
            held_out = [np.empty(0, dtype=int)]
        is_seen = np.ones((len(held_out), len(is_positive)), dtype=bool)
        for mask, rows in zip(is_seen, held_out, strict=True):
            mask[rows] = False
        return list(is_seen)

    def _list_settings(self, is_positive: NDArray[np.bool_]) -> list[Setting]:
        """Return what to train with; several settings are weighed by the rows held out."""
        if isinstance(self.weight_decay, str):  # "auto"
            return [Setting(self.net, DECAY_OF_ONE_POSITIVE / float(is_positive.sum()))]
        return [Setting(self.net, float(decay)) for decay in np.atleast_1d(self.weight_decay)]

    def _choose_batch_size(self, n_positive: int) -> int:
        """Return how many rows of each kind are in a batch."""
        return self.batch_size

    def _choose_most_steps(self, n_positive: int) -> int | None:
        """Return the most steps of an epoch."""
        return self.max_steps

    def _open_checkpoint(
        self,
        objectives: list[Objective],
        identity: Callable[[], str],
        is_positive: NDArray[np.bool_],
        optimizer: torch.optim.Optimizer,
        average: EpochAverage | AverageOfEach,
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        if not isinstance(self.random_state, Integral):
            raise ValueError(
                "A training can be resumed from a checkpoint only if it starts the same each "
                f"time: random_state must be a number; got {self.random_state!r}."
            )
        members = [objective.member for objective in objectives]
        sources = [m.batches.mine for m in members if isinstance(m.batches.mine, MinedNegatives)]
        return Checkpoint(
            self.checkpoint,
            identity(),
            nn.ModuleList([nn.ModuleList([member.net for member in members]), *average.nets]),
            optimizer,
            average,
            [stream for member in members for stream in member.streams],
            {f"{k}": source.best_place for k, source in enumerate(sources)},
            not draws_by_itself(self, self._list_settings(is_positive)),
        )

    def _identify(self, X: Any, is_positive: NDArray[np.bool_]) -> str:
        """Return what is trained on what, as text."""
        # Where the file lies and what is shown make no difference to the weights.
        own = clone(self).set_params(checkpoint=None, verbose=0)
        known = (is_positive, self._is_negative, self._weights)
        return f"{write_recipe(own)} {take_fingerprint(X, *known)}"

    # -- prediction -----------------------------------------------------------------------------

    def make_fold_scorers(self) -> list[Callable[[Any], NDArray[np.float32]]]:
        """Return for each fold a scorer by networks without it, on the scale of `oof_scores_`."""
        nets = cast(Averaged, self.net_).members
        return [partial(score_all, net, shift=self.threshold_) for net in nets]

    def _list_needed(self) -> tuple[str, ...]:
        return ("net_",)

    def _scores(self, X: Any) -> NDArray[np.float32]:
        # One thread for all of it: a pool that is started once is waited for in vain after a fork.
        with use_threads(1 if X.ndim == 2 else None):
            return score_all(simplify(self.net_), X)
