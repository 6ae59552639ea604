"""Several networks as one, for training."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mixpul.nets._base import MLP, SkipMLP

__all__ = ["SideBySide"]


class SideBySide(nn.Module):
    """Networks of one architecture as one, each on rows of its own: (n, rows, ...) to (n, rows).

    All weights of a layer are one tensor, so that a layer of all networks is one batched product.
    A step of small networks is mostly the cost of calls, and takes a third of the time so.

    Parameters
    ----------
    nets : sequence of nn.Module
        Copied as they are.
    """

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        super().__init__()
        # In a list, so that its weights, which are never used, are not listed as parameters.
        self.template = [copy.deepcopy(nets[0])]
        states = [dict(net.named_parameters()) for net in nets]
        self.stacked = nn.ParameterDict(
            {
                name.replace(".", "/"): nn.Parameter(
                    torch.stack([s[name].detach() for s in states])
                )
                for name in states[0]
            }
        )

    @staticmethod
    def can_hold(nets: Sequence[nn.Module]) -> bool:
        """Whether networks can be put side by side: ours of one kind, without batch norm."""
        kinds = {(type(net), tuple(p.shape for p in net.parameters())) for net in nets}
        return len(kinds) == 1 and type(nets[0]) in (MLP, SkipMLP)

    def lend_weights(self, nets: Sequence[nn.Module]) -> None:
        """Make the weights of `nets` views into those of this one: they follow its training."""
        for k, net in enumerate(nets):
            for name, parameter in net.named_parameters():
                parameter.data = self.stacked[name.replace(".", "/")].data[k]

    def forward(self, x: Tensor) -> Tensor:
        parameters = {name.replace("/", "."): value for name, value in self.stacked.items()}
        return torch.func.vmap(self._run)(parameters, x)

    def _run(self, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return torch.func.functional_call(self.template[0], parameters, (x,))
