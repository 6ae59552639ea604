"""`sample_weight`, `--weight`, and `--propensity`: rows that count more than others."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    BoostingPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    PUAUCClassifier,
    UPUClassifier,
    VPUClassifier,
    WeightedSVMClassifier,
    load,
)
from mixpul._util.validation import check_weights
from mixpul.assess import assess
from mixpul.assess.checks.random_draw import Remedy
from mixpul.assess.propensity import weigh_by_columns
from mixpul.methods._portfolio import compare_with_best, compute_placements
from mixpul.methods._verified import draw_rows, weigh_sides
from mixpul.persistence import describe
from mixpul.tables import TableInput
from mixpul.training import PUBatches, as_rows
from test_cli import assert_one_sentence
from test_table_cli import run

NET = {"net": (8,), "n_epochs": 2, "batch_size": 32, "min_steps": None, "cross_fitting": 2}
METHODS = [
    LogisticPUClassifier(C=1.0),
    LogisticPUClassifier(cross_fitting=2),
    LogisticPUClassifier(C=1.0, n_landmarks=20),
    BaggingPUClassifier(n_estimators=10),
    BaggingPUClassifier(estimator=LogisticRegression(), n_estimators=4),
    BoostingPUClassifier(n_estimators=2, n_trees=5),
    WeightedSVMClassifier(n_folds=2),
    AutoPUClassifier(candidates=["trees", "logistic-0.1"], n_folds=2),
    MixPULClassifier(**NET),
    VPUClassifier(**NET),
    NNPUClassifier(prior=0.3, **NET),
]


@pytest.fixture
def weights(pu):
    return np.where(pu.X[:, 0] > 0, 5.0, 1.0)


# -- the equations ----------------------------------------------------------------------------


def test_weights_have_a_mean_of_one_in_each_kind_of_rows():
    is_positive = np.array([True, True, False, False, False])
    is_negative = np.array([False, False, False, False, True])
    relative = check_weights([1, 3, 2, 6, 7], is_positive, is_negative)
    np.testing.assert_allclose(relative, [0.5, 1.5, 0.5, 1.5, 1.0])
    # Between kinds they say nothing.
    assert check_weights([5, 5, 1, 1, 9], is_positive, is_negative) is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1, 2], "one entry for each of the 3 rows"),
        ([1, -1, 1], "not negative"),
        ([1, np.nan, 1], "finite"),
        ([0, 1, 2], "every labeled positive is zero"),
        ([1, 0, 0], "every unlabeled row is zero"),
    ],
)
def test_what_is_no_weight_is_refused(bad, words):
    with pytest.raises(ValueError, match=words):
        check_weights(bad, np.array([True, False, False]), np.zeros(3, dtype=bool))


def test_both_sides_keep_half_of_the_weight_whatever_rows_weigh():
    is_positive = np.array([True, True, False, False, False, False])
    own = np.array([1.0, 3.0, 1.0, 1.0, 2.0, 4.0])
    weights = weigh_sides(is_positive, np.zeros(6, dtype=bool), own)
    np.testing.assert_allclose(weights, [0.75, 2.25, 0.375, 0.375, 0.75, 1.5])


def test_rows_are_drawn_as_often_as_they_weigh():
    random, weights = np.random.default_rng(0), np.array([0.0, 1.0, 3.0, 9.0])
    drawn = draw_rows(np.array([0, 1, 2]), 8000, weights, random)
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 8000, [0, 0.25, 0.75], atol=0.02)


def make_batches(weights, batch_size=8):
    return PUBatches(
        as_rows(np.arange(12, dtype=np.float32)[:, None], torch.device("cpu")),
        torch.arange(4),
        torch.arange(4, 12),
        None,
        batch_size=batch_size,
        generator=torch.Generator().manual_seed(0),
        min_steps=4,
        weights=weights,
    )


def test_batches_hold_rows_as_often_as_they_weigh():
    weights = torch.tensor([0.0, 1, 1, 2, *[1] * 4, *[3] * 4])
    batches = list(make_batches(weights))
    positive = torch.cat([batch.positive for batch in batches]).flatten().int()
    unlabeled = torch.cat([batch.unlabeled for batch in batches]).flatten().int()
    # 32 of each: the numbers are exact up to one.
    assert np.abs(np.bincount(positive, minlength=4) - np.array([0, 8, 8, 16])).max() <= 1
    counts = np.bincount(unlabeled, minlength=12)[4:]
    assert np.abs(counts - np.repeat([2, 6], 4)).max() <= 1
    assert not (positive[:-1] <= positive[1:]).all()  # shuffled


def test_equal_weights_leave_batches_as_they_are():
    plain, equal = (list(make_batches(w)) for w in (None, torch.full((12,), 2.0)))
    for one, other in zip(plain, equal, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_placements_and_pu_auc_by_weight():
    np.testing.assert_allclose(
        compute_placements(np.array([2.0, 5.0]), np.array([3.0, 2.0, 1.0]), np.array([1, 2, 5])),
        [(5 + 1) / 8, 1.0],
    )
    is_positive = np.array([True, True, False, False])
    scores = np.array([[3.0, 1.0, 2.0, 0.0]])
    found = compare_with_best(is_positive, scores, weights=np.array([3.0, 1.0, 1.0, 1.0]))
    assert found.pu_auc[0] == pytest.approx((3 * 1 + 1 * 0.5) / 4)
    # Weights of whole numbers, and rows that are there so many times.
    twice = compare_with_best(
        np.repeat(is_positive, [3, 1, 1, 1]), np.repeat(scores, [3, 1, 1, 1], 1)
    )
    assert twice.pu_auc[0] == pytest.approx(found.pu_auc[0])


# -- methods ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_equal_weights_change_no_bit_and_others_do(method, pu, weights):
    def score(sample_weight):
        model = method.__class__(**method.get_params(deep=False)).set_params(random_state=0)
        return model.fit(pu.X, pu.y, sample_weight=sample_weight).decision_function(pu.X)

    plain = score(None)
    np.testing.assert_array_equal(plain, score(np.full(len(pu.y), 3.0)))
    assert np.abs(plain - score(weights)).max() > 1e-3


@pytest.mark.parametrize("method", [PUAUCClassifier(prior=0.3), UPUClassifier(prior=0.3)])
def test_a_method_that_cannot_weigh_rows_says_so(method, pu, weights):
    method.set_params(random_state=0)
    with pytest.warns(UserWarning, match="cannot use sample_weight; all rows count the same"):
        weighed = method.fit(pu.X, pu.y, sample_weight=weights).decision_function(pu.X)
    np.testing.assert_array_equal(weighed, method.fit(pu.X, pu.y).decision_function(pu.X))


def test_a_row_of_weight_zero_is_not_learned_from(pu):
    wrong = np.concatenate([pu.X, np.full((20, pu.X.shape[1]), 50.0)]).astype(np.float32)
    labels, weights = np.append(pu.y, np.ones(20, int)), np.append(np.ones(len(pu.y)), np.zeros(20))
    model = LogisticPUClassifier(C=1.0).fit(wrong, labels, sample_weight=weights)
    np.testing.assert_allclose(
        model.coef_ / np.linalg.norm(model.coef_),
        (plain := LogisticPUClassifier(C=1.0).fit(pu.X, pu.y).coef_) / np.linalg.norm(plain),
        atol=0.05,
    )


def test_the_portfolio_hands_weights_to_candidates_of_others(pu, weights):
    def fit(sample_weight):
        model = AutoPUClassifier(candidates=[LogisticRegression()], n_folds=2, random_state=0)
        return model.fit(pu.X, pu.y, sample_weight=sample_weight).members_["LogisticRegression"]

    assert np.abs(fit(weights).coef_ - fit(None).coef_).max() > 1e-3


# -- propensity -------------------------------------------------------------------------------


def make_biased(n=3000, n_labeled=240, favour=10.0, seed=0):
    """Positives from the north are labeled far more often; x tells the class."""
    random = np.random.default_rng(seed)
    truth, north = random.random(n) < 0.4, random.random(n) < 0.5
    chance = truth * np.where(north, favour, 1.0)
    labeled = np.zeros(n, dtype=int)
    labeled[random.choice(n, n_labeled, replace=False, p=chance / chance.sum())] = 1
    frame = pd.DataFrame({"x": random.normal(size=n) + 3 * truth, "z": random.normal(size=n)})
    return frame.assign(region=np.where(north, "north", "south")), labeled, truth


def test_labeled_positives_count_by_how_rarely_their_kind_is_labeled():
    frame, labeled, truth = make_biased()
    table = TableInput().fit(frame)
    is_positive, scores = labeled == 1, frame["x"].to_numpy()
    found = weigh_by_columns(table, table.transform(frame), is_positive, scores, ["region"])
    north = frame["region"].to_numpy() == "north"
    assert (found.weights[~is_positive] == 1).all()
    assert found.weights[is_positive].mean() == pytest.approx(1)
    # The truth: how many positives of its kind a labeled one stands for.
    stands_for = [truth[side].sum() / is_positive[side].sum() for side in (north, ~north)]
    ratio = found.weights[is_positive & ~north][0] / found.weights[is_positive & north][0]
    assert ratio == pytest.approx(stands_for[1] / stands_for[0], rel=0.3)
    kinds = found.to_dict()["kinds"]
    assert {kind["name"] for kind in kinds} == {"region is north", "region is south"}
    weight = next(kind["weight"] for kind in kinds if kind["name"] == "region is south")
    assert weight == pytest.approx(found.weights[is_positive & ~north][0])


def test_a_column_that_tells_no_kinds_apart_is_refused():
    frame, labeled, _ = make_biased(n=600, n_labeled=40)
    frame["flag"] = labeled == 1
    table = TableInput().fit(frame)
    rows, scores = table.transform(frame), frame["x"].to_numpy()
    with pytest.raises(ValueError, match="No two kinds of rows by 'flag' have 5 labeled"):
        weigh_by_columns(table, rows, labeled == 1, scores, ["flag"])
    with pytest.raises(ValueError, match="did you mean 'region'"):
        weigh_by_columns(table, rows, labeled == 1, scores, ["Region"])


def test_the_remedy_is_a_command_that_can_be_typed():
    command = "mixpul fit a.csv --label y"
    asked = f"{command} --propensity 'a b,\"c,d\"' --force"
    assert Remedy(command).write(["a b", "c,d"]).endswith(asked)
    assert Remedy(f"{command} --force").write(["a"]).endswith(" --force --propensity a")
    assert "weighed by that already" in Remedy(command, ["a"]).write(["a"])
    assert "5 are needed" in Remedy(command).write([])
    assert "propensity=['a']" in Remedy().write(["a"])


def test_the_remedy_improves_the_model_and_is_told():
    frame, labeled, _ = make_biased()
    cheap = LogisticPUClassifier(C=1.0)
    plain = assess(cheap, frame, labeled)
    weighed = assess(cheap, frame, labeled, propensity=["region"])
    check = next(one for one in plain.checks if one["name"] == "random draw of positives")
    assert "propensity=['region']" in check["text"]
    assert plain.data["propensity"] is None
    assert weighed.data["weighed"]
    assert weighed.data["propensity"]["columns"] == ["region"]
    south = {one: found.model[-1].coef_ for one, found in (("plain", plain), ("weighed", weighed))}
    # By the truth the region says nothing of the class: its weight comes close to 0.
    places = plain.model[0].get_feature_names_out().tolist()
    k = places.index("region=north")
    assert abs(south["weighed"][k]) < abs(south["plain"][k]) / 2


# -- the command line ---------------------------------------------------------------------------

FIT = ["--label", "y", "--method", "logistic", "--set", "C=1.0"]


@pytest.fixture
def biased(tmp_path):
    frame, labeled, _ = make_biased(n=1500)
    path = tmp_path / "biased.csv"
    frame.assign(y=labeled, w=np.where(frame["x"] > 2, 4.0, 1.0)).to_csv(path, index=False)
    return path


def test_the_command_that_is_suggested_works(biased, tmp_path):
    model = tmp_path / "m.mixpul"
    first = run("fit", biased, *FIT, "--drop", "w", "-o", model)
    line = next(line for line in first.out.splitlines() if "random draw of positives" in line)
    command = line.split("kind is labeled: mixpul ")[1]
    second = run(*command.split())
    assert second.code == 0, second.err
    assert "count by how rarely their kind is labeled: region is south" in second.out
    assert "Labeled positives are weighed by that already." in second.out
    assert describe(model)["info"]["propensity"] == ["region"]


def test_a_column_of_weights_is_used_and_not_learned_from(biased, tmp_path):
    models = [tmp_path / name for name in ("plain.mixpul", "weighed.mixpul")]
    options = ["--json", "-o"]
    assert run("fit", biased, *FIT, "--drop", "w", *options, models[0]).code == 0
    result = run("fit", biased, *FIT, "--weight", "w", *options, models[1])
    assert result.code == 0, result.err
    assert json.loads(result.out)["data"]["weighed"]
    plain, weighed = (load(model)[-1].coef_ for model in models)
    assert plain.shape == weighed.shape
    assert np.abs(plain - weighed).max() > 1e-3
    # A table to score need not have the weights.
    scored, scores = tmp_path / "new.csv", tmp_path / "scores.csv"
    pd.read_csv(biased).drop(columns=["y", "w"]).to_csv(scored, index=False)
    assert run("predict", models[1], scored, "-o", scores).code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--weight", "region"], "row 1 of column 'region' has"),
        (["--weight", "weight"], "no column 'weight'"),
        (["--weight", "y"], "the label column"),
        (["--propensity", "y"], "the label column"),
        (["--propensity", "zz"], "no column 'zz'"),
        (["--propensity", "region", "--method", "pnu"], "cannot weigh rows"),
    ],
)
def test_weights_that_cannot_be_used_are_one_sentence(biased, tmp_path, words, sentence):
    model = tmp_path / "m.mixpul"
    settings = FIT if "pnu" not in words else ["--label", "y"]
    result = run("fit", biased, *settings, *words, "-o", model)
    assert result.code == 2
    assert sentence in " ".join(result.err.replace("│", " ").split())
    if "│" not in result.err:  # as typer says that the command line makes no sense
        assert_one_sentence(result.err)
    assert not model.exists()
