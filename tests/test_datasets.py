import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mixpul import datasets

Y = np.repeat([1, 0], [40, 60])
X = np.arange(200.0).reshape(100, 2)


@pytest.mark.parametrize(
    ("name", "shape", "n_positive"),
    [("krvskp", (3196, 36), 1669), ("titanic", (2201, 3), 711), ("spambase", (4601, 57), 1813)],
)
def test_bundled_data_has_the_published_size_and_says_where_it_comes_from(name, shape, n_positive):
    data = datasets.load(name)
    assert data.X.shape == shape
    assert data.X.dtype == np.float32
    assert np.isfinite(data.X).all()
    assert data.y.sum() == n_positive
    assert set(data.y) == {0, 1}
    assert len(data.feature_names) == shape[1]
    assert type(data.feature_names[0]) is str
    assert data.name == name
    assert data.description
    assert data.citation
    assert data.licence


def test_bundled_data_comes_as_a_pair_on_request():
    X_pair, y_pair = datasets.load("titanic", return_X_y=True)
    data = datasets.load("titanic")
    np.testing.assert_array_equal(X_pair, data.X)
    np.testing.assert_array_equal(y_pair, data.y)


def test_spambase_is_as_its_description_says():
    data = datasets.load("spambase")
    assert len(data.X) - len(np.unique(np.c_[data.X, data.y], axis=0)) == 391
    assert data.y[:1813].all()
    assert "log1p" in data.description


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'iris'.*krvskp, titanic, spambase"):
        datasets.load("iris")


@pytest.mark.parametrize(("c", "n_labeled"), [(0.001, 1), (0.1, 4), (0.5, 20), (1.0, 40)])
def test_single_set_labels_a_share_of_the_positives_and_keeps_the_order(c, n_labeled):
    pu = datasets.make_pu(X, Y, c=c, random_state=0)
    assert pu.s.sum() == n_labeled
    assert (pu.y[pu.s == 1] == 1).all()
    np.testing.assert_array_equal(pu.X, X)
    np.testing.assert_array_equal(pu.y, Y)
    np.testing.assert_array_equal(pu.rows, np.arange(100))
    assert pu.prior == (40 - n_labeled) / (100 - n_labeled)


def test_single_set_takes_an_exact_number_of_positives():
    pu = datasets.make_pu(X, Y, n_positive=7, scheme="single", random_state=0)
    assert (pu.s.sum(), len(pu.s)) == (7, 100)


def test_case_control_uses_as_many_rows_as_keep_the_class_mix():
    pu = datasets.make_pu(X, Y, n_positive=10, random_state=0)
    # 30 positives remain; at a share of 0.4 they carry 75 rows.
    assert (pu.s.sum(), (pu.s == 0).sum()) == (10, 75)
    assert pu.prior == 0.4
    assert len(np.unique(pu.rows)) == len(pu.rows)
    np.testing.assert_array_equal(pu.X, X[pu.rows])
    np.testing.assert_array_equal(pu.y, Y[pu.rows])
    assert not np.array_equal(pu.rows, np.sort(pu.rows))


def test_case_control_draws_the_number_of_unlabeled_rows_asked_for():
    pu = datasets.make_pu(X, Y, n_positive=5, n_unlabeled=20, random_state=0)
    assert (pu.s.sum(), (pu.s == 0).sum(), pu.prior) == (5, 20, 0.4)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_case_control_never_reuses_a_row_and_keeps_the_mix_up_to_rounding(data):
    n_in_class = data.draw(st.integers(2, 40))
    n_negative = data.draw(st.integers(1, 40))
    n_positive = data.draw(st.integers(1, n_in_class - 1))
    y = np.repeat([1, 0], [n_in_class, n_negative])
    pu = datasets.make_pu(np.zeros((len(y), 1)), y, n_positive=n_positive, random_state=0)
    n_unlabeled = int((pu.s == 0).sum())
    assert pu.s.sum() == n_positive
    assert len(np.unique(pu.rows)) == len(pu.rows)
    assert abs(pu.prior - n_in_class / len(y)) <= 0.5 / n_unlabeled + 1e-12


@pytest.mark.parametrize("settings", [{"c": 0.1}, {"n_positive": 5}])
def test_the_seed_decides_the_draw_and_the_global_state_is_untouched(settings):
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (datasets.make_pu(X, Y, random_state=i, **settings) for i in (0, 0, 1))
    datasets.make_pu(X, Y, **settings)
    datasets.paper_split(X, Y)
    np.testing.assert_array_equal(first.rows[first.s == 1], again.rows[again.s == 1])
    assert set(first.rows[first.s == 1]) != set(other.rows[other.s == 1])
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_random_states_and_generators_move_on_between_draws(kind):
    random_state = kind(0)
    first = datasets.make_pu(X, Y, c=0.2, random_state=random_state)
    second = datasets.make_pu(X, Y, c=0.2, random_state=random_state)
    fresh = datasets.make_pu(X, Y, c=0.2, random_state=kind(0))
    assert not np.array_equal(first.s, second.s)
    np.testing.assert_array_equal(first.s, fresh.s)


