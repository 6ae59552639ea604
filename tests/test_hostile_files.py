"""Damaged and forged files: the short form of `make fuzz`; a loaded model and its file."""

import json
import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from fuzz_files import Fuzz
from hostile_files import (
    join_parts,
    list_kinds,
    list_places,
    load_kind,
    make_rows,
    read_parts,
    write_models,
)
from hostile_others import OTHERS, TRIALS_OF_RESULTS, perform
from mixpul import load
from mixpul._util.errors import DamagedFile
from mixpul._util.json_values import MOST_NESTED, read_json
from mixpul._util.printable import make_printable
from mixpul._util.schema import Array, ListOf, MapOf, Maybe, Number, Record, Text, check_value
from mixpul.paper.runs import plan, read_results, run
from mixpul.persistence import describe

KINDS = list(list_kinds())


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder


@pytest.fixture(scope="module")
def fuzz(models):
    fuzz = Fuzz(models)
    yield fuzz
    fuzz.reader.stop()


def assert_good(fuzz):
    failures, fuzz.failures = fuzz.failures, []
    assert not failures
    assert fuzz.peak < 1024, "megabytes"


# -- the short form of `make fuzz` ----------------------------------------------------------


def test_good_files_pass_unharmed(fuzz, models):
    for name in KINDS:
        content = (models / f"{name}.mixpul").read_bytes()
        assert fuzz.try_file(content, "mutated", name)["word"] == "same", name


def test_crafted_files_are_refused_or_predict_something(fuzz):
    fuzz.craft_models(KINDS, every=11)
    assert_good(fuzz)


def test_files_forged_at_random_are_refused_or_predict_something(fuzz):
    fuzz.forge_models(KINDS, 60, np.random.default_rng(0))
    assert_good(fuzz)


def test_every_value_of_a_description_can_be_forged():
    """Numbers once stopped the search for places, and all descriptions were left as they were."""
    found = list(list_places({"a": 1, "b": [2, {"c": "text"}], "d": {}}))
    expected = [(), ("a",), ("b",), ("b", 0), ("b", 1), ("b", 1, "c"), ("d",)]
    assert found == expected


def test_mutated_files_are_refused_or_the_same(fuzz):
    fuzz.mutate_models(KINDS, 100, np.random.default_rng(0))
    assert_good(fuzz)


def test_other_files_that_are_mutated_are_refused_or_the_same(fuzz):
    fuzz.mutate_others(36, np.random.default_rng(0))
    assert_good(fuzz)


def test_what_once_failed_does_not_fail_again(fuzz):
    fuzz.repeat_corpus()
    assert_good(fuzz)


def test_the_reader_tells_a_signal_and_a_hang(fuzz, monkeypatch):
    """The net has no holes: a child that dies or sleeps is seen."""
    fuzz.reader.stop()
    for code, word in (
        ("import os; os.abort()", "signal"),
        ("import time; time.sleep(60)", "hang"),
    ):
        child = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.stdin.readline(); {code}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        fuzz.reader.process = child
        monkeypatch.setattr("fuzz_files.SECONDS", 3)
        assert fuzz.reader.ask({})["word"] == word


# -- a loaded model is a copy ---------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_a_loaded_model_does_not_follow_its_file(models, tmp_path, name):
    """Overwritten in place it changed predictions; truncated it killed the process."""
    path = tmp_path / "model"
    content = (models / f"{name}.mixpul").read_bytes()
    path.write_bytes(content)
    model = load_kind(path, name)
    with path.open("r+b") as file:
        file.write(bytes(len(content)))
    X, _ = make_rows(list_kinds()[name][1])
    expected = np.load(models / f"{name}.npy")
    np.testing.assert_array_equal(model.decision_function(X), expected)
    os.truncate(path, 0)
    np.testing.assert_array_equal(model.decision_function(X), expected)


def test_a_file_cannot_name_a_checkpoint(models, tmp_path):
    tensors, description = read_parts((models / "mixpul.mixpul").read_bytes(), tmp_path)
    assert "checkpoint" not in description["params"]
    description["params"]["checkpoint"] = str(tmp_path / "precious")
    (tmp_path / "model").write_bytes(join_parts(tensors, description))
    assert load(tmp_path / "model").checkpoint is None
    assert load(tmp_path / "model", checkpoint="mine").checkpoint == "mine"


def test_sizes_are_bounded_by_the_bytes_that_are_there(models, tmp_path):
    """A file of 7.5 kB asked for 3.8 GB."""
    tensors, description = read_parts((models / "mixpul.mixpul").read_bytes(), tmp_path)
    description["params"]["net"] = [30000, 30000]
    (tmp_path / "model").write_bytes(join_parts(tensors, description))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DamagedFile, match="do not fit the network"):
        load(tmp_path / "model")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024
    assert describe(tmp_path / "model")["params"]["net"] == [30000, 30000]


