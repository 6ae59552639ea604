import json
import pickle
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.neighbors import KNeighborsClassifier

from mixpul import datasets
from mixpul._util.errors import MixpulError
from mixpul.metrics import (
    Estimate,
    PURates,
    accuracy_threshold,
    auc_interval,
    balanced_threshold,
    best_threshold,
    corrected_auc_score,
    flagged_share,
    lee_liu_score,
    prior_threshold,
    pu_accuracy_score,
    pu_auc_score,
    pu_auc_scorer,
    pu_balanced_accuracy_score,
    pu_f1_score,
    pu_false_positive_rate,
    pu_interval,
    pu_matthews_corrcoef,
    pu_precision_score,
    pu_recall_score,
    pu_report,
    pu_scorer,
    pu_zero_one_risk,
    recall_threshold,
)
from mixpul.metrics.thresholds import count_positives_needed, find_recall_depth

POSITIVE = np.array([0.9, 0.8, 0.55, 0.7, 0.4])
UNLABELED = np.array([0.85, 0.6, 0.3, 0.2, 0.1, 0.5, 0.45, 0.05])
LABELS = np.repeat([1, 0], [5, 8])
SCORES = np.concatenate([POSITIVE, UNLABELED])


@st.composite
def labels_and_scores(draw, least=1):
    """Few distinct scores, so that ties are common."""
    n_positive, n_unlabeled = draw(st.integers(least, 12)), draw(st.integers(least, 12))
    n = n_positive + n_unlabeled
    scores = draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n))
    return np.repeat([1, 0], [n_positive, n_unlabeled]), np.array(scores) / 4


def delong_by_pairs(is_positive, scores):
    """Standard error from all pairs, as the definition has it."""
    difference = scores[is_positive == 1][:, None] - scores[is_positive == 0]
    wins = (np.sign(difference) + 1) / 2
    variances = (wins.mean(axis=1 - i).var(ddof=1) / wins.shape[i] for i in (0, 1))
    return np.sqrt(sum(variances))


