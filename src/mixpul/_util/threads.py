"""One thread for linear algebra: a fit ends in the same numbers on one core and on many.

Sums that several threads share come out in another order, so in other last digits, and a solver
can turn these into another model.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["renew_in_children", "use_one_thread"]


def renew_in_children(renew: Callable[[], None]) -> None:
    """Call `renew` in each forked child: another thread may hold a lock when the parent forks."""
    if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
        os.register_at_fork(after_in_child=renew)


class _Libraries:
    """The libraries that start threads, and how many blocks want one thread of them now.

    The number of BLAS threads belongs to the whole process: it is put back when the last of
    several blocks ends, in whichever thread that is. The number of OpenMP threads belongs to a
    thread, and each block puts it back.
    """

    def __init__(self) -> None:
        self.renew()
        self.n_blocks, self.limit = 0, None
        self.find()

    def renew(self) -> None:
        self.lock = RLock()

    def find(self) -> None:
        """Look for libraries again: some are loaded when they are first used."""
        found = ThreadpoolController()
        self.blas = found.select(user_api="blas")
        # torch has its own say in this (`mixpul.training.use_threads`): images take all threads.
        names = [
            one.filepath
            for one in found.lib_controllers
            if one.user_api == "openmp" and f"{os.sep}torch{os.sep}" not in one.filepath
        ]
        self.openmp = found.select(filepath=names)

    def enter(self, look_again: bool) -> Any:
        with self.lock:
            if not self.n_blocks:
                if look_again:
                    self.find()
                self.take_control()
                self.limit = self.blas.limit(limits=1)
            self.n_blocks += 1
        return self.openmp.limit(limits=1)

    def leave(self, own: Any) -> None:
        own.restore_original_limits()
        with self.lock:
            self.n_blocks -= 1
            if not self.n_blocks and self.limit is not None:
                self.take_control()
                self.limit.restore_original_limits()
                self.limit = None
                self.take_control()  # and leave it to whoever comes next

    def take_control(self) -> None:
        """Let this thread set the number of BLAS threads, whichever thread did so before.

        threadpoolctl 3.8 lets only the first thread set it for OpenBLAS, and does nothing in all
        others, without a word. The lock here keeps threads apart instead.
        """
        for library in self.blas.lib_controllers:
            if clear := getattr(library, "clear_controlling_thread", None):
                clear(force=True)


_libraries: _Libraries | None = None
_first = RLock()


def _renew_locks() -> None:
    global _first
    _first = RLock()
    if _libraries is not None:
        _libraries.renew()


renew_in_children(_renew_locks)


@contextmanager
def use_one_thread(look_again: bool = True) -> Iterator[None]:
    """Compute on one thread inside: BLAS in the whole process, OpenMP in this thread.

    With ``look_again=False`` libraries that were loaded after the first call may be missed, which
    saves some milliseconds.
    """
    global _libraries
    with _first:
        if _libraries is None:
            _libraries = _Libraries()
    own = _libraries.enter(look_again)
    try:
        yield
    finally:
        _libraries.leave(own)
