"""Tables in many files: folders, globs, lists, Hive partitions, stores; scores part by part."""

import dataclasses
import gzip
import json
import os
import subprocess
import sys
import time
from threading import Event

import fsspec
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from mixpul import LogisticPUClassifier, save
from mixpul.cli import _parts
from mixpul.cli._scoring import Scorer
from mixpul.tables import TableInput, read_table, stream_table
from mixpul.tables.parts import find_parts
from test_table_cli import run
from test_tables import refusal, together


def made_rows(n, first=0, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": np.arange(first, first + n),
            "x": rng.normal(size=n),
            "city": rng.choice(["Oslo", "Rome"], n),
            "day": pd.Timestamp("2026-01-01"),
        }
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    frame = made_rows(400)
    frame["day"] += pd.to_timedelta(np.arange(400) % 9, "D")
    pipeline = make_pipeline(TableInput(drop=["id"]), LogisticPUClassifier(random_state=0))
    path = tmp_path_factory.mktemp("model") / "m.mixpul"
    save(pipeline.fit(frame, frame["x"] > 1), path, info={"id": "id", "label": "bought"})
    return path


@pytest.fixture
def lake(tmp_path):
    """Three days of rows; the day is the name of the folder."""
    folder = tmp_path / "lake"
    for k in range(3):
        part = folder / f"day=2026-01-0{k + 1}"
        part.mkdir(parents=True)
        rows = made_rows(50, first=50 * k, seed=k).drop(columns="day")
        rows.to_parquet(part / "rows.parquet", index=False)
    (folder / "_SUCCESS").touch()
    return folder


# -- reading --------------------------------------------------------------------------------


def test_a_folder_a_glob_and_a_list_are_the_same_table(lake):
    whole = read_table(lake)
    assert whole["id"].tolist() == list(range(150))
    assert whole["day"].dt.day.unique().tolist() == [1, 2, 3]
    files = [part.name for part in find_parts(lake)]
    assert len(files) == 3
    for other in (lake / "*" / "rows.parquet", f"{lake}/**/*.parquet", files):
        pd.testing.assert_frame_equal(read_table(other), whole)
    kinds = {"day": "date", "x": "number"}
    assert together(stream_table(lake, kinds=kinds)).columns.tolist() == ["day", "x"]
    assert together(stream_table(files[1], kinds={"day": "date"}))["day"].nunique() == 1


def test_stores_are_read_through_fsspec(lake):
    store = fsspec.filesystem("memory")
    store.pipe("/shop/day=1/a.csv", b"n,city\n1,Oslo\n")
    store.pipe("/shop/day=2/a.csv.gz", gzip.compress(b"city,n\nRome,2\n"))
    expected = pd.DataFrame({"n": [1, 2], "city": ["Oslo", "Rome"], "day": [1, 2]})
    for name in ("memory://shop", "memory://shop/*/a.csv*"):
        pd.testing.assert_frame_equal(read_table(name), expected)
    pd.testing.assert_frame_equal(read_table(f"file://{lake}"), read_table(lake))
    assert "There is no file" in refusal(
        read_table, "memory://shop/no.csv", error=FileNotFoundError
    )
    assert "cannot be opened" in refusal(read_table, "nonsense://x.csv")


def write_parts(folder, **texts):
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_parts_may_differ_in_order_types_and_emptiness(tmp_path):
    folder = write_parts(tmp_path / "t", a="id,n\n007,1\n", b="n,id\n1.5,x\n", c="n,id\n")
    frame = read_table(folder)
    assert frame["id"].tolist() == ["007", "x"]
    assert frame["n"].tolist() == [1, 1.5]


def test_what_does_not_fit_together_is_named_with_its_part(tmp_path, lake):
    folder = write_parts(tmp_path / "t", a="id,n\n1,1\n", b="id\n2\n")
    assert "b.csv' has no column 'n'" in refusal(read_table, folder)
    pd.DataFrame({"id": ["a"], "x": ["b"], "city": ["c"]}).to_parquet(
        lake / "day=2026-01-02" / "other.parquet"
    )
    sentence = refusal(read_table, lake)
    assert "Column 'id' of" in sentence
    assert "rows.parquet" in sentence or "other.parquet" in sentence
    (lake / "x.csv").write_text("a\n1\n")
    assert "holds CSV and Parquet files; name those" in refusal(read_table, lake)
    assert "No file matches" in refusal(read_table, tmp_path / "no*.csv")
    (tmp_path / "empty").mkdir()
    assert "has no table in it" in refusal(read_table, tmp_path / "empty")


# -- scores ---------------------------------------------------------------------------------


def read_scores_of(folder):
    return pd.concat([pd.read_parquet(path) for path in sorted(folder.rglob("*.parquet"))])


