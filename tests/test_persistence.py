import io
import json
import os
import pickle
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save as to_bytes
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn

from mixpul import (
    BaggingPUClassifier,
    DistilledPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    VPUClassifier,
    load,
    save,
)
from mixpul._util.tensor_files import TYPES, read_tensors, write_tensors
from mixpul.miners import RandomMiner
from mixpul.persistence import FORMAT, checksum, describe
from mixpul.priors import BBEPrior
from mixpul.tables import TableInput
from mixpul.training import use_threads


def own_net(shape):
    return nn.Sequential(nn.Linear(shape[0], 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 1))


def as_images(X):
    return np.tile(X, (1, 4)).reshape(-1, 1, 4, 4)


# Per kind of model: its parameters, its rows and labels, and what load must be told.
KINDS = {
    "cross-fitted": ({}, lambda pu: (pu.X, pu.y), {}),
    "default network": ({"net": "skip-mlp"}, lambda pu: (pu.X, pu.y), {}),
    "single network": ({"cross_fitting": None}, lambda pu: (pu.X, pu.y), {}),
    "widths as a tuple": ({"net": (6, 3)}, lambda pu: (pu.X, pu.y), {}),
    "widths as an array": ({"net": np.array([6, 3])}, lambda pu: (pu.X, pu.y), {}),
    "images": ({}, lambda pu: (as_images(pu.X), pu.y), {}),
    "text labels": (
        {"pos_label": "known"},
        lambda pu: (pu.X, np.where(pu.y == 1, "known", "unknown")),
        {},
    ),
    "boolean labels": ({}, lambda pu: (pu.X, pu.y == 1), {}),
    "data frame": ({}, lambda pu: (pd.DataFrame(pu.X, columns=list("abcd")), pu.y), {}),
    "sparse": ({}, lambda pu: (sparse.csr_array(np.where(pu.X > 0, pu.X, 0)), pu.y), {}),
    "own miner settings": (
        {"miner": RandomMiner(every_epoch=True, random_state=3), "negative_fraction": 0.5},
        lambda pu: (pu.X, pu.y),
        {},
    ),
    "own network": ({"net": own_net}, lambda pu: (pu.X, pu.y), {"net": own_net}),
}


@pytest.fixture(params=KINDS)
def kind(request, pu, quick):
    """A fitted model, the rows and labels it was fitted on, and what load must be told."""
    params, data, at_load = KINDS[request.param]
    X, y = data(pu)
    return quick(**params).fit(X, y), X, y, at_load


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.mixpul"


@pytest.fixture
def model(pu, quick):
    return quick().fit(pu.X, pu.y)


@pytest.fixture
def saved(model, path):
    save(model, path)
    return path


def contents(path):
    with safe_open(path, framework="pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        return tensors, json.loads(file.metadata()["mixpul"])


@pytest.fixture
def table():
    """A table of numbers, gaps, text and dates, with labels that depend on it."""
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.3
    return pd.DataFrame(
        {
            "age": np.where(rng.random(200) < 0.1, np.nan, rng.normal(size=200) + y),
            "city": rng.choice(["Rome", "Oslo"], 200),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 200), "D"),
        }
    ), y


@pytest.fixture
def saved_pipeline(table, quick, path):
    save(make_pipeline(TableInput(), quick()).fit(*table), path, info={"label": "fraud"})
    return path


def rewrite(path, change):
    """Change the tensors and the description of a good file."""
    tensors, description = contents(path)
    del description["sha256"]
    change(tensors, description)
    description["sha256"] = checksum(tensors, description)
    path.write_bytes(to_bytes(tensors, {"mixpul": json.dumps(description)}))


