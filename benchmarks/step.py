"""How much of the machine one training step uses.

    python benchmarks/step.py

Prints the floating-point rate of a MixPUL step (matrix products only, counted by torch) over the
rate of a large matrix product, both on one thread and measured in turns in this run.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from mixpul import MixPULClassifier
from mixpul.methods.neural import Objective
from mixpul.training import as_rows, make_optimizer, train

N_ROWS, BATCH, WIDTHS, ROUNDS = 6_400, 128, (256, 256), 20


def make_objective(model: MixPULClassifier, X: np.ndarray, n_positive: int) -> Objective:
    """Make what `fit` would train on all rows, the first ones labeled positive."""
    model._row_shape, model.device = X.shape[1:], "cpu"
    rows, is_positive = as_rows(X, torch.device("cpu")), np.arange(len(X)) < n_positive
    is_seen = np.ones(len(X), bool)
    return model._make_objective(model._build_member(X, rows, is_positive, is_seen, seed=0))


def make_epoch(n_features: int) -> tuple[int, Callable[[], None]]:
    """Return the steps of an epoch, and a function that trains with all loss terms for one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, n_features)).astype(np.float32)
    model = MixPULClassifier(net=WIDTHS, batch_size=BATCH, warmup=0.0, cross_fitting=None)
    objective = make_objective(model, X, N_ROWS // 10)
    member = objective.member
    optimizer = make_optimizer(member.net, "sgd", 1e-3, 0.9, 1e-4)

    def epoch() -> None:
        train(
            member.net,
            member.batches,
            objective.terms,
            optimizer=optimizer,
            n_epochs=1,
            after_step=objective.after_step,
        )

    return len(member.batches), epoch


def measure_seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    torch.set_num_threads(1)
    a, b = torch.randn(2, 2048, 2048)
    print(f"One step, widths {WIDTHS}, batch {BATCH}, over a product of 2048 x 2048 matrices:")
    for n_features in (64, 256):
        n_steps, epoch = make_epoch(n_features)
        with FlopCounterMode(display=False) as counter:
            epoch()
        flops = counter.get_total_flops()
        steps, products = [], []
        for _ in range(ROUNDS):  # in turns: the machine's mood hits both alike
            steps.append(flops / measure_seconds(epoch))
            products.append(2 * 2048**3 / measure_seconds(lambda: a @ b))
        # The fastest round of each: what is slower is other work on the machine.
        print(
            f"{n_features:4d} features, {flops / n_steps / 1e6:.0f} MFLOP: "
            f"{max(steps) / 1e9:.0f} of {max(products) / 1e9:.0f} GFLOP/s, "
            f"ratio {max(steps) / max(products):.2f} (at least 0.6 wanted)"
        )


if __name__ == "__main__":
    main()
