from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from mixpul import datasets, load, persistence, save
from mixpul.methods import _trees
from mixpul.methods.bagging import BaggingPUClassifier, _smooth_logit

FORMER = Path(__file__).parent / "data" / "former-bagging.mixpul"


def test_score_of_three_members_of_four():
    assert_allclose(_smooth_logit(np.array([0.75]), 4), logit(3.5 / 5))
    assert np.isfinite(_smooth_logit(np.array([0.0, 1.0]), 100)).all()


@pytest.fixture(params=["compiled", "numpy"])
def walk(request, monkeypatch):
    """Both ways to walk down trees: with scikit-learn's layout, and if it has changed."""
    if request.param == "numpy":
        monkeypatch.setattr(_trees, "find_layout", lambda: None)


def test_arrays_predict_like_the_trees_they_come_from(pu, walk):
    kinds = [DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 4, 9)]
    trees = [tree.fit(pu.X, pu.y) for tree in [*kinds, ExtraTreeClassifier(random_state=0)]]
    joined = _trees.join_trees([_trees._flatten_classifier(tree.tree_) for tree in trees])
    expected = np.column_stack([tree.predict_proba(pu.X)[:, 1] for tree in trees])
    assert_allclose(_trees.make_predictor(joined, 4)(pu.X), expected, rtol=1e-6)


def test_thresholds_in_single_precision_send_all_rows_the_same_way():
    # The middle of two neighbours in single precision would be rounded up, to the larger one.
    low = np.nextafter(np.float32(1000), np.float32(2000))
    rows = np.array([[low], [np.nextafter(low, np.float32(2000))]])
    tree = DecisionTreeClassifier().fit(rows, [0, 1])
    assert np.float32(tree.tree_.threshold[0]) == rows[1, 0] > tree.tree_.threshold[0]
    flat = _trees._flatten_classifier(tree.tree_)
    assert flat.threshold.dtype == np.float32
    assert_array_equal(_trees.make_predictor(flat, 1)(rows), [[0], [1]])


def test_large_trees_are_compiled_one_at_a_time_and_score_the_same(pu, monkeypatch):
    model = BaggingPUClassifier(n_estimators=20, random_state=0).fit(pu.X, pu.y)
    expected = model.decision_function(pu.X)
    monkeypatch.setattr(_trees, "MOST_NODES_KEPT", 0)
    compiled = _trees.CompiledTrees(model._get_trees(), 4, _trees.find_layout())
    assert compiled._kept is None
    assert len(compiled) == len(list(compiled)) == len(list(compiled)) == 20
    assert model._count_at_once() > _trees.ROWS_PER_BLOCK
    assert_array_equal(model.decision_function(pu.X), expected)
    again = BaggingPUClassifier(n_estimators=20, random_state=0).fit(pu.X, pu.y)
    assert_array_equal(again.oob_scores_, model.oob_scores_)


def test_scikit_learns_layout_is_known_here():
    assert _trees.find_layout() is not None


def test_another_layout_of_scikit_learn_falls_back_to_numpy(pu, monkeypatch):
    model = BaggingPUClassifier(n_estimators=5, random_state=0).fit(pu.X, pu.y)
    expected = model.decision_function(pu.X)

    def refuse(*args):
        raise ValueError("node array from the pickle has an incompatible dtype")

    monkeypatch.setattr(_trees, "_compile", refuse)
    _trees.find_layout.cache_clear()
    try:
        assert_array_equal(model.decision_function(pu.X), expected)
    finally:
        _trees.find_layout.cache_clear()


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("children", (0, 0), 10**6), ("children", (1, 1), 0), ("feature", 0, 4), ("roots", 1, 0)],
)
def test_arrays_that_lead_out_of_the_trees_are_refused(pu, name, place, value):
    model = BaggingPUClassifier(n_estimators=3, random_state=0).fit(pu.X, pu.y)
    getattr(model, f"tree_{name}_")[place] = value
    with pytest.raises(ValueError, match="do not fit together"):
        model.decision_function(pu.X)


def spy_on_samples(monkeypatch):
    """Return a list that fills with what `grow_trees` is asked for."""
    calls = []
    original = _trees.grow_trees

    def grow(X, samples, *rest):
        calls.append((samples, *rest))
        return original(X, samples, *rest)

    monkeypatch.setattr("mixpul.methods.bagging.grow_trees", grow)
    return calls


