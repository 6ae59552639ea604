"""Boosted trees on balanced samples."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from mixpul import BoostingPUClassifier, load, save
from mixpul.metrics import pu_auc_score


def make_rule(n=1500, seed=0):
    """Rows that are positive where two columns agree in sign, which no line can tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    truth = X[:, 0] * X[:, 1] > 0
    return X, (truth & (rng.random(n) < 0.2)).astype(int), truth


def test_one_series_on_all_rows_is_gradient_boosting():
    X, y, _ = make_rule(n=200)
    model = BoostingPUClassifier(n_estimators=1, n_trees=7, random_state=0)
    ((rows, seed),) = list(model._draw_samples(y == 1, np.random.default_rng(0)))
    model.fit(X, y)
    weight = np.where(y[rows] == 1, (y[rows] == 0).sum() / y[rows].sum(), 1.0)
    plain = GradientBoostingClassifier(
        n_estimators=7, subsample=0.5, max_features="sqrt", init="zero", random_state=seed
    ).fit(X[rows], y[rows], sample_weight=weight)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(X), rtol=1e-5, atol=1e-6
    )


def test_a_sample_has_all_positives_and_three_times_as_many_unlabeled_rows():
    y = np.arange(1000) < 50
    samples = BoostingPUClassifier(n_estimators=3)._draw_samples(y, np.random.default_rng(0))
    rows = [one for one, _ in samples]
    assert [len(one) for one in rows] == [200] * 3
    assert all(len(np.unique(one)) == 200 and y[one].sum() == 50 for one in rows)
    assert set(rows[0]) != set(rows[1])
    few = BoostingPUClassifier(n_estimators=1)._draw_samples(y[40:], np.random.default_rng(0))
    assert [len(one) for one, _ in few] == [110]


def test_it_finds_a_rule_of_two_columns():
    X, y, truth = make_rule()
    model = BoostingPUClassifier(random_state=0).fit(X, y)
    assert roc_auc_score(truth[y == 0], model.decision_function(X[y == 0])) > 0.85


def test_scores_do_not_depend_on_the_number_of_jobs(pu):
    one, two = (
        BoostingPUClassifier(n_estimators=4, n_jobs=jobs, random_state=0).fit(pu.X, pu.y)
        for jobs in (None, 2)
    )
    np.testing.assert_array_equal(one.decision_function(pu.X), two.decision_function(pu.X))
    assert pu_auc_score(pu.y, one.decision_function(pu.X)) > 0.7


def test_sparse_rows_score_like_dense_ones(pu):
    model = BoostingPUClassifier(n_estimators=2, random_state=0)
    dense = model.fit(pu.X, pu.y).decision_function(pu.X)
    rows = sparse.csr_matrix(pu.X)
    np.testing.assert_array_equal(model.fit(rows, pu.y).decision_function(rows), dense)


def test_it_is_stored_as_arrays_that_are_checked(pu, tmp_path):
    model = BoostingPUClassifier(n_estimators=2, random_state=0).fit(pu.X, pu.y)
    save(model, tmp_path / "m.mixpul")
    loaded = load(tmp_path / "m.mixpul")
    np.testing.assert_array_equal(loaded.decision_function(pu.X), model.decision_function(pu.X))
    # A child that points back would be followed for ever.
    loaded.tree_children_ = loaded.tree_children_[:, ::-1] - 1
    with pytest.raises(ValueError, match="do not fit together"):
        loaded.decision_function(pu.X)