def test_each_part_gets_its_scores_and_one_file_has_them_in_order(model, lake, tmp_path):
    out = tmp_path / "scores"
    result = run("predict", model, lake, "-o", f"{out}/")
    assert result.code == 0, result.err
    assert "3 parts scored; 150 rows" in result.err
    parts = sorted(str(path.relative_to(out)) for path in out.rglob("*.parquet"))
    assert parts == [f"day=2026-01-0{k}/rows.parquet" for k in (1, 2, 3)]
    assert run("predict", model, lake, "-o", tmp_path / "one.parquet").code == 0
    one = read_table(tmp_path / "one.parquet")
    assert one["id"].tolist() == list(range(150))
    several = read_scores_of(out)
    np.testing.assert_allclose(several["score"], one["score"], rtol=1e-6)
    files = [part.name for part in find_parts(lake)]
    assert run("predict", model, *files, "-o", tmp_path / "list.parquet").code == 0
    pd.testing.assert_frame_equal(read_table(tmp_path / "list.parquet"), one)


def test_a_run_goes_on_with_the_parts_that_are_missing(model, lake, tmp_path, monkeypatch):
    out = tmp_path / "scores"
    words = ["predict", model, lake, "-o", f"{out}/", "--json"]
    assert run(*words).code == 0
    refused = run(*words)
    assert refused.code == 2
    assert "pass --resume" in refused.err
    again = json.loads(run(*words, "--resume").out)
    assert (again["parts"], again["skipped"], again["rows"]) == (0, 3, 150)
    # An output that is gone, one of another length, an input that has changed, a torn line.
    first, second, _ = sorted(out.rglob("*.parquet"))
    first.unlink()
    second.write_bytes(b"half")
    with (out / _parts.LOG).open("a") as log:
        log.write('{"output": "x')
    again = json.loads(run(*words, "--resume").out)
    assert (again["parts"], again["skipped"]) == (2, 1)
    made_rows(50, first=100, seed=9).drop(columns="day").to_parquet(
        lake / "day=2026-01-03" / "rows.parquet", index=False
    )
    again = json.loads(run(*words, "--resume").out)
    assert (again["parts"], again["skipped"]) == (1, 2)
    again = json.loads(run(*words, "--resume", "--threshold", "0.3").out)
    assert (again["parts"], again["skipped"]) == (3, 0)


