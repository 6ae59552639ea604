"""Networks in a file: their tensors, and the layout that says how they are put together.

The layout has `n_members`, one network for each fold, and `is_mirrored`. Tensors are named
``{fold}.{entry}``. Where several settings were trained, the layout also has their `nets` (names,
widths, or `UNSTORED` for a callable) and `weights`, and tensors are named
``{fold}.{setting}.{entry}``.
"""

import math
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from mixpul.methods.neural import NeuralPUClassifier
from mixpul.nets import Averaged, Mirrored, NetSpec, is_ours, make_net
from mixpul.persistence._values import UNSTORED, encode
from mixpul.training import own_torch_state

__all__ = ["pack_net", "rebuild_net", "take_below"]


def pack_net(model: NeuralPUClassifier, net: nn.Module) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the layout of the networks of a classifier, and their tensors."""
    folds = [net] if _is_weighed(net) or not isinstance(net, Averaged) else list(net.members)
    is_weighed = _is_weighed(folds[0])
    each = [list(cast(Averaged, fold).members) if is_weighed else [fold] for fold in folds]
    layout = {"n_members": len(folds), "is_mirrored": isinstance(each[0][0], Mirrored)}
    # One network that a parameter names needs no more: older versions read such files too.
    if is_weighed or _is_auto(model):
        layout["nets"] = encode(_list_kinds(model))
    if is_weighed:
        layout["weights"] = encode(cast(Averaged, folds[0]).weights)
    tensors = {}
    for fold, nets in enumerate(each):
        for k, one in enumerate(nets):
            prefix = f"{fold}.{k}" if is_weighed else f"{fold}"
            bare = one.net if isinstance(one, Mirrored) else one
            for entry, tensor in bare.state_dict().items():
                # Cloned: networks may tie weights, and the format allows no shared memory.
                tensors[f"{prefix}.{entry}"] = tensor.detach().cpu().clone().contiguous()
    return layout, tensors


def rebuild_net(
    model: NeuralPUClassifier,
    tensors: dict[str, Tensor],
    n_members: int,
    is_mirrored: bool = False,
    nets: list[Any] | None = None,
    weights: list[float] | None = None,
) -> nn.Module:
    """Put networks together again as the layout says."""
    kinds = [model.net if kind == UNSTORED else kind for kind in nets or [UNSTORED]]
    if n_members < 1:
        raise ValueError("it has no networks.")
    if len(kinds) != (1 if weights is None else len(weights)):
        raise ValueError("its networks and their weights do not fit together.")
    if not all(isinstance(weight, float) and math.isfinite(weight) for weight in weights or []):
        raise ValueError("the weights of its networks are not numbers.")

    def build(kind: NetSpec, prefix: str) -> nn.Module:
        net = _fill_net(kind, model._row_shape, take_below(tensors, prefix))
        return Mirrored(net) if is_mirrored else net

    folds = [
        build(kinds[0], f"{fold}.")
        if weights is None
        else Averaged([build(kind, f"{fold}.{k}.") for k, kind in enumerate(kinds)], weights)
        for fold in range(n_members)
    ]
    net = folds[0] if n_members == 1 else Averaged(folds)
    return net.eval().requires_grad_(False)


def take_below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with `prefix`, by the rest of their names."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def _fill_net(kind: NetSpec, shape: tuple[int, ...], state: dict[str, Tensor]) -> nn.Module:
    """Make a network with the given tensors."""
    # The random start is overwritten; threads that load wait for each other only where they must.
    with nullcontext() if is_ours(kind) else own_torch_state(seed=0):
        net = make_net(kind, shape, torch.Generator())
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError("its tensors do not fit the network.") from error
    return net


def _is_weighed(net: nn.Module) -> bool:
    """Whether a network is the mean over settings, not over folds."""
    return isinstance(net, Averaged) and net.weights is not None


def _is_auto(model: NeuralPUClassifier) -> bool:
    return isinstance(model.net, str) and model.net == "auto"


def _list_kinds(model: NeuralPUClassifier) -> list[NetSpec]:
    """List what the networks of the settings that count were made from."""
    if hasattr(model, "settings_"):
        settings = cast(list[dict[str, Any]], model.settings_)
        return [setting["net"] for setting in settings if setting["weight"] > 0]
    # Which rows are positive makes a difference to weight decays only.
    return [setting.net for setting in model._list_settings(np.ones(1, dtype=bool))]
