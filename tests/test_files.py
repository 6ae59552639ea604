"""Each writer is stopped, and the disk filled, before and after each write, rename and fsync."""

import errno
import io
import multiprocessing
import os
import re
import signal
import stat
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

import mixpul
import mixpul._util.files as files
from mixpul import BaggingPUClassifier, save
from mixpul._util.files import check_place, open_whole, remove_partials, write_whole
from mixpul._util.processes import end_with
from mixpul.assess.comparison import _Keeper
from mixpul.cli._outputs import check_outputs, check_result_folder
from mixpul.methods.neural.checkpoint import Checkpoint
from mixpul.paper.runs import _keep_result, pack_results, read_results
from mixpul.paper.trial import Trial
from mixpul.tables import write_table

# -- fault points -----------------------------------------------------------------------------


class Faults:
    """In the place of `os` for the module that writes: something happens at one of its calls.

    Points are counted: two for each call, before it and after it.
    """

    WATCHED = ("open", "fsync", "replace", "fchmod")

    def __init__(self, at=None, happen=lambda: None):
        self.at, self.happen, self.points = at, happen, []

    def __getattr__(self, name):
        real = getattr(os, name)
        return self.watch(name, real) if name in self.WATCHED else real

    def watch(self, name, real):
        def call(*args, **kwargs):
            self.reach(f"before {name}")
            result = real(*args, **kwargs)
            self.reach(f"after {name}")
            return result

        return call

    def reach(self, point):
        self.points.append(point)
        if len(self.points) - 1 == self.at:
            self.happen()

    def fdopen(self, handle, mode):
        faults = self

        class Watched(io.FileIO):
            def write(self, data):
                faults.reach("before write")
                n = super().write(data)
                faults.reach("after write")
                return n

        return io.BufferedWriter(Watched(handle, "wb"))


@contextmanager
def faults_at(point, happen):
    watched = Faults(point, happen)
    files.os = watched
    try:
        yield watched
    finally:
        files.os = os


def make_checkpoint(path):
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    class Nothing:
        def get_sums(self):
            return {}

        def get_values(self):
            return {}

    return Checkpoint(path, "one", net, optimizer, Nothing(), [], draws_from_torch=False)


