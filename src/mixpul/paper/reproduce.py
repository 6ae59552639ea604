"""What `mixpul reproduce` does: plan the trials of a target, run those that are left, sum up."""

from functools import partial
from pathlib import Path

import torch
from joblib import cpu_count
from rich.console import Console
from rich.markup import escape

from mixpul import datasets
from mixpul.paper.runs import (
    Plan,
    Trial,
    estimated_seconds,
    failed,
    pack_results,
    plan,
    run,
)
from mixpul.paper.targets import PRESETS, trials_of
from mixpul.paper.trial import perform, source_of

__all__ = ["reproduce"]


def reproduce(
    target: str,
    out: Path,
    *,
    runs: int | None = None,
    jobs: int = 1,
    only: str = "",
    data: Path | None = None,
    dry_run: bool = False,
    scheduler: str | None = None,
    pack: bool = False,
    preset: str | None = None,
    shortened: dict[str, int] | None = None,
) -> int:
    """Run what is left of a target into the folder `out`; gives the number of failed trials."""
    console = Console(highlight=False, soft_wrap=True)
    if preset is None and target in ("all", *PRESETS.values()):
        preset = "paper" if torch.cuda.is_available() else "cpu"
        console.print(f"CIFAR-10: preset {preset}; --preset takes {' or '.join(PRESETS)}.")
    trials = trials_of(target, runs=runs, only=only, preset=preset, shortened=shortened)
    if not trials:
        raise ValueError(f"No trial of {target!r} matches --only {only!r}.")
    trials = _with_data(trials, data, console, download=not dry_run)
    todo = plan(trials, out)
    n_done, n_left = len(todo.done), len(todo.left)
    console.print(
        f"{escape(target)}: {n_done} of {len(trials)} trials are done, {n_left} left"
        + _time_text(todo, jobs)
    )
    if dry_run:
        return 0
    try:
        task = partial(perform, data=data)
        if scheduler is None:
            # On a cluster the folder is not there to keep checkpoints in, nor are its cores ours.
            task = partial(task, results=out, threads=max(1, cpu_count() // jobs))
        records = run(todo.left, task, out, jobs=jobs, scheduler=scheduler, verbose=1)
    except KeyboardInterrupt:
        console.print("Stopped. The same command goes on where it stopped.")
        raise
    failures = [record for record in records if failed(record)]
    for record in failures:
        console.print(f"failed: {escape(record['id'])}: {escape(record['failure'])}", style="red")
    console.print(f"{len(records) - len(failures)} trials done now; results are in {out}")
    if pack:
        for name in sorted({trial.target for trial in trials}):
            pack_results(out, name)
    return len(failures)


def _with_data(
    trials: list[Trial], data: Path | None, console: Console, *, download: bool
) -> list[Trial]:
    """Trials whose data are here; a sentence on each data set that is not."""
    absent = set()
    for source in dict.fromkeys(source_of(trial.dataset) for trial in trials):
        try:
            datasets.load(source, data=data, download=download)
        except datasets.DataNotAvailable as error:
            absent.add(source)
            console.print(f"{source}: data not available. {escape(str(error))}", style="yellow")
    return [trial for trial in trials if source_of(trial.dataset) not in absent]


def _time_text(todo: Plan, jobs: int) -> str:
    if not todo.left:
        return "."
    seconds = estimated_seconds(todo.left, todo.done)
    if seconds is None:
        return "; how long they take is known once some are done."
    minutes = seconds / jobs / 60
    return f", about {minutes:.0f} minutes with {jobs} at a time."
