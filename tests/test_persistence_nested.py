"""Model files of networks that were weighed by setting, and of portfolios with their members."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    load,
    save,
)
from mixpul.miners import RandomMiner
from mixpul.nets import Averaged, Mirrored, SkipMLP, make_net
from mixpul.persistence import describe
from mixpul.priors import BBEPrior
from mixpul.tables import TableInput
from test_persistence import assert_refused, assert_same, contents, drop, own_net, rewrite

QUICK = {"n_epochs": 2, "batch_size": 32, "cross_fitting": 2, "random_state": 0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.mixpul"


def assert_same_predictions(model, other, X):
    assert type(model) is type(other)
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def make_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), np.arange(80) < 20
    X[y] += 1
    return X, y


def make_images(pu):
    brightness = 60 + 40 * (pu.X[:, 0] > 1)
    noise = np.random.default_rng(0).integers(0, 60, size=(len(pu.X), 1, 8, 8))
    return (brightness[:, None, None, None] + noise).astype(np.uint8)


# -- several settings -----------------------------------------------------------------------

# Per kind of training: parameters, and what load must be told.
SETTINGS = {
    "default": ({}, {}),
    "several weight decays": ({"net": (6,), "weight_decay": [0.3, 0.0, 0.01]}, {}),
    "kernel networks": ({"net": "kernel", "weight_decay": (0.3, 0.01)}, {}),
    "one network per setting": ({"cross_fitting": None}, {}),
    "own network": ({"net": own_net, "weight_decay": [0.1, 0.01]}, {"net": own_net}),
    "widths as an array": ({"net": np.array([6, 3]), "weight_decay": [0.1, 0.01]}, {}),
    "automatic, one weight decay": ({"weight_decay": 0.01}, {}),
}


def fit_settings(name, pu):
    params, at_load = SETTINGS[name]
    return MixPULClassifier(**(QUICK | params)).fit(pu.X, pu.y), at_load


@pytest.mark.parametrize("name", SETTINGS)
def test_weighed_networks_come_back_to_the_bit(name, pu, path, tmp_path):
    model, at_load = fit_settings(name, pu)
    save(model, path)
    loaded = load(path, **at_load)
    assert_same_predictions(model, loaded, pu.X)
    assert str(loaded.net_) == str(model.net_)
    assert hasattr(loaded, "settings_") == hasattr(model, "settings_")
    if not isinstance(model.net, str) and not callable(model.net):
        # JSON knows one kind of list; the widths are the same.
        model.settings_ = [s | {"net": list(s["net"])} for s in model.settings_]
    for learned in vars(model).keys() - {"net_"}:
        if learned.endswith("_"):
            assert_same(getattr(model, learned), getattr(loaded, learned))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    again = load(path, **at_load).fit(pu.X, pu.y)
    np.testing.assert_array_equal(again.predict_proba(pu.X), model.predict_proba(pu.X))


def test_networks_of_several_kinds_are_stored_with_their_weights(pu, path):
    model, _ = fit_settings("default", pu)
    kept = [setting for setting in model.settings_ if setting["weight"] > 0]
    assert len(kept) > 1
    save(model, path)
    tensors, description = contents(path)
    assert description["format"] == 2
    assert description["learned"]["net_"] == {
        "n_members": 2,
        "is_mirrored": False,
        "nets": [setting["net"] for setting in kept],
        "weights": model.net_.members[0].weights,
    }
    last = make_net(kept[-1]["net"], (4,)).state_dict()
    assert all(f"net_.1.{len(kept) - 1}.{entry}" in tensors for entry in last)
    folds = load(path).net_.members
    assert all(fold.weights == model.net_.members[0].weights for fold in folds)
    for net, setting in zip(folds[0].members, kept, strict=True):
        assert type(net) is type(make_net(setting["net"], (4,)))
    assert not any(p.requires_grad for p in folds.parameters())


def test_all_numbers_of_the_networks_are_counted(pu, path):
    model, _ = fit_settings("default", pu)
    save(model, path)
    expected = sum(tensor.numel() for tensor in model.net_.state_dict().values())
    assert describe(path)["n_parameters"] == expected


def test_one_setting_is_stored_as_ever(pu, path):
    model = MixPULClassifier(**QUICK, net="skip-mlp").fit(pu.X, pu.y)
    save(model, path)
    tensors, description = contents(path)
    assert description["format"] == 1
    assert description["learned"]["net_"] == {"n_members": 2, "is_mirrored": False}
    assert {name for name in tensors if "." in name} == {
        f"net_.{k}.{entry}" for k in range(2) for entry in SkipMLP((4,)).state_dict()
    }
    # Files from before there were images do not say.
    rewrite(path, lambda t, d: drop(d["learned"]["net_"], "is_mirrored"))
    assert_same_predictions(model, load(path), pu.X)


@pytest.mark.parametrize("weight_decay", ["auto", [0.1, 0.001]])
def test_networks_that_see_mirror_images_come_back(weight_decay, pu, path):
    X = make_images(pu)
    params = QUICK | {"augment": "flip", "weight_decay": weight_decay}
    model = MixPULClassifier(**params).fit(X, pu.y)
    save(model, path)
    loaded = load(path)
    assert_same_predictions(model, loaded, X)
    assert sum(isinstance(module, Mirrored) for module in loaded.net_.modules()) == sum(
        isinstance(module, Mirrored) for module in model.net_.modules()
    )
    assert describe(path)["learned"]["net_"]["is_mirrored"] is True


def test_another_network_at_load_is_for_the_next_fit(pu, path):
    model, _ = fit_settings("default", pu)
    save(model, path)
    loaded = load(path, net="linear")
    assert_same_predictions(model, loaded, pu.X)
    assert loaded.net == "linear"


def of_layout(change):
    return lambda tensors, description: change(description["learned"]["net_"])


LAYOUT_CHANGES = {
    "fewer kinds": of_layout(lambda net: net["nets"].pop()),
    "no kinds": of_layout(lambda net: drop(net, "nets")),
    "fewer weights": of_layout(lambda net: net["weights"].pop()),
    "no weights": of_layout(lambda net: drop(net, "weights")),
    "weights of text": of_layout(lambda net: net.update(weights=["a"] * len(net["weights"]))),
    "infinite weights": of_layout(
        lambda net: net.update(weights=[float("inf")] * len(net["weights"]))
    ),
    "another kind": of_layout(lambda net: net["nets"].__setitem__(0, "linear")),
    "unknown kind": of_layout(lambda net: net["nets"].__setitem__(0, "nonsense")),
    "a kind of no type": of_layout(lambda net: net["nets"].__setitem__(0, {"part": "Popen"})),
    "a kind of huge widths": of_layout(lambda net: net["nets"].__setitem__(0, [10**30])),
    "kinds are text": of_layout(lambda net: net.update(nets="kernel")),
    "more folds": of_layout(lambda net: net.update(n_members=3)),
    "half a fold": of_layout(lambda net: net.update(n_members=1.5)),
    "something unknown": of_layout(lambda net: net.update(nonsense=True)),
    "layout is a list": lambda t, d: d["learned"].update(net_=[1]),
    "a tensor less": lambda t, d: drop(t, min(n for n in t if n.startswith("net_.1.0."))),
    "a network less": lambda t, d: [drop(t, n) for n in list(t) if n.startswith("net_.0.0.")],
    "huge rows": lambda t, d: d.update(row_shape=[10**30]),
    "settings of text": lambda t, d: d["learned"].update(settings_=["a"]),
}


@pytest.fixture(scope="module", autouse=True)
def keep_all_settings():
    """However little a setting counts, it is stored: else the data decide what is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mixpul.methods.neural.settings.LEAST_WEIGHT", 0.0)
        yield


