"""Networks as operations of a graph, in single precision as torch computes them."""

import numpy as np
import torch
from torch import nn

from mixpul._util.errors import MixpulError
from mixpul.deploy.onnx._graph import Graph
from mixpul.nets import MLP, Averaged, KernelFeatures, KernelNet, KernelSum, SkipMLP, simplify

__all__ = ["add_net"]


def add_net(graph: Graph, net: nn.Module, rows: str) -> str:
    """Add a network; return its logits, (rows, 1)."""
    return _add(graph, simplify(net), rows)


def _add(graph: Graph, net: nn.Module, rows: str) -> str:
    if isinstance(net, MLP):
        return _add_layers(graph, net, rows)
    if isinstance(net, SkipMLP):
        return graph.add("Add", _add(graph, net.linear, rows), _add(graph, net.deep, rows))
    if isinstance(net, KernelNet):
        kernel = _add_kernel(graph, net.features, rows)
        features = graph.add("MatMul", kernel, _to_array(net.features.mapping))
        return _add(graph, net.top, features)
    if isinstance(net, KernelSum):
        kernel = _add_kernel(graph, net.features, rows)
        total = graph.add("MatMul", kernel, _to_array(net.direction)[:, None])
        return graph.add("Add", total, np.float32(net.bias))
    if isinstance(net, Averaged):
        shares = net.weights or [1 / len(net.members)] * len(net.members)
        parts = [
            graph.add("Mul", _add(graph, member, rows), np.float32(share))
            for share, member in zip(shares, net.members, strict=True)
        ]
        return graph.add("Sum", *parts)
    raise MixpulError(
        f"Networks of the class {type(net).__name__} are not exported to ONNX; fit with a network "
        "for tables by name, such as net='skip-mlp'."
    )


def _add_layers(graph: Graph, net: MLP, rows: str) -> str:
    for layer in net.layers:
        if isinstance(layer, nn.Linear):
            weight, bias = _to_array(layer.weight), _to_array(layer.bias)
            rows = graph.add("Gemm", rows, weight, bias, transB=1)
        elif isinstance(layer, nn.ReLU):
            rows = graph.add("Relu", rows)
    return rows


def _add_kernel(graph: Graph, features: KernelFeatures, rows: str) -> str:
    """Add the Gaussian kernel of each row with each landmark."""
    landmarks = _to_array(features.landmarks)
    own = graph.add("ReduceSumSquare", rows, np.array([1]))
    squares = graph.add("Add", own, (landmarks**2).sum(axis=1)[None])
    products = graph.add("MatMul", rows, np.float32(-2) * landmarks.T)
    distances = graph.add("Relu", graph.add("Add", squares, products))
    return graph.add("Exp", graph.add("Div", distances, np.float32(-landmarks.shape[1])))


def _to_array(tensor: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().cpu().numpy())
