"""Tables of users: reading, labels, preparation, scores in a stream, and all that may be wrong."""

import gzip
import io
import json
import os
import subprocess
import sys
import threading
import warnings
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from pyarrow import feather
from pyarrow import parquet as pq
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mixpul import MixPULClassifier, datasets, load, save
from mixpul.tables import (
    TableInput,
    _reading,
    leaks,
    read_table,
    score_stream,
    split_label,
    stream_table,
    write_table,
)
from mixpul.tables.plans import _compute_arcsinh

N = 400


@pytest.fixture
def table():
    """Every kind of column, and a label that depends on some of them."""
    rng = np.random.default_rng(0)
    truth = rng.random(N) < 0.4
    return pd.DataFrame(
        {
            "id": [f"k{i}" for i in range(N)],
            "age": rng.normal(40, 10, N) + 10 * truth,
            "income": rng.lognormal(10, 1.5, N),
            "visits": np.where(rng.random(N) < 0.3, np.nan, rng.poisson(3, N)),
            "member": rng.random(N) < 0.5,
            "city": rng.choice(["Rome", "Oslo", "Bonn"], N, p=[0.6, 0.3, 0.1]),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.uniform(0, 900, N), "D"),
            "nothing": np.nan,
            "one": 1,
            "label": (truth & (rng.random(N) < 0.5)).astype(int),
        }
    )


def batches_of(frame, n_rows=100):
    return pa.Table.from_pandas(frame, preserve_index=False).to_batches(n_rows)


def together(batches):
    return pa.Table.from_batches(list(batches)).to_pandas()


def refusal(call, *args, error=ValueError, **settings):
    """The sentence with which something is refused."""

    def used():
        list(call(*args, **settings))  # a stream begins when it is read

    with pytest.raises(error) as caught:
        used()
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


# -- reading --------------------------------------------------------------------------------

CELLS = {"a": [1, 2, 3], "b": ["x", "y,z", 'q"r'], "c": [0.5, None, 2.5]}


def written(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def save_as(path):
    frame = pd.DataFrame(CELLS)
    text = frame.to_csv(index=False).encode()
    match "".join(path.suffixes):
        case ".csv":
            path.write_bytes(text)
        case ".csv.gz":
            path.write_bytes(gzip.compress(text))
        case ".csv.zst":
            path.write_bytes(pa.compress(text, codec="zstd", asbytes=True))
        case ".parquet":
            frame.to_parquet(path)
        case ".feather":
            feather.write_feather(frame, path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.zst", ".parquet", ".feather"])
def test_the_same_table_comes_out_of_every_format_whole_and_in_pieces(tmp_path, suffix):
    path = save_as(tmp_path / f"table{suffix}")
    expected = pd.DataFrame(CELLS)
    pd.testing.assert_frame_equal(read_table(path), expected)
    pd.testing.assert_frame_equal(together(stream_table(path)), expected)
    chosen = {"c": "number", "b": "text"}
    pd.testing.assert_frame_equal(read_table(path, kinds=chosen), expected[["c", "b"]])
    pd.testing.assert_frame_equal(together(stream_table(path, kinds=chosen)), expected[["c", "b"]])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    frame = pd.DataFrame({"a": ["x, y", "z; w"], "b": ["1|2", "t\tu"], "c": [1.5, 2.5]})
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False, sep=delimiter)
    pd.testing.assert_frame_equal(read_table(path), frame)


def test_a_delimiter_a_decimal_comma_and_words_for_missing_can_be_given(tmp_path):
    path = written(tmp_path / "table.csv", "a:b\n1,5:?\n2,5:7\n")
    frame = read_table(path, delimiter=":", decimal=",", missing=["?"])
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"a": [1.5, 2.5], "b": [np.nan, 7.0]}))


@pytest.mark.parametrize("name", ["t.tsv", "t.tab", "t.TAB"])
def test_tabs_separate_cells_where_the_name_says_so(tmp_path, name):
    # By their number commas would be the better delimiter.
    text = "city, country\tday, month, year\nRome, Italy\t1, 2, 2024\nOslo, Norway\t3, 4, 2025\n"
    path = written(tmp_path / name, text)
    for frame in (read_table(path), together(stream_table(path))):
        assert frame.columns.tolist() == ["city, country", "day, month, year"]
        assert frame["city, country"].tolist() == ["Rome, Italy", "Oslo, Norway"]


def test_a_file_with_the_wrong_name_for_its_delimiter_is_read_all_the_same(tmp_path):
    assert read_table(written(tmp_path / "t.tsv", "a,b\n1,2\n")).columns.tolist() == ["a", "b"]


def test_a_tab_may_be_typed_as_it_is_written_in_programs(tmp_path):
    path = written(tmp_path / "t.csv", "a\tb\n1\tx,y\n")
    assert read_table(path, delimiter=r"\t")["b"].tolist() == ["x,y"]


@pytest.mark.parametrize("setting", [{"delimiter": ";;"}, {"decimal": "point"}])
def test_delimiters_and_decimal_signs_are_one_character(tmp_path, setting):
    path = written(tmp_path / "t.csv", "a;b\n1;2\n")
    (value,) = setting.values()
    assert f"is one character, such as a comma; got {value!r}" in refusal(
        read_table, path, **setting
    )


def test_a_table_of_one_column_and_cells_with_line_breaks_are_read(tmp_path):
    path = written(tmp_path / "table.csv", 'text\n"first\nsecond"\nthird\n')
    assert read_table(path)["text"].tolist() == ["first\nsecond", "third"]


def test_other_encodings_are_read_when_named(tmp_path):
    for encoding in ("latin-1", "utf-16", "utf-8-sig"):
        path = written(tmp_path / "table.csv", "Straße,b\nGrün,1\n".encode(encoding))
        given = "utf-8" if encoding == "utf-8-sig" else encoding
        assert read_table(path, encoding=given)["Straße"].tolist() == ["Grün"]
        assert together(stream_table(path, encoding=given))["Straße"].tolist() == ["Grün"]


def test_a_table_that_was_read_can_be_changed(tmp_path):
    for suffix in (".csv", ".parquet", ".feather"):
        frame = read_table(save_as(tmp_path / f"table{suffix}"))
        frame.loc[0, "a"] = 7
        assert frame["a"].tolist() == [7, 2, 3]


def test_kinds_decide_how_a_csv_is_read(tmp_path):
    path = written(tmp_path / "table.csv", "code,flag,n\n007,1,1\n008,0,2\n")
    kinds = {"n": "number", "code": "text", "flag": "boolean"}
    for frame in (read_table(path, kinds=kinds), together(stream_table(path, kinds=kinds))):
        assert frame.columns.tolist() == ["n", "code", "flag"]
        assert frame["code"].tolist() == ["007", "008"]
        assert frame["flag"].tolist() == [True, False]
        assert frame["n"].dtype == np.float64


def test_a_file_is_streamed_in_pieces(tmp_path):
    frame = pd.DataFrame({"a": np.arange(200_000.0), "b": ["some text"] * 200_000})
    for name in ("t.parquet", "t.feather", "t.csv"):
        path = tmp_path / name
        write_table(pa.Table.from_pandas(frame).to_batches(), path)
        sizes = [batch.num_rows for batch in stream_table(path)]
        assert sum(sizes) == 200_000
        assert len(sizes) > 1 or name == "t.csv"
        np.testing.assert_array_equal(read_table(path)["a"], frame["a"])


def run_python(program, *args, stdin=b""):
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, args)], input=stdin, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_standard_input_is_read_as_csv_and_standard_output_written():
    program = """
from mixpul.tables import stream_table, write_table
write_table(stream_table("-", kinds={"b": "text", "a": "number"}), "-")
"""
    rows = "".join(f"{i},x{i}\n" for i in range(300_000))  # longer than what is looked at first
    out = run_python(program, stdin=("a,b\n" + rows).encode())
    frame = pd.read_csv(io.StringIO(out))
    assert frame.columns.tolist() == ["b", "a"]
    np.testing.assert_array_equal(frame["a"], np.arange(300_000))


