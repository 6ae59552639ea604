"""The contract of every classifier, and the part all neural methods share."""

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import islice
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from mixpul._util.progress import progress_bar
from mixpul._util.random import RandomStateLike, as_generator
from mixpul._util.validation import (
    Interval,
    StrOptions,
    check_finite,
    check_labels_present,
    check_no_text,
    recipe,
    split_labels,
)
from mixpul.augment import AUGMENTATIONS, AugmentSpec, flips, make_augment
from mixpul.methods.neural.checkpoint import Checkpoint, fingerprint
from mixpul.methods.neural.selection import PU_AUC, Criterion, EpochAverage
from mixpul.nets import NETS, Averaged, Mirrored, NetSpec, make_net, refresh_batch_norm
from mixpul.training import (
    Batch,
    PUBatches,
    Rows,
    as_rows,
    is_faster_in_bfloat16,
    is_pictures,
    make_optimizer,
    own_torch_state,
    pick_device,
    score_rows,
    train,
)

__all__ = ["NeuralPUClassifier", "PUClassifier"]

FEW_POSITIVES = 5
# The loss is a mean over positives, so a prior belief in small weights counts as 1 / n_positive.
# Chosen on held-out PU-AUC (benchmarks/defaults.py): with a dozen positives it keeps a network
# from memorising them, with hundreds it is gone.
DECAY_OF_ONE_POSITIVE = 2.0
# Of which statistics of batch norm are estimated: more would not change them.
CLEAN_BATCHES = 100


