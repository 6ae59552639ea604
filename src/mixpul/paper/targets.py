"""The paper's tables and figures as data: which trials they take, and the published numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mixpul._names import PRESETS, PRIORS
from mixpul.datasets import BUNDLED
from mixpul.paper.runs import Trial

__all__ = [
    "PRESETS",
    "TARGETS",
    "TOLD",
    "Published",
    "Target",
    "matches",
    "parse_only",
    "trials_of",
]

FREQUENCIES = (0.01, 0.05, 0.1, 0.2, 0.4)
PUBLISHED_SETS = ("ethn", *BUNDLED)
EXTRA_SETS = ("mushroom", "satimage", "texture", "twonorm")
PAPERS_METHODS = ("Supervised", "WSVM", "uPU", "nnPU", "PNU", "MixPUL")
OUR_METHODS = (
    "MixPUL as published",
    "VPU",
    "Bagging",
    "Ramp",
    "logistic regression",
    "class means",
)
# How the recipe of a trial ends whose method was given the true class prior.
TOLD = ", true prior"


class Published(NamedTuple):
    """A number in the paper; many have no standard deviation."""

    mean: float
    sd: float | None = None


@dataclass(frozen=True)
class Target:
    """A table or figure.

    Attributes
    ----------
    name, title : str
    datasets, methods : tuple of str
        Those of the paper first.
    setting : {'c', 'n_positive'}
        What varies: the share of positives that are labeled, or their number.
    values : tuple
        The values of `setting`.
    measure : {'auc', 'error'}
    runs : int
        Runs by default.
    published : dict
        From (data set, method, value of `setting`) to the number in the paper; errors are shares,
        where the paper has percent.
    extra_datasets, extra_methods : tuple of str
        Those that are not in the paper.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    setting: str
    values: tuple[float, ...]
    measure: str
    runs: int
    published: Mapping[tuple[str, str, float], Published] = field(default_factory=dict)
    extra_datasets: tuple[str, ...] = ()
    extra_methods: tuple[str, ...] = ()


def _cells(
    rows: Mapping[tuple[str, str], str], values: tuple[float, ...], scale: float = 1.0
) -> dict[tuple[str, str, float], Published]:
    """Numbers of a table, written as 'mean' or 'mean±sd' from left to right."""
    cells = {}
    for (dataset, method), text in rows.items():
        for value, cell in zip(values, text.split(), strict=True):
            mean, _, sd = cell.partition("±")
            spread = float(sd) * scale if sd else None
            cells[dataset, method, value] = Published(round(float(mean) * scale, 6), spread)
    return cells