def test_a_part_that_has_changed_is_found_though_its_size_date_and_ends_are_the_same(
    model, tmp_path
):
    lake = tmp_path / "lake"
    lake.mkdir()
    for k in range(2):
        made_rows(9000, first=9000 * k, seed=k).to_csv(lake / f"{k}.csv", index=False)
    words = ["predict", model, lake, "-o", f"{tmp_path / 'scores'}/", "--json"]
    assert run(*words).code == 0
    part = lake / "1.csv"
    before, content = part.stat(), part.read_bytes()
    place = content.index(b".", len(content) // 2) + 1
    assert _parts.BYTES_OF_END < place < len(content) - _parts.BYTES_OF_END
    digit = b"1" if content[place : place + 1] != b"1" else b"2"
    part.write_bytes(content[:place] + digit + content[place + 1 :])
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert part.stat().st_size == before.st_size
    again = json.loads(run(*words, "--resume").out)
    assert (again["parts"], again["skipped"]) == (1, 1)


def test_parts_that_are_stopped_leave_whole_files_only(model, tmp_path, monkeypatch):
    for k in range(6):
        made_rows(50, first=50 * k, seed=k).to_csv(tmp_path / f"{k}.csv", index=False)
    words = ["predict", model, f"{tmp_path}/*.csv", "-o", f"{tmp_path / 'scores'}/"]
    is_first_done, score = Event(), Scorer.score

    def wait_for_the_first(self, table):
        for batch in score(self, table):
            if not table.endswith("0.csv"):
                is_first_done.wait(60)
                time.sleep(0.2)  # until Ctrl-C has come
            yield batch

    def stop_after_one(log, done):
        is_first_done.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(Scorer, "score", wait_for_the_first)
    monkeypatch.setattr(_parts, "_append", stop_after_one)
    stopped = run(*words)
    assert stopped.code == 130
    assert "--resume" in stopped.err
    assert [path.name for path in (tmp_path / "scores").iterdir()] == ["0.csv"]


def test_a_log_that_ends_anywhere_loses_at_most_its_last_line(tmp_path):
    log, done = tmp_path / _parts.LOG, []
    for k in range(3):
        done.append(_parts.Done(f"{k}.csv", f"in{k}.csv", 1, "f", "m", "s", 2, 3, 4))
        _parts._append(log, done[-1])
    content = log.read_bytes()
    new = _parts.Done("new.csv", "in.csv", 1, "f", "m", "s", 2, 3, 4)
    for n in range(len(content)):
        log.write_bytes(content[:n])
        _parts._append(log, new)
        n_whole = content[: n + 1].count(b"\n")
        assert list(_parts._read_log(log).values()) == [*done[:n_whole], new]


@pytest.mark.parametrize("line", ["[" * 10**5, '{"output": []}', "null", '"x"', "\0"])
def test_lines_that_are_no_log_count_for_nothing(tmp_path, line):
    log, done = tmp_path / _parts.LOG, _parts.Done("a", "b", 1, "f", "m", "s", 2, 3, 4)
    odd = json.dumps(dataclasses.asdict(done) | {"output": [], "rows": "x"})
    log.write_text(f"{line}\n{odd}\n")
    _parts._append(log, done)
    assert _parts._read_log(log) == {"a": done}


def test_a_line_of_the_log_that_was_changed_counts_for_nothing(tmp_path):
    """The numbers of rows would have been shown as they stood there."""
    log, done = tmp_path / _parts.LOG, _parts.Done("a", "b", 1, "f", "m", "s", 2, 30, 4)
    _parts._append(log, done)
    assert _parts._read_log(log) == {"a": done}
    log.write_text(log.read_text().replace('"rows": 30', '"rows": 38'))
    assert _parts._read_log(log) == {}


def test_a_bad_part_is_named_and_the_others_stay(model, tmp_path):
    good = made_rows(20).to_csv(index=False)
    folder = write_parts(
        tmp_path / "t",
        a=good,
        b=good.replace("city", "town"),
        c="",
        d=good.splitlines()[0] + "\n",
        e=good.replace("Oslo", "Oslo,Oslo", 1),
        f=made_rows(20)[["day", "city", "x", "id"]].to_csv(index=False),
        g=made_rows(20).assign(x="a lot").to_csv(index=False),
    )
    out = tmp_path / "scores"
    result = run("predict", model, folder, "-o", f"{out}/")
    assert result.code == 1
    assert "Traceback" not in result.err
    for name, words in {
        "b": "has no column 'city'",
        "c": "is empty",
        "e": "has 5 cells",
        "g": "'a lot'",
    }.items():
        (line,) = [line for line in result.err.splitlines() if f"{name}.csv'" in line]
        assert words in line
        assert not (out / f"{name}.csv").exists()
    assert "3 parts scored, 4 failed; 40 rows" in result.err
    assert (out / "d.csv").read_text().count("\n") == 1
    # The same rows in another order of columns.
    a, f = (read_table(out / f"{name}.csv") for name in "af")
    pd.testing.assert_frame_equal(a, f)
    assert [p.name for p in out.iterdir() if p.name.startswith(".")] == []
    # One file of all of them is written whole or not at all.
    result = run("predict", model, folder, "-o", tmp_path / "one.csv")
    assert result.code == 2
    assert "c.csv' is empty" in result.err
    assert not (tmp_path / "one.csv").exists()


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_to_the_same_scores(model, tmp_path):
    folder = tmp_path / "lake"
    folder.mkdir()
    for k in range(40):
        made_rows(3000, first=3000 * k, seed=k).to_csv(folder / f"{k:02}.csv", index=False)
    words = [sys.executable, "-m", "mixpul", "predict", model, folder, "-o"]
    whole, killed = f"{tmp_path / 'whole'}/", f"{tmp_path / 'killed'}/"
    subprocess.run([*words, whole], check=True, capture_output=True)
    random = np.random.default_rng(0)
    for _ in range(10):
        process = subprocess.Popen([*words, killed, "--resume"], stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(2, 8))
        process.kill()
        process.wait()
    subprocess.run([*words, killed, "--resume"], check=True, capture_output=True)
    for path in sorted((tmp_path / "whole").glob("*.csv")):
        assert (tmp_path / "killed" / path.name).read_bytes() == path.read_bytes()


def test_scores_are_not_written_among_the_parts(model, lake):
    result = run("predict", model, lake, "-o", lake / "scores/" / "")
    assert result.code == 2
    result = run("predict", model, lake, "-o", f"{lake}/scores/")
    assert result.code == 2
    assert not (lake / "scores").exists()


def test_a_part_is_not_replaced_by_its_scores(model, lake):
    part = lake / "day=2026-01-01" / "rows.parquet"
    before = part.read_bytes()
    result = run("predict", model, lake, "-o", part, "--force")
    assert result.code == 2
    assert "is an input of this command" in result.err
    assert part.read_bytes() == before


@pytest.mark.parametrize("more", [["--resume", "--force"], ["--out-of-fold"]])
def test_options_that_do_not_go_with_a_folder_are_refused(model, lake, tmp_path, more):
    assert run("predict", model, lake, "-o", f"{tmp_path / 'scores'}/", *more).code == 2
    assert not (tmp_path / "scores").exists()
    assert run("predict", model, lake, "-o", tmp_path / "s.csv", "--resume").code == 2


def test_a_fit_on_a_folder_knows_its_table(lake, tmp_path):
    for path in sorted(lake.rglob("*.parquet")):
        frame = pd.read_parquet(path)
        frame.assign(bought=(frame["x"] > 1).astype(int)).to_parquet(path, index=False)
    words = ["fit", lake, "--label", "bought", "--id", "id", "--method", "upu"]
    result = run(*words, "-o", tmp_path / "m.mixpul", "--json")
    assert result.code == 0, result.err
    words = ["predict", tmp_path / "m.mixpul", lake]
    assert "fitted on this very table" in run(*words, "-o", f"{tmp_path}{os.sep}scores/").err
    honest = run(*words, "-o", tmp_path / "honest.csv", "--out-of-fold")
    assert honest.code == 0, honest.err
    assert read_table(tmp_path / "honest.csv")["id"].tolist() == list(range(150))