def quiet_interval(*args, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return auc_interval(*args, **settings)


def test_pu_auc_of_a_worked_example():
    assert pu_auc_score(LABELS, SCORES) == pytest.approx(0.8)


def test_pu_auc_counts_ties_half():
    assert pu_auc_score([1, 0, 0, 0], [2, 2, 1, 3]) == 0.5
    assert pu_auc_score([1, 1, 0], [0, 0, 0]) == 0.5


@settings(max_examples=200, deadline=None)
@given(labels_and_scores())
def test_pu_auc_is_the_roc_auc_of_labeled_against_unlabeled(case):
    assert pu_auc_score(*case) == pytest.approx(roc_auc_score(*case), abs=1e-12)


def test_pu_auc_reads_any_two_labels():
    expected = pu_auc_score(LABELS, SCORES)
    assert pu_auc_score(LABELS == 1, SCORES) == expected
    assert pu_auc_score(2 * LABELS - 1, SCORES) == expected
    assert pu_auc_score(1 - LABELS, SCORES, pos_label=0) == expected
    assert pu_auc_score(np.where(LABELS, "p", "u"), SCORES, pos_label="p") == expected


def test_infinite_scores_are_ranked():
    assert pu_auc_score([1, 0, 0], [np.inf, 0, -np.inf]) == 1


def test_corrected_auc_is_exact_when_the_unlabeled_hold_the_same_positives():
    positive, negative = [0.9, 0.6], [0.7, 0.2, 0.1]
    labels, scores = [1, 1, 0, 0, 0, 0, 0], positive + positive + negative
    assert pu_auc_score(labels, scores) == pytest.approx(0.7)
    assert roc_auc_score([1, 1, 0, 0, 0], positive + negative) == pytest.approx(0.833333, abs=1e-6)
    assert corrected_auc_score(labels, scores, prior=0.4) == pytest.approx(0.833333, abs=1e-6)


def test_corrected_auc_without_positives_among_the_unlabeled_is_the_pu_auc():
    assert corrected_auc_score(LABELS, SCORES, prior=0) == pu_auc_score(LABELS, SCORES)


def test_corrected_auc_is_returned_unclipped_with_a_warning():
    with pytest.warns(UserWarning, match=r"outside \[0, 1\].*too large.*not labeled at random"):
        above = corrected_auc_score([1, 0], [1, 0], prior=0.5)
    assert above == 1.5
    with pytest.warns(UserWarning, match="outside"):
        assert corrected_auc_score([1, 0], [0, 1], prior=0.5) == -0.5


def test_rounding_alone_does_not_warn():
    # Two of five unlabeled rows equal the positive: 1 in theory, 1.0000000000000002 in floats.
    auc = corrected_auc_score([1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], prior=2 / 5)
    assert auc == pytest.approx(1)
    assert auc > 1


def test_delong_agrees_with_the_worked_example():
    plain = quiet_interval(LABELS, SCORES)
    assert plain.value == pytest.approx(0.8)
    assert plain.se == pytest.approx(0.131101, abs=1e-6)
    corrected = quiet_interval(LABELS, SCORES, prior=0.25)
    assert corrected.value == pytest.approx(0.9)
    assert corrected.se == pytest.approx(0.174801, abs=1e-6)


def test_an_uncertain_prior_widens_the_interval_by_its_slope():
    uncertain = quiet_interval(LABELS, SCORES, prior=0.25, prior_se=0.1)
    assert uncertain.se == pytest.approx(np.hypot(0.174801, 0.533333 * 0.1), abs=1e-6)


def test_the_interval_is_the_normal_one_of_the_log_odds():
    # logit(.8) = 1.386294; .131101 / (.8 * .2) = .819381; 1.386294 -+ 1.959964 * .819381
    plain = quiet_interval(LABELS, SCORES)
    assert (plain.low, plain.high) == pytest.approx((0.445304, 0.952229), abs=1e-5)
    # The correction of these ends: (end - .125) / .75, and 1 where it exceeds 1.
    corrected = quiet_interval(LABELS, SCORES, prior=0.25)
    assert (corrected.low, corrected.high) == pytest.approx((0.427072, 1.0), abs=1e-5)
    narrow = quiet_interval(LABELS, SCORES, level=0.5)
    assert plain.low < narrow.low < narrow.value < narrow.high < plain.high
    assert isinstance(narrow, Estimate)


@settings(max_examples=100, deadline=None)
@given(labels_and_scores(least=2), st.floats(0, 0.9), st.floats(0, 0.3))
def test_the_interval_never_leaves_0_to_1(case, prior, prior_se):
    found = quiet_interval(*case, prior=prior, prior_se=prior_se)
    assert 0 <= found.low <= found.high <= 1


def test_a_perfect_ranking_of_few_rows_is_not_certain():
    # Wilson's interval of 10 out of 10: 1 / (1 + 1.959964^2 / 10)
    found = quiet_interval([1] * 10 + [0] * 40, [1.0] * 10 + [0.0] * 40)
    assert (found.value, found.se, found.high) == (1, 0, 1)
    assert found.low == pytest.approx(0.722467, abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(labels_and_scores(least=2))
def test_delong_by_ranks_is_delong_by_pairs(case):
    fast = quiet_interval(*case)
    assert fast.value == pytest.approx(roc_auc_score(*case), abs=1e-12)
    assert fast.se == pytest.approx(delong_by_pairs(*case), abs=1e-12)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    generator = np.random.default_rng(0)
    labels = np.repeat([1, 0], [40, 150])
    truth = 0.760250  # Phi(1 / sqrt 2)
    covered = []
    for _ in range(300):
        is_hidden_positive = generator.random(150) < 0.3
        means = np.concatenate([np.ones(40), is_hidden_positive])
        auc = auc_interval(labels, generator.normal(means), prior=0.3)
        covered.append(auc.low <= truth <= auc.high)
    assert 0.91 < np.mean(covered) < 0.99


def test_few_positives_make_the_interval_warn_and_fewer_make_it_refuse():
    with pytest.warns(UserWarning, match="5 labeled positives.*hardly informative"):
        auc_interval(LABELS, SCORES)
    with pytest.raises(ValueError, match="at least 2 labeled positives and 2 unlabeled"):
        auc_interval([1, 0, 0], [1, 2, 3])
    with pytest.raises(ValueError, match="at least 2 labeled positives and 2 unlabeled"):
        auc_interval([1, 1, 0], [1, 2, 3])


@pytest.mark.parametrize("metric", [pu_auc_score, auc_interval])
def test_metrics_refuse_scores_they_cannot_rank(metric):
    with pytest.raises(ValueError, match="NaN in 1 of 13 rows"):
        metric(LABELS, np.where(np.arange(13) == 3, np.nan, SCORES))
    with pytest.raises(ValueError, match="13 labels and 12 scores"):
        metric(LABELS, SCORES[:-1])
    with pytest.raises(ValueError, match="one class only"):
        metric(np.ones(13), SCORES)


@pytest.mark.parametrize("prior", [-0.1, 1, 1.5, float("nan")])
def test_metrics_refuse_an_impossible_prior(prior):
    with pytest.raises(ValueError, match="prior must be the share"):
        corrected_auc_score(LABELS, SCORES, prior)
    with pytest.raises(ValueError, match="prior must be the share"):
        auc_interval(LABELS, SCORES, prior=prior)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"prior_se": -1}, "prior_se must be"), ({"level": 95}, "level must be between 0 and 1")],
)
def test_the_interval_refuses_impossible_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        auc_interval(LABELS, SCORES, **settings)


@pytest.mark.parametrize("model", [LogisticRegression(), KNeighborsClassifier()])
def test_the_scorer_uses_scores_not_predicted_labels(model):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 2)) + np.repeat([1, 0], [15, 45])[:, None]
    s = np.repeat([1, 0], [15, 45])
    model.fit(X, s)
    scores = (
        model.decision_function(X)
        if hasattr(model, "decision_function")
        else model.predict_proba(X)[:, 1]
    )
    assert pu_auc_scorer(model, X, s) == pu_auc_score(s, scores)


def test_the_scorer_serves_cross_validation_and_grid_search():
    generator = np.random.default_rng(0)
    s = np.repeat([1, 0], [15, 45])
    X = generator.normal(size=(60, 2)) + s[:, None]
    folds = cross_val_score(LogisticRegression(), X, s, scoring=pu_auc_scorer, cv=3)
    assert np.isfinite(folds).all()
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, scoring=pu_auc_scorer, cv=3)
    assert 0 <= search.fit(X, s).best_score_ <= 1


def gaussian_score(x, prior):
    """The exact balanced score g = p+ / (p+ + p_u) of N(1, 1) against N(-1, 1)."""
    positive, negative = norm.pdf(x, 1), norm.pdf(x, -1)
    return positive / (positive + prior * positive + (1 - prior) * negative)


def gaussian_error(x, prior):
    """Share of wrong answers if everything above x is called positive."""
    return prior * norm.cdf(x, 1) + (1 - prior) * norm.sf(x, -1)


