"""Parts of a table one after the other, or as tasks wherever joblib runs what is parallel."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from mixpul.tables.opening import is_stream
from mixpul.tables.parts import make_absolute

__all__ = ["map_parts"]

T = TypeVar("T")


def map_parts(
    function: Callable[..., T], tasks: Sequence[Any], *more: Any, known: dict[Any, Any]
) -> Iterable[T]:
    """Yield what ``function(task, *more, known)`` returns, in any order.

    A task has a `part`. `known` may change meanwhile: a task gets it as it is when it is begun.
    """
    # A stream is here and nowhere else.
    n_jobs = 1 if any(is_stream(task.part.name) for task in tasks) else None
    if effective_n_jobs(n_jobs) > 1:
        # Workers run in other folders.
        tasks = [
            task._replace(part=task.part._replace(name=make_absolute(task.part.name)))
            for task in tasks
        ]
    pool = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    return pool(delayed(function)(task, *more, dict(known)) for task in tasks)
