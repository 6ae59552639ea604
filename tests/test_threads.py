"""Fits in threads and forked children equal serial ones; the caller's randomness stays."""

import json
import os
import random
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info
from torch import nn

from mixpul import UPUClassifier, VPUClassifier, cli
from mixpul._util.threads import use_one_thread
from mixpul.nets import make_net
from mixpul.training import own_torch_state, use_threads

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "threads.py"


def measure(*options):
    """Run the benchmark with two threads for each library; return its counts."""
    environment = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, BENCHMARK, "--json", *map(str, options)],
        env=environment, capture_output=True, text=True, check=False, timeout=1000,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_fits_beside_each_other_equal_serial_ones():
    names = "vpu*,nnpu*,upu mlp*,ramp mlp*,own net*,mixpul*,upu,pnu,wsvm,bagging,logistic"
    counts = measure("--methods", names, "--ways", "threads,threading,forks", "--repeats", 2)
    expected = {"threads": 2, "threading": 2, "forks": 2, "kept": 1}
    assert counts == dict.fromkeys(names.split(","), expected)


NO_POOL = """
import os, sys, warnings
import numpy as np, torch
from mixpul import AutoPUClassifier, MixPULClassifier, VPUClassifier, load, save
warnings.simplefilter("ignore")
torch.set_num_threads(2)
random = np.random.default_rng(0)
X = random.normal(size=(400, 60)).astype(np.float32)
y = (X[:, 0] > 0) & (random.random(400) < 0.5)
few = {"n_epochs": 1, "min_steps": 2, "max_steps": 2, "cross_fitting": 2, "random_state": 0}
n_threads = len(os.listdir("/proc/self/task"))
wide = VPUClassifier(net=(300, 300), **few)
# threadpoolctl told torch's OpenMP of one thread, and not its MKL.
portfolio = AutoPUClassifier(candidates={"wide": wide}, random_state=0)
for model in (portfolio, MixPULClassifier(net="kernel", **few), wide):
    model.fit(X, y).decision_function(X)
    save(model, sys.argv[1])
    load(sys.argv[1]).decision_function(X)
    assert len(os.listdir("/proc/self/task")) == n_threads, model
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_tables_start_no_threads_of_torch(tmp_path):
    """Kernel features were put together on all threads: a child forked then waited for ever."""
    done = subprocess.run(
        [sys.executable, "-c", NO_POOL, tmp_path / "model"],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("chosen", [None, "ACTIVE"])
def test_commands_let_threads_sleep_unless_the_user_has_chosen(monkeypatch, chosen):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if chosen is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", chosen)
    monkeypatch.setattr(sys, "argv", ["mixpul", "--version"])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    assert os.environ["OMP_WAIT_POLICY"] == (chosen or "PASSIVE")


@pytest.mark.slow
def test_one_and_two_blas_threads_end_in_the_same_files():
    counts = measure("--methods", "ramp,upu,pnu", "--ways", "BLAS", "--blas-rows", 400)
    assert counts == {name: {"BLAS": 1, "kept": 1} for name in ("ramp", "upu", "pnu")}


@pytest.mark.parametrize("net", ["mlp", "skip-mlp", "linear", "kernel", (8, 8)])
def test_our_networks_draw_from_the_generator_they_are_given(net):
    with own_torch_state(seed=5):
        expected = make_net(net, (4,)).state_dict()
    before = torch.get_rng_state()
    drawn = make_net(net, (4,), torch.Generator().manual_seed(5)).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(drawn[name], value) for name, value in expected.items())


@pytest.mark.parametrize("net", ["small-conv", "allconv13"])
def test_so_do_those_for_images(net):
    with own_torch_state(seed=5):
        expected = make_net(net, (3, 8, 8)).state_dict()
    before = torch.get_rng_state()
    drawn = make_net(net, (3, 8, 8), torch.Generator().manual_seed(5)).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(drawn[name], value) for name, value in expected.items())


def make_own_net(shape):
    return nn.Sequential(nn.Linear(shape[0], 4), nn.Dropout(0.5), nn.Linear(4, 1))


@pytest.mark.parametrize("net", [(8,), make_own_net])
def test_numbers_drawn_beside_a_fit_do_not_change_it(pu, net):
    """Draws of the caller's own disturb only what must share torch's generator with them."""
    expected = VPUClassifier(net=net, n_epochs=2, random_state=0).fit(pu.X, pu.y)
    torch.manual_seed(1), np.random.seed(1), random.seed(1)  # noqa: NPY002
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    is_over = threading.Event()

    def draw():
        while not is_over.is_set():
            torch.rand(1)

    disturber = threading.Thread(target=draw)
    if net == (8,):
        disturber.start()
    model = VPUClassifier(net=net, n_epochs=2, random_state=0).fit(pu.X, pu.y)
    is_over.set()
    np.testing.assert_array_equal(model.decision_function(pu.X), expected.decision_function(pu.X))
    assert (np.random.get_state()[1] == states[1]).all()  # noqa: NPY002
    assert random.getstate() == states[2]
    if net == (8,):
        disturber.join()
    else:
        assert torch.equal(torch.get_rng_state(), states[0])


def count_blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_blas_threads_are_put_back_when_the_last_of_several_fits_ends():
    from threadpoolctl import threadpool_limits

    with threadpool_limits(2, user_api="blas"):
        first, second = use_one_thread(), use_one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert count_blas_threads() == {1}, "the second is still under way"
        second.__exit__(None, None, None)
        assert count_blas_threads() == {2}


def test_blas_has_one_thread_in_whichever_thread_a_fit_runs():
    """Some versions of threadpoolctl let only the first thread say so, and tell nobody."""
    from threadpoolctl import threadpool_limits

    counts = []

    def look():
        with use_one_thread():
            counts.append(count_blas_threads())
        counts.append(count_blas_threads())

    with threadpool_limits(2, user_api="blas"):
        look()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        look()
    assert counts == [{1}, {2}] * 3


def test_tables_are_scored_on_one_thread(pu, quick, monkeypatch):
    model, seen = quick().fit(pu.X, pu.y), []
    real = nn.Linear.forward

    def watch(self, x):
        seen.append(torch.get_num_threads())
        return real(self, x)

    monkeypatch.setattr(nn.Linear, "forward", watch)
    with use_threads(2):
        model.predict(pu.X)
        assert torch.get_num_threads() == 2
    assert set(seen) == {1}


def test_a_child_that_is_forked_after_predict_answers(pu):
    """A server loads a model, scores a row, and forks its workers."""
    code = """
import os, signal, sys
import numpy as np
from mixpul import VPUClassifier
X = np.random.default_rng(0).normal(size=(20000, 30)).astype(np.float32)
y = (np.arange(20000) % 5 == 0).astype(int)
model = VPUClassifier(n_epochs=1, max_steps=2, cross_fitting=None, random_state=0).fit(X, y)
expected = model.predict_proba(X)
child = os.fork()
if not child:
    signal.alarm(120)
    os._exit(int(not (model.predict_proba(X) == expected).all()))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = os.environ | {"OMP_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False, timeout=600)
    assert done.returncode == 0


def test_kernel_models_do_not_depend_on_their_neighbours(pu):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = UPUClassifier(prior=0.3, random_state=0).fit(pu.X, pu.y)
    found = []

    def fit():
        found.append(UPUClassifier(prior=0.3, random_state=0).fit(pu.X, pu.y).coef_)

    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((coef == expected.coef_).all() for coef in found)
    assert len(found) == 2
