"""Scores of a table in many files: one file per part, each written whole or not at all."""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, TypeAlias

import typer
from joblib import cpu_count

from mixpul._util.errors import EmptyTable
from mixpul.cli._inputs import digest_table, read_pieces
from mixpul.cli._messages import choose_verbosity, note, print_json, speak_warnings
from mixpul.cli._outputs import explain_full_disk
from mixpul.cli._scoring import Scorer
from mixpul.persistence.samples import find_sample
from mixpul.tables import write_table
from mixpul.tables.formats import WRITTEN, find_format, split_place
from mixpul.tables.opening import find_file_system, is_remote
from mixpul.tables.parts import Part, find_parts, name_targets

__all__ = [
    "MAKE_ROOM",
    "Done",
    "Outcome",
    "PartTask",
    "Performer",
    "attempt_part",
    "check_folder",
    "score_parts",
]

# One line of JSON per part that is done. An underscore, so that it is no part of the table.
LOG = "_mixpul_parts.jsonl"
# Read of a file at its start and at its end, where Parquet files say what they hold.
BYTES_OF_END = 2**16
MAKE_ROOM = "Make room, and run the command with --resume."


@dataclass(frozen=True)
class Done:
    """A part whose scores are written: of which input, by which model, and how many rows."""

    output: str
    input: str
    input_size: int
    fingerprint: str
    model: str
    settings: str
    output_size: int
    rows: int
    flagged: int


class PartTask(NamedTuple):
    """A part to score: where it is read, and the file of its scores below their folder.

    `known` are scores of an earlier run, which stay if the part is still the same.
    """

    part: Part
    place: str
    output: str
    known: Done | None


class _Stopped(Exception):
    """The command was stopped in the middle of a part."""


# Of a part: what to remember of its scores, or why there are none, in a sentence.
Outcome: TypeAlias = tuple[PartTask, Done | str]
# Scores parts in any order and place; the scores are in the folder when an outcome is there.
Performer: TypeAlias = Callable[[list[PartTask], Scorer, str], Generator[Outcome]]


