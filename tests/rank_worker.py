"""Trainings in one process and in two: python rank_worker.py FOLDER TASK ...

Modules are imported once, then each rank is a fork. A rank writes its weights to
FOLDER/TASK-RANKS-RANK.npz, or the sentence with which it ended to a file of that name with .txt.
"""

import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from mixpul import MixPULClassifier, NNPUClassifier, VPUClassifier
from mixpul._util.ranks import count_ranks, get_rank
from mixpul.methods.neural import NeuralPUClassifier, classifier
from mixpul.methods.neural.checkpoint import Checkpoint
from mixpul.nets import SmallConv

SECONDS = 300  # a machine may be busy
# Odd, so that shares differ; 50 steps.
BASE = {"random_state": 0, "device": "cpu", "batch_size": 33, "n_epochs": 2}
STEPS = {"max_steps": 25, "min_steps": 25}
ALONE = {"cross_fitting": None, "early_stopping": False}
TOO_MANY = {"prior": 0.9, "loss": "logistic"}


class PenaltyClassifier(NeuralPUClassifier):
    """A method that a user might write: its loss also has the weights themselves in it."""

    def _loss_terms(self, batch, progress):
        positive, unlabeled = self.net_(batch.positive), self.net_(batch.unlabeled)
        penalty = sum(parameter.square().sum() for parameter in self.net_.parameters())
        return {"rank": (unlabeled.mean() - positive.mean()).exp(), "penalty": 0.1 * penalty}


def make_narrow_conv(shape):
    return SmallConv(shape, (4, 6, 8, 8, 8, 8))


def make_dropout(shape):
    return nn.Sequential(nn.Linear(shape[0], 4), nn.Dropout(0.5), nn.Linear(4, 1))


def make_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(601, 10)).astype(np.float32)
    is_true = X[:, 0] + X[:, 1] * X[:, 2] > 0
    return X, (is_true & (rng.random(601) < 0.3)).astype(int)


def make_images():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3 == 0
    pixels = rng.integers(0, 120, (90, 1, 8, 8))
    pixels[y, :, :4] += 100
    return pixels.astype(np.uint8), y.astype(int)


def make_other_table():
    X, y = make_table()
    return X + get_rank(), y


class Task(NamedTuple):
    model: Callable[[], Any]
    data: Callable[[], tuple[Any, Any]] = make_table
    ranks: tuple[int, ...] = (1, 2)


STOPPING = BASE | {"cross_fitting": 2, "n_epochs": 30, "max_steps": 5, "min_steps": 5}


def make_stopping():
    return VPUClassifier(learning_rate=0.02, patience=2, **STOPPING)


TASKS = {
    "mixpul": Task(lambda: MixPULClassifier(margin=0.1, **BASE, **STEPS, **ALONE)),
    # A prior that is too large: the risk of negatives falls below zero, where the clamp acts.
    "nnpu": Task(lambda: NNPUClassifier(**TOO_MANY, **BASE, **STEPS, **ALONE)),
    "unclamped": Task(
        lambda: NNPUClassifier(beta=100.0, **TOO_MANY, **BASE, **STEPS, **ALONE), ranks=(1,)
    ),
    "vpu": Task(lambda: VPUClassifier(**BASE, **STEPS, **ALONE)),
    "folds": Task(lambda: MixPULClassifier(margin=0.1, cross_fitting=3, **BASE, **STEPS)),
    "penalty": Task(lambda: PenaltyClassifier(net=(5,), **BASE, **STEPS, **ALONE)),
    "images": Task(
        lambda: MixPULClassifier(
            net=make_narrow_conv, augment="flip", learning_rate=0.01, cross_fitting=2,
            max_steps=10, min_steps=10, **BASE | {"batch_size": 9},
        ),
        make_images,
    ),
    "stops": Task(make_stopping),
    "dies": Task(make_stopping, ranks=(2,)),
    "resumed": Task(make_stopping, ranks=(2,)),
    "unseen": Task(make_stopping, ranks=(2,)),
    "killed": Task(lambda: VPUClassifier(**STOPPING | {"n_epochs": 10**6}), ranks=(2,)),
    "dropout": Task(lambda: VPUClassifier(net=make_dropout, **BASE, **ALONE), ranks=(2,)),
    "unseeded": Task(lambda: VPUClassifier(**BASE | {"random_state": None}), ranks=(2,)),
    "others": Task(lambda: VPUClassifier(**BASE, **ALONE), make_other_table, ranks=(2,)),
}  # fmt: skip


def set_checkpoint(name, model, folder):
    """Let `dies` end after three epochs, and others go on from its file, or from another place."""
    if name in ("dies", "unseen"):
        model.set_params(checkpoint=folder / f"checkpoint-of-{get_rank()}")
    if name == "resumed":
        model.set_params(checkpoint=folder / "checkpoint-of-0")
    if name == "dies":
        save = Checkpoint.save

        def save_and_die(self, history):
            save(self, history)
            if len(history) == 3:
                os._exit(0)

        Checkpoint.save = save_and_die


def die_in_the_third_epoch():
    ask, n_calls = classifier.take_from_main, 0

    def ask_or_die(value):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return ask(value)

    classifier.take_from_main = ask_or_die


def train(name, folder):
    task, place = TASKS[name], folder / f"{name}-{count_ranks()}-{get_rank()}"
    model = task.model()
    set_checkpoint(name, model, folder)
    if name == "killed" and get_rank() == 1:
        die_in_the_third_epoch()
    try:
        model.fit(*task.data())
    except ValueError as error:
        place.with_suffix(".txt").write_text(f"{type(error).__name__}: {error}")
        return
    losses = [record["loss"] for record in model.history_]
    weights = {k: v.numpy() for k, v in model.net_.state_dict().items()}
    np.savez(place.with_suffix(".npz"), losses=losses, n_epochs=model.n_epochs_, **weights)


def run_rank(name, rank, n_ranks, folder):
    if n_ranks > 1:
        dist.init_process_group(
            "gloo",
            init_method=f"file://{folder}/meeting-{name}",
            rank=rank,
            world_size=n_ranks,
            timeout=timedelta(seconds=SECONDS),
        )
    train(name, folder)


def main(folder, names):
    torch.set_num_threads(1)
    for name in names:
        for n_ranks in TASKS[name].ranks:
            children = []
            for rank in range(n_ranks):
                child = os.fork()
                if not child:
                    try:
                        run_rank(name, rank, n_ranks, folder)
                    except BaseException as error:
                        print(f"{name}, rank {rank}: {error!r}", file=sys.stderr, flush=True)
                    # Not by sys.exit: this is a copy of the parent.
                    os._exit(0)
                children.append(child)
            for child in children:
                os.waitpid(child, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
