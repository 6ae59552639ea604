"""What `mixpul reproduce` does: plan the trials of a target, run those that are left, sum up."""

from functools import partial
from pathlib import Path

import torch
from joblib import cpu_count
from rich.console import Console
from rich.markup import escape

from mixpul import datasets
from mixpul._names import PRESETS
from mixpul._util.errors import MixpulError
from mixpul.paper.grid import trials_of
from mixpul.paper.names import EVERY_TARGET, find_source
from mixpul.paper.perform import perform
from mixpul.paper.runs import Plan, Record, estimate_seconds, has_failed, pack_results, plan, run
from mixpul.paper.trial import Trial

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
    """Run the trials left of a target, write to `out`, and return the number of failed ones."""
    console = Console(highlight=False, soft_wrap=True)
    if preset is None and target in (EVERY_TARGET, *PRESETS.values()):
        preset = "paper" if torch.cuda.is_available() else "cpu"
        console.print(f"CIFAR-10: preset {preset}; --preset takes {' or '.join(PRESETS)}.")
    trials = trials_of(target, runs=runs, only=only, preset=preset, shortened=shortened)
    if not trials:
        raise MixpulError(f"No trial of {target!r} matches --only {only!r}.")
    trials = _keep_available(trials, data, console, download=not dry_run)
    todo = plan(trials, out)
    console.print(
        f"{escape(target)}: {len(todo.done)} of {len(trials)} trials are done, "
        f"{len(todo.left)} left{_describe_time(todo, jobs)}"
    )
    if dry_run:
        return 0
    task = partial(perform, data=data)
    if scheduler is None:
        # On a cluster the folder is not there to keep checkpoints in, nor are its cores ours.
        task = partial(task, results=out, threads=max(1, cpu_count() // jobs))
    try:
        records = run(todo.left, task, out, jobs=jobs, scheduler=scheduler, verbose=1)
    except KeyboardInterrupt:
        console.print("Stopped. The same command goes on where it stopped.")
        raise
    failures = _report_failures(records, console)
    console.print(
        f"{len(records) - len(failures)} trials done now; results are in {escape(str(out))}"
    )
    if pack:
        for name in sorted({trial.target for trial in trials}):
            pack_results(out, name)
    return len(failures)


def _keep_available(
    trials: list[Trial], data: Path | None, console: Console, *, download: bool
) -> list[Trial]:
    """Return the trials whose data are here, with a message on each data set that is not."""
    absent = set()
    for source in dict.fromkeys(find_source(trial.dataset) for trial in trials):
        try:
            # Downloaded once, here: trials only read what is there.
            datasets.load(source, data=data, download=download)
        except datasets.DataNotAvailable as error:
            absent.add(source)
            console.print(f"{source}: data not available. {escape(str(error))}", style="yellow")
    return [trial for trial in trials if find_source(trial.dataset) not in absent]


def _describe_time(todo: Plan, jobs: int) -> str:
    if not todo.left:
        return "."
    if not todo.new:
        return "; all of them are done for another target, too."
    seconds = estimate_seconds(todo.new, todo.done)
    if seconds is None:
        return "; how long they take is known once some are done."
    shared = len(todo.left) - len(todo.new)
    taken = f", {shared} of them shared with another target" if shared else ""
    minutes = seconds / jobs / 60
    return f"{taken}, about {minutes:.0f} minutes with {jobs} at a time."


def _report_failures(records: list[Record], console: Console) -> list[Record]:
    failures = [record for record in records if has_failed(record)]
    for record in failures:
        console.print(f"failed: {escape(record['id'])}: {escape(record['failure'])}", style="red")
    return failures
