"""The command line: `mixpul --help`."""

import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from mixpul._util.errors import MixpulError
from mixpul._util.files import FULL
from mixpul._util.printable import make_printable
from mixpul._util.processes import is_one_of_several
from mixpul.cli._streams import complain, release_streams, secure_streams
from mixpul.cli.audit import audit
from mixpul.cli.card import card
from mixpul.cli.compare import compare
from mixpul.cli.demo import demo
from mixpul.cli.distill import distill
from mixpul.cli.evaluate import evaluate
from mixpul.cli.export import export
from mixpul.cli.fit import fit
from mixpul.cli.fit_images import fit_images
from mixpul.cli.inspect import inspect
from mixpul.cli.monitor import monitor
from mixpul.cli.options import expand_groups
from mixpul.cli.predict import predict
from mixpul.cli.predict_images import predict_images
from mixpul.cli.prior import prior
from mixpul.cli.report import report
from mixpul.cli.reproduce import reproduce
from mixpul.cli.review import review
from mixpul.cli.serve import serve

__all__ = ["app", "explain", "main"]

DEBUG = "--debug"
# What bad input raises: the message is a sentence for users. Others are named.
EXPECTED = (ValueError, FloatingPointError, OSError, ImportError)

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
    review,
    audit,
    evaluate,
    prior,
    inspect,
    fit_images,
    predict_images,
)
# Commands that schedulers and scripts run: any bad input of theirs has the exit code 2.
STRICT_COMMANDS: tuple[Callable[..., None], ...] = (distill, monitor, export, card, serve)


def refuse_by_two(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command, whose bad input ends in exit code 2, as that of the command line does."""

    @wraps(command)
    def run(**typed: Any) -> None:
        try:
            command(**typed)
        except (ValueError, OSError, ImportError) as error:
            error.exit_code = 2  # type: ignore[union-attr]
            raise

    return run


for command in COMMANDS:
    app.command()(expand_groups(command))
for command in STRICT_COMMANDS:
    app.command()(refuse_by_two(expand_groups(command)))


def main() -> None:
    """Run the command line; whatever goes wrong is one sentence on standard error."""
    secure_streams()
    warnings.showwarning = show_warning
    # Anywhere on the line: whoever looks for a cause adds it at the end.
    is_debug = DEBUG in sys.argv or os.environ.get("MIXPUL_DEBUG", "") not in ("", "0")
    sys.argv = [word for word in sys.argv if word != DEBUG]
    try:
        app()
    except SystemExit as stopped:
        code = stopped.code
    except KeyboardInterrupt:
        # What shells expect of a program that Ctrl-C has stopped.
        code = 130
    # The reader has gone, as `head` does.
    except BrokenPipeError:
        code = 1
    except Exception as error:
        if is_debug:
            raise
        complain(explain(error))
        code = getattr(error, "exit_code", 1)
    release_streams()
    sys.exit(code)


def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Say a warning meant for users as a sentence; those for programmers are not shown."""
    if category is UserWarning:
        complain(f"warning: {make_printable(str(message))}")


def explain(error: BaseException) -> str:
    """Return an exception as one sentence, without anything that a terminal would obey."""
    said = make_printable(" ".join(str(error).split()))
    if isinstance(error, MemoryError):
        said = "There is not enough memory for this; take fewer rows, or a machine with more."
    elif isinstance(error, RecursionError):
        said = "Something in the input is nested too deeply to be read."
    elif isinstance(error, OSError) and error.errno in FULL and error.filename is not None:
        said = f"{str(error.filename)!r} was not written: {os.strerror(error.errno)}. Make room."
    elif isinstance(error, OSError) and error.errno in FULL:
        said = f"A temporary file was not written: {os.strerror(error.errno)}. Make room."
    elif not isinstance(error, EXPECTED) or not said:
        # A bug of ours, or of a library: the name of the exception helps whoever reports it.
        name = type(error).__name__
        said = f"{name}: {said}".rstrip(": ") + f". Please report it, with what {DEBUG} prints."
    return said


def show_version(asked: bool) -> None:
    """Print the version and stop, if that was asked for."""
    if asked:
        from mixpul import __version__

        print(__version__)
        raise typer.Exit


def check_processes(command: str | None) -> None:
    """Refuse to do the work of one process in each of those that torchrun starts."""
    if is_one_of_several() and command != "fit-images":
        raise MixpulError(
            f"mixpul {command} runs in one process; start it without torchrun. In several "
            "processes there is mixpul fit-images."
        )


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            DEBUG,
            help="Show the traceback of an error, for a report; also MIXPUL_DEBUG=1.",
        ),
    ] = False,
) -> None:
    """Learn from rows labeled positive and unlabeled rows."""
    check_processes(context.invoked_subcommand)
