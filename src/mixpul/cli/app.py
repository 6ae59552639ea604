"""The command line: `mixpul --help`."""

import errno
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from mixpul.cli.audit import audit
from mixpul.cli.compare import compare
from mixpul.cli.demo import demo
from mixpul.cli.distill import distill
from mixpul.cli.evaluate import evaluate
from mixpul.cli.fit import fit
from mixpul.cli.fit_images import fit_images
from mixpul.cli.inspect import inspect
from mixpul.cli.options import expand_groups
from mixpul.cli.predict import predict
from mixpul.cli.predict_images import predict_images
from mixpul.cli.prior import prior
from mixpul.cli.report import report
from mixpul.cli.reproduce import reproduce
from mixpul.cli.review import review

__all__ = ["app", "main"]

app = typer.Typer(
    help="Learn from rows labeled positive and unlabeled rows.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
# In the order of the help: the paper, a user's own table, a user's own images.
COMMANDS: tuple[Callable[..., None], ...] = (
    demo,
    reproduce,
    report,
    fit,
    compare,
    predict,
    distill,
    review,
    audit,
    evaluate,
    prior,
    inspect,
    fit_images,
    predict_images,
)
for command in COMMANDS:
    app.command()(expand_groups(command))


def main() -> None:
    """Run the command line; bad input is one sentence on standard error, never a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        # What shells expect of a program that Ctrl-C has stopped.
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone, as `head` does; Python would complain again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    # What bad input raises; anything else is a bug of ours and keeps its traceback.
    except (ValueError, FloatingPointError, OSError, ImportError) as error:
        # Files of ours that do not fit are named where they are written.
        is_full = getattr(error, "errno", None) == errno.ENOSPC
        sentence = "Standard output cannot be written: no space is left." if is_full else error
        print(f"mixpul: {sentence}", file=sys.stderr)
        sys.exit(getattr(error, "exit_code", 1))


def show_version(asked: bool) -> None:
    """Print the version and stop, if that was asked for."""
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
