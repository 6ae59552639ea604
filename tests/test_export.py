"""Models as ONNX files score rows as the originals do, in onnxruntime and without mixpul."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from deploying import fit_pipeline, make_table
from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    BoostingPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    PUAUCClassifier,
    SupervisedClassifier,
    UPUClassifier,
    VPUClassifier,
    WeightedSVMClassifier,
    deploy,
    save,
)
from mixpul.deploy import _made_rows, export_onnx
from mixpul.deploy.onnx import _check
from mixpul.deploy.onnx._graph import DOUBLE, Graph
from mixpul.deploy.onnx._lookup import interpolate
from mixpul.methods._portfolio import extend_score_table, make_score_table, to_normal_scores
from test_cli import assert_one_sentence
from test_table_cli import run

onnxruntime = pytest.importorskip("onnxruntime")

SHORT = {"n_epochs": 1, "min_steps": 5, "max_steps": 5, "cross_fitting": 2, "random_state": 0}
CLASSIFIERS = {
    "logistic": LogisticPUClassifier(C=1.0, random_state=0),
    "kernel logistic": LogisticPUClassifier(n_landmarks=20, C=10.0, random_state=0),
    "extra trees": BaggingPUClassifier(n_estimators=20, random_state=0),
    "forest": BaggingPUClassifier(n_estimators=20, splits="best", random_state=0),
    "boosting": BoostingPUClassifier(n_estimators=2, n_trees=10, random_state=0),
    "mixpul, four settings": MixPULClassifier(**SHORT),
    "one network": MixPULClassifier(net=(8, 4), **(SHORT | {"cross_fitting": None})),
    "skip network": VPUClassifier(net="skip-mlp", n_epochs=1, random_state=0),
    "kernel network": MixPULClassifier(net="kernel", **(SHORT | {"cross_fitting": None})),
    "nnpu": NNPUClassifier(prior=0.3, net="linear", n_epochs=1, random_state=0),
    "upu kernel": UPUClassifier(prior=0.3, model="kernel", n_centres=20, random_state=0),
    "pu auc": PUAUCClassifier(prior=0.3, n_centres=20, random_state=0),
    "svm": WeightedSVMClassifier(n_folds=2, random_state=0),
    "lightgbm": SupervisedClassifier(n_evals=2, n_rounds=30, min_leaf="scaled", random_state=2),
    "distilled": AutoPUClassifier(
        candidates=["logistic-0.1"], distill=True, n_folds=2, random_state=0
    ),
    "portfolio": AutoPUClassifier(
        candidates={
            "trees": BaggingPUClassifier(n_estimators=20),
            "line": LogisticPUClassifier(C=0.1),
            "kernel": LogisticPUClassifier(n_landmarks=20, C=10.0),
            "mixpul": MixPULClassifier(**SHORT),
        },
        n_folds=2,
        random_state=0,
    ),
}


@pytest.fixture(scope="module")
def fitted():
    """Fit each classifier when it is first asked for."""
    models = {}

    def get(name):
        if name not in models:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a fit so short has things to say
                models[name] = fit_pipeline(CLASSIFIERS[name])
        return models[name]

    return get


def to_inputs(table):
    """Make inputs as a user would, without mixpul."""
    inputs = {}
    for name in table:
        column = table[name]
        if name == "flag":  # words for yes and no come in as 1 and 0
            words = column.str.lower().map({"true": 1.0, "false": 0.0})
            values = words.to_numpy(np.float64)
        elif name in ("city", "zone", "rare"):
            values = np.array(["" if pd.isna(cell) else str(cell) for cell in column], dtype=object)
        elif name == "since":
            values = column.to_numpy("datetime64[us]").astype(np.int64) / 86_400e6
        else:
            values = column.to_numpy(np.float64)
        inputs[name] = values[:, None]
    return inputs


def score(path, inputs):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


# -- scores ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "distilled" else [])
        for name in CLASSIFIERS
    ],
)
def test_scores_of_fresh_rows_agree(fitted, name, tmp_path):
    model = fitted(name)
    exported = export_onnx(model, tmp_path / "model.onnx")
    assert exported.agreement.rows == 2000
    fresh = make_table(seed=1)[0]
    found = score(tmp_path / "model.onnx", to_inputs(fresh))
    assert found["score"].shape == (len(fresh), 1)
    expected = model.predict_proba(fresh)[:, 1]
    assert np.ptp(expected) > 0
    assert np.abs(found["score"][:, 0] - expected).max() < 1e-5
    assert (found["label"][:, 0] == model.predict(fresh)).all()


def test_strange_cells_agree(fitted, tmp_path):
    model = fitted("extra trees")
    export_onnx(model, tmp_path / "model.onnx")
    strange = make_table(seed=2, n=8)[0].astype({"zone": object})
    strange["age"] = [np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, 5e-324, 1e16]
    strange["income"] = [np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, 5e-324, 1e16]
    strange["city"] = [None, "", "Paris", "rome", "Rome ", "NaN", "☃", "x" * 5000]
    strange["zone"] = ["7", "7.0", "007", "+7", "7e0", "seven", "1e400", "30.0"]
    strange["flag"] = ["true", "TRUE", "True", "fAlse", "false", "true", "false", ""]
    inputs = to_inputs(strange)
    # An empty text is a gap in a CSV file.
    strange = strange.replace("", None)
    found = score(tmp_path / "model.onnx", inputs)["score"][:, 0]
    assert np.abs(found - model.predict_proba(strange)[:, 1]).max() < 1e-5


@pytest.mark.parametrize("n_rows", [1, 3, 1000])
def test_any_number_of_rows_is_taken(fitted, tmp_path, n_rows):
    export_onnx(fitted("logistic"), tmp_path / "model.onnx")
    rows = make_table(seed=3, n=n_rows)[0]
    assert score(tmp_path / "model.onnx", to_inputs(rows))["score"].shape == (n_rows, 1)


def test_labels_follow_the_threshold(fitted, tmp_path):
    model = fitted("extra trees")
    exported = export_onnx(model, tmp_path / "model.onnx", threshold=0.7)
    assert exported.threshold == 0.7
    fresh = make_table(seed=1)[0]
    found = score(tmp_path / "model.onnx", to_inputs(fresh))
    above = model.predict_proba(fresh)[:, 1] > 0.7
    assert 0 < above.sum() < len(above)
    assert (found["label"][:, 0] == above).all()


def test_probabilities_are_those_of_the_class_prior(fitted, tmp_path):
    model = fitted("extra trees")
    exported = export_onnx(model, tmp_path / "model.onnx", prior=0.2)
    assert exported.outputs == ["score", "label", "probability"]
    fresh = make_table(seed=1)[0]
    found = score(tmp_path / "model.onnx", to_inputs(fresh))["probability"][:, 0]
    expected = model[-1].predict_proba(model[0].transform(fresh), calibrated=True, prior=0.2)
    assert np.ptp(expected[:, 1]) > 0.1
    assert found == pytest.approx(expected[:, 1], abs=1e-5)


def test_a_classifier_without_a_table_has_one_input(pu, tmp_path):
    model = LogisticPUClassifier(random_state=0).fit(pu.X, pu.y)
    exported = export_onnx(model, tmp_path / "model.onnx")
    assert [entry["name"] for entry in exported.inputs] == ["X"]
    found = score(tmp_path / "model.onnx", {"X": pu.X})["score"][:, 0]
    assert found == pytest.approx(model.predict_proba(pu.X)[:, 1], abs=1e-6)


def test_a_tree_that_is_a_single_leaf_counts(tmp_path):
    rows = np.array([[0.0], [1.0]] * 10, dtype=np.float32)
    model = BaggingPUClassifier(n_estimators=3, random_state=0).fit(rows, rows[:, 0])
    # Trees of one node each.
    model.tree_roots_ = np.arange(3, dtype=np.int32)
    model.tree_children_ = np.repeat(np.arange(3, dtype=np.int32)[:, None], 2, axis=1)
    model.tree_feature_ = np.zeros(3, dtype=np.int32)
    model.tree_threshold_ = np.zeros(3, dtype=np.float32)
    model.tree_value_ = np.array([0.25, 0.5, 1.0], dtype=np.float32)
    export_onnx(model, tmp_path / "model.onnx")
    found = score(tmp_path / "model.onnx", {"X": rows})["score"][:, 0]
    assert found == pytest.approx(model.predict_proba(rows)[:, 1], abs=1e-6)


def test_it_runs_where_mixpul_is_not(fitted, tmp_path):
    model = fitted("portfolio")
    export_onnx(model, tmp_path / "model.onnx")
    fresh = make_table(seed=1)[0]
    np.savez(tmp_path / "rows.npz", **to_inputs(fresh))
    program = (
        "import sys; sys.modules['mixpul'] = sys.modules['torch'] = None\n"
        "import numpy as np, onnxruntime as ort\n"
        "session = ort.InferenceSession('model.onnx', providers=['CPUExecutionProvider'])\n"
        "rows = dict(np.load('rows.npz', allow_pickle=True))\n"
        "np.save('scores.npy', session.run(['score'], rows)[0])\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    found = np.load(tmp_path / "scores.npy")[:, 0]
    assert np.abs(found - model.predict_proba(fresh)[:, 1]).max() < 1e-5


# -- parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_knots", [1, 2, 3, 16, 17, 1000])
def test_lines_between_knots_are_those_of_numpy(n_knots):
    random = np.random.default_rng(0)
    knots = np.sort(random.normal(size=n_knots).round(2))  # some are equal
    values = random.normal(size=n_knots)
    x = np.concatenate([knots, [-9.0, 9.0], random.normal(size=500)])[:, None]
    graph = Graph()
    given = graph.take_input("x", DOUBLE, "")
    graph.reserve("y")
    graph.give_output("y", interpolate(graph, given, knots, values), DOUBLE, "")
    content = graph.finish("line", "", {}).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    found = session.run(None, {"x": x})[0]
    assert found == pytest.approx(np.interp(x, knots, values), abs=1e-12)


@pytest.mark.parametrize("scores", [[0.5], [1.0, 2.0, 2.0, 5.0], np.arange(3000.0)])
def test_an_extended_table_of_scores_is_the_same_line(scores):
    table = make_score_table(np.array(scores))
    x = np.linspace(-5000, 9000, 5001)
    found = np.interp(x, *extend_score_table(table))
    assert found == pytest.approx(to_normal_scores(x, table), abs=1e-9)


def test_the_file_says_what_it_takes(fitted, tmp_path):
    export_onnx(fitted("logistic"), tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    facts = session.get_modelmeta().custom_metadata_map
    inputs = {entry["name"]: entry["kind"] for entry in json.loads(facts["mixpul.inputs"])}
    assert inputs == {p["column"]: p["kind"] for p in fitted("logistic")[0].plan_}
    assert facts["mixpul.class"] == "LogisticPUClassifier"
    assert {i.name: i.type for i in session.get_inputs()}["zone"] == "tensor(string)"


def test_made_up_rows_are_ordinary_strange_and_have_gaps(fitted):
    rows = _made_rows.make_rows(fitted("logistic")[0].plan_, 2000, strange=0.5)
    assert set(rows) == set(fitted("logistic")[0].kinds_)
    assert rows["city"].isna().any()
    assert set(_made_rows.UNSEEN) & set(rows["city"])
    assert np.isinf(rows["age"]).any()


# -- refusals ---------------------------------------------------------------------------------


def test_a_file_that_disagrees_is_not_left(fitted, tmp_path, monkeypatch):
    model = fitted("logistic")
    path = tmp_path / "model.onnx"
    path.write_bytes(b"the old one")
    monkeypatch.setattr(deploy.onnx, "interpolate", None)

    def shift(graph, classifier, rows, _add=deploy.onnx.add_logits):
        return graph.add("Add", _add(graph, classifier, rows), np.float32(1e-3))

    monkeypatch.setattr(deploy.onnx, "add_logits", shift)
    with pytest.raises(ValueError, match="disagrees with the original by"):
        export_onnx(model, path)
    assert path.read_bytes() == b"the old one"
    assert list(tmp_path.iterdir()) == [path]


def test_scores_that_are_not_numbers_disagree():
    original = _check.Original(np.array([np.nan], np.float32), np.array([False]), None)
    graph = Graph()
    given = graph.take_input("x", 1, "")
    graph.reserve("score", "label")
    graph.give_output("score", given, 1, "")
    graph.give_output("label", graph.cast(given, 7), 7, "")
    content = graph.finish("same", "", {}).SerializeToString()
    inputs = {"x": np.zeros((1, 1), np.float32)}
    with pytest.raises(ValueError, match="disagrees"):
        _check.compare_scores(content, inputs, original, 0.5)


def test_a_column_that_cannot_be_exported_is_named(fitted, tmp_path, monkeypatch):
    plans = [dict(plan) for plan in fitted("logistic")[0].plan_]
    plans[3]["words"] = {}
    monkeypatch.setattr(fitted("logistic")[0], "plan_", plans)
    with pytest.raises(ValueError, match="'city' becomes numbers by its words"):
        export_onnx(fitted("logistic"), tmp_path / "model.onnx")
    plans[3]["kind"] = "sound"
    del plans[3]["words"]
    with pytest.raises(ValueError, match="'city' holds sound"):
        export_onnx(fitted("logistic"), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_column_with_the_name_of_an_output_is_refused(tmp_path):
    table, label = make_table()
    model = fit_pipeline(CLASSIFIERS["logistic"], table.rename(columns={"age": "score"}), label)
    with pytest.raises(ValueError, match="'score' has the name of an output"):
        export_onnx(model, tmp_path / "model.onnx")


def test_columns_may_have_any_other_name(tmp_path):
    table, label = make_table()
    table = table.rename(columns={"age": "constant_1", "income": "add_7", "city": "a b/c\n☃"})
    model = fit_pipeline(CLASSIFIERS["logistic"], table, label)
    assert export_onnx(model, tmp_path / "model.onnx").agreement.difference < 1e-5


def test_images_and_own_networks_are_refused(pu, quick, tmp_path):
    images = np.zeros((200, 1, 8, 8), dtype=np.uint8)
    model = LogisticPUClassifier(C=1.0, random_state=0).fit(images, pu.y)
    with pytest.raises(ValueError, match="Models of images"):
        export_onnx(model, tmp_path / "model.onnx")
    import torch

    own = quick(net=lambda shape: torch.nn.Linear(shape[0], 1)).fit(pu.X, pu.y)
    with pytest.raises(ValueError, match="Networks of the class"):
        export_onnx(own, tmp_path / "model.onnx")


# -- the command --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def work(tmp_path_factory, fitted):
    folder = tmp_path_factory.mktemp("export")
    save(fitted("extra trees"), folder / "model.mixpul")
    make_table(seed=1)[0].to_csv(folder / "new.csv", index=False)
    return folder


def test_the_command_checks_on_a_table(work, tmp_path):
    path = tmp_path / "model.onnx"
    words = ["--threshold", "0.6", "--prior", "0.2", "--check", work / "new.csv", "--json"]
    result = run("export", work / "model.mixpul", path, *words)
    assert result.code == 0, result.err
    said = json.loads(result.out)
    assert said["agreement"]["rows"] == 300
    assert said["agreement"]["difference"] <= 1e-5
    assert said["threshold"] == 0.6
    assert path.exists()


def test_the_command_says_what_it_wrote(work, tmp_path):
    result = run("export", work / "model.mixpul", tmp_path / "model.onnx")
    assert result.code == 0
    assert "Inputs: age, income" in result.out
    assert "agrees on 2,000 made-up rows" in result.out
    assert "no output `probability`" in result.err


@pytest.mark.parametrize("fault", ["no model", "no folder", "there already", "no table", "garbage"])
def test_bad_input_is_one_sentence_and_nothing_is_written(work, tmp_path, fault):
    model, out, more = work / "model.mixpul", tmp_path / "model.onnx", []
    if fault == "no model":
        model = tmp_path / "none.mixpul"
    if fault == "no folder":
        out = tmp_path / "none" / "model.onnx"
    if fault == "there already":
        out.write_bytes(b"old")
    if fault == "no table":
        more = ["--check", tmp_path / "none.csv"]
    if fault == "garbage":
        model = work / "new.csv"
    before = sorted(tmp_path.iterdir())
    result = run("export", model, out, *more)
    assert result.code == 2
    assert_one_sentence(result.err)
    assert sorted(tmp_path.iterdir()) == before
    assert not out.exists() or out.read_bytes() == b"old"


def test_a_missing_extra_is_one_sentence(work, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    result = run("export", work / "model.mixpul", tmp_path / "model.onnx")
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "pip install 'mixpul[onnx]'" in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_column_that_is_not_in_the_table_to_check_is_named(work, tmp_path):
    table = pd.read_csv(work / "new.csv").drop(columns="city")
    table.to_csv(tmp_path / "less.csv", index=False)
    words = ["--check", tmp_path / "less.csv"]
    result = run("export", work / "model.mixpul", tmp_path / "model.onnx", *words)
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "city" in result.err
