import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from mixpul import datasets
from mixpul.methods.bagging import BaggingPUClassifier, _flatten_trees, _smooth_logit


def test_score_of_three_members_of_four():
    assert_allclose(_smooth_logit(np.array([0.75]), 4), logit(3.5 / 5))
    assert np.isfinite(_smooth_logit(np.array([0.0, 1.0]), 100)).all()


def test_arrays_predict_like_the_trees_they_come_from(pu):
    trees = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(pu.X, pu.y) for d in (1, 4, 9)]
    model = BaggingPUClassifier(n_estimators=3, random_state=0).fit(pu.X, pu.y)
    names = ("roots", "children", "feature", "threshold", "value")
    for name, array in zip(names, _flatten_trees(trees), strict=True):
        setattr(model, f"tree_{name}_", array)
    expected = np.column_stack([tree.predict_proba(pu.X)[:, 1] for tree in trees])
    assert_allclose(model._predict_members(pu.X), expected)


class Recorder(DecisionTreeClassifier):
    """A tree that notes what it was trained on."""

    seen = []

    def fit(self, X, y, **params):
        Recorder.seen.append((X, y))
        return super().fit(X, y, **params)


def test_samples_are_as_large_as_the_positives_by_default(pu):
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
    model.set_params(n_unlabeled=100).fit(pu.X, pu.y)
    assert len(Recorder.seen[-1][1]) == 130


def test_out_of_bag_scores_use_only_members_that_have_not_seen_the_row(pu):
    # A tree on rows of noise remembers its own rows: in-bag scores of unlabeled rows are low.
    noise = np.random.default_rng(1).normal(size=(200, 3))
    model = BaggingPUClassifier(random_state=0).fit(noise, pu.y)
    unlabeled = pu.y == 0
    assert np.isnan(model.oob_scores_[~unlabeled]).all()
    assert np.isfinite(model.oob_scores_[unlabeled]).all()
    assert model.oob_scores_[unlabeled].mean() > model.decision_function(noise)[unlabeled].mean()


def test_out_of_bag_scores_find_the_hidden_positives(pu):
    model = BaggingPUClassifier(random_state=0).fit(pu.X, pu.y)
    unlabeled = pu.y == 0
    assert roc_auc_score(pu.truth[unlabeled], model.oob_scores_[unlabeled]) > 0.9


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
    aucs = [
        roc_auc_score(y_test, model.fit(problem.X, problem.s).decision_function(X_test))
        for model in (
            BaggingPUClassifier(n_estimators=30, random_state=0),
            BaggingPUClassifier(n_estimators=30, n_unlabeled=len(X_train), random_state=0),
        )
    ]
    assert aucs[0] > aucs[1] + 0.1
