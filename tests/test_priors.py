import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logit
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import euclidean_distances
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mixpul import NNPUClassifier
from mixpul.priors import (
    PRIORS,
    BBEPrior,
    DEDPULPrior,
    ElkanNotoPrior,
    KMPrior,
    PenL1Prior,
    PriorEstimator,
    Subtype,
    TIcEPrior,
    bbe,
    dedpul,
    elkan_noto,
    find_subtypes,
    km,
    label_frequency,
    largest_prior,
    pen_l1,
    prior_by_subtype,
    propensity_weights,
    resolve_prior,
    tice,
    warn_if_impossible,
)

EVERY = pytest.mark.parametrize("name", list(PRIORS))
SCORE_BASED = pytest.mark.parametrize("prior", [BBEPrior, DEDPULPrior, ElkanNotoPrior])


def two_gaussians():
    """400 positives around (2, 2); 400 unlabeled rows, 160 of them positive, others around 0."""
    r = np.random.default_rng(0)
    unlabeled = np.concatenate([r.normal(0, 1, (240, 2)), r.normal(0, 1, (160, 2)) + 2])
    return r.normal(0, 1, (400, 2)) + 2, unlabeled


def exact_score(X):
    """The balanced score p+ / (p+ + p_u) of the two Gaussians."""
    positive, negative = norm.pdf(X, 2).prod(axis=1), norm.pdf(X).prod(axis=1)
    return positive / (positive + 0.4 * positive + 0.6 * negative)


def clusters(seed=0, n_features=2):
    """Three clusters of negatives, two of positives; 300 labeled, 600 of 2,000 hidden."""
    r = np.random.default_rng(seed)
    negative = r.normal(0, 2.5, (3, n_features))
    positive = r.normal(0, 2.5, (2, n_features))
    centres = np.concatenate([positive[r.integers(0, 2, 900)], negative[r.integers(0, 3, 1400)]])
    return centres + r.normal(size=centres.shape), np.repeat([1, 0], [300, 2000])


def quick(name, **params):
    """An estimator of this name with few resamples."""
    return PRIORS[name](**({"n_bootstrap": 5, "random_state": 0} | params))


POSITIVE, UNLABELED = two_gaussians()
ROWS, LABELS = np.concatenate([POSITIVE, UNLABELED]), np.repeat([1, 0], 400)
SCORE_P, SCORE_U = exact_score(POSITIVE), exact_score(UNLABELED)


# -- numbers of the reference implementations --------------------------------------------------


def test_bbe_of_the_exact_score_is_the_reference_number():
    assert bbe(SCORE_P, SCORE_U) == pytest.approx(0.393846, abs=5e-7)


def test_dedpul_of_the_exact_score_is_the_reference_number():
    assert dedpul(logit(SCORE_P), logit(SCORE_U)) == pytest.approx(0.3683, abs=1e-3)


@pytest.mark.parametrize(("estimator", "expected"), [("e1", 0.4953), ("e3", 0.400005)])
def test_elkan_noto_of_the_exact_score_is_the_reference_number(estimator, expected):
    # As many positives as unlabeled rows, so the balanced score is the natural one.
    c = elkan_noto(SCORE_P, SCORE_U, estimator=estimator)
    assert (1 - c) / c == pytest.approx(expected, abs=5e-5 if estimator == "e1" else 1e-5)


def test_the_former_name_is_the_same_function():
    assert label_frequency is elkan_noto


def test_label_frequencies_of_a_worked_example():
    positive, unlabeled = [0.8, 0.6, 0.7], [0.5, 0.2, 0.1, 0.3]
    assert elkan_noto(positive, unlabeled) == pytest.approx(0.7)
    assert elkan_noto(positive, unlabeled, estimator="e2") == pytest.approx(0.65625)
    assert elkan_noto(positive, unlabeled, estimator="e3") == pytest.approx(0.8)


def test_e1_is_below_the_label_frequency_if_classes_overlap_and_e3_is_not():
    # p(x) = (.3, .3, .4), P(y=1|x) = (1, .5, 0) and c = .2, in 100 rows
    g = np.repeat([0.2, 0.1, 0.0], [30, 30, 40])
    is_labeled = np.zeros(100, dtype=bool)
    is_labeled[[0, 1, 2, 3, 4, 5, 30, 31, 32]] = True
    positive, unlabeled = g[is_labeled], g[~is_labeled]
    assert elkan_noto(positive, unlabeled) == pytest.approx(1 / 6)
    assert elkan_noto(positive, unlabeled, estimator="e3") == pytest.approx(0.2)