@pytest.fixture(scope="module")
def weighed_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("weighed") / "weighed"
    save(MixPULClassifier(**QUICK).fit(*make_rows()), path)
    return path.read_bytes()


@pytest.mark.parametrize("change", LAYOUT_CHANGES)
def test_weighed_networks_that_do_not_add_up_are_refused(weighed_file, path, change):
    path.write_bytes(weighed_file)
    load(path)
    rewrite(path, LAYOUT_CHANGES[change])
    assert_refused(path, "not a whole mixpul model file: ")


# -- portfolios -----------------------------------------------------------------------------


def fit_portfolio(candidates, X, y):
    return AutoPUClassifier(candidates=candidates, n_folds=2, random_state=0).fit(X, y)


OF_ALL_KINDS = {
    "trees": BaggingPUClassifier(n_estimators=20),
    "forest": BaggingPUClassifier(n_estimators=20, splits="best"),
    "logistic-0.1": LogisticPUClassifier(C=0.1),
    "kernel-narrow": LogisticPUClassifier(C=0.1, n_landmarks=50),
    "mixpul": MixPULClassifier(**QUICK),
    "nnpu": NNPUClassifier(prior=BBEPrior(n_folds=2), n_epochs=2, cross_fitting=2),
}


def make_candidates(*names):
    return {name: clone(OF_ALL_KINDS[name]) for name in names}


