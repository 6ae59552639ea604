"""The command line: `mixpul --help`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Learn from rows labeled positive and unlabeled rows.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; bad input is one sentence on standard error, never a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError, ImportError) as error:
        print(f"mixpul: {error}", file=sys.stderr)
        sys.exit(1)


def show_version(asked: bool) -> None:
    if asked:
        from mixpul import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learn from rows labeled positive and unlabeled rows."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("mixpul-demo"),
    c: Annotated[
        float, typer.Option(help="Share of the positives that are labeled, in (0, 1].")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the training.")] = 0,
) -> None:
    """Compare MixPUL with "unlabeled is negative" on a bundled spam data set.

    Example: [bold]mixpul demo --c 0.01 --out /tmp/spam[/bold]
    """
    # Imported here: torch and scikit-learn take seconds, --help should not.
    from mixpul.demo import run

    run(out, c, seed)


@app.command()
def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            help="uci, mnist, cifar10, rn-mining, prior-error, mixup-ablation, margin-ablation "
            "or all."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of results.")] = Path("results"),
    runs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of runs, each with a seed of its own.", show_default=False
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    only: Annotated[
        str, typer.Option(help="Trials to keep, such as method=nnPU,method=MixPUL,c=0.1")
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of data sets that are not bundled.",
            envvar="MIXPUL_DATA",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many trials are done and left; run none.")
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler to run the trials on.", show_default=False),
    ] = None,
    pack: Annotated[
        bool, typer.Option("--pack", help="Gather the results into one file per target at the end.")
    ] = False,
) -> None:
    """Run a table or figure of the paper; stopped at any moment, it goes on where it stopped.

    Example: [bold]mixpul reproduce uci --only dataset=titanic --runs 3 --jobs 2[/bold]
    """
    from mixpul.reproduce import reproduce as run

    failures = run(
        target,
        out,
        runs=runs,
        jobs=jobs,
        only=only,
        data=data,
        dry_run=dry_run,
        scheduler=scheduler,
        pack=pack,
    )
    if failures:
        raise typer.Exit(1)


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="Folder of results of `mixpul reproduce`.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write.")] = Path(
        "report.html"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Also write the tables as Markdown.", show_default=False)
    ] = None,
) -> None:
    """Turn results into one page: the paper's tables and figures, our numbers beside them.

    Example: [bold]mixpul report results -o report.html[/bold]
    """
    from mixpul.report import write_report

    write_report(results, out, markdown)
    print(f"Page: {out}")