@pytest.mark.parametrize(
    ("prior", "threshold", "x", "error"),
    [
        (0.32, 0.609756, 0.376886, 0.14262),
        (0.1, 0.833333, None, 0.07006),
        (0.4, 0.555556, 0.202733, None),
    ],
)
def test_accuracy_threshold_of_two_gaussians(prior, threshold, x, error):
    assert accuracy_threshold(prior) == pytest.approx(threshold, abs=1e-6)
    assert accuracy_threshold(prior) == pytest.approx(1 / (1 + 2 * prior))
    cut = 0.5 * np.log((1 - prior) / prior)
    assert gaussian_score(cut, prior) == pytest.approx(threshold, abs=1e-6)
    if x is not None:
        assert cut == pytest.approx(x, abs=1e-6)
    if error is not None:
        assert gaussian_error(cut, prior) == pytest.approx(error, abs=1e-5)
        assert gaussian_error(0, prior) == pytest.approx(0.15866, abs=1e-5)
    assert min(gaussian_error(cut + d, prior) for d in (-0.01, 0.01)) > gaussian_error(cut, prior)


def test_half_is_the_equal_prior_cut_whatever_the_prior():
    for prior in (0.05, 0.32, 0.9):
        assert gaussian_score(0, prior) == pytest.approx(0.5)
        assert accuracy_threshold(prior, population_prior=0.5) == pytest.approx(0.5)


def test_accuracy_threshold_for_another_population():
    # CIFAR-10, vehicles against animals, 1,000 labeled of 20,000
    assert accuracy_threshold(19 / 49, population_prior=0.4) == pytest.approx(0.5568, abs=1e-4)
    with pytest.raises(ValueError, match="share between 0 and 1"):
        accuracy_threshold(1.0)


def test_the_scorer_takes_the_last_class_as_positive():
    class Reversed:
        classes_ = np.array(["unknown", "known"])

        def decision_function(self, X):
            return X[:, 0]

    X, y = np.array([[3.0], [2.0], [1.0], [0.0]]), ["known", "known", "unknown", "unknown"]
    assert pu_auc_scorer(Reversed(), X, y) == 1.0


# -- predictions ----------------------------------------------------------------------------

# 40 of 50 labeled positives and 70 of 200 unlabeled rows are predicted positive.
Y_TRUE = np.repeat([1, 1, 0, 0], [40, 10, 70, 130])
Y_PRED = np.repeat([1, 0, 1, 0], [40, 10, 70, 130])
WITHOUT_PRIOR = {
    "recall": (pu_recall_score, 0.8),
    "flagged_share": (flagged_share, 0.35),
    "lee_liu": (lee_liu_score, 1.828571),
}
WITH_PRIOR = {
    "false_positive_rate": (pu_false_positive_rate, 0.157143),
    "precision": (pu_precision_score, 0.685714),
    "f1": (pu_f1_score, 0.738462),
    "accuracy": (pu_accuracy_score, 0.83),
    "balanced_accuracy": (pu_balanced_accuracy_score, 0.821429),
    "matthews_corrcoef": (pu_matthews_corrcoef, 0.617637),
    "zero_one_risk": (pu_zero_one_risk, 0.17),
}


def masks(n_true, n_positive, n_flagged, n_unlabeled):
    """Labels and predictions with the given counts."""
    counts = [n_true, n_positive - n_true, n_flagged, n_unlabeled - n_flagged]
    return np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)


@pytest.mark.parametrize(("metric", "value"), WITHOUT_PRIOR.values(), ids=WITHOUT_PRIOR)
def test_scores_without_a_prior_of_a_worked_example(metric, value):
    assert metric(Y_TRUE, Y_PRED) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(("metric", "value"), WITH_PRIOR.values(), ids=WITH_PRIOR)
def test_scores_with_a_prior_of_a_worked_example(metric, value):
    assert metric(Y_TRUE, Y_PRED, 0.3) == pytest.approx(value, abs=1e-6)


def test_rates_of_noisy_positives_of_a_worked_example():
    rates = PURates.from_predictions(Y_TRUE, Y_PRED, prior=0.3).cleaned(purity=0.95)
    assert rates.recall == pytest.approx(0.834615, abs=1e-6)
    assert rates.false_positive_rate == pytest.approx(0.142308, abs=1e-6)
    seen = 0.95 * rates.recall + 0.05 * rates.false_positive_rate
    assert seen == pytest.approx(0.8)
    assert rates.cleaned(purity=1.0) == rates
    for purity in (0.3, 1.1):
        with pytest.raises(ValueError, match="above the prior and up to 1"):
            rates.cleaned(purity)


def test_lee_liu_orders_by_precision_times_recall_and_not_by_f1():
    a, b = PURates(0.9, 0.6, prior=0.3), PURates(0.6, 0.28, prior=0.3)
    assert (a.lee_liu, b.lee_liu) == pytest.approx((1.35, 1.286), abs=1e-3)
    assert (a.f1, b.f1) == pytest.approx((0.600, 0.621), abs=1e-3)
    for rates in (a, b):
        assert rates.lee_liu == pytest.approx(rates.precision * rates.recall / 0.3)


def test_lee_liu_takes_the_flagged_share_over_the_unlabeled_rows_only():
    # 100 positives and 900 unlabeled rows: over all 1000 it would be 1.620.
    y_true, y_pred = masks(80, 100, 315, 900)
    assert lee_liu_score(y_true, y_pred) == pytest.approx(1.829, abs=1e-3)
    assert 0.8**2 / y_pred.mean() == pytest.approx(1.620, abs=1e-3)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_scores_are_exact_if_the_unlabeled_rows_hold_the_same_positives(n_p, n_n, data):
    n_tp, n_fp = data.draw(st.integers(0, n_p)), data.draw(st.integers(0, n_n))
    truth, predicted = masks(n_tp, n_p, n_fp, n_n)
    y_true = np.concatenate([np.ones(n_p, int), np.zeros(n_p + n_n, int)])
    y_pred = np.concatenate([predicted[truth == 1], predicted])
    prior = n_p / (n_p + n_n)
    for metric, supervised in [
        (pu_precision_score, lambda t, p: precision_score(t, p, zero_division=0)),
        (pu_f1_score, f1_score),
        (pu_accuracy_score, accuracy_score),
        (pu_balanced_accuracy_score, balanced_accuracy_score),
        (pu_matthews_corrcoef, matthews_corrcoef),
        (pu_zero_one_risk, lambda t, p: np.mean(t != p)),
    ]:
        expected = supervised(truth, predicted)
        assert metric(y_true, y_pred, prior) == pytest.approx(expected, abs=1e-9), metric
    assert pu_false_positive_rate(y_true, y_pred, prior) == pytest.approx(n_fp / n_n)


