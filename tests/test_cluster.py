"""A Dask cluster of two worker processes: the same results as here, also if workers die."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    BoostingPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    assess,
    load,
)
from mixpul._names import METHODS
from mixpul._util import cluster as _cluster
from mixpul._util.cluster import ClusterError, connect
from mixpul._util.cross_validation import cross_validate
from mixpul.cli._parts import LOG
from mixpul.miners import NTCMiner
from mixpul.persistence import read_scores
from test_parts import lake, made_rows, model, write_parts  # noqa: F401
from test_table_cli import run

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as local:
        yield local


def read_files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("_")
    }


# -- the address ----------------------------------------------------------------------------


def test_an_unreachable_scheduler_is_one_sentence(model, lake, tmp_path):  # noqa: F811
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    for address in (nobody, "no address", "http://127.0.0.1:1"):
        result = run(
            "predict", model, lake, "-o", f"{tmp_path / 'scores'}/", "--scheduler", address
        )
        assert result.code == 2
        (line,) = result.err.splitlines()
        assert f"No Dask scheduler answers at {address!r}" in line
        assert not (tmp_path / "scores").exists()


def test_something_else_at_the_address_is_named(monkeypatch):
    monkeypatch.setattr(_cluster, "SECONDS_TO_ANSWER", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ClusterError, match="timed out"), connect(address):
            pass


# -- predict --------------------------------------------------------------------------------


@pytest.mark.slow
def test_scores_are_those_of_one_process_to_the_bit(model, lake, tmp_path, cluster):  # noqa: F811
    here, there = tmp_path / "here", tmp_path / "there"
    assert run("predict", model, lake, "-o", f"{here}/").code == 0
    words = ["predict", model, lake, "-o", f"{there}/", "--scheduler", cluster.scheduler_address]
    result = run(*words)
    assert result.code == 0, result.err
    assert "3 parts scored; 150 rows" in result.err
    assert read_files(there) == read_files(here)
    again = json.loads(run(*words, "--resume", "--json").out)
    assert (again["parts"], again["skipped"], again["rows"]) == (0, 3, 150)


@pytest.mark.slow
def test_a_bad_part_is_named_and_the_others_stay(model, tmp_path, cluster):  # noqa: F811
    good = made_rows(20).to_csv(index=False)
    folder = write_parts(
        tmp_path / "t",
        a=good,
        b=good.replace("city", "town"),
        c="",
        d=good.splitlines()[0] + "\n",
        f=made_rows(20)[["day", "city", "x", "id"]].to_csv(index=False),
        g=made_rows(20).assign(x="a lot").to_csv(index=False),
    )
    here, there = tmp_path / "here", tmp_path / "there"
    said = run("predict", model, folder, "-o", f"{here}/").err
    words = ["predict", model, folder, "-o", f"{there}/", "--scheduler", cluster.scheduler_address]
    result = run(*words)
    assert result.code == 1
    assert "Traceback" not in result.err
    # The same sentences, in the order in which workers found out.
    assert sorted(
        line.replace(str(there), str(here)) for line in result.err.splitlines()
    ) == sorted(said.splitlines())
    assert "3 parts scored, 3 failed" in result.err
    assert read_files(there) == read_files(here)
    write_parts(folder, b=good, c=good, g=good)
    mended = json.loads(run(*words, "--resume", "--json").out)
    assert (mended["parts"], mended["skipped"], mended["failed"]) == (3, 3, {})


@pytest.mark.slow
def test_parquet_parts_that_differ_or_are_corrupt_are_named(model, lake, tmp_path, cluster):  # noqa: F811
    first, second, third = sorted(lake.rglob("*.parquet"))
    first.write_bytes(first.read_bytes()[:-20])
    frame = pd.read_parquet(second)
    frame.assign(x=frame["x"].astype(str) + " m").to_parquet(second, index=False)
    out = tmp_path / "scores"
    words = ["predict", model, lake, "-o", f"{out}/", "--scheduler", cluster.scheduler_address]
    result = run(*words)
    assert result.code == 1
    for path in (first, second):
        assert sum(str(path) in line for line in result.err.splitlines()) == 1
    assert list(read_files(out)) == [str(third.relative_to(lake))]


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["worker", "client"])
def test_a_process_that_is_killed_loses_nothing(model, tmp_path, cluster, victim):  # noqa: F811
    folder = tmp_path / "lake"
    folder.mkdir()
    for k in range(24):
        made_rows(2000, first=2000 * k, seed=k).to_csv(folder / f"{k:02}.csv", index=False)
    here, there = tmp_path / "here", tmp_path / "there"
    assert run("predict", model, folder, "-o", f"{here}/").code == 0
    words = ["predict", model, folder, "-o", f"{there}/", "--scheduler", cluster.scheduler_address]
    command = [sys.executable, "-m", "mixpul", *map(str, words)]
    process = subprocess.Popen(command)
    # In the middle: some parts are written, others are not.
    wait_until(lambda: len(list(there.glob("*.csv"))) >= 3)
    if victim == "worker":
        with distributed.Client(cluster) as client:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    else:
        process.kill()
        process.wait()
        assert len(list(there.glob("*.csv"))) < 24
        process = subprocess.Popen([*command, "--resume"])
    assert process.wait(timeout=1200) == 0
    assert read_files(there) == read_files(here)
    # Nothing twice: each part has one line in the log.
    lines = (there / LOG).read_text().splitlines()
    assert sorted(json.loads(line)["output"] for line in lines) == sorted(read_files(here))


def wait_until(is_so, seconds=600):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


# -- compare and fit ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    frame = made_rows(300)
    path = tmp_path_factory.mktemp("table") / "t.csv"
    frame.assign(bought=(frame["x"] > 1).astype(int)).to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_a_comparison_has_the_scores_of_one_process(table, tmp_path, cluster):
    words = ["compare", table, "--label", "bought", "--methods", "logistic,upu,bagging"]
    words += ["--folds", "3", "--json"]
    here = run(*words, "-o", tmp_path / "here")
    there = run(*words, "-o", tmp_path / "there", "--scheduler", cluster.scheduler_address)
    assert there.code == 0, there.err
    kept = [read_kept(tmp_path / name) for name in ("here", "there")]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 3
    best = [json.loads(one.out)["recommended"] for one in (here, there)]
    assert best[0] == best[1]


def read_kept(folder):
    records = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return {one["method"]: (one["key"], one["scores"]) for one in records if "key" in one}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "logistic"])
def test_a_fit_is_that_of_one_process(table, tmp_path, cluster, method):
    few = ["--set", "candidates=trees,logistic-0.1,kernel-narrow"] if method == "auto" else []
    words = ["fit", table, "--label", "bought", "--id", "id", "--method", method, *few]
    assert run(*words, "-o", tmp_path / "here.mixpul").code == 0
    there = run(*words, "-o", tmp_path / "there.mixpul", "--scheduler", cluster.scheduler_address)
    assert there.code == 0, there.err
    here, there = (tmp_path / f"{name}.mixpul" for name in ("here", "there"))
    assert (read_scores(here) == read_scores(there)).all()
    rows = pd.read_csv(table)
    assert (load(here).decision_function(rows) == load(there).decision_function(rows)).all()


@pytest.mark.slow
def test_a_large_table_is_sampled_part_by_part(table, tmp_path, cluster, monkeypatch):
    """The same sample as here; workers run in another folder, so names must be absolute."""
    frame = pd.read_csv(table)
    (tmp_path / "lake").mkdir()
    for k in range(3):
        frame[k::3].to_parquet(tmp_path / "lake" / f"{k}.parquet", index=False)
    monkeypatch.chdir(tmp_path)
    words = ["fit", "lake", "--label", "bought", "--id", "id", "--method", "logistic"]
    words += ["--max-rows", "150"]
    here = run(*words, "-o", "here.mixpul")
    assert here.code == 0, here.err
    there = run(*words, "-o", "there.mixpul", "--scheduler", cluster.scheduler_address)
    assert there.code == 0, there.err
    assert len(read_scores("here.mixpul")) == 150
    assert (read_scores("here.mixpul") == read_scores("there.mixpul")).all()


# -- everything with n_jobs -----------------------------------------------------------------

WITH_JOBS = {
    "auto": AutoPUClassifier(candidates=["trees", "logistic-0.1"], n_folds=2),
    "bagging": BaggingPUClassifier(n_estimators=10),
    "bagging of others": BaggingPUClassifier(estimator=LogisticRegression(), n_estimators=4),
    "boosting": BoostingPUClassifier(n_estimators=4, n_trees=5),
    "mixpul, mined": MixPULClassifier(
        miner=NTCMiner(n_jobs=2), n_epochs=2, net=(8,), cross_fitting=2, batch_size=16
    ),
}
BACKENDS = [
    "threading",
    pytest.param("loky", marks=pytest.mark.slow),
    pytest.param("dask", marks=pytest.mark.slow),
]


def test_all_classifiers_with_n_jobs_are_here():
    named = {name for name in METHODS if "n_jobs" in METHODS[name]().get_params()}
    assert named == {"auto", "bagging", "boosting"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_scores_do_not_depend_on_the_backend_of_joblib(backend, request):
    X = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    y = (X[:, 0] > 0.8).astype(int)
    client = nullcontext()
    if backend == "dask":
        client = distributed.Client(request.getfixturevalue("cluster"))
    with client, parallel_config(backend, n_jobs=2):
        for name, classifier in WITH_JOBS.items():
            alone = clone(classifier).set_params(random_state=0)
            many = clone(alone)
            if "n_jobs" in many.get_params():
                many.set_params(n_jobs=2)
            with parallel_config("sequential"):
                expected = alone.fit(X, y).decision_function(X)
            assert (many.fit(X, y).decision_function(X) == expected).all(), name
        folds = np.arange(120, dtype=np.int32) % 3
        spread = [
            cross_validate(LogisticPUClassifier(random_state=0), X, y, folds, n_jobs=n)[0]
            for n in (1, 2)
        ]
        assert (spread[0] == spread[1]).all()
        one, two = (
            assess.compare(X, y, ["logistic", "bagging"], n_folds=2, n_jobs=n).methods
            for n in (1, 2)
        )
        assert [m["pu_auc"] for m in one] == [m["pu_auc"] for m in two]