@pytest.mark.parametrize(("variant", "expected"), [("km1", 0.3912), ("km2", 0.4108)])
def test_km_is_the_reference_number(variant, expected):
    assert km(POSITIVE, UNLABELED, variant=variant) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("params", "expected"), [({}, 0.6471), ({"k": 10, "delta": 0.2, "n_cuts": 40}, 0.6715)]
)
def test_tice_is_the_reference_number(params, expected):
    folds = np.random.default_rng(2).integers(0, 5, 800)
    assert tice(ROWS, LABELS == 1, folds, **params) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("penalty", "expected"), [(0.001, 0.355), (0.01, 0.392), (0.1, 0.421), (1, 0.505)]
)
def test_pen_l1_is_the_reference_number(penalty, expected):
    assert pen_l1(*bumps(), penalty) == pytest.approx(expected, abs=1e-3)


def bumps():
    centres = ROWS[np.random.default_rng(1).permutation(800)[:200]]
    width = 0.3 * np.median(euclidean_distances(POSITIVE, UNLABELED))
    return [
        np.exp(-euclidean_distances(X, centres, squared=True) / (2 * width**2))
        for X in (POSITIVE, UNLABELED)
    ]


# -- properties of the one-dimensional functions -----------------------------------------------


def test_bbe_of_a_worked_example():
    # Tails from the top: 2/4 of the positives, 1/8 of the unlabeled; 3/4 and 2/8; 4/4 and 3/8.
    positive, unlabeled = [9, 8, 7, 6], [8.5, 7.5, 6.5, 1, 2, 3, 4, 5]
    assert bbe(positive, unlabeled, delta=0.999, gamma=0) == pytest.approx(3 / 8)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-5, 5), min_size=2, max_size=30),
    st.lists(st.integers(-5, 5), min_size=2, max_size=30),
)
def test_scores_on_any_scale_give_the_same_bbe_and_every_estimate_is_a_share(positive, unlabeled):
    p, u = np.array(positive, dtype=float), np.array(unlabeled, dtype=float)
    assert 0 <= bbe(p, u) <= 1
    assert bbe(np.exp(p), np.exp(u)) == bbe(p, u)
    assert 0 <= dedpul(p, u) <= 1