def test_predictions_are_the_labels_themselves_or_zero_and_one():
    text = np.where(Y_TRUE, "fraud", "unknown")
    said = np.where(Y_PRED, "fraud", "unknown")
    assert pu_recall_score(text, said, pos_label="fraud") == 0.8
    assert flagged_share(text, Y_PRED, pos_label="fraud") == 0.35
    assert flagged_share(2 * Y_TRUE - 1, 2 * Y_PRED - 1) == 0.35
    assert flagged_share(2 * Y_TRUE - 1, Y_PRED) == 0.35
    assert flagged_share(Y_TRUE == 1, Y_PRED.astype(float)) == 0.35
    # With the labels turned round, 0 is the label of positives, but True still means positive.
    assert flagged_share(1 - Y_TRUE, 1 - Y_PRED, pos_label=0) == 0.35
    assert flagged_share(1 - Y_TRUE, Y_PRED == 1, pos_label=0) == 0.35


def test_predictions_that_are_scores_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"with a threshold first: scores > threshold"):
        pu_recall_score([1, 0, 0], [0.7, 0.2, 0.1])
    with pytest.raises(ValueError, match="got -1, 1"):
        pu_recall_score([1, 0, 0], [1, -1, -1])
    with pytest.raises(ValueError, match="got 0, 1, None"):
        pu_recall_score([1, 0, 0], [1, None, 0])
    with pytest.raises(ValueError, match="3 labels and 2 predictions"):
        pu_recall_score([1, 0, 0], [1, 0])


@pytest.mark.parametrize("prior", [0, 1, -0.1, float("nan")])
def test_scores_of_predictions_refuse_an_impossible_prior(prior):
    with pytest.raises(ValueError, match="share of positives among the unlabeled rows"):
        pu_f1_score(Y_TRUE, Y_PRED, prior)
    with pytest.raises(ValueError, match="share of positives among the unlabeled rows"):
        PURates(0.8, 0.35, prior)


def test_rates_without_a_prior_say_what_they_lack():
    with pytest.raises(ValueError, match=r"got None.*do without"):
        _ = PURates(0.8, 0.35).precision


@pytest.mark.parametrize(
    ("metric", "counts", "value"),
    [
        (pu_precision_score, (50, 50, 20, 200), 5),
        (pu_false_positive_rate, (50, 50, 20, 200), -0.8),
        (pu_false_positive_rate, (0, 50, 190, 200), 1.9),
        (pu_f1_score, (50, 50, 20, 200), 1.666667),
        (pu_accuracy_score, (50, 50, 20, 200), 1.4),
        (pu_zero_one_risk, (50, 50, 20, 200), -0.4),
        (pu_balanced_accuracy_score, (50, 50, 20, 200), 1.4),
        (pu_matthews_corrcoef, (50, 50, 20, 200), 3),
        (pu_precision_score, (50, 50, 0, 200), np.inf),
    ],
)
def test_impossible_values_are_returned_unclipped_with_a_warning(metric, counts, value):
    with pytest.warns(UserWarning, match=r"outside \[-?[01], 1\].*too large.*labeled at random"):
        assert metric(*masks(*counts), 0.5) == pytest.approx(value, abs=1e-6)


def test_a_predictor_that_flags_all_rows_or_none_has_finite_scores():
    nothing, everything = masks(0, 50, 0, 200), masks(50, 50, 200, 200)
    assert pu_precision_score(*nothing, 0.3) == 0
    assert lee_liu_score(*nothing) == 0
    assert lee_liu_score(*everything) == 1
    assert pu_matthews_corrcoef(*nothing, 0.3) == pu_matthews_corrcoef(*everything, 0.3) == 0
    assert pu_precision_score(*everything, 0.3) == pytest.approx(0.3)
    assert pu_accuracy_score(*nothing, 0.3) == pytest.approx(0.7)


def test_the_population_prior_in_place_of_that_among_the_unlabeled_is_named_in_the_warning():
    # 1000 rows, 40 % positive, 80 % of these labeled: 320 labeled, 80 of 680 unlabeled positive.
    labels = np.repeat([1, 0], [320, 680])
    scores = np.repeat([1, 1, 0], [320, 80, 600])
    prior = datasets.unlabeled_prior(population_prior=0.4, label_frequency=0.8)
    assert corrected_auc_score(labels, scores, prior) == pytest.approx(1)
    with pytest.warns(UserWarning, match="population prior, instead of the share among the unlab"):
        assert corrected_auc_score(labels, scores, 0.4) == pytest.approx(1.235, abs=1e-3)
    with pytest.warns(UserWarning, match="population prior, instead of the share among the unlab"):
        assert pu_precision_score(labels, scores, 0.4) == pytest.approx(3.4)