class PUClassifier(ClassifierMixin, BaseEstimator):
    """Base of all classifiers: labels, validation and prediction.

    A subclass writes `_fit(X, is_positive)` and `_scores(X)`; it gets float32 rows (dense,
    C-ordered, or CSR) that were checked, and gives one logit per row.
    """

    _parameter_constraints: dict = {}

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from rows labeled positive and unlabeled rows.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features), \
or array of shape (n_samples, channels, height, width)
        y : array-like of shape (n_samples,)
            Two values; the larger one, or `pos_label`, means "labeled positive".

        Returns
        -------
        self
        """
        self._validate_params()
        X, y = self._checked(X, y)
        classes, is_positive = split_labels(y, self.pos_label)
        if is_positive.sum() < FEW_POSITIVES:
            warnings.warn(
                f"Number of rows labeled positive: {is_positive.sum()}. Results will depend on "
                f"which ones they are; label at least {FEW_POSITIVES}, better dozens.",
                UserWarning,
                stacklevel=2,
            )
        self._forget()
        self._fit(X, is_positive)
        self.classes_ = classes  # last: it marks the classifier as fitted
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float32]:
        """Score rows: logits, above 0 where the positive class is predicted."""
        check_is_fitted(self, "classes_")
        return self._scores(self._checked(X))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float32]:
        """Sigmoid of the scores, in the order of `classes_` (positive last).

        These are scores between 0 and 1, not the share of positives among such rows: trained
        on equally many positives and unlabeled rows, 0.5 is where positives are as dense as
        negatives.
        """
        positive = expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict `classes_[1]`, the positive class, where the score is above 0."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int)]

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> None:
        raise NotImplementedError

    def _scores(self, X: Any) -> NDArray[np.float32]:
        raise NotImplementedError

    def _forget(self) -> None:
        """Drop what an earlier fit has learned: another setting may not set all of it again."""
        kept = {"n_features_in_", "feature_names_in_"}  # of this fit already
        for name in [n for n in vars(self) if n.endswith("_") and n not in kept]:
            delattr(self, name)

    def _needed_to_score(self) -> tuple[str, ...]:
        """Names of learned attributes that `_scores` cannot do without."""
        return ()

    def _checked(self, X: Any, y: Any = "no_validation") -> Any:
        """Rows as float32, refused with a reason if they cannot be used; with y at fit."""
        at_fit = not (isinstance(y, str) and y == "no_validation")
        check_no_text(X)
        if at_fit and y is not None:
            check_labels_present(y)
        # Finiteness is checked after the cast, so that values beyond float32 are found too.
        with np.errstate(over="ignore"):
            checked = validate_data(
                self,
                X,
                y,
                reset=at_fit,
                accept_sparse="csr",
                dtype=np.uint8 if is_pictures(X) else np.float32,
                order="C",
                allow_nd=True,
                ensure_all_finite=False,
                ensure_min_samples=2 if at_fit else 1,
            )
        X = checked[0] if at_fit else checked
        if not is_pictures(X):
            check_finite(X, getattr(self, "feature_names_in_", None))
        if at_fit:
            self._row_shape, self._row_dtype = X.shape[1:], X.dtype
        elif X.dtype != self._row_dtype:
            raise ValueError(
                f"X holds {X.dtype.name}, but {type(self).__name__} was fitted on "
                f"{self._row_dtype.name}: give pictures as bytes (uint8, 0 to 255) in both, or "
                "as floats on one scale in both."
            )
        elif X.shape[1:] != self._row_shape:
            raise ValueError(
                f"X has rows of shape {X.shape[1:]}, but {type(self).__name__} was fitted on "
                f"rows of shape {self._row_shape}."
            )
        return checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class NeuralPUClassifier(PUClassifier):
    """Base of all methods that train a network.

    A subclass writes `_loss_terms(batch, progress)`, which gives the weighted terms of its loss
    as a dict; inside it `self.net_` is the network in training. It may also write `_prepare`,
    `_after_step`, `_negatives` and `_best_net` (see MixPULClassifier for all of them).

    With `cross_fitting` = k the labeled and the unlabeled rows are dealt into k folds and k
    networks train side by side, each without one fold. Their logits on the rows they have not
    seen judge every epoch honestly, by PU-AUC or what the method names, and epochs are weighed by
    it (`EpochAverage`); the classifier is the mean of the k networks.
    """

    _parameter_constraints: dict = {
        "net": [StrOptions(set(NETS)), "array-like", callable],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "optimizer": [StrOptions({"sgd", "adam"})],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
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

    # By which held-out rows judge an epoch; a method may have its own.
    _criterion: Criterion = PU_AUC

    net_: nn.Module

    def __init__(
        self,
        *,
        net: NetSpec = "skip-mlp",
        n_epochs: int = 30,
        learning_rate: float = 0.04,
        optimizer: str = "sgd",
        momentum: float = 0.9,
        weight_decay: float | str = "auto",
        batch_size: int = 128,
        max_steps: int | None = 250,
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
        raise NotImplementedError

    def _prepare(self) -> None:
        """Set up before the first step; `net_`, `_generator` and `_rng` are there."""

    def _after_step(self) -> None:
        """Follow up on each step."""

    def _resume(self, n_steps: int) -> None:
        """Set counters of your own when a training is taken up after `n_steps` steps."""

    def _negatives(
        self, X: Any, positive: NDArray, unlabeled: NDArray
    ) -> Callable[[], NDArray] | None:
        """Give a function that names the rows to use as negatives in the next epoch."""
        return None

    def _best_net(self) -> nn.Module:
        """Give the network that predicts, if it is not the one that is trained."""
        return self.net_

    def _keep(
        self, members: list[Self], is_positive: NDArray[np.bool_], held_out: NDArray[np.float32]
    ) -> None:
        """Take over from the trained members what is needed or what users may want to see.

        `held_out` has the score of each row by a network that has not seen it, NaN if all have.
        """

    # -- fit ----------------------------------------------------------------------------------

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> None:
        random = as_generator(self.random_state)
        device = pick_device(self.device)
        # Small networks run fastest on one thread, by far when other processes are busy.
        with own_torch_state(int(random.integers(2**31)), n_threads=1 if X.ndim == 2 else None):
            rows = as_rows(X, device)
            members = [
                self._member(X, rows, is_positive, seen, int(random.integers(2**31)), device)
                for seen in self._splits(is_positive, random)
            ]
            self._train_together(members, X, rows, is_positive)
        self.net_.eval().requires_grad_(False)

    def _splits(
        self, is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> list[NDArray[np.bool_]]:
        """Masks of the rows each network may see."""
        n_folds = min(self.cross_fitting or 0, int(is_positive.sum()), int((~is_positive).sum()))
        if n_folds >= 2:
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=int(random.integers(2**31)))
            held_out = [test for _, test in folds.split(is_positive, is_positive)]
        elif self.early_stopping:
            held_out = [hold_out(is_positive, self.validation_fraction, random)]
        else:
            held_out = [np.empty(0, dtype=int)]
        seen = np.ones((len(held_out), len(is_positive)), dtype=bool)
        for mask, rows in zip(seen, held_out, strict=True):
            mask[rows] = False
        return list(seen)

    def _member(
        self,
        X: Any,
        rows: Rows,
        is_positive: NDArray[np.bool_],
        seen: NDArray[np.bool_],
        seed: int,
        device: torch.device,
    ) -> Self:
        """A copy of this classifier that trains one network on the rows it may see."""
        member = copy.copy(self)
        member._rng = np.random.default_rng(seed)
        member._streams = [member._rng]
        member._generator = torch.Generator().manual_seed(seed)
        member._seen = torch.from_numpy(np.flatnonzero(seen))
        member._held_out = torch.from_numpy(np.flatnonzero(~seen))
        member.net_ = make_net(self.net, self._row_shape).to(device)
        if self.precision is not None:
            # Whatever the network computes in, losses need the digits.
            member.net_.register_forward_hook(_as_float)
        member._prepare()
        positive = np.flatnonzero(seen & is_positive)
        unlabeled = np.flatnonzero(seen & ~is_positive)
        member._batches = PUBatches(
            rows,
            torch.from_numpy(positive),
            torch.from_numpy(unlabeled),
            member._negatives(X, positive, unlabeled),
            batch_size=self.batch_size,
            generator=member._generator,
            max_steps=self.max_steps,
            augment=make_augment(self.augment),
        )
        return member

    def _train_together(
        self, members: list[Self], X: Any, rows: Rows, is_positive: NDArray[np.bool_]
    ) -> None:
        """Train all members step by step in one loop, and average them over their best epochs."""
        students = nn.ModuleList([member.net_ for member in members])
        nets = [member._best_net() for member in members]
        optimizer = make_optimizer(
            students,
            self.optimizer,
            self.learning_rate,
            self.momentum,
            self._decay(is_positive),
        )
        average = EpochAverage(
            nets,
            [member._held_out for member in members],
            rows,
            is_positive,
            self.patience if self.early_stopping else None,
            self._criterion,
        )
        mixed_precision = self._mixed_precision(members[0], rows)

        def loss_terms(batches: tuple[Batch, ...], progress: float) -> dict[str, Tensor]:
            # A sum, not a mean: each network gets the gradient it would have on its own.
            with mixed_precision():
                each = [m._loss_terms(b, progress) for m, b in zip(members, batches, strict=True)]
            return {name: torch.stack([terms[name] for terms in each]).sum() for name in each[0]}

        def after_step() -> None:
            for member in members:
                member._after_step()

        def on_epoch(record: dict[str, float]) -> bool:
            for name in record.keys() - {"epoch"}:
                record[name] /= len(members)
            stop = average(record)
            show(record)
            if checkpoint is not None:
                checkpoint.save(history)
            return stop

        batches = _Zipped([member._batches for member in members])
        changing = nn.ModuleList([students, *nets])
        checkpoint = self._checkpoint(members, X, is_positive, changing, optimizer, average)
        history: list[dict[str, float]] = []
        if checkpoint is not None:
            history = checkpoint.resume()
            for member in members:
                member._resume(len(history) * len(batches))
        name = type(self).__name__.removesuffix("Classifier")
        with progress_bar(self.n_epochs, name, self.verbose) as show:
            for record in history:
                show(record)
            self.history_ = train(
                students,
                batches,
                loss_terms,
                optimizer=optimizer,
                n_epochs=len(history) if average.is_over(len(history)) else self.n_epochs,
                after_step=after_step,
                on_epoch=on_epoch,
                history=history,
            )
        average.finish()
        for member, net in zip(members, nets, strict=True):
            refresh_batch_norm(net, member._clean_batches())
        if flips(self.augment):
            nets = average.nets = [Mirrored(net) for net in nets]
        self.n_epochs_ = average.n_epochs
        held_out = average.scores()
        if len(members) > 1:
            self.oof_scores_ = held_out
            self.oof_folds_ = np.empty(len(is_positive), dtype=np.int32)
            for k, member in enumerate(members):
                self.oof_folds_[member._held_out.numpy()] = k
        self.net_ = nets[0] if len(nets) == 1 else Averaged(nets)
        self._keep(members, is_positive, held_out)
        if checkpoint is not None:
            checkpoint.remove()

    def _decay(self, is_positive: NDArray[np.bool_]) -> float:
        if isinstance(self.weight_decay, str):  # "auto"
            return DECAY_OF_ONE_POSITIVE / float(is_positive.sum())
        return self.weight_decay

    def _mixed_precision(self, member: Self, rows: Rows) -> Callable[[], Any]:
        """Give the context in which losses are computed."""
        if self.precision is None:
            return nullcontext
        some = rows(member._seen[: self.batch_size])
        if self.precision == "auto" and not is_faster_in_bfloat16(member.net_, some):
            return nullcontext
        return partial(torch.autocast, some.device.type, torch.bfloat16)

    def _checkpoint(
        self,
        members: list[Self],
        X: Any,
        is_positive: NDArray[np.bool_],
        nets: nn.Module,
        optimizer: torch.optim.Optimizer,
        average: EpochAverage,
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        if not isinstance(self.random_state, Integral):
            raise ValueError(
                "A training can be taken up from a checkpoint only if it starts the same each "
                f"time: random_state must be a number; got {self.random_state!r}."
            )
        own = clone(self).set_params(checkpoint=None, verbose=0)
        return Checkpoint(
            self.checkpoint,
            f"{recipe(own)} {fingerprint(X, is_positive)}",
            nets,
            optimizer,
            average,
            [stream for member in members for stream in (member._generator, *member._streams)],
        )

    def _needed_to_score(self) -> tuple[str, ...]:
        return ("net_",)

    def _clean_batches(self) -> Iterator[Tensor]:
        """Batches for the statistics of batch norm: as in training, of rows as they are.

        Positives are half of a batch. A loss that sets the cut itself has set it for outputs that
        were normalised so; by the statistics of all rows nnPU calls far too many positive.
        """
        batches = copy.copy(self._batches)
        batches.augment = None
        return (torch.cat(batch) for batch in islice(batches, CLEAN_BATCHES))

    def _scores(self, X: Any) -> NDArray[np.float32]:
        device = next(self.net_.parameters()).device
        return score_rows(self.net_, as_rows(X, device), torch.arange(X.shape[0]))


def hold_out(
    is_positive: NDArray[np.bool_], fraction: float, random: np.random.Generator
) -> NDArray[np.intp]:
    """Draw rows to be held out: of both kinds some are, and some are left; else none is."""
    held_out = []
    for kind in (is_positive, ~is_positive):
        rows = np.flatnonzero(kind)
        if len(rows) < 2:
            return np.empty(0, dtype=int)
        n = int(np.clip(round(fraction * len(rows)), 1, len(rows) - 1))
        held_out.append(random.choice(rows, n, replace=False))
    return np.concatenate(held_out)


def _as_float(net: nn.Module, x: Any, logits: Tensor) -> Tensor:
    return logits.float()


class _Zipped:
    """Several sources of batches, one step at a time; as long as the shortest."""

    def __init__(self, sources: list[PUBatches]) -> None:
        self.sources = sources

    def __len__(self) -> int:
        return min(map(len, self.sources))

    def __iter__(self) -> Iterator[tuple[Batch, ...]]:
        return zip(*self.sources, strict=False)