def test_bbe_is_the_minimum_over_all_thresholds():
    r = np.random.default_rng(0)
    p, u = r.normal(1, 1, 60), r.normal(0, 1, 200)
    t = np.concatenate([p, u])[:, None]
    q_p, q_u = (p >= t).mean(axis=1), (u >= t).mean(axis=1)
    penalty = 1.01 * np.sqrt(np.log(40) / 2) * (60**-0.5 + 200**-0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.nanargmin((q_u + penalty) / q_p)
    assert bbe(p, u) == pytest.approx(q_u[best] / q_p[best])


def test_pen_l1_is_the_minimum_on_a_grid():
    positive, unlabeled = bumps()
    theta = np.linspace(0, 1, 10_001)[:, None]
    exceeding = np.maximum(theta * positive.mean(axis=0) - unlabeled.mean(axis=0), 0)
    for penalty in (1e-3, 0.1, 10):
        objective = (exceeding**2).sum(axis=1) / penalty - theta[:, 0]
        on_grid = theta[np.argmin(objective), 0]
        assert pen_l1(positive, unlabeled, penalty) == pytest.approx(on_grid, abs=1e-4)


@pytest.mark.parametrize("function", [bbe, dedpul])
def test_scores_that_tell_the_classes_apart_give_the_share_of_high_scores(function):
    r = np.random.default_rng(0)
    unlabeled = np.concatenate([r.normal(4, 1, 300), r.normal(-4, 1, 700)])
    assert function(r.normal(4, 1, 300), unlabeled) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("function", [bbe, dedpul, elkan_noto])
def test_scores_that_cannot_be_used_are_refused(function):
    with pytest.raises(ValueError, match=r"at least [12] scores; got 0"):
        function([], [0.1, 0.2])
    with pytest.raises(ValueError, match="NaN or infinity in 1 of 3 rows"):
        function([0.5, 0.6], [0.1, np.nan, 0.2])


# -- the estimators ----------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [BBEPrior, DEDPULPrior])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bbe_and_dedpul_find_the_prior_of_a_mixture_of_clusters(prior, seed):
    X, y = clusters(seed, n_features=5)
    assert prior(n_bootstrap=0, random_state=0).fit(X, y).prior_ == pytest.approx(0.3, abs=0.08)


@EVERY
def test_no_estimator_is_off_by_a_factor_of_two_on_a_mixture_of_clusters(name):
    X, y = clusters(seed=1, n_features=5)
    assert 0.2 < quick(name, n_bootstrap=0).fit(X, y).prior_ < 0.45


@EVERY
def test_without_a_region_free_of_negatives_the_estimates_err_upward(name):
    X, y = clusters(seed=4, n_features=2)  # negatives on top of the positives
    assert 0.35 < quick(name, n_bootstrap=0).fit(X, y).prior_ < 0.9


@EVERY
def test_a_dozen_rows_are_enough_to_answer(name):
    X, y = ROWS[np.r_[:4, 400:420]], np.repeat([1, 0], [4, 20])
    assert 0 <= quick(name).fit(X, y).prior_ <= 1


@pytest.mark.parametrize("name", ["bbe", "dedpul", "km", "pen-l1", "elkan-noto"])
def test_two_rows_of_each_kind_are_the_least(name):
    assert 0 <= quick(name).fit(ROWS[[0, 1, 400, 401]], [1, 1, 0, 0]).prior_ <= 1


@EVERY
def test_the_interval_holds_the_estimate_and_is_within_bounds(name):
    estimate = quick(name).fit(ROWS[::4], LABELS[::4])
    low, high = estimate.interval_
    assert 0 <= low <= estimate.prior_ <= high <= 1
    assert low < high
    assert isinstance(estimate.prior_, float)
    assert isinstance(estimate, PriorEstimator)


def test_a_higher_level_widens_the_interval_and_no_resamples_give_none():
    narrow, wide = (
        DEDPULPrior(level=level, random_state=0).fit(ROWS, LABELS).interval_
        for level in (0.5, 0.95)
    )
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert np.isnan(DEDPULPrior(n_bootstrap=0, random_state=0).fit(ROWS, LABELS).interval_).all()


@EVERY
def test_the_same_seed_gives_the_same_numbers_and_numpys_state_is_left_alone(name):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    X, y = ROWS[::8], LABELS[::8]
    one, other = (quick(name).fit(X, y) for _ in range(2))
    assert (one.prior_, one.interval_) == (other.prior_, other.interval_)
    quick(name, random_state=None, n_bootstrap=1).fit(X, y)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@EVERY
def test_constructors_only_assign(name):
    estimator = PRIORS[name]()
    params = inspect.signature(type(estimator)).parameters
    assert {k: p.default for k, p in params.items()} == estimator.get_params(deep=False)
    assert clone(estimator).get_params(deep=False) == estimator.get_params(deep=False)
    assert set(type(estimator)._parameter_constraints) | {"pos_label"} == set(params)


@EVERY
def test_rows_may_be_float32_sparse_images_or_labeled_by_any_two_values(name):
    X, y = ROWS[::8].astype(np.float32), LABELS[::8]
    expected = quick(name, n_bootstrap=0).fit(X, y).prior_
    images = quick(name, n_bootstrap=0).fit(X.reshape(-1, 1, 1, 2), y)
    assert images.prior_ == pytest.approx(expected, abs=1e-6)
    flipped = quick(name, n_bootstrap=0, pos_label="a").fit(X, np.where(y == 1, "a", "b"))
    assert flipped.prior_ == pytest.approx(expected, abs=1e-6)
    assert 0 <= quick(name, n_bootstrap=0).fit(sparse.csr_array(X), y).prior_ <= 1


@EVERY
def test_data_without_a_prior_is_refused(name):
    for labels in (np.zeros(20), np.ones(20)):
        with pytest.raises(ValueError, match="one class only"):
            quick(name).fit(ROWS[:20], labels)
    with pytest.raises(ValueError, match="at least 2 labeled positives and 2 unlabeled rows"):
        quick(name).fit(ROWS[:20], np.arange(20) == 0)
    with pytest.raises(ValueError, match="at least 2 labeled positives and 2 unlabeled rows"):
        quick(name).fit(ROWS[:20], np.arange(20) > 0)
    with pytest.raises(ValueError, match="NaN in column 1"):
        quick(name).fit([[1, np.nan], [2, 2], [3, 3]], [0, 1, 1])


@EVERY
@pytest.mark.parametrize("params", [{"level": 1}, {"n_bootstrap": -1}, {"random_state": "seed"}])
def test_wrong_settings_are_refused_at_fit(name, params):
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter"):
        quick(name, **params).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (KMPrior(variant="km3"), "'variant' parameter"),
        (ElkanNotoPrior("e4"), "'estimator' parameter"),
        (BBEPrior(delta=0), "'delta' parameter"),
        (BBEPrior(scorer="forest"), "'scorer' parameter"),
        (PenL1Prior(widths=[0.1, -1]), "widths must be numbers above 0"),
        (TIcEPrior(n_folds=500), "needs at least 1000 rows; got 800"),
        (BBEPrior(StandardScaler()), "decision_function or predict_proba; got StandardScaler"),
    ],
)
def test_settings_that_make_no_sense_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(ROWS, LABELS)


