"""Processes that belong together: workers and their parent, and those of one training."""

import os
import time
from threading import Thread

__all__ = ["end_with", "is_one_of_several"]

SECONDS_BETWEEN_LOOKS = 0.5
_watched: set[int] = set()


def end_with(parent: int) -> None:
    """End this process, a worker, when its parent of that number is gone.

    A worker whose parent was killed would go on with its task, and then wait for minutes. Called
    in the parent itself, as by tasks that run there, it does nothing.
    """
    if os.getpid() in (parent, *_watched) or not hasattr(os, "getppid"):
        return
    _watched.add(os.getpid())
    # By the number of the parent, not by a signal: systems send that when a thread ends, too.
    Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    # The parent may be gone already, before this worker was ready.
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)


def is_one_of_several() -> bool:
    """Tell whether torchrun has started this process and others beside it."""
    # Not by the number of processes alone: schedulers of clusters set that as well.
    return "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1"
