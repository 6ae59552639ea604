"""Several settings trained on the same folds, weighed by the rows their networks have not seen."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mixpul.base import HeldOut
from mixpul.methods._portfolio import weigh_candidates
from mixpul.methods.neural.member import Member
from mixpul.methods.neural.objective import Objective
from mixpul.methods.neural.selection import (
    AverageOfEach,
    Criterion,
    EpochAverage,
    score_held_out,
)
from mixpul.nets import Averaged, KernelFeatures, KernelNet, NetSpec, Whitening, is_ours
from mixpul.training import ROWS_PER_PASS, Rows, own_torch_state, use_threads

__all__ = [
    "Setting",
    "WeighedSettings",
    "draws_by_itself",
    "join_folds",
    "learn_features",
    "list_weighed",
    "make_average",
    "own_randomness",
    "split_by_setting",
    "weigh_settings",
]

# With more rows, 200 features of each would take more memory than most tables.
MOST_FEATURE_ROWS = 200_000
# Images that whitening layers learn from: so many pixels, which are 2,048 images of 32 x 32.
MOST_PIXELS, LEAST_WHITENED = 2**21, 16
# A setting that counts less than this is not worth the time to score rows.
LEAST_WEIGHT = 0.02
# Of the largest spread of logits.
LEAST_SPREAD = 1e-3


class Setting(NamedTuple):
    """What differs between the settings of one training."""

    net: NetSpec
    decay: float


class WeighedSettings(NamedTuple):
    """What the settings have come to.

    Attributes
    ----------
    nets : list of nn.Module
        One for each fold: the mean of its networks by weight.
    held_out : HeldOut
        Scores of each row by the networks that have not seen it.
    weights : ndarray of shape (n_settings,)
    """

    nets: list[nn.Module]
    held_out: HeldOut
    weights: NDArray[np.float64]


def draws_by_itself(method: Any, settings: Sequence[Setting]) -> bool:
    """Whether all that is random in a training comes from generators of its own.

    What users write may draw from torch's own generator, and dropout always does.
    """
    is_of_user = not type(method).__module__.startswith("mixpul.") or callable(method.augment)
    return not is_of_user and all(is_ours(setting.net) for setting in settings)


@contextmanager
def own_randomness(
    method: Any, settings: Sequence[Setting], seed: int, n_threads: int | None
) -> Iterator[torch.Generator | None]:
    """Yield what first weights are drawn from; None is torch's own generator, seeded inside."""
    if draws_by_itself(method, settings):
        with use_threads(n_threads):
            yield torch.Generator().manual_seed(seed)
    else:
        with own_torch_state(seed, n_threads):
            yield None


def learn_features(
    members: Sequence[Member], rows: Rows, n_rows: int, random: np.random.Generator
) -> None:
    """Let networks learn what they learn without labels: kernel features, whitening layers."""
    _share_kernel(members, rows, n_rows, random)
    _learn_whitening(members, rows, n_rows, random)


def _share_kernel(
    members: Sequence[Member], rows: Rows, n_rows: int, random: np.random.Generator
) -> None:
    """Let members with kernel features share them, and train on them instead of rows."""
    own = [(member, member.net) for member in members if isinstance(member.net, KernelNet)]
    if not own:
        return
    features = own[0][1].features
    n = min(n_rows, len(features.landmarks))
    features.learn(rows(torch.from_numpy(random.choice(n_rows, n, replace=False))))
    feature_rows = _make_feature_rows(features, rows, n_rows)
    for member, net in own:
        member.features, member.net, member.batches.rows = features, net.top, feature_rows


