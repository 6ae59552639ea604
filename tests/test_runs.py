"""Trials: ids, result files, planning, failures, parallel runs, kill and resume, Dask."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from mixpul.cli import app
from mixpul.paper.runs import (
    estimate_seconds,
    has_failed,
    pack_results,
    plan,
    read_results,
    run,
)
from mixpul.paper.trial import Trial


def square(trial):
    if trial.settings.get("c") == 13:
        raise ArithmeticError("unlucky")
    return {"auc": trial.seed**2 / 100, "process": os.getpid()}


def busy(trial):
    time.sleep(0.3)
    return square(trial)


def trials(n, **settings):
    return [Trial("toy", "numbers", "square", seed, settings) for seed in range(n)]


class TestTrial:
    def test_the_id_tells_everything_apart(self):
        trial = Trial("uci", "titanic", "MixPUL", 3, {"c": 0.05}, "n_epochs=30", "0.1.0")
        others = [
            replace(trial, dataset="krvskp"),
            replace(trial, method="nnPU"),
            replace(trial, seed=4),
            replace(trial, settings={"c": 0.1}),
            replace(trial, recipe="n_epochs=31"),
            replace(trial, version="0.2.0"),
        ]
        assert len({t.id for t in [trial, *others]}) == 7
        assert trial.id == replace(trial).id

    def test_the_id_is_a_file_name(self):
        trial = Trial("uci", "a/b", "nnPU, bbe prior", 0, {"c": 0.05})
        assert trial.id.startswith("a-b_nnpu-bbe-prior_c0.05_seed0_")

    def test_it_cannot_be_changed(self):
        with pytest.raises(AttributeError):
            trials(1)[0].seed = 1


class TestRun:
    def test_results_are_files_that_hold_trial_and_scores(self, tmp_path):
        run(trials(3, c=0.1), square, tmp_path)
        records = read_results(tmp_path, "toy")
        assert sorted(record["auc"] for record in records) == [0, 0.01, 0.04]
        assert len(list((tmp_path / "toy").glob("*.json"))) == 3
        record = records[0]
        assert record["settings"] == {"c": 0.1}
        assert record["seconds"] >= 0
        assert record["made_with"]["python"] == sys.version.split()[0]

    def test_what_two_targets_share_is_performed_once_and_stands_in_both(self, tmp_path):
        performed = []

        def note(trial):
            performed.append(trial.id)
            return square(trial)

        first = trials(2)
        both = [*first, *(replace(trial, target="other") for trial in trials(3))]
        assert len(run(both, note, tmp_path)) == 5
        assert len(performed) == 3
        for target, n in (("toy", 2), ("other", 3)):
            records = read_results(tmp_path, target)
            assert {record["target"] for record in records} == {target}
            assert [record["auc"] for record in records] == [k**2 / 100 for k in range(n)]
        assert plan(both, tmp_path).left == []
        # Those of another target that were packed long ago, too.
        pack_results(tmp_path, "other")
        third = [replace(trial, target="third") for trial in trials(3)]
        (done, *_) = run(third, note, tmp_path)
        assert len(performed) == 3
        assert done["id"] == third[0].id
        assert plan(third, tmp_path).left == []

    def test_a_failure_is_not_taken_over(self, tmp_path):
        (failed,) = trials(1, c=13)
        run([failed], square, tmp_path)
        (record,) = run([replace(failed, target="other")], lambda _: {"auc": 0.5}, tmp_path)
        assert record["auc"] == 0.5
        # Nor repeated: each target tries by itself.
        third = [replace(failed, target=name) for name in ("third", "fourth")]
        (only,) = run([replace(t, seed=1) for t in third], square, tmp_path)
        assert has_failed(only)

    def test_finished_trials_are_not_run_again(self, tmp_path):
        run(trials(3), square, tmp_path)
        before = {p: p.stat().st_mtime_ns for p in (tmp_path / "toy").iterdir()}
        assert len(run(trials(5), square, tmp_path)) == 2
        assert all(path.stat().st_mtime_ns == t for path, t in before.items())

    def test_a_failure_is_recorded_and_the_rest_goes_on(self, tmp_path):
        several = [*trials(2, c=13), *trials(2, c=1)]
        records = run(several, square, tmp_path)
        assert [has_failed(record) for record in records] == [True, True, False, False]
        assert records[0]["failure"] == "ArithmeticError: unlucky"
        assert "in square" in records[0]["traceback"]
        # A failed trial is not done: the next run tries it again.
        assert len(plan(several, tmp_path).left) == 2
        assert len(run(several, square, tmp_path)) == 2

    def test_processes_share_the_work(self, tmp_path):
        records = run(trials(8), busy, tmp_path, jobs=2)
        assert {record["auc"] for record in records} == {s**2 / 100 for s in range(8)}
        assert len({record["process"] for record in records} - {os.getpid()}) == 2

    def test_a_worker_of_another_version_is_refused(self, tmp_path):
        [record] = run([replace(trials(1)[0], version="0.0.1")], square, tmp_path)
        assert "install the same version" in record["failure"]

    def test_dask_cluster(self, tmp_path):
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            records = run(trials(6), busy, tmp_path, scheduler=cluster.scheduler_address)
        assert {record["auc"] for record in records} == {s**2 / 100 for s in range(6)}
        assert len({record["process"] for record in records} - {os.getpid()}) == 2
        assert len(read_results(tmp_path, "toy")) == 6

    def test_no_scheduler_at_the_address(self, tmp_path):
        pytest.importorskip("distributed")
        with pytest.raises(
            ValueError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:1'"
        ):
            run(trials(1), square, tmp_path, scheduler="tcp://127.0.0.1:1")


class TestFiles:
    def test_packed_and_single_files_are_read_together(self, tmp_path):
        run(trials(3), square, tmp_path)
        pack_results(tmp_path, "toy")
        assert not (tmp_path / "toy").exists()
        assert len((tmp_path / "toy.jsonl").read_text().splitlines()) == 3
        run(trials(5), square, tmp_path)
        assert len(read_results(tmp_path, "toy")) == 5
        assert len(list((tmp_path / "toy").iterdir())) == 2
        pack_results(tmp_path, "toy")
        assert len(read_results(tmp_path, "toy")) == 5
        assert not plan(trials(5), tmp_path).left

    def test_packing_keeps_failures_apart(self, tmp_path):
        run([*trials(1, c=13), *trials(1, c=1)], square, tmp_path)
        pack_results(tmp_path, "toy")
        assert len((tmp_path / "toy.jsonl").read_text().splitlines()) == 1
        assert len(list((tmp_path / "toy").iterdir())) == 1
        assert pack_results(tmp_path, "other") is None

    def test_a_foreign_file_is_named(self, tmp_path):
        run(trials(1), square, tmp_path)
        with pack_results(tmp_path, "toy").open("a") as file:
            file.write("hello\n")
        with pytest.raises(ValueError, match=r"line 2 of .*toy.jsonl"):
            read_results(tmp_path, "toy")

    def test_time_left_is_judged_by_what_is_done(self):
        done = [
            {"dataset": "a", "method": "slow", "seconds": 10.0},
            {"dataset": "b", "method": "slow", "seconds": 30.0},
            {"dataset": "a", "method": "fast", "seconds": 2.0},
        ]
        left = [Trial("t", "a", "slow", 0), Trial("t", "c", "slow", 0), Trial("t", "c", "new", 0)]
        assert estimate_seconds(left, done) == 10 + 20 + 14
        assert estimate_seconds(left, []) is None


def words(folder, *options):
    only = "dataset=titanic,method=class means,method=logistic regression,method=Bagging"
    return ["reproduce", "uci", "--only", only, "--runs", "2", "--out", str(folder), *options]


def start(folder, jobs, **options):
    """Start `mixpul reproduce` in a process of its own."""
    command = [sys.executable, "-m", "mixpul", *words(folder, "--jobs", jobs)]
    return subprocess.Popen(command, **options)


@pytest.mark.slow
def test_a_tiny_table_killed_and_resumed(tmp_path):
    """30 trials; SIGKILL in the middle, another run at the same time, and the report."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    first = start(tmp_path, "2", start_new_session=True, **quiet)
    folder = tmp_path / "uci"
    deadline = time.monotonic() + 600
    while len(list(folder.glob("*.json"))) < 5:
        assert first.poll() is None, first.stderr.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    survived = {path: path.read_bytes() for path in folder.glob("*.json")}
    assert 5 <= len(survived) < 30
    assert all(json.loads(content)["target"] == "uci" for content in survived.values())

    dry = CliRunner().invoke(app, words(tmp_path, "--dry-run"))
    assert f"{len(survived)} of 30 trials are done, {30 - len(survived)} left" in dry.stdout

    # Two runs at once finish the table between them.
    heard = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    both = [start(tmp_path, "1", **heard) for _ in range(2)]
    assert [process.communicate()[0] and process.returncode for process in both] == [0, 0]
    records = read_results(tmp_path, "uci")
    assert len(records) == 30
    assert not any(has_failed(record) for record in records)
    assert all(path.read_bytes() == content for path, content in survived.items())
    assert len({(r["settings"]["c"], r["method"], r["seed"]) for r in records}) == 30

    page = tmp_path / "report.html"
    assert CliRunner().invoke(app, ["report", str(tmp_path), "-o", str(page)]).exit_code == 0
    assert "titanic" in page.read_text()