# -- intervals ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "prior_se", "se"),
    [
        ("precision", 0, 0.0820),
        ("f1", 0, 0.0648),
        ("accuracy", 0, 0.0478),
        ("precision", 0.05, 0.1406),
    ],
)
def test_bootstrap_errors_are_the_binomial_ones_of_the_worked_example(metric, prior_se, se):
    estimate = pu_interval(
        metric, Y_TRUE, Y_PRED, prior=0.3, prior_se=prior_se, n_bootstrap=50_000, random_state=0
    )
    assert estimate.value == pytest.approx(WITH_PRIOR[metric][1], abs=1e-6)
    # The binomial errors are linear approximations, hence the tolerance.
    assert estimate.se == pytest.approx(se, rel=0.03)
    rates, step = PURates(0.8, 0.35, 0.3), 1e-6
    slopes = [
        (getattr(PURates(0.8 + step * a, 0.35 + step * b, 0.3 + step * c), metric)
         - getattr(rates, metric)) / step
        for a, b, c in np.eye(3)
    ]  # fmt: skip
    errors = [np.sqrt(0.8 * 0.2 / 50), np.sqrt(0.35 * 0.65 / 200), prior_se]
    assert np.linalg.norm(np.multiply(slopes, errors)) == pytest.approx(se, abs=1e-4)


def test_drawing_counts_is_the_bootstrap_of_rows():
    generator = np.random.default_rng(0)
    positive, unlabeled = Y_PRED[Y_TRUE == 1], Y_PRED[Y_TRUE == 0]
    by_rows = [
        PURates(
            generator.choice(positive, 50).mean(), generator.choice(unlabeled, 200).mean(), 0.3
        ).f1
        for _ in range(4000)
    ]
    by_counts = pu_interval("f1", Y_TRUE, Y_PRED, prior=0.3, n_bootstrap=4000, random_state=0)
    assert by_counts.se == pytest.approx(np.std(by_rows), rel=0.05)
    ends = np.quantile(by_rows, [0.025, 0.975])
    assert (by_counts.low, by_counts.high) == pytest.approx(ends, abs=0.01)


def test_the_bootstrap_interval_covers_the_truth_about_as_often_as_it_says():
    generator = np.random.default_rng(0)
    truth = PURates(0.8, 0.3 * 0.8 + 0.7 * 0.2, 0.3).balanced_accuracy
    covered = []
    for seed in range(200):
        y_true, y_pred = masks(generator.binomial(60, 0.8), 60, generator.binomial(300, 0.38), 300)
        estimate = pu_interval(
            "balanced_accuracy", y_true, y_pred, prior=0.3, n_bootstrap=500, random_state=seed
        )
        covered.append(estimate.low <= truth <= estimate.high)
    assert 0.9 < np.mean(covered) < 0.99


def test_the_bootstrap_of_the_auc_agrees_with_delong():
    generator = np.random.default_rng(0)
    labels = np.repeat([1, 0], [40, 160])
    scores = np.round(generator.normal(labels), 1)  # ties are common
    for metric, prior in (("pu_auc", 0.0), ("corrected_auc", 0.2)):
        exact = auc_interval(labels, scores, prior=prior, prior_se=0.05 * bool(prior))
        drawn = pu_interval(
            metric, labels, scores, prior=prior or None, prior_se=0.05 * bool(prior),
            n_bootstrap=2000, random_state=0,
        )  # fmt: skip
        assert drawn.value == pytest.approx(exact.value)
        assert drawn[1:] == pytest.approx(exact[1:], abs=0.02)


def test_the_same_seed_gives_the_same_interval_and_leaves_the_global_state_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (pu_interval("lee_liu", Y_TRUE, Y_PRED, random_state=7) for _ in range(2))
    assert first == second
    assert isinstance(first, Estimate)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_the_interval_takes_scores_with_a_threshold_and_functions_of_the_rates():
    scores = np.where(Y_PRED, 3.0, 2.0)
    settings = {"prior": 0.3, "random_state": 0}
    from_scores = pu_interval("precision", Y_TRUE, scores, threshold=2.5, **settings)
    from_predictions = pu_interval("precision", Y_TRUE, Y_PRED, **settings)
    own = pu_interval(lambda rates: rates.precision, Y_TRUE, Y_PRED, **settings)
    assert from_scores == from_predictions == own
    clean = pu_interval(lambda rates: rates.cleaned(0.95).recall, Y_TRUE, Y_PRED, **settings)
    assert clean.value == pytest.approx(0.834615, abs=1e-6)


def test_an_interval_with_infinite_resamples_has_no_standard_error():
    estimate = pu_interval("lee_liu", *masks(15, 20, 1, 20), random_state=0)
    assert estimate.se == estimate.high == np.inf
    assert estimate.value == pytest.approx(0.75**2 / 0.05)


def test_the_bootstrap_interval_warns_of_few_positives_and_of_impossible_values():
    with pytest.warns(UserWarning, match="9 labeled positives.*hardly informative"):
        pu_interval("recall", *masks(5, 9, 10, 50))
    with pytest.warns(UserWarning, match=r"precision is 2.4, outside \[0, 1\]"):
        pu_interval("precision", *masks(40, 50, 20, 200), prior=0.3, random_state=0)
    with pytest.raises(ValueError, match="at least 2 labeled positives"):
        pu_interval("recall", [1, 0, 0], [1, 0, 1])


@pytest.mark.parametrize(
    ("metric", "settings", "message"),
    [
        ("f2", {}, "metric must be one of 'recall'.*'corrected_auc', or a function"),
        ("f1", {}, "'f1' cannot do without"),
        ("corrected_auc", {}, "'corrected_auc' cannot do without"),
        ("f1", {"prior": 1.5}, "above 0 and below 1"),
        ("f1", {"prior": 0.3, "prior_se": 0.5}, "must be below 0.4583"),
        ("recall", {"prior_se": 0.1}, "needs the prior that it belongs to"),
        ("recall", {"level": 95}, "level must be"),
        ("recall", {"n_bootstrap": 1}, "n_bootstrap must be at least 2"),
        ("pu_auc", {"threshold": 0.5}, "leave threshold out"),
    ],
)
def test_the_bootstrap_interval_refuses_impossible_settings(metric, settings, message):
    with pytest.raises(ValueError, match=message):
        pu_interval(metric, Y_TRUE, Y_PRED, **settings)


