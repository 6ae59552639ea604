"""The command line: `mixpul --help`."""

import errno
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mixpul._util.errors import MixpulError
from mixpul._util.files import FULL
from mixpul._util.printable import make_printable, shorten
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

__all__ = ["app", "explain", "find_exit_code", "main"]

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
    distill,
    monitor,
    export,
    card,
    serve,
)
# A library may quote what it has read, whatever its length.
LONGEST_SENTENCE = 3000
BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130
# Of the system's errors, those that another path or another permission would mend.
WRONG_PATHS = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
WRONG_NAMES = (errno.ELOOP, errno.ENAMETOOLONG, errno.EROFS)

for command in COMMANDS:
    app.command()(expand_groups(command))


def main() -> None:
    """Run the command line; whatever goes wrong is one sentence on standard error."""
    secure_streams()
    # Before torch is loaded: its threads sleep while they wait for each other. Where another
    # process keeps a core busy, those that spin make training on images up to twice as slow.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
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
        code = INTERRUPTED
    # The reader has gone, as `head` does.
    except BrokenPipeError:
        code = FAILED
    except Exception as error:
        if is_debug:
            raise
        complain(explain(error))
        code = find_exit_code(error)
    release_streams()
    sys.exit(code)


def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Say a warning meant for users as a sentence; those for programmers are not shown."""
    if category is UserWarning:
        complain(f"warning: {make_printable(str(message))}")


def explain(error: BaseException) -> str:
    """Return an exception as one sentence, without anything that a terminal would obey."""
    said = shorten(make_printable(" ".join(str(error).split())), LONGEST_SENTENCE)
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


def find_exit_code(error: BaseException) -> int:
    """Return 2 for input that cannot work, as typer does, and 1 for what failed otherwise."""
    if isinstance(error, OSError) and not isinstance(error, MixpulError):
        is_bad = isinstance(error, WRONG_PATHS) or error.errno in WRONG_NAMES
    else:
        # A stack that is full comes of nesting in the input; memory that is, of the machine.
        is_bad = isinstance(error, (*EXPECTED, RecursionError))
    return BAD_INPUT if is_bad else FAILED


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
