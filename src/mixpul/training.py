"""The one training loop of every neural method, and the batches it runs on."""

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from threading import RLock
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mixpul._util.arrays import IMAGES_PER_PASS, is_images
from mixpul._util.errors import TrainingDiverged
from mixpul._util.threads import renew_in_children
from mixpul.augment import Augment

__all__ = [
    "Batch",
    "PUBatches",
    "add_decays",
    "as_rows",
    "is_faster_in_bfloat16",
    "is_images",
    "make_optimizer",
    "own_torch_state",
    "pick_device",
    "score_all",
    "score_rows",
    "train",
    "use_threads",
]

Rows = Callable[[Tensor], Tensor]

# Out of a training that diverged.
WAY_OUT = "Standardise the features or lower learning_rate."

# Rows of a table are scored a quarter faster in larger pieces than images.
ROWS_PER_PASS = 2048


class Batch(NamedTuple):
    """Rows of one training step, equally many of each kind."""

    positive: Tensor
    negative: Tensor
    unlabeled: Tensor


def train(
    net: nn.Module,
    batches: "Batches",
    loss_terms: Callable[[Any, float], dict[str, Tensor]],
    *,
    optimizer: torch.optim.Optimizer,
    n_epochs: int,
    after_step: Callable[[], None] | None = None,
    on_epoch: Callable[[dict[str, float]], bool | None] | None = None,
    history: list[dict[str, float]] | None = None,
) -> list[dict[str, float]]:
    """Minimise the sum of `loss_terms` and return one record per epoch.

    Parameters
    ----------
    net : nn.Module
        The network whose parameters `optimizer` holds.
    batches : PUBatches
        One pass over it is one epoch.
    loss_terms : callable (batch, progress) -> dict of str to scalar Tensor
        The whole method; `progress` runs from 0 to 1 over the training.
    optimizer : torch.optim.Optimizer
    n_epochs : int
    after_step : callable, optional
        Called after each step, e.g. to update a teacher.
    on_epoch : callable (record) -> bool, optional
        Called after each epoch with its record, which it may add to; a true answer stops the
        training. Progress bars, early stopping and checkpoints hang here.
    history : list of dict, optional
        Records of epochs that are done already; new ones are added.

    Returns
    -------
    list of dict
        Per epoch: its number, the mean over its steps of every term, and of their sum, "loss".
    """
    history = [] if history is None else history
    for epoch in range(len(history), n_epochs):
        # Before each epoch: `on_epoch` may have left the network in evaluation mode.
        net.train()
        totals: dict[str, Tensor] = {}
        for step, batch in enumerate(batches):
            # The method: its terms, already weighted, add up to the loss.
            terms = loss_terms(batch, (epoch + step / len(batches)) / n_epochs)
            terms["loss"] = loss = torch.stack(list(terms.values())).sum()
            # One step downhill.
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            if after_step is not None:
                after_step()
            # Summed on the device: one host sync per epoch, not per step.
            for name, term in terms.items():
                totals[name] = term.detach() + totals.get(name, 0.0)
        record = {name: float(total) / len(batches) for name, total in totals.items()}
        # NaN stays in the sum, so one look per epoch is enough and costs no sync per step.
        if not math.isfinite(record["loss"]):
            raise TrainingDiverged(
                f"Training diverged: the loss of epoch {epoch + 1} is {record['loss']}. {WAY_OUT}"
            )
        history.append({"epoch": epoch + 1, **record})
        if on_epoch is not None and on_epoch(history[-1]):
            break
    return history


