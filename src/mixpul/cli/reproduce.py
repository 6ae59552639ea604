"""`mixpul reproduce`: run the paper's experiments."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from mixpul.cli.options import Preset, SchedulerOption
from mixpul.paper import names

__all__ = ["reproduce"]

# CIFAR-10 on a CPU is a preset of the one target.
TARGET_NAMES = (
    names.UCI,
    names.MNIST,
    names.CIFAR10,
    names.RN_MINING,
    names.PRIOR_ERROR,
    names.MIXUP_ABLATION,
    names.MARGIN_ABLATION,
)


class TrialOptions(NamedTuple):
    """Which trials are run."""

    runs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of runs, each with a seed of its own.", show_default=False
        ),
    ] = None
    only: Annotated[
        str, typer.Option(help="Trials to keep, such as method=nnPU,method=MixPUL,c=0.1")
    ] = ""
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="How CIFAR-10 is learned: paper, as published, for a GPU; cpu, a small network, "
            "for minutes. By default paper where there is a GPU, otherwise cpu.",
            show_default=False,
        ),
    ] = None
    subset: Annotated[
        int | None,
        typer.Option(
            min=10,
            help="Train and test on that many rows only; reports leave such trials out.",
            show_default=False,
        ),
    ] = None
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Train for that many epochs only; reports leave such trials out.",
            show_default=False,
        ),
    ] = None

    def list_shortened(self) -> dict[str, int]:
        """Return by what trials are made shorter, for a quick try."""
        shortened = {"subset": self.subset, "epochs": self.epochs}
        return {name: value for name, value in shortened.items() if value is not None}


class RunOptions(NamedTuple):
    """Where and how trials are run."""

    out: Annotated[Path, typer.Option(help="Folder of results.")] = Path("results")
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of data sets that are not bundled.",
            envvar="MIXPUL_DATA",
            show_default=False,
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many trials are done and left; run none.")
    ] = False
    scheduler: SchedulerOption = None
    pack: Annotated[
        bool, typer.Option("--pack", help="Gather the results into one file per target at the end.")
    ] = False


def reproduce(
    target: Annotated[
        str,
        typer.Argument(help=f"{', '.join(TARGET_NAMES)} or {names.EVERY_TARGET}."),
    ],
    trials: TrialOptions,
    running: RunOptions,
) -> None:
    """Run a table or figure of the paper; the same command continues a run that was stopped.

    Example: [bold]mixpul reproduce uci --only dataset=titanic --runs 3 --jobs 2[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.paper.reproduce import reproduce as reproduce_target

    n_failures = reproduce_target(
        target,
        running.out,
        runs=trials.runs,
        jobs=running.jobs,
        only=trials.only,
        data=running.data,
        dry_run=running.dry_run,
        scheduler=running.scheduler,
        pack=running.pack,
        preset=trials.preset and trials.preset.value,
        shortened=trials.list_shortened(),
    )
    if n_failures:
        raise typer.Exit(1)