_UCI = {
    ("ethn", "Supervised"): "0.50±0.00 0.69±0.10 0.89±0.02 0.92±0.01 0.96±0.00",
    ("ethn", "WSVM"): "0.56±0.20 0.96±0.01 0.98±0.00 0.99±0.00 0.99±0.00",
    ("ethn", "uPU"): "0.66±0.07 0.84±0.04 0.94±0.01 0.96±0.00 0.97±0.00",
    ("ethn", "nnPU"): "0.63±0.07 0.80±0.09 0.82±0.03 0.86±0.03 0.86±0.01",
    ("ethn", "PNU"): "0.71±0.04 0.92±0.01 0.94±0.01 0.95±0.01 0.97±0.00",
    ("ethn", "MixPUL"): "0.73±0.04 0.92±0.01 0.97±0.00 0.98±0.00 0.94±0.00",
    ("krvskp", "Supervised"): "0.50±0.00 0.81±0.06 0.87±0.07 0.97±0.01 0.98±0.00",
    ("krvskp", "WSVM"): "0.61±0.07 0.77±0.06 0.81±0.05 0.85±0.04 0.88±0.05",
    ("krvskp", "uPU"): "0.72±0.08 0.85±0.06 0.89±0.04 0.95±0.02 0.96±0.02",
    ("krvskp", "nnPU"): "0.62±0.09 0.78±0.03 0.82±0.06 0.84±0.02 0.88±0.04",
    ("krvskp", "PNU"): "0.72±0.07 0.88±0.03 0.91±0.03 0.95±0.09 0.96±0.00",
    ("krvskp", "MixPUL"): "0.70±0.08 0.90±0.03 0.93±0.02 0.96±0.00 0.97±0.00",
    ("titanic", "Supervised"): "0.50±0.00 0.50±0.00 0.69±0.02 0.72±0.01 0.71±0.00",
    ("titanic", "WSVM"): "0.35±0.04 0.68±0.05 0.73±0.01 0.73±0.02 0.71±0.02",
    ("titanic", "uPU"): "0.64±0.09 0.70±0.01 0.71±0.00 0.71±0.00 0.71±0.00",
    ("titanic", "nnPU"): "0.63±0.05 0.70±0.03 0.70±0.02 0.71±0.01 0.71±0.02",
    ("titanic", "PNU"): "0.63±0.08 0.69±0.00 0.70±0.02 0.70±0.00 0.70±0.00",
    ("titanic", "MixPUL"): "0.67±0.01 0.68±0.01 0.70±0.01 0.71±0.01 0.71±0.00",
    ("spambase", "Supervised"): "0.50±0.00 0.89±0.02 0.90±0.01 0.93±0.02 0.95±0.01",
    ("spambase", "WSVM"): "0.36±0.01 0.58±0.00 0.72±0.00 0.79±0.00 0.85±0.00",
    ("spambase", "uPU"): "0.87±0.05 0.91±0.01 0.93±0.00 0.93±0.01 0.94±0.00",
    ("spambase", "nnPU"): "0.77±0.07 0.87±0.01 0.90±0.00 0.91±0.01 0.92±0.00",
    ("spambase", "PNU"): "0.76±0.07 0.87±0.01 0.91±0.01 0.93±0.00 0.94±0.00",
    ("spambase", "MixPUL"): "0.89±0.01 0.92±0.01 0.94±0.01 0.94±0.01 0.96±0.00",
}
# In percent, as all errors in the paper.
_MNIST = {
    ("mnist-0v1", "Ramp"): "3.36 4.85 5.48",
    ("mnist-0v1", "MixPUL"): "0.24 0.33 0.33",
    ("mnist-0v2", "Ramp"): "5.15 6.96 7.22",
    ("mnist-0v2", "MixPUL"): "4.57 2.83 2.14",
    ("mnist-0v3", "Ramp"): "3.49 4.72 5.02",
    ("mnist-0v3", "MixPUL"): "3.02 2.41 2.46",
    ("mnist-0v4", "Ramp"): "1.68 2.05 2.21",
    ("mnist-0v4", "MixPUL"): "0.76 0.66 0.46",
    ("mnist-0v5", "Ramp"): "5.21 7.22 7.46",
    ("mnist-0v5", "MixPUL"): "1.60 3.63 9.62",
    ("mnist-0v6", "Ramp"): "11.47 19.87 22.58",
    ("mnist-0v6", "MixPUL"): "8.57 5.31 3.51",
    ("mnist-0v7", "Ramp"): "1.89 2.55 2.64",
    ("mnist-0v7", "MixPUL"): "1.64 1.20 1.15",
    ("mnist-0v8", "Ramp"): "3.98 4.81 4.75",
    ("mnist-0v8", "MixPUL"): "3.58 2.81 2.41",
    ("mnist-0v9", "Ramp"): "1.22 1.60 1.73",
    ("mnist-0v9", "MixPUL"): "1.21 0.96 3.02",
}
_CIFAR10 = {
    ("cifar10", "nnPU"): "40.00 15.55 13.32 11.32 9.90 8.87",
    ("cifar10", "uPU"): "40.00 26.01 19.95 14.38 12.08 9.90",
    ("cifar10", "MixPUL"): "22.63 14.00 12.21 11.10 9.77 8.88",
}
_MINING = {
    ("titanic", "Rand"): "0.67±0.01 0.68±0.01 0.70±0.01 0.71±0.01",
    ("titanic", "Dist"): "0.48±0.14 0.53±0.16 0.66±0.01 0.47±0.15",
    ("titanic", "NTC"): "0.56±0.11 0.68±0.02 0.70±0.01 0.69±0.00",
}
_DIGITS = (1200, 2400, 3600)
_PICTURES = (100, 500, 1000, 2000, 4000, 10_000)
_PERSONS = (5, 25, 50, 100)