@pytest.mark.parametrize("name", ["km", "pen-l1"])
def test_rows_that_are_all_equal_are_refused_by_distances(name):
    with pytest.raises(ValueError, match="rows that differ"):
        quick(name).fit(np.ones((20, 2)), np.arange(20) < 8)


# -- scorers -----------------------------------------------------------------------------------


@SCORE_BASED
@pytest.mark.parametrize("scorer", [LogisticRegression(), GaussianNB()])
def test_any_classifier_can_be_the_scorer(prior, scorer):
    estimate = prior(scorer=scorer, n_bootstrap=0, random_state=0).fit(ROWS, LABELS)
    assert 0.25 < estimate.prior_ < 0.6
    assert type(estimate.scorer_) is type(scorer)
    assert not hasattr(scorer, "classes_")
    assert estimate.scores_.shape == (800,)


class WithOwnScores(BaseEstimator):
    """A classifier that scores rows out of fold by itself."""

    def fit(self, X, y):
        self.oof_scores_ = logit(exact_score(X))
        return self


def test_out_of_fold_scores_of_the_scorer_itself_are_used():
    estimate = BBEPrior(WithOwnScores(), random_state=0).fit(ROWS, LABELS)
    assert estimate.prior_ == pytest.approx(0.393846, abs=5e-7)
    estimate = BBEPrior(make_pipeline(WithOwnScores()), random_state=0).fit(ROWS, LABELS)
    assert estimate.prior_ == pytest.approx(0.393846, abs=5e-7)


def test_a_mixpul_classifier_can_be_the_scorer(pu, quick):
    estimate = DEDPULPrior(quick(), n_bootstrap=3, random_state=0).fit(pu.X, pu.y)
    assert (estimate.scores_ == estimate.scorer_.oof_scores_).all()
    assert 0 <= estimate.prior_ <= 1


def test_scores_are_out_of_fold():
    """In-sample scores of a model that memorises would put all positives on top: a prior of 0."""
    r = np.random.default_rng(0)
    X, y = r.normal(size=(400, 30)), np.repeat([1, 0], [50, 350])
    wide = make_pipeline(StandardScaler(), LogisticRegression(C=1e6, max_iter=5000))
    assert BBEPrior(wide, random_state=0).fit(X, y).prior_ > 0.5


@pytest.mark.parametrize("estimator", ["e1", "e2", "e3"])
def test_elkan_noto_undoes_the_balance_of_the_scorer(estimator):
    X, y = clusters()
    plain, balanced = (
        ElkanNotoPrior(
            estimator, LogisticRegression(class_weight=weight), n_bootstrap=0, random_state=0
        ).fit(X, y)
        for weight in (None, "balanced")
    )
    assert plain.prior_ == pytest.approx(balanced.prior_, abs=0.02)


def test_elkan_noto_e1_overestimates_when_classes_overlap():
    assert ElkanNotoPrior(random_state=0, n_bootstrap=0).fit(ROWS, LABELS).prior_ > 0.45


def test_tice_keeps_the_label_frequency_it_found():
    estimate = TIcEPrior(random_state=0, n_bootstrap=0).fit(ROWS, LABELS)
    c = estimate.label_frequency_
    assert estimate.prior_ == pytest.approx((1 - c) / c)
    assert c < 400 / 560  # a lower bound of the true one


# -- resolve_prior -----------------------------------------------------------------------------


def test_a_number_passes_as_it_is():
    assert resolve_prior(0.3, None, None) == (0.3, None)
    assert resolve_prior(np.float32(0.5), None, None) == (0.5, None)