def test_trees_get_a_bootstrap_of_positives_and_distinct_unlabeled_rows(pu, monkeypatch):
    calls = spy_on_samples(monkeypatch)
    model = BaggingPUClassifier(n_estimators=50, random_state=0).fit(pu.X, pu.y)
    samples, n_positive, seeds, splits, _ = calls[0]
    assert (model.n_unlabeled_, n_positive, len(samples), splits) == (30, 30, 50, "random")
    assert len(set(seeds)) == 50
    for sample in samples:
        assert (pu.y[sample[:30]] == 1).all()
        assert len(np.unique(sample[:30])) < 30
        assert (pu.y[sample[30:]] == 0).all()
        assert len(np.unique(sample[30:])) == len(sample[30:]) == 30


@pytest.mark.parametrize(
    ("n_positive", "n_unlabeled", "expected"),
    [(5, 100, 20), (50, 100, 50), (90, 100, 63), (5, 5, 3), (5, 1, 1)],
)
def test_number_of_unlabeled_rows_of_a_tree(n_positive, n_unlabeled, expected):
    y = np.repeat([1, 0], [n_positive, n_unlabeled])
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    model = BaggingPUClassifier(n_estimators=2, random_state=0).fit(X, y)
    assert model.n_unlabeled_ == expected
    assert model.set_params(n_unlabeled=500).fit(X, y).n_unlabeled_ == n_unlabeled


@pytest.mark.parametrize("splits", ["random", "best"])
def test_both_sides_of_a_sample_have_the_same_weight(splits):
    # Without a column that differs a tree is its root: the share of positives by weight.
    y = np.repeat([1, 0], [5, 100])
    model = BaggingPUClassifier(n_estimators=3, splits=splits, random_state=0)
    model.fit(np.ones((105, 2)), y)
    assert model.n_unlabeled_ == 20
    assert_allclose(model.tree_value_, [0.5, 0.5, 0.5], rtol=1e-6)
    assert_allclose(model.oob_scores_, 0, atol=1e-6)


def test_splits_are_random_or_the_best(pu):
    X, y = np.arange(40.0)[:, None] ** 3, np.repeat([0, 1], 20)
    random, best = (
        BaggingPUClassifier(n_estimators=200, splits=splits, random_state=0).fit(X, y)
        for splits in _trees.SPLITS
    )
    # The best one is in the middle of a gap; the random one is anywhere.
    middles = (X[:, None, 0] + X[None, :, 0]) / 2
    is_middle = [
        np.isclose(model.tree_threshold_[model.tree_roots_][:, None], middles.ravel()).any(axis=1)
        for model in (random, best)
    ]
    assert is_middle[1].all()
    assert is_middle[0].mean() < 0.5
    with pytest.raises(ValueError, match="splits"):
        BaggingPUClassifier(splits="worst").fit(pu.X, pu.y)


class Recorder(DecisionTreeClassifier):
    """A tree that notes what it was trained on."""

    seen = []

    def fit(self, X, y, **params):
        Recorder.seen.append((X, y))
        return super().fit(X, y, **params)


def test_samples_of_an_estimator_are_as_large_as_the_positives_by_default(pu):
    Recorder.seen = []
    model = BaggingPUClassifier(estimator=Recorder(), n_estimators=7, random_state=0)
    model.fit(pu.X, pu.y)
    assert model.n_unlabeled_ == 30
    assert len(Recorder.seen) == 7
    for X, y in Recorder.seen:
        assert y.sum() == 30
        assert len(y) == 60
        assert_allclose(X[y], pu.X[pu.y == 1])
    # with replacement: some row is there twice in some sample
    assert any(len(np.unique(X[~y], axis=0)) < 30 for X, y in Recorder.seen)
    assert len({tuple(X[~y].ravel()) for X, y in Recorder.seen}) == 7
    model.set_params(n_unlabeled=100).fit(pu.X, pu.y)
    assert len(Recorder.seen[-1][1]) == 130


def test_out_of_bag_scores_use_only_members_that_have_not_seen_the_row(pu, monkeypatch):
    calls = spy_on_samples(monkeypatch)
    model = BaggingPUClassifier(n_estimators=40, random_state=0).fit(pu.X, pu.y)
    members = model._make_predictor()(pu.X)
    for i in (*np.flatnonzero(pu.y)[:5], *np.flatnonzero(pu.y == 0)[:5]):
        is_new = np.array([i not in sample for sample in calls[0][0]])
        assert 0 < is_new.sum() < 40
        expected = logit((40 * members[i, is_new].mean() + 0.5) / 41) - model.threshold_
        assert_allclose(model.oob_scores_[i], expected)


