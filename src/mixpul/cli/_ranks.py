"""A command in several processes that torchrun has started: one of them speaks for all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from mixpul._util.ranks import is_main, join_ranks

__all__ = ["join_quietly"]


@contextmanager
def join_quietly() -> Iterator[bool]:
    """Join the other processes, if there are any; yield whether this one prints and writes.

    The others say nothing inside. An error leaves the block, so that each can say its own.
    """
    with join_ranks():
        if is_main():
            yield True
            return
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            yield False