def test_a_named_pipe_is_read_once(tmp_path):
    rows = "".join(f"{k},x\n" for k in range(1000))
    for k, read in enumerate((read_table, lambda path: together(stream_table(path)))):
        # A pipe for each: what is written into one that is still open would go to its old reader.
        pipe = tmp_path / f"pipe{k}"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=("a,b\n" + rows,))
        writer.start()
        assert read(pipe)["a"].tolist() == list(range(1000))
        writer.join()


def test_a_bad_row_of_a_slow_standard_input_ends_the_process_in_order():
    # Arrow still waits for the rest of the input when the interpreter is about to go.
    program = """
import io, sys, time
from types import SimpleNamespace
from mixpul.tables import stream_table

class Slow(io.BytesIO):
    def read(self, n=-1):
        time.sleep(0.1)
        return super().read(n)

sys.stdin = SimpleNamespace(buffer=Slow(b"a,b\\n1,2\\n3\\n" + b"1,2\\n" * 3_000_000))
try:
    list(stream_table("-"))
except ValueError as error:
    print(error)
"""
    out = run_python(program)  # which looks at the return code
    assert "of standard input has 1 cell where the header has 2" in out


# -- what can be wrong with a file ----------------------------------------------------------

# Name, content, words of the refusal.
BAD_FILES = {
    "empty": ("t.csv", b"", "'t.csv' is empty.*column names was expected"),
    "blank lines": ("t.csv", b"\n\n \n", "'t.csv' is empty"),
    "no rows": ("t.csv", b"a,b\n", "'t.csv' has no rows"),
    "no header": ("t.csv", b"1,2.5\n3,4\n", "no header.*'1', '2.5'.*write the column names"),
    "ragged": ("t.csv", b"a,b\n1,2\n3,4,5\n6,7\n", "Row 3 of 't.csv' has 3 cells .* header has 2"),
    "short row": ("t.csv", b"a,b,c\n1,2,3\n3,4\n", "Row 3 of 't.csv' has 2 cells .* header has 3"),
    "wrong encoding": (
        "t.csv",
        "a,ü\n1,x\n2,".encode() + b"\xe9\n",
        r"'t.csv' is not written in utf-8: byte 0xe9 in line 3; pass its encoding \(--encoding\), "
        "e.g. latin-1",
    ),
    "zeros": ("t.csv", b"a,b\n1,\0\n", "not text in utf-8: it has zero bytes"),
    "same name twice": ("t.csv", b"a,b,a\n1,2,3\n", "more than one column named 'a'.*rename"),
    "Parquet named CSV": ("t.csv", b"PAR1....PAR1", "should be CSV.*Parquet data; rename"),
    "Excel named CSV": ("t.csv", b"PK\x03\x04....", "Excel data; rename it to end in .xlsx"),
    "gzip named CSV": ("t.csv", gzip.compress(b"a\n1\n"), "gzip data; rename it to end in .gz"),
    "CSV named gzip": ("t.csv.gz", b"a,b\n1,2\n", "should be gzip by its name"),
    "CSV named Parquet": ("t.parquet", b"a,b\n1,2\n", "should be Parquet.*rename.*.csv"),
    "CSV named Feather": ("t.feather", b"a,b\n1,2\n", "should be Feather.*rename.*.csv"),
    "cut Parquet": ("t.parquet", b"PAR1\0\0\0\0", "'t.parquet' is broken or not a Parquet file"),
    "cut Feather": ("t.feather", b"ARROW1\0\0\0\0", "'t.feather' is broken or not a Feather file"),
    "cut gzip": ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 99)[:-20], "'t.csv.gz' is broken"),
}  # fmt: skip


@pytest.mark.parametrize("read", [read_table, stream_table])
@pytest.mark.parametrize("what", BAD_FILES)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path, monkeypatch, read, what):
    name, content, words = BAD_FILES[what]
    monkeypatch.chdir(tmp_path)
    written(tmp_path / name, content)
    sentence = refusal(read, name, error=(ValueError, OSError))
    assert pd.Series([sentence]).str.contains(words).all(), sentence


@pytest.mark.parametrize("read", [read_table, stream_table])
def test_missing_files_and_folders_are_named(tmp_path, read):
    written(tmp_path / "people.csv", "a\n1\n")
    sentence = refusal(read, tmp_path / "poeple.csv", error=FileNotFoundError)
    assert "There is no file" in sentence
    assert "did you mean 'people.csv'?" in sentence
    assert "check the path" in refusal(read, tmp_path / "no" / "x.csv", error=FileNotFoundError)
    (tmp_path / "empty").mkdir()
    assert "empty" in refusal(read, tmp_path / "empty")


@pytest.mark.parametrize("read", [read_table, stream_table])
def test_an_unknown_encoding_is_named(tmp_path, read):
    path = written(tmp_path / "t.csv", "a,b\n1,2\n")
    assert "no encoding 'klingon'" in refusal(read, path, encoding="klingon")
    path = written(tmp_path / "t.csv", "a,b\n1,é\n")
    assert "is not written in ascii: byte 0xc3 in line 2" in refusal(read, path, encoding="ascii")


@pytest.mark.parametrize("read", [read_table, stream_table])
def test_a_cell_of_another_kind_is_named(tmp_path, read):
    path = written(tmp_path / "t.csv", "id,age\nx,31\ny,old\n")
    sentence = refusal(read, path, kinds={"age": "number"})
    assert "In column 'age' of" in sentence
    assert "a number was expected, but 'old' came" in sentence
    sentence = refusal(read, path, kinds={"id": "boolean"})
    assert "column 'id'" in sentence
    assert "true or false was expected, but 'x' came" in sentence


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_missing_and_doubled_columns_are_named(tmp_path, suffix):
    frame = pa.table([[1.0], [2.0]], names=["Age", "height"])
    path = tmp_path / f"t{suffix}"
    write_table(frame.to_batches(), path)
    sentence = refusal(read_table, path, kinds={"age": "number", "height": "number"})
    assert "has no column 'age'; did you mean 'Age'?" in sentence
    doubled = pa.table([[1.0], [2.0]], names=["a", "a"])
    write_table(doubled.to_batches(), path)
    assert "more than one column named 'a'" in refusal(read_table, path)
    assert "more than one column named 'a'" in refusal(stream_table, path)


# -- labels ---------------------------------------------------------------------------------

TWENTY = 20  # so that nothing is said of few positives

LABELS = {
    "1 and 0": ([1, 0], None, 1),
    "1 and -1": ([1, -1], None, 1),
    "floats": ([0.0, 1.0], None, 1.0),
    "other numbers": ([2.0, 5.0], 2, 2.0),
    "booleans": ([True, False], None, True),
    "yes and no": (["No", "Yes"], None, "Yes"),
    "words": (["unlabeled", "positive"], None, "positive"),
    "numbers as text": (["0", "1"], None, "1"),
    "named": (["bad", "good"], "bad", "bad"),
    "named number": ([0, 1], 0, 0),
    "number named by text": ([0, 1], "0", 0),
    "float named by text": ([0.0, 1.0], "1", 1.0),
    "boolean named by text": ([True, False], "false", False),
}


@pytest.mark.parametrize("what", LABELS)
def test_the_positive_value_is_found(what):
    values, given, expected = LABELS[what]
    frame = pd.DataFrame({"x": range(2 * TWENTY), "y": values * TWENTY})
    X, is_positive, positive = split_label(frame, "y", positive=given)
    assert X.columns.tolist() == ["x"]
    assert positive == expected
    assert type(positive) is type(expected)
    assert is_positive.dtype == bool
    np.testing.assert_array_equal(is_positive, [value == expected for value in frame["y"]])


