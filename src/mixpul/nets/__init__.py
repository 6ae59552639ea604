"""Networks that return one logit per row, and the teacher that follows a student."""

from mixpul._names import NETS
from mixpul.nets._base import (
    MLP,
    Averaged,
    Mirrored,
    NetSpec,
    SkipMLP,
    Teacher,
    is_ours,
    make_linear,
    make_narrow_skip_mlp,
    make_net,
    refresh_batch_norm,
)
from mixpul.nets._efficientnet import EfficientNetLite0, merge_batch_norms
from mixpul.nets._images import AllConv13, PlainConv, SmallConv, Whitening
from mixpul.nets._kernel import KernelFeatures, KernelNet, KernelSum, simplify
from mixpul.nets._side_by_side import SideBySide

__all__ = [
    "MLP",
    "NETS",
    "AllConv13",
    "Averaged",
    "EfficientNetLite0",
    "KernelFeatures",
    "KernelNet",
    "KernelSum",
    "Mirrored",
    "NetSpec",
    "PlainConv",
    "SideBySide",
    "SkipMLP",
    "SmallConv",
    "Teacher",
    "Whitening",
    "is_ours",
    "make_linear",
    "make_narrow_skip_mlp",
    "make_net",
    "merge_batch_norms",
    "refresh_batch_norm",
    "simplify",
]
