"""How 'small-conv' was chosen: tricks of fast CIFAR-10 recipes, error on held-out training images.

    python benchmarks/conv_tricks.py --data FOLDER [--only whitening] [--seeds 2]
    python benchmarks/conv_tricks.py --show     # the results as a table

One network of MixPUL as in `mixpul reproduce cifar10 --preset cpu`, with 1,000 labeled vehicles
among the first 40,000 training images; the next 5,000 are held out. Test images and seeds below
1000 are not used. "Minutes" are of one thread, "cost" is their ratio to 'plain-conv', the network
as it was before, with the same seed. No trick looks at a label. Results are in
benchmarks/results/conv_tricks.jsonl; a run that was stopped goes on where it stopped.

Portfolios of cross-fitted networks are at the end, with equal numbers of steps in all: three
networks of 400 steps, and more of them with fewer steps each.
"""

import argparse
import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from mixpul import augment, datasets
from mixpul.methods.mixpul import MixPULClassifier
from mixpul.nets import PlainConv, SmallConv
from mixpul.paper.methods import find_method
from mixpul.training import as_rows
from pretrained import read_results

RESULTS = Path(__file__).parent / "results" / "conv_tricks.jsonl"
N_LABELED, N_TRAIN, N_HELD_OUT, FIRST_SEED = 1000, 40_000, 5000, 1000
BEFORE = "plain-conv"
WIDTHS = (32, 64, 128, 128, 128, 128)  # of plain-conv
# Of variances of patches: directions that hardly occur would be blown up to noise.
LEAST_VARIANCE = 1e-2


# -- networks ------------------------------------------------------------------------------


def keep_identity(net: nn.Module) -> nn.Module:
    """Let each 3 x 3 convolution start as the identity on its first channels."""
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d) and layer.kernel_size == (3, 3):
            n = min(layer.in_channels, layer.out_channels)
            nn.init.dirac_(layer.weight.data[:n])
    return net


class Whitened(nn.Module):
    """Plain-conv behind a frozen layer that whitens patches of 2 x 2 pixels, with a bias to learn.

    Each of the 12 directions comes with both signs, because ReLU keeps one half of each.
    """

    def __init__(self, shape: tuple[int, ...], filters: Tensor, widths: Sequence[int]) -> None:
        super().__init__()
        self.whiten = nn.Conv2d(shape[0], len(filters), 2)
        self.whiten.weight.data.copy_(filters)
        self.whiten.weight.requires_grad = False
        nn.init.zeros_(self.whiten.bias)
        self.rest = PlainConv((len(filters), shape[1] - 1, shape[2] - 1), widths)

    def forward(self, x: Tensor) -> Tensor:
        return self.rest(torch.relu(self.whiten(x)))


def learn_filters(X: np.ndarray) -> Tensor:
    """Return the directions of 2 x 2 patches of images, each divided by its spread."""
    images = as_rows(X, torch.device("cpu"))(torch.arange(len(X)))
    patches = images.unfold(2, 2, 2).unfold(3, 2, 2).permute(0, 2, 3, 1, 4, 5).flatten(3)
    patches = patches.reshape(-1, patches.shape[-1]).double()
    values, vectors = torch.linalg.eigh(torch.cov(patches.T))
    filters = (vectors / (values + LEAST_VARIANCE).sqrt()).T.reshape(-1, images.shape[1], 2, 2)
    return torch.cat([filters, -filters]).float()


def make_whitened(shape: tuple[int, ...], filters: Tensor, identity: bool) -> nn.Module:
    net = Whitened(shape, filters, WIDTHS)
    return keep_identity(net) if identity else net


def make_identity(shape: tuple[int, ...]) -> nn.Module:
    return keep_identity(PlainConv(shape))


def make_narrow(shape: tuple[int, ...]) -> nn.Module:
    return PlainConv(shape, (*WIDTHS[:-1], 64))


def make_small_and_narrow(shape: tuple[int, ...]) -> nn.Module:
    return SmallConv(shape, (64, 128, 128, 128, 64))


# -- training ------------------------------------------------------------------------------


class Falling(MixPULClassifier):
    """MixPUL whose learning rate falls in a straight line from twice its value to zero."""

    def _make_optimizer(self, joint: Any) -> torch.optim.Optimizer:
        optimizer = super()._make_optimizer(joint)
        n_steps, taken = self.n_epochs * self.max_steps, 0

        def fall(*_: Any) -> None:
            nonlocal taken
            taken += 1
            for group in optimizer.param_groups:
                group["lr"] = 2 * self.learning_rate * max(1 - taken / n_steps, 0.01)

        optimizer.register_step_pre_hook(fall)
        return optimizer


