"""One network that ranks rows as a slower classifier does."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    DistilledPUClassifier,
    LogisticPUClassifier,
    datasets,
    load,
    save,
)
from mixpul._util.errors import MixpulError
from mixpul.assess import assess
from mixpul.cli import app
from mixpul.deploy import make_card
from mixpul.methods._distilling import make_rows
from mixpul.methods._student import ROWS_PER_BLOCK, score_by_student
from mixpul.pages.texts import explain_agreement

QUICK = ["trees", "logistic-0.1"]


@pytest.fixture(scope="module")
def table():
    X, y = datasets.load("krvskp", return_X_y=True)
    X_train, X_test, _, y_test = split = datasets.paper_split(X, y, random_state=0)
    pu = datasets.make_pu(X_train, split[2], c=0.1, random_state=0)
    return pu.X, pu.s, X_test, y_test


@pytest.fixture(scope="module")
def trees(table):
    X, s, *_ = table
    return BaggingPUClassifier(n_estimators=50, random_state=0).fit(X, s)


def test_scores_are_those_of_the_network_worked_out_by_hand():
    student = {
        "centre": np.array([1.0, 0.0]),
        "scale": np.array([2.0, 1.0]),
        "is_heavy": np.array([False, True]),
        "weight0": np.array([[1, 0], [-1, 1]], dtype=np.float32),
        "bias0": np.array([0, 1], dtype=np.float32),
        "weight1": np.array([[3, 2]], dtype=np.float32),
        "bias1": np.array([-1], dtype=np.float32),
    }
    # The second column passes through a logarithm, log(1 + (e - 1)) = 1: (5 - 1) / 2 = 2 and 1
    # make the hidden units 2 and -2 + 1 + 1 = 0.
    rows = np.array([[5, np.e - 1]], dtype=np.float32)
    np.testing.assert_allclose(score_by_student(student, rows), [3 * 2 - 1], rtol=1e-6)


@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_are_those_of_the_layers_one_after_the_other(order):
    random = np.random.default_rng(0)
    sizes = (5, 8, 3, 1)
    student = {
        "centre": random.normal(size=5),
        "scale": random.uniform(0.5, 2, size=5),
        "is_heavy": np.zeros(5, dtype=bool),
    }
    rows = np.asarray(random.normal(size=(ROWS_PER_BLOCK + 7, 5)), dtype=np.float32, order=order)
    hidden = (rows - student["centre"]) / student["scale"]
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        weight, bias = random.normal(size=(n_out, n_in)), random.normal(size=n_out)
        student |= {f"weight{k}": weight.astype("f"), f"bias{k}": bias.astype("f")}
        hidden = (np.maximum(hidden, 0) if k else hidden) @ weight.T + bias
    np.testing.assert_allclose(score_by_student(student, rows), hidden[:, 0], atol=1e-5)


def test_made_rows_take_their_columns_from_two_rows_or_lie_between_them():
    rows = np.array([[0, 0], [1, 10]], dtype=np.float32)
    made = make_rows(rows, 400, np.random.default_rng(0))
    exchanged, between = made[:200], made[200:]
    assert {tuple(row) for row in exchanged.tolist()} == {(0, 0), (0, 10), (1, 0), (1, 10)}
    np.testing.assert_allclose(between[:, 1], 10 * between[:, 0], rtol=1e-5)
    assert 0 <= between.min() <= between.max() < 10.001


def test_a_network_ranks_rows_as_its_teacher_does(table, trees):
    X, _, X_test, y_test = table
    model = DistilledPUClassifier(n_steps=300, random_state=0).learn_from(trees, X)
    assert model.agreement_["rank_correlation"] > 0.9
    assert model.agreement_["same_decision"] > 0.9
    assert model.agreement_["n_rows"] == len(X)
    aucs = [roc_auc_score(y_test, one.decision_function(X_test)) for one in (trees, model)]
    assert aucs[1] > aucs[0] - 0.02


def test_the_same_seed_leads_to_the_same_scores(table, trees):
    X, _, X_test, _ = table
    one, other = (
        DistilledPUClassifier(n_steps=50, random_state=3).learn_from(trees, X) for _ in range(2)
    )
    assert_array_equal(one.decision_function(X_test), other.decision_function(X_test))


def test_fit_fits_the_teacher_first(table):
    X, s, X_test, y_test = table
    teacher = LogisticPUClassifier(C=0.1)
    model = DistilledPUClassifier(teacher, n_steps=300, random_state=0).fit(X, s)
    assert roc_auc_score(y_test, model.decision_function(X_test)) > 0.85


def test_a_portfolio_can_be_distilled(table, tmp_path, monkeypatch):
    monkeypatch.setattr("mixpul.methods.auto.N_STEPS", 300)
    X, s, X_test, y_test = table
    plain = AutoPUClassifier(candidates=QUICK, random_state=0).fit(X, s)
    model = AutoPUClassifier(candidates=QUICK, distill=True, random_state=0).fit(X, s)
    # Figures, weights and the decision are those of the portfolio.
    assert_array_equal(model.oof_scores_, plain.oof_scores_)
    assert model.weights_ == plain.weights_
    assert model.threshold_ == plain.threshold_
    assert model.members_ == {}
    aucs = [roc_auc_score(y_test, one.decision_function(X_test)) for one in (plain, model)]
    assert aucs[1] > aucs[0] - 0.02
    save(model, tmp_path / "small.mixpul")
    loaded = load(tmp_path / "small.mixpul")
    assert_array_equal(loaded.decision_function(X_test), model.decision_function(X_test))
    assert loaded.agreement_ == model.agreement_
    save(plain, tmp_path / "large.mixpul")
    sizes = [(tmp_path / f"{name}.mixpul").stat().st_size for name in ("small", "large")]
    assert sizes[0] < sizes[1] / 3
    said = explain_agreement(model.agreement_)
    assert f"## What one network has lost\n\n{said}" in make_card(tmp_path / "small.mixpul")
    assert "What one network has lost" not in make_card(tmp_path / "large.mixpul")


def test_the_report_says_what_was_lost(table, monkeypatch):
    monkeypatch.setattr("mixpul.methods.auto.N_STEPS", 20)
    X, s, *_ = table
    model = AutoPUClassifier(candidates=["logistic-0.1"], distill=True, random_state=0)
    found = assess(model, X[:500], s[:500])
    assert found.agreement == found.model[-1].agreement_
    assert f'<p id="what-was-lost">{explain_agreement(found.agreement)}</p>' in found.to_html()


def test_probabilities_go_on_with_the_network(table, tmp_path):
    X, s, X_test, _ = table
    portfolio = AutoPUClassifier(candidates=QUICK, random_state=0).fit(X, s)
    model = DistilledPUClassifier(n_steps=200, random_state=0).learn_from(portfolio, X)
    ours, theirs = (
        one.predict_proba(X_test, calibrated=True, prior=0.4)[:, 1] for one in (model, portfolio)
    )
    assert np.abs(ours - theirs).mean() < 0.1
    save(model, tmp_path / "small.mixpul")
    assert_array_equal(load(tmp_path / "small.mixpul").predict(X_test), model.predict(X_test))


def test_sparse_rows_are_taken_and_images_are_refused_with_a_way_out(table, trees):
    X, _, X_test, _ = table
    model = DistilledPUClassifier(n_steps=50, random_state=0)
    dense = model.learn_from(trees, X).decision_function(X_test)
    again = model.learn_from(trees, sparse.csr_matrix(X))
    np.testing.assert_allclose(
        again.decision_function(sparse.csr_matrix(X_test)), dense, rtol=1e-4, atol=1e-4
    )
    images = np.zeros((20, 1, 4, 4), dtype=np.uint8)
    images[:10] = 200
    learned = AutoPUClassifier(candidates=["trees"], distill=True, random_state=0)
    with pytest.raises(ValueError, match="these are images"):
        learned.fit(images, np.arange(20) < 8)


def test_the_command_writes_a_smaller_model_that_scores_like_the_large_one(tmp_path):
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {"size": random.normal(size=400), "colour": random.choice(["red", "blue"], size=400)}
    )
    table["bought"] = ((table["size"] > 0.5) & (random.random(400) < 0.5)).astype(int)
    table.to_csv(tmp_path / "leads.csv", index=False)
    files = {
        name: str(tmp_path / name) for name in ("leads.csv", "large", "small", "a.csv", "b.csv")
    }

    def call(*words, code=0):
        result = CliRunner().invoke(app, [files.get(word, word) for word in words])
        assert result.exit_code == code, (result.output, result.exception)
        return result

    call("fit", "leads.csv", "--label", "bought", "--method", "bagging", "-o", "large")
    printed = call("distill", "large", "leads.csv", "-o", "small", "--json")
    told = json.loads(printed.stdout)
    assert told["teacher"] == "BaggingPUClassifier"
    assert told["rank_correlation"] > 0.8
    for model, scores in (("large", "a.csv"), ("small", "b.csv")):
        call("predict", model, "leads.csv", "-o", scores)
    ours, theirs = (pd.read_csv(files[name])["score"] for name in ("b.csv", "a.csv"))
    assert ours.corr(theirs, method="spearman") > 0.8
    # What the report says of thresholds goes on with the small model.
    call("predict", "small", "leads.csv", "-o", "a.csv", "--force", "--threshold", "recall=0.9")
    assert isinstance(
        call("distill", "large", "leads.csv", "-o", "small", code=1).exception, OSError
    )


def test_a_file_whose_layers_do_not_fit_together_is_refused(table, trees):
    X, *_ = table
    model = DistilledPUClassifier(n_steps=20, random_state=0).learn_from(trees, X)
    model._check_learned()
    whole = model.student_
    for name, wrong in {
        "weight1": whole["weight1"][:, :-1],
        "bias0": whole["bias0"][:-1],
        "weight0": whole["weight0"] * np.nan,
        "scale": np.zeros_like(whole["scale"]),
        "weight2": np.repeat(whole["weight2"], 2, axis=0),
    }.items():
        model.student_ = whole | {name: wrong}
        with pytest.raises(MixpulError, match=name):
            model._check_learned()
    model.student_ = {name: array for name, array in whole.items() if not name.endswith("0")}
    with pytest.raises(MixpulError, match="weight0"):
        model._check_learned()