BAD_LABELS = {
    "one value": ([1] * 40, {}, "is 1 in all 40 rows.*add rows of the other kind"),
    "three values": ([0, 1, 2] * 20, {}, "has 3 values .0, 1, 2.*say which one.*--positive"),
    "text": (["a", "b"] * 20, {}, "'a' and 'b'; say which one.*--positive"),
    "1 and 2": ([1, 2] * 20, {}, "1 and 2; say which one.*--positive"),
    "other numbers": ([2.0, 5.5] * 20, {}, "2 and 5.5; say which one.*--positive"),
    "dates": ([datetime(2024, 1, 1), datetime(2024, 1, 2)] * 20, {}, "say which one.*--positive"),
    "wrong positive": ([0, 1] * 20, {"positive": "yes"}, "0 and 1, .* said to be 'yes'"),
    "gaps": ([1, None] * 20, {}, "missing in 20 of 40 rows; if that means unlabeled.*--missing"),
    "all gaps": ([None] * 9, {"missing_is_unlabeled": True}, "missing in all 9 rows"),
    "two values and gaps": ([0, 1, None] * 9, {"missing_is_unlabeled": True}, "2 values and gaps"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_LABELS)
def test_a_bad_label_column_is_refused_in_a_sentence(what):
    values, settings, words = BAD_LABELS[what]
    frame = pd.DataFrame({"x": range(len(values)), "y": values})
    sentence = refusal(split_label, frame, "y", **settings)
    assert pd.Series([sentence]).str.contains(words).all(), sentence


def test_an_absent_label_column_is_named_with_what_comes_near():
    frame = pd.DataFrame({"x": [1], "Fraud": [1]})
    assert "no column 'fraud'; did you mean 'Fraud'?" in refusal(split_label, frame, "fraud")
    assert "no column 'zzz'; it has 'x', 'Fraud'" in refusal(split_label, frame, "zzz")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([np.nan] * 3, "is missing in all 3 rows"),
        ([1.0, 2.0, 3.0, np.nan], "has 3 values and gaps (1, 2, 3)"),
        ([0.0, 0.0], "is 0 in all 2 rows"),
    ],
)
def test_what_is_wrong_with_labels_is_said_as_they_look_in_the_file(values, words):
    assert words in refusal(split_label, pd.DataFrame({"x": 1, "y": values}), "y")


@pytest.mark.parametrize("value", [1, True, "yes", 0])
def test_missing_labels_are_unlabeled_when_asked(value):
    frame = pd.DataFrame({"x": range(60), "y": pd.Series([value, None, None] * 20, dtype=object)})
    label = split_label(frame, "y", missing_is_unlabeled=True)
    assert label.positive == value
    np.testing.assert_array_equal(label.is_positive, np.arange(60) % 3 == 0)


@pytest.mark.parametrize("label", ["1", 1])
def test_a_label_column_may_be_named_by_a_number(label):
    frame = pd.DataFrame({0: range(40), 1: [1, 0] * 20, "more": 3})
    X, is_positive, _ = split_label(frame, label)
    assert X.columns.tolist() == [0, "more"]
    np.testing.assert_array_equal(is_positive, np.arange(40) % 2 == 0)
    assert "no column '7'; it has '0', '1', 'more'" in refusal(split_label, frame, 7)


@pytest.mark.parametrize("names", [["y", "y"], [1, "1"]])
def test_two_label_columns_of_one_name_are_refused(names):
    frame = pd.DataFrame([[1, 0], [0, 1]] * 20, columns=names)
    sentence = refusal(split_label, frame, names[0])
    assert f"The table has more than one column named {str(names[0])!r}" in sentence


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "string", "bool[pyarrow]"])
def test_labels_may_be_of_a_nullable_type(dtype):
    words = dtype == "string"
    values = ["yes", "no"] if words else [1, 0]
    column = pd.Series(values * 20, dtype=object).astype(dtype)
    label = split_label(pd.DataFrame({"x": range(40), "y": column}), "y")
    np.testing.assert_array_equal(label.is_positive, np.arange(40) % 2 == 0)
    assert label.positive == values[0]
    gaps = pd.Series([values[0], None] * 20, dtype=object).astype(dtype)
    label = split_label(pd.DataFrame({"x": 1, "y": gaps}), "y", missing_is_unlabeled=True)
    np.testing.assert_array_equal(label.is_positive, np.arange(40) % 2 == 0)


def test_five_positives_work_with_a_warning(quick):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=100), "y": np.arange(100) < 5})
    with pytest.warns(UserWarning, match="'y' has 5 labeled positives"):
        label = split_label(frame, "y")
    scores = (
        make_pipeline(TableInput(), quick()).fit(label.X, label.is_positive).predict_proba(label.X)
    )
    assert np.isfinite(scores).all()


# -- leaks ----------------------------------------------------------------------------------


def test_columns_that_give_the_label_away_are_found():
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.2
    noise = rng.normal(size=500)
    frame = pd.DataFrame(
        {
            "honest": noise + y,
            "high": noise + 10 * y,
            "low": noise - 10 * y,
            "missing": np.where(y, noise, np.nan),
            "middle": np.where(y, 0.0, np.where(noise > 0, noise + 1, noise - 1)),
            "word": np.where(y, "closed", rng.choice(["open", "new"], 500)),
            "date": pd.Timestamp("2024-01-01") + pd.to_timedelta(10 * y + rng.random(500), "D"),
            "flag": y,
            "gap in text": pd.Series(np.where(y, "x", None), dtype=object),
            "unique": [f"k{i}" for i in range(500)],
            "constant": 1,
            "empty": np.nan,
        }
    )
    found = leaks(frame, y)
    expected = {"high", "low", "missing", "middle", "word", "date", "flag", "gap in text"}
    assert {leak.column for leak in found} == expected
    assert all(0.99 < leak.pu_auc <= 1 for leak in found)
    assert [leak.pu_auc for leak in found] == sorted((leak.pu_auc for leak in found), reverse=True)
    assert str(found[0]).startswith(
        f"Column {found[0].column!r} alone tells labeled from unlabeled"
    )


def labels_of(n_labeled, n):
    return np.arange(n) < n_labeled


def test_a_column_filled_for_three_fifths_of_the_labeled_rows_and_no_other_is_found():
    y = labels_of(60, 2000)
    frame = pd.DataFrame({"refund": np.where(labels_of(36, 2000), np.arange(2000) + 0.5, np.nan)})
    (leak,) = leaks(frame, y)
    assert leak.pattern == ("is filled in", 36, 0)
    assert leak.pu_auc == pytest.approx(0.8)
    sentence = str(leak)
    assert sentence.startswith(
        "Column 'refund' is filled in for 36 of 60 labeled rows and for 0 of 1,940 unlabeled ones. "
    )
    assert "PU-AUC and recall look better than they are" in sentence
    assert "--drop 'refund'" in sentence


# 0 to 1999 in an order that has nothing to do with the labels; the ends are not among the first 60.
VALUES = np.random.default_rng(0).permutation(2000)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (lambda some: np.where(some, -999.0, VALUES), "is -999"),
        (lambda some: np.where(some, 5000.0 + VALUES, VALUES), "is above 1999"),
        (lambda some: np.where(some, -1.5 - VALUES, VALUES), "is below 0"),
        (lambda some: np.where(some, "closed", "open"), "is 'closed'"),
        (lambda some: pd.Series(np.where(some, None, "x"), dtype=object), "is missing"),
        (lambda some: some, "is true"),
        (lambda some: np.datetime64("2024-01-01") + 5 * some, "is 2024-01-06"),
        (lambda some: pd.Categorical(np.where(some, "b", "a"), ["a", "b", "unused"]), "is 'b'"),
    ],
)
def test_values_gaps_and_ranges_that_only_labeled_rows_have_are_found(values, text):
    y = labels_of(60, 2000)
    assert {0, 1999} <= set(VALUES[60:])
    (leak,) = leaks(pd.DataFrame({"c": values(labels_of(20, 2000))}), y)
    assert leak.pattern == (text, 20, 0)
    assert str(leak).startswith(f"Column 'c' {text} for 20 of 60 labeled rows")