def assert_same(a, b):
    """Equal in type and value, arrays to the bit."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif hasattr(a, "get_params"):
        assert_same(a.get_params(), b.get_params())
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    else:
        assert a == b


def assert_refused(path, message=None, **params):
    with pytest.raises(ValueError, match=message) as refusal:
        load(path, **params)
    sentence = str(refusal.value)
    assert "\n" not in sentence, "one sentence, not a list of complaints"
    assert path.name in sentence


# -- there and back -------------------------------------------------------------------------


def test_predictions_come_back_to_the_bit(kind, path):
    model, X, _, at_load = kind
    save(model, path)
    loaded = load(path, **at_load)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype == model.predict(X).dtype


def test_parameters_and_what_was_learned_come_back(kind, path):
    model, _, _, at_load = kind
    save(model, path)
    loaded = load(path, **at_load)
    assert type(loaded) is MixPULClassifier
    for name, value in model.get_params(deep=False).items():
        if name == "net" and not isinstance(value, str):
            # JSON knows one kind of list; the widths are the same.
            assert value is loaded.net or list(value) == list(loaded.net)
        else:
            assert_same(value, getattr(loaded, name))
    learned = {name for name in vars(model) if name.endswith("_")} - {"net_"}
    assert learned >= {"classes_", "history_", "n_epochs_", "n_features_in_", "reliable_negatives_"}
    for name in learned:
        assert_same(getattr(model, name), getattr(loaded, name))
    assert hasattr(model, "oof_scores_") == (model.cross_fitting is not None)


def test_the_loaded_network_is_ready_to_predict_and_takes_no_gradients(saved):
    net = load(saved).net_
    assert not any(module.training for module in net.modules())
    assert not any(parameter.requires_grad for parameter in net.parameters())


def test_fitting_again_after_loading_gives_the_same_weights(kind, path):
    model, X, y, at_load = kind
    save(model, path)
    again = load(path, **at_load).fit(X, y)
    copied = clone(load(path, **at_load)).fit(X, y)
    for key, value in model.net_.state_dict().items():
        assert torch.equal(again.net_.state_dict()[key], value), key
        assert torch.equal(copied.net_.state_dict()[key], value), key


def test_a_loaded_model_saves_to_the_same_bytes(saved, tmp_path):
    save(load(saved), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


FRESH = """
import sys
from contextlib import contextmanager
from pathlib import Path
import numpy as np, pandas as pd
from scipy import sparse
from mixpul import load

for folder in sorted(Path(sys.argv[1]).iterdir()):
    model = load(folder / "model")
    if (folder / "X.npz").exists():
        X = sparse.load_npz(folder / "X.npz")
    else:
        X = np.load(folder / "X.npy")
    if hasattr(model, "feature_names_in_"):
        X = pd.DataFrame(X, columns=model.feature_names_in_)
    np.testing.assert_array_equal(
        model.predict_proba(X), np.load(folder / "expected.npy"), err_msg=folder.name
    )
    print(folder.name)
"""


def test_predictions_come_back_to_the_bit_in_a_fresh_process(pu, quick, tmp_path):
    # One process for all kinds: starting it takes longer than everything it does. Arrays of
    # widths and networks of one's own, which the process does not know, have their own tests.
    names = sorted(KINDS.keys() - {"own network", "widths as an array"})
    for name in names:
        params, data, _ = KINDS[name]
        X, y = data(pu)
        model = quick(**params).fit(X, y)
        folder = tmp_path / name
        folder.mkdir()
        save(model, folder / "model")
        np.save(folder / "expected.npy", model.predict_proba(X))
        if sparse.issparse(X):
            sparse.save_npz(folder / "X.npz", X)
        else:
            np.save(folder / "X.npy", np.asarray(X))
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.splitlines() == names


WITHOUT_TORCH = """
import sys
import numpy as np, pandas as pd
from mixpul import load

table = pd.read_parquet(sys.argv[1])
for path in sys.argv[2:]:
    scores = load(path).decision_function(table)
    np.testing.assert_array_equal(scores, np.load(f"{path}.npy"), err_msg=path)
    print("torch" in sys.modules)
