"""The trials of a target: every data set, value, method and seed, or those that are asked for."""

from collections.abc import Iterator, Mapping
from typing import Any

from mixpul._names import PRESETS
from mixpul._util.errors import MixpulError
from mixpul.paper.methods import find_method
from mixpul.paper.names import EVERY_TARGET, N_LABELED, SHARE_LABELED
from mixpul.paper.targets import TARGETS, Target
from mixpul.paper.trial import Trial

__all__ = ["make_trial", "matches", "parse_only", "trials_of"]

_KEYS = ("method", "dataset", SHARE_LABELED, N_LABELED, "seed")


def trials_of(
    target: str,
    *,
    runs: int | None = None,
    only: str = "",
    preset: str | None = None,
    shortened: Mapping[str, int] | None = None,
) -> list[Trial]:
    """List the trials of a target, all cells of the first seed first.

    Parameters
    ----------
    target : str
        A name in `TARGETS`, or 'all'.
    runs : int, optional
        Seeds 0 to runs - 1; by default as many as the target says.
    only : str
        ``"method=nnPU,method=MixPUL,c=0.1"`` keeps trials that match one value of each key.
    preset : {'paper', 'cpu'}, optional
        How CIFAR-10 is learned, 'paper' by default; 'cpu' stands for the target 'cifar10-cpu'.
    shortened : dict, optional
        ``{"subset": n_rows, "epochs": n_epochs}``, either or both: trials that show that all
        parts work together. Their results are kept apart, and no report counts them.

    Examples
    --------
    >>> from mixpul.paper import trials_of
    >>> len(trials_of("rn-mining", runs=2, only="method=dist"))
    8
    """
    chosen = parse_only(only)
    return [
        trial
        for name in _list_targets(target, preset)
        for trial in _list_cells(
            TARGETS[name], TARGETS[name].runs if runs is None else runs, shortened or {}
        )
        if matches(trial, chosen)
    ]


def make_trial(
    target: str, dataset: str, method: str, seed: int, settings: dict[str, Any]
) -> Trial:
    """Make a trial of a method of the target, with its parameters as the recipe."""
    recipe = find_method(target, method, settings).recipe
    return Trial(target, dataset, method, seed, settings, recipe)


def parse_only(text: str) -> dict[str, set[str]]:
    """Read ``"method=nnPU,c=0.1"``; a key that comes again adds a value."""
    chosen: dict[str, set[str]] = {}
    # Names of methods hold commas ("nnPU, bbe prior"): a part without '=' goes on with the last.
    parts: list[str] = []
    for part in filter(None, text.split(",")):
        if "=" in part:
            parts.append(part)
        elif parts:
            parts[-1] += f",{part}"
        else:
            raise MixpulError(f"--only takes key=value pairs such as c=0.1; got {text!r}.")
    for part in parts:
        key, _, value = (word.strip() for word in part.partition("="))
        if key not in _KEYS:
            raise MixpulError(f"--only knows the keys {', '.join(_KEYS)}; got {key!r} in {text!r}.")
        chosen.setdefault(key, set()).add(value.lower())
    return chosen


def matches(trial: Trial, chosen: Mapping[str, set[str]]) -> bool:
    """Say whether a trial has one of the chosen values of every key."""
    own: dict[str, Any] = {
        "method": trial.method,
        "dataset": trial.dataset,
        "seed": trial.seed,
        **trial.settings,
    }
    return all(
        key in own and any(_is_same(own[key], value) for value in values)
        for key, values in chosen.items()
    )


def _is_same(own: Any, value: str) -> bool:
    if isinstance(own, str):
        return own.lower() == value
    try:
        return float(own) == float(value)
    except ValueError:
        raise MixpulError(f"--only takes a number here; got {value!r}.") from None


def _list_targets(target: str, preset: str | None) -> list[str]:
    """Return the names that `target` stands for; CIFAR-10 is run in one way, not in both."""
    if target != EVERY_TARGET and target not in TARGETS:
        names = ", ".join((*TARGETS, EVERY_TARGET))
        raise MixpulError(f"No target {target!r}; there are: {names}.")
    if preset not in (None, *PRESETS):
        raise MixpulError(f"No preset {preset!r}; there are: {', '.join(PRESETS)}.")
    wanted = PRESETS[preset or "paper"]
    # One preset is enough: both stand beside the same published numbers.
    if target == EVERY_TARGET:
        return [name for name in TARGETS if name == wanted or name not in PRESETS.values()]
    return [wanted if preset and target in PRESETS.values() else target]


def _list_cells(target: Target, runs: int, shortened: Mapping[str, int]) -> Iterator[Trial]:
    # Seeds outermost: a run that is stopped has whole tables of fewer seeds, not half a table.
    for seed in range(runs):
        for dataset in target.all_datasets:
            for value in target.values:
                for method in target.all_methods:
                    settings = {target.setting: value, **shortened}
                    yield make_trial(target.name, dataset, method, seed, settings)
