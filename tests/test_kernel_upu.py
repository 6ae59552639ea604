from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog
from sklearn.metrics import roc_auc_score

from mixpul.methods._kernel.basis import (
    dense_rows,
    gaussian,
    kernel_scores,
    median_distance,
    pick_centres,
    squared_distances,
)
from mixpul.methods._kernel.solvers import (
    ROUNDING,
    _hinge,
    held_out_risk,
    ramp_cccp,
    ramp_risk,
    select_kernel_model,
    upu_convex,
    upu_squared,
)

P = np.array([[1.0, 0, 1], [2, 1, 1]])
U = np.array([[0.0, 0, 1], [1, 2, 1], [-1, 0, 1], [2, 0, 1]])
RANDOM = np.random.default_rng(0)
WIDE_P = np.column_stack([RANDOM.normal(1, 1, (30, 2)), np.ones(30)])
WIDE_U = np.column_stack(
    [np.r_[RANDOM.normal(1, 1, (40, 2)), RANDOM.normal(-1, 1, (60, 2))], np.ones(100)]
)


def double_hinge(z):
    return np.maximum(-z, np.maximum(0, 0.5 - 0.5 * z))


def test_squared_solution_of_six_rows():
    alpha = upu_squared(P, U, 0.4, 0.1, bias=False)
    assert_allclose(alpha, [0.61650485, -0.20307443, -0.36974110], atol=1e-8)


def test_squared_solution_is_the_minimum_of_its_objective():
    alpha = upu_squared(P, U, 0.4, 0.1)

    def objective(a):
        return np.mean((1 + U @ a) ** 2) / 4 - 0.4 * np.mean(P @ a) + 0.1 / 4 * a[:2] @ a[:2]

    for step in 1e-3 * np.eye(3):
        assert objective(alpha) < min(objective(alpha + step), objective(alpha - step))


def test_ramp_risk_is_the_same_in_both_forms():
    g_p, g_u, prior = np.array([2, 0.5]), np.array([-2, 0.3, 1.5]), 0.4

    def ramp(z):
        return np.clip(1 - z, 0, 2) / 2

    assert_allclose(ramp_risk(g_p, g_u, prior), 0.25)
    unbiased = prior * (ramp(g_p).mean() - ramp(-g_p).mean()) + ramp(-g_u).mean()
    assert_allclose(unbiased, 0.25)


def test_zero_one_risk_of_counts():
    # one of four positives missed, 3 of 10 unlabeled above 0, prior .3: .075 + (.3 + .075 - .3)
    risk = held_out_risk(np.array([1, 1, 1, -1.0]), np.r_[np.ones(3), -np.ones(7)], 0.3)
    assert_allclose(risk, 0.15)
    # never below the share of missed positives
    assert_allclose(held_out_risk(np.array([1.0, -1]), -np.ones(5), 0.4), 0.2)


def test_logistic_solution_has_no_slope_left():
    alpha = upu_convex(WIDE_P, WIDE_U, 0.4, 0.1)
    share = 1 / (1 + np.exp(-WIDE_U @ alpha))
    slope = -0.4 * WIDE_P.mean(0) + WIDE_U.T @ share / 100 + 0.1 * alpha * [1, 1, 0]
    assert_allclose(slope, 0, atol=1e-4)


def test_double_hinge_at_seven_points_is_two_halves_of_a_hinge():
    z = np.array([-3, -1, -0.5, 0, 0.5, 1, 3])
    assert_allclose(double_hinge(z), [3, 1, 0.75, 0.5, 0.25, 0, 0])
    assert_allclose((_hinge(1 - z)[0] + _hinge(-1 - z)[0]) / 2, double_hinge(z), atol=ROUNDING / 8)


def test_double_hinge_solution_is_as_good_as_that_of_a_linear_program():
    # Without a penalty the problem is a linear program in (alpha, xi); both are kept in a box.
    penalty, n, m = 1e-6, len(WIDE_U), 3
    alpha = upu_convex(WIDE_P, WIDE_U, 0.4, penalty, "double-hinge")
    cost = np.r_[-0.4 * WIDE_P.mean(0), np.full(n, 1 / n)]
    upper = np.block([[0.5 * WIDE_U, -np.eye(n)], [WIDE_U, -np.eye(n)]])
    bounds = [(-50, 50)] * m + [(0, None)] * n
    best = linprog(cost, upper, np.r_[np.full(n, -0.5), np.zeros(n)], bounds=bounds).fun

    def risk(a):
        return -0.4 * np.mean(WIDE_P @ a) + double_hinge(-WIDE_U @ a).mean()

    assert best - 1e-9 <= risk(alpha) < best + 0.004