"""


def test_models_without_networks_are_loaded_and_score_without_torch(table, quick, tmp_path):
    """Its import takes longer than all the rest. The last model has a network, so it needs it."""
    table, y = table
    table.to_parquet(tmp_path / "table")
    paths = []
    trees = BaggingPUClassifier(n_estimators=5)
    small = DistilledPUClassifier(trees, n_steps=20)
    for classifier in (LogisticPUClassifier(C=1.0), trees, small, quick()):
        model = make_pipeline(TableInput(), classifier.set_params(random_state=0)).fit(table, y)
        paths.append(tmp_path / f"{type(classifier).__name__}.mixpul")
        save(model, paths[-1])
        np.save(f"{paths[-1]}.npy", model.decision_function(table))
    child = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, tmp_path / "table", *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.split() == ["False", "False", "False", "True"]


def test_commands_that_score_tables_are_imported_without_torch():
    names = ("_inputs", "_parts", "_scores", "_scoring")
    program = f"import sys, {', '.join(f'mixpul.cli.{name}' for name in names)}"
    child = subprocess.run(
        [sys.executable, "-c", f"{program}; sys.exit('torch' in sys.modules)"], check=False
    )
    assert child.returncode == 0


def test_networks_are_saved_and_loaded_on_one_thread(model, path, monkeypatch):
    """More would start a pool, and a process that has one cannot be forked."""
    seen = []
    for name in ("state_dict", "load_state_dict"):
        real = getattr(nn.Module, name)

        def watch(self, *args, real=real, **kwargs):
            seen.append(torch.get_num_threads())
            return real(self, *args, **kwargs)

        monkeypatch.setattr(nn.Module, name, watch)
    with use_threads(2):
        save(model, path)
        load(path)
        assert torch.get_num_threads() == 2
    assert set(seen) == {1}


def test_loading_leaves_the_random_state_alone(saved):
    before = torch.get_rng_state()
    load(saved)
    assert torch.equal(torch.get_rng_state(), before)


def test_parameters_can_be_replaced_at_load(saved, pu):
    loaded = load(saved, n_epochs=1, verbose=0)
    assert loaded.n_epochs == 1
    assert len(loaded.fit(pu.X, pu.y).history_) == 1


def test_a_device_comes_back_by_name(pu, quick, path):
    save(quick(device=torch.device("cpu")).fit(pu.X, pu.y), path)
    assert load(path).device == "cpu"


# -- tensors ----------------------------------------------------------------------------------


def make_arrays():
    """One array of each type, and some without numbers or without axes."""
    arrays = {name: np.arange(6).reshape(2, 3).astype(kind) for name, kind in TYPES.items()}
    more = {"none": np.empty((0, 3), dtype=np.float32), "mask": np.array(True), "n": np.array(3)}
    return arrays | more


def test_arrays_of_all_types_come_back(path):
    arrays = make_arrays()
    write_tensors(path, "key", arrays, {"a": 1})
    found, description = read_tensors(path, "key")
    assert description == {"a": 1}
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert_same(found[name], array)
        assert found[name].shape == array.shape


def test_the_checksum_is_that_of_versions_that_read_files_by_torch():
    arrays = {
        "mask": np.array([True, False]),
        "weights": np.array([[1.5, -2.0]], dtype=np.float32),
        "n": np.array(3),
    }
    expected = "f51130cd8c37a44b342889cb25723023db8084fed3fae14a486675a794bcc579"
    assert checksum(arrays, {"class": "A"}) == expected
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    assert checksum(tensors, {"class": "A"}) == expected


def test_a_file_has_the_bytes_that_torch_would_write(path):
    arrays = make_arrays()
    write_tensors(path, "key", arrays, {})
    text = json.dumps({"sha256": checksum(arrays, {})})
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    assert path.read_bytes() == to_bytes(tensors, {"key": text})


def test_arrays_are_written_row_by_row_however_they_lie_in_memory(path):
    array = np.arange(12.0).reshape(3, 4)
    odd = {"turned": array.T, "every other": array[:, ::2], "backwards": array[::-1]}
    write_tensors(path, "key", odd, {})
    found, _ = read_tensors(path, "key")
    for name, expected in odd.items():
        np.testing.assert_array_equal(found[name], expected)


@pytest.mark.parametrize("kind", [np.uint16, np.complex64, ">f4", object])
def test_arrays_of_other_types_are_not_written(path, kind):
    with pytest.raises(TypeError, match=r"'a' is .* cannot be stored"):
        write_tensors(path, "key", {"a": np.zeros(2, dtype=kind)}, {})
    assert not path.exists()


# -- networks of one's own ------------------------------------------------------------------


def test_a_network_in_numbers_that_no_file_has_is_not_saved(model, path):
    model.net_.to(torch.bfloat16)
    with pytest.raises(TypeError, match=r"torch\.bfloat16, which cannot be stored; use float32"):
        save(model, path)
    assert not path.exists()


def test_a_network_of_your_own_must_be_passed_again(pu, quick, path):
    model = quick(net=own_net).fit(pu.X, pu.y)
    save(model, path)
    with pytest.raises(ValueError, match=r"network of your own.*load\(path, net=...\)"):
        load(path)
    loaded = load(path, net=own_net)
    np.testing.assert_array_equal(loaded.predict_proba(pu.X), model.predict_proba(pu.X))


def test_another_network_than_the_stored_one_is_refused(pu, quick, path):
    save(quick(net=own_net).fit(pu.X, pu.y), path)
    assert_refused(path, net=lambda shape: nn.Linear(shape[0], 1))


class Centred(nn.Module):
    """Keeps a constant outside its state, as a plain tensor or a buffer that is not stored."""

    def __init__(self, shape, plain):
        super().__init__()
        self.linear = nn.Linear(shape[0], 1)
        if plain:
            self.centre = torch.ones(shape)
        else:
            self.register_buffer("centre", torch.ones(shape), persistent=False)

    def forward(self, x):
        return self.linear(x - self.centre)


@pytest.mark.parametrize("plain", [True, False], ids=["plain tensor", "unstored buffer"])
def test_constants_of_a_network_of_your_own_are_there_after_loading(pu, quick, path, plain):
    def net(shape):
        return Centred(shape, plain)

    model = quick(net=net).fit(pu.X, pu.y)
    save(model, path)
    loaded = load(path, net=net)
    np.testing.assert_array_equal(loaded.predict_proba(pu.X), model.predict_proba(pu.X))


class Tied(nn.Module):
    """One weight in two places."""

    def __init__(self, shape):
        super().__init__()
        self.first, self.second = nn.Linear(*shape, *shape), nn.Linear(*shape, *shape)
        self.second.weight = self.first.weight
        self.last = nn.Linear(*shape, 1)

    def forward(self, x):
        return self.last(torch.relu(self.second(torch.relu(self.first(x)))))


def test_a_network_of_your_own_may_share_weights_between_layers(pu, quick, path):
    model = quick(net=Tied).fit(pu.X, pu.y)
    save(model, path)
    loaded = load(path, net=Tied)
    np.testing.assert_array_equal(loaded.predict_proba(pu.X), model.predict_proba(pu.X))


# -- broken and foreign files ---------------------------------------------------------------

BROKEN = "broken, truncated or not a mixpul model file"


def test_a_truncated_file_is_refused_wherever_it_was_cut(saved):
    whole = saved.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    cuts = {0, 1, 7, 8, 9, header - 1, header, header + 1, len(whole) - 1}
    cuts |= set(range(0, len(whole), len(whole) // 60))
    for cut in sorted(cuts):
        saved.write_bytes(whole[:cut])
        assert_refused(saved, BROKEN)
    saved.write_bytes(whole)
    load(saved)


def test_bytes_after_the_end_are_refused(saved):
    saved.write_bytes(saved.read_bytes() + b"\0")
    assert_refused(saved, BROKEN)


@pytest.mark.parametrize("length", [0, 5, 8, 100, 10_000])
def test_random_bytes_are_refused(path, length):
    path.write_bytes(np.random.default_rng(length).bytes(length))
    assert_refused(path, BROKEN)


def test_a_text_file_is_refused(path):
    path.write_text("sepal_length,sepal_width\n5.1,3.5\n" * 50)
    assert_refused(path, BROKEN)


def test_a_flipped_bit_anywhere_is_refused_or_changes_nothing(pu, quick, path):
    model = quick(net="linear", cross_fitting=None, n_epochs=1).fit(pu.X, pu.y)
    save(model, path)
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    places = np.concatenate([np.arange(8), generator.choice(np.arange(8, len(whole)), 400)])
    n_refused = 0
    for place in places:
        broken = bytearray(whole)
        broken[place] ^= 1 << generator.integers(8)
        path.write_bytes(broken)
        try:
            loaded = load(path)
        except ValueError:
            n_refused += 1
        else:  # padding, or the upper case of a name
            np.testing.assert_array_equal(loaded.predict_proba(pu.X), model.predict_proba(pu.X))
    assert n_refused > 350


def test_a_safetensors_file_of_something_else_is_refused(path):
    for metadata in (None, {"format": "pt"}, {"mixpul": "no JSON"}, {"mixpul": "[1, 2]"}):
        path.write_bytes(to_bytes({"weight": torch.zeros(3)}, metadata))
        assert_refused(path, "is a safetensors file, but not a mixpul model")


def drop(mapping, key):
    del mapping[key]


FIRST = "net_.0.layers.1.weight"
CHANGES = {
    "unknown class": (lambda t, d: d.update({"class": "SVC"}), "'SVC'.*loads .*MixPULClassifier"),
    "no class": (lambda t, d: drop(d, "class"), "not a whole mixpul model|not a mixpul model"),
    "class is a list": (lambda t, d: d.update({"class": ["SVC"]}), None),
    "newer format": (
        lambda t, d: d.update(format=FORMAT + 1),
        f"format {FORMAT + 1}.*Upgrade mixpul",
    ),
    "format is no number": (lambda t, d: d.update(format="x"), "not a mixpul model"),
    "no format": (lambda t, d: drop(d, "format"), "not a mixpul model"),
    "missing tensor": (lambda t, d: drop(t, FIRST), "not a whole mixpul model"),
    "missing network": (
        lambda t, d: [drop(t, key) for key in list(t) if key.startswith("net_.1.")],
        "not a whole mixpul model",
    ),
    "no classes": (lambda t, d: drop(t, "classes_"), "not a whole mixpul model"),
    "tensor of another shape": (
        lambda t, d: t.update({FIRST: t[FIRST].T.contiguous()}),
        "not a whole mixpul model",
    ),
    "tensor of no network": (
        lambda t, d: t.update({"net_.0.nonsense": torch.zeros(1)}),
        "not a whole mixpul model",
    ),
    "unknown parameter": (
        lambda t, d: d["params"].update(nonsense=1),
        "not a whole mixpul model.*nonsense",
    ),
    "no parameters": (lambda t, d: drop(d, "params"), "not a whole mixpul model.*params"),
    "parameters are a list": (lambda t, d: d.update(params=[]), "not a whole mixpul model"),
    "unknown network": (lambda t, d: d["params"].update(net="nonsense"), "nonsense"),
    "unknown miner": (
        lambda t, d: d["params"].update(miner={"part": "Popen", "params": {"args": "true"}}),
        "not a whole mixpul model.*Popen",
    ),
    "another row shape": (lambda t, d: d.update(row_shape=[5]), "not a whole mixpul model"),
    "row shape of text": (lambda t, d: d.update(row_shape=["a"]), "not a whole mixpul model"),
    "no row shape": (lambda t, d: drop(d, "row_shape"), "not a whole mixpul model.*row_shape"),
    "nothing learned": (lambda t, d: d.update(learned={}), "not a whole mixpul model"),
    "no networks": (
        lambda t, d: d["learned"]["net_"].update(n_members=0),
        "not a whole mixpul model",
    ),
    "a method among the tensors": (
        lambda t, d: t.update(predict=torch.zeros(1)),
        "not a whole mixpul model",
    ),
    "a method among what was learned": (
        lambda t, d: d["learned"].update(predict="nonsense"),
        "not a whole mixpul model",
    ),
    "insides of the object": (
        lambda t, d: d["learned"].update(__dict__={}),
        "not a whole mixpul model",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_does_not_add_up_is_refused(saved, change):
    how, message = CHANGES[change]
    rewrite(saved, how)
    assert_refused(saved, message)


def of_table(change):
    return lambda tensors, description: change(description["table"])


TABLE_CHANGES = {
    "no steps": of_table(lambda table: drop(table, "steps")),
    "three steps": of_table(lambda table: table["steps"].append("more")),
    "no parameters": of_table(lambda table: drop(table, "params")),
    "unknown parameter": of_table(lambda table: table["params"].update(nonsense=1)),
    "nothing learned": of_table(lambda table: table.update(learned={})),
    "no plan": of_table(lambda table: drop(table["learned"], "plan_")),
    "another plan": of_table(lambda table: table["learned"]["plan_"].pop()),
    "plan of nonsense": of_table(lambda table: table["learned"].update(plan_=["nonsense"])),
    "a method": of_table(lambda table: table["learned"].update(transform="nonsense")),
    "insides of the object": of_table(lambda table: table["learned"].update(__dict__={})),
    "a list": lambda tensors, description: description.update(table=[1]),
}


@pytest.mark.parametrize("change", TABLE_CHANGES)
def test_a_file_whose_table_does_not_add_up_is_refused(saved_pipeline, change):
    rewrite(saved_pipeline, TABLE_CHANGES[change])
    assert_refused(saved_pipeline, "not a whole mixpul model")


def test_rewriting_without_a_change_is_harmless(saved, model, pu):
    rewrite(saved, lambda tensors, description: None)
    np.testing.assert_array_equal(load(saved).predict_proba(pu.X), model.predict_proba(pu.X))


class Trap:
    """Its pickle creates a file when it is loaded."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.mark.parametrize("dump", [pickle.dump, torch.save])
