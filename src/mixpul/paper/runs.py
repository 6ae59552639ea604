"""Many trials: in parallel, each result one file, stopped and taken up again at will.

A folder of results holds two things for every target: `TARGET.jsonl` with finished trials, one per
line, and the folder `TARGET/` with one JSON file for each trial finished since. A trial is done
when its result is in either of them.
"""

import datetime
import json
import os
import platform
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config

from mixpul import __version__
from mixpul._util.cluster import use_cluster
from mixpul._util.errors import DamagedFile
from mixpul._util.files import lock_folder, remove_partials, write_whole
from mixpul._util.json_values import hash_json, read_json
from mixpul._util.processes import end_with
from mixpul._util.progress import progress_bar
from mixpul._util.schema import Anything, MapOf, Maybe, Number, Spec, Text, check_value
from mixpul._util.schema import Record as Fields
from mixpul.paper.trial import Trial

__all__ = [
    "Plan",
    "Trial",
    "estimate_seconds",
    "has_failed",
    "pack_results",
    "plan",
    "read_results",
    "run",
]

Record = dict[str, Any]

CHECKSUM = "sha256"
SCORE = Number(0, 1)
OF_TRIAL: dict[str, Spec] = {
    "id": Text(),
    "target": Text(),
    "dataset": Text(),
    "method": Text(),
    "seed": Number(whole=True),
    "settings": MapOf(Anything()),
    "recipe": Text(),
    "version": Text(),
    "seconds": Number(0),
    "finished": Text(),
    "made_with": MapOf(Anything()),
}
MAYBE: dict[str, Spec] = {
    "failure": Text(),
    "traceback": Text(),
    "auc": SCORE,
    "error": SCORE,
    "pu_auc": SCORE,
    "prior": SCORE,
    "used_prior": SCORE,
    "labeled": Number(0, whole=True),
    "unlabeled": Number(0, whole=True),
    "fit_seconds": Maybe(Number(0)),
    "predict_seconds": Number(0),
    "threads": Number(1, whole=True),
    "epochs": Number(0, whole=True),
    "warmup": Number(),
    "curve": MapOf(Anything()),
    CHECKSUM: Text(),
}
RESULT = Fields(OF_TRIAL, MAYBE)
KNOWN = OF_TRIAL.keys() | MAYBE.keys()


@dataclass(frozen=True)
class Plan:
    """What a run has to do.

    Attributes
    ----------
    left : list of Trial
        Trials that have no result.
    done : list of dict
        The results of the others.
    elsewhere : dict of str to dict
        Results of other targets that will do for trials that are left, by `Trial.work`.
    """

    left: list[Trial]
    done: list[Record]
    elsewhere: dict[str, Record]

    @property
    def new(self) -> list[Trial]:
        """Trials to perform: of those that differ in their target alone, the first."""
        first: dict[str, Trial] = {}
        for trial in self.left:
            if trial.work not in self.elsewhere:
                first.setdefault(trial.work, trial)
        return list(first.values())


def plan(trials: Iterable[Trial], folder: str | os.PathLike) -> Plan:
    """Divide `trials` into those whose result is in `folder` and those that are left.

    A trial that failed is left: the next run tries it again. So is a trial whose result is
    damaged; a warning names the file.
    """
    folder = Path(folder)
    results: dict[str, Record] = {}
    left, done = [], []
    read = set()
    for trial in trials:
        if trial.target not in read:
            read.add(trial.target)
            records = _collect_results(folder, trial.target, _note_damage)
            results |= {r["id"]: r for r in records if not has_failed(r)}
        if trial.id in results:
            done.append(results[trial.id])
        else:
            left.append(trial)
    return Plan(left, done, _find_elsewhere(folder, {trial.work for trial in left}))