def test_out_of_bag_scores_know_nothing_of_noise(pu):
    # A tree remembers its own rows, so scores of rows in the bag would tell the two kinds apart.
    noise = np.random.default_rng(1).normal(size=(200, 3))
    model = BaggingPUClassifier(random_state=0).fit(noise, pu.y)
    assert roc_auc_score(pu.y, model.decision_function(noise)) > 0.95
    assert 0.3 < roc_auc_score(pu.y, model.oob_scores_) < 0.7


def test_positives_are_in_all_bags_of_an_estimator(pu):
    noise = np.random.default_rng(1).normal(size=(200, 3))
    model = BaggingPUClassifier(estimator=DecisionTreeClassifier(), random_state=0)
    model.fit(noise, pu.y)
    unlabeled = pu.y == 0
    assert np.isnan(model.oob_scores_[~unlabeled]).all()
    assert np.isfinite(model.oob_scores_[unlabeled]).all()
    assert model.oob_scores_[unlabeled].mean() > model.decision_function(noise)[unlabeled].mean()
    assert model.threshold_ == 0


@pytest.mark.filterwarnings("ignore:Number of rows labeled positive")
def test_a_row_that_all_trees_have_seen_scores_zero_out_of_bag(pu):
    only = np.arange(200) == np.flatnonzero(pu.truth)[0]
    model = BaggingPUClassifier(n_estimators=20, random_state=0).fit(pu.X, only)
    assert model.oob_scores_[only] == 0
    assert np.isfinite(model.oob_scores_).all()
    assert model.threshold_ == 0
    everyone = BaggingPUClassifier(n_estimators=20, n_unlabeled=170, random_state=0)
    assert (everyone.fit(pu.X, pu.y).oob_scores_[pu.y == 0] == 0).all()


@pytest.mark.parametrize("n_labeled", [12, 30])
def test_the_threshold_balances_recall_and_flagged_rows(n_labeled):
    rng = np.random.default_rng(0)
    truth = rng.random(1500) < 0.4
    X = rng.normal(size=(1500, 6)) + truth[:, None]
    y = np.zeros(1500, dtype=int)
    y[np.flatnonzero(truth)[:n_labeled]] = 1
    model = BaggingPUClassifier(random_state=0).fit(X, y)
    hidden = y == 0
    gaps = [
        np.mean(scores[truth[hidden]] > 0) - np.mean(scores[~truth[hidden]] > 0)
        for scores in (model.oob_scores_[hidden], model.oob_scores_[hidden] + model.threshold_)
    ]
    assert gaps[0] > 0.5
    assert gaps[0] > gaps[1] + 0.05  # at even odds too few rows would be positive


def test_out_of_bag_scores_find_the_hidden_positives(pu):
    model = BaggingPUClassifier(random_state=0).fit(pu.X, pu.y)
    unlabeled = pu.y == 0
    assert roc_auc_score(pu.truth[unlabeled], model.oob_scores_[unlabeled]) > 0.9


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3)])
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_any_number_of_workers_learns_the_same(pu, estimator, backend):
    alone = BaggingPUClassifier(estimator=estimator, n_estimators=7, random_state=0)
    alone.fit(pu.X, pu.y)
    with parallel_config(backend=backend):
        model = BaggingPUClassifier(
            estimator=estimator, n_estimators=7, n_jobs=2, random_state=0
        ).fit(pu.X, pu.y)
    assert_array_equal(model.decision_function(pu.X), alone.decision_function(pu.X))
    assert_array_equal(model.oob_scores_, alone.oob_scores_)


@pytest.mark.parametrize("splits", ["random", "best"])
def test_a_loaded_model_scores_the_same_to_the_bit(pu, tmp_path, splits, walk):
    model = BaggingPUClassifier(n_estimators=30, splits=splits, random_state=0).fit(pu.X, pu.y)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.splits == splits
    assert_array_equal(loaded.decision_function(pu.X), model.decision_function(pu.X))
    assert_array_equal(loaded.oob_scores_, model.oob_scores_)


