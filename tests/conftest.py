"""A small problem and a cheap classifier, shared by the tests."""

import os
from typing import NamedTuple

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from browser import Browser
from mixpul import MixPULClassifier

# For programs that tests start, too: two of them on two cores, each with two threads that spin
# while they wait for each other, take twenty times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


class Problem(NamedTuple):
    """PU data whose truth is known."""

    X: np.ndarray
    y: np.ndarray  # 1 = labeled positive, 0 = unlabeled
    truth: np.ndarray


class _ToldAtOnce:
    """Says what failed when it fails: a run that is stopped before its end has said it."""

    def __init__(self, reporter):
        self.reporter = reporter

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.reporter.ensure_newline()
            self.reporter.write_line(f"FAILED {report.nodeid}\n{report.longreprtext[-2000:]}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_ToldAtOnce(reporter))


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """On a busy machine threads that wait for each other make a second's work take a minute."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def pu():
    """Two Gaussian blobs, 200 rows; 80 positives, of which 30 are labeled."""
    generator = np.random.default_rng(0)
    truth = generator.permutation(np.repeat([True, False], [80, 120]))
    X = generator.normal(size=(200, 4)) + 2 * truth[:, None] * [1, 1, 0, 0]
    y = np.zeros(200, dtype=int)
    y[np.flatnonzero(truth)[:30]] = 1
    return Problem(X.astype(np.float32), y, truth)


@pytest.fixture
def quick():
    """Build a classifier that fits in a few hundredths of a second."""
    cheap = {
        "net": (8,),
        "n_epochs": 3,
        "batch_size": 32,
        "min_steps": None,
        "cross_fitting": 2,
        "random_state": 0,
    }
    return lambda **params: MixPULClassifier(**(cheap | params))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.quit()
