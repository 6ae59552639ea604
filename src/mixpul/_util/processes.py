"""Worker processes that do not outlive the process that started them."""

import multiprocessing
import os
import time
from threading import Thread

__all__ = ["end_with_parent"]

SECONDS_BETWEEN_LOOKS = 0.5
_is_watched = False


def end_with_parent() -> None:
    """End this process when its parent is gone, if it is one of joblib's workers.

    A worker whose parent was killed would go on with its task, and then wait for minutes.
    """
    global _is_watched
    if _is_watched or not multiprocessing.current_process().name.startswith("LokyProcess"):
        return
    _is_watched = True
    # By the number of the parent, not by a signal: systems send that when a thread ends, too.
    Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
