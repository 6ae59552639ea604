import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from mixpul._util.arrays import flatten_rows
from mixpul._util.random import seed_parts
from mixpul._util.validation import check_finite, check_scores, list_values, split_labels


@pytest.fixture
def no_training(monkeypatch):
    def train(*args, **settings):
        pytest.fail("the training began")

    monkeypatch.setattr("mixpul.methods.neural.classifier.train", train)


def with_value(X, value, *columns):
    """A float64 copy with `value` in one row of each of the columns."""
    X = X.astype(np.float64)
    for row, column in enumerate(columns, start=5):
        X[row, column] = value
    return X


def frame(X, **more):
    return pd.DataFrame(X, columns=["age", "weight", "height", "pulse"]).assign(**more)


# -- values in X ----------------------------------------------------------------------------

IMPUTE = r"; drop or impute.*SimpleImputer"
ENCODE = r"; encode it as numbers.*OneHotEncoder"

BAD_ROWS = {
    "NaN": (lambda X: with_value(X, np.nan, 2), "NaN in column 2" + IMPUTE),
    "NaN twice": (lambda X: with_value(X, np.nan, 2, 0), "NaN in columns 0, 2" + IMPUTE),
    "infinity": (lambda X: with_value(X, np.inf, 1), "infinity.* in column 1" + IMPUTE),
    "minus infinity": (lambda X: with_value(X, -np.inf, 1), "infinity.* in column 1" + IMPUTE),
    "both infinities": (
        lambda X: with_value(with_value(X, np.inf, 1), -np.inf, 0, 1),
        "infinity.* in columns 0, 1" + IMPUTE,
    ),
    "NaN in a frame": (
        lambda X: frame(with_value(X, np.nan, 3, 1)),
        "NaN in columns 'weight', 'pulse'" + IMPUTE,
    ),
    "infinity in a frame": (
        lambda X: frame(with_value(X, np.inf, 2)),
        "infinity.* in column 'height'" + IMPUTE,
    ),
    "missing in a nullable column": (
        lambda X: frame(X, height=pd.array([1, None] * 100, dtype="Int64")),
        "NaN in column 'height'" + IMPUTE,
    ),
    "NaN in sparse rows": (
        lambda X: sparse.csr_array(with_value(X, np.nan, 2)),
        "NaN in column 2" + IMPUTE,
    ),
    "infinity in sparse columns": (
        lambda X: sparse.csc_matrix(with_value(X, np.inf, 3)),
        "infinity.* in column 3" + IMPUTE,
    ),
    "NaN in an image": (
        lambda X: with_value(X, np.nan, 2).reshape(-1, 1, 2, 2),
        "NaN in" + r".*" + IMPUTE,
    ),
    "too large for float32": (
        lambda X: with_value(X, 1e300, 2),
        r"(too large|beyond|float32).* in column 2|column 2.*(too large|beyond|float32)",
    ),
    "text in a frame": (lambda X: frame(X, town="Ulm"), "text in column 'town'" + ENCODE),
    "categories in a frame": (
        lambda X: frame(X, town=pd.Categorical(["Ulm", "Bonn"] * 100)),
        "text in column 'town'" + ENCODE,
    ),
    "text in a list": (
        lambda X: [[*row, "red"] for row in X.tolist()],
        "text in column 4; encode",
    ),
    "dates": (
        lambda X: pd.DataFrame(X, columns=list("abcd")).assign(day=pd.Timestamp("2026-01-01")),
        "dates or durations in column 'day'; turn",
    ),
    "text in an object array": (
        lambda X: np.column_stack([X.astype(object), np.full(200, "red", dtype=object)]),
        "text in column 4" + ENCODE,
    ),
    "text in a text array": (
        lambda X: np.full((200, 2), "red"),
        "text in columns 0, 1" + ENCODE,
    ),
    "no rows": (lambda X: X[:0], r"0 sample.*minimum of 2 is required"),
    "one row": (lambda X: X[:1], r"1 sample.*minimum of 2 is required"),
    "no columns": (lambda X: X[:, :0], r"0 feature.*minimum of 1 is required"),
    "one number per row": (lambda X: X[:, 0], r"Expected 2D array.*"),
}


@pytest.mark.usefixtures("no_training")
@pytest.mark.parametrize("case", BAD_ROWS)
def test_rows_that_cannot_be_used_are_refused_before_training(pu, quick, case):
    make, message = BAD_ROWS[case]
    X = make(pu.X)
    with pytest.raises(ValueError, match=message):
        quick().fit(X, pu.y[: len(X) if isinstance(X, list) else X.shape[0]])