class Batches(Protocol):
    """What the loop needs: a number of steps, and that many batches at each pass."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...


class PUBatches:
    """Shuffled batches as index lists into one array that stays where it is.

    An epoch passes once over the unlabeled rows, or takes `max_steps` steps if that is less, or
    `min_steps` if that is more: a pass over a small table is no training. Each batch holds as many
    positives and as many negatives as unlabeled rows. Pools smaller than an epoch are gone
    through again and again, each time in a new order, so that even in a small batch every row of
    a small pool counts almost equally.

    Parameters
    ----------
    rows : callable (indices) -> Tensor
        Fetches rows; see `as_rows`.
    positive, unlabeled : Tensor of int64
        Row numbers of the two pools.
    mine : callable () -> ndarray of int64, or None
        Row numbers of the negatives, asked for before each epoch; None leaves them out.
    batch_size : int
    generator : torch.Generator
        The only source of randomness, on the CPU.
    max_steps, min_steps : int, optional
    augment : callable (rows, generator) -> rows, optional
        Changes the rows of a batch, each in its own way.
    weights : Tensor of shape (n,), optional
        How often each row is drawn, beside others of its pool.
    """

    def __init__(
        self,
        rows: Rows,
        positive: Tensor,
        unlabeled: Tensor,
        mine: Callable[[], NDArray] | None,
        *,
        batch_size: int,
        generator: torch.Generator,
        max_steps: int | None = None,
        min_steps: int | None = None,
        augment: Augment | None = None,
        weights: Tensor | None = None,
    ) -> None:
        self.weights = weights
        self.rows, self.positive, self.unlabeled, self.mine = rows, positive, unlabeled, mine
        self.generator, self.augment = generator, augment
        self.batch_size = min(batch_size, len(unlabeled))
        # A last batch of one row is left out: it has no partner to be mixed with.
        full, rest = divmod(len(unlabeled), self.batch_size)
        n_steps = max(1, full + (rest > 1))
        self.comes_again = bool(min_steps and min_steps > n_steps)
        n_steps = max(n_steps, min_steps or 0)
        self.n_steps = min(n_steps, max_steps) if max_steps else n_steps

    def __len__(self) -> int:
        return self.n_steps

    def __iter__(self) -> Iterator[Batch]:
        # All batches are full if rows come again; else the last one has the rows that are left.
        n_wanted = self.n_steps * self.batch_size
        length = n_wanted if self.comes_again else len(self.unlabeled)
        unlabeled = self._shuffle(self.unlabeled, length)
        n_drawn = min(n_wanted, length)
        pools = [self._shuffle(self.positive, n_drawn), unlabeled]
        if self.mine is not None:
            pools.insert(1, self._shuffle(torch.from_numpy(self.mine()), n_drawn))
        for start in range(0, self.n_steps * self.batch_size, self.batch_size):
            stop = min(start + self.batch_size, n_drawn)
            # Fetched together, in one indexing operation.
            x = self.rows(torch.cat([pool[start:stop] for pool in pools]))
            if self.augment is not None:
                x = self.augment(x, self.generator)
            parts = x.chunk(len(pools))
            # Without negatives an empty part, so that a batch always has three.
            yield Batch(parts[0], parts[1] if len(pools) == 3 else parts[0][:0], parts[-1])

    def _shuffle(self, pool: Tensor, length: int) -> Tensor:
        """Return row numbers of `pool`, again and again in new orders, `length` in all."""
        if self.weights is not None:
            own = self.weights[pool]
            if (own != own[0]).any():
                return pool[self._draw_by_weight(own, length)]
        rounds = -(-length // len(pool))
        if rounds == 1:
            order = torch.randperm(len(pool), generator=self.generator)
        else:
            # Sorting noise makes all permutations in one call.
            order = torch.rand(rounds, len(pool), generator=self.generator).argsort(1).flatten()
        return pool[order[:length]]

    def _draw_by_weight(self, weights: Tensor, length: int) -> Tensor:
        """Draw `length` places in random order, each as often as its weight asks for.

        Systematic: the number of times differs from what is asked for by less than 1.
        """
        ends = weights.double().cumsum(0)
        start = torch.rand(1, generator=self.generator, dtype=torch.float64)
        points = (torch.arange(length) + start) / length * ends[-1]
        # Rounding may put the last point at the very end.
        places = torch.searchsorted(ends, points, right=True).clamp(max=int(weights.nonzero()[-1]))
        return places[torch.randperm(length, generator=self.generator)]


def as_rows(X: Any, device: torch.device) -> Rows:
    """Return a function that fetches rows of `X` by number as float32 on `device`.

    A dense array is held once, on the device; on the CPU that is the array itself, so that one
    mapped from disk stays there. Images in bytes stay bytes, and sparse rows sparse: only those
    of the batch are turned into floats.
    """
    if is_images(X):
        images = as_tensor(X).to(device)
        return lambda indices: from_bytes(images.index_select(0, indices.to(device)))
    if isinstance(X, np.ndarray):
        tensor = as_tensor(X).float().to(device)
        # index_select copies whole rows; plain indexing is several times slower.
        return lambda indices: tensor.index_select(0, indices.to(device))
    return lambda indices: torch.from_numpy(X[indices.numpy()].toarray()).float().to(device)


is_pictures = is_images  # its former name


def from_bytes(x: Tensor) -> Tensor:
    """Turn pixels into numbers around 0, of variance about 1 in natural images.

    The same for all data, so that nothing has to be learned or stored.
    """
    # Channels last: how CPUs and tensor cores take convolutions in.
    return x.contiguous(memory_format=torch.channels_last).float().sub_(127.5).div_(64.0)


def as_tensor(X: NDArray) -> Tensor:
    """View `X` as a tensor.

    Read-only arrays are common (memory maps, joblib's workers), and torch would warn of them.
    """
    if X.flags.writeable:
        return torch.from_numpy(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(X)  # only ever read


def make_optimizer(
    net: nn.Module, name: str, learning_rate: float, momentum: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Make SGD with Nesterov momentum, or Adam whose first decay rate is `momentum`."""
    # Fused: one kernel for all parameters, where each small tensor would cost a few of its own.
    if name == "adam":
        # Not AdamW: the penalty is part of the gradient, as in the code of nnPU's authors.
        return torch.optim.Adam(
            net.parameters(),
            lr=learning_rate,
            betas=(momentum, 0.999),
            weight_decay=weight_decay,
            fused=True,
        )
    return torch.optim.SGD(
        net.parameters(),
        lr=learning_rate,
        momentum=momentum,
        # torch refuses Nesterov steps without momentum.
        nesterov=momentum > 0,
        weight_decay=weight_decay,
        fused=True,
    )


def add_decays(optimizer: torch.optim.Optimizer, decays: list[float | Tensor]) -> None:
    """Let each parameter decay by its own rate, or along its first axis by several rates."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    # Views of the full shape, made once: one call then adds the penalties of all parameters.
    rates = [
        torch.as_tensor(d, dtype=p.dtype, device=p.device).expand_as(p)
        for d, p in zip(decays, parameters, strict=True)
    ]

    @torch.no_grad()
    def add(*_: Any) -> None:
        torch._foreach_addcmul_([p.grad for p in parameters], parameters, rates)

    optimizer.register_step_pre_hook(add)


@torch.inference_mode()
def score_rows(net: nn.Module, rows: Rows, indices: Tensor) -> NDArray[np.float32]:
    """Score the named rows, some hundreds at a time, so that memory stays flat."""
    was_training = net.training
    net.eval()
    is_image = len(indices) > 0 and rows(indices[:1]).ndim > 2
    size = IMAGES_PER_PASS if is_image else ROWS_PER_PASS
    # Filled in place: small results kept from each pass would lie in the gaps that large batches
    # leave, and the next batch would need new memory.
    scores = torch.empty(len(indices))
    for part, out in zip(indices.split(size), scores.split(size), strict=True):
        out.copy_(net(rows(part)))
    net.train(was_training)
    return scores.numpy()


def score_all(net: nn.Module, X: Any, shift: float = 0.0) -> NDArray[np.float32]:
    """Score all rows of `X` where the network is, less `shift`."""
    # A sum of kernels has buffers only.
    device = next(chain(net.parameters(), net.buffers())).device
    # Rows of a table on one thread, so that a server may load, score and fork.
    with use_threads(1 if X.ndim == 2 else None):
        scores = score_rows(net, as_rows(X, device), torch.arange(X.shape[0]))
    return scores - np.float32(shift)


def pick_device(device: str | torch.device) -> torch.device:
    """Return the device to train on; 'auto' is CUDA if there is any, else the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        # A trial: a device may have a valid name and not be there.
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device={device!r} cannot be used here ({str(error).splitlines()[0]}); "
            "take 'auto', 'cpu' or an available accelerator such as 'cuda'."
        ) from error