def test_a_name_or_an_estimator_is_fitted_reproducibly():
    value, fitted = resolve_prior("bbe", ROWS, LABELS, random_state=0)
    assert isinstance(fitted, BBEPrior)
    assert value == fitted.prior_
    given = BBEPrior(n_bootstrap=0)
    again, copy = resolve_prior(given, ROWS, LABELS, random_state=0)
    assert again == value
    assert copy is not given
    assert given.random_state is None
    assert not hasattr(given, "prior_")
    seeded = resolve_prior(BBEPrior(random_state=7), ROWS, LABELS, random_state=0)[1]
    assert seeded.random_state == 7


class Fixed:
    """The smallest estimator there is."""

    def __init__(self, prior):
        self.given = prior

    def fit(self, X, y):
        self.prior_, self.interval_ = self.given, (0.0, 1.0)
        return self


def test_anything_with_the_right_method_is_an_estimator():
    assert resolve_prior(Fixed(0.25), ROWS, LABELS)[0] == 0.25


class Counting:
    """An estimator that compares labels with the positive one."""

    def __init__(self, pos_label):
        self.pos_label = pos_label

    def fit(self, X, y):
        self.prior_ = float((np.asarray(y) == self.pos_label).mean())
        return self


@pytest.mark.parametrize("pos_label", ["yes", 2, 0, False])
def test_a_mask_means_the_same_whatever_the_positive_label_of_the_estimator_is(pos_label):
    X, mask = ROWS[200:], LABELS[200:] == 1
    expected = resolve_prior(BBEPrior(random_state=0), X, mask)[0]
    given = BBEPrior(random_state=0, pos_label=pos_label)
    assert resolve_prior(given, X, mask)[0] == expected
    assert given.pos_label == pos_label
    own = Counting(pos_label)
    assert resolve_prior(own, X, mask)[0] == mask.mean()
    assert own.pos_label == pos_label


def test_labels_that_are_not_a_mask_are_read_by_the_label_of_the_estimator():
    words = np.where(LABELS == 1, "no", "yes")
    assert resolve_prior(Counting("no"), ROWS[200:], words[200:])[0] == (LABELS[200:] == 1).mean()