@pytest.mark.parametrize("case", ["NaN", "infinity in a frame", "NaN in sparse rows"])
def test_rows_that_cannot_be_used_are_refused_at_prediction_too(pu, quick, case):
    make, message = BAD_ROWS[case]
    X = make(pu.X)
    model = quick().fit(frame(pu.X) if isinstance(X, pd.DataFrame) else pu.X, pu.y)
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_many_bad_columns_are_counted_not_listed():
    X = np.full((3, 100), np.nan, dtype=np.float32)
    with pytest.raises(ValueError, match=r"in columns 0, 1, 2, 3, 4 and 95 more;"):
        check_finite(X)


def test_large_finite_values_pass():
    # Their sum is beyond float32, which the quick look at the sum must survive.
    check_finite(np.full((100, 4), 3e38, dtype=np.float32))
    check_finite(np.full((100, 4), 1e308))


def test_numbers_written_as_text_are_read(pu, quick):
    X = np.round(pu.X)
    expected = quick().fit(X, pu.y).decision_function(X)
    model = quick().fit(X.astype(str).astype(object), pu.y)
    np.testing.assert_array_equal(model.decision_function(X), expected)


# -- labels ---------------------------------------------------------------------------------

BAD_LABELS = {
    "three values": (lambda y: y + (np.arange(200) % 2), r"two values.*y has 3: 0, 1, 2\."),
    "many values": (lambda y: np.arange(200) % 7, r"y has 7: 0, 1, 2, 3, 4, \.\.\."),
    "one value": (
        lambda y: 0 * y,
        r"needs labeled positives and unlabeled rows.*one class only: 0",
    ),
    "only positives": (lambda y: 0 * y + 1, "one class only: 1"),
    "numbers that are no labels": (lambda y: y + 0.3, "continuous"),
    "NaN": (lambda y: np.where(np.arange(200) == 7, np.nan, y), "NaN.*unlabeled"),
    "None among numbers": (
        lambda y: np.where(np.arange(200) == 7, None, y),
        r"(None|NaN|missing).*unlabeled",
    ),
    "None among text": (
        lambda y: np.where(np.arange(200) == 7, None, np.where(y, "known", "unknown")),
        r"(None|NaN|missing).*unlabeled",
    ),
    "missing in a series": (
        lambda y: pd.Series(np.where(y, "known", "unknown")).mask(np.arange(200) == 7),
        r"(None|NaN|missing).*unlabeled",
    ),
    "too few": (lambda y: y[:-1], r"\[200, 199\]"),
    "none at all": (lambda y: None, "requires y to be passed"),
    "a table": (lambda y: np.column_stack([y, y]), r"1d array|\(200, 2\)"),
}


@pytest.mark.usefixtures("no_training")
@pytest.mark.parametrize("case", BAD_LABELS)
def test_labels_that_cannot_be_used_are_refused_before_training(pu, quick, case):
    make, message = BAD_LABELS[case]
    with pytest.raises(ValueError, match=message):
        quick().fit(pu.X, make(pu.y))


@pytest.mark.parametrize("pos_label", [7, "yes", None])
@pytest.mark.usefixtures("no_training")
def test_a_positive_label_that_is_not_there_is_refused(pu, quick, pos_label):
    y = np.where(pu.y == 1, 2, 5) if pos_label is not None else 0 * pu.y
    with pytest.raises(ValueError, match="not among the labels in y: 2, 5" if pos_label else "one"):
        quick(pos_label=pos_label).fit(pu.X, y)


def test_the_larger_label_is_the_positive_one_unless_told_otherwise():
    with pytest.warns(UserWarning, match=r"labels 3, 8; 8 is taken as the labeled positive.*larg"):
        values, is_positive = split_labels([3, 8, 3])
    assert values.tolist() == [3, 8]
    assert is_positive.tolist() == [False, True, False]
    values, is_positive = split_labels([3, 8, 3], pos_label=3)
    assert values.tolist() == [8, 3]
    assert is_positive.tolist() == [True, False, True]


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [0.0, 1.0], [-1.0, 1.0], [False, True]])
def test_the_usual_labels_say_by_themselves_which_is_positive(labels):
    assert split_labels(np.array(labels)[[1, 0, 1]])[1].tolist() == [True, False, True]


