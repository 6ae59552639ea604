"""One training in several processes takes the steps of one process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from torch import nn
from typer.testing import CliRunner

from mixpul import load
from mixpul._util import ranks
from mixpul._util.errors import MixpulError, RankLost
from mixpul.cli import app
from mixpul.methods._candidates import Labels, list_candidates, plan_fits
from mixpul.nets import splitting

WORKER = Path(__file__).parent / "rank_worker.py"
TASKS = ("mixpul", "images", "killed", "others")
SLOW_TASKS = (
    "nnpu", "unclamped", "vpu", "folds", "penalty", "stops", "dies", "unseen", "resumed", "dropout",
    "unseeded",
)  # fmt: skip

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or not hasattr(os, "fork"),
    reason="needs torch.distributed and fork",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return train(tmp_path_factory.mktemp("ranks"), TASKS)


@pytest.fixture(scope="module")
def slow_folder(tmp_path_factory):
    return train(tmp_path_factory.mktemp("slow-ranks"), SLOW_TASKS)


def train(folder, tasks):
    """Train everything once, in processes that are forks of one."""
    done = subprocess.run(
        [sys.executable, WORKER, folder, *tasks],
        capture_output=True,
        text=True,
        # Two ranks share few cores: threads that wait for each other would take most of the time.
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        timeout=1000,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder


def read(folder, task, n_ranks, rank=0):
    with np.load(folder / f"{task}-{n_ranks}-{rank}.npz") as found:
        return dict(found)


@pytest.mark.parametrize("task", ["mixpul", "images"])
def test_two_processes_take_the_steps_of_one(folder, task):
    check_same_steps(folder, task)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["nnpu", "vpu", "folds", "penalty", "stops"])
def test_two_processes_take_the_steps_of_one_in_other_methods(slow_folder, task):
    check_same_steps(slow_folder, task)


def check_same_steps(folder, task):
    one, first, second = read(folder, task, 1), read(folder, task, 2), read(folder, task, 2, 1)
    assert len(one) > 3
    for name, expected in one.items():
        assert_array_equal(first[name], second[name], err_msg=name)
        assert_allclose(first[name], expected, rtol=0, atol=1e-5, err_msg=name)


@pytest.mark.slow
def test_the_clamp_of_nnpu_acts_in_these_trainings(slow_folder):
    clamped, free = read(slow_folder, "nnpu", 2), read(slow_folder, "unclamped", 1)
    assert max(np.abs(clamped[name] - free[name]).max() for name in clamped) > 1e-3


@pytest.mark.slow
def test_early_stopping_ends_all_ranks_after_the_same_epoch(slow_folder):
    losses = [read(slow_folder, "stops", n, k)["losses"] for n, k in ((1, 0), (2, 0), (2, 1))]
    assert len({len(own) for own in losses}) == 1
    assert 3 < len(losses[0]) < 30


@pytest.mark.slow
def test_the_first_rank_writes_the_checkpoint_and_all_go_on_from_it(slow_folder):
    assert not (slow_folder / "checkpoint-of-1").exists()
    stopped, resumed = read(slow_folder, "stops", 2), read(slow_folder, "resumed", 2, 1)
    for name, expected in stopped.items():
        assert_array_equal(resumed[name], expected, err_msg=name)
    assert not (slow_folder / "checkpoint-of-0").exists()


OTHER_START = "MixpulError: The processes of this training do not start from the same:"


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("killed", "RankLost: Another process of this training has ended or does not answer;"),
        ("others", OTHER_START),
    ],
)
def test_what_cannot_go_on_ends_with_a_sentence(folder, task, sentence):
    check_sentence(folder, task, sentence)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("dropout", "MixpulError: The network has dropout, whose masks would differ"),
        ("unseeded", "MixpulError: A training by several processes must draw the same numbers"),
        ("unseen", OTHER_START),
    ],
)
def test_what_should_not_be_trained_so_ends_with_a_sentence(slow_folder, task, sentence):
    check_sentence(slow_folder, task, sentence)


def check_sentence(folder, task, sentence):
    assert (folder / f"{task}-2-0.txt").read_text().startswith(sentence)
    assert (folder / f"{task}-2-1.txt").exists() == (task != "killed")


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 5])
def test_shares_are_disjoint_and_cover_all_rows(monkeypatch, n_ranks):
    monkeypatch.setattr(ranks, "count_ranks", lambda: n_ranks)
    for n in (0, 1, 4, 33):
        taken = []
        for rank in range(n_ranks):
            monkeypatch.setattr(ranks, "get_rank", lambda rank=rank: rank)
            taken += range(n)[ranks.share_rows(n)]
        assert taken == list(range(n))


def test_batch_norm_by_gathered_moments_is_batch_norm(monkeypatch):
    """Of a single rank: sums over ranks are then those of the rows themselves."""
    monkeypatch.setattr(splitting, "count_ranks", lambda: 2)
    monkeypatch.setattr(splitting, "sum_over_ranks", lambda own: own)
    monkeypatch.setattr(splitting, "share_rows", lambda n: slice(0, n))
    monkeypatch.setattr(splitting, "gather_rows", lambda own, n: own)
    x = torch.randn(12, 3, 4, 4, generator=torch.Generator().manual_seed(0)) * 5 + 7
    for norm in (nn.BatchNorm2d(3), nn.BatchNorm2d(3, momentum=None), nn.BatchNorm2d(3, 1e-3)):
        twin = nn.Sequential(nn.BatchNorm2d(3, norm.eps, norm.momentum))
        plain = nn.Sequential(norm)
        for _ in range(2):
            expected = plain(x)
            with splitting.split_over_ranks([twin]):
                assert_allclose(twin(x).detach(), expected.detach(), atol=1e-5)
        for own, theirs in zip(twin.buffers(), plain.buffers(), strict=True):
            assert_allclose(own, theirs, rtol=1e-5)
        with splitting.split_over_ranks([twin.eval()]):
            assert_allclose(twin(x).detach(), plain.eval()(x).detach(), atol=1e-5)
        assert "forward" not in vars(twin) | vars(twin[0])


def test_a_lost_process_is_no_failure_of_a_candidate(monkeypatch):
    def lose(*args, **more):
        raise RankLost("gone")

    monkeypatch.setattr("mixpul.methods._candidates._fit_on_folds", lose)
    X, y = np.zeros((4, 1)), np.array([True, True, False, False])
    labels, folds = Labels(y, ~y & False, None), np.zeros(4, dtype=np.int32)
    (plan,) = plan_fits(list_candidates(["logistic-0.1"], X), X, labels, folds, 0, None)
    with pytest.raises(RankLost):
        plan(0)


def test_commands_for_one_process_are_refused_under_torchrun(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one")
    monkeypatch.setenv("WORLD_SIZE", "2")
    result = CliRunner().invoke(app, ["prior", "table.csv", "--label", "bought"])
    assert isinstance(result.exception, MixpulError)
    assert str(result.exception).startswith("mixpul prior runs in one process; start it without")


@pytest.mark.slow
def test_torchrun_writes_the_model_of_one_process_and_speaks_once(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 120, (60, 8, 8)).astype(np.uint8)
    pixels[::3, :4] += 100
    for folder, rows in (("cats", pixels[:60:6]), ("photos", np.delete(pixels, np.s_[::6], 0))):
        (tmp_path / folder).mkdir()
        for k, row in enumerate(rows):
            Image.fromarray(row).save(tmp_path / folder / f"{k}.png")
    settings = [
        f"--set={one}" for one in ("n_epochs=2", "batch_size=9", "cross_fitting=2", "device=cpu")
    ]
    words = ["-m", "mixpul", "fit-images", "cats", "photos", "--features=none", "--size=8"]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    said = {}
    for name, before in (("one", []), ("two", torchrun)):
        done = subprocess.run(
            [sys.executable, *before, *words, *settings, "-o", f"{name}.mixpul"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            timeout=1000,
        )
        assert done.returncode == 0, done.stderr
        said[name] = done.stdout
    # Seconds and the name of the file may differ, and the last digit of a number.
    assert [line[:7] for line in said["one"].splitlines()] == [
        line[:7] for line in said["two"].splitlines()
    ]
    one, two = (load(tmp_path / f"{name}.mixpul") for name in ("one", "two"))
    for ours, theirs in zip(two.history_, one.history_, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-4)
    # Not as close as above: rounding may decide which of two pixels is the larger one.
    found = dict(two.net_.named_parameters())
    for name, expected in one.net_.named_parameters():
        assert_allclose(found[name].detach(), expected.detach(), atol=1e-3, err_msg=name)