ALL = ("trees", "forest", "logistic-0.1", "kernel-narrow", "mixpul", "nnpu")
# Per kind of portfolio: its candidates, and the rows and labels.
PORTFOLIOS = {
    "all kinds": (make_candidates(*ALL), lambda pu: (pu.X, pu.y)),
    "names": (["logistic-0.1", "kernel-narrow", "wsvm"], lambda pu: (pu.X, pu.y)),
    "an array of names": (np.array(["logistic-0.1", "logistic-10"]), lambda pu: (pu.X, pu.y)),
    "names and objects": (
        ("logistic-10", LogisticPUClassifier(C=1.0), LogisticPUClassifier(C=0.2)),
        lambda pu: (pu.X, pu.y),
    ),
    "an array of objects": (
        np.array(["logistic-10", BaggingPUClassifier(n_estimators=5)], dtype=object),
        lambda pu: (pu.X, pu.y),
    ),
    "names that mean something in a file": (
        {"part": LogisticPUClassifier(C=0.1), "params": LogisticPUClassifier(C=1.0)},
        lambda pu: (pu.X, pu.y),
    ),
    "a single candidate called arrays": (
        {"arrays": LogisticPUClassifier(C=0.1)},
        lambda pu: (pu.X, pu.y),
    ),
    "names with dots": (
        {
            "a": LogisticPUClassifier(C=0.1),
            "a.0": LogisticPUClassifier(C=1.0),
            "": LogisticPUClassifier(C=10.0),
        },
        lambda pu: (pu.X, pu.y),
    ),
    "a portfolio in a portfolio": (
        [AutoPUClassifier(candidates=["logistic-0.1", "logistic-10"]), "logistic-0.001"],
        lambda pu: (pu.X, pu.y),
    ),
    "text labels of a data frame": (
        ["logistic-0.1", "kernel-narrow"],
        lambda pu: (pd.DataFrame(pu.X, columns=list("abcd")), np.where(pu.y == 1, "yes", "no")),
    ),
    "sparse": (
        make_candidates("trees", "logistic-0.1"),
        lambda pu: (sparse.csr_array(np.where(pu.X > 0, pu.X, 0)), pu.y),
    ),
    "too few positives for folds": (
        ["logistic-0.1", "logistic-10"],
        lambda pu: (pu.X, np.arange(len(pu.y)) == np.flatnonzero(pu.y)[0]),
    ),
    "images": (
        {"mixpul": MixPULClassifier(**QUICK, augment="flip"), "logistic": LogisticPUClassifier()},
        lambda pu: (make_images(pu), pu.y),
    ),
}


@pytest.mark.filterwarnings("ignore:Number of rows labeled positive", "ignore:y holds the text")
@pytest.mark.parametrize("name", PORTFOLIOS)
def test_portfolios_come_back_to_the_bit(name, pu, path, tmp_path, monkeypatch):
    # So that all candidates are members, however well they score.
    monkeypatch.setattr("mixpul.methods.auto.weigh", lambda z, beliefs: np.ones(len(z)) / len(z))
    candidates, data = PORTFOLIOS[name]
    X, y = data(pu)
    model = fit_portfolio(candidates, X, y)
    assert len(model.members_) == len(candidates)
    save(model, path)
    loaded = load(path)
    assert_same_predictions(model, loaded, X)
    assert list(loaded.members_) == list(model.members_)
    for member in model.members_:
        assert_same(
            model.members_[member].get_params(deep=False),
            loaded.members_[member].get_params(deep=False),
        )
    for learned in vars(model).keys() - {"members_"}:
        if learned.endswith("_"):
            assert_same(getattr(model, learned), getattr(loaded, learned))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert_same_predictions(model, clone(loaded).fit(X, y), X)