def test_a_pattern_that_chance_or_half_labeled_positives_explain_is_not_named():
    y = labels_of(60, 2000)
    # 0.5 ** 4 is no evidence; 5 of 60 rows are too few to matter; 20 of 30 may be honest.
    few = leaks(pd.DataFrame({"c": np.where(labels_of(4, 2000), "x", "y")}), labels_of(12, 2000))
    rare = leaks(pd.DataFrame({"c": np.where(labels_of(5, 2000), "x", "y")}), y)
    shared = np.where(labels_of(20, 2000) | (np.arange(2000) >= 1990), "x", "y")
    assert few == rare == leaks(pd.DataFrame({"c": shared}), y) == []


@pytest.mark.parametrize("name", ["krvskp", "titanic", "spambase"])
@pytest.mark.parametrize("c", [0.05, 0.5])
def test_no_honest_column_is_named(name, c):
    X, truth = datasets.load(name, return_X_y=True)
    for seed in range(3):
        pu = datasets.make_pu(X, truth, c=c, random_state=seed)
        assert leaks(pu.X, pu.s) == []


# -- TableInput -----------------------------------------------------------------------------


def features(model, frame):
    names = model.get_feature_names_out()
    return dict(zip(names, model.transform(frame).T, strict=True))


def noted(model):
    return {entry["column"]: entry for entry in model.report_}


def test_every_kind_of_column_becomes_what_the_report_says(table):
    model = TableInput().fit(table.drop(columns="label"))
    assert model.get_feature_names_out().tolist() == [
        "age", "income", "visits", "visits=(missing)", "member",
        "city=Rome", "city=Oslo", "city=Bonn", "since", "since_day_sin",
        "since_day_cos", "since_week_sin", "since_week_cos", "since_year_sin", "since_year_cos",
    ]  # fmt: skip
    X = model.transform(table)
    assert X.dtype == np.float32
    assert np.isfinite(X).all()
    report = noted(model)
    assert [entry["column"] for entry in model.report_] == table.columns[:-1].tolist()
    assert report["id"]["note"] == "looks like an id: another text in every row"
    assert report["nothing"]["note"] == "all values are missing"
    assert report["one"]["note"] == "constant"
    assert "logarithmic" in report["income"]["note"]
    assert "logarithmic" not in report["age"]["note"]
    assert report["visits"]["missing"] == table["visits"].isna().mean()
    assert report["city"]["distinct"] == 3
    assert [
        f for e in model.report_ for f in e["features"]
    ] == model.get_feature_names_out().tolist()
    assert json.loads(json.dumps(model.report_)) == model.report_
    assert model.kinds_ == {
        "age": "number", "income": "number", "visits": "number", "member": "boolean",
        "city": "text", "since": "date",
    }  # fmt: skip


def test_numbers_are_standardised_and_gaps_get_the_median_and_a_mark():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan, 6.0]})
    model = TableInput().fit(frame)
    out = features(model, frame)
    present = np.array([1.0, 2.0, 3.0, 6.0])
    expected = (np.array([1.0, 2.0, 3.0, 2.5, 6.0]) - present.mean()) / present.std()
    np.testing.assert_allclose(out["x"], expected, rtol=1e-6)
    np.testing.assert_array_equal(out["x=(missing)"], [0, 0, 0, 1, 0])


def test_batches_and_whole_tables_are_encoded_alike(table, monkeypatch):
    model = TableInput().fit(table)
    batch = model.transform(table)
    monkeypatch.setattr("mixpul.tables._input.ROWS_PER_BATCH", 0)
    whole = model.transform(table)
    assert batch.flags.f_contiguous
    assert whole.flags.c_contiguous
    np.testing.assert_array_equal(batch, whole)


def make_single_columns(n=3000):
    """Numbers in single precision: light and heavy tails, far from zero, gaps, extremes."""
    rng = np.random.default_rng(0)
    plain = rng.normal(5, 2, n)
    heavy = np.exp(rng.normal(0, 2, n))
    extreme = rng.normal(0, 1, n)
    extreme[:4] = [np.inf, -np.inf, 3e38, -3e38]
    gaps = np.where(rng.random(n) < 0.1, np.nan, heavy)
    return pd.DataFrame(
        {
            "plain": plain,
            "heavy": heavy,
            "far": rng.normal(1e6, 3, n),
            "far and heavy": 1e5 + heavy,
            "extreme": extreme,
            "gaps": gaps,
            "small": heavy * 1e-38,
            "large": heavy * 1e33,
        },
        dtype=np.float32,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_logarithmic_scale_is_arcsinh_to_two_roundings_of_one(dtype):
    sizes = np.concatenate([[0], np.geomspace(1e-30, 1e15, 2001)]).astype(dtype)
    values = np.concatenate([sizes, -sizes])
    found = _compute_arcsinh(values.copy())
    wanted = np.arcsinh(values.astype(np.float64))
    np.testing.assert_allclose(
        found, wanted, rtol=2 * np.finfo(dtype).eps, atol=2 * np.finfo(dtype).eps
    )
    assert found.dtype == dtype
    assert (np.diff(found[: len(sizes)]) >= 0).all()
    odd = np.array([np.inf, -np.inf, np.nan], dtype)
    np.testing.assert_array_equal(_compute_arcsinh(odd.copy()), odd)


def test_single_precision_is_encoded_as_double_precision_is():
    table = make_single_columns()
    model = TableInput().fit(table)
    single, double = model.transform(table), model.transform(table.astype(np.float64))
    assert np.isfinite(single).all()
    np.testing.assert_allclose(single, double, atol=3e-6)
    # Gaps and extremes that were not there at fit.
    other = table[::-1].reset_index(drop=True)
    other.iloc[5:9] = np.nan
    other.iloc[9:11] = np.inf
    other.iloc[11:13] = -np.inf
    single, double = model.transform(other), model.transform(other.astype(np.float64))
    np.testing.assert_allclose(single, double, atol=3e-6)


@pytest.mark.parametrize("kind", ["float", "double", "int32", "int64", "uint8"])
@pytest.mark.parametrize("has_gaps", [False, True])
def test_numbers_of_a_record_batch_are_encoded_as_those_of_a_frame(kind, has_gaps):
    rng = np.random.default_rng(0)
    cells = [int(x) for x in np.exp(rng.normal(3, 0.7, 500)).clip(0, 255)]
    gaps = [None if has_gaps and k % 7 == 0 else cell for k, cell in enumerate(cells)]
    batch = pa.record_batch({"a": pa.array(gaps, kind), "b": pa.array(cells, kind)})
    frame = batch.to_pandas()
    model = TableInput().fit(frame)
    assert model.get_feature_names_out().tolist() == ["a", *["a=(missing)"] * has_gaps, "b"]
    np.testing.assert_array_equal(model.transform(batch), model.transform(frame))
    # Without the gaps that are marked, in another order and with a column more.
    full = pa.record_batch({"b": batch["b"], "c": pa.array(["x"] * 500), "a": batch["b"]})
    np.testing.assert_array_equal(model.transform(full), model.transform(full.to_pandas()))


@pytest.mark.parametrize(("n_columns", "n_rows"), [(1, 131_072), (32, 131_072), (64, 65_536)])
def test_batches_of_wide_tables_have_fewer_rows(n_columns, n_rows, tmp_path):
    assert _reading.choose_batch_rows(n_columns) == n_rows
    # Each row keeps its place in the passes of a classifier.
    assert all(_reading.choose_batch_rows(n) % 4096 == 0 for n in range(1, 2000))
    table = pa.table({f"x{j}": np.zeros(140_000, dtype=np.int8) for j in range(n_columns)})
    for suffix, write in [("parquet", pq.write_table), ("feather", feather.write_feather)]:
        write(table, tmp_path / f"t.{suffix}")
        batches = list(stream_table(tmp_path / f"t.{suffix}"))
        assert max(batch.num_rows for batch in batches) <= n_rows
        assert sum(batch.num_rows for batch in batches) == 140_000


def test_record_batches_need_the_columns_of_the_fit_once():
    batch = pa.record_batch({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 2.0]})
    model = TableInput().fit(batch.to_pandas())
    with pytest.raises(ValueError, match="'b'"):
        model.transform(batch.select(["a"]))
    twice = pa.RecordBatch.from_arrays([batch["a"], batch["b"], batch["b"]], names=["a", "b", "b"])
    with pytest.raises(ValueError, match="'b'"):
        model.transform(twice)
    with pytest.raises(ValueError, match="0 sample"):
        model.transform(batch.slice(0, 0))


