import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mixpul.methods.supervised import SupervisedClassifier, _make_search_space, _split

lightgbm = pytest.importorskip("lightgbm")
hyperopt = pytest.importorskip("hyperopt")
QUICK = {"n_evals": 2, "n_rounds": 30, "random_state": 0}


def test_search_space_is_that_of_the_authors():
    from hyperopt.pyll.stochastic import sample

    draws = [sample(_make_search_space(hyperopt.hp), np.random.default_rng(k)) for k in range(300)]
    low_high = {
        name: (min(d[name] for d in draws), max(d[name] for d in draws)) for name in draws[0]
    }
    limits = {
        "learning_rate": (0.01, 0.05), "max_depth": (-1, 6), "num_leaves": (10, 200),
        "feature_fraction": (0.5, 1), "bagging_fraction": (0.5, 1), "bagging_freq": (0, 50),
        "reg_alpha": (0, 30), "reg_lambda": (0, 30), "min_child_weight": (0.5, 10),
    }  # fmt: skip
    assert low_high.keys() == limits.keys()
    for name, (low, high) in limits.items():
        assert low <= low_high[name][0] < low_high[name][1] <= high
    assert {d["max_depth"] for d in draws} == {-1, 2, 3, 4, 5, 6}


def test_few_rows_get_one_score_by_default():
    # No split leaves 20 rows on both sides of 38. The paper's baseline has an AUC of .50 +- 0.
    y = np.arange(38) < 10
    X = np.random.default_rng(0).normal(size=(38, 2)) + 3 * y[:, None]
    scores = SupervisedClassifier(**QUICK).fit(X, y).decision_function(X)
    assert len(np.unique(scores)) == 1
    assert_allclose(scores[0], np.log(9 / 25), rtol=1e-5)  # one and three are held out


def test_scaled_leaves_can_split_few_rows():
    y = np.arange(38) < 10
    X = np.random.default_rng(0).normal(size=(38, 2)) + 3 * y[:, None]
    n_scores = {}
    for min_leaf in ("default", "scaled"):
        model = SupervisedClassifier(min_leaf=min_leaf)
        params = model._make_settings({"min_child_weight": 2.0}, y, np.random.default_rng(0))
        booster = model._boost(lightgbm, X, y, np.arange(38), np.arange(0), params, 5)
        n_scores[min_leaf] = len(np.unique(booster.predict(X)))
    assert n_scores["default"] == 1
    assert n_scores["scaled"] > 1


def test_scaled_leaves_weigh_as_with_balanced_classes():
    model = SupervisedClassifier(min_leaf="scaled")
    is_positive = np.arange(100) < 10
    assert_allclose(
        model._scale_leaf_weight({"min_child_weight": 5.0}, is_positive)["min_child_weight"],
        5 * 4 * 0.09,
    )
    settings = model._make_settings({}, is_positive, np.random.default_rng(0))
    assert settings["min_child_samples"] == 1
    model.set_params(min_leaf="default")
    assert model._scale_leaf_weight({"min_child_weight": 5.0}, is_positive)["min_child_weight"] == 5
    settings = model._make_settings({}, is_positive, np.random.default_rng(0))
    assert settings["min_child_samples"] == 20


def test_model_is_kept_as_text_that_scores_to_the_bit(pu):
    model = SupervisedClassifier(**QUICK).fit(pu.X, pu.y)
    expected = model.decision_function(pu.X)
    del model._booster  # as after loading from a file
    assert_array_equal(model.decision_function(pu.X), expected)
    assert len(model.trials_) == 2
    assert set(model.params_) >= {"learning_rate", "num_leaves"}
    assert all(type(value) in (int, float) for value in model.params_.values())


def test_the_best_trial_is_taken(pu, monkeypatch):
    choices = []
    boost = SupervisedClassifier._boost

    def spy(self, lightgbm, X, y, seen, held_out, params, n_rounds):
        choices.append(params)
        return boost(self, lightgbm, X, y, seen, held_out, params, n_rounds)

    monkeypatch.setattr(SupervisedClassifier, "_boost", spy)
    model = SupervisedClassifier(n_evals=5, n_rounds=20, random_state=0).fit(pu.X, pu.y)
    best = choices[int(np.argmax(model.trials_))]
    assert all(best[name] == value for name, value in model.params_.items())


def test_trials_are_shown_on_request_only(pu, capsys):
    SupervisedClassifier(**QUICK).fit(pu.X, pu.y)
    assert capsys.readouterr() == ("", "")
    SupervisedClassifier(**QUICK, verbose=1).fit(pu.X, pu.y)
    shown = capsys.readouterr().err
    assert "2/2 trials" in shown
    assert "PU-AUC" in shown


def test_sparse_rows_and_images_score_like_dense_rows(pu):
    X = np.round(pu.X)
    expected = SupervisedClassifier(**QUICK).fit(X, pu.y).decision_function(X)
    for rows in (sparse.csr_matrix(X), X.reshape(200, 1, 2, 2)):
        scores = SupervisedClassifier(**QUICK).fit(rows, pu.y).decision_function(rows)
        assert_array_equal(scores, expected)


@pytest.mark.filterwarnings("ignore:Number of rows labeled positive")
def test_one_positive_is_enough_for_a_fit(pu):
    model = SupervisedClassifier(**QUICK).fit(pu.X, np.arange(200) == 3)
    assert model.trials_ == []
    assert np.isfinite(model.decision_function(pu.X)).all()


def test_split_has_both_kinds_on_both_sides():
    # A tenth of 3 positives was none, and boosting then stopped by an AUC of one class.
    is_positive = np.arange(200) < 3
    for fraction in (0.02, 0.1, 0.5):
        seen, held_out = _split(is_positive, fraction, np.random.default_rng(0))
        assert len(np.intersect1d(seen, held_out)) == 0
        for rows in (seen, held_out):
            assert 0 < is_positive[rows].sum() < len(rows)


def test_the_search_looks_at_a_part_of_many_rows(pu):
    model = SupervisedClassifier(**QUICK, max_rows=80).fit(pu.X, pu.y)
    assert len(model.trials_) == 2


@pytest.mark.parametrize("name", ["lightgbm", "hyperopt"])
def test_a_missing_package_is_named_with_the_way_to_get_it(pu, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"{name}: pip install 'mixpul\[supervised\]'"):
        SupervisedClassifier(**QUICK).fit(pu.X, pu.y)


def test_optional_packages_are_not_imported_with_the_module():
    code = (
        "import sys, mixpul.methods.supervised; "
        "sys.exit(bool({'lightgbm', 'hyperopt'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_search_keeps_every_positive_where_there_are_few():
    y = np.zeros(20_000, dtype=int)
    y[np.random.default_rng(0).choice(len(y), 5, replace=False)] = 1
    X = np.random.default_rng(1).normal(size=(len(y), 2)) + y[:, None]
    model = SupervisedClassifier(n_evals=2, n_rounds=5, max_rows=1000, random_state=0).fit(X, y)
    rows = model._draw_rows(y == 1, np.random.default_rng(0))
    assert y[rows].sum() == 5
    assert len(rows) == 1000
    assert np.isfinite(model.decision_function(X)).all()


def test_the_search_draws_in_shares_where_there_are_many_positives():
    is_positive = np.arange(20_000) % 4 == 0
    model = SupervisedClassifier(max_rows=1000)
    rows = model._draw_rows(is_positive, np.random.default_rng(0))
    assert is_positive[rows].sum() == pytest.approx(250, abs=1)