def test_learned_arrays_keep_their_precision(pu, path):
    model = fit_portfolio(["logistic-0.1", "logistic-10"], pu.X * 1e-3 + 1 / 3, pu.y)
    save(model, path)
    tensors, _ = contents(path)
    assert tensors["column_centre_"].dtype == tensors["score_tables_.0"].dtype == torch.float64
    loaded = load(path)
    for name, table in model.score_tables_.items():
        assert_same(table, loaded.score_tables_[name])


def test_a_pipeline_of_a_table_and_a_portfolio_comes_back(path):
    rng = np.random.default_rng(0)
    y = rng.random(120) < 0.3
    table = pd.DataFrame(
        {"age": rng.normal(size=120) + y, "city": rng.choice(["Rome", "Oslo"], 120)}
    )
    model = make_pipeline(
        TableInput(), AutoPUClassifier(candidates=make_candidates("trees", "mixpul"), n_folds=2)
    ).fit(table, y)
    save(model, path, info={"label": "fraud"})
    assert_same_predictions(model, load(path), table)
    assert describe(path)["info"] == {"label": "fraud"}


def test_a_file_tells_of_the_members_without_building_them(pu, path, monkeypatch):
    model = fit_portfolio(make_candidates("logistic-0.1", "mixpul"), pu.X, pu.y)
    save(model, path)

    def fail(*args):
        raise AssertionError("built the model")

    monkeypatch.setattr("mixpul.persistence.rebuild_model", fail)
    monkeypatch.setattr("mixpul.persistence._file.checksum", fail)
    about = describe(path)
    assert about["class"] == "AutoPUClassifier"
    assert about["members"]["logistic-0.1"]["class"] == "LogisticPUClassifier"
    assert about["members"]["logistic-0.1"]["params"]["C"] == 0.1
    assert about["members"]["mixpul"]["params"]["n_epochs"] == 2
    assert "members_" not in about["learned"]
    assert about["learned"]["weights_"] == model.weights_
    assert about["params"]["candidates"]["mixpul"]["part"] == "MixPULClassifier"
    net = model.members_["mixpul"].net_
    assert about["n_parameters"] == sum(tensor.numel() for tensor in net.state_dict().values())
    assert json.loads(json.dumps(about)) == about


def test_a_file_of_one_classifier_has_no_members(weighed_file, path):
    path.write_bytes(weighed_file)
    assert describe(path)["members"] == {}


# -- what a portfolio cannot store ----------------------------------------------------------


def net_of_ones_own(shape):
    return nn.Linear(shape[0], 1)


class Derived(LogisticPUClassifier):
    """A class that load would not know."""