def test_a_spread_of_zero_in_a_plan_is_no_division_by_zero():
    table = make_single_columns()[["heavy"]]
    model = TableInput().fit(table)
    model.plan_[0]["bend"][1] = 0.0  # as a file may say that was tampered with
    with np.errstate(all="ignore"):
        assert model.transform(table).shape == (len(table), 1)


def test_encoding_leaves_the_table_as_it_is():
    for dtype in (np.float32, np.float64):
        table = make_single_columns().astype(dtype)
        before = table.copy()
        TableInput().fit(table).transform(table)
        pd.testing.assert_frame_equal(table, before)


def test_parquet_files_have_dictionaries_of_texts_only(tmp_path):
    from pyarrow import parquet

    texts, scores = ["a", "b"] * 50, np.linspace(0, 1, 100, dtype=np.float32)
    rows = pa.table({"id": np.arange(100), "city": texts, "score": scores})
    write_table(rows.to_batches(), tmp_path / "scores.parquet")
    group = parquet.read_metadata(tmp_path / "scores.parquet").row_group(0)
    assert [group.column(j).has_dictionary_page for j in range(3)] == [False, True, False]
    assert parquet.read_table(tmp_path / "scores.parquet").equals(rows)


def test_a_gap_where_there_was_none_at_fit_gets_the_median(table):
    model = TableInput().fit(table[["age", "member", "city", "since"]])
    row = table[["age", "member", "city", "since"]].iloc[:1].astype(object)
    row.loc[:, :] = None
    out = features(model, row)
    middle = features(model, pd.DataFrame({**table.iloc[:1], "age": table["age"].median()}))
    assert out["age"] == middle["age"]
    assert [out[f"city={city}"].item() for city in ("Rome", "Oslo", "Bonn")] == [0, 0, 0]
    assert out["since_year_sin"] == out["since_year_cos"] == 0
    assert np.isfinite(list(out.values())).all()


def test_heavy_tails_are_bent_in_order_and_extremes_cut_off():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"wide": rng.standard_cauchy(3000), "zeros": rng.poisson(0.2, 3000) ** 4.0}
    )
    model = TableInput().fit(frame)
    assert all("logarithmic" in entry["note"] for entry in model.report_)
    grid = np.array([-np.inf, -1e300, -1e6, -100, -1, 0, 1e-3, 1, 7, 100, 1e6, 1e300, np.inf])
    out = model.transform(pd.DataFrame({"wide": grid, "zeros": grid}))
    assert (np.diff(out, axis=0) >= 0).all()
    assert (np.diff(out[3:10, 0]) > 0).all()
    assert np.abs(out[:, 0]).max() < 30
    assert np.abs(model.transform(frame)).max() < 30


def test_one_wild_value_does_not_flatten_the_others():
    values = np.append(np.random.default_rng(0).normal(size=999), 1e12)
    out = TableInput().fit_transform(pd.DataFrame({"x": values}))
    assert 0.5 < out[:-1].std() < 1.1
    assert out[-1] == out.max() < 20


def test_frequent_categories_get_a_column_and_new_ones_are_other():
    cities = ["a"] * 500 + ["b"] * 300 + ["c"] * 195 + ["d", "e", "f", "g", "h"]
    model = TableInput().fit(pd.DataFrame({"city": cities}))
    assert model.get_feature_names_out().tolist() == ["city=a", "city=b", "city=c", "city=(other)"]
    out = model.transform(pd.DataFrame({"city": ["b", "d", "new", None]}))
    np.testing.assert_array_equal(out, [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    few = TableInput(max_categories=2).fit(pd.DataFrame({"city": cities}))
    assert few.get_feature_names_out().tolist() == ["city=a", "city=b", "city=(other)"]
    known = TableInput().fit(pd.DataFrame({"city": ["a", "b"] * 10}))
    np.testing.assert_array_equal(known.transform(pd.DataFrame({"city": ["new"]})), [[0, 0]])


def test_categories_may_be_numbers_booleans_and_gaps(table):
    codes = pd.Series([10, 20, None, 20] * 25)
    model = TableInput(categorical=["code"]).fit(pd.DataFrame({"code": codes}))
    assert model.get_feature_names_out().tolist() == ["code=20", "code=10", "code=(missing)"]
    expected = model.transform(pd.DataFrame({"code": codes[:4]}))
    np.testing.assert_array_equal(expected, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]])
    for same in (
        pd.Series(["10", "20", None, "20"]),
        pd.Series([10, 20, None, 20], dtype="Int64"),
        pd.Series([10, 20, None, 20], dtype="category"),
        pd.Series([10, 20, None, "20"], dtype=object),
    ):
        np.testing.assert_array_equal(model.transform(pd.DataFrame({"code": same})), expected)
    mixed = pd.DataFrame({"x": pd.Categorical([True, False, None] * 20)})
    names = TableInput().fit(mixed).get_feature_names_out().tolist()
    assert names == ["x=False", "x=True", "x=(missing)"]


def test_codes_in_a_csv_are_the_same_whether_read_as_numbers_or_as_text(tmp_path):
    """At fit a column is read as what it looks like, at prediction as the text that it became."""
    lines = ["zip,size,flag", *["007,1.0,true", "008,2.50,false", "010,1.0,true"] * 40]
    path = written(tmp_path / "t.csv", "\n".join(lines) + "\n")
    table = read_table(path)
    model = TableInput(categorical=["zip", "size", "flag"]).fit(table)
    names = ["zip=10", "zip=7", "zip=8", "size=1", "size=2.5", "flag=True", "flag=False"]
    assert model.get_feature_names_out().tolist() == names
    expected = model.transform(table)
    assert (expected.sum(axis=1) == 3).all()
    as_text = read_table(path, kinds=model.kinds_)
    assert as_text["zip"][0] == "007"
    np.testing.assert_array_equal(model.transform(as_text), expected)
    fitted_on_text = TableInput(categorical=["zip", "size", "flag"]).fit(as_text)
    np.testing.assert_array_equal(
        fitted_on_text.transform(table), fitted_on_text.transform(as_text)
    )


def test_codes_that_differ_only_in_how_they_are_written_stay_apart_if_both_were_seen():
    frame = pd.DataFrame({"code": ["7", "007"] * 50})
    model = TableInput().fit(frame)
    np.testing.assert_array_equal(model.transform(frame)[:2].sum(axis=0), [1, 1])


def test_categories_named_like_marks_keep_columns_of_their_own():
    frame = pd.DataFrame({"x": ["missing", "other", None, "b"] * 300 + ["rare"]})
    names = TableInput().fit(frame).get_feature_names_out().tolist()
    assert names == ["x=b", "x=missing", "x=other", "x=(other)", "x=(missing)"]


