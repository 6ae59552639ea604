import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from mixpul._util.platt import platt
from mixpul.methods._kernel.basis import kernel_scores
from mixpul.methods.wsvm import WeightedSVMClassifier, positive_weights
from mixpul.priors import label_frequency

G = np.array([0.8, 0.6, 0.7, 0.5, 0.2, 0.1, 0.3])  # the first three rows are labeled


@pytest.mark.parametrize(("method", "c"), [("e1", 0.7), ("e2", 0.65625), ("e3", 0.8)])
def test_label_frequency_of_seven_rows(method, c):
    assert_allclose(label_frequency(G[:3], G[3:], estimator=method), c)


def test_weights_of_four_unlabeled_rows():
    assert_allclose(
        positive_weights(G[3:], 0.7), [0.428571, 0.107143, 0.047619, 0.183673], atol=1e-6
    )


def test_weights_give_the_share_of_positives_on_three_points():
    share, posterior, c = np.array([0.3, 0.3, 0.4]), np.array([1, 0.5, 0]), 0.2
    g = c * posterior
    w = positive_weights(g, c)
    assert_allclose(w, [1, 0.444444, 0], atol=1e-5)
    assert_allclose(share @ (g + (1 - g) * w), 0.45, atol=1e-5)
    # Overlapping classes: the mean over labeled rows is too low, the maximum is right.
    labeled = share * g / (share @ g)
    assert_allclose(labeled @ g, 1 / 6)
    assert label_frequency(g[:2], g[2:], estimator="e3") == c


def test_weights_are_clipped_where_g_exceeds_c():
    assert_allclose(
        positive_weights(np.array([0.0, 0.3, 0.5, 1.0]), 0.4), [0, 9 / 14, 1, 1], atol=1e-5
    )


def test_platt_finds_a_sigmoid_that_made_soft_targets():
    t = np.linspace(-4, 4, 4001)
    slope, offset = platt(t, expit(1.5 * t - 0.5))
    assert_allclose([slope, offset], [1.5, -0.5], atol=0.02)


def test_platt_on_margins_that_say_nothing_gives_the_smoothed_share():
    # 3 of 10 rows: targets (3+1)/(3+2) and 1/(7+2), mean .3 * .8 + .7 / 9
    slope, offset = platt(np.full(10, 2.0), np.arange(10) < 3)
    assert_allclose(expit(2 * slope + offset), 0.3 * 0.8 + 0.7 / 9, atol=1e-5)


def test_platt_never_turns_the_order_round():
    assert platt(np.arange(10.0), np.arange(10) < 5)[0] > 0


def test_margins_are_those_of_a_weighted_svm_on_duplicated_rows(pu):
    model = WeightedSVMClassifier(C=0.7, random_state=0).fit(pu.X, pu.y)
    w, unlabeled = model.weights_, pu.y == 0
    assert (w[~unlabeled] == 1).all()
    X = np.concatenate([pu.X, pu.X[unlabeled]]).astype(float)
    y = np.repeat([1, 0], [200, unlabeled.sum()])
    weight = np.concatenate([w, 1 - w[unlabeled]])
    kept = weight >= 1e-6
    svm = SVC(C=0.7, gamma="scale").fit(X[: len(w)], pu.y)  # for its gamma
    assert_allclose(model.gamma_, svm._gamma, rtol=1e-5)
    svm = SVC(C=0.7, gamma=model.gamma_).fit(X[kept], y[kept], sample_weight=weight[kept])
    slope, offset = model.sigmoid_
    margins = (model.decision_function(pu.X) - offset) / slope
    assert_allclose(margins, svm.decision_function(pu.X.astype(float)), atol=1e-4)
    assert len(model.support_vectors_) <= 200  # a row that is there twice is stored once


def test_frequency_is_near_the_truth_where_classes_do_not_overlap(pu):
    X = pu.X + 4 * pu.truth[:, None]
    model = WeightedSVMClassifier(random_state=0).fit(X, pu.y)
    assert abs(model.c_ - 30 / 80) < 0.1
    hidden = pu.truth & (pu.y == 0)
    assert model.weights_[hidden].mean() > 0.7
    assert model.weights_[~pu.truth].mean() < 0.1
    assert (model.predict(X) == pu.truth).mean() > 0.97


def test_many_rows_go_through_an_approximation_that_ranks_alike(pu):
    exact = WeightedSVMClassifier(random_state=0).fit(pu.X, pu.y)
    rough = WeightedSVMClassifier(max_rows=100, n_components=60, random_state=0).fit(pu.X, pu.y)
    assert len(rough.support_vectors_) == 60
    correlation = np.corrcoef(exact.decision_function(pu.X), rough.decision_function(pu.X))[0, 1]
    assert correlation > 0.95


def test_scores_are_the_sigmoid_of_the_margin_and_grow_with_it(pu):
    # SVC(probability=True) fits its sigmoid on folds of duplicated rows: a row is then in training
    # and test with opposite labels, and the probabilities come out upside down.
    X, y = np.repeat(pu.X, 3, axis=0), np.repeat(pu.y, 3)
    model = WeightedSVMClassifier(random_state=0).fit(X, y)
    width = (2 * model.gamma_) ** -0.5
    margins = kernel_scores(
        X, model.support_vectors_, width, model.dual_coef_, model.intercept_
    ).astype(np.float32)
    assert model.sigmoid_[0] > 0
    probabilities = model.predict_proba(X)[:, 1]
    assert (np.diff(probabilities[np.argsort(margins)]) >= -1e-6).all()
    assert roc_auc_score(np.repeat(pu.truth, 3), probabilities) > 0.9


def test_scores_left_out_are_used_so_that_c_is_not_one(pu):
    # g of rows seen in training is near 1 for positives and near 0 for the others.
    model = WeightedSVMClassifier(C_labeled=100, gamma=5.0, random_state=0).fit(pu.X, pu.y)
    assert model.c_ < 0.6


def test_one_positive_is_refused_with_a_reason(pu):
    y = np.zeros(200)
    y[3] = 1
    with (
        pytest.warns(UserWarning, match="labeled positive"),
        pytest.raises(ValueError, match="2 pos"),
    ):
        WeightedSVMClassifier().fit(pu.X, y)


def test_rows_that_are_all_the_same_get_one_score():
    X, y = np.ones((40, 2)), np.arange(40) < 10
    scores = WeightedSVMClassifier(random_state=0).fit(X, y).decision_function(X)
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) == 1


def test_the_cost_of_the_first_svm_is_chosen_by_rows_left_out(pu):
    chosen = WeightedSVMClassifier(random_state=0).fit(pu.X, pu.y)
    assert chosen.C_labeled_ in (0.01, 0.1, 1.0)
    fixed = WeightedSVMClassifier(C_labeled=chosen.C_labeled_, random_state=0).fit(pu.X, pu.y)
    np.testing.assert_array_equal(chosen.weights_, fixed.weights_)
    # At this cost the margins of all rows are alike, which the search has to see.
    useless = WeightedSVMClassifier(C_labeled=1e-9, random_state=0).fit(pu.X, pu.y)
    assert np.ptp(useless.weights_[pu.y == 0]) < np.ptp(chosen.weights_[pu.y == 0])
