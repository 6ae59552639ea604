import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mixpul import load, save
from mixpul._util.errors import DamagedFile
from mixpul._util.tensor_files import read_tensors, write_tensors
from mixpul.methods._lightgbm import drop_tiny, read_trees
from mixpul.methods._trees import _walk, make_predictor, sum_trees
from mixpul.methods.supervised import SupervisedClassifier, _make_search_space, _split
from mixpul.persistence import describe

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
        booster = model._boost(lightgbm, (X, y, None), np.arange(38), np.arange(0), params, 5)
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


def boost(X, y, **params):
    """A model of LightGBM with deep trees, as arrays of ours and as it is."""
    settings = {"objective": "binary", "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 1}
    booster = lightgbm.train(settings | params, lightgbm.Dataset(X, label=y), num_boost_round=40)
    return read_trees(booster.model_to_string()), booster


def make_hard_rows(random, n=3000):
    """Rows of ties, zeros of both signs, tiny, huge and ordinary numbers."""
    special = [0.0, -0.0, 1e-38, -1e-38, 1e-36, 3e38, -3e38, 1.0, -1.0]
    rows = random.normal(size=(n, 6)).astype(np.float32)
    rows[:, 1] = np.round(rows[:, 1])
    rows[:, 2] = random.choice(np.array(special, dtype=np.float32), n)
    rows[random.random((n, 6)) < 0.2] = 0
    return rows


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"num_leaves": 200, "max_depth": -1},
        {"max_depth": 2},
        {"num_leaves": 2},
        {"boost_from_average": False, "learning_rate": 0.5},
        {"use_missing": False},
    ],
)
@pytest.mark.parametrize("has_gaps", [False, True])
def test_our_trees_score_as_lightgbm_does(params, has_gaps):
    """Also where gaps in training gave the trees default directions; rows to score have none."""
    random = np.random.default_rng(0)
    X = make_hard_rows(random)
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) + random.normal(size=len(X)) > 1).astype(float)
    seen = X.astype(np.float64)
    if has_gaps:
        seen[random.random(X.shape) < 0.1] = np.nan
    trees, booster = boost(seen, y, **params)
    rows = np.concatenate([X, make_hard_rows(random, 1000)])
    # Values right at a threshold, and next to it.
    at = trees.threshold[trees.children[:, 0] != np.arange(len(trees.value))].astype(np.float32)
    for k, value in enumerate((at, np.nextafter(at, np.float32(9)), np.nextafter(at, -at))):
        rows[: len(value[:900]), k] = value[:900]
    expected = booster.predict(rows, raw_score=True)
    for predict in (make_predictor(trees, 6), partial(_walk, trees)):
        assert_allclose(sum_trees(predict, drop_tiny(rows)), expected, rtol=0, atol=1e-12)
    csr = booster.predict(sparse.csr_matrix(drop_tiny(rows)), raw_score=True)
    assert_allclose(sum_trees(make_predictor(trees, 6), drop_tiny(rows)), csr, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("params", "message"),
    [({"zero_as_missing": True}, "a way that is not known"), ({"linear_tree": True}, "linear")],
)
def test_trees_that_ask_in_other_ways_are_refused(params, message):
    X = make_hard_rows(np.random.default_rng(0), 500)
    with pytest.raises(DamagedFile, match=message):
        boost(X, X[:, 0] > 0, **params)


def test_trees_that_ask_for_categories_are_refused():
    X = np.random.default_rng(0).integers(0, 5, (500, 2)).astype(float)
    y = np.isin(X[:, 0], [1, 3]).astype(float)
    data = lightgbm.Dataset(X, label=y, categorical_feature=[0])
    booster = lightgbm.train({"objective": "binary", "verbosity": -1, "num_threads": 1}, data, 3)
    with pytest.raises(DamagedFile, match="categories"):
        read_trees(booster.model_to_string())


