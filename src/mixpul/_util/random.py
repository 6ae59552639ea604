"""Randomness is passed in: generators, seeds of parts, stratified folds."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

__all__ = [
    "RandomStateLike",
    "as_generator",
    "count_folds",
    "draw_seed",
    "hold_out",
    "number_folds",
    "seed_parts",
    "split_folds",
]

RandomStateLike = int | np.random.RandomState | np.random.Generator | None


def as_generator(random_state: RandomStateLike) -> np.random.Generator:
    """Make a numpy Generator that leaves numpy's global random state alone.

    A Generator is used as it is, and a RandomState is asked for a seed, so that both move on.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


def draw_seed(random: np.random.Generator) -> int:
    """Draw a seed that every library takes."""
    return int(random.integers(2**31))


def seed_parts(estimator: Any, random_state: RandomStateLike, *, deep: bool = True) -> Any:
    """Seed the estimator and all of its parts that have no `random_state` yet, in place.

    Without it scikit-learn would draw from numpy's global state. With ``deep=False`` the parts are
    left to the estimator, which seeds them itself.
    """
    params = estimator.get_params(deep)
    # Sorted: the same estimator gets the same seeds, whatever the order of its parameters.
    unseeded = [
        name
        for name in sorted(params)
        if name.split("__")[-1] == "random_state" and params[name] is None
    ]
    if unseeded:  # otherwise a RandomState does not move on
        random = as_generator(random_state)
        estimator.set_params(**{name: draw_seed(random) for name in unseeded})
    return estimator


def split_folds(
    is_positive: NDArray[np.bool_], n_folds: int, seed: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield row numbers to train on and to hold out, both kinds of rows in every fold.

    There are fewer than `n_folds` folds where there are fewer rows of a kind.
    """
    n_folds = count_folds(is_positive, n_folds)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    # Of its first argument the splitter takes the number of rows only.
    yield from splitter.split(is_positive, is_positive)


def number_folds(
    is_positive: NDArray[np.bool_],
    n_folds: int,
    seed: int,
    is_negative: NDArray[np.bool_] | None = None,
) -> NDArray[np.int32]:
    """Return for each row the number of the fold that holds it out.

    Verified negatives are dealt out by themselves: folds have equally many of them, and the other
    rows are in the folds they would be in without these.
    """
    folds = np.empty(len(is_positive), dtype=np.int32)
    others = np.arange(len(is_positive)) if is_negative is None else np.flatnonzero(~is_negative)
    for k, (_, held_out) in enumerate(split_folds(is_positive[others], n_folds, seed)):
        folds[others[held_out]] = k
    if is_negative is not None and is_negative.any():
        dealt = np.random.default_rng(seed).permutation(np.flatnonzero(is_negative))
        folds[dealt] = np.arange(len(dealt)) % (folds[others].max() + 1)
    return folds


def count_folds(is_positive: NDArray[np.bool_], n_folds: int) -> int:
    """Return how many of `n_folds` folds can have a row of each kind."""
    n_positive = int(is_positive.sum())
    return min(n_folds, n_positive, len(is_positive) - n_positive)


def hold_out(
    is_positive: NDArray[np.bool_], fraction: float, random: np.random.Generator
) -> NDArray[np.intp]:
    """Draw rows to hold out, some of both kinds, so that some of both are left; else none."""
    held_out = []
    for kind in (is_positive, ~is_positive):
        rows = np.flatnonzero(kind)
        if len(rows) < 2:
            return np.empty(0, dtype=int)
        n = int(np.clip(round(fraction * len(rows)), 1, len(rows) - 1))
        held_out.append(random.choice(rows, n, replace=False))
    return np.concatenate(held_out)