MODEL = BaggingPUClassifier(n_estimators=2, random_state=0)
MODEL.fit(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
BATCHES = pa.table({"score": np.linspace(0, 1, 50)}).to_batches()
RECORD = {"id": "a", "target": "toy", "scores": [0.5] * 100}
OF_A_RUN = {"seconds": 1.0, "finished": "2026-01-01T00:00:00+00:00", "made_with": {}}
# What opens files to write by itself, and why.
OTHER_WRITERS = {
    "cli/_parts.py": "a log, to which lines are added; see the tests of parts",
    "cli/_ranks.py": "the system's empty device",
    "cli/_streams.py": "the system's empty device",
    "persistence/contents.py": "a temporary file",
}
# By the name of the file: whoever writes it.
WRITERS = {
    "plain.txt": lambda path: write_whole(path, b"new " * 5000),
    "model.mixpul": lambda path: save(MODEL, path),
    "scores.csv": lambda path: write_table(BATCHES, path),
    "scores.csv.gz": lambda path: write_table(BATCHES, path),
    "scores.parquet": lambda path: write_table(BATCHES, path),
    "scores.feather": lambda path: write_table(BATCHES, path),
    "pnu.json": lambda path: _Keeper(path.parent).write("pnu", RECORD),
    "a.json": lambda path: _keep_result(path.parent.parent, RECORD | {"target": path.parent.name}),
    "train.checkpoint": lambda path: make_checkpoint(path).save([]),
}


def count_points(write, path):
    with faults_at(None, lambda: None) as seen:
        write(path)
    return seen.points


def read(path):
    return path.read_bytes() if path.exists() else None


def list_faults(write, path):
    """Return the numbers of all points of a writer."""
    points = count_points(write, path)
    # A compressed file is written by pyarrow, to a copy of the handle.
    written = set() if path.suffix == ".gz" else {"before write", "after write"}
    assert written | {"after fsync", "before replace", "after replace"} <= set(points)
    return dict(enumerate(points))


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failure_at_any_point_leaves_the_old_file_or_the_new_one(tmp_path, name, code):
    path, write = tmp_path / name, WRITERS[name]
    torch.manual_seed(0)
    points = list_faults(write, path)
    new = read(path)

    def fail():
        raise OSError(code, os.strerror(code))

    for point, name_of_point in points.items():
        if name_of_point == "after open":  # no system opens a file and fails
            continue
        path.write_bytes(b"old")
        with faults_at(point, fail), suppress(OSError, pa.ArrowException):
            torch.manual_seed(0)
            write(path)
        assert read(path) in (b"old", new), point
        assert os.listdir(tmp_path) == [name], point


@pytest.mark.parametrize("name", WRITERS)
def test_a_kill_at_any_point_leaves_a_whole_file_and_the_next_run_tidies_up(tmp_path, name):
    path, write = tmp_path / name, WRITERS[name]
    torch.manual_seed(0)
    points = list_faults(write, path)
    new, n_left = read(path), 0
    for point in points:
        path.write_bytes(b"old")
        kill_child_at(point, lambda: (torch.manual_seed(0), write(path)))
        assert read(path) in (b"old", new), point
        n_left += len(os.listdir(tmp_path)) > 1
        torch.manual_seed(0)
        write(path)
        assert os.listdir(tmp_path) == [name], point
        assert read(path) == new
    assert n_left, "no kill came in the middle of a write"


def kill_child_at(point, do):
    """Let a fork do something until it is killed at that point.

    A thread of pyarrow's may hold a lock in the moment of the fork, and the child then waits for
    ever: that is a kill at an earlier point, a minute later.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        try:
            with faults_at(point, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                do()
        finally:
            os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (-signal.SIGKILL, -signal.SIGALRM)


def test_all_other_files_are_written_in_the_same_way():
    root = Path(mixpul.__file__).parent
    writes = re.compile(
        r"open\([^)]*['\"][rwax]?[+b]*[wax+][+b]*['\"]|\.write_(text|bytes)\(|\.to_csv\(|savez?\(\w*path"
    )
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for line in path.read_text().splitlines()
        if writes.search(line) and not line.lstrip().startswith((">>>", "..."))
    }
    assert found - {"_util/files.py"} == set(OTHER_WRITERS)


@pytest.mark.parametrize("how", ["full", "killed"])
def test_packing_that_is_stopped_anywhere_loses_no_trial(tmp_path, how):
    trials = [Trial("toy", "d", "m", seed) for seed in range(2)]

    def finish(folder):
        folder.mkdir()
        for trial in trials:
            _keep_result(folder, {"id": trial.id, **asdict(trial), **OF_A_RUN})

    def fail():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    finish(tmp_path / "counted")
    n_points = len(count_points(lambda path: pack_results(path, "toy"), tmp_path / "counted"))
    assert n_points > 6
    for point in range(n_points):
        folder = tmp_path / f"{point}"
        finish(folder)
        if how == "killed":
            kill_child_at(point, lambda folder=folder: pack_results(folder, "toy"))
        else:
            with faults_at(point, fail), suppress(OSError):
                pack_results(folder, "toy")
        assert {r["id"] for r in read_results(folder, "toy")} == {t.id for t in trials}, point
        pack_results(folder, "toy")
        assert os.listdir(folder) == ["toy.jsonl"], point


def test_ctrl_c_at_any_point_leaves_nothing_half_written(tmp_path):
    path, write = tmp_path / "a.txt", WRITERS["plain.txt"]

    def stop():
        raise KeyboardInterrupt

    for point in list_faults(write, path):
        path.unlink(missing_ok=True)
        with faults_at(point, stop), suppress(KeyboardInterrupt):
            write(path)
        remove_partials(tmp_path)  # one that came before the file was ours to remove
        assert read(path) in (None, b"new " * 5000)
        assert set(os.listdir(tmp_path)) <= {"a.txt"}


def test_a_disk_that_is_full_is_named_by_its_file(tmp_path):
    def fail():
        raise OSError(errno.ENOSPC, "full")

    with faults_at(4, fail), pytest.raises(OSError, match="full") as caught:
        write_whole(tmp_path / "a", b"x" * 100_000)
    assert caught.value.filename == str(tmp_path / "a")


def test_the_folder_is_brought_to_the_disk_after_the_rename(tmp_path):
    points = count_points(WRITERS["plain.txt"], tmp_path / "plain.txt")
    renamed = points.index("after replace")
    assert "after fsync" in points[:renamed]
    assert "after fsync" in points[renamed:]


# -- permissions, links, names ----------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    with open_whole(path) as file:
        file.write(b"new")
        (partial,) = (p for p in tmp_path.iterdir() if p != path)
        assert stat.S_IMODE(partial.stat().st_mode) & ~mode == 0, "others can read it meanwhile"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_a_link_is_followed(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "real", tmp_path / "link"
    link.symlink_to("far/real")
    for content in (b"first", b"second"):  # the first time it leads to nothing
        write_whole(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert os.listdir(tmp_path / "far") == ["real"]


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("another thread could see it"))
    write_whole(tmp_path / "a", b"x")


@pytest.mark.parametrize("check", [check_place, lambda path: check_outputs([path], [], True)])
def test_places_that_cannot_be_written_are_found_before_the_work(tmp_path, check):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ValueError, match="leads in a circle"):
        check(tmp_path / "a")
    with pytest.raises(ValueError, match="is too long"):
        check(tmp_path / ("n" * 300))
    with pytest.raises(OSError, match="is not writable"):
        check(Path("/proc/self/file"))
    with pytest.raises(ValueError, match="folder or a device"):
        check(Path("/dev/null"))
    check(tmp_path / ("n" * 255))
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize("name", ["a", "n" * 300, "/proc/self/results"])
def test_folders_of_results_are_checked_too(tmp_path, name):
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises((OSError, ValueError)) as caught:
        check_result_folder(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_the_longest_name_can_be_written(tmp_path):
    for name in ("n" * 255, "ü" * 127):
        write_whole(tmp_path / name, b"x")
        assert (tmp_path / name).read_bytes() == b"x"


# -- partial files ----------------------------------------------------------------------------


def test_a_partial_file_of_a_live_writer_stays(tmp_path):
    with open_whole(tmp_path / "a") as file:
        file.write(b"first")
        write_whole(tmp_path / "a", b"second")
        remove_partials(tmp_path)
        assert len(list(tmp_path.iterdir())) == 2
    assert (tmp_path / "a").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_only_our_partial_files_are_removed(tmp_path):
    foreign = [".a.partial", "a.12345678.partial", ".a.123.partial", ".b.12345678.partial.txt"]
    for name in [*foreign, ".a.0123abcd.partial"]:
        (tmp_path / name).write_text("x")
    remove_partials(tmp_path, "a")
    assert sorted(os.listdir(tmp_path)) == sorted(foreign)
    # Of another file: not of this name, but of this folder.
    (tmp_path / ".b.0123abcd.partial").write_text("x")
    remove_partials(tmp_path, "a")
    assert (tmp_path / ".b.0123abcd.partial").exists()
    remove_partials(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(foreign)


def test_many_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    path, texts = tmp_path / "a", [bytes([65 + k]) * 100_000 for k in range(8)]

    def write_often(text):
        for _ in range(10):
            write_whole(path, text)

    threads = [threading.Thread(target=write_often, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in texts
    assert os.listdir(tmp_path) == ["a"]


# -- packing ----------------------------------------------------------------------------------


def test_packing_drops_no_trial_that_finishes_meanwhile(tmp_path):
    n, is_over = 60, threading.Event()
    trials = {trial.id: trial for trial in (Trial("toy", "d", "m", seed) for seed in range(n))}
    names = list(trials)

    def finish(own):
        for name in own:
            _keep_result(tmp_path, {"id": name, **asdict(trials[name]), **OF_A_RUN})

    def pack():
        while not is_over.is_set():
            pack_results(tmp_path, "toy")
            seen.append(len(read_results(tmp_path, "toy")))

    seen = []
    writers = [threading.Thread(target=finish, args=(names[k::2],)) for k in range(2)]
    packers = [threading.Thread(target=pack) for _ in range(2)]
    for thread in writers + packers:
        thread.start()
    for thread in writers:
        thread.join()
    is_over.set()
    for thread in packers:
        thread.join()
    pack_results(tmp_path, "toy")
    assert sorted(r["id"] for r in read_results(tmp_path, "toy")) == sorted(names)
    assert len((tmp_path / "toy.jsonl").read_text().splitlines()) == n
    assert not (tmp_path / "toy").exists()


# -- workers ----------------------------------------------------------------------------------


def _work(pipe):
    end_with(os.getppid())
    pipe.send(os.getpid())
    time.sleep(600)


def _start_worker(pipe):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        multiprocessing.get_context("fork").Process(target=_work, args=(pipe,)).start()
    time.sleep(600)


def test_a_worker_ends_when_its_parent_was_killed():
    forking = multiprocessing.get_context("fork")
    here, there = forking.Pipe(duplex=False)
    parent = forking.Process(target=_start_worker, args=(there,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        parent.start()
    there.close()
    assert here.poll(60)
    worker = here.recv()
    parent.kill()
    parent.join()
    # The pipe ends when the last process that holds it has ended.
    assert here.poll(60)
    with pytest.raises(EOFError):
        here.recv()
    until = time.monotonic() + 60
    while _is_running(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _is_running(worker)


def _is_running(pid):
    with suppress(OSError):
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]
    return False