@pytest.mark.parametrize("labels", [[1, 2], [0, 2], [-1, 0], [0.0, 100.0]])
def test_other_numbers_warn_and_name_the_one_taken(pu, quick, labels):
    y = np.array(labels)[pu.y]
    with pytest.warns(UserWarning, match=rf"; {labels[1]} is taken as the labeled.*pos_label="):
        model = quick().fit(pu.X, y)
    assert model.classes_.tolist() == labels
    plain = quick().fit(pu.X, pu.y)
    np.testing.assert_array_equal(model.decision_function(pu.X), plain.decision_function(pu.X))
    quick(pos_label=labels[1]).fit(pu.X, y)  # said, and nothing to warn of


def test_text_labels_without_a_positive_one_warn_and_name_the_one_taken(pu, quick):
    y = np.where(pu.y == 1, "labeled", "else")
    with pytest.warns(UserWarning, match=r"'else', 'labeled'; 'labeled' is taken.*pos_label="):
        model = quick().fit(pu.X, y)
    assert model.classes_.tolist() == ["else", "labeled"]
    assert roc_auc_score(pu.truth, model.predict_proba(pu.X)[:, 1]) > 0.8


def test_pos_label_turns_classes_and_scores_around(pu, quick):
    plain = quick().fit(pu.X, pu.y)
    turned = quick(pos_label=0).fit(pu.X, 1 - pu.y)
    assert plain.classes_.tolist() == [0, 1]
    assert turned.classes_.tolist() == [1, 0]
    scores = plain.decision_function(pu.X)
    np.testing.assert_array_equal(turned.decision_function(pu.X), scores)
    np.testing.assert_array_equal(turned.predict_proba(pu.X), plain.predict_proba(pu.X))
    np.testing.assert_array_equal(turned.predict(pu.X), np.where(scores > 0, 0, 1))
    assert roc_auc_score(pu.truth, turned.predict_proba(pu.X)[:, 1]) > 0.8


# -- few rows -------------------------------------------------------------------------------


def some_positive(n):
    return (np.arange(200) < n).astype(int)


@pytest.mark.parametrize("cross_fitting", [5, 2, None])
@pytest.mark.parametrize("n_positive", [1, 2, 3, 4])
def test_fewer_than_five_positives_warn_and_still_fit(pu, quick, n_positive, cross_fitting):
    model = quick(cross_fitting=cross_fitting)
    with pytest.warns(UserWarning, match=f"rows labeled positive: {n_positive}"):
        model.fit(pu.X, some_positive(n_positive))
    assert np.isfinite(model.decision_function(pu.X)).all()


@pytest.mark.parametrize("cross_fitting", [5, None])
def test_five_positives_do_not_warn(pu, quick, cross_fitting):
    model = quick(cross_fitting=cross_fitting).fit(pu.X, some_positive(5))
    assert np.isfinite(model.decision_function(pu.X)).all()


@pytest.mark.parametrize("cross_fitting", [5, 2, None])
@pytest.mark.parametrize("n_unlabeled", [1, 2, 3])
def test_a_few_unlabeled_rows_are_enough_to_fit(pu, quick, n_unlabeled, cross_fitting):
    model = quick(cross_fitting=cross_fitting).fit(pu.X, 1 - some_positive(n_unlabeled))
    assert np.isfinite(model.decision_function(pu.X)).all()


@pytest.mark.parametrize("cross_fitting", [5, None])
@pytest.mark.parametrize("n_rows", [2, 3, 4])
def test_a_handful_of_rows_is_enough_to_fit(pu, quick, n_rows, cross_fitting):
    model = quick(cross_fitting=cross_fitting)
    with pytest.warns(UserWarning, match="labeled positive"):
        model.fit(pu.X[:n_rows], np.arange(n_rows) % 2)
    assert np.isfinite(model.decision_function(pu.X)).all()


@pytest.mark.parametrize("validation_fraction", [0.01, 0.99])
def test_an_extreme_share_to_hold_out_fits_or_says_what_to_change(pu, quick, validation_fraction):
    model = quick(cross_fitting=None, validation_fraction=validation_fraction)
    try:
        model.fit(pu.X, pu.y)
    except ValueError as error:
        assert "validation_fraction" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(model.decision_function(pu.X)).all()


# -- prediction -----------------------------------------------------------------------------


