"""Standard streams that may be closed, full, or of an alphabet too small for what is said."""

import io
import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["OutputLost", "complain", "release_streams", "secure_streams"]


class OutputLost(OSError):
    """Standard output cannot be written; the message says why."""


class _Output:
    """Standard output that says of itself when it cannot be written.

    An error of the system does not name the file, and a full disk may be that of another one.
    """

    def __init__(self, stream: Any, is_closed: bool) -> None:
        self._stream, self._is_closed = stream, is_closed

    def write(self, text: str) -> int:
        return self._try(self._stream.write, text)

    def flush(self) -> None:
        if not self._is_closed:
            self._try(self._stream.flush)

    @property
    def buffer(self) -> Any:
        self._check()
        return self._stream.buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _check(self) -> None:
        if self._is_closed:
            raise OutputLost("Standard output is closed, so that nothing can be shown.")

    def _try(self, do: Any, *args: Any) -> Any:
        self._check()
        try:
            return do(*args)
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise OutputLost(f"Standard output cannot be written: {reason}.") from error


def secure_streams() -> None:
    """Make standard streams safe to use, whatever they are."""
    # A file that is opened next would take the number of a closed stream, and get its words.
    is_closed = [not _is_open(number) for number in range(3)]
    for number, closed in enumerate(is_closed):
        if closed:
            os.open(os.devnull, os.O_RDWR)
            assert _is_open(number)
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 (as long as the process)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    lost = sys.stdout is None
    plain = io.TextIOWrapper(open(os.devnull, "wb")) if lost else sys.stdout  # noqa: SIM115
    streams: list[Any] = [plain, sys.stderr]
    for stream in streams:
        # A letter that the terminal does not know is written as its number.
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = _Output(plain, lost)


def complain(sentence: str) -> None:
    """Print a sentence on standard error, if that can be written."""
    with suppress(OSError, ValueError):
        print(f"mixpul: {sentence}", file=sys.stderr, flush=True)


def release_streams() -> None:
    """Let streams that cannot be written take the rest: Python would complain at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