def test_a_value_or_nothing_becomes_a_mark():
    frame = pd.DataFrame(
        {"opened": ["yes", None] * 10, "when": [pd.Timestamp("2024-01-01"), None] * 10}
    )
    model = TableInput().fit(frame)
    assert model.get_feature_names_out().tolist() == ["opened=(missing)", "when=(missing)"]
    np.testing.assert_array_equal(model.transform(frame)[:2], [[0, 0], [1, 1]])


def test_ids_are_left_out_unless_kept():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "row": rng.permutation(300) + 1000,
            "customer_id": rng.choice(10**9, 300, replace=False),
            "amount": rng.choice(10**9, 300, replace=False),
            "remark": [f"remark {i % 200}" for i in range(300)],
            "key": [f"key {i}" for i in range(300)],
        }
    )
    model = TableInput().fit(frame)
    assert model.kinds_ == {"amount": "number", "remark": "text"}
    notes = {name: entry["note"] for name, entry in noted(model).items()}
    assert notes["row"] == "looks like an id: consecutive whole numbers"
    assert "by its name" in notes["customer_id"]
    assert "numbers for its words and letters" in notes["remark"]
    assert "another text in every row" in notes["key"]
    kept = TableInput(keep=["row", "customer_id"], drop=["amount", "remark"]).fit(frame)
    assert kept.kinds_ == {"row": "number", "customer_id": "number"}
    assert noted(kept)["amount"]["note"] == "left out as asked"


@pytest.mark.parametrize(
    ("name", "is_id"),
    [("customerId", True), ("userid", True), ("ID", True), ("paid", False), ("valid", False)],
)
def test_names_of_ids_are_told_from_words_that_end_alike(name, is_id):
    values = np.random.default_rng(0).choice(10**9, 300, replace=False)
    model = TableInput().fit(pd.DataFrame({name: values, "x": values % 7}))
    assert (name not in model.kinds_) == is_id


def test_dates_stored_as_text_are_dates(table):
    for form in ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"):
        text = table.assign(since=table["since"].dt.strftime(form))
        model = TableInput().fit(text)
        assert model.kinds_["since"] == "date"
        dates = text.assign(since=pd.to_datetime(text["since"]))
        np.testing.assert_array_equal(model.transform(dates), model.transform(text))
    almost = text.assign(since=[*text["since"][:-1], "soon"])
    assert "'soon' read as gaps" in noted(TableInput().fit(almost))["since"]["note"]
    codes = TableInput(categorical=["since"], keep=["since"]).fit(text)
    assert noted(codes)["since"]["kind"] == "text"


def test_numbers_stored_as_text_are_numbers():
    frame = pd.DataFrame({"x": [str(k / 7) for k in range(100)], "y": np.arange(100) % 7})
    model = TableInput().fit(frame)
    numbers = frame.assign(x=frame["x"].astype(float))
    np.testing.assert_array_equal(model.transform(frame), TableInput().fit_transform(numbers))


def test_a_word_for_a_gap_does_not_turn_numbers_into_text(tmp_path):
    numbers = [f"{i / 7:.3f}" for i in range(100)]
    path = written(tmp_path / "t.csv", "x,y\n" + "".join(f"{n},1\n{n}5,2\n" for n in numbers))
    path.write_text(path.read_text() + "unknown,3\n")
    model = TableInput().fit(read_table(path))
    assert "'unknown' read as gaps" in noted(model)["x"]["note"]
    with_gap = read_table(path, missing=["unknown"])
    expected = TableInput().fit_transform(with_gap)
    np.testing.assert_array_equal(model.transform(read_table(path, kinds=model.kinds_)), expected)
    # And the other way round, where the word comes after the fit.
    plain = TableInput().fit(with_gap)
    assert plain.kinds_["x"] == "number"
    np.testing.assert_array_equal(plain.transform(read_table(path, kinds=plain.kinds_)), expected)


def test_dates_become_days_and_the_cycles_they_run_through():
    days = pd.date_range("2024-01-01", periods=60, freq="D")
    model = TableInput().fit(pd.DataFrame({"when": days}))
    names = ["when", "when_week_sin", "when_week_cos"]
    assert model.get_feature_names_out().tolist() == names
    out = model.transform(pd.DataFrame({"when": days}))
    np.testing.assert_allclose(out[7:, 1:], out[:-7, 1:], atol=1e-5)
    np.testing.assert_allclose(np.diff(out[:, 0]), np.diff(out[:2, 0])[0], rtol=1e-4)
    for same in (
        days.astype("datetime64[s]"),
        days.tz_localize("UTC"),
        days.tz_localize("UTC").tz_convert("Asia/Tokyo"),
        [d.to_pydatetime() for d in days],
        [d.date() for d in days],
        days.strftime("%Y-%m-%d"),
        days.strftime("%Y-%m-%dT%H:%M:%SZ"),
    ):
        np.testing.assert_array_equal(model.transform(pd.DataFrame({"when": same})), out)


OBJECTS = {
    "integers": ([3, 1, None, 2], "number"),
    "floats and integers": ([3, 1.5, None, 2], "number"),
    "decimals": ([Decimal("1.5"), Decimal("2.5"), None, Decimal("3")], "number"),
    "durations": (pd.to_timedelta([1, 2, None, 3], "D"), "number"),
    "booleans": ([True, False, None, True], "boolean"),
    "nullable booleans": (pd.array([True, False, None, True], dtype="boolean"), "boolean"),
    "dates": ([date(2024, 1, 1), date(2024, 2, 1), None, date(2024, 1, 1)], "date"),
    "times": ([datetime(2024, 1, 1), datetime(2024, 2, 1), None, datetime(2024, 1, 1)], "date"),
    "text": (["a", "b", None, "a"], "text"),
    "numbers and text": ([1, "b", None, "b"], "text"),
    "categories": (pd.Categorical(["a", "b", None, "a"]), "text"),
}


@pytest.mark.parametrize("what", OBJECTS)
def test_kinds_follow_from_the_values(what):
    values, kind = OBJECTS[what]
    frame = pd.DataFrame({"x": values})
    model = TableInput().fit(frame)
    assert model.kinds_ == {"x": kind}
    assert model.get_feature_names_out()[-1] == "x=(missing)"
    np.testing.assert_array_equal(model.transform(frame)[:, -1], [0, 0, 1, 0])


NULLABLE = {
    "boolean": ([True, False, None, True], "boolean", "boolean"),
    "bool[pyarrow]": ([True, False, None, True], "bool[pyarrow]", "boolean"),
    "Int64": ([3, 1, None, 2], "Int64", "number"),
    "UInt8": ([3, 1, None, 2], "UInt8", "number"),
    "Float64": ([3.5, 1.0, None, 2.0], "Float64", "number"),
    "double[pyarrow]": ([3.5, 1.0, None, 2.0], "double[pyarrow]", "number"),
    "string": (["a", "b", None, "a"], "string", "text"),
    "string[pyarrow]": (["a", "b", None, "a"], "string[pyarrow]", "text"),
}


@pytest.mark.parametrize("what", NULLABLE)
def test_nullable_types_give_the_same_as_plain_ones(what, quick):
    values, dtype, kind = NULLABLE[what]
    values = values * 15
    plain = pd.DataFrame({"x": pd.Series(values, dtype=object), "z": np.arange(60) % 7})
    nullable = plain.assign(x=plain["x"].astype(dtype))
    is_positive = np.arange(60) % 3 == 0
    for settings in ({}, {"categorical": ["x"]}, {"keep": ["x"]}):
        model = TableInput(**settings).fit(plain)
        again = TableInput(**settings).fit(nullable)
        assert again.kinds_["x"] == ("text" if "categorical" in settings else kind)
        assert again.plan_ == model.plan_
        assert again.report_ == model.report_
        for fitted, frame in ((model, nullable), (again, plain), (again, nullable)):
            np.testing.assert_array_equal(fitted.transform(frame), model.transform(plain))
    assert leaks(nullable, is_positive) == leaks(plain, is_positive) == []
    pipeline = make_pipeline(TableInput(), quick()).fit(nullable, is_positive)
    scored = together(score_stream(pipeline, batches_of(nullable), keep=["x"]))
    np.testing.assert_array_equal(scored["score"], pipeline.predict_proba(nullable)[:, 1])