def test_another_number_of_features_is_refused(pu, quick):
    model = quick().fit(pu.X, pu.y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        model.predict(pu.X[:, :3])


def test_renamed_and_reordered_columns_are_refused(pu, quick):
    model = quick().fit(frame(pu.X), pu.y)
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- mass\n.*missing:\n- weight"):
        model.predict(frame(pu.X).rename(columns={"weight": "mass"}))
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(frame(pu.X)[["weight", "age", "height", "pulse"]])


def test_images_of_another_shape_are_refused(pu, quick):
    model = quick().fit(pu.X.reshape(-1, 1, 2, 2), pu.y)
    with pytest.raises(ValueError, match=r"shape \(1, 4, 1\), but .* fitted on .* \(1, 2, 2\)"):
        model.predict(pu.X.reshape(-1, 1, 4, 1))


def test_a_model_that_was_not_fitted_says_so(pu, quick):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        quick().predict(pu.X)


def test_a_model_whose_fit_failed_counts_as_not_fitted(pu, quick):
    model = quick()
    with pytest.raises(ValueError, match="one class only"):
        model.fit(pu.X, 0 * pu.y)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.predict(pu.X)


# -- parameters -----------------------------------------------------------------------------

BAD_PARAMETERS = [
    ({"alpha": 0}, r"'alpha'.*\(0\.0, inf\).*Got 0"),
    ({"negative_fraction": 0}, r"'negative_fraction'.*\(0\.0, 1\.0\].*Got 0"),
    ({"negative_fraction": 1.5}, r"'negative_fraction'.*\(0\.0, 1\.0\].*Got 1\.5"),
    ({"validation_fraction": 0}, r"'validation_fraction'.*\(0\.0, 1\.0\).*Got 0"),
    ({"validation_fraction": 1}, r"'validation_fraction'.*\(0\.0, 1\.0\).*Got 1"),
    ({"margin": -0.1}, "'margin'.*Got -0.1"),
    ({"beta": -1}, "'beta'.*Got -1"),
    ({"gamma": "auto"}, "'gamma'.*Got 'auto'"),
    ({"ema_decay": 1}, r"'ema_decay'.*\[0\.0, 1\.0\).*Got 1"),
    ({"n_epochs": 0}, "'n_epochs'.*Got 0"),
    ({"n_epochs": 2.5}, "'n_epochs'.*Got 2.5"),
    ({"learning_rate": 0}, "'learning_rate'.*Got 0"),
    ({"learning_rate": float("nan")}, "'learning_rate'.*Got nan"),
    ({"optimizer": "rmsprop"}, "'optimizer'.*'adam'.*Got 'rmsprop'"),
    ({"batch_size": 1}, r"'batch_size'.*\[2, inf\).*Got 1"),
    ({"cross_fitting": 1}, r"'cross_fitting'.*\[2, inf\).*Got 1"),
    ({"patience": 0}, "'patience'.*Got 0"),
    ({"net": "nonsense"}, "'net'.*'linear'.*Got 'nonsense'"),
    ({"miner": "nonsense"}, "'miner'.*'rand'.*'mine'.*Got 'nonsense'"),
    ({"miner": range(3)}, "'miner'.*implementing 'mine'"),
    ({"device": "nonsense"}, "device='nonsense' cannot be used here.*'auto', 'cpu'"),
    ({"device": "cuda:99"}, "device='cuda:99' cannot be used here.*'auto', 'cpu'"),
    ({"random_state": "seed"}, "'random_state'.*Got 'seed'"),
]


@pytest.mark.usefixtures("no_training")
@pytest.mark.parametrize(("params", "message"), BAD_PARAMETERS, ids=lambda value: str(value)[:40])
def test_impossible_parameters_are_refused_before_training(pu, quick, params, message):
    with pytest.raises(ValueError, match=message):
        quick(**params).fit(pu.X, pu.y)


class FixedMiner:
    def __init__(self, answer):
        self.answer = answer

    def mine(self, X_positive, X_unlabeled, n):
        return self.answer


@pytest.mark.usefixtures("no_training")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0.5, 1.0], "must return a list of row numbers; got float64"),
        ([True, False], "must return a list of row numbers; got bool"),
        ([], r"must return a list of row numbers; got float64 of shape \(0,\)"),
        (np.array([], dtype=int), r"must return a list of row numbers; got int64 of shape \(0,\)"),
        ([[0, 1]], r"must return a list of row numbers; got int64 of shape \(1, 2\)"),
        (None, "must return a list of row numbers; got object"),
        ([0, 5000], "row numbers from 0 to 5000; there are .* unlabeled rows"),
        ([-1, 3], "row numbers from -1 to 3; there are .* unlabeled rows"),
    ],
)
def test_what_a_miner_answers_is_checked_before_training(pu, quick, answer, message):
    with pytest.raises(ValueError, match=r"FixedMiner\.mine .*" + message.removeprefix("must ")):
        quick(miner=FixedMiner(answer)).fit(pu.X, pu.y)