def test_model_is_kept_as_arrays_that_score_like_lightgbm(pu, monkeypatch):
    boosters = []
    boost = SupervisedClassifier._boost

    def spy(*args, **kwargs):
        boosters.append(boost(*args, **kwargs))
        return boosters[-1]

    monkeypatch.setattr(SupervisedClassifier, "_boost", spy)
    model = SupervisedClassifier(**QUICK, min_leaf="scaled").fit(pu.X, pu.y)
    expected = boosters[-1].predict(pu.X, raw_score=True)
    assert_array_equal(model.decision_function(pu.X), expected.astype(np.float32))
    assert not any("lightgbm" in str(type(value)) for value in vars(model).values())
    assert len(model.trials_) == 2
    assert set(model.params_) >= {"learning_rate", "num_leaves"}
    assert all(type(value) in (int, float) for value in model.params_.values())


def write_former_file(model, path, text):
    """A file as it was before there were arrays: with LightGBM's text."""
    save(model, path)
    tensors, description = read_tensors(path, "mixpul")
    tensors = {name: one for name, one in tensors.items() if not name.startswith("tree_")}
    description["learned"]["model_text_"] = text
    write_tensors(path, "mixpul", tensors, description)


def test_former_files_with_text_are_read_without_its_parser(pu, tmp_path, monkeypatch):
    boosters = []
    boost = SupervisedClassifier._boost

    def spy(*args, **kwargs):
        boosters.append(boost(*args, **kwargs))
        return boosters[-1]

    monkeypatch.setattr(SupervisedClassifier, "_boost", spy)
    model = SupervisedClassifier(**QUICK, min_leaf="scaled").fit(pu.X, pu.y)
    text = boosters[-1].model_to_string(num_iteration=boosters[-1].best_iteration)
    write_former_file(model, tmp_path / "former", text)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    loaded = load(tmp_path / "former")
    assert_array_equal(loaded.decision_function(pu.X), model.decision_function(pu.X))
    save(loaded, tmp_path / "again")
    assert "model_text_" not in describe(tmp_path / "again")["learned"]


FORGED = {
    "a column beyond the last": lambda t: re.sub("split_feature=\\d+", "split_feature=99", t),
    "a column below the first": lambda t: re.sub("split_feature=\\d+", "split_feature=-7", t),
    "a child beyond the last": lambda t: re.sub("left_child=\\S+", "left_child=9999", t),
    "a child far beyond": lambda t: re.sub("left_child=\\S+", f"left_child={2**62}", t),
    "a leaf beyond the last": lambda t: re.sub("right_child=\\S+", "right_child=-99999", t),
    "a cycle": lambda t: re.sub("left_child=\\S+", "left_child=0", t),
    "a leaf of nothing": lambda t: re.sub("leaf_value=\\S+", "leaf_value=nan", t),
    "no leaves": lambda t: re.sub("leaf_value=.*", "leaf_value=", t),
    "a leaf less": lambda t: re.sub("leaf_value=\\S+ ", "leaf_value=", t),
    "a threshold of text": lambda t: re.sub("threshold=\\S+", "threshold=x", t),
    "truncated": lambda t: t[: len(t) // 2],
    "empty": lambda t: "",
    "a list": lambda t: [1],
}


@pytest.mark.parametrize("change", FORGED)
def test_forged_text_is_refused_at_load(pu, tmp_path, change):
    X, y = pu.X, pu.y.astype(float)
    _, booster = boost(X, y)
    model = SupervisedClassifier(**QUICK).fit(X, pu.y)
    text = booster.model_to_string()
    write_former_file(model, tmp_path / "former", text)
    load(tmp_path / "former")
    forged = FORGED[change](text)
    assert forged != text
    write_former_file(model, tmp_path / "former", forged)
    with pytest.raises(DamagedFile, match="not a whole mixpul model file"):
        load(tmp_path / "former")


def test_the_best_trial_is_taken(pu, monkeypatch):
    choices = []
    boost = SupervisedClassifier._boost

    def spy(self, lightgbm, data, seen, held_out, params, n_rounds):
        choices.append(params)
        return boost(self, lightgbm, data, seen, held_out, params, n_rounds)

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