def test_a_boolean_column_with_gaps_goes_from_a_file_to_scores(tmp_path, quick):
    rows = [
        f"{flag},{i % 5},{int(i % 4 == 0)}" for i, flag in enumerate(["True", "False", ""] * 40)
    ]
    path = written(tmp_path / "t.csv", "\n".join(["flag,x,label", *rows]) + "\n")
    X, is_positive, _ = split_label(read_table(path), "label")
    model = make_pipeline(TableInput(), quick()).fit(X, is_positive)
    assert model[0].kinds_ == {"flag": "boolean", "x": "number"}
    assert model[0].get_feature_names_out().tolist() == ["flag", "flag=(missing)", "x"]
    assert leaks(X, is_positive) == []
    batches = stream_table(path, kinds=model[0].kinds_)
    scored = together(score_stream(model, batches, keep=["flag"]))
    np.testing.assert_array_equal(scored["score"], model.predict_proba(X)[:, 1])
    assert scored["flag"].isna().sum() == 40


def test_columns_named_by_numbers_are_found_by_name(quick):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {0: rng.normal(size=60), 1: rng.integers(0, 3, 60), 2: rng.normal(size=60)}
    )
    frame[3] = np.arange(60)
    for one, two, three in ((1, 2, 3), ("1", "2", "3")):
        model = TableInput(categorical=[one], drop=[two], keep=[three]).fit(frame)
        assert model.kinds_ == {"0": "number", "1": "text", "3": "number"}
        expected = model.transform(frame)
        np.testing.assert_array_equal(model.transform(frame[[3, 2, 1, 0]]), expected)
        np.testing.assert_array_equal(model.transform(frame.rename(columns=str)), expected)
        assert model.extra_columns([0, "1", 7, "8"]) == [7, "8"]
    assert "keep=: X has no column '7'; it has '0'" in refusal(TableInput(keep=[7]).fit, frame)
    mixed = frame.rename(columns={0: "zero"})
    np.testing.assert_array_equal(
        TableInput().fit(mixed).transform(mixed[[3, 2, 1, "zero"]]),
        TableInput().fit_transform(frame),
    )
    pipeline = make_pipeline(TableInput(), quick()).fit(frame, np.arange(60) % 3 == 0)
    scored = together(score_stream(pipeline, batches_of(frame), keep=[1]))
    assert scored.columns.tolist() == ["1", "score", "predicted"]
    np.testing.assert_array_equal(scored["score"], pipeline.predict_proba(frame)[:, 1])


def test_what_is_no_column_of_a_table_is_left_out():
    frame = pd.DataFrame({"x": [1.0, 2.0], "lists": [[1], [2]], "bytes": [b"a", b"b"]})
    model = TableInput().fit(frame)
    assert model.kinds_ == {"x": "number"}
    assert noted(model)["lists"]["note"] == "neither numbers, booleans, text nor dates"