def _learn_whitening(
    members: Sequence[Member], rows: Rows, n_rows: int, random: np.random.Generator
) -> None:
    """Let whitening layers learn from some of the images; all learn the same."""
    layers = [m for member in members for m in member.net.modules() if isinstance(m, Whitening)]
    if not layers:
        return
    size = rows(torch.zeros(1, dtype=torch.int64))[0, 0].numel()
    n = min(n_rows, max(LEAST_WHITENED, MOST_PIXELS // size))
    images = rows(torch.from_numpy(random.choice(n_rows, n, replace=False)))
    for layer in layers:
        layer.learn(images)


def _make_feature_rows(features: KernelFeatures, rows: Rows, n_rows: int) -> Rows:
    """Return a source of the features of rows."""

    def compute(indices: Tensor) -> Tensor:
        with torch.no_grad():
            return features(rows(indices))

    if n_rows > MOST_FEATURE_ROWS:
        return compute
    # Once for all epochs: they do not change.
    known = torch.cat([compute(part) for part in torch.arange(n_rows).split(ROWS_PER_PASS)])
    return lambda indices: known.index_select(0, indices.to(known.device))


def split_by_setting(objectives: Sequence[Objective]) -> list[list[Objective]]:
    """Split objectives into those of each setting; a setting has one for each fold."""
    by_setting: dict[int, list[Objective]] = {}
    for objective in objectives:
        by_setting.setdefault(objective.member.setting, []).append(objective)
    return list(by_setting.values())


def make_average(
    objectives: Sequence[Objective],
    is_positive: NDArray[np.bool_],
    patience: int | None,
    criterion: Criterion,
) -> EpochAverage | AverageOfEach:
    """Return how to average over epochs; each setting has its own best ones."""
    averages = [
        EpochAverage(
            [objective.predictor for objective in of_one],
            [objective.member.judges for objective in of_one],
            of_one[0].member.batches.rows,
            is_positive,
            patience,
            criterion,
        )
        for of_one in split_by_setting(objectives)
    ]
    return averages[0] if len(averages) == 1 else AverageOfEach(averages)


def weigh_settings(
    nets: list[nn.Module],
    held_out: list[Tensor],
    rows: Rows,
    is_positive: NDArray[np.bool_],
    is_negative: NDArray[np.bool_],
) -> WeighedSettings:
    """Weigh settings by their PU-AUC on held-out rows, and join their networks fold by fold.

    Verified negatives are scored, but do not judge.
    """
    n_folds = len(held_out)
    each = [nets[k : k + n_folds] for k in range(0, len(nets), n_folds)]
    scored = [score_held_out(own, held_out, rows, len(is_positive)) for own in each]
    if len(each) == 1:
        return WeighedSettings(nets, scored[0], np.ones(1))
    weights, is_known = np.full(len(each), 1 / len(each)), scored[0].is_known
    is_judge = is_known & ~is_negative
    if 0 < is_positive[is_judge].sum() < is_judge.sum():
        scores_known = np.stack([one.scores[is_judge] for one in scored])
        weights = weigh_candidates(
            is_positive[is_judge], scores_known, np.ones(len(each)), LEAST_WEIGHT
        )
    kept = np.flatnonzero(weights)
    factors = _balance([scored[k].scores[is_known] for k in kept], weights[kept])
    joined = [
        Averaged([each[k][fold] for k in kept], factors.tolist())
        if len(kept) > 1
        else each[kept[0]][fold]
        for fold in range(n_folds)
    ]
    scores = sum(factor * scored[k].scores for factor, k in zip(factors, kept, strict=True))
    return WeighedSettings(joined, HeldOut(np.asarray(scores, dtype=np.float32), is_known), weights)


def _balance(scores: Sequence[NDArray], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return factors of logits that make settings count by weight, whatever their spread.

    Logits of a network with a weak decay spread ten times as far as those of one with a strong
    decay, and would decide alone. The mean spread stays.
    """
    if not scores[0].size:  # no row was held out
        return weights
    spread = np.array([own.std(dtype=np.float64) for own in scores])
    if not spread.any():
        return weights
    # Logits that are all but equal are mostly rounding, which should not be blown up.
    spread = np.maximum(spread, LEAST_SPREAD * spread.max())
    return weights / spread * float(weights @ spread)


def list_weighed(settings: Sequence[Setting], weights: NDArray[np.float64]) -> list[dict[str, Any]]:
    """List what was trained with, and how much each counts, as users see it."""
    return [
        {"net": one.net, "weight_decay": one.decay, "weight": float(weight)}
        for one, weight in zip(settings, weights, strict=True)
    ]


def join_folds(nets: list[nn.Module]) -> nn.Module:
    """Return the mean of the networks of all folds, or the only one."""
    joined = nets[0] if len(nets) == 1 else Averaged(nets)
    for tensor in chain(joined.parameters(), joined.buffers()):
        # Slices of networks trained side by side start anywhere in memory, and products may then
        # differ in the last digit from those of the same network read from a file.
        tensor.data = tensor.data.clone()
    return joined