def run(
    trials: Iterable[Trial],
    perform: Callable[[Trial], Record],
    folder: str | os.PathLike,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    verbose: int = 0,
) -> list[Record]:
    """Perform the trials that `folder` has no result of, and write each result as it comes.

    Parameters
    ----------
    trials : iterable of Trial
    perform : callable (Trial) -> dict
        What a trial does; a function of a module, so that other processes find it. An exception
        is recorded as the result of its trial, and the others go on. A trial that another target
        has, too, is performed once, and its result stands in both.
    folder : path
        Created if it does not exist. Several runs may write into it at once.
    jobs : int, default=1
        Number of processes; each works on one thread, unless `perform` asks for more.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers take the place of the processes. They need
        this version of mixpul and the data, but not the folder: results are written here.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    list of dict
        The results written by this run, in the order of their completion.
    """
    folder = Path(folder)
    todo = plan(trials, folder)
    folder.mkdir(parents=True, exist_ok=True)
    remove_partials(folder)
    for target in {trial.target for trial in todo.left}:
        (folder / target).mkdir(exist_ok=True)
        remove_partials(folder / target)
    same: dict[str, list[Trial]] = {}
    for trial in todo.left:
        same.setdefault(trial.work, []).append(trial)
    records = []
    with (
        _use_workers(jobs, scheduler),
        progress_bar(len(todo.left), "trials", verbose, unit="done") as advance,
    ):

        def finish(record: Record) -> None:
            # Written here: the workers of a cluster need not see the folder.
            _keep_result(folder, record)
            records.append(record)
            advance({})

        for work, record in todo.elsewhere.items():
            for trial in same[work]:
                finish(_copy_for(trial, record))
        # One trial at a time to a worker, and no more handed out than are about to run: a kill
        # loses only what is under way, and another run may take what is not.
        parallel = Parallel(batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered")
        for record in parallel(_make_tasks(todo.new, perform, folder)):
            finish(record)
            others = [] if has_failed(record) else same[_as_trial(record).work][1:]
            for trial in others:
                finish(_copy_for(trial, record))
    return records


def read_results(folder: str | os.PathLike, target: str) -> list[Record]:
    """Read the results of a target, from single files and the packed file, sorted by id."""
    return _collect_results(Path(folder), target, _raise_damage)


def _collect_results(
    folder: Path, target: str, on_damage: Callable[[DamagedFile], None]
) -> list[Record]:
    records: dict[str, Record] = {}
    for content, where, is_packed in _list_contents(folder, target):
        try:
            record = _parse_record(content, where)
        except DamagedFile as error:
            on_damage(error)
            continue
        # A later failure does not undo a result that is there.
        if is_packed or not has_failed(record) or record["id"] not in records:
            records[record["id"]] = record
    return [records[key] for key in sorted(records)]


def _list_contents(folder: Path, target: str) -> Iterator[tuple[bytes, str, bool]]:
    """Yield the results as they stand in files, where they stand, and if that is packed."""
    # First: what another run packs meanwhile is in the packed file before it is gone from here.
    single = []
    for path in sorted((folder / target).glob("*.json")):
        with suppress(FileNotFoundError):
            single.append((path.read_bytes(), str(path), False))
    packed = folder / f"{target}.jsonl"
    if packed.exists():
        for number, line in enumerate(packed.read_bytes().splitlines(), start=1):
            yield line, f"line {number} of {packed}", True
    yield from single


def _raise_damage(error: DamagedFile) -> None:
    raise error


def _note_damage(error: DamagedFile) -> None:
    warnings.warn(f"{error}", UserWarning, stacklevel=2)


def pack_results(folder: str | os.PathLike, target: str) -> Path | None:
    """Gather the single files of a target into `TARGET.jsonl`; None if there is no result.

    Failures are left as they are. The packed file is whole before single files are removed. Runs
    that finish a trial meanwhile, or pack as well, wait.
    """
    folder = Path(folder)
    if not folder.is_dir():
        return None
    with lock_folder(folder):
        records = [record for record in read_results(folder, target) if not has_failed(record)]
        if not records:
            return None
        whole = ({**record, CHECKSUM: hash_json(record)} for record in records)
        lines = "".join(json.dumps(record) + "\n" for record in whole)
        packed = folder / f"{target}.jsonl"
        write_whole(packed, lines.encode())
        for record in records:
            _locate_result(folder, target, record["id"]).unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            (folder / target).rmdir()
    return packed


def has_failed(record: Record) -> bool:
    """Say whether a result tells of a failure instead of scores."""
    return "failure" in record


def estimate_seconds(left: Iterable[Trial], done: Iterable[Record]) -> float | None:
    """Estimate the computing time of the trials that are left from those that are done.

    A trial is taken to last as long as those of its method on its data set did, otherwise as those
    of its method, otherwise as all. None if none is done.
    """
    times: dict[tuple[str, ...], list[float]] = {}
    for record in done:
        for key in ((record["dataset"], record["method"]), (record["method"],), ()):
            times.setdefault(key, []).append(record["seconds"])
    if not times:
        return None
    total = 0.0
    for trial in left:
        keys = ((trial.dataset, trial.method), (trial.method,), ())
        like = next(times[key] for key in keys if key in times)
        total += sum(like) / len(like)
    return total


def _find_elsewhere(folder: Path, wanted: set[str]) -> dict[str, Record]:
    """Return the results of all targets in `folder`, by their work, that are `wanted`."""
    if not wanted or not folder.is_dir():
        return {}
    targets = {path.stem for path in folder.glob("*.jsonl")}
    targets |= {path.name for path in folder.iterdir() if path.is_dir()}
    done = {}
    for target in sorted(targets):
        for record in _collect_results(folder, target, lambda _: None):
            if not has_failed(record) and (work := _as_trial(record).work) in wanted:
                done[work] = record
    return done


def _as_trial(record: Record) -> Trial:
    return Trial(**{field.name: record[field.name] for field in fields(Trial)})


def _copy_for(trial: Trial, record: Record) -> Record:
    return {**record, "id": trial.id, "target": trial.target}


def _make_tasks(
    left: list[Trial], perform: Callable[[Trial], Record], folder: Path
) -> Iterator[tuple[Any, ...]]:
    for trial in left:
        # Another run may have finished it since.
        path = _locate_result(folder, trial.target, trial.id)
        if not _is_finished(path):
            yield delayed(_attempt)(trial, perform)


def _is_finished(path: Path) -> bool:
    try:
        return not has_failed(_parse_record(path.read_bytes(), str(path)))
    except (DamagedFile, FileNotFoundError):
        return False


def _keep_result(folder: Path, record: Record) -> None:
    """Write the result of a trial, unless its folder is being packed: then wait."""
    path = _locate_result(folder, record["target"], record["id"])
    whole = {**record, CHECKSUM: hash_json(record)}
    with lock_folder(folder):
        # Packing removes a folder that is empty.
        path.parent.mkdir(exist_ok=True)
        write_whole(path, (json.dumps(whole, indent=1) + "\n").encode())


def _attempt(trial: Trial, perform: Callable[[Trial], Record]) -> Record:
    """Perform a trial in a process of its own; an exception becomes a record too."""
    # Here: a report reads results, and needs neither these nor the seconds torch takes to import.
    from threadpoolctl import threadpool_limits

    from mixpul.training import own_torch_state

    record: Record = {"id": trial.id, **asdict(trial)}
    start = datetime.datetime.now(datetime.UTC)
    try:
        if trial.version != __version__:
            raise RuntimeError(
                f"the trial is of mixpul {trial.version}, this worker has {__version__}; "
                "install the same version everywhere"
            )
        # Small networks are fastest on one thread, by far when all cores are busy.
        with (
            own_torch_state(trial.seed, n_threads=1),
            threadpool_limits(1),
            warnings.catch_warnings(),
        ):
            # Thousands of fits: what a warning has to say is in the scores.
            warnings.simplefilter("ignore")
            record |= perform(trial)
    except Exception as error:
        record["failure"] = f"{type(error).__name__}: {error}"
        record["traceback"] = traceback.format_exc()
    end = datetime.datetime.now(datetime.UTC)
    return record | {
        "seconds": round((end - start).total_seconds(), 3),
        "finished": end.isoformat(timespec="seconds"),
        "made_with": _describe_software(),
    }


def _describe_software() -> dict[str, str]:
    libraries = ("numpy", "scikit-learn", "scipy", "torch")
    return {
        "python": platform.python_version(),
        **{name: installed(name) for name in libraries},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


@contextmanager
def _use_workers(jobs: int, scheduler: str | None) -> Iterator[None]:
    """Run what is parallel in processes of this machine, or on the workers of a Dask cluster."""
    if scheduler is None:
        # From their start: a worker that has no task yet would outlive a run that is killed.
        watch = {"initializer": end_with, "initargs": (os.getpid(),)}
        with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1, **watch):
            yield
        return
    with use_cluster(scheduler):
        yield


def _parse_record(content: bytes, where: str) -> Record:
    """Return a result without its checksum, if it is as it was written."""
    try:
        record = read_json(content)
        check_value(record, RESULT)
        checksum = record.pop(CHECKSUM, None)
        # Results of earlier versions have none.
        if checksum is None and _holds_lost_checksum(record):
            raise DamagedFile("its checksum has lost its name.")
        if checksum is not None and checksum != hash_json(record):
            raise DamagedFile("its content does not match its checksum.")
    except DamagedFile as error:
        raise DamagedFile(
            f"This is not the result of a trial, or it is damaged: {where}. Remove it, and the "
            f"trial runs again ({error})"
        ) from None
    return record


def _holds_lost_checksum(record: Record) -> bool:
    """Whether a text as long as a checksum stands under a name that means nothing."""
    unknown = (record[name] for name in record.keys() - KNOWN)
    return any(isinstance(value, str) and 56 <= len(value) <= 72 for value in unknown)


def _locate_result(folder: Path, target: str, name: str) -> Path:
    return folder / target / f"{name}.json"
