"""Pipelines of scikit-learn's steps in a model file."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save as to_bytes
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import NMF, PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold, f_classif
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from mixpul import LogisticPUClassifier, load, save
from mixpul.persistence import checksum, describe
from mixpul.persistence._step_columns import find_places
from mixpul.persistence._step_kinds import KINDS
from mixpul.tables import TableInput

RANDOM = np.random.default_rng(0)
N = 80
Y = np.arange(N) % 4 == 0
NUMBERS = RANDOM.normal(size=(N, 4)) + Y[:, None] * [1, 0, 0, 2]
GAPS = np.where(RANDOM.random((N, 4)) < 0.1, np.nan, NUMBERS)
WORDS = RANDOM.choice(["a", "b", "c", "dd"], p=[0.5, 0.3, 0.15, 0.05], size=(N, 2)).astype(object)
MIXED = np.where(RANDOM.random((N, 2)) < 0.2, np.nan, WORDS).astype(object)
CODES = RANDOM.integers(0, 4, (N, 2))
FRAME = pd.DataFrame(
    {
        "size": GAPS[:, 0],
        "age": NUMBERS[:, 1],
        "city": WORDS[:, 0],
        "kind": MIXED[:, 1],
        "rank": CODES[:, 0],
    }
)


def end():
    return LogisticPUClassifier(C=1.0)


def save_and_load(model, path):
    save(model, path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(path)


def assert_same(model, again, X):
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))


LEAVES = {
    "standard": (StandardScaler(), NUMBERS),
    "only the mean": (StandardScaler(with_std=False), NUMBERS),
    "only the spread": (StandardScaler(with_mean=False), NUMBERS),
    "standard with gaps": (make_pipeline(StandardScaler(), SimpleImputer()), GAPS),
    "min max": (MinMaxScaler(feature_range=(-1, 2), clip=True), NUMBERS),
    "max abs": (MaxAbsScaler(), NUMBERS),
    "robust": (RobustScaler(quantile_range=(10.0, 90.0), with_centering=False), NUMBERS),
    "normalizer": (Normalizer("l1"), NUMBERS),
    "binarizer": (Binarizer(threshold=0.5), NUMBERS),
    "one-hot": (OneHotEncoder(handle_unknown="ignore"), WORDS),
    "one-hot of codes": (OneHotEncoder(drop="first", sparse_output=False), CODES),
    "one-hot, if binary": (OneHotEncoder(drop="if_binary"), CODES % [2, 4]),
    "one-hot of gaps": (OneHotEncoder(), MIXED),
    "one-hot, rare": (
        OneHotEncoder(min_frequency=0.1, drop="first", handle_unknown="infrequent_if_exist"),
        WORDS,
    ),
    "one-hot, few": (OneHotEncoder(max_categories=2, dtype=np.float32), MIXED),
    "one-hot, given": (
        OneHotEncoder(categories=[["a", "b", "c", "dd"]] * 2, drop=["b", "a"]),
        WORDS,
    ),
    "ordinal": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), WORDS),
    "ordinal of gaps": (OrdinalEncoder(min_frequency=9, encoded_missing_value=-2), MIXED),
    "imputer": (SimpleImputer(strategy="median", add_indicator=True), GAPS),
    "imputer of text": (
        make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder()),
        MIXED,
    ),
    "indicator": (MissingIndicator(features="all"), GAPS),
    "quantiles": (QuantileTransformer(n_quantiles=20, output_distribution="normal"), NUMBERS),
    "quantiles, own randomness": (
        QuantileTransformer(n_quantiles=9, random_state=np.random.RandomState(3)),
        NUMBERS,
    ),
    "power": (PowerTransformer(), NUMBERS),
    "power, bare": (PowerTransformer("box-cox", standardize=False), np.exp(NUMBERS)),
    "bins": (KBinsDiscretizer(n_bins=[3, 3, 5, 2], quantile_method="linear"), NUMBERS),
    "equal bins": (KBinsDiscretizer(n_bins=3, encode="ordinal", strategy="uniform"), NUMBERS),
    "polynomial": (PolynomialFeatures(3, interaction_only=True, include_bias=False), NUMBERS),
    "high polynomial": (PolynomialFeatures((2, 3)), NUMBERS),
    "pca": (PCA(2, whiten=True), NUMBERS),
    "pca by share": (PCA(0.8, svd_solver="full"), NUMBERS),
    "svd": (TruncatedSVD(2, random_state=0), NUMBERS),
    "variance": (VarianceThreshold(0.5), NUMBERS * [1, 0.1, 1, 1]),
    "k best": (SelectKBest(f_classif, k=2), NUMBERS),
    "best share": (SelectPercentile(percentile=50), NUMBERS),
    "function": (FunctionTransformer(np.log1p, inverse_func=np.expm1), np.abs(NUMBERS)),
    "identity": (FunctionTransformer(), NUMBERS),
    "passthrough": ("passthrough", NUMBERS),
    "union": (
        FeatureUnion(
            [("s", StandardScaler()), ("p", PCA(2)), ("all", "passthrough"), ("no", "drop")],
            transformer_weights={"p": 0.5},
        ),
        NUMBERS,
    ),
}


@pytest.mark.parametrize("name", LEAVES)
def test_a_step_comes_back_and_predicts_the_same_to_the_bit(name, tmp_path):
    step, X = LEAVES[name]
    model = Pipeline([("step", step), ("end", end())]).fit(X, Y)
    again = save_and_load(model, tmp_path / "model.mixpul")
    assert_same(model, again, X)
    assert repr(again) == repr(model) or name == "quantiles, own randomness"
    # Its names too, and fitted again it is the same once more.
    if hasattr(model[:-1], "get_feature_names_out") and name != "passthrough":
        try:
            names = model[:-1].get_feature_names_out()
        except AttributeError:
            return
        assert names.tolist() == again[:-1].get_feature_names_out().tolist()
    if name != "quantiles, own randomness":
        assert_same(model, again.fit(X, Y), X)


def test_unknown_and_new_values_are_treated_as_before_saving(tmp_path):
    model = make_pipeline(
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10), end()
    ).fit(WORDS, Y)
    again = save_and_load(model, tmp_path / "model.mixpul")
    new = np.array([["zz", "a"], ["dd", "new"], ["a", "b"]], dtype=object)
    assert_same(model, again, new)


def make_columns(**settings):
    return ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                ["size", "age"],
            ),
            ("city", OneHotEncoder(handle_unknown="ignore"), ["city"]),
            ("drop", "drop", ["age"]),
            ("rank", "passthrough", ["rank"]),
        ],
        **settings,
    )


FRAMES = {
    "a column transformer": lambda: make_columns(),
    "with a remainder": lambda: make_columns(remainder=OrdinalEncoder(encoded_missing_value=-1)),
    "dense": lambda: make_columns(sparse_threshold=0),
    "with pandas output": lambda: ColumnTransformer(
        [
            ("n", SimpleImputer(), ["size", "age"]),
            ("c", OneHotEncoder(sparse_output=False), ["city"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas"),
    "by selectors": lambda: make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include=np.number)),
        (OneHotEncoder(), make_column_selector(pattern="city")),
        (OneHotEncoder(), make_column_selector(pattern="nothing of the kind")),
    ),
    "by ranges": lambda: make_column_transformer(
        (SimpleImputer(), slice("size", "age")),
        (OneHotEncoder(), slice(2, 3)),
        ("passthrough", [-1]),
    ),
    "by booleans": lambda: make_column_transformer(
        (SimpleImputer(), [True, True, False, False, False])
    ),
    "with weights": lambda: make_columns(transformer_weights={"city": 2.0}),
    "nested": lambda: ColumnTransformer(
        [("outer", make_pipeline(make_columns(), StandardScaler(with_mean=False)), list(FRAME))]
    ),
    "a table in columns": lambda: make_column_transformer((TableInput(), ["size", "city", "kind"])),
    "a table, then a reduction": lambda: make_pipeline(TableInput(), PCA(3)),
    "a union": lambda: make_union(TableInput(), make_columns(sparse_threshold=0)),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_steps_on_the_columns_of_a_frame_come_back(name, tmp_path):
    model = make_pipeline(FRAMES[name](), end()).fit(FRAME, Y)
    again = save_and_load(model, tmp_path / "model.mixpul")
    assert_same(model, again, FRAME)
    assert_same(model, again, FRAME.iloc[:7])
    assert_same(model, again, FRAME[FRAME.columns[::-1]].assign(more=1)) if name in (
        "a column transformer", "nested"
    ) else None  # fmt: skip


def test_a_pipeline_in_a_pipeline_may_hold_the_classifier(tmp_path):
    model = make_pipeline(StandardScaler(), make_pipeline(PCA(2), end())).fit(NUMBERS, Y)
    again = save_and_load(model, tmp_path / "model.mixpul")
    assert_same(model, again, NUMBERS)
    assert [name for name, _ in again.steps] == ["standardscaler", "pipeline"]


def test_a_file_tells_its_steps(tmp_path):
    save(make_pipeline(StandardScaler(), PCA(2), end()).fit(NUMBERS, Y), tmp_path / "m")
    about = describe(tmp_path / "m")
    assert [step["class"] for step in about["steps"]] == ["StandardScaler", "PCA", "classifier"]
    assert about["format"] == 3  # an older version would load the classifier alone


def test_equal_pipelines_give_equal_files_of_steps(tmp_path):
    for name in "ab":
        save(make_pipeline(make_columns(), end()).fit(FRAME, Y), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


class Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X


class Scaler(StandardScaler):
    pass


REFUSED = {
    "own": (make_pipeline(Own(), end()), "'own' is of the class Own"),
    "derived": (make_pipeline(Scaler(), end()), "'scaler' is of the class Scaler"),
    "not listed": (make_pipeline(KNNImputer(), end()), "'knnimputer' is of the class KNNImputer"),
    "inside": (make_pipeline(make_union(NMF(2, max_iter=2), PCA(2)), end()), "'nmf' is of the"),
    "function": (
        make_pipeline(FunctionTransformer(lambda X: X), end()),
        "'functiontransformer' cannot be stored without pickle: its func is a function of your",
    ),
    "score": (
        make_pipeline(SelectKBest(lambda X, y: f_classif(X, y), k=2), end()),
        "'selectkbest' cannot be stored without pickle: its score_func",
    ),
    "not ours": (make_pipeline(StandardScaler(), LogisticRegression()), "ends in LogisticRegress"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_step_that_cannot_be_stored_is_named_and_nothing_is_written(name, tmp_path):
    model, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        save(model.fit(np.abs(NUMBERS), Y), tmp_path / "model.mixpul")
    assert list(tmp_path.iterdir()) == []


def test_a_search_is_told_to_save_what_it_found(tmp_path):
    search = GridSearchCV(LogisticPUClassifier(), {"C": [1.0]}, cv=2, scoring="roc_auc")
    with pytest.raises(TypeError, match="save its best_estimator_"):
        save(search.fit(NUMBERS, Y), tmp_path / "model.mixpul")


def test_all_that_scikit_learn_keeps_is_stored_or_derived():
    for name, (step, X) in LEAVES.items():
        fitted = step.fit(X, Y) if name not in ("passthrough", "union") else None
        if type(fitted).__name__ not in KINDS:
            continue
        kind = KINDS[type(fitted).__name__]
        held = vars(fitted).keys() - fitted.get_params(deep=False).keys()
        derived = {
            "_infrequent_enabled", "_default_to_infrequent_mappings", "_n_features_outs",
            "_encoder", "_missing_indices", "_n_features", "_min_degree", "_max_degree",
            "n_output_features_", "_n_out_full", "n_features_in_", "feature_names_in_",
        }  # fmt: skip
        # Which solver was chosen does not change what is learned.
        assert held - set(kind.learned) - derived <= {"_fit_svd_solver"}, name


# -- files that do not add up -----------------------------------------------------------------


def rewrite(path, change):
    """Change the content of a file and give it a checksum that is right."""
    with safe_open(path, framework="pt") as file:
        description = json.loads(file.metadata()["mixpul"])
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    description.pop("sha256")
    change(description["steps"]["parts"], tensors)
    description["sha256"] = checksum(tensors, description)
    path.write_bytes(to_bytes(tensors, {"mixpul": json.dumps(description)}))


def put(parts, key, value, section="learned", at=0):
    parts[at]["of"][section][key] = value


def nest(parts, tensors):
    inner = {"step": "StandardScaler", "params": {}, "learned": {}}
    for _ in range(200):
        inner = {
            "step": "Pipeline",
            "parts": [{"name": "a", "of": inner}],
            "params": {},
            "learned": {},
        }
    parts[0]["of"] = inner


def double(parts, tensors):
    """Ask for 2 ** 30 columns of a file of a few kilobytes."""
    every = {"name": "a", "of": "passthrough"}
    union = {
        "step": "FeatureUnion",
        "parts": [every, every | {"name": "b"}],
        "params": {},
        "learned": {},
    }
    parts[1:1] = [{"name": f"u{k}", "of": union} for k in range(30)]


FORGED = {
    "another class": lambda parts, tensors: parts[0]["of"].update(step="KNNImputer"),
    "a module": lambda parts, tensors: parts[0]["of"].update(step="os.system"),
    "an attribute": lambda parts, tensors: put(parts, "transform", 1),
    "a private attribute": lambda parts, tensors: put(parts, "__class__", "x"),
    "a parameter": lambda parts, tensors: put(parts, "own", 1, "params"),
    "a bad parameter": lambda parts, tensors: put(parts, "handle_unknown", "run", "params"),
    "columns": lambda parts, tensors: put(parts, "n_features_in_", 10**12),
    "no columns": lambda parts, tensors: put(parts, "n_features_in_", True),
    "a missing tensor": lambda parts, tensors: put(parts, "mean_", {"tensor": 99}, at=2),
    "a short tensor": lambda parts, tensors: tensors.update({"steps.2": torch.zeros(1).double()}),
    "an infinite number": lambda parts, tensors: tensors["steps.2"].fill_(torch.inf),
    "unsorted categories": lambda parts, tensors: tensors.update(
        {"steps.0": torch.tensor([3, 2, 1, 0])}
    ),
    "no categories": lambda parts, tensors: put(parts, "categories_", []),
    "empty categories": lambda parts, tensors: put(parts, "categories_", [{"texts": []}] * 2),
    "long texts": lambda parts, tensors: put(
        parts, "categories_", [{"texts": ["a" * 10**5] + ["b"] * 10**4}] * 2
    ),
    "a dropped category": lambda parts, tensors: put(parts, "drop_idx_", {"objects": [99, 0]}),
    "a function": lambda parts, tensors: put(parts, "dtype", {"function": "system"}, "params"),
    "a huge degree": lambda parts, tensors: put(parts, "degree", 10**9, "params", at=1),
    "a wide degree": lambda parts, tensors: put(parts, "degree", 60, "params", at=1),
    "an unknown mark": lambda parts, tensors: put(parts, "categories_", {"pickle": "x"}),
    "deep nesting": nest,
    "doubled columns": double,
    "no classifier": lambda parts, tensors: parts.pop(),
    "two classifiers": lambda parts, tensors: parts.append(parts[-1] | {"name": "again"}),
    "classifier first": lambda parts, tensors: parts.reverse(),
    "equal names": lambda parts, tensors: parts[0].update(name=parts[1]["name"]),
    "no parts": lambda parts, tensors: parts.clear(),
    "jobs": lambda parts, tensors: put(parts, "n_jobs", 10**6, "params"),
    "output": lambda parts, tensors: parts[0]["of"].update(output="os"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_steps_are_refused_with_a_sentence(name, tmp_path):
    path = tmp_path / "model.mixpul"
    steps = [
        OneHotEncoder(drop="first", sparse_output=False),
        PolynomialFeatures(),
        StandardScaler(),
    ]
    save(make_pipeline(*steps, end()).fit(CODES, Y), path)
    rewrite(path, FORGED[name])
    with pytest.raises(ValueError, match="mixpul model"):
        load(path)


def test_columns_are_found_as_users_name_them():
    names = np.array(["a", "b", "c"], dtype=object)
    assert find_places(["c", "a"], 3, names) == [2, 0]
    assert find_places([-1, 0], 3, None) == [2, 0]
    assert find_places([True, False, True], 3, None) == [0, 2]
    assert find_places(slice("a", "b"), 3, names) == [0, 1]
    assert find_places(slice(0, 1), 3, names) == [0]
    for wrong in (["d"], [3], [-4], [True], "a", 1, None, [1.5], slice("a", "z"), slice(0, 3, 0)):
        with pytest.raises(ValueError, match="column"):
            find_places(wrong, 3, names)