@pytest.mark.parametrize("penalty", [1e-3, 0.1])
def test_ramp_objective_never_rises(penalty):
    alpha, trace = ramp_cccp(WIDE_P, WIDE_U, 0.4, penalty, tol=1e-9)
    assert len(trace) > 1
    assert (np.diff(trace) <= 0).all()
    exact = ramp_risk(WIDE_P @ alpha, WIDE_U @ alpha, 0.4) + penalty / 2 * alpha[:2] @ alpha[:2]
    assert_allclose(trace[-1], exact, atol=0.005)


def test_rounding_keeps_the_ramp_symmetric():
    z = np.linspace(-2, 2, 4001)

    def ramp(z):
        return (_hinge(1 - z)[0] - _hinge(-1 - z)[0]) / 2

    assert_allclose(ramp(z) + ramp(-z), 1)


@pytest.mark.parametrize("solve", [upu_squared, upu_convex, lambda *a: ramp_cccp(*a)[0]])
def test_bias_is_not_penalised(solve):
    # Features are worthless under this penalty; the bias still says "negative" (prior .3).
    alpha = solve(WIDE_P, WIDE_U, 0.3, 1e4)
    assert_allclose(alpha[:2], 0, atol=1e-3)
    assert alpha[2] < -0.2


SOLVERS = {
    "squared": upu_squared,
    "logistic": upu_convex,
    "double hinge": partial(upu_convex, loss="double-hinge"),
    "ramp": lambda *a: ramp_cccp(*a)[0],
}


@pytest.mark.parametrize("name", SOLVERS)
def test_selected_model_finds_two_blobs(pu, name):
    model = select_kernel_model(
        pu.X, pu.y == 1, 50 / 170, SOLVERS[name], np.random.default_rng(0),
        penalties=(0.01, 0.1), n_centres=60, n_folds=3,
    )  # fmt: skip
    g = kernel_scores(pu.X, model.centres, model.width, model.coef, model.intercept)
    assert roc_auc_score(pu.truth, g) > 0.95
    assert ((g > 0) == pu.truth).mean() > 0.87
    assert 0 <= model.risk < 0.3


def test_selection_takes_the_middle_where_nothing_can_be_left_out(pu):
    is_positive = np.arange(200) == np.flatnonzero(pu.truth)[0]
    model = select_kernel_model(pu.X, is_positive, 0.4, upu_squared, np.random.default_rng(0))
    assert model.penalty == 0.1
    assert np.isnan(model.risk)


def test_gaussian_features_of_two_rows():
    squared = squared_distances(np.array([[0.0, 0], [3, 4]]), np.array([[0.0, 0], [0, 4]]))
    assert_allclose(squared, [[0, 16], [25, 9]])
    assert_allclose(gaussian(squared, 2.0)[1], np.exp([-25 / 8, -9 / 8]))


def test_distances_keep_their_digits_far_from_the_origin():
    rows = 1e6 + np.array([[0.0], [1e-2]])
    assert_allclose(squared_distances(rows, rows)[0, 1], 1e-4, rtol=1e-5)


def test_median_distance_leaves_equal_rows_out():
    assert median_distance(np.array([[0.0], [0.0], [0.0], [2.0]]), np.random.default_rng(0)) == 2
    assert median_distance(np.ones((5, 2)), np.random.default_rng(0)) == 1


def test_sparse_rows_and_images_become_flat_rows():
    dense = np.eye(6)
    for rows in (sparse.csr_array(dense), dense.reshape(6, 1, 2, 3)):
        assert_allclose(dense_rows(rows), dense)
        assert_allclose(squared_distances(rows, dense), 2 - 2 * dense, atol=1e-12)
        assert pick_centres(rows, 4, np.random.default_rng(0)).shape == (4, 6)