REFUSED = {
    "foreign": (
        LogisticRegression(),
        r"The candidate 'odd' is of the class LogisticRegression.*fit again without it",
    ),
    "derived": (
        Derived(C=0.1),
        "The candidate 'odd' is of the class Derived.*fit again without it",
    ),
    "own network": (
        MixPULClassifier(**QUICK, net=net_of_ones_own),
        r"The candidate 'odd' has a network of your own.*by name",
    ),
    "bagging of another estimator": (
        BaggingPUClassifier(estimator=LogisticRegression(), n_estimators=5),
        r"The candidate 'odd' cannot be stored: .*with its default estimator it can",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_members_that_cannot_be_stored_are_refused_by_name(name, pu, path):
    odd, message = REFUSED[name]
    model = fit_portfolio({"odd": odd}, pu.X, pu.y)
    with pytest.raises(TypeError, match=message) as refusal:
        save(model, path)
    assert "\n" not in str(refusal.value)
    assert not path.exists()


class OddMiner(RandomMiner):
    """A miner that a file cannot name."""


def test_candidates_of_ones_own_are_worth_passing_again(pu, path):
    candidates = [MixPULClassifier(**QUICK, miner=OddMiner()), "logistic-0.1"]
    model = fit_portfolio(candidates, pu.X, pu.y)
    save(model, path)
    assert describe(path)["params"]["candidates"] == {"unstored": True}
    with pytest.warns(
        UserWarning, match=r"candidates of your own.*load\(path, candidates=\.\.\.\)"
    ):
        loaded = load(path)
    assert_same_predictions(model, loaded, pu.X)
    assert loaded.candidates is None
    passed = load(path, candidates=candidates)
    assert passed.candidates is candidates
    assert_same_predictions(model, passed, pu.X)


# -- forged portfolios ----------------------------------------------------------------------


def of_member(change, name="logistic-0.1"):
    return lambda tensors, description: change(description["learned"]["members_"][name])


def nest(tensors, description, depth):
    for _ in range(depth):
        inner = copy.deepcopy(description["learned"]["members_"]["logistic-0.1"])
        outer = copy.copy(description)
        outer["learned"] = description["learned"] | {"members_": {"logistic-0.1": inner}}
        description["learned"] = description["learned"] | {"members_": {"logistic-0.1": outer}}


MEMBER_CHANGES = {
    "no class": of_member(lambda m: drop(m, "class")),
    "unknown class": of_member(lambda m: m.update({"class": "SVC"})),
    "a part for a class": of_member(lambda m: m.update({"class": "RandomMiner"})),
    "another class": of_member(lambda m: m.update({"class": "BaggingPUClassifier"})),
    "class is a list": of_member(lambda m: m.update({"class": ["SVC"]})),
    "no parameters": of_member(lambda m: drop(m, "params")),
    "unknown parameter": of_member(lambda m: m["params"].update(nonsense=1)),
    "a forged part": of_member(
        lambda m: m["params"].update(C={"part": "Popen", "params": {"args": "true"}})
    ),
    "nothing learned": of_member(lambda m: m.update(learned={})),
    "no rows": of_member(lambda m: drop(m, "row_shape")),
    "other rows": of_member(lambda m: m.update(row_shape=[5])),
    "rows of another type": of_member(lambda m: m.update(row_dtype="uint8")),
    "rows of no type": of_member(lambda m: m.update(row_dtype="nonsense")),
    "other columns": of_member(lambda m: m["learned"].update(n_features_in_=9)),
    "a method": of_member(lambda m: m["learned"].update(predict="nonsense")),
    "insides of the object": of_member(lambda m: m["learned"].update(__dict__={})),
    "a property of the class": of_member(lambda m: m["learned"].update(__class__="nonsense")),
    "a method among the tensors": lambda t, d: t.update({"members_.0.predict": torch.zeros(1)}),
    "networks of the wrong kind": of_member(
        lambda m: m["learned"]["net_"].update(nets=["linear"], weights=[1.0]), "mixpul"
    ),
    "a network unstored": of_member(lambda m: m["learned"]["net_"].update(nets=None), "mixpul"),
    "a member is a list": lambda t, d: d["learned"]["members_"].update({"mixpul": [1]}),
    "a member is empty": lambda t, d: d["learned"]["members_"].update({"mixpul": {}}),
    "a member less": lambda t, d: drop(d["learned"]["members_"], "mixpul"),
    "the first member less": lambda t, d: drop(d["learned"]["members_"], "logistic-0.1"),
    "members in another order": lambda t, d: d["learned"].update(
        members_=dict(reversed(d["learned"]["members_"].items()))
    ),
    "a member more": lambda t, d: d["learned"]["members_"].update(
        more=d["learned"]["members_"]["mixpul"]
    ),
    "members are a list": lambda t, d: d["learned"].update(members_=[1]),
    "members are empty": lambda t, d: d["learned"].update(members_={}),
    "no members": lambda t, d: drop(d["learned"], "members_"),
    "tensors of a member less": lambda t, d: [
        drop(t, name) for name in list(t) if name.startswith("members_.1.")
    ],
    "a tensor of a member less": lambda t, d: drop(t, "members_.0.coef_"),
    "no weights": lambda t, d: drop(d["learned"], "weights_"),
    "a weight less": lambda t, d: drop(d["learned"]["weights_"], "mixpul"),
    "weights of text": lambda t, d: d["learned"]["weights_"].update(mixpul="a"),
    "weights are a list": lambda t, d: d["learned"].update(weights_=[1]),
    "no score tables": lambda t, d: drop(d["learned"], "score_tables_"),
    "score tables of nothing": lambda t, d: d["learned"].update(score_tables_={"arrays": 1}),
    "score tables are lists": lambda t, d: d["learned"].update(
        score_tables_={"logistic-0.1": [1], "mixpul": [2]}
    ),
    "a score table less": lambda t, d: drop(t, "score_tables_.1"),
    "a flat score table": lambda t, d: t.update(
        {"score_tables_.1": t["score_tables_.1"][0].clone()}
    ),
    "no scaling": lambda t, d: drop(t, "column_scale_"),
    "scaling of other columns": lambda t, d: t.update(column_centre_=torch.zeros(9).double()),
    "scaling by numbers": lambda t, d: t.update(is_heavy_=torch.zeros(4)),
    "scaling by text": lambda t, d: (drop(t, "is_heavy_"), d["learned"].update(is_heavy_="a")),
    "portfolios without end": lambda t, d: nest(t, d, 8),
}


@pytest.fixture(scope="module")
def portfolio_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("portfolio") / "portfolio"
    with pytest.MonkeyPatch.context() as patch:
        # So that both candidates are members, however well they score.
        patch.setattr("mixpul.methods.auto.weigh", lambda z, beliefs: np.ones(len(z)) / len(z))
        save(fit_portfolio(make_candidates("logistic-0.1", "mixpul"), *make_rows()), path)
    return path.read_bytes()


@pytest.mark.parametrize("change", MEMBER_CHANGES)
def test_portfolios_that_do_not_add_up_are_refused(portfolio_file, path, change):
    path.write_bytes(portfolio_file)
    load(path)
    rewrite(path, MEMBER_CHANGES[change])
    assert_refused(path, "not a whole mixpul model file: ")
    # The header may be whole where the content is not; else the same is said of it.
    try:
        describe(path)
    except ValueError as refusal:
        said = str(refusal)
    else:
        said = "not a whole mixpul model file: "
    assert "not a whole mixpul model file: " in said


@pytest.mark.parametrize("depth", [100, 900, 5_000, 100_000])
def test_values_without_end_are_refused(portfolio_file, path, depth):
    path.write_bytes(portfolio_file)
    whole = path.read_bytes()
    n = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + n])
    text = header["__metadata__"]["mixpul"]
    deep = text.replace('"n_folds": 2', '"n_folds": ' + "[" * depth + "]" * depth, 1)
    assert deep != text
    header["__metadata__"]["mixpul"] = deep
    changed = json.dumps(header).encode()
    path.write_bytes(len(changed).to_bytes(8, "little") + changed + whole[8 + n :])
    assert_refused(path)


