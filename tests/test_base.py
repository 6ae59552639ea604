import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from mixpul._util.random import hold_out
from mixpul.methods.neural import classifier

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture
def own_method():
    """The class that CONTRIBUTING shows, from its text."""
    (code,) = re.findall(r"```python\n(.*?)```", CONTRIBUTING.read_text(), flags=re.DOTALL)
    names = {}
    exec(code, names)
    return names["SoftplusPUClassifier"]


def test_a_method_of_ones_own_is_one_function(own_method, pu):
    model = own_method(n_epochs=10, batch_size=32, random_state=0).fit(pu.X, pu.y)
    assert roc_auc_score(pu.truth, model.decision_function(pu.X)) > 0.8
    assert model.history_[0].keys() == {"epoch", "L_P", "L_U", "loss", "pu_auc"}
    assert model.oof_scores_.shape == pu.y.shape
    again = clone(model).fit(pu.X, pu.y)
    np.testing.assert_array_equal(again.decision_function(pu.X), model.decision_function(pu.X))


def test_automatic_weight_decay_is_two_over_the_number_of_positives(own_method, pu, monkeypatch):
    decays = []
    make_optimizer = classifier.make_optimizer

    def watched(net, name, learning_rate, momentum, weight_decay):
        decays.append(weight_decay)
        return make_optimizer(net, name, learning_rate, momentum, weight_decay)

    monkeypatch.setattr(classifier, "make_optimizer", watched)
    for weight_decay in ("auto", 0.5):
        own_method(weight_decay=weight_decay, n_epochs=1, random_state=0).fit(pu.X, pu.y)
    assert decays == [2 / pu.y.sum(), 0.5]


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.99])
@pytest.mark.parametrize("n_positive", [2, 3, 50])
def test_some_of_both_kinds_are_held_out_and_some_are_left(fraction, n_positive):
    is_positive = np.arange(100) < n_positive
    rows = hold_out(is_positive, fraction, np.random.default_rng(0))
    assert len(np.unique(rows)) == len(rows)
    for kind in (is_positive, ~is_positive):
        n_held_out = kind[rows].sum()
        assert n_held_out == np.clip(round(fraction * kind.sum()), 1, kind.sum() - 1)


def test_nothing_is_held_out_when_a_kind_has_one_row():
    assert len(hold_out(np.arange(10) < 1, 0.5, np.random.default_rng(0))) == 0
