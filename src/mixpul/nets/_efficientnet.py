"""EfficientNet-Lite0 without its classifier: images in, 1,984 features each out.

The architecture is that of Tan and Le (ICML 2019) in the variant for small devices: without
squeeze-and-excitation, and with ReLU6. The batch norms of the published weights are part of the
convolutions here, which computes the same in less time.
"""

from collections import OrderedDict
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["EfficientNetLite0", "merge_batch_norms"]

# Of each stage: blocks, side of the kernels, stride of the first block, expansion, channels out.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
N_STEM, N_LAST = 32, 1280
# The last stages, whose output is among the features: what the last layer has no more use for may
# still tell images apart. How they were chosen: docs/explanation/decisions.md.
N_STAGES_KEPT = 4
# The weights were trained with TensorFlow, whose batch norm adds this to variances.
EPSILON = 1e-3


class EfficientNetLite0(nn.Module):
    """Images of red, green and blue, scaled to -1 to 1, become `n_features` numbers each.

    These are means over an image: 1,280 of the last layer, then those of the last four stages, 80,
    112, 192 and 320.

    Examples
    --------
    >>> import torch
    >>> from mixpul.nets import EfficientNetLite0
    >>> EfficientNetLite0()(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 1984])
    """

    n_features = N_LAST + sum(stage[-1] for stage in STAGES[-N_STAGES_KEPT:])

    def __init__(self) -> None:
        super().__init__()
        self.stem = _Convolution(3, N_STEM, 3, stride=2)
        self.stages = nn.ModuleList()
        n_in = N_STEM
        for n_blocks, size, stride, expansion, n_out in STAGES:
            blocks = [_Block(n_in, n_out, size, stride, expansion)]
            blocks += [_Block(n_out, n_out, size, 1, expansion) for _ in range(n_blocks - 1)]
            self.stages.append(nn.Sequential(*blocks))
            n_in = n_out
        self.head = _Convolution(n_in, N_LAST, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        outputs = []
        for stage in self.stages:
            x = stage(x)
            outputs.append(x)
        kept = [self.head(x), *outputs[-N_STAGES_KEPT:]]
        return torch.cat([one.mean((-2, -1)) for one in kept], dim=1)


class _Block(nn.Module):
    """Widen the channels, look around in each of them, narrow them; add the input if it fits."""

    def __init__(self, n_in: int, n_out: int, size: int, stride: int, expansion: int) -> None:
        super().__init__()
        n_wide = n_in * expansion
        layers = [
            _Convolution(n_wide, n_wide, size, stride, n_groups=n_wide),
            _Convolution(n_wide, n_out, 1, is_linear=True),
        ]
        if expansion > 1:
            layers.insert(0, _Convolution(n_in, n_wide, 1))
        self.layers = nn.Sequential(*layers)
        self.adds_input = stride == 1 and n_in == n_out

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.adds_input else self.layers(x)


class _Convolution(nn.Conv2d):
    """A convolution, then ReLU6 unless it is linear."""

    def __init__(
        self,
        n_in: int,
        n_out: int,
        size: int,
        stride: int = 1,
        *,
        n_groups: int = 1,
        is_linear: bool = False,
    ) -> None:
        # A stride of 2 puts the odd pixel of the margin to the right and below, as TensorFlow does.
        is_even = stride == 1
        super().__init__(
            n_in, n_out, size, stride, size // 2 if is_even else 0, groups=n_groups, bias=True
        )
        self.margin = None if is_even else (size // 2 - 1, size // 2) * 2
        self.is_linear = is_linear

    def forward(self, x: Tensor) -> Tensor:
        if self.margin is not None:
            x = functional.pad(x, self.margin)
        x = super().forward(x)
        return x if self.is_linear else functional.relu6(x, inplace=True)


def merge_batch_norms(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return published weights as those of `EfficientNetLite0`, in its order of layers.

    The published ones name each convolution and, right behind it, its batch norm; the classifier
    over 1,000 classes at their end is left out.
    """
    names = [name.removesuffix(".weight") for name, own in state.items() if own.ndim == 4]
    norms = [name.removesuffix(".running_var") for name in state if name.endswith("running_var")]
    merged: OrderedDict[str, Tensor] = OrderedDict()
    ours = [name for name in EfficientNetLite0().state_dict() if name.endswith(".weight")]
    for own, convolution, norm in zip(ours, names, norms, strict=True):
        factor = state[f"{norm}.weight"] / torch.sqrt(state[f"{norm}.running_var"] + EPSILON)
        merged[own] = state[f"{convolution}.weight"] * factor[:, None, None, None]
        merged[f"{own.removesuffix('.weight')}.bias"] = (
            state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * factor
        )
    return merged