def is_faster_in_bfloat16(net: nn.Module, x: Tensor, times: int = 3) -> bool:
    """Measure whether steps on `x` gain from bfloat16: by a fifth at least.

    Half the digits are half the memory traffic, but only some processors multiply them faster;
    others convert them back and forth, and lose.
    """

    def time_best(enabled: bool) -> float:
        # A copy, because timing leaves gradients and batch-norm statistics behind.
        own, seconds = copy.deepcopy(net), []
        for _ in range(times + 1):  # the first one warms up
            start = time.perf_counter()
            with torch.autocast(x.device.type, torch.bfloat16, enabled=enabled):
                own(x).sum().backward()
            if x.is_cuda:
                torch.cuda.synchronize(x.device)
            seconds.append(time.perf_counter() - start)
        # The fastest: other work on the machine only adds time.
        return min(seconds[1:])

    return time_best(True) < time_best(False) / 1.2


@contextmanager
def use_threads(n: int | None) -> Iterator[None]:
    """Let torch use `n` threads inside; None leaves their number as it is.

    One thread starts no pool of threads, so a process that has used only one can be forked: in a
    child the threads of a pool would be waited for in vain.
    """
    before = torch.get_num_threads()
    if n is None or n == before:
        yield
        return
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# torch has one generator for the whole process: whoever needs it waits for its turn.
_turn = RLock()


def _renew_turn() -> None:
    global _turn
    _turn = RLock()


renew_in_children(_renew_turn)


@contextmanager
def own_torch_state(seed: int, n_threads: int | None = None) -> Iterator[None]:
    """Seed torch's own generator, and use `n_threads`, inside only: the state is put back.

    For what can draw from nowhere else: dropout, and networks that users make. Threads take turns,
    so that none disturbs the numbers of another.
    """
    cuda = range(torch.cuda.device_count())
    with _turn, use_threads(n_threads), torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        yield