# -- thresholds -----------------------------------------------------------------------------


@st.composite
def scored(draw):
    labels, scores = draw(labels_and_scores(least=2))
    return labels, scores.astype(draw(st.sampled_from([np.float32, np.float64])))


def test_prior_threshold_of_a_worked_example():
    labels, scores = [1, 1, 0, 0, 0, 0, 0], [9, 7, 8, 6, 4, 3, 1]
    assert prior_threshold(labels, scores, 0.4) == 5
    assert prior_threshold(labels, scores, 0.2) == 7
    assert prior_threshold(labels, scores, 0.01) == 8  # none above


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=5, max_size=40, unique=True), st.data())
def test_prior_threshold_puts_the_expected_share_above(unlabeled, data):
    prior = data.draw(st.floats(0.05, 0.95))
    labels = np.repeat([1, 0], [1, len(unlabeled)])
    scores = np.array([0.0, *unlabeled], dtype=np.float32)
    above = np.mean(scores[1:] > prior_threshold(labels, scores, prior))
    assert above == pytest.approx(prior, abs=0.5 / len(unlabeled) + 1e-9)


def test_infinite_scores_can_be_cut():
    labels, scores = np.repeat([1, 0], [1, 4]), np.array([1, np.inf, 0, -np.inf, -np.inf])
    for prior, above in ((0.25, 1), (0.5, 2)):
        assert (scores[1:] > prior_threshold(labels, scores, prior)).sum() == above
    # It would be best to call all rows positive, but no cut is below -inf.
    scores[0] = -np.inf
    assert best_threshold(labels, scores, 0.9) == np.inf


def test_prior_threshold_says_if_ties_are_in_the_way():
    with pytest.warns(UserWarning, match="share 0 of the unlabeled rows.*not 0.3.*same score"):
        prior_threshold([1, 0, 0, 0], [1, 1, 1, 1], 0.3)


def test_neighbouring_float32_scores_are_kept_apart():
    low = np.float32(1)
    high = np.nextafter(low, np.float32(2))
    highest = np.nextafter(high, np.float32(2))
    scores = np.array([highest, highest, high, low], dtype=np.float32)
    for prior, above in ((0.34, 1), (0.66, 2)):
        cut = prior_threshold([1, 0, 0, 0], scores, prior)
        assert (scores[1:] > cut).sum() == above
        assert (scores[1:].astype(float) > cut).sum() == above


@settings(max_examples=200, deadline=None)
@given(scored(), st.sampled_from(["accuracy", "f1", "balanced_accuracy"]), st.floats(0.05, 0.95))
def test_best_threshold_is_the_best_of_all_cuts(case, metric, prior):
    labels, scores = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = best_threshold(labels, scores, prior, metric=metric)

    def value(cut):
        return getattr(PURates.from_predictions(labels, scores > cut, prior), metric)

    assert value(chosen) == pytest.approx(max(value(cut) for cut in [-np.inf, *scores]))


def test_best_threshold_finds_the_bayes_rule_of_two_gaussians():
    generator = np.random.default_rng(0)
    truth = np.concatenate([np.ones(4000), generator.random(40_000) < 0.3])
    scores = generator.normal(2 * truth - 1)
    labels = np.repeat([1, 0], [4000, 40_000])
    accurate = best_threshold(labels, scores, 0.3)
    assert accurate == pytest.approx(0.5 * np.log(0.7 / 0.3), abs=0.15)
    assert best_threshold(labels, scores, 0.3, metric="zero_one_risk") == accurate
    assert best_threshold(labels, scores, 0.3, metric="balanced_accuracy") == pytest.approx(
        0, abs=0.2
    )
    assert best_threshold(labels, scores, metric=lambda r: r.recall - r.flagged) == best_threshold(
        labels, scores, 0.3, metric="balanced_accuracy"
    )


def test_best_threshold_does_not_fall_for_the_first_positive_at_the_top():
    # One positive above all unlabeled rows: Lee-Liu and Matthews would be infinite there.
    generator = np.random.default_rng(1)
    labels = np.repeat([1, 0], [20, 100])
    scores = generator.normal(labels * 1.0)
    scores[0] = 10
    for metric in ("lee_liu", "matthews_corrcoef"):
        cut = best_threshold(labels, scores, 0.2, metric=metric)
        assert 10 <= (scores[labels == 0] > cut).sum() <= 90


def test_best_threshold_warns_of_impossible_values_and_refuses_one_sided_metrics():
    with pytest.warns(UserWarning, match="accuracy at the best threshold is 1.5, outside"):
        assert best_threshold([1, 0], [1, 0], 0.5) == 0.5
    with pytest.raises(ValueError, match="flags everything or next to nothing"):
        best_threshold(LABELS, SCORES, 0.3, metric="recall")
    with pytest.raises(ValueError, match="'accuracy' cannot do without"):
        best_threshold(LABELS, SCORES)


def test_best_threshold_may_call_every_row_positive():
    labels, scores = np.repeat([1, 0], [4, 4]), np.zeros(8)
    assert best_threshold(labels, scores, 0.9) == -np.inf
    assert best_threshold(labels, scores, 0.1) == 0


# -- scorers --------------------------------------------------------------------------------


def small_problem():
    generator = np.random.default_rng(0)
    s = np.repeat([1, 0], [20, 60])
    return generator.normal(size=(80, 2)) + s[:, None], s


