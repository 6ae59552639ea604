"""The workers of a Dask cluster, as a place where what is parallel runs.

What a task needs travels with the task, and the scheduler keeps it until the task is done. So a
worker that dies loses nothing: its tasks run again on another one. (Joblib's own backend for Dask
puts arrays on one worker, and they are gone with it.)
"""

import logging
import socket
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from joblib import parallel_config
from joblib.parallel import ParallelBackendBase, SequentialBackend

import mixpul
from mixpul._util.errors import MixpulError

__all__ = ["ClusterError", "connect", "run_tasks", "use_cluster"]

# A scheduler on a busy machine may take a while; where nobody listens, this is known at once.
SECONDS_TO_ANSWER = 30
# Tasks handed out for each thread of the cluster: the next one is there when one is done, and
# hardly more than what is under way is lost when this process is killed.
TASKS_PER_THREAD = 2
PREFIX = "distributed."
GONE = "The Dask scheduler is gone; start it again, and run the command again."


class ClusterError(MixpulError):
    """A Dask cluster that does not answer, or that cannot do the work."""


@contextmanager
def connect(scheduler: str) -> Iterator[Any]:
    """Yield a client of the Dask scheduler at an address; its workers have this mixpul."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise ImportError("A Dask scheduler needs Dask: pip install 'mixpul[cluster]'.") from None
    # Rows travel with tasks on purpose.
    settings = {"distributed.admin.large-graph-warning-threshold": "1TB"}
    with _keep_quiet(), dask.config.set(settings):
        try:
            _knock(scheduler)
            client = Client(scheduler, timeout=SECONDS_TO_ANSWER, set_as_default=False)
        # What an address can be wrong in: nobody there, not an address, something else there.
        except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ClusterError(
                f"No Dask scheduler answers at {scheduler!r} ({reason}); give the address that "
                "`dask scheduler` prints, such as tcp://127.0.0.1:8786."
            ) from None
        with client:
            _check_workers(client, scheduler)
            yield client


@contextmanager
def use_cluster(scheduler: str | None) -> Iterator[None]:
    """Run what joblib runs in parallel on the workers of a Dask cluster; None changes nothing."""
    if scheduler is None:
        yield
        return
    with connect(scheduler) as client, parallel_config(ClusterBackend(client), n_jobs=-1):
        yield


def run_tasks(
    client: Any, function: Callable[..., Any], jobs: Iterable[Any], *shared: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield each job and what `function(job, *shared)` returned, as they come.

    What kills every worker that tries it becomes a `ClusterError`, in the place of the result. The
    `shared` values are sent once, not with every job.
    """
    from distributed import as_completed

    held = [client.submit(_hold, value, pure=False) for value in shared]
    waiting = iter(jobs)
    under_way: dict[Any, Any] = {}
    completed = as_completed([], loop=client.loop)

    def hand_out() -> None:
        # Counted again: workers come and go.
        most = TASKS_PER_THREAD * max(1, _count_threads(client))
        for job in islice(waiting, max(0, most - len(under_way))):
            future = client.submit(function, job, *held, pure=False)
            under_way[future] = job
            completed.add(future)

    hand_out()
    for future in completed:
        job = under_way.pop(future)
        try:
            result = _take_result(future)
        except ClusterError as error:
            # A cluster that is gone will not do the other jobs either.
            if future.status != "error":
                raise
            result = error
        hand_out()
        yield job, result


class ClusterBackend(ParallelBackendBase):
    """Joblib's calls as tasks of a Dask cluster; what is parallel inside of one is not divided."""

    supports_retrieve_callback = True
    default_n_jobs = -1

    def __init__(self, client: Any = None) -> None:
        super().__init__(nesting_level=0)
        self.client = client

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Count the threads of the cluster; joblib would do the work of a single one here."""
        return 1 if n_jobs == 1 else max(2, _count_threads(self.client))

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Any:
        """Hand a batch of calls over."""
        future = self.client.submit(_call_all, func.items, pure=False)
        future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """Return what a batch of calls returned, or raise what it raised."""
        return _take_result(out)

    def get_nested_backend(self) -> tuple[SequentialBackend, None]:
        """Divide no further: a task is what one thread of a worker does."""
        return SequentialBackend(nesting_level=1), None


def _hold(value: Any) -> Any:
    # A task, not scattered data: if the worker that holds it dies, the scheduler can repeat it.
    return value


def _call_all(calls: Iterable[tuple[Callable[..., Any], Any, Any]]) -> list[Any]:
    with parallel_config("sequential"):
        return [function(*args, **kwargs) for function, args, kwargs in calls]


def _count_threads(client: Any) -> int:
    try:
        return sum(client.nthreads().values())
    except OSError as error:
        raise ClusterError(GONE) from error


def _take_result(future: Any) -> Any:
    from concurrent.futures import CancelledError

    from distributed.scheduler import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise ClusterError(
            "It was given up because each worker that tried it died, as workers without enough "
            "memory do; look into the log of "
            f"{getattr(error.last_worker, 'address', 'the workers')}."
        ) from None
    except (CancelledError, OSError) as error:
        if future.status == "error":  # the task's own
            raise
        raise ClusterError(GONE) from error


def _check_workers(client: Any, scheduler: str) -> None:
    """Refuse workers with another mixpul, or none; say it if there is no worker yet."""
    found = client.get_versions(packages=["mixpul"])["workers"]
    for address, about in found.items():
        version = about["packages"]["mixpul"]
        if version != mixpul.__version__:
            what = "no mixpul" if version is None else f"mixpul {version}"
            raise ClusterError(
                f"The Dask worker at {address} has {what}, and this is {mixpul.__version__}; "
                "install the same version everywhere."
            )
    if not found:
        warnings.warn(
            f"The Dask scheduler at {scheduler} has no workers; the work waits until one is "
            f"started: dask worker {scheduler}",
            UserWarning,
            stacklevel=2,
        )


def _knock(scheduler: str) -> None:
    """Refuse an address where no scheduler is: Dask would try again, or wait for an answer."""
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, place = parse_address(scheduler)
    if scheme in ("tcp", "tls"):
        with socket.create_connection(parse_host_port(place), SECONDS_TO_ANSWER) as door:
            # A scheduler speaks first. Web servers wait to be asked, for ever if need be.
            if scheme == "tcp" and not door.recv(1):
                raise OSError("something else listens there")


@contextmanager
def _keep_quiet() -> Iterator[None]:
    """Leave out what Dask writes on each worker that comes or goes: errors are raised anyway."""
    known = ["distributed", *(n for n in logging.root.manager.loggerDict if n.startswith(PREFIX))]
    # Those without a level of their own ask the one above.
    levels = {name: level for name in known if (level := logging.getLogger(name).level)}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
