"""How much of the machine one training step uses.

    python benchmarks/step.py

Prints the floating-point rate of a MixPUL step (matrix products only, counted by torch) over the
rate of a large matrix product, both on one thread and measured in turns in this run.
"""

import time

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from mixpul import MixPULClassifier
from mixpul.training import PUBatches, as_rows, make_optimizer, train

N_ROWS, N_FEATURES, BATCH, WIDTHS, ROUNDS = 12_800, 256, 128, (256, 256), 7


def one_epoch() -> tuple[int, "callable"]:
    """A MixPUL member with all its terms on, and a function that trains it for an epoch."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    model = MixPULClassifier(net=WIDTHS, batch_size=BATCH, warmup=0.0, cross_fitting=None)
    model._row_shape = X.shape[1:]
    is_positive = np.arange(N_ROWS) < N_ROWS // 10
    rows = as_rows(X, torch.device("cpu"))
    member = model._member(X, rows, is_positive, np.ones(N_ROWS, bool), 0, torch.device("cpu"))
    optimizer = make_optimizer(member.net_, "sgd", 1e-3, 0.9, 1e-4)

    def epoch(batches: PUBatches = member._batches) -> None:
        train(
            member.net_,
            batches,
            member._loss_terms,
            optimizer=optimizer,
            n_epochs=1,
            after_step=member._after_step,
        )

    return len(member._batches), epoch


def seconds(run: "callable") -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    torch.set_num_threads(1)
    n_steps, epoch = one_epoch()
    with FlopCounterMode(display=False) as counter:
        epoch()
    step_flops = counter.get_total_flops()
    a, b = torch.randn(2, 2048, 2048)
    steps, products = [], []
    for _ in range(ROUNDS):  # in turns: the machine's mood hits both alike
        steps.append(step_flops / seconds(epoch))
        products.append(2 * 2048**3 / seconds(lambda: a @ b))
    ratio = np.median(np.array(steps) / np.array(products))
    print(
        f"step of {step_flops / n_steps / 1e6:.0f} MFLOP, widths {WIDTHS}, batch {BATCH}: "
        f"{np.median(steps) / 1e9:.0f} GFLOP/s; matrix product {np.median(products) / 1e9:.0f} "
        f"GFLOP/s; ratio {ratio:.2f} (at least 0.6 wanted)"
    )


if __name__ == "__main__":
    main()