def check_folder(out: str, force: bool, resume: bool) -> None:
    """Refuse a folder with scores in it, unless it is to be gone on with or replaced."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{out!r} is a file; name a folder for the scores of the parts.")
    if not folder.exists() and not folder.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(folder.absolute().parent)!r} to make {folder.name!r} in; "
            "create it first."
        )
    if folder.is_dir() and any(folder.iterdir()) and not (force or resume):
        raise FileExistsError(
            f"The folder {out!r} is not empty; pass --resume to go on with the parts that are "
            "missing, or --force to write all of them again."
        )


def score_parts(
    table: Any, scorer: Scorer, checksum: str, resume: bool, perform: Performer | None = None
) -> None:
    """Score each part into a folder, say what became of them, and fail if one of them did.

    By default parts are scored here, some at a time; `perform` may do it elsewhere.
    """
    from mixpul._util.progress import progress_bar

    out = Path(scorer.outputs.out)
    tasks = _list_tasks(find_parts(table), scorer, checksum, resume)
    out.mkdir(exist_ok=True)
    if not resume:
        (out / LOG).unlink(missing_ok=True)
    done: dict[str, Done] = {}
    failed: dict[str, str] = {}
    n_skipped = 0
    # Around all parts: what is true of each of them is said once.
    with (
        speak_warnings(),
        _say_how_to_go_on(),
        progress_bar(len(tasks), "parts", choose_verbosity(), unit="done") as advance,
        # Closed at once when it is stopped: a traceback would keep it alive.
        closing((perform or _perform_here)(tasks, scorer, checksum)) as outcomes,
    ):
        for task, outcome in outcomes:
            if isinstance(outcome, Done):
                done[task.output] = outcome
                n_skipped += outcome == task.known
                if outcome != task.known:
                    _append(out / LOG, outcome)
            else:
                failed[task.part.name] = outcome
                name = "" if task.part.name in outcome else f"{task.part.name!r}: "
                note(f"{name}{outcome}")
            advance({})
    # In the order of the parts, not in that in which they were done.
    found = [done[task.output] for task in tasks if task.output in done]
    failed = {task.part.name: failed[task.part.name] for task in tasks if task.output not in done}
    _warn_of_known_table(table, found, failed, scorer.info)
    _report(found, n_skipped, failed, scorer)


def _list_tasks(parts: list[Part], scorer: Scorer, checksum: str, resume: bool) -> list[PartTask]:
    out = Path(scorer.outputs.out)
    before = _read_log(out / LOG) if resume else {}
    tasks = []
    for part, target in zip(parts, name_targets(parts, WRITTEN), strict=True):
        known = before.get(target.as_posix())
        if known is not None and not _is_there(known, part, out, scorer, checksum):
            known = None
        tasks.append(PartTask(part, part.name, target.as_posix(), known))
    return tasks


def _perform_here(tasks: list[PartTask], scorer: Scorer, checksum: str) -> Generator[Outcome]:
    """Score as many parts at a time as there are cores, each on its share of them.

    One part after the other would leave cores idle where a part begins and ends.
    """
    out = Path(scorer.outputs.out)
    n_cores = scorer.n_workers or cpu_count()
    n_parts = max(1, min(n_cores, len(tasks)))
    shared = replace(scorer, n_workers=max(1, n_cores // n_parts))
    stop = Event()
    with ThreadPoolExecutor(n_parts, "part") as pool:
        try:
            tried = {
                pool.submit(attempt_part, shared, task, out / task.output, checksum, stop): task
                for task in tasks
            }
            for future in as_completed(tried):
                yield tried[future], future.result()
        finally:
            # On Ctrl-C parts that wait are left out, and those that are under way given up.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _say_how_to_go_on() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        note("Stopped. The same command with --resume goes on.")
        raise


def attempt_part(
    scorer: Scorer, task: PartTask, file: Path, checksum: str, stop: Event | None = None
) -> Done | str:
    """Write the scores of a part to a file, unless they are known; say what went wrong.

    Once `stop` is set, it is given up.
    """
    try:
        if task.known is not None and _has_same_input(task.known, task.place):
            return task.known
        return _score_part(scorer, task, file, checksum, stop)
    # What bad input raises; the other parts can do without this one.
    except (ValueError, FloatingPointError, OSError) as error:
        return str(error)


def _score_part(
    scorer: Scorer, task: PartTask, file: Path, checksum: str, stop: Event | None
) -> Done:
    """Write the scores of one part, and return what to remember of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    counts = {"rows": 0, "flagged": 0}

    def count() -> Iterator[Any]:
        try:
            for batch in scorer.score(task.place):
                if stop is not None and stop.is_set():
                    raise _Stopped
                counts["rows"] += batch.num_rows
                counts["flagged"] += int(batch.column("predicted").true_count)
                yield batch
        except EmptyTable:
            yield scorer.make_empty()

    # Beside the scores: of a file in a store it takes as long as to read it.
    with ThreadPoolExecutor(1, "identity") as beside:
        identity = beside.submit(_identify_input, task.place)
        with explain_full_disk(repr(str(file)), MAKE_ROOM):
            write_table(count(), file)
    return Done(
        output=task.output,
        input=task.part.name,
        input_size=_measure(task.place),
        fingerprint=identity.result(),
        model=checksum,
        settings=_describe_settings(scorer),
        output_size=file.stat().st_size,
        **counts,
    )