@pytest.mark.parametrize("name", [*WITHOUT_PRIOR, *WITH_PRIOR])
def test_scorers_of_predictions_equal_their_metrics_but_for_the_sign_of_losses(name):
    X, s = small_problem()
    model = LogisticRegression(class_weight="balanced").fit(X, s)
    metric, _ = (WITHOUT_PRIOR | WITH_PRIOR)[name]
    prior = (0.1,) if name in WITH_PRIOR else ()
    sign = -1 if name in {"false_positive_rate", "zero_one_risk"} else 1
    scorer = pu_scorer(name, *prior)
    assert scorer(model, X, s) == sign * metric(s, model.predict(X), *prior)
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_scorers_of_rankings_and_of_functions():
    X, s = small_problem()
    model = LogisticRegression().fit(X, s)
    scores = model.decision_function(X)
    assert pu_scorer("pu_auc")(model, X, s) == pu_auc_scorer(model, X, s)
    assert pu_scorer("corrected_auc", 0.2)(model, X, s) == corrected_auc_score(s, scores, 0.2)
    own = pu_scorer(lambda rates: rates.recall - rates.flagged)
    assert own(model, X, s) == pytest.approx(
        pu_recall_score(s, model.predict(X)) - flagged_share(s, model.predict(X))
    )


def test_a_scorer_takes_the_last_class_as_positive_even_if_it_is_false():
    class Reversed:
        classes_ = np.array([True, False])

        def predict(self, X):
            return X[:, 0] < 2

    X, y = np.array([[3.0], [2.0], [1.0], [0.0]]), [False, False, True, True]
    assert pu_scorer("recall")(Reversed(), X, y) == 1
    assert pu_scorer("flagged_share")(Reversed(), X, y) == 0


def test_scorers_serve_grid_search_and_several_at_once():
    X, s = small_problem()
    model = LogisticRegression(class_weight="balanced")
    search = GridSearchCV(model, {"C": [0.1, 1]}, scoring=pu_scorer("f1", prior=0.1), cv=3)
    assert 0 < search.fit(X, s).best_score_ < 1
    scoring = {"auc": pu_scorer("pu_auc"), "flagged": pu_scorer("flagged_share")}
    results = cross_validate(model, X, s, scoring=scoring, cv=3)
    assert np.isfinite(results["test_auc"]).all()
    assert np.isfinite(results["test_flagged"]).all()


def test_scorers_refuse_at_once_what_they_could_not_compute():
    for metric in ("f1", "corrected_auc"):
        with pytest.raises(ValueError, match="cannot do without"):
            pu_scorer(metric)
    with pytest.raises(ValueError, match="metric must be one of"):
        pu_scorer("roc_auc")


# -- report ---------------------------------------------------------------------------------


def fair_case(n_positive=60, n_unlabeled=300, prior=0.3):
    """Labels, logits of P(y = 1 | x) and that probability, for two Gaussians."""
    generator = np.random.default_rng(0)
    is_hidden = np.arange(n_unlabeled) < prior * n_unlabeled
    x = generator.normal(np.where(np.append(np.ones(n_positive), is_hidden), 1, -1))
    posterior = 1 / (1 + (1 - prior) / prior * np.exp(-2 * x))
    return np.repeat([1, 0], [n_positive, n_unlabeled]), 2 * x, posterior


def test_the_report_holds_every_metric_as_plain_json():
    labels, scores, posterior = fair_case()
    report = pu_report(labels, scores, prior=0.3, prior_se=0.02, posterior=posterior)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["warnings"] == []
    assert (report["n_positive"], report["n_unlabeled"]) == (60, 300)
    names = {*WITHOUT_PRIOR, *WITH_PRIOR, "pu_auc", "corrected_auc"}
    assert set(report["metrics"]) == names
    for name, (metric, _) in WITH_PRIOR.items():
        entry = report["metrics"][name]
        assert entry["value"] == metric(labels, scores > 0, 0.3)
        assert entry["low"] < entry["value"] < entry["high"]
    exact = auc_interval(labels, scores, prior=0.3, prior_se=0.02)
    assert report["metrics"]["corrected_auc"] == exact._asdict()
    assert report == pu_report(labels, scores, prior=0.3, prior_se=0.02, posterior=posterior)


def test_the_report_without_a_prior_says_what_the_rest_would_need():
    labels, scores, _ = fair_case()
    report = pu_report(labels, scores)
    assert set(report["metrics"]) == {*WITHOUT_PRIOR, "pu_auc"}
    assert report["calibration"]["checked"] is False
    assert "prior= and posterior=" in report["calibration"]["needs"]
    with pytest.raises(ValueError, match="only be used with a prior"):
        pu_report(labels, scores, posterior=scores)


@pytest.mark.parametrize(
    ("change", "settings", "sentence"),
    [
        (lambda z: z, {"threshold": -99}, "calls every row positive"),
        (lambda z: 1 / (1 + np.exp(-z)), {}, "If they are probabilities, use the threshold 0.5"),
        (lambda z: z, {"threshold": 99}, "calls no row positive"),
        (lambda z: 0 * z + 0.3, {}, "All scores are the same, 0.3"),
        (lambda z: np.random.default_rng(0).normal(size=len(z)), {}, "no better than chance"),
        (lambda z: -z, {}, "worse than chance.*upside down"),
        (lambda z: np.repeat([1.0, -1], [60, 300]), {}, "Every labeled positive outranks"),
        (lambda z: z, {"prior": 0.9}, r"corrected AUC is .*outside \[0, 1\]"),
        (lambda z: z, {"prior": 0.9}, r"false positive rate is -.*population prior"),
    ],
)
def test_the_report_says_in_words_what_is_wrong(change, settings, sentence):
    labels, scores, _ = fair_case()
    report = pu_report(labels, change(scores), **settings)
    json.dumps(report, allow_nan=False)
    assert any(re.search(sentence, said) for said in report["warnings"]), report["warnings"]


