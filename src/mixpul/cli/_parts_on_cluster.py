"""Parts of a table as tasks of a Dask cluster: scored by its workers, written here.

Workers need not see the model or the folder of scores. Only this process writes, so a worker that
comes back from the dead can neither spoil a file nor write one twice.
"""

import os
import tempfile
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from mixpul._util.cluster import connect, run_tasks
from mixpul._util.errors import MixpulError
from mixpul._util.files import write_whole
from mixpul.cli._outputs import explain_full_disk
from mixpul.cli._parts import MAKE_ROOM, Done, Outcome, PartTask, Performer, attempt_part
from mixpul.cli._scoring import Scorer
from mixpul.persistence.contents import load_content
from mixpul.tables.formats import split_place
from mixpul.tables.opening import is_remote
from mixpul.tables.parts import make_absolute

__all__ = ["use_workers"]


class Reply(NamedTuple):
    """What a worker sends back: the file of scores, if it made one, and what it warned of."""

    outcome: Done | str
    content: bytes | None
    warned: list[str]


@contextmanager
def use_workers(scheduler: str | None, model: Path) -> Iterator[Performer | None]:
    """Yield what scores parts on the workers of a cluster by a model file; None is here."""
    if scheduler is None:
        yield None
        return
    with connect(scheduler) as client:
        yield partial(_perform, client, model)


def _perform(
    client: Any, model: Path, tasks: list[PartTask], scorer: Scorer, checksum: str
) -> Generator[Outcome]:
    # All that a worker needs besides the model, whose bytes are sent instead of its objects.
    how = {
        "threshold": scorer.threshold,
        "style": dict(scorer.style),
        "id_column": scorer.id_column,
        "outputs": scorer.outputs,
        "n_workers": 1,  # the threads of a worker take a part each
    }
    sent = [task._replace(place=make_absolute(task.place)) for task in tasks]
    content = model.read_bytes()
    for task, reply in run_tasks(client, _score_there, sent, content, how, checksum):
        yield task, str(reply) if isinstance(reply, MixpulError) else _keep(reply, task, scorer)


def _keep(reply: Reply, task: PartTask, scorer: Scorer) -> Done | str:
    """Write the scores that came from a worker, and repeat its warnings."""
    for sentence in reply.warned:
        warnings.warn(sentence, UserWarning, stacklevel=2)
    if reply.content is None:
        return reply.outcome
    target = Path(scorer.outputs.out) / task.output
    try:
        with explain_full_disk(repr(str(target)), MAKE_ROOM):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, reply.content)
    except OSError as error:
        return str(error)
    return reply.outcome


def _score_there(task: PartTask, content: bytes, how: dict[str, Any], checksum: str) -> Reply:
    """Score a part; a worker runs this."""
    path = split_place(task.place)[0]
    if not is_remote(path) and not os.path.exists(path):
        return Reply(
            f"A worker does not see {task.place!r}; all workers must see the parts, in a folder "
            "that they share or in a store such as s3://.",
            None,
            [],
        )
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always", UserWarning)
        file = Path(folder) / PurePosixPath(task.output).name
        outcome = attempt_part(Scorer(*load_content(content), **how), task, file, checksum)
        written = file.read_bytes() if file.exists() else None
    # Subclasses, such as those on convergence, are for programmers.
    warned = [str(one.message) for one in caught if one.category is UserWarning]
    return Reply(outcome, written, list(dict.fromkeys(warned)))
