"""The portfolio as a classifier."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mixpul import AutoPUClassifier, LogisticPUClassifier, MixPULClassifier, load, save
from mixpul._util.errors import MixpulError
from mixpul.methods._candidates import CANDIDATES, list_candidates
from mixpul.metrics import balanced_threshold, pu_auc_score

FEW = ["trees", "logistic-0.1", "kernel-narrow"]
SMALL_NET = MixPULClassifier(n_epochs=2, min_steps=5, random_state=0)


def make_problem(n=600, n_positive=40, seed=0, **params):
    settings = {"n_features": 8, "n_informative": 4, "random_state": seed} | params
    X, truth = make_classification(n, **settings)
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=int)
    y[rng.choice(np.flatnonzero(truth), n_positive, replace=False)] = 1
    return X.astype(np.float32), y, truth


X, Y, TRUTH = make_problem()


@pytest.fixture(scope="module")
def fitted():
    return AutoPUClassifier(candidates=[*FEW, SMALL_NET], random_state=0).fit(X, Y)


class Failing(LogisticRegression):
    def fit(self, X, y):
        raise RuntimeError("the disk is on fire\nand more")


class NotFinite(LogisticRegression):
    def decision_function(self, X):
        return np.full(len(X), np.nan)


def test_the_leaderboard_says_what_the_scores_say(fitted):
    names = {"candidate", "pu_auc", "standard_error", "difference", "difference_error", "weight"}
    assert all(entry.keys() == names | {"seconds"} for entry in fitted.leaderboard_)
    values = [entry["pu_auc"] for entry in fitted.leaderboard_]
    assert values == sorted(values, reverse=True)
    assert fitted.leaderboard_[0]["difference"] == 0 == fitted.leaderboard_[0]["difference_error"]
    for entry in fitted.leaderboard_:
        assert fitted.weights_[entry["candidate"]] == entry["weight"]
        if entry["weight"]:
            scores = fitted._scores_left_out[entry["candidate"]]
            assert entry["pu_auc"] == pytest.approx(pu_auc_score(Y, scores))
    assert sum(fitted.weights_.values()) == pytest.approx(1)
    assert set(fitted.members_) == {name for name, weight in fitted.weights_.items() if weight}


def test_out_of_fold_scores_are_those_of_rows_left_out(fitted):
    """In-sample scores of trees are far better than any on new rows."""
    assert fitted.oof_scores_.shape == Y.shape
    assert pu_auc_score(Y, fitted.oof_scores_) < pu_auc_score(Y, fitted.decision_function(X))
    assert roc_auc_score(TRUTH, fitted.oof_scores_) > 0.7
    assert balanced_threshold(Y, fitted.oof_scores_) == pytest.approx(0, abs=1e-5)


def test_labels_at_random_give_no_better_than_chance():
    rng = np.random.default_rng(0)
    y = rng.permutation(Y)
    model = AutoPUClassifier(candidates=FEW, random_state=0).fit(X, y)
    assert abs(pu_auc_score(y, model.oof_scores_) - 0.5) < 0.13


def test_candidates_are_fitted_on_the_same_folds(fitted):
    net = fitted.members_.get("MixPULClassifier")
    if net is not None:
        np.testing.assert_array_equal(net.oof_folds_, fitted.oof_folds_)
    assert fitted.oof_folds_.max() == 4
    assert np.bincount(fitted.oof_folds_[Y == 1]).min() == 8


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_scores_do_not_depend_on_the_number_of_jobs(fitted, n_jobs):
    again = clone(fitted).set_params(n_jobs=n_jobs).fit(X, Y)
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert again.weights_ == fitted.weights_


def test_scores_do_not_depend_on_the_backend(fitted):
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_backend("threading", n_jobs=2):
        again = clone(fitted).fit(X, Y)
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_a_dask_cluster_of_two_workers_finds_the_same_scores(fitted):
    distributed = pytest.importorskip("distributed")
    import joblib

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_backend("dask"),
    ):
        again = clone(fitted).fit(X, Y)
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_a_candidate_is_the_same_whatever_is_beside_it():
    alone = AutoPUClassifier(candidates=["trees"], random_state=0).fit(X, Y)
    beside = AutoPUClassifier(candidates=["logistic-0.1", "trees"], random_state=0).fit(X, Y)
    first, second = (m._scores_left_out["trees"] for m in (alone, beside))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("failing", [Failing(), NotFinite()])
def test_a_candidate_that_fails_is_left_out_with_a_warning(failing):
    model = AutoPUClassifier(candidates=["logistic-0.1", failing], random_state=0)
    with pytest.warns(UserWarning, match="is left out: ") as caught:
        model.fit(X, Y)
    assert "\n" not in str(caught[0].message)
    assert list(model.members_) == ["logistic-0.1"]
    assert [entry["candidate"] for entry in model.leaderboard_] == ["logistic-0.1"]


def test_if_all_fail_the_reason_is_one_sentence():
    with (
        pytest.warns(UserWarning, match="left out"),
        pytest.raises(MixpulError, match=r"None of the candidates .* the disk is on fire"),
    ):
        AutoPUClassifier(candidates=[Failing()]).fit(X, Y)


def test_classifiers_of_scikit_learn_and_pipelines_are_candidates():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = AutoPUClassifier(candidates={"bayes": GaussianNB(), "line": pipeline}, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y)
    assert set(model.weights_) == {"bayes", "line"}
    assert roc_auc_score(TRUTH, model.decision_function(X)) > 0.7


def test_two_of_a_kind_are_told_apart():
    models = [LogisticPUClassifier(C=1.0), LogisticPUClassifier(C=10.0)]
    model = AutoPUClassifier(candidates=models, random_state=0).fit(X, Y)
    assert set(model.weights_) == {"LogisticPUClassifier-1", "LogisticPUClassifier-2"}


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (["tree"], "no candidate 'tree'; take some of trees, "),
        ([], "candidates is empty"),
        ([3], "a name or an estimator"),
        ([LogisticRegression], "a name or an estimator"),
    ],
)
def test_candidates_that_cannot_be_are_refused(candidates, message):
    with pytest.raises(ValueError, match=message):
        AutoPUClassifier(candidates=candidates).fit(X, Y)


def test_every_method_can_be_a_candidate_by_name():
    from mixpul._names import METHODS

    names = [name for name in METHODS if name != "auto"]
    assert [one.name for one in list_candidates(names, X)] == names


def test_the_default_portfolio_has_all_kinds():
    assert [one.name for one in list_candidates(None, X)] == list(CANDIDATES)
    assert {"mixpul", "vpu", "trees", "forest"} < set(CANDIDATES)


def test_rows_on_any_scale_give_the_same_ranking():
    """Columns are standardised inside; a lognormal one is drawn in."""
    rng = np.random.default_rng(0)
    factors = 10.0 ** rng.integers(-3, 4, X.shape[1])
    plain = AutoPUClassifier(candidates=FEW, random_state=0).fit(X, Y)
    scaled = AutoPUClassifier(candidates=FEW, random_state=0).fit(X * factors + 5 * factors, Y)
    a, b = plain.decision_function(X), scaled.decision_function(X * factors + 5 * factors)
    assert np.corrcoef(a, b)[0, 1] > 0.999
    heavy = X.copy()
    heavy[:, 0] = np.exp(4 * X[:, 0])
    model = AutoPUClassifier(candidates=FEW, random_state=0).fit(heavy, Y)
    assert model.is_heavy_[0]
    assert roc_auc_score(TRUTH, model.oof_scores_) > roc_auc_score(TRUTH, plain.oof_scores_) - 0.05


def test_sparse_rows_and_data_frames():
    pandas = pytest.importorskip("pandas")
    rows = np.where(np.abs(X) > 1, X, 0)
    model = AutoPUClassifier(candidates=FEW, random_state=0)
    found = clone(model).fit(sparse.csr_matrix(rows), Y).decision_function(sparse.csr_matrix(rows))
    assert roc_auc_score(TRUTH, found) > 0.6
    frame = pandas.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    in_frame = clone(model).fit(frame, Y)
    assert list(in_frame.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(
        in_frame.decision_function(frame), clone(model).fit(X, Y).decision_function(X)
    )


def test_images_are_learned_by_networks():
    rng = np.random.default_rng(0)
    truth = rng.random(60) < 0.5
    images = rng.integers(0, 120, (60, 1, 8, 8), dtype=np.uint8)
    images[truth, :, 2:6, 2:6] += 120
    y = (truth & (rng.random(60) < 0.5)).astype(int)
    names = [one.name for one in list_candidates(None, images)]
    assert names == ["vpu", "mixpul"]
    small = [
        one.model.set_params(n_epochs=2, cross_fitting=2) for one in list_candidates(None, images)
    ]
    model = AutoPUClassifier(candidates=small, n_folds=2, random_state=0).fit(images, y)
    assert model.decision_function(images).shape == (60,)


@pytest.mark.parametrize("n_positive", [1, 2, 5])
@pytest.mark.filterwarnings("ignore:Number of rows labeled positive")
def test_few_positives(n_positive):
    own, y, _ = make_problem(n=200, n_positive=n_positive)
    model = AutoPUClassifier(candidates=[*FEW, SMALL_NET], random_state=0).fit(own, y)
    assert np.isfinite(model.decision_function(own)).all()
    assert sum(model.weights_.values()) == pytest.approx(1)


def test_few_unlabeled_rows():
    rows, y = np.concatenate([X[Y == 1], X[Y == 0][:5]]), np.repeat([1, 0], [40, 5])
    model = AutoPUClassifier(candidates=[*FEW, SMALL_NET], random_state=0).fit(rows, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_constant_columns_and_many_columns():
    rows = np.hstack([X, np.full((len(X), 2), 7.0), np.tile(X, (1, 61))]).astype(np.float32)
    assert rows.shape[1] == 498
    model = AutoPUClassifier(candidates=FEW, random_state=0).fit(rows, Y)
    assert roc_auc_score(TRUTH, model.oof_scores_) > 0.7


def test_a_time_limit_leaves_out_what_it_does_not_reach():
    model = AutoPUClassifier(candidates=["logistic-0.1", "mixpul", "trees"], time_limit=1e-6)
    with pytest.warns(UserWarning, match="time limit"), pytest.raises(MixpulError, match="None"):
        model.fit(X, Y)
    many = AutoPUClassifier(candidates=["logistic-0.1", "mixpul"], time_limit=2.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many.fit(X, Y)
    # A network stops soon after the limit, and is used as far as it came.
    assert sum(entry["seconds"] for entry in many.leaderboard_) < 30


def test_saved_and_loaded_it_scores_the_same_to_the_bit(fitted, tmp_path):
    save(fitted, tmp_path / "auto.mixpul")
    loaded = load(tmp_path / "auto.mixpul")
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    assert loaded.weights_ == fitted.weights_
    assert loaded.leaderboard_ == fitted.leaderboard_


def test_changed_rows_are_scored_by_fits_without_them(fitted):
    for fold in range(5):
        rows = np.flatnonzero(fitted.oof_folds_ == fold)
        found = fitted.score_left_out(X[rows], fold, rows)
        np.testing.assert_allclose(found, fitted.oof_scores_[rows], atol=1e-4)


def test_bars_are_shown_for_each_candidate(capsys):
    AutoPUClassifier(candidates=["logistic-0.1", SMALL_NET], verbose=1, random_state=0).fit(X, Y)
    shown = capsys.readouterr().err
    assert "MixPUL" in shown
    assert "logistic-0.1" in shown


def test_a_large_sparse_table_stays_sparse(monkeypatch):
    from mixpul.methods import _scaling

    monkeypatch.setattr(_scaling, "MOST_ENTRIES", 100)
    rows = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0))
    model = AutoPUClassifier(candidates=FEW, random_state=0).fit(rows, Y)
    assert not len(model.is_heavy_)
    assert sparse.issparse(_scaling.Scaling.learn(rows).apply(rows))
    assert roc_auc_score(TRUTH, model.decision_function(rows)) > 0.6