def _describe_settings(scorer: Scorer) -> str:
    """Return a hash of all that the scores depend on, besides the model and the input."""
    outputs = scorer.outputs
    said = [scorer.threshold, scorer.id_column, outputs.probability, outputs.prior]
    text = json.dumps([*said, dict(scorer.style)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _is_there(known: Done, part: Part, out: Path, scorer: Scorer, checksum: str) -> bool:
    """Whether scores of this model with these settings are in their place."""
    target = out / known.output
    return (
        (known.model, known.settings, known.input)
        == (checksum, _describe_settings(scorer), part.name)
        and target.is_file()
        and target.stat().st_size == known.output_size
    )


def _has_same_input(known: Done, place: str) -> bool:
    # The size first: another one saves reading the file.
    return known.input_size == _measure(place) and known.fingerprint == _identify_input(place)


def _identify_input(place: str) -> str:
    """Return what tells a file that has changed, by whatever hand.

    Of a file in a store its checksum. Of a file of this machine when it was changed: the system
    notes that by itself, also where a date of writing was set back. To read the whole file a second
    time would take a seventh of the time to score it; its ends are read where no system notes it.
    """
    path, sheet = split_place(place)
    find_format(path)  # which says it if there is no such file
    checksum = zlib.crc32(f"::{sheet}".encode() if sheet is not None else b"")
    if is_remote(path):
        for piece in read_pieces(path):
            checksum = zlib.crc32(piece, checksum)
        return f"crc32:{checksum:08x}"
    known = os.stat(path)
    with open(path, "rb") as file:
        checksum = zlib.crc32(file.read(BYTES_OF_END), checksum)
        file.seek(max(0, known.st_size - BYTES_OF_END))
        checksum = zlib.crc32(file.read(BYTES_OF_END), checksum)
    return f"changed:{known.st_mtime_ns}:{known.st_ctime_ns}:{checksum:08x}"


def _measure(name: str) -> int:
    path = split_place(name)[0]
    if is_remote(path):
        system, inside = find_file_system(path)
        return int(system.size(inside) or 0)
    return os.path.getsize(path)


def _read_log(path: Path) -> dict[str, Done]:
    """Return what is done, by output; a line that was not finished does not count."""
    found = {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    for line in lines:
        try:
            record = json.loads(line)
            check = record.pop("check", None)
            one = Done(**record)
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue
        is_like = all(type(getattr(one, field.name)) is field.type for field in fields(Done))
        # A part whose line was changed is scored again.
        if is_like and check == _compute_check(one):
            found[one.output] = one
    return found


def _compute_check(done: Done) -> str:
    """Return a hash of a line, which tells if it was changed."""
    return hashlib.sha256(json.dumps(asdict(done)).encode()).hexdigest()[:16]


def _append(path: Path, done: Done) -> None:
    with (
        path.open("a+b") as file,
        explain_full_disk(repr(str(path)), "Make room. --resume goes on."),
    ):
        file.seek(max(0, file.tell() - 1))
        # A run that was killed while it wrote may have left half a line.
        start = b"" if file.read() in (b"", b"\n") else b"\n"
        line = asdict(done) | {"check": _compute_check(done)}
        file.write(start + json.dumps(line).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _warn_of_known_table(
    table: Any, found: Sequence[Done], failed: Mapping[str, str], info: Mapping[str, Any]
) -> None:
    """Say it if the model was fitted on the table."""
    n_rows = (find_sample(info) or info.get("assessment", {})).get("rows")
    # A fingerprint takes as long as to read the table, and other numbers of rows tell as much.
    if failed or n_rows not in (None, sum(one.rows for one in found)):
        return
    if info.get("fingerprint") and info["fingerprint"] == digest_table(table):
        note(
            "warning: The model was fitted on this very table, so these scores flatter it; "
            "--out-of-fold writes the honest ones into one file."
        )


def _report(
    found: Sequence[Done], n_skipped: int, failed: Mapping[str, str], scorer: Scorer
) -> None:
    rows, flagged = sum(one.rows for one in found), sum(one.flagged for one in found)
    used = 0.5 if scorer.threshold is None else scorer.threshold
    n_new = len(found) - n_skipped
    if scorer.outputs.as_json:
        counts = {"parts": n_new, "skipped": n_skipped, "failed": dict(failed)}
        sums = {"rows": rows, "flagged": flagged, "threshold": used}
        print_json({**counts, **sums, "output": scorer.outputs.out})
    else:
        skipped = f", {n_skipped:,} done before" if n_skipped else ""
        bad = f", {len(failed):,} failed" if failed else ""
        note(
            f"{n_new:,} part{'' if n_new == 1 else 's'} scored{skipped}{bad}; {rows:,} rows, "
            f"{flagged:,} above {used:.4g}: {scorer.outputs.out}"
        )
        if failed:
            note("run the command again with --resume when the failed parts are mended.")
    if failed:
        raise typer.Exit(1)