def test_a_miner_of_ones_own_decides_which_rows_are_negatives(pu, quick):
    model = quick(miner=FixedMiner([4, 2, 9]), cross_fitting=None, early_stopping=False)
    unlabeled = np.flatnonzero(pu.y == 0)
    assert model.fit(pu.X, pu.y).reliable_negatives_.tolist() == unlabeled[[4, 2, 9]].tolist()


@pytest.mark.parametrize("dtype", [object, "Int64", "boolean", "category", "int8"])
def test_labels_in_any_column_type_are_read(pu, quick, dtype):
    values = pu.y.astype(bool) if dtype == "boolean" else pu.y
    model = quick().fit(pu.X, pd.Series(values).astype(dtype))
    expected = quick().fit(pu.X, pu.y).decision_function(pu.X)
    np.testing.assert_array_equal(model.decision_function(pu.X), expected)


# -- what the checks share ------------------------------------------------------------------


def test_scores_are_numbers_one_per_label_and_finite_if_asked():
    is_positive = np.array([True, False, False])
    assert check_scores([[1], [2], [np.inf]], is_positive).tolist() == [1, 2, np.inf]
    with pytest.raises(ValueError, match="there are 3 labels and 2 scores"):
        check_scores([1, 2], is_positive)
    with pytest.raises(ValueError, match="posterior has NaN in 1 of 3 rows"):
        check_scores([1, np.nan, np.inf], is_positive, "posterior")
    with pytest.raises(ValueError, match="NaN or infinity in 2 of 3 rows"):
        check_scores([1, np.nan, np.inf], finite=True)
    with pytest.raises(ValueError, match="at least 4 scores; got 3"):
        check_scores([1, 2, 3], least=4)


def test_rows_are_flat_sparse_ones_stay_sparse_and_the_type_is_kept_unless_asked():
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 2, 2)
    assert flatten_rows(images).shape == (2, 12)
    assert flatten_rows(images).dtype == np.uint8
    assert flatten_rows(images, np.float64).dtype == np.float64
    assert flatten_rows(images[:0]).shape == (0, 12)
    rows = sparse.csr_array(np.eye(3, dtype=np.float32))
    assert flatten_rows(rows) is rows
    assert flatten_rows(rows, np.float64).dtype == np.float64


def test_parts_are_seeded_once_and_only_when_asked():
    def seeds(model):
        params = model.get_params()
        return params["random_state"], params["estimator__random_state"]

    def make(**settings):
        return BaggingClassifier(LogisticRegression(), **settings)

    whole = seeds(seed_parts(make(), np.random.default_rng(0)))
    assert whole == seeds(seed_parts(make(), np.random.default_rng(0)))
    assert len(set(whole)) == 2
    assert seeds(seed_parts(make(random_state=7), 0))[0] == 7
    assert seeds(seed_parts(make(), np.random.default_rng(0), deep=False))[1] is None
    state = np.random.RandomState(0)
    seed_parts(make(random_state=7), state, deep=False)
    assert state.randint(1000) == np.random.RandomState(0).randint(1000)


def test_values_in_a_sentence_look_as_they_were_given():
    assert list_values(["a", 1, None, np.int64(2), 2.5, 3]) == "'a', 1, None, 2, 2.5, ..."


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("largest", [3e38, -1e25])
def test_values_whose_squares_overflow_are_named_at_fit(pu, quick, kind, largest):
    X = pu.X.copy()
    X[3, 2] = largest
    with pytest.raises(ValueError, match=r"beyond 1e\+19 in column 2"):
        quick().fit(sparse.csr_array(X) if kind == "sparse" else X, pu.y)


def test_scores_that_are_no_numbers_are_not_returned(pu, quick):
    model = quick(net="kernel").fit(pu.X, pu.y)
    X = pu.X.copy()
    X[3] = [3e38, -3e38, 3e38, -3e38]
    for predict in (model.predict, model.predict_proba, model.decision_function):
        try:
            assert np.isfinite(predict(X)).all()
        except ValueError as error:
            assert "scores are NaN" in str(error)  # noqa: PT017 (either is right)


@pytest.mark.parametrize("value", [1e308, 1e39])
def test_values_beyond_float32_are_named(pu, quick, value):
    X = pu.X.astype(float)
    X[3, 2] = value
    with pytest.raises(ValueError, match="too large for float32, in column 2"):
        quick().fit(X, pu.y)
