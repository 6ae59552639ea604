import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from mixpul.metrics import (
    Estimate,
    accuracy_threshold,
    auc_interval,
    corrected_auc_score,
    pu_auc_score,
    pu_auc_scorer,
)

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


def test_the_interval_is_the_normal_one_and_is_not_clipped():
    value, se, low, high = quiet_interval(LABELS, SCORES, prior=0.25)
    assert (low, high) == pytest.approx((value - 1.959964 * se, value + 1.959964 * se), abs=1e-6)
    assert high > 1
    narrow = quiet_interval(LABELS, SCORES, prior=0.25, level=0.5)
    assert narrow.high - narrow.value == pytest.approx(0.674490 * se, abs=1e-6)
    assert isinstance(narrow, Estimate)


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
