"""Logistic regression of positives against unlabeled rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from mixpul import LogisticPUClassifier, load, save
from mixpul.methods import logistic
from mixpul.metrics import pu_auc_score


def test_linear_scores_are_those_of_balanced_logistic_regression(pu):
    model = LogisticPUClassifier(C=0.5).fit(pu.X, pu.y)
    plain = LogisticRegression(C=0.5, class_weight="balanced", max_iter=300).fit(
        pu.X.astype(float), pu.y
    )
    np.testing.assert_allclose(
        model.decision_function(pu.X), plain.decision_function(pu.X), rtol=1e-4, atol=1e-4
    )


def test_the_strength_is_chosen_by_out_of_fold_pu_auc(pu):
    """A column that tells positives apart among a hundred that say nothing asks for a penalty."""
    rng = np.random.default_rng(0)
    noisy = np.hstack([pu.X, rng.normal(size=(len(pu.X), 100))]).astype(np.float32)
    assert LogisticPUClassifier(random_state=0).fit(noisy, pu.y).C_ < 1
    chosen = LogisticPUClassifier(random_state=0).fit(pu.X, pu.y)
    assert chosen.C_ in logistic.STRENGTHS


def test_a_kernel_bends_where_a_line_cannot(pu):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2)).astype(np.float32)
    truth = (X**2).sum(axis=1) < 0.8
    y = (truth & (rng.random(800) < 0.4)).astype(int)
    line = LogisticPUClassifier(random_state=0).fit(X, y)
    ring = LogisticPUClassifier(n_landmarks=100, random_state=0).fit(X, y)
    assert roc_auc_score(truth, line.decision_function(X)) < 0.7
    assert roc_auc_score(truth, ring.decision_function(X)) > 0.95
    assert ring.landmarks_.shape == (100, 2)


def test_of_many_rows_of_a_side_some_are_taken(pu, monkeypatch):
    monkeypatch.setattr(logistic, "MOST_OF_A_SIDE", 20)
    taken = logistic._take_some(pu.y == 1, pu.y < 0, np.random.default_rng(0))
    assert np.bincount(pu.y[taken]).tolist() == [20, 20]
    assert len(np.unique(taken)) == 40
    model = LogisticPUClassifier(C=1.0, random_state=0).fit(pu.X, pu.y)
    again = LogisticPUClassifier(C=1.0, random_state=0).fit(pu.X, pu.y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert pu_auc_score(pu.y, model.decision_function(pu.X)) > 0.7


@pytest.mark.parametrize("n_landmarks", [None, 20])
def test_sparse_rows_score_like_dense_ones(pu, n_landmarks):
    model = LogisticPUClassifier(C=1.0, n_landmarks=n_landmarks, random_state=0)
    dense = model.fit(pu.X, pu.y).decision_function(pu.X)
    rows = sparse.csr_matrix(pu.X)
    np.testing.assert_allclose(model.fit(rows, pu.y).decision_function(rows), dense, atol=1e-3)


@pytest.mark.parametrize("params", [{}, {"C": 1.0, "n_landmarks": 20}])
def test_it_is_stored_as_arrays(pu, tmp_path, params):
    model = LogisticPUClassifier(random_state=0, **params).fit(pu.X, pu.y)
    save(model, tmp_path / "m.mixpul")
    loaded = load(tmp_path / "m.mixpul")
    np.testing.assert_array_equal(loaded.decision_function(pu.X), model.decision_function(pu.X))