def test_frames_stay_frames_sparse_stays_sparse_and_images_stay_images():
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(100)[::-1])
    pu = datasets.make_pu(frame, pd.Series(Y), n_positive=5, random_state=0)
    pd.testing.assert_frame_equal(pu.X, frame.iloc[pu.rows])
    pu = datasets.make_pu(sparse.coo_array(X), Y, n_positive=5, random_state=0)
    np.testing.assert_array_equal(pu.X.toarray(), X[pu.rows])
    images = X.reshape(100, 1, 2, 1)
    pu = datasets.make_pu(images, Y, n_positive=5, random_state=0)
    np.testing.assert_array_equal(pu.X, images[pu.rows])


def test_the_larger_value_of_y_is_positive_unless_pos_label_says_otherwise():
    np.testing.assert_array_equal(datasets.make_pu(X, 2 * Y - 1, c=0.5).y, Y)
    np.testing.assert_array_equal(datasets.make_pu(X, Y, c=0.5, pos_label=0).y, 1 - Y)


def test_pu_data_shows_sizes_not_arrays_and_cannot_be_changed():
    pu = datasets.make_pu(X, Y, c=0.1, random_state=0)
    assert repr(pu) == (
        "PUData(X of shape (100, 2), 4 labeled positive, 96 unlabeled, prior=0.375)"
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        pu.prior = 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "one of the two"),
        ({"c": 0.1, "n_positive": 3}, "one of the two"),
        ({"c": 0}, "c must be a share"),
        ({"c": 1.5}, r"c must be a share.*1\.5"),
        ({"c": float("nan")}, "c must be a share"),
        ({"n_positive": 0}, "from 1 to 40"),
        ({"n_positive": 41}, "from 1 to 40.*41"),
        ({"n_positive": 2.5}, "from 1 to 40"),
        ({"n_positive": 40}, "leaves none for the unlabeled"),
        ({"n_positive": 10, "n_unlabeled": 76}, "from 1 to 75.*76"),
        ({"n_positive": 10, "n_unlabeled": 0}, "from 1 to 75"),
        ({"c": 0.1, "n_unlabeled": 5}, "scheme='single' leaves every row"),
        ({"c": 0.1, "scheme": "case-control"}, "give n_positive instead"),
        ({"c": 0.1, "scheme": "censoring"}, "'single' or 'case-control'"),
    ],
)
def test_make_pu_says_what_it_expected(settings, message):
    with pytest.raises(ValueError, match=message):
        datasets.make_pu(X, Y, **settings)


def test_make_pu_wants_two_classes_and_one_label_per_row():
    with pytest.raises(ValueError, match="one class only"):
        datasets.make_pu(X, np.ones(100), c=0.1)
    with pytest.raises(ValueError, match=r"X has 100 rows, y has 50"):
        datasets.make_pu(X, Y[::2], c=0.1)


@pytest.mark.parametrize(
    ("n", "sizes"),
    [(3196, (2237, 959)), (2201, (1540, 661)), (4601, (3220, 1381)), (2630, (1840, 790))],
)
def test_paper_split_has_the_sizes_of_the_paper(n, sizes):
    rows = np.arange(n)
    X_train, X_test, y_train, y_test = datasets.paper_split(
        rows.reshape(-1, 1), rows, random_state=0
    )
    assert (len(X_train), len(X_test)) == sizes
    np.testing.assert_array_equal(X_train[:, 0], y_train)
    np.testing.assert_array_equal(X_test[:, 0], y_test)
    np.testing.assert_array_equal(np.sort(np.concatenate([y_train, y_test])), rows)
    assert not np.array_equal(y_train, rows[: len(y_train)])


def test_paper_split_keeps_frames_and_takes_lists():
    frame, series = pd.DataFrame(X), pd.Series(Y)
    X_train, _, y_train, _ = datasets.paper_split(frame, series, random_state=0)
    assert list(X_train.index) == list(y_train.index)
    assert len(datasets.paper_split(X.tolist(), Y.tolist(), random_state=0)[0]) == 70
    with pytest.raises(ValueError, match="one entry per row"):
        datasets.paper_split(X, Y[:50])


def test_conversions_agree_with_the_worked_example():
    # 1000 rows, 40 % positive, one in ten labeled.
    assert datasets.unlabeled_prior(0.4, 0.1) == pytest.approx(0.375)
    assert datasets.label_frequency(40, 960, 0.375) == pytest.approx(0.1)
    assert datasets.population_prior(40, 960, 0.375) == pytest.approx(0.4)
    assert datasets.label_frequency(100, 900, 0.4) == pytest.approx(0.217391, abs=1e-6)


def test_conversions_agree_with_counting():
    pu = datasets.make_pu(X, Y, c=0.25, random_state=0)
    assert datasets.label_frequency(10, 90, pu.prior) == pytest.approx(0.25)
    assert datasets.population_prior(10, 90, pu.prior) == pytest.approx(0.4)
    assert datasets.unlabeled_prior(0.4, 0.25) == pytest.approx(pu.prior)


def test_conversions_refuse_what_cannot_be():
    with pytest.raises(ValueError, match="prior must be a share"):
        datasets.label_frequency(10, 90, 1.2)
    with pytest.raises(ValueError, match="at least one labeled positive"):
        datasets.population_prior(0, 90, 0.2)
    with pytest.raises(ValueError, match="label_frequency must be a share"):
        datasets.unlabeled_prior(0.4, -0.1)
    with pytest.raises(ValueError, match="every row is labeled"):
        datasets.unlabeled_prior(1, 1)