def test_a_pickle_is_refused_and_nothing_in_it_runs(path, tmp_path, dump):
    marker = tmp_path / "ran"
    with path.open("wb") as file:
        dump(Trap(marker), file)
    assert_refused(path, BROKEN)
    assert not marker.exists()
    # The trap works:
    if dump is pickle.dump:
        pickle.loads(path.read_bytes())
    else:
        torch.load(path, weights_only=False)
    assert marker.exists()


def test_a_missing_file_is_reported_as_such(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model file '.*nothing-here'"):
        load(tmp_path / "nothing-here")
    with pytest.raises(FileNotFoundError, match="no model file"):
        load(tmp_path)


# -- writing --------------------------------------------------------------------------------


def test_an_unfitted_model_is_not_saved(quick, path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        save(quick(), path)
    assert not path.exists()


class Derived(MixPULClassifier):
    """A class that load would not know."""


@pytest.mark.parametrize("thing", [LogisticRegression(), None, "text", MixPULClassifier, Derived()])
def test_only_classifiers_of_ours_are_saved(thing, path):
    with pytest.raises(TypeError, match="save takes a fitted mixpul classifier"):
        save(thing, path)
    assert not path.exists()


def test_a_missing_folder_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder '.*nowhere' .*create it first"):
        save(model, tmp_path / "nowhere" / "model")
    assert not (tmp_path / "nowhere").exists()


def fail(error):
    def failing(*args, **settings):
        raise error

    return failing


@contextmanager
def full_while_writing(target):
    file = io.BytesIO()
    file.write = fail(OSError(28, "No space left on device"))
    partial = target.with_suffix(".partial")
    partial.touch()
    yield partial, file


FAILURES = {
    "full disk while writing": ("_open_partial", full_while_writing, OSError),
    "full disk at fsync": ("os.fsync", fail(OSError(28, "No space left on device")), OSError),
    "no rename": ("os.replace", fail(PermissionError(13, "Permission denied")), PermissionError),
    "interrupted": ("os.fsync", fail(KeyboardInterrupt()), KeyboardInterrupt),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("exists", [True, False], ids=["over an old file", "to a new file"])
def test_a_file_is_written_whole_or_not_at_all(pu, quick, path, monkeypatch, failure, exists):
    model, other = quick().fit(pu.X, pu.y), quick(random_state=1).fit(pu.X, pu.y)
    if exists:
        save(model, path)
    before = list(path.parent.iterdir())
    name, replacement, error = FAILURES[failure]
    with monkeypatch.context() as patch:
        patch.setattr(f"mixpul._util.files.{name}", replacement)
        with pytest.raises(error):
            save(other, path)
    assert list(path.parent.iterdir()) == before
    if exists:
        np.testing.assert_array_equal(load(path).predict_proba(pu.X), model.predict_proba(pu.X))
    save(other, path)
    np.testing.assert_array_equal(load(path).predict_proba(pu.X), other.predict_proba(pu.X))
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600), (0o002, 0o664)]
)
@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_the_permissions_of_a_file_follow_the_umask(model, path, umask, mode):
    before = os.umask(umask)
    try:
        save(model, path)
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_paths_may_be_text(model, path, pu):
    save(model, str(path))
    np.testing.assert_array_equal(load(str(path)).predict(pu.X), model.predict(pu.X))