class AlternatingFlips:
    """Each image comes from a random side at first, and then from the other side every time."""

    def __init__(self) -> None:
        self.is_mirrored: dict[float, bool] = {}

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        # An image is known by the sum of its pixels: batches do not say which rows they hold.
        names = x.double().sum((1, 2, 3)).tolist()
        at_random = (torch.rand(len(x), generator=generator) < 0.5).tolist()
        for name, first in zip(names, at_random, strict=True):
            self.is_mirrored[name] = not self.is_mirrored.get(name, first)
        mirrored = torch.tensor([self.is_mirrored[name] for name in names])
        return torch.where(mirrored[:, None, None, None], x.flip(-1), x)


class Alternating(MixPULClassifier):
    """MixPUL with alternating flips in place of random ones."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Alternating":
        # Under the name of the random ones, so that images are still scored from both sides.
        at_random = augment.AUGMENTATIONS["flip"]
        augment.AUGMENTATIONS["flip"] = AlternatingFlips()
        try:
            return super().fit(X, y)
        finally:
            augment.AUGMENTATIONS["flip"] = at_random


def list_variants(filters: Tensor) -> dict[str, MixPULClassifier]:
    model = find_method("cifar10-cpu", "MixPUL", {"n_positive": N_LABELED}).model
    adopted = clone(model).set_params(cross_fitting=None)
    model = clone(adopted).set_params(net="plain-conv")
    falling = Falling(**model.get_params(deep=False))
    whitened = partial(make_whitened, filters=filters)
    return {
        BEFORE: model,
        "whitening": clone(model).set_params(net=partial(whitened, identity=False)),
        "identity": clone(model).set_params(net=make_identity),
        "falling rate": falling,
        "whitening, identity": clone(model).set_params(net=partial(whitened, identity=True)),
        "narrow last layer": clone(model).set_params(net=make_narrow),
        "small-conv": adopted,
        "small-conv, twice the steps": clone(adopted).set_params(n_epochs=2 * model.n_epochs),
        "small-conv, alternating flips": Alternating(**adopted.get_params(deep=False)),
        "small-conv, narrow last layer": clone(adopted).set_params(net=make_small_and_narrow),
        **{
            f"small-conv, {n_nets} networks of {50 * n_epochs} steps": clone(adopted).set_params(
                cross_fitting=n_nets, n_epochs=n_epochs
            )
            for n_nets, n_epochs in ((3, 8), (5, 5), (8, 3))
        },
    }


# -- the run -------------------------------------------------------------------------------


def run(data: Path, only: str | None, n_seeds: int) -> None:
    torch.set_num_threads(1)
    X, y, _, _ = datasets.cifar10_vehicles(data=data)
    train, held_out = np.arange(N_TRAIN), np.arange(N_TRAIN, N_TRAIN + N_HELD_OUT)
    for seed in range(FIRST_SEED, FIRST_SEED + n_seeds):
        labeled = np.random.default_rng(seed).choice(
            np.flatnonzero(y[train] == 1), N_LABELED, replace=False
        )
        s = np.isin(train, labeled).astype(int)
        for name, model in list_variants(learn_filters(X[train[:2000]])).items():
            done = {(one["trick"], one["seed"]) for one in read_results(RESULTS)}
            if (name, seed) in done or (only is not None and name != only):
                continue
            start = time.process_time()
            model.set_params(random_state=seed).fit(X[train], s)
            minutes = (time.process_time() - start) / 60
            scores = model.decision_function(X[held_out])
            found = {
                "trick": name,
                "seed": seed,
                "error": float(np.mean((scores > 0) != (y[held_out] == 1))),
                "auc": float(roc_auc_score(y[held_out] == 1, scores)),
                "minutes": round(minutes, 2),
            }
            with RESULTS.open("a") as file:
                file.write(json.dumps(found) + "\n")
            print(found, flush=True)


def make_table(results: list[dict]) -> str:
    lines = [
        "| trick | seeds | error | AUC | change of the error | cost |",
        "|---|---|---|---|---|---|",
    ]
    before = {one["seed"]: one for one in results if one["trick"] == BEFORE}
    for name in dict.fromkeys(one["trick"] for one in results):
        own = [one for one in results if one["trick"] == name and one["seed"] in before]
        if not own:
            continue
        changes = np.array([one["error"] - before[one["seed"]]["error"] for one in own])
        cost = np.mean([one["minutes"] / before[one["seed"]]["minutes"] for one in own])
        spread = f" ± {changes.std(ddof=1) / len(own) ** 0.5:.4f}" if len(own) > 1 else ""
        error, auc = (np.mean([one[figure] for one in own]) for figure in ("error", "auc"))
        lines.append(
            f"| {name} | {len(own)} | {error:.4f} | {auc:.4f} | {changes.mean():+.4f}{spread} "
            f"| {cost:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with cifar10.npz")
    parser.add_argument("--only")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="show what is there, and run nothing")
    asked = parser.parse_args()
    if not asked.show:
        run(asked.data, asked.only, asked.seeds)
    print(make_table(read_results(RESULTS)))


if __name__ == "__main__":
    main()