def test_a_truncated_portfolio_is_refused_wherever_it_was_cut(portfolio_file, path):
    for cut in range(0, len(portfolio_file), len(portfolio_file) // 20):
        path.write_bytes(portfolio_file[:cut])
        assert_refused(path, "broken, truncated or not a mixpul model file")


def test_a_flipped_bit_in_a_member_is_seen(portfolio_file, path):
    broken = bytearray(portfolio_file)
    broken[-1] ^= 1
    path.write_bytes(broken)
    assert_refused(path, "does not match its checksum")


def test_averages_of_folds_and_of_settings_stay_apart(weighed_file, path):
    path.write_bytes(weighed_file)
    net = load(path).net_
    assert isinstance(net, Averaged)
    assert net.weights is None
    assert all(fold.weights is not None for fold in net.members)


def test_several_settings_of_a_single_fold_are_stored(pu, path):
    model = MixPULClassifier(n_epochs=2, min_steps=5, cross_fitting=None, random_state=0)
    model.fit(pu.X, pu.y)
    save(model, path)
    np.testing.assert_array_equal(load(path).decision_function(pu.X), model.decision_function(pu.X))


def test_networks_trained_side_by_side_own_their_memory_as_loaded_ones_do(pu):
    """Products of unaligned weights differ in the last digit from those of a loaded model."""
    model, _ = fit_settings("default", pu)
    for tensor in [*model.net_.parameters(), *model.net_.buffers()]:
        assert tensor.storage_offset() == 0
        assert tensor.untyped_storage().nbytes() == tensor.nbytes
