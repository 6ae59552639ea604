"""One of several processes that train together: python rank_worker.py TASK RANK RANKS FOLDER.

It trains what the task names, and writes the weights to FOLDER/TASK-RANK-of-RANKS.npz. Each worker
keeps torch to one thread, because the ranks of a test share few cores.
"""

import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from mixpul import MixPULClassifier, NNPUClassifier, VPUClassifier, datasets
from mixpul.nets import SmallConv

SHARED = {"random_state": 0, "n_epochs": 2, "max_steps": 25, "min_steps": 25, "device": "cpu"}
ONE = SHARED | {"cross_fitting": None, "early_stopping": False}


def make_table():
    X, y = datasets.load("titanic", return_X_y=True)
    pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    return pu.X[:601], pu.s[:601]


def make_images():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3 == 0
    pixels = rng.integers(0, 120, (90, 1, 8, 8))
    pixels[y, :, :4] += 100
    return pixels.astype(np.uint8), y.astype(int)


def make_narrow_conv(shape):
    return SmallConv(shape, (4, 6, 8, 8, 8, 8))


def make_dropout(shape):
    return nn.Sequential(nn.Linear(shape[0], 4), nn.Dropout(0.5), nn.Linear(4, 1))


# 50 steps each; a batch has an odd number of rows, so that shares differ.
TASKS = {
    "mixpul": (lambda: MixPULClassifier(margin=0.1, batch_size=33, **ONE), make_table),
    # A large prior lets the risk of negatives fall below zero, where the clamp acts.
    "nnpu": (lambda: NNPUClassifier(prior=0.7, batch_size=33, **ONE), make_table),
    "vpu": (lambda: VPUClassifier(batch_size=33, **ONE), make_table),
    "folds": (
        lambda: MixPULClassifier(margin=0.1, batch_size=33, cross_fitting=3, **SHARED),
        make_table,
    ),
    "images": (
        lambda: MixPULClassifier(
            net=make_narrow_conv, augment="flip", batch_size=9, learning_rate=0.01,
            **SHARED | {"cross_fitting": 2, "n_epochs": 2, "max_steps": 10, "min_steps": 10},
        ),
        make_images,
    ),
    "dropout": (lambda: VPUClassifier(net=make_dropout, **ONE), make_table),
    "unseeded": (lambda: VPUClassifier(**ONE | {"random_state": None}), make_table),
    "stops": (
        lambda: VPUClassifier(
            batch_size=33, learning_rate=0.05, patience=2,
            **SHARED | {"cross_fitting": 2, "n_epochs": 40, "max_steps": 5, "min_steps": 5},
        ),
        make_table,
    ),
    "endless": (
        lambda: VPUClassifier(**ONE | {"n_epochs": 10**6, "max_steps": 5, "min_steps": 5}),
        make_table,
    ),
}  # fmt: skip


def main(task, rank, n_ranks, folder, checkpoint=None):
    torch.set_num_threads(1)
    if n_ranks > 1:
        dist.init_process_group(
            "gloo",
            init_method=f"file://{folder}/{task}-meeting",
            rank=rank,
            world_size=n_ranks,
            timeout=timedelta(seconds=120),
        )
    make_model, make_data = TASKS[task]
    model = make_model()
    if checkpoint is not None:
        model.set_params(checkpoint=checkpoint)
    X, y = make_data()
    if task == "other-rows" and rank:
        X = X + 1
    try:
        model.fit(X, y)
    except ValueError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    state = {k: v.numpy() for k, v in model.net_.state_dict().items()}
    scores = model.decision_function(X)
    losses = np.array([record["loss"] for record in model.history_])
    np.savez(
        Path(folder) / f"{task}-{rank}-of-{n_ranks}.npz",
        scores=scores, losses=losses, n_epochs=model.n_epochs_, **state,
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