TARGETS = {
    target.name: target
    for target in (
        Target(
            "uci",
            "AUC on benchmark tables",
            PUBLISHED_SETS,
            PAPERS_METHODS,
            "c",
            FREQUENCIES,
            "auc",
            10,
            _cells(_UCI, FREQUENCIES),
            extra_datasets=EXTRA_SETS,
            extra_methods=OUR_METHODS,
        ),
        Target(
            "mnist",
            "Error on MNIST, zeros against each other digit",
            tuple(f"mnist-0v{digit}" for digit in range(1, 10)),
            ("Ramp", "MixPUL"),
            "n_positive",
            _DIGITS,
            "error",
            3,
            _cells(_MNIST, _DIGITS, 0.01),
            extra_methods=("MixPUL as published",),
        ),
        Target(
            "cifar10",
            "Error on CIFAR-10, vehicles against animals",
            ("cifar10",),
            ("nnPU", "uPU", "MixPUL"),
            "n_positive",
            _PICTURES,
            "error",
            3,
            _cells(_CIFAR10, _PICTURES, 0.01),
            extra_methods=("MixPUL as published",),
        ),
        Target(
            "cifar10-cpu",
            "Error on CIFAR-10 with a small network, trained on a CPU",
            ("cifar10",),
            ("nnPU", "uPU", "MixPUL"),
            "n_positive",
            _PICTURES,
            "error",
            3,
            _cells(_CIFAR10, _PICTURES, 0.01),
        ),
        Target(
            "rn-mining",
            "AUC by the way reliable negatives are mined",
            ("titanic",),
            ("Rand", "Dist", "NTC"),
            "n_positive",
            _PERSONS,
            "auc",
            10,
            _cells(_MINING, _PERSONS),
            extra_methods=("Rand as published", "Dist as published", "NTC as published"),
        ),
        Target(
            "prior-error",
            "AUC of nnPU with the true and with estimated class priors",
            BUNDLED,
            ("nnPU", *(f"nnPU, {name} prior" for name in PRIORS)),
            "c",
            FREQUENCIES,
            "auc",
            5,
        ),
        Target(
            "mixup-ablation",
            "Error in the course of training, with and without L_U",
            ("ethn", "krvskp", "spambase"),
            ("with L_U and L_PU", "without L_U"),
            "c",
            (0.1,),
            "error",
            5,
        ),
        Target(
            "margin-ablation",
            "Error in the course of training, with and without L_PU",
            ("ethn", "krvskp", "spambase"),
            ("with L_U and L_PU", "without L_PU"),
            "c",
            (0.1,),
            "error",
            5,
        ),
    )
}


def trials_of(
    target: str,
    *,
    runs: int | None = None,
    only: str = "",
    preset: str | None = None,
    shortened: Mapping[str, int] | None = None,
) -> list[Trial]:
    """The trials of a target, all cells of the first seed first.

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
    >>> from mixpul.paper.targets import trials_of
    >>> len(trials_of("rn-mining", runs=2, only="method=dist"))
    8
    """
    if target != "all" and target not in TARGETS:
        raise ValueError(f"No target {target!r}; there are: {', '.join(TARGETS)}, all.")
    if preset not in (None, *PRESETS):
        raise ValueError(f"No preset {preset!r}; there are: {', '.join(PRESETS)}.")
    chosen = parse_only(only)
    wanted = PRESETS[preset or "paper"]
    unwanted = set(PRESETS.values()) - {wanted}
    if target == "all":
        names = [name for name in TARGETS if name not in unwanted]
    else:
        names = [wanted if preset and target in PRESETS.values() else target]
    return [
        trial
        for name in names
        for trial in _grid(TARGETS[name], TARGETS[name].runs if runs is None else runs, shortened)
        if matches(trial, chosen)
    ]


def parse_only(text: str) -> dict[str, set[str]]:
    """Read ``"method=nnPU,c=0.1"``; a key that comes again adds a value."""
    chosen: dict[str, set[str]] = {}
    keys = ("method", "dataset", "c", "n_positive", "seed")
    # Names of methods hold commas ("nnPU, bbe prior"): a part without '=' goes on with the last.
    parts: list[str] = []
    for part in filter(None, text.split(",")):
        if "=" in part:
            parts.append(part)
        elif parts:
            parts[-1] += f",{part}"
        else:
            raise ValueError(f"--only takes key=value pairs such as c=0.1; got {text!r}.")
    for part in parts:
        key, _, value = (word.strip() for word in part.partition("="))
        if key not in keys:
            raise ValueError(f"--only knows the keys {', '.join(keys)}; got {key!r} in {text!r}.")
        chosen.setdefault(key, set()).add(value.lower())
    return chosen


def matches(trial: Trial, chosen: Mapping[str, set[str]]) -> bool:
    """Whether a trial has one of the chosen values of every key."""
    own: dict[str, Any] = {
        "method": trial.method,
        "dataset": trial.dataset,
        "seed": trial.seed,
        **trial.settings,
    }
    return all(
        key in own and any(_same(own[key], value) for value in values)
        for key, values in chosen.items()
    )


def _same(own: Any, value: str) -> bool:
    if isinstance(own, str):
        return own.lower() == value
    try:
        return float(own) == float(value)
    except ValueError:
        raise ValueError(f"--only takes a number here; got {value!r}.") from None


def _grid(target: Target, runs: int, shortened: Mapping[str, int] | None = None) -> Iterator[Trial]:
    from mixpul.paper.trial import make_trial  # imports torch

    for seed in range(runs):
        for dataset in (*target.datasets, *target.extra_datasets):
            for value in target.values:
                for method in (*target.methods, *target.extra_methods):
                    settings = {target.setting: value, **(shortened or {})}
                    yield make_trial(target.name, dataset, method, seed, settings)
