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
