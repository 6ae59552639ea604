"""The state of a training in one file after each epoch, to go on from if the process dies."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mixpul._util.errors import DamagedFile
from mixpul._util.ranks import is_main
from mixpul._util.schema import Anything, ListOf, MapOf, Record, Text, check_value
from mixpul._util.tensor_files import read_tensors, write_tensors
from mixpul._util.tensors import to_arrays, to_tensors
from mixpul.methods.neural.selection import AverageOfEach, EpochAverage

__all__ = ["Checkpoint", "take_fingerprint"]

KEY = "checkpoint"
CONTENT = Record(
    {
        "identity": Text(),
        "history": ListOf(MapOf(Anything())),
        "average": MapOf(Anything()),
        "random": ListOf(Anything()),
    }
)


class Checkpoint:
    """Everything a training has come to: taken up again, it ends in the same weights to the bit.

    An epoch that was under way when the process died is begun again. The file is written whole or
    not at all, and holds no pickle.

    Parameters
    ----------
    path : str or path-like
    identity : str
        What is trained on what; a file of another training is refused.
    nets : nn.Module
        All networks whose state changes.
    optimizer : torch.optim.Optimizer
    average : EpochAverage or AverageOfEach
    generators : list of torch.Generator or numpy.random.Generator
        All sources of randomness, in a fixed order.
    tensors : dict of str to Tensor, optional
        What else changes in the course of the training.
    draws_from_torch : bool, default=True
        Whether torch's own generators, which the whole process shares, are sources, too.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        identity: str,
        nets: nn.Module,
        optimizer: torch.optim.Optimizer,
        average: EpochAverage | AverageOfEach,
        generators: list[torch.Generator | np.random.Generator],
        tensors: dict[str, Tensor] | None = None,
        draws_from_torch: bool = True,
    ) -> None:
        self.path, self.identity = Path(path), identity
        self.nets, self.optimizer, self.average = nets, optimizer, average
        self.generators, self.tensors = generators, tensors or {}
        self.draws_from_torch = draws_from_torch

    def save(self, history: list[dict[str, float]]) -> None:
        """Write the state after the epochs in `history`; of several ranks the first one does."""
        if not is_main():
            return
        tensors = {f"nets.{k}": v for k, v in self.nets.state_dict().items()}
        tensors |= {f"average.{k}": v for k, v in self.average.get_sums().items()}
        tensors |= {f"more.{k}": v for k, v in self.tensors.items()}
        for index, entries in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{k}": v for k, v in entries.items()}
        if self.draws_from_torch:
            tensors |= {f"torch.{k}": state for k, state in enumerate(_get_torch_states())}
        # numpy's states hold integers beyond 64 bits, which JSON can write and tensors cannot.
        random: list[Any] = []
        for k, generator in enumerate(self.generators):
            if isinstance(generator, torch.Generator):
                tensors[f"generator.{k}"] = generator.get_state()
                random.append(None)
            else:
                random.append(generator.bit_generator.state)
        values = {
            "identity": self.identity,
            "history": history,
            "average": self.average.get_values(),
            "random": random,
        }
        write_tensors(self.path, KEY, to_arrays(tensors), values)

    def resume(self) -> list[dict[str, float]]:
        """Bring all parts to the state in the file and return its history; empty without a file."""
        if not self.path.exists():
            return []
        try:
            arrays, values = read_tensors(self.path, KEY)
            check_value(values, CONTENT)
        except DamagedFile as error:
            # Never overwritten: it may be a file of the user's.
            raise DamagedFile(
                f"{str(self.path)!r} is damaged, or not a checkpoint of a training; name another "
                f"file, or remove it to begin anew ({error})"
            ) from error
        # Another seed, setting or row would quietly end in a mixture of two trainings.
        if values["identity"] != self.identity:
            raise ValueError(
                f"{str(self.path)!r} is the checkpoint of a training with other parameters or "
                "other data. Remove it to begin anew, or name another file."
            )
        try:
            self._restore(to_tensors(arrays), values)
        # A checksum can be right and the content still not add up: anyone can compute one.
        except Exception as error:
            raise DamagedFile(
                f"{str(self.path)!r} does not fit this training; remove it to begin anew."
            ) from error
        return values["history"]

    def _restore(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        self.nets.load_state_dict(_take_prefix("nets.", tensors))
        self.average.restore(_take_prefix("average.", tensors), values["average"])
        self._restore_optimizer(_take_prefix("optimizer.", tensors))
        for name, value in _take_prefix("more.", tensors).items():
            _check_alike(value, self.tensors[name])
            self.tensors[name].copy_(value)
        for k, (generator, state) in enumerate(zip(self.generators, values["random"], strict=True)):
            if isinstance(generator, torch.Generator):
                generator.set_state(tensors[f"generator.{k}"])
            else:
                generator.bit_generator.state = state
        if self.draws_from_torch:
            _set_torch_states(list(_take_prefix("torch.", tensors).values()))

    def remove(self) -> None:
        """Remove the file: the training is over."""
        if is_main():
            self.path.unlink(missing_ok=True)

    def _restore_optimizer(self, tensors: dict[str, Tensor]) -> None:
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            index, name = key.split(".", 1)
            like = parameters[int(index)]
            # Besides, there is the number of the step.
            if value.ndim or not like.ndim:
                _check_alike(value, like)
                # In the layout of its parameter: fused optimisers walk through both at once.
                value = torch.empty_like(like).copy_(value)
            state.setdefault(int(index), {})[name] = value
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": state})


def take_fingerprint(
    X: Any,
    is_positive: NDArray[np.bool_],
    is_negative: NDArray[np.bool_],
    weights: NDArray[np.float64] | None = None,
) -> str:
    """Hash the labels and weights, and the shape and a thousand rows of `X`."""
    digest = hashlib.sha256(f"{X.shape} {X.dtype}".encode())
    digest.update(is_positive.tobytes())
    # Only if there are any: trainings without them keep their fingerprints.
    if is_negative.any():
        digest.update(is_negative.tobytes())
    if weights is not None:
        digest.update(weights.tobytes())
    # Enough to tell data sets apart, and quick on large ones.
    some = X[np.linspace(0, X.shape[0] - 1, min(1000, X.shape[0])).astype(int)]
    digest.update((some if isinstance(some, np.ndarray) else some.toarray()).tobytes())
    return digest.hexdigest()


def _check_alike(value: Tensor, like: Tensor) -> None:
    """Refuse a tensor of another shape or type: it would be spread out, or read beyond its end."""
    if value.shape != like.shape or value.dtype != like.dtype:
        raise DamagedFile("its tensors do not fit the training.")


def _take_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _get_torch_states() -> list[Tensor]:
    """Return the states of the generators that layers such as dropout draw from."""
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if _has_cuda() else [])]


def _set_torch_states(states: list[Tensor]) -> None:
    torch.set_rng_state(states[0])
    if _has_cuda():
        torch.cuda.set_rng_state_all(states[1:])


def _has_cuda() -> bool:
    return torch.cuda.is_available()
