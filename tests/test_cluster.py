"""A Dask cluster of two worker processes: the same results as here, also if workers die."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from test_parts import lake, made_rows, model, read_scores_of, write_parts  # noqa: F401
from test_table_cli import run

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
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