def test_the_report_says_that_few_positives_tell_little():
    report = pu_report(*fair_case(n_positive=9)[:2])
    assert any("9 labeled positives" in sentence for sentence in report["warnings"])


def test_the_report_has_no_precision_where_no_row_is_flagged():
    labels, predicted = masks(20, 20, 0, 50)
    report = pu_report(labels, predicted - 0.5, prior=0.3)
    assert report["metrics"]["precision"] == dict.fromkeys(Estimate._fields)
    assert any("precision is inf" in sentence for sentence in report["warnings"])
    nothing = pu_report(labels, predicted, threshold=2, prior=0.3)
    assert nothing["metrics"]["precision"]["value"] is None
    assert nothing["metrics"]["recall"]["value"] == 0


def test_the_report_shows_no_impossible_number():
    labels, scores, _ = fair_case()
    report = pu_report(labels, scores, prior=0.9)
    assert any("corrected AUC is " in sentence for sentence in report["warnings"])
    for name, entry in report["metrics"].items():
        least = -1 if name == "matthews_corrcoef" else 0
        most = np.inf if name == "lee_liu" else 1
        assert all(least <= entry[part] <= most for part in ("value", "low", "high")), name


def test_the_report_checks_the_calibration_that_can_be_checked():
    labels, scores, posterior = fair_case()
    fair = pu_report(labels, scores, prior=0.3, posterior=posterior)["calibration"]
    assert fair["mean_posterior"] == pytest.approx(posterior[labels == 0].mean())
    assert fair["mean_ratio"] == pytest.approx(fair["mean_posterior"] / 0.3)
    assert fair["largest_ratio"] <= fair["largest_possible_ratio"] == pytest.approx(1 / 0.3)
    assert fair["n_impossible"] == 0
    report = pu_report(labels, scores, prior=0.3, posterior=2 * posterior)
    assert report["calibration"]["n_impossible"] == (posterior > 0.5).sum()
    assert any("not calibrated, or the prior is wrong" in said for said in report["warnings"])
    assert any("1 / prior = 3.33 is the most" in said for said in report["warnings"])


class TestBalancedThreshold:
    def test_it_is_the_bayes_cut_whatever_the_prior(self):
        """N(1, 1) against N(-1, 1): densities cross at 0."""
        random = np.random.default_rng(0)
        for prior in (0.1, 0.3, 0.6):
            n = 20_000
            positives = random.normal(1, 1, n)
            hidden = random.random(n) < prior
            unlabeled = random.normal(np.where(hidden, 1, -1), 1)
            y = np.r_[np.ones(n), np.zeros(n)]
            cut = balanced_threshold(y, np.r_[positives, unlabeled])
            assert cut == pytest.approx(0, abs=0.15)

    def test_it_is_the_middle_of_a_gap(self):
        y, scores = np.r_[np.ones(50), np.zeros(50)], np.r_[np.full(50, 5.0), np.full(50, 1.0)]
        assert balanced_threshold(y, scores) == 3

    def test_constant_scores_give_a_number(self):
        assert balanced_threshold([1, 0, 0], [2.0, 2.0, 2.0]) == 2

    def test_other_labels(self):
        cut = balanced_threshold(["a", "b", "b"], [2.0, 1.0, 1.0], pos_label="a")
        assert cut == 1.5


# -- a threshold with a promise -------------------------------------------------------------


@pytest.mark.parametrize(("n", "depth"), [(30, 1), (50, 2), (100, 5), (200, 13), (28, 0), (29, 1)])
def test_the_depth_of_a_promised_recall(n, depth):
    assert find_recall_depth(n, 0.9) == depth
    # By the binomial: fewer than `depth` of n positives among the lowest tenth is unlikely.
    assert depth == 0 or binom.cdf(depth - 1, n, 0.1) <= 0.05
    assert binom.cdf(depth, n, 0.1) > 0.05


@pytest.mark.parametrize("recall", [0.05, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_the_number_of_positives_needed_is_the_least_that_works(recall):
    n = count_positives_needed(recall)
    assert find_recall_depth(n, recall) >= 1
    assert n == 1 or find_recall_depth(n - 1, recall) == 0


def test_the_promised_recall_is_kept_19_times_out_of_20():
    random = np.random.default_rng(1000)
    kept = []
    for _ in range(400):
        scores = random.random(60).astype(np.float32)  # the recall above t is 1 - t
        threshold = recall_threshold(np.repeat([1, 0], [40, 20]), scores, 0.8)
        kept.append(1 - threshold >= 0.8)
    assert 0.93 < np.mean(kept) < 1


def test_the_score_that_promises_is_itself_above_the_threshold():
    scores = np.append(np.linspace(0.1, 0.9, 50), np.zeros(10)).astype(np.float32)
    threshold = recall_threshold(np.repeat([1, 0], [50, 10]), scores)
    assert (scores[:50] > threshold).sum() == 49
    assert scores[0] <= threshold < scores[1]
    tied = recall_threshold(np.repeat([1, 0], [50, 10]), np.full(60, 0.25))
    assert tied < 0.25


def test_too_few_positives_are_told_how_many_it_takes():
    labels = np.repeat([1, 0], [12, 50])
    with pytest.raises(MixpulError, match=r"at least 0.9 .* 95 % .* from 29 labeled.*there are 12"):
        recall_threshold(labels, np.arange(62.0))
    with pytest.raises(ValueError, match="recall must be a share"):
        recall_threshold(labels, np.arange(62.0), 1.0)
