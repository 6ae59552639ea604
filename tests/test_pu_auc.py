import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from mixpul.methods.pu_auc import (
    PUAUCClassifier,
    _score_pu_aucs,
    auc_system,
    pu_auc_system,
    solve_system,
)
from mixpul.metrics import pu_auc_score

P = np.array([[1.0, 0], [2, 1]])
U = np.array([[0.0, 0], [1, 2], [-1, 0], [2, 0]])


def test_system_of_six_rows():
    A, b = pu_auc_system(P, U, 0.4)
    assert_allclose(A, [[3.833333, 0.5], [0.5, 1.333333]], atol=1e-6)
    assert_allclose(b, [1.666667, 0], atol=1e-6)
    assert_allclose(solve_system(A, b, 1.0), [0.35264484, -0.07556675], atol=1e-6)
    assert_allclose(solve_system(A, b, 0.1), [0.44339039, -0.15467107], atol=1e-6)


def test_system_of_six_rows_without_pairs_of_a_row_with_itself():
    A, b = pu_auc_system(P, U, 0.4, unbiased=True)
    assert_allclose(A, [[3.5, 0.166667], [0.166667, 1]], atol=1e-6)
    assert_allclose(solve_system(A, b, 1.0), [0.37151703, -0.03095975], atol=1e-6)


def test_solution_minimises_the_risk_over_pairs():
    def squared(a, first, second):
        return np.mean((1 - (first @ a)[:, None] + (second @ a)[None, :]) ** 2)

    def risk(a):
        return (squared(a, P, U) - 0.4 * squared(a, P, P)) / 0.6 + 0.1 * a @ a

    found = minimize(risk, np.zeros(2), tol=1e-10).x
    assert_allclose(solve_system(*pu_auc_system(P, U, 0.4), 0.1), found, atol=1e-5)


def test_system_is_one_of_outer_products():
    # A port of the method multiplied the means element by element.
    A, _ = auc_system(P, U)
    h_p, h_u = P.mean(0), U.mean(0)
    expected = P.T @ P / 2 - np.outer(h_p, h_u) - np.outer(h_u, h_p) + U.T @ U / 4
    assert_allclose(A, expected)


@pytest.mark.parametrize("prior", [0.0, 0.3, 0.5])
def test_eigenvalues_are_not_negative_up_to_a_prior_of_one_half(prior):
    random = np.random.default_rng(0)
    A, _ = pu_auc_system(random.normal(size=(3, 10)) * 5, random.normal(size=(50, 10)), prior)
    assert np.linalg.eigvalsh(A)[0] > -1e-9


def test_negative_eigenvalues_are_cut_off_with_a_warning():
    random = np.random.default_rng(0)
    A, b = pu_auc_system(random.normal(size=(5, 4)) * 5, random.normal(size=(50, 4)), 0.9)
    with pytest.warns(UserWarning, match="negative eigenvalues"):
        a = solve_system(A, b, 0.1)
    values, vectors = np.linalg.eigh(A)
    repaired = (vectors * np.maximum(values, 0)) @ vectors.T + 0.1 * np.eye(4)
    assert_allclose(repaired @ a, b, atol=1e-9)


def test_many_aucs_at_once_are_those_of_the_metric():
    scores = np.random.default_rng(0).integers(0, 5, size=(3, 30)).astype(float)
    is_positive = np.arange(30) < 8
    assert_allclose(
        _score_pu_aucs(scores, is_positive), [pu_auc_score(is_positive, row) for row in scores]
    )


def test_score_zero_is_halfway_between_the_class_means(pu):
    prior = 50 / 170
    model = PUAUCClassifier(prior=prior, random_state=0).fit(pu.X, pu.y)
    assert model.prior_ == prior
    scores = model.decision_function(pu.X)
    assert abs(scores[pu.truth].mean() + scores[~pu.truth].mean()) < 0.4 * scores.std()
    assert (model.predict(pu.X) == pu.truth).mean() > 0.85


def test_settings_given_are_not_searched(pu):
    model = PUAUCClassifier(prior=0.3, width=1.0, penalty=0.5, n_centres=30, random_state=0)
    model.fit(pu.X, pu.y)
    assert model.penalty_ == 0.5
    assert len(model.centres_) == len(model.coef_) == 30


def test_ranking_hardly_depends_on_the_prior(pu):
    aucs = [
        roc_auc_score(pu.truth, PUAUCClassifier(prior=p, random_state=0).fit(pu.X, pu.y)
                      .decision_function(pu.X)) for p in (0.01, 0.3, 0.5)
    ]  # fmt: skip
    assert min(aucs) > 0.95


def test_a_prior_goes_through_the_same_door_as_everywhere(pu):
    assert PUAUCClassifier(prior="elkan-noto", random_state=0).fit(pu.X, pu.y).prior_ > 0
    with pytest.raises(ValueError, match="share of positives among the unlabeled"):
        PUAUCClassifier(prior=0).fit(pu.X, pu.y)


def test_mined_negatives_make_it_a_mix_of_both_risks(pu):
    fixed = {"prior": 0.3, "width": 1.0, "penalty": 0.1, "random_state": 0}
    plain = PUAUCClassifier(**fixed).fit(pu.X, pu.y)
    same = PUAUCClassifier(**fixed, miner="dist", eta=1.0).fit(pu.X, pu.y)
    mixed = PUAUCClassifier(**fixed, miner="dist", eta=0.5).fit(pu.X, pu.y)
    assert_allclose(same.coef_, plain.coef_, atol=1e-9)
    assert np.abs(mixed.coef_ - plain.coef_).max() > 1e-3
    assert roc_auc_score(pu.truth, mixed.decision_function(pu.X)) > 0.9


@pytest.mark.filterwarnings("ignore:Number of rows labeled positive")
def test_one_positive_is_enough_for_a_fit(pu):
    y = np.zeros(200)
    y[np.flatnonzero(pu.truth)[0]] = 1
    assert np.isfinite(PUAUCClassifier(prior=0.4).fit(pu.X, y).decision_function(pu.X)).all()