# -- what a file says of itself -------------------------------------------------------------


def test_a_file_tells_what_is_in_it_without_building_the_model(saved_pipeline, monkeypatch):
    monkeypatch.setattr("mixpul.persistence.rebuild_model", fail(AssertionError("built the model")))
    about = describe(saved_pipeline)
    assert about["class"] == "MixPULClassifier"
    assert about["info"] == {"label": "fraud"}
    assert about["params"]["n_epochs"] == 3
    assert [entry["column"] for entry in about["table"]["report"]] == ["age", "city", "day"]
    # Two networks of 5 + 1 inputs, 8 units and 1 output.
    n_inputs = about["learned"]["n_features_in_"]
    assert about["n_parameters"] == 2 * (n_inputs * 8 + 8 + 8 + 1)
    assert about["tensors"]["net_.0.layers.1.weight"] == {"dtype": "F32", "shape": [8, n_inputs]}
    assert json.loads(json.dumps(about)) == about


def test_a_file_of_a_classifier_alone_has_no_table(saved):
    about = describe(saved)
    assert about["table"] is None
    assert about["info"] == {}


def test_what_is_no_model_file_is_not_described(tmp_path, path):
    with pytest.raises(FileNotFoundError, match="no model file"):
        describe(path)
    path.write_text("sepal_length,sepal_width\n")
    with pytest.raises(ValueError, match=BROKEN):
        describe(path)


