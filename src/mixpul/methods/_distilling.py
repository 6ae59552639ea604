"""How a student learns: on rows that are made from those of a table, and scored by the model.

A model scores the rows of its own fit as it remembers them, and the network should learn what it
says of rows that it has not seen.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import spearmanr
from torch import Tensor, nn

from mixpul._util.progress import progress_bar
from mixpul._util.random import draw_seed
from mixpul.methods._scaling import MOST_ENTRIES, Scaling
from mixpul.methods._student import N_STEPS, WIDTHS, Student, as_dense, score_by_student
from mixpul.nets import MLP
from mixpul.training import own_torch_state, train

__all__ = ["Agreement", "distill_scores", "make_rows"]

Score = Callable[[NDArray[np.float32]], NDArray]

# A made row is seen about a dozen times.
BATCH_SIZE, MOST_MADE = 256, 60_000
N_EPOCHS = 20  # of the progress bar
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 1e-5
# Few of the columns of a made row come from the second of its two rows.
MOST_EXCHANGED = 0.5
# Of the weight of two rows between which a row is made: mostly close to one of them.
ALPHA = 0.3
# Enough to compare two rankings.
MOST_COMPARED = 20_000


class Agreement(NamedTuple):
    """How far a network and the model that it has learned from agree on rows of a table.

    Attributes
    ----------
    rank_correlation : float
        Spearman's, between their scores.
    same_decision : float
        Share of rows on the same side of the threshold.
    n_rows : int
    """

    rank_correlation: float
    same_decision: float
    n_rows: int


def distill_scores(
    score: Score,
    X: Any,
    threshold: float,
    random: np.random.Generator,
    *,
    widths: Sequence[int] = WIDTHS,
    n_steps: int = N_STEPS,
    n_made: int = MOST_MADE,
    verbose: int = 0,
) -> tuple[Student, Agreement]:
    """Train a network to return what `score` returns; measure how far it does on rows of `X`.

    It is trained on `n_made` rows that are made from those of `X`, and never sees these themselves.
    """
    rows = _take_dense(X)
    made = make_rows(rows, min(n_made, BATCH_SIZE * n_steps), random)
    student = _learn_student(score, rows, made, random, widths, n_steps, verbose)
    return student, _measure_agreement(student, score, X, threshold, random)


def _learn_student(
    score: Score,
    rows: NDArray[np.float32],
    made: NDArray[np.float32],
    random: np.random.Generator,
    widths: Sequence[int],
    n_steps: int,
    verbose: int,
) -> Student:
    scaling = Scaling.learn(rows)
    targets = np.asarray(score(made), dtype=np.float64)
    centre, spread = targets.mean(), targets.std() or 1.0
    with own_torch_state(draw_seed(random), n_threads=1):
        net = MLP((rows.shape[1],), widths)
        inputs = torch.from_numpy(scaling.apply(made))
        wanted = torch.from_numpy(((targets - centre) / spread).astype(np.float32))
        _train_net(net, inputs, wanted, n_steps, draw_seed(random), verbose)
    student: Student = scaling._asdict()
    layers = [layer for layer in net.layers if isinstance(layer, nn.Linear)]
    for k, layer in enumerate(layers):
        student[f"weight{k}"] = layer.weight.detach().numpy().copy()
        student[f"bias{k}"] = layer.bias.detach().numpy().copy()
    # The last layer returns scores on their own scale.
    last = len(layers) - 1
    student[f"weight{last}"] *= np.float32(spread)
    student[f"bias{last}"] = (student[f"bias{last}"] * spread + centre).astype(np.float32)
    return student


def _measure_agreement(
    student: Student, score: Score, X: Any, threshold: float, random: np.random.Generator
) -> Agreement:
    n_rows = X.shape[0]
    if n_rows > MOST_COMPARED:
        X = X[np.sort(random.choice(n_rows, MOST_COMPARED, replace=False))]
    rows = _take_dense(X)
    theirs, ours = score(rows), score_by_student(student, rows)
    # Where all rows score the same there is no order to agree on.
    varies = theirs.std() > 0 and ours.std() > 0
    correlation = float(spearmanr(theirs, ours)[0]) if varies else 0.0
    same = float(np.mean((theirs > threshold) == (ours > threshold)))
    return Agreement(correlation, same, len(rows))


def make_rows(
    rows: NDArray[np.float32], n_made: int, random: np.random.Generator
) -> NDArray[np.float32]:
    """Make rows from pairs of rows: half of them exchange columns, the others lie in between."""
    first, second = random.integers(len(rows), size=(2, n_made))
    made = rows[first]
    half = n_made // 2
    share = random.uniform(0, MOST_EXCHANGED, size=(half, 1))
    is_exchanged = random.random((half, rows.shape[1])) < share
    made[:half] = np.where(is_exchanged, rows[second[:half]], made[:half])
    weight = random.beta(ALPHA, ALPHA, size=(n_made - half, 1)).astype(np.float32)
    made[half:] = weight * made[half:] + (1 - weight) * rows[second[half:]]
    return made


class _Pairs:
    """Batches of made rows and their scores."""

    def __init__(
        self, inputs: Tensor, wanted: Tensor, n_steps: int, generator: torch.Generator
    ) -> None:
        self.inputs, self.wanted = inputs, wanted
        self.n_steps, self.generator = n_steps, generator

    def __len__(self) -> int:
        return self.n_steps

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for _ in range(len(self)):
            drawn = torch.randint(len(self.wanted), (BATCH_SIZE,), generator=self.generator)
            yield self.inputs.index_select(0, drawn), self.wanted.index_select(0, drawn)


def _train_net(
    net: MLP, inputs: Tensor, wanted: Tensor, n_steps: int, seed: int, verbose: int
) -> None:
    """Minimise the squared error; the learning rate rises for a tenth of the steps, then falls."""
    n_epochs = min(N_EPOCHS, n_steps)
    each = -(-n_steps // n_epochs)
    optimizer = torch.optim.AdamW(
        net.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=LEARNING_RATE, total_steps=each * n_epochs, pct_start=0.1
    )
    batches = _Pairs(inputs, wanted, each, torch.Generator().manual_seed(seed))
    with progress_bar(n_epochs, "distil", verbose) as show:
        train(
            net,
            batches,
            lambda batch, _: {"error": (net(batch[0]) - batch[1]).square().mean()},
            optimizer=optimizer,
            n_epochs=n_epochs,
            after_step=schedule.step,
            on_epoch=show,
        )


def _take_dense(X: Any) -> NDArray[np.float32]:
    """Return rows as a dense matrix; refuse what would not fit or is not a table."""
    if X.ndim > 2:
        raise ValueError(
            "A network that is distilled scores rows of numbers; these are images. Take a smaller "
            "network with net= instead."
        )
    if sparse.issparse(X) and np.prod(X.shape, dtype=float) > MOST_ENTRIES:
        raise ValueError(
            f"A sparse table of {X.shape[0]:,} x {X.shape[1]:,} is too wide to distil; reduce its "
            "columns first, such as by TruncatedSVD."
        )
    return as_dense(X)
