"""Networks in a file: their tensors, and the layout that says how they are put together.

The layout has `n_members`, one network for each fold, and `is_mirrored`. Tensors are named
``{fold}.{entry}``. Where several settings were trained, the layout also has their `nets` (names,
widths, or `UNSTORED` for a callable) and `weights`, and tensors are named
``{fold}.{setting}.{entry}``.

This is the part of a model file that needs torch. It is imported for models with networks only.
"""

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mixpul._util.errors import DamagedFile
from mixpul._util.schema import Anything, Flag, ListOf, Maybe, Number, check_value
from mixpul._util.tensors import to_arrays, to_tensors
from mixpul.methods.neural import NeuralPUClassifier
from mixpul.nets import Averaged, Mirrored, NetSpec, make_net
from mixpul.persistence._file import split_names
from mixpul.persistence._values import UNSTORED, encode
from mixpul.training import own_torch_state, use_threads

__all__ = ["pack_net", "rebuild_net"]


# One thread of torch: a process that has saved or loaded a model may be forked.
@use_threads(1)
def pack_net(model: NeuralPUClassifier) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return the layout of the networks of a classifier, and their tensors."""
    net = model.net_
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
                tensors[f"{prefix}.{entry}"] = tensor
    return layout, to_arrays(tensors)


@use_threads(1)
def rebuild_net(
    model: NeuralPUClassifier,
    tensors: dict[str, NDArray],
    n_members: int,
    is_mirrored: bool = False,
    nets: list[Any] | None = None,
    weights: list[float] | None = None,
) -> nn.Module:
    """Put networks together again as the layout says."""
    # Each network has a tensor at least.
    check_value(n_members, Number(1, len(tensors), whole=True), "n_members")
    check_value(is_mirrored, Flag(), "is_mirrored")
    check_value(nets, Maybe(ListOf(Anything(), 1, len(tensors))), "nets")
    check_value(weights, Maybe(ListOf(Number(), 1, len(tensors))), "weights")
    kinds = [model.net if kind == UNSTORED else kind for kind in nets or [UNSTORED]]
    if len(kinds) != (1 if weights is None else len(weights)):
        raise DamagedFile("its networks and their weights do not fit together.")

    def build(kind: NetSpec, own: dict[str, NDArray]) -> nn.Module:
        net = _fill_net(kind, model._row_shape, to_tensors(own))
        return Mirrored(net) if is_mirrored else net

    of_folds = split_names(tensors)
    folds = []
    for fold in range(n_members):
        own = of_folds.get(f"{fold}", {})
        if weights is None:
            folds.append(build(kinds[0], own))
        else:
            parts = split_names(own)
            built = [build(kind, parts.get(f"{k}", {})) for k, kind in enumerate(kinds)]
            folds.append(Averaged(built, weights))
    net = folds[0] if n_members == 1 else Averaged(folds)
    return net.eval().requires_grad_(False)


def _fill_net(kind: NetSpec, shape: tuple[int, ...], state: dict[str, Tensor]) -> nn.Module:
    """Make a network with the given tensors."""
    if callable(kind):
        with own_torch_state(seed=0):  # the random start is overwritten
            net = make_net(kind, shape)
    else:
        net = _make_empty(kind, shape, state)
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        raise DamagedFile("its tensors do not fit the network.") from error
    # A network of one's own may have buffers that are infinite, such as masks.
    checked = state.values() if not callable(kind) else net.parameters()
    if not all(torch.isfinite(tensor).all() for tensor in checked):
        raise DamagedFile("its network has weights that are NaN or infinite.")
    return net


def _make_empty(kind: NetSpec, shape: tuple[int, ...], state: dict[str, Tensor]) -> nn.Module:
    """Make a network of ours without numbers, if the file has as many as it takes."""
    # Every layer has two tensors; with more layers than that, it would take long to say no.
    if not isinstance(kind, str) and not callable(kind) and len(kind) > len(state):
        raise DamagedFile("its tensors do not fit the network.")
    # Earlier files have the network that had the name before.
    if kind == "small-conv" and "whitening.filters" not in state:
        kind = "plain-conv"
    # First without memory: a short file may ask for a network of gigabytes.
    with torch.device("meta"):
        net = make_net(kind, shape)
    shapes = {name: tensor.shape for name, tensor in net.state_dict().items()}
    if shapes != {name: tensor.shape for name, tensor in state.items()}:
        raise DamagedFile("its tensors do not fit the network.")
    return net.to_empty(device="cpu")


def _is_weighed(net: nn.Module) -> bool:
    """Whether a network is the mean over settings, not over folds."""
    return isinstance(net, Averaged) and net.weights is not None


def _is_auto(model: NeuralPUClassifier) -> bool:
    return isinstance(model.net, str) and model.net == "auto"


def _list_kinds(model: NeuralPUClassifier) -> list[NetSpec]:
    """List what the networks of the settings that count were made from."""
    if hasattr(model, "settings_"):
        return [setting["net"] for setting in model.settings_ if setting["weight"] > 0]
    # Which rows are positive makes a difference to weight decays only.
    return [setting.net for setting in model._list_settings(np.ones(1, dtype=bool))]