def test_columns_are_found_by_name(table):
    model = TableInput().fit(table)
    expected = model.transform(table)
    shuffled = table[table.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(model.transform(shuffled), expected)
    assert model.extra_columns(shuffled.columns) == ["more"]
    np.testing.assert_array_equal(model.transform(table[list(model.kinds_)]), expected)
    sentence = refusal(model.transform, table.drop(columns=["age", "city"]).assign(Age=1))
    assert "X has no columns 'age', 'city'; did you mean 'Age'" in sentence
    doubled = pd.concat([table, table[["age"]]], axis=1)
    assert "more than one column named 'age'" in refusal(model.transform, doubled)
    assert "more than one column named 'age'" in refusal(TableInput().fit, doubled)


def test_columns_of_another_kind_are_refused_with_the_first_bad_value(table):
    model = TableInput().fit(table)
    text = table.assign(age=table["age"].astype(str))
    np.testing.assert_array_equal(model.transform(text), model.transform(table))
    text.loc[7, "age"] = "old"
    sentence = refusal(model.transform, text)
    assert "Column 'age' held numbers when TableInput was fitted, but now holds 'old'" in sentence
    assert "dates (ISO 8601)" in refusal(model.transform, table.assign(since="yesterday"))
    assert "dates (ISO 8601)" in refusal(model.transform, table.assign(since=3.5))
    assert "true or false" in refusal(model.transform, table.assign(member="perhaps"))
    assert "'age' held numbers" in refusal(model.transform, table.assign(age=pd.Timestamp(0)))
    words = table.assign(member=np.where(table["member"], "TRUE", "false"))
    np.testing.assert_array_equal(model.transform(words), model.transform(table))


def test_names_of_columns_in_parameters_must_exist(table):
    for parameter in ("categorical", "keep", "drop"):
        sentence = refusal(TableInput(**{parameter: ["agee"]}).fit, table)
        assert f"{parameter}=: X has no column 'agee'; did you mean 'age'?" in sentence


def test_a_table_without_a_useful_column_is_refused():
    sentence = refusal(TableInput().fit, pd.DataFrame({"a": [1, 1], "b": [None, None]}))
    assert "no column to learn from ('a': constant; 'b': all values are missing); add" in sentence
    assert "stored as text" not in sentence
    assert "it has none at all" in refusal(TableInput().fit, pd.DataFrame(index=range(3)))


class Speaker:
    """A table of another library that speaks Arrow and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_arrow_tables_give_the_same_as_data_frames(table):
    model = TableInput().fit(table)
    expected = model.transform(table)
    arrow = pa.Table.from_pandas(table)
    for same in (arrow, arrow.combine_chunks().to_batches()[0], Speaker(arrow)):
        np.testing.assert_array_equal(model.transform(same), expected)
        again = TableInput().fit(same)
        assert again.plan_ == model.plan_
        assert again.report_ == model.report_
    backed = arrow.to_pandas(types_mapper=pd.ArrowDtype)
    np.testing.assert_array_equal(model.transform(backed), expected)
    assert TableInput().fit(backed).plan_ == model.plan_
    coded = arrow.set_column(5, "city", arrow["city"].dictionary_encode())
    np.testing.assert_array_equal(model.transform(coded), expected)


def test_frames_of_any_output_container_are_given(table):
    out = TableInput().set_output(transform="pandas").fit_transform(table)
    assert out.columns.tolist() == TableInput().fit(table).get_feature_names_out().tolist()
    assert out.index.equals(table.index)


def test_an_index_that_does_not_count_from_zero_changes_nothing(table):
    model = TableInput().fit(table)
    moved = table.set_axis(np.arange(N)[::-1] * 3)
    assert TableInput().fit(moved).plan_ == model.plan_
    np.testing.assert_array_equal(model.transform(moved), model.transform(table))
    text = moved.assign(age=moved["age"].astype(str), since=moved["since"].astype(str))
    np.testing.assert_allclose(model.transform(text), model.transform(table), rtol=1e-6)


def test_the_input_is_left_alone(table):
    before = table.copy(deep=True)
    TableInput().fit(table).transform(table)
    pd.testing.assert_frame_equal(table, before)


@parametrize_with_checks([TableInput()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- from a file to scores ------------------------------------------------------------------


@pytest.fixture
def fitted(table, quick):
    X, is_positive, _ = split_label(table, "label")
    return make_pipeline(TableInput(), quick()).fit(X, is_positive)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_the_scores_of_a_stream_are_those_of_the_whole_table(fitted, table, tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(batches_of(table), path)
    kinds = fitted[0].kinds_ | {"id": "text"}
    scored = together(score_stream(fitted, stream_table(path, kinds=kinds), keep=["id"]))
    assert scored.columns.tolist() == ["id", "score", "predicted"]
    assert scored["id"].tolist() == table["id"].tolist()
    whole = read_table(path, kinds=kinds)
    np.testing.assert_array_equal(scored["score"], fitted.predict_proba(whole)[:, 1])
    np.testing.assert_array_equal(scored["predicted"], fitted.predict(whole))
    np.testing.assert_array_equal(scored["score"], fitted.predict_proba(table)[:, 1])


def test_types_are_the_same_for_a_file_that_looks_different_at_first(fitted, table, tmp_path):
    """Whole numbers, gaps and dates without a time in the first block mean nothing else."""
    rows = table[["age", "income", "visits", "member", "city", "since"]].copy()
    rows["visits"] = np.nan
    rows["age"] = rows["age"].round()
    path = tmp_path / "t.csv"
    rows.to_csv(path, index=False)
    scored = together(score_stream(fitted, stream_table(path, kinds=fitted[0].kinds_)))
    expected = fitted.predict_proba(read_table(path))[:, 1]
    np.testing.assert_array_equal(scored["score"], expected)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_uneven_batches_give_even_scores_in_order(fitted, table, monkeypatch, n_workers):
    monkeypatch.setattr(_reading, "ROWS_PER_BATCH", 64)
    sizes = np.array([1, 0, 63, 64, 65, 130, 77])
    ends = sizes.cumsum()
    whole = pa.Table.from_pandas(table).combine_chunks().to_batches()[0]
    pieces = [whole.slice(end - size, size) for end, size in zip(ends, sizes, strict=True)]
    batches = list(score_stream(fitted, pieces, keep=["id"], n_workers=n_workers))
    assert [batch.num_rows for batch in batches] == [64] * 6 + [16]
    assert together(batches)["id"].tolist() == table["id"].tolist()
    expected = fitted.predict_proba(table)[:, 1]
    np.testing.assert_allclose(together(batches)["score"], expected, rtol=1e-5)


def test_long_streams_are_equal_to_the_bit_to_the_whole_table(quick):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150_000, 3)), columns=list("abc"))
    model = make_pipeline(TableInput(), quick(net="skip-mlp"))
    model.fit(X[:300], np.arange(300) < 50)
    scored = together(score_stream(model, batches_of(X, 50_007)))
    np.testing.assert_array_equal(scored["score"], model.predict_proba(X)[:, 1])


def test_a_threshold_decides_what_is_predicted(fitted, table):
    scored = together(score_stream(fitted, batches_of(table), threshold=0.9))
    np.testing.assert_array_equal(scored["predicted"], scored["score"] > 0.9)


def test_a_stream_that_is_not_read_to_its_end_puts_threads_back(fitted, table):
    before = torch.get_num_threads()
    stream = score_stream(fitted, batches_of(table))
    next(stream)
    stream.close()
    assert torch.get_num_threads() == before


def test_kept_columns_must_exist_and_be_others_than_those_added(fitted, table):
    sentence = refusal(score_stream, fitted, batches_of(table), keep=["Id"])
    assert "no column 'Id'; did you mean 'id'?" in sentence
    named = table.assign(score=1)
    sentence = refusal(score_stream, fitted, batches_of(named), keep=["score"])
    assert "'score' cannot be kept" in sentence
    assert "rename it" in sentence


# -- writing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["t.csv", "t.tsv", "t.tab", "t.csv.gz", "t.tsv.zst", "t.tab.gz", "t.parquet", "t.feather"],
)
def test_what_is_written_is_read_again(tmp_path, name):
    frame = pd.DataFrame({"a": [1.5, 2.5, None], "b": ["x", "y,\tz", "w"]})
    assert write_table(batches_of(frame, 2), tmp_path / name) == 3
    pd.testing.assert_frame_equal(read_table(tmp_path / name), frame)


@pytest.mark.parametrize(("name", "delimiter"), [("t.tab", "\t"), ("t.tsv", "\t"), ("t.csv", ",")])
def test_the_suffix_decides_the_delimiter(tmp_path, name, delimiter):
    write_table(batches_of(pd.DataFrame({"a": [1], "b": [2]})), tmp_path / name)
    assert (tmp_path / name).read_text() == f'"a"{delimiter}"b"\n1{delimiter}2\n'


def test_an_output_that_names_no_format_is_refused(tmp_path):
    for name in ("t", "t.xlsx", "t.parquet.gz", "t.gz"):
        assert "end in .parquet" in refusal(write_table, [], tmp_path / name)
    assert "no rows to write" in refusal(write_table, [], tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.feather"])
@pytest.mark.parametrize("error", [RuntimeError("bad row"), KeyboardInterrupt()])
def test_a_stream_that_breaks_leaves_what_was_there_before(tmp_path, name, error):
    def breaking():
        yield from batches_of(pd.DataFrame({"a": [1.0]}))
        raise error

    (tmp_path / name).write_text("old")
    with pytest.raises(type(error)):
        write_table(breaking(), tmp_path / name)
    assert (tmp_path / name).read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == [name]


# -- model files ----------------------------------------------------------------------------


def test_a_pipeline_is_loaded_in_another_process_with_the_same_scores(fitted, table, tmp_path):
    save(fitted, tmp_path / "m.mixpul")
    table.to_parquet(tmp_path / "t.parquet")
    program = """
import sys
import numpy as np
from mixpul import load
from mixpul.tables import read_table
model, table, out = sys.argv[1:]
np.save(out, load(model).predict_proba(read_table(table)))
"""
    names = ("m.mixpul", "t.parquet", "scores.npy")
    run_python(program, *(tmp_path / name for name in names))
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), fitted.predict_proba(table))


def test_nothing_is_lost_in_a_model_file(fitted, table, tmp_path):
    save(fitted, tmp_path / "m.mixpul")
    loaded = load(tmp_path / "m.mixpul")
    assert type(loaded) is Pipeline
    assert [name for name, _ in loaded.steps] == ["tableinput", "mixpulclassifier"]
    before, after = fitted[0], loaded[0]
    assert after.plan_ == before.plan_
    assert after.report_ == before.report_
    assert after.kinds_ == before.kinds_
    assert after.feature_names_in_.tolist() == before.feature_names_in_.tolist()
    label = split_label(table, "label")
    again = clone(loaded).fit(label.X, label.is_positive)
    np.testing.assert_array_equal(again.predict_proba(table), fitted.predict_proba(table))


def test_columns_may_have_any_names_in_a_model_file(tmp_path, quick):
    rng = np.random.default_rng(0)
    names = ["array", "part", "", "ü 💥", "a.b", "net_", "unstored"]
    frame = pd.DataFrame(rng.normal(size=(60, len(names))), columns=names)
    frame["text"] = rng.choice(["", "ü", "None", "nan", "a,b"], 60)
    frame["codes"] = pd.Categorical(rng.choice([1, 2, None], 60))
    model = make_pipeline(TableInput(max_categories=3, drop=["a.b"]), quick())
    model.fit(frame, np.arange(60) < 25)
    save(model, tmp_path / "m.mixpul")
    loaded = load(tmp_path / "m.mixpul")
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))


def test_unfitted_pipelines_and_other_steps_are_not_saved(table, quick, tmp_path):
    with pytest.raises(NotFittedError):
        save(make_pipeline(TableInput(), quick()), tmp_path / "m.mixpul")
    longer = make_pipeline(TableInput(), Nystroem(n_components=5), quick())
    with pytest.raises(TypeError, match="Nystroem"):
        save(longer.fit(table, table["label"]), tmp_path / "m.mixpul")
    assert list(tmp_path.iterdir()) == []


def test_no_warning_on_the_way_from_a_file_to_scores(table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        label = split_label(read_table(tmp_path / "t.csv"), "label", positive="1")
        model = make_pipeline(TableInput(), MixPULClassifier(n_epochs=2, random_state=0))
        model.fit(label.X, label.is_positive).predict_proba(label.X)