def test_a_classifier_and_its_estimator_may_both_name_the_positive_label():
    X, y = ROWS[::8], LABELS[::8]
    settings = {"net": (4,), "n_epochs": 1, "cross_fitting": None, "random_state": 0}
    plain = NNPUClassifier(prior=BBEPrior(random_state=0), **settings).fit(X, y)
    words = NNPUClassifier(
        prior=BBEPrior(pos_label="yes", random_state=0), pos_label="yes", **settings
    ).fit(X, np.where(y == 1, "yes", "no"))
    assert words.prior_ == plain.prior_
    np.testing.assert_array_equal(words.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize(("estimate", "used"), [(0.0, 1 / 400), (1.0, 399 / 400)])
def test_an_estimate_that_leaves_one_class_empty_becomes_one_row_with_a_warning(estimate, used):
    with pytest.warns(UserWarning, match="Fixed estimates a prior of .* leaves one class empty"):
        assert resolve_prior(Fixed(estimate), ROWS, LABELS)[0] == used


@pytest.mark.parametrize("prior", [0, 1, 1.5, -0.1, float("nan"), "bee", None, BBEPrior, True])
def test_what_is_no_prior_is_refused(prior):
    with pytest.raises(ValueError, match="prior must be the share of positives among the unlabel"):
        resolve_prior(prior, ROWS, LABELS)


def test_the_largest_prior_of_separate_classes_follows_from_chance_alone():
    # All 20 unlabeled rows that look positive are below the k-th of n positives only by chance.
    unlabeled = np.repeat([1.0, 0.0], [20, 80])
    limits = [largest_prior(np.full(n, 1.0), unlabeled) for n in (5, 20, 80, 320)]
    assert limits == sorted(limits, reverse=True)
    # With n positives, all above, K hidden ones would leave K - 20 below them all. With many
    # positives that never happens, and with 5 it does by chance: (.05)^(1/5) = .55 of K are above.
    assert limits[-1] == pytest.approx(0.21, abs=0.011)
    assert 0.3 < limits[0] < 0.5
    assert largest_prior(np.full(20, 1.0), unlabeled, level=0.999) > limits[1]
    assert largest_prior([1.0, 2.0], np.linspace(0, 3, 100)) == 1  # two positives tell nothing


def test_the_largest_prior_is_above_the_truth_as_often_as_it_says():
    n_labeled = 20
    # Classes that do not overlap are the hardest case: there the limit has no other slack.
    random = np.random.default_rng(1000)
    covered = []
    for _ in range(80):
        scores = random.normal(size=n_labeled + 60)
        unlabeled = np.concatenate([scores[n_labeled:], np.full(140, -99.0)])
        covered.append(largest_prior(scores[:n_labeled], unlabeled) >= 0.3)
    assert 0.9 <= np.mean(covered) < 1


def test_the_largest_prior_sees_only_the_order_of_scores():
    assert largest_prior(SCORE_P, SCORE_U) == largest_prior(np.exp(SCORE_P), np.exp(SCORE_U))


def test_the_largest_prior_is_above_the_truth_and_below_nonsense():
    assert 0.4 < largest_prior(SCORE_P, SCORE_U) < 0.7


def test_a_prior_is_contradicted_by_scores_or_not():
    scores, is_positive = np.concatenate([SCORE_P, SCORE_U]), LABELS == 1
    warn_if_impossible(0.4, scores, is_positive)
    warn_if_impossible(0.9, np.full(800, np.nan), is_positive)
    with pytest.warns(UserWarning, match="contradict prior=0.9.* at most 0.4"):
        warn_if_impossible(0.9, scores, is_positive)


def test_dedpul_finds_no_positives_where_there_are_none():
    random = np.random.default_rng(0)
    assert dedpul(random.normal(5, 1, 100), random.normal(-5, 1, 400)) < 0.05
    assert dedpul(random.normal(5, 1, 100), random.normal(5, 1, 400)) > 0.7


# -- subtypes -------------------------------------------------------------------------------


def make_biased(n=12_000, seed=0):
    """Positives of the north are labeled ten times as often as those of the south."""
    random = np.random.default_rng(seed)
    truth, north = random.random(n) < 0.3, random.random(n) < 0.5
    labeled = truth & (random.random(n) < np.where(north, 0.5, 0.05))
    return random.normal(size=n) + 4 * truth, labeled, north, truth


def test_the_prior_by_subtype_by_hand():
    # Half of 4 and a quarter of 8 unlabeled rows: (2 + 2) / 12.
    labels, kinds = [1] * 10 + [0] * 12, ["a"] * 5 + ["b"] * 5 + ["a"] * 4 + ["b"] * 8
    priors = {4: 0.5, 8: 0.25}
    prior, parts = prior_by_subtype(
        np.zeros(22), labels, kinds, estimator=lambda positive, unlabeled: priors[len(unlabeled)]
    )
    assert prior == pytest.approx(1 / 3)
    assert [part.name for part in parts] == ["a", "b"]
    assert [part.label_frequency for part in parts] == pytest.approx([5 / 7, 5 / 7])
    np.testing.assert_array_equal(propensity_weights(labels, kinds, parts), np.ones(22))


def test_where_one_kind_is_rarely_labeled_the_prior_by_subtype_is_right_and_the_plain_one_not():
    scores, labeled, north, truth = make_biased()
    true = truth[~labeled].mean()
    prior, parts = prior_by_subtype(scores, labeled, north)
    assert prior == pytest.approx(true, abs=0.02)
    south, favoured = parts
    assert favoured.label_frequency / south.label_frequency == pytest.approx(10, rel=0.3)
    weights = propensity_weights(labeled, north, parts)
    assert weights[labeled].mean() == pytest.approx(1)
    assert (weights[~labeled] == 1).all()
    # Weighted, the labeled positives are from the north as often as all positives are.
    share = np.average(north[labeled], weights=weights[labeled])
    assert share == pytest.approx(north[truth].mean(), abs=0.05)
    assert north[labeled].mean() > 0.85


def test_subtypes_are_found_and_every_row_joins_one():
    random = np.random.default_rng(0)
    kinds = random.integers(2, size=400)
    X = np.column_stack([*random.normal(size=(2, 400)) + 10 * kinds, np.ones(400)])
    found = find_subtypes(X, np.arange(400) < 100, 2, random_state=0)
    assert len(set(zip(found.tolist(), kinds.tolist(), strict=True))) == 2


def test_subtypes_with_too_few_labels_or_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"Subtype 'a' has 4 labeled positives.*Join it"):
        prior_by_subtype(np.arange(12.0), [1] * 7 + [0] * 5, ["a", "b"] * 6)
    with pytest.raises(ValueError, match="one entry per row; got 3, 2 and 2"):
        prior_by_subtype([1.0, 2.0, 3.0], [1, 0], ["a", "a"])
    with pytest.raises(ValueError, match="nothing of the subtype 'c'"):
        propensity_weights([1, 0], ["c", "c"], [Subtype("a", 5, 5, 0.5, 0.5)])
