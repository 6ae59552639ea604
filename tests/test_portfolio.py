"""How candidates are weighed and combined."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from mixpul.methods._portfolio import (
    LIMIT,
    compare_with_best,
    compute_placements,
    drop_small,
    make_score_table,
    to_normal_scores,
    weigh,
)

IS_POSITIVE = np.array([1, 1, 1, 0, 0, 0, 0], dtype=bool)
SCORES = np.array(
    [
        [3, 1, 2, 0, 2.5, -1, 0.5],
        [1, 0.2, 0.9, 0.3, 0.8, 0.1, 0.2],
        [0, 1, 0, 1, 0, 0, 1],
    ]
)


def test_placements_differences_and_weights_worked_out_by_hand():
    placed = [compute_placements(s[IS_POSITIVE], s[~IS_POSITIVE]) for s in SCORES]
    np.testing.assert_allclose(placed, [[1, 0.75, 0.75], [1, 0.375, 1], [0.25, 0.75, 0.25]])
    compared = compare_with_best(IS_POSITIVE, SCORES, count_unlabeled=False)
    np.testing.assert_allclose(compared.pu_auc, [0.833333, 0.791667, 0.416667], atol=1e-6)
    np.testing.assert_allclose(compared.standard_error, [0, 0.181621, 0.220479], atol=1e-6)
    np.testing.assert_allclose(compared.z, [0, 0.229416, 1.889822], atol=1e-6)
    np.testing.assert_allclose(np.exp(-(compared.z**2)), [1, 0.948729, 0.028116], atol=1e-6)
    weights = weigh(compared.z, np.ones(3))
    np.testing.assert_allclose(weights, [0.505857, 0.479921, 0.014222], atol=1e-6)


def test_normal_scores_worked_out_by_hand():
    normal = to_normal_scores(SCORES[0], make_score_table(SCORES[0]))
    expected = [1.150349, 0, 0.318639, -0.674490, 0.674490, -1.150349, -0.318639]
    np.testing.assert_allclose(normal, expected, atol=1e-6)


def test_beliefs_multiply_the_weights():
    z = np.array([0.0, 0.0, 1.0])
    weights = weigh(z, np.array([4.0, 1.0, 1.0]))
    np.testing.assert_allclose(weights[0] / weights[1], 4)
    np.testing.assert_allclose(weights[2] / weights[1], np.exp(-1))


def test_the_share_of_the_unlabeled_rows_counts_where_they_are_few():
    positives_only = compare_with_best(IS_POSITIVE, SCORES, count_unlabeled=False)
    both = compare_with_best(IS_POSITIVE, SCORES)
    assert (both.standard_error[1:] > positives_only.standard_error[1:]).all()


def test_the_standard_error_is_that_of_many_draws():
    """The paired difference of two noisy scores, over fresh draws of positives."""
    rng = np.random.default_rng(0)
    unlabeled = rng.normal(size=20_000)
    differences, errors = [], []
    for _ in range(300):
        positive = rng.normal(1, 1, 40)
        noisy = positive + rng.normal(0, 1, 40)
        scores = np.stack([np.r_[positive, unlabeled], np.r_[noisy, unlabeled]])
        compared = compare_with_best(np.arange(20_040) < 40, scores)
        differences.append(compared.pu_auc[0] - compared.pu_auc[1])
        errors.append(compared.standard_error.max())
    assert np.mean(errors) == pytest.approx(np.std(differences), rel=0.1)


def test_one_positive_leaves_nothing_but_doubt():
    compared = compare_with_best(np.array([True, False, False]), np.array([[2.0, 0, 1], [0, 1, 2]]))
    np.testing.assert_array_equal(compared.z, [0, 0])


def test_a_candidate_that_is_always_worse_by_the_same_has_no_weight():
    is_positive = np.array([1, 1, 0, 0, 0], dtype=bool)
    scores = np.array([[3.0, 3, 0, 1, 2], [1.5, 1.5, 0, 1, 2]])
    compared = compare_with_best(is_positive, scores, count_unlabeled=False)
    assert compared.z[1] == np.inf
    np.testing.assert_array_equal(weigh(compared.z, np.ones(2)), [1, 0])


def test_small_weights_are_dropped_and_the_rest_adds_up_to_one():
    np.testing.assert_allclose(
        drop_small(np.array([0.6, 0.39, 0.01]), 0.02), [0.60606, 0.39394, 0], atol=1e-5
    )
    # The largest stays, whatever it is.
    np.testing.assert_allclose(drop_small(np.full(100, 0.01), 0.02), np.full(100, 0.01))


def test_normal_scores_keep_the_order_of_rows_beyond_all_others():
    scores = np.random.default_rng(0).normal(size=500)
    table = make_score_table(scores)
    beyond = scores.max() + np.array([0.1, 0.2, 0.3])
    found = to_normal_scores(beyond, table)
    assert (np.diff(found) > 0).all()
    assert to_normal_scores(np.array([1e9, -1e9]), table).tolist() == [LIMIT, -LIMIT]


def test_normal_scores_do_not_depend_on_the_scale_of_scores():
    scores = np.random.default_rng(1).normal(size=300)
    table, bent = make_score_table(scores), make_score_table(np.exp(3 * scores))
    np.testing.assert_allclose(
        to_normal_scores(scores, table), to_normal_scores(np.exp(3 * scores), bent), atol=1e-9
    )


def test_a_table_of_many_scores_is_short_and_close():
    scores = np.random.default_rng(2).gamma(1.0, size=50_000)
    table = make_score_table(scores)
    assert table.shape[1] <= 1000
    exact = norm.ppf((scores.argsort().argsort() + 1) / (len(scores) + 1))
    inner = np.abs(exact) < 2.5
    np.testing.assert_allclose(to_normal_scores(scores, table)[inner], exact[inner], atol=0.02)


def test_equal_scores_all_over_say_nothing():
    found = to_normal_scores(np.array([0.0, 1.0, 2.0]), make_score_table(np.ones(10)))
    np.testing.assert_array_equal(found, [0, 0, 0])


def test_weighing_beats_equal_weights_where_a_candidate_is_noise():
    rng = np.random.default_rng(3)
    truth = rng.random(4000) < 0.4
    is_positive = truth & (rng.random(4000) < 0.2)
    good = truth + rng.normal(0, 0.8, 4000)
    scores = np.stack([good, *rng.normal(size=(4, 4000))])
    weights = weigh(compare_with_best(is_positive, scores).z, np.ones(5))
    normal = np.stack([to_normal_scores(s, make_score_table(s)) for s in scores])
    weighed, equal = (roc_auc_score(truth, w @ normal) for w in (weights, np.full(5, 0.2)))
    assert weighed > roc_auc_score(truth, good) - 0.005
    assert weighed > equal + 0.1