def test_files_of_the_former_default_score_as_before(walk):
    info = persistence.describe(FORMER)["info"]
    model = load(FORMER)
    assert model.tree_value_.dtype == np.float64
    scores = model.decision_function(np.array(info["rows"], dtype=np.float32))
    assert_array_equal(scores, np.array(info["scores"], dtype=np.float32))


def test_files_from_before_there_were_thresholds_load(tmp_path):
    model = load(FORMER)
    del model.threshold_
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").threshold_ == 0


def test_bagging_around_a_classifier_is_the_former_default():
    """The former default was a decision tree, so its file tells whether anything has changed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    X[:25, 0] += 1.5
    X, y = X.round(3), np.arange(60) < 15
    model = BaggingPUClassifier(
        estimator=DecisionTreeClassifier(), n_estimators=10, random_state=0
    ).fit(X, y)
    former = load(FORMER)
    assert_array_equal(model.decision_function(X), former.decision_function(X))
    assert_array_equal(model.oob_scores_, former.oob_scores_)


EDGES = {
    "sparse": (sparse.random(300, 30, 0.2, "csr", random_state=0), 40),
    "frame": (pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=list("abc")), 9),
    "constant columns": (np.column_stack([np.ones((90, 6)), np.arange(90) % 7]), 20),
    "five positives": (np.random.default_rng(0).normal(size=(100, 3)), 5),
    "five unlabeled rows": (np.random.default_rng(0).normal(size=(45, 3)), 40),
    "five of both": (np.random.default_rng(0).normal(size=(10, 3)), 5),
    "many columns": (np.random.default_rng(0).normal(size=(200, 500)), 30),
    "images": (np.random.default_rng(0).integers(0, 256, (60, 1, 5, 5), dtype=np.uint8), 20),
    "many rows": (np.random.default_rng(0).normal(size=(50_000, 5)), 100),
}


@pytest.mark.parametrize("case", EDGES)
def test_edges(case, tmp_path):
    X, n_positive = EDGES[case]
    y = np.arange(X.shape[0]) < n_positive
    model = BaggingPUClassifier(n_estimators=30, random_state=0).fit(X, y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.isfinite(model.oob_scores_).all()
    save(model, tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").decision_function(X), scores)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), LinearSVC(), make_pipeline(StandardScaler(), Recorder())]
)
def test_any_classifier_can_be_a_member(pu, estimator):
    model = BaggingPUClassifier(estimator=estimator, n_estimators=5, random_state=0)
    assert roc_auc_score(pu.truth, model.fit(pu.X, pu.y).decision_function(pu.X)) > 0.9
    assert not hasattr(model, "tree_roots_")


def test_members_get_seeds_of_their_own_but_keep_one_they_were_given(pu):
    model = BaggingPUClassifier(estimator=make_pipeline(StandardScaler(), Recorder()))
    random = np.random.default_rng(0)
    first, second = (model._make_member(random)[-1].random_state for _ in range(2))
    assert first != second
    model = BaggingPUClassifier(estimator=Recorder(random_state=5))
    assert model._make_member(random).random_state == 5


def test_a_second_fit_with_other_members_forgets_the_trees(pu):
    model = BaggingPUClassifier(n_estimators=3, random_state=0).fit(pu.X, pu.y)
    model.set_params(estimator=LogisticRegression()).fit(pu.X, pu.y)
    linear = BaggingPUClassifier(
        estimator=LogisticRegression(), n_estimators=3, random_state=0
    ).fit(pu.X, pu.y)
    assert_allclose(model.decision_function(pu.X), linear.decision_function(pu.X))


def test_samples_as_large_as_all_unlabeled_rows_would_rank_worse():
    """What some libraries take by default; the balance of a member's sample is what counts."""
    X, y = datasets.load("krvskp", return_X_y=True)
    X_train, X_test, y_train, y_test = datasets.paper_split(X, y, random_state=0)
    problem = datasets.make_pu(X_train, y_train, c=0.05, random_state=0)
    tree = DecisionTreeClassifier()
    aucs = [
        roc_auc_score(y_test, model.fit(problem.X, problem.s).decision_function(X_test))
        for model in (
            BaggingPUClassifier(estimator=tree, n_estimators=30, random_state=0),
            BaggingPUClassifier(
                estimator=tree, n_estimators=30, n_unlabeled=len(X_train), random_state=0
            ),
        )
    ]
    assert aucs[0] > aucs[1] + 0.1
