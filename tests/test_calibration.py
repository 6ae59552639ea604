"""Probabilities from scores, the class prior and rows left out of training."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    LogisticPUClassifier,
    NNPUClassifier,
    datasets,
    load,
    save,
)
from mixpul._util.arrays import has_repeats
from mixpul.assess import assess
from mixpul.metrics import calibration_error, learn_density_ratio, to_probabilities
from mixpul.metrics.calibration import average_ratios, density_ratio
from mixpul.tables import TableInput


def make_mixture(n_positive=2000, n_unlabeled=20_000, prior=0.3, gap=2.0, seed=0):
    """Normal scores whose probabilities are known; labels, scores and the truth."""
    random = np.random.default_rng(seed)
    truth = np.concatenate([np.ones(n_positive, bool), random.random(n_unlabeled) < prior])
    labeled = np.arange(len(truth)) < n_positive
    return labeled, random.normal(size=len(truth)) + gap * truth, truth


# -- equations ------------------------------------------------------------------------------


def test_the_density_ratio_by_hand():
    ratios = density_ratio([0.02, 0.1, 0.3], 50, 950)
    np.testing.assert_allclose(ratios, [0.387755, 2.111111, 8.142857], rtol=1e-6)
    np.testing.assert_allclose(np.minimum(1, 0.2 * ratios), [0.077551, 0.422222, 1.0], rtol=2e-6)
    assert np.isfinite(density_ratio([0.0, 1.0], 50, 950)).all()


def test_ratios_that_resamples_do_not_agree_on_are_drawn_towards_1_by_hand():
    # Shares .5 and .75 are ratios of 1 and 3, of variance 1 over knots. The second share has a
    # variance of .045, times 1 / (1 - .75)^4 = 256 that is 11.52 for the ratio:
    # (9 + 11.52) / (3 + 11.52).
    shares = np.array([[0.5, 0.6], [0.5, 0.9]])
    np.testing.assert_allclose(average_ratios(shares, 50, 50), [1.0, 1.413223], rtol=1e-6)
    # Of ratios 0 and 30, of variance 225, the second has a variance of 120^2 * .02 = 288:
    # (900 + 1.28) / (30 + 1.28). Where no positive is expected, none is made up.
    shares = np.array([[0.0, 0.4], [0.0, 0.6]])
    np.testing.assert_allclose(average_ratios(shares, 1, 30), [0.0, 28.813299], rtol=1e-6)
    agreed = np.array([[0.0, 0.2, 0.3]] * 2)
    np.testing.assert_allclose(average_ratios(agreed, 50, 50), density_ratio(agreed[0], 50, 50))


def test_few_positives_of_classes_that_overlap_do_not_make_probabilities_extreme():
    errors = []
    for seed in range(10):
        labeled, scores, _ = make_mixture(60, 900, gap=0.5, seed=seed)
        found = to_probabilities(scores, learn_density_ratio(labeled, scores), 0.3, smooth=True)
        exact = 0.3 / (0.3 + 0.7 * np.exp(0.125 - 0.5 * scores))
        errors.append(np.abs(found - exact)[~labeled].mean())
    # It would be .0415 if every ratio were taken as it is.
    assert np.mean(errors) < 0.032


def test_probabilities_by_hand():
    # Three equal parts of the unlabeled rows: mean ratio 1, so nothing is rescaled.
    table = np.array([[-1.0, 0.0, 1.0], [0.2, 0.8, 2.0]])
    np.testing.assert_allclose(
        to_probabilities([-2, -1, -0.5, 0, 1, 2], table, 0.3), [0.06, 0.06, 0.15, 0.24, 0.6, 0.6]
    )
    # The highest would be 1.2; what is beyond 1 goes to the others: (1.8 - 1) * (.2, .8) / 1.
    np.testing.assert_allclose(to_probabilities([-1, 0, 1], table, 0.6), [0.16, 0.64, 1.0])


def test_a_sigmoid_smooths_what_few_positives_say():
    errors = {False: [], True: []}
    for seed in range(10):
        labeled, scores, _ = make_mixture(n_positive=50, n_unlabeled=2000, seed=seed)
        table = learn_density_ratio(labeled, scores)
        # Of two normal distributions with one spread the probability is a sigmoid of the score.
        exact = 1 / (1 + np.exp(-2.0 * scores + 2.0 - np.log(0.3 / 0.7)))
        for smooth, own in errors.items():
            found = to_probabilities(scores[~labeled], table, 0.3, smooth=smooth)
            assert found.mean() == pytest.approx(0.3, abs=0.01)
            own.append(np.abs(found - exact[~labeled]).mean())
    assert np.mean(errors[True]) < 0.7 * np.mean(errors[False])


def test_a_sigmoid_that_does_not_fit_is_not_used():
    # No class at all in the upper half beyond a share of one half: far from a sigmoid.
    table = np.stack([np.linspace(-3, 3, 200), np.repeat([0.0, 2.0], 100)])
    found, smooth = (to_probabilities([-2.5, 2.5], table, 0.3, smooth=s) for s in (False, True))
    np.testing.assert_allclose(found, [0.0, 0.6])
    np.testing.assert_allclose(smooth, found)


def test_rows_that_come_again_and_again_are_noticed():
    random = np.random.default_rng(0)
    assert has_repeats(random.integers(2, size=(3000, 4)).astype(np.float32))
    assert not has_repeats(random.normal(size=(3000, 4)).astype(np.float32))
    assert not has_repeats(sparse.csr_matrix(random.normal(size=(3000, 4))))


def test_the_calibration_error_by_hand():
    # Bins 0.1 to 0.2 (mean .15, share 1/2) and 0.9 to 1 (mean .95, share 1).
    assert calibration_error([1, 0, 1, 1], [0.1, 0.2 - 1e-9, 0.9, 1.0]) == pytest.approx(
        (2 * 0.35 + 2 * 0.05) / 4
    )
    assert calibration_error([0, 0], [0.0, 0.0]) == 0


def test_known_densities_are_recovered():
    labeled, scores, truth = make_mixture()
    prior = truth[~labeled].mean()
    found = to_probabilities(scores, learn_density_ratio(labeled, scores), prior)[~labeled]
    own = scores[~labeled]
    exact = 0.3 / (0.3 + 0.7 * np.exp(2.0 - 2.0 * own))
    assert np.abs(found - exact).mean() < 0.02
    assert calibration_error(truth[~labeled], found) < 0.02
    assert found.mean() == pytest.approx(prior, abs=0.005)


@pytest.mark.parametrize("prior", [0.01, 0.3, 0.5])
def test_probabilities_have_the_prior_as_their_mean_and_never_fall(prior):
    labeled, scores, _ = make_mixture(60, 900)
    table = learn_density_ratio(labeled, scores)
    assert table.shape[0] == 2
    assert (np.diff(table) >= 0).all()
    found = to_probabilities(np.sort(scores[~labeled]), table, prior)
    assert (np.diff(found) >= 0).all()
    assert found.mean() == pytest.approx(prior, rel=0.05)
    assert 0 <= found.min() <= found.max() <= 1


def test_labels_at_random_make_all_rows_as_probable_as_the_prior():
    random = np.random.default_rng(0)
    labeled, scores = np.arange(5000) < 1000, random.normal(size=5000)
    found = to_probabilities(scores, learn_density_ratio(labeled, scores), 0.2)
    assert np.abs(found - 0.2).mean() < 0.02


def test_many_rows_and_equal_scores_are_no_trouble():
    labeled, scores, truth = make_mixture(12_000, 60_000)
    rough = learn_density_ratio(labeled, scores.round())
    found = to_probabilities(scores.round()[~labeled], rough, 0.3)
    assert calibration_error(truth[~labeled], found) < 0.02
    same = learn_density_ratio(labeled, np.zeros(len(labeled)))
    np.testing.assert_allclose(to_probabilities([0.0], same, 0.3), [0.3])


# -- classifiers ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spam():
    X, y = datasets.load("spambase", return_X_y=True)
    pu = datasets.make_pu(np.log1p(X), y, c=0.2, random_state=0)
    is_test = np.random.default_rng(0).random(len(pu.s)) < 0.3
    is_test &= pu.s == 0  # rows like the unlabeled ones
    return pu.X[~is_test], pu.s[~is_test], pu.X[is_test], pu.y[is_test], pu.prior


@pytest.fixture(scope="module")
def portfolio(spam):
    model = AutoPUClassifier(candidates=["trees", "logistic-0.1"], random_state=0)
    return model.fit(*spam[:2])


def test_probabilities_of_new_rows_are_calibrated_with_the_true_prior(spam, portfolio):
    _, _, X, y, prior = spam
    probabilities = portfolio.predict_proba(X, calibrated=True, prior=prior)[:, 1]
    assert calibration_error(y, probabilities) < 0.05
    assert calibration_error(y, portfolio.predict_proba(X)[:, 1]) > 0.1  # a score is none


def test_scores_stay_as_they_were(spam, portfolio):
    X = spam[2]
    scores = 1 / (1 + np.exp(-portfolio.decision_function(X).astype(np.float64)))
    np.testing.assert_allclose(portfolio.predict_proba(X)[:, 1], scores, rtol=1e-5)


def test_without_a_prior_or_a_table_a_sentence_says_what_to_do(spam, portfolio):
    X, s, X_test, _, _ = spam
    with pytest.raises(ValueError, match=r"need the class prior.*--prior 0.05"):
        portfolio.predict_proba(X_test, calibrated=True)
    with pytest.raises(ValueError, match="share of positives among the unlabeled rows"):
        portfolio.predict_proba(X_test, calibrated=True, prior=1.5)
    with pytest.raises(ValueError, match="calibrated=True only"):
        portfolio.predict_proba(X_test, prior=0.2)
    plain = LogisticPUClassifier(C=1.0, random_state=0).fit(X, s)
    with pytest.raises(ValueError, match="its fit held no rows out"):
        plain.predict_proba(X_test, calibrated=True, prior=0.2)


def test_a_prior_that_was_given_is_the_default_and_an_estimate_is_an_upper_bound(spam):
    X, s, X_test, _, _ = spam
    model = BaggingPUClassifier(n_estimators=20, random_state=0).fit(X, s)
    expected = model.predict_proba(X_test, calibrated=True, prior=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for source in ("given", "audited"):
            model.class_prior_ = {"value": 0.1, "source": source}
            found = model.predict_proba(X_test, calibrated=True)
            np.testing.assert_array_equal(found, expected)
    model.class_prior_ = {"value": 0.1, "source": "estimated"}
    with pytest.warns(UserWarning, match="take the probabilities as upper bounds"):
        model.predict_proba(X_test, calibrated=True)
    assert not hasattr(model.fit(X, s), "class_prior_")  # it belonged to another fit


@pytest.mark.filterwarnings("ignore:The data contradict prior")
def test_the_prior_of_a_method_that_takes_one_is_used(spam):
    X, s, _, _, prior = spam
    settings = {"n_epochs": 1, "cross_fitting": 2, "random_state": 0}
    given = NNPUClassifier(prior=prior, **settings).fit(X, s)
    assert given.find_class_prior() == prior
    estimated = NNPUClassifier(prior="bbe", **settings).fit(X, s)
    with pytest.warns(UserWarning, match="upper bounds"):
        assert estimated.find_class_prior() == estimated.prior_


def test_an_assessed_model_of_any_method_has_probabilities_also_after_load(spam, tmp_path):
    X, s, X_test, y, prior = spam
    found = assess(make_pipeline(TableInput(), LogisticPUClassifier(C=1.0)), X, s)
    save(found.model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    with pytest.warns(UserWarning, match="upper bounds"):
        loaded.predict_proba(X_test, calibrated=True)
    probabilities = loaded.predict_proba(X_test, calibrated=True, prior=prior)[:, 1]
    assert calibration_error(y, probabilities) < 0.05