@pytest.mark.parametrize("info", [{"a": object()}, {"a": (1, 2)}, {1: "a"}, {"a": {1, 2}}])
def test_info_holds_to_plain_only(model, path, info):
    with pytest.raises(TypeError, match="info must hold plain values"):
        save(model, path, info=info)
    assert not path.exists()


def test_equal_pipelines_give_equal_files(table, quick, tmp_path):
    for name in ("a", "b"):
        save(make_pipeline(TableInput(), quick()).fit(*table), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.fixture
def saved_vpu(pu, path):
    model = VPUClassifier(n_epochs=2, cross_fitting=2, random_state=0).fit(pu.X, pu.y)
    save(model, path)
    return model


def test_a_file_of_vpu_without_its_threshold_is_refused(saved_vpu, path):
    rewrite(path, lambda tensors, description: description["learned"].pop("threshold_"))
    with pytest.raises(ValueError, match="it has no 'threshold_'"):
        load(path)


def test_files_in_which_the_threshold_of_vpu_has_its_former_name_are_read(saved_vpu, path, pu):
    def rename(tensors, description):
        description["learned"]["cut_"] = description["learned"].pop("threshold_")

    rewrite(path, rename)
    loaded = load(path)
    assert loaded.threshold_ == loaded.cut_ == saved_vpu.cut_ != 0
    np.testing.assert_array_equal(loaded.decision_function(pu.X), saved_vpu.decision_function(pu.X))


def test_files_from_before_all_methods_had_a_threshold_are_read(path, pu):
    model = NNPUClassifier(prior=0.3, n_epochs=2, cross_fitting=2, random_state=0).fit(pu.X, pu.y)
    save(model, path)
    rewrite(path, lambda tensors, description: description["learned"].pop("threshold_"))
    np.testing.assert_array_equal(load(path).decision_function(pu.X), model.decision_function(pu.X))


def test_a_prior_estimator_with_a_scorer_of_ones_own_can_be_saved(path, pu):
    prior = BBEPrior(LogisticRegression(C=0.5), n_folds=3, random_state=0)
    model = NNPUClassifier(prior=prior, n_epochs=2, cross_fitting=2, random_state=0)
    save(model.fit(pu.X, pu.y), path)
    with pytest.warns(UserWarning, match=r"a prior of your own.*load\(path, prior=\.\.\.\)"):
        loaded = load(path)
    assert loaded.prior.n_folds == 3
    np.testing.assert_array_equal(loaded.decision_function(pu.X), model.decision_function(pu.X))
    assert load(path, prior=prior).prior is prior