# -- the validator --------------------------------------------------------------------------

GOOD = [
    (Number(0, 1), 0.5),
    (Number(whole=True), np.int64(3)),
    (Maybe(Text()), None),
    (ListOf(Number(), 1, 2), [1]),
    (MapOf(Text()), {"a": "b"}),
    (Record({"a": Text()}, {"b": Text()}), {"a": "x", "c": 3}),
    (Array("float", (2, None)), np.zeros((2, 5), dtype=np.float32)),
    (Array("text", ("n",)), np.array(["a"], dtype=object)),
]
BAD = [
    (Number(0, 1), True),
    (Number(0, 1), 1.01),
    (Number(0, above=True), 0),
    (Number(), float("nan")),
    (Number(), float("inf")),
    (Number(), 10**400),
    (Number(whole=True), 1.0),
    (Text(), 1),
    (ListOf(Text()), ("a",)),
    (ListOf(Text()), [1]),
    (ListOf(Text(), 2), ["a"]),
    (MapOf(Text()), {1: "a"}),
    (Record({"a": Text()}), {}),
    (Record({}, {"b": Text()}), {"b": 1}),
    (Array("float", (2, None)), np.zeros((2, 0))),
    (Array("float", (2, None)), np.zeros(2)),
    (Array("float", (None,)), np.array([np.nan])),
    (Array("float", (None,)), np.array([1])),
    (Array("whole", (None,), low=0), np.array([-1])),
    (Array("text", (None,)), np.array(["a", 1], dtype=object)),
    (Array("float", (None,)), [1.0]),
]


@pytest.mark.parametrize(("spec", "value"), GOOD)
def test_a_value_like_its_schema_passes(spec, value):
    check_value(value, spec, "it")


@pytest.mark.parametrize(("spec", "value"), BAD)
def test_a_value_unlike_its_schema_is_refused(spec, value):
    with pytest.raises(DamagedFile, match=r"it|'it|a'|b'"):
        check_value(value, spec, "it")


def test_shapes_that_name_a_size_must_agree():
    spec = Record({"a": Array("float", ("n",)), "b": Array("float", ("n", 2))})
    check_value({"a": np.zeros(3), "b": np.zeros((3, 2))}, spec)
    with pytest.raises(DamagedFile, match=r"'b' has the shape \(4, 2\); expected \(3, 2\)"):
        check_value({"a": np.zeros(3), "b": np.zeros((4, 2))}, spec)


@pytest.mark.parametrize(
    "text",
    ["[" * 100 + "]" * 100, "[" * 100_000, b"\xff", "{", "9" * 5000, "[" + "1," * 5_000_001 + "1]"],
)
def test_json_that_cannot_be_read_safely_is_refused(text):
    with pytest.raises(DamagedFile):
        read_json(text)
    assert read_json("[" * MOST_NESTED + "]" * MOST_NESTED)


def test_what_is_printed_has_no_codes_for_a_terminal():
    assert make_printable("Zürich 東京") == "Zürich 東京"
    shown = make_printable("\x1b[2J\r\x9b1m\u202e\ud800")
    assert shown.isprintable()
    assert str(DamagedFile("a\x1b[31m")) == "a\\x1b[31m"


# -- results --------------------------------------------------------------------------------


def test_a_damaged_result_is_named_and_its_trial_runs_again(tmp_path):
    trials = TRIALS_OF_RESULTS
    run(trials, perform, tmp_path)
    path = sorted((tmp_path / "uci").glob("*.json"))[1]
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"auc": 0.999}))
    with pytest.raises(DamagedFile, match=f"{path.name}.*does not match its checksum"):
        read_results(tmp_path, "uci")
    with pytest.warns(UserWarning, match=f"{path.name}.*runs again"):
        left = plan(trials, tmp_path).left
    assert [trial.id for trial in left] == [record["id"]]
    with pytest.warns(UserWarning, match=path.name):
        run(trials, perform, tmp_path)
    assert len(read_results(tmp_path, "uci")) == len(trials)
    assert json.loads(path.read_text())["auc"] == record["auc"]


def test_results_of_earlier_versions_have_no_checksum_and_are_read(tmp_path):
    run(TRIALS_OF_RESULTS, perform, tmp_path)
    path = next((tmp_path / "uci").glob("*.json"))
    record = json.loads(path.read_text())
    del record["sha256"]
    path.write_text(json.dumps(record))
    assert len(read_results(tmp_path, "uci")) == len(TRIALS_OF_RESULTS)


def test_a_damaged_checkpoint_is_refused_and_stays(tmp_path):
    path = OTHERS["checkpoint"].write(tmp_path)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    word, sentence = OTHERS["checkpoint"].read(path)
    assert word == "refused"
    assert "does not match its checksum" in sentence
    assert path.read_bytes() == bytes(content)
