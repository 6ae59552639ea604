"""Tables larger than memory: one pass, one sample, whatever the order in which they are read."""

import io
import json
import random
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mixpul._util.errors import MixpulError
from mixpul.persistence import describe
from mixpul.persistence.samples import find_sample
from mixpul.tables import _reading, read_table
from mixpul.tables.counting import has_at_most
from mixpul.tables.ranges import Range
from mixpul.tables.sampling import (
    Design,
    find_limits,
    finish_sample,
    hash_rows,
    list_tasks,
    merge_sketches,
    sample_part,
    sample_table,
)
from mixpul.tables.summaries import widen_layout
from test_table_cli import run
from test_tables import refusal

DESIGN = Design(max_rows=500, label="bought", seed=3)
FORMATS = ("parquet", "csv", "jsonl")


def made_rows(n, seed=0, share=0.02):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "id": 10_000 * seed + np.arange(n),
            "x": x,
            "whole": rng.integers(0, 9, n),
            "city": rng.choice(["Oslo", "Rome, Italy", None], n),
            "code": [f"{k:04}x" for k in range(n)],
            "bought": ((rng.random(n) < share) | (x > 2.5)).astype(int),
        }
    )


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.to_parquet(path, index=False)


def make_lake(folder, form, sizes=(900, 700, 1500, 1)):
    folder.mkdir()
    for k, n in enumerate(sizes):
        write(made_rows(n, seed=k), folder / f"{k}.{form}")
    return folder


@pytest.fixture(scope="module", params=FORMATS)
def lake(request, tmp_path_factory):
    return make_lake(tmp_path_factory.mktemp("t") / "lake", request.param)


# -- the sample -----------------------------------------------------------------------------


def test_every_row_is_drawn_equally_often():
    drawn = np.zeros(400)
    for seed in range(500):
        keys = hash_rows(seed * 2**40, 0, 400)
        drawn[np.argsort(keys)[:100]] += 1
    # 500 draws of a share of a quarter: 125 on average, with a standard deviation of 9.7.
    assert abs(drawn.mean() - 125) < 1e-9
    assert 8 < drawn.std() < 11.5
    assert drawn.min() > 125 - 5 * 9.7


def test_the_sample_does_not_depend_on_who_reads_what_in_which_order(lake, monkeypatch):
    expected = sample_table(lake, DESIGN)
    sketches = [sample_part(task, DESIGN) for task in list_tasks(lake)]
    for seed in range(3):
        random.Random(seed).shuffle(sketches)
        groups = [merge_sketches(sketches[:2], DESIGN), merge_sketches(sketches[2:], DESIGN)]
        found = finish_sample(merge_sketches(groups, DESIGN), DESIGN)
        pd.testing.assert_frame_equal(found.frame, expected.frame)
        np.testing.assert_array_equal(found.rows, expected.rows)
        assert found[2:] == expected[2:]
    files = [task.part.name for task in list_tasks(lake)]
    for other in (files[::-1], f"{lake}/*"):
        pd.testing.assert_frame_equal(sample_table(other, DESIGN).frame, expected.frame)
    monkeypatch.setattr(_reading, "ROWS_PER_BATCH", 97)
    pd.testing.assert_frame_equal(sample_table(lake, DESIGN).frame, expected.frame)


def test_the_sample_is_some_rows_of_the_table(lake):
    whole, found = read_table(lake), sample_table(lake, DESIGN)
    assert len(found.frame) == len(np.unique(found.rows)) == 500
    pd.testing.assert_frame_equal(whole.iloc[found.rows].reset_index(drop=True), found.frame)
    # All labeled positives; counts and ranges are those of all rows.
    assert found.frame["bought"].sum() == found.n_positive == whole["bought"].sum()
    assert (found.n_rows, found.n_unlabeled) == (3101, 3101 - found.n_positive)
    assert found.share == (500 - found.n_positive) / found.n_unlabeled
    low, high = found.ranges["x"]
    assert (low, high) == (whole["x"].min(), whole["x"].max())
    assert "city" not in found.ranges


def test_the_sample_of_all_rows_is_the_table(lake):
    found = sample_table(lake, DESIGN._replace(max_rows=10_000))
    assert found.is_whole
    assert found.share == 1
    pd.testing.assert_frame_equal(found.frame, read_table(lake))


def test_the_sample_does_not_depend_on_where_the_table_lies(lake, tmp_path):
    moved = shutil.copytree(lake, tmp_path / "deep" / "elsewhere")
    pd.testing.assert_frame_equal(
        sample_table(moved, DESIGN).frame, sample_table(lake, DESIGN).frame
    )
    other = sample_table(lake, DESIGN._replace(seed=4))
    assert not np.array_equal(other.rows, sample_table(lake, DESIGN).rows)


def test_a_smaller_sample_is_a_part_of_a_larger_one(tmp_path):
    lake = make_lake(tmp_path / "lake", "parquet")
    few, many = (set(sample_table(lake, DESIGN._replace(max_rows=n)).rows) for n in (400, 800))
    assert few < many


def test_rows_that_other_parts_rule_out_are_not_held(tmp_path):
    lake = make_lake(tmp_path / "lake", "parquet", sizes=(900, 900))
    first, second = list_tasks(lake)
    known = sample_part(first, DESIGN)
    alone = sample_part(second, DESIGN)
    fewer = sample_part(second, DESIGN, limits=find_limits(known, DESIGN))

    def count(sketch):
        return sum(len(piece.keys) for own in sketch.pieces.values() for piece in own)

    assert count(fewer) < count(alone)
    assert fewer.counts == alone.counts
    one, other = (
        finish_sample(merge_sketches([known, own], DESIGN), DESIGN).rows for own in (fewer, alone)
    )
    np.testing.assert_array_equal(one, other)


def test_positives_leave_half_of_the_sample_to_unlabeled_rows(tmp_path):
    write(made_rows(3000, share=0.6), tmp_path / "t.csv")
    found = sample_table(tmp_path / "t.csv", DESIGN)
    assert found.n_positive > 1500
    assert found.frame["bought"].value_counts().to_dict() == {0: 250, 1: 250}


def test_kinds_of_labels_are_told_by_their_values(tmp_path):
    frame = made_rows(2000)
    words = np.array(["no", "yes", "refused"])[np.arange(2000) % 40 % 3 * (np.arange(2000) % 7 < 2)]
    write(frame.assign(bought=words), tmp_path / "t.csv")
    design = DESIGN._replace(positive="YES", negative="refused")
    found = sample_table(tmp_path / "t.csv", design)
    counts = pd.Series(words).value_counts()
    assert (found.n_positive, found.n_negative) == (counts["yes"], counts["refused"])
    kept = found.frame["bought"].value_counts()
    assert kept["yes"] == counts["yes"]
    assert kept["refused"] == 125  # a quarter at most
    assert kept.sum() == 500
    # Without the names there is one value too many.
    assert "has 3 values" in refusal(sample_table, tmp_path / "t.csv", DESIGN)
    frame.loc[::10, "bought"] = None
    write(frame, tmp_path / "gaps.csv")
    assert "missing in 200 of 2000 rows" in refusal(sample_table, tmp_path / "gaps.csv", DESIGN)
    gaps = sample_table(
        tmp_path / "gaps.csv", DESIGN._replace(missing_is_unlabeled=True, positive=1)
    )
    assert gaps.n_rows == 2000
    lists = pa.table({"bought": [[1], [0]] * 400, "x": range(800)})
    pq.write_table(lists, tmp_path / "lists.parquet")
    assert "holds list" in refusal(sample_table, tmp_path / "lists.parquet", DESIGN)
    design = DESIGN._replace(label="code")
    assert "values" in refusal(sample_table, tmp_path / "gaps.csv", design)


def test_folders_are_columns_and_codes_keep_their_zeros(tmp_path):
    for code in ("007", "010"):
        folder = tmp_path / "lake" / f"shop={code}"
        folder.mkdir(parents=True)
        write(made_rows(400, seed=int(code)), folder / "rows.csv")
    found = sample_table(tmp_path / "lake", DESIGN)
    assert set(found.frame["shop"]) == {"007", "010"}


def test_ranges_are_of_finite_numbers_and_widen_a_summary(tmp_path):
    frame = made_rows(600).assign(x=[np.inf, np.nan, -7.0, *np.arange(597.0)])
    write(frame, tmp_path / "t.parquet")
    found = sample_table(tmp_path / "t.parquet", DESIGN)
    assert found.ranges["x"] == Range(-7.0, 596.0)
    layout = {"x": {"kind": "number", "edges": [3.0], "low": -1.0, "high": 9.0}}
    widen_layout(layout, found.ranges)
    assert (layout["x"]["low"], layout["x"]["high"]) == (-7.0, 596.0)


def test_lines_are_counted_without_reading_on(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4")
    assert has_at_most(path, 2)
    assert not has_at_most(path, 1)
    path.write_bytes(b"a,b\r\n1,2\r\n")
    assert has_at_most(path, 1)
    write(made_rows(5), tmp_path / "t.parquet")
    assert has_at_most([path, tmp_path / "t.parquet"], 6)
    assert not has_at_most([path, tmp_path / "t.parquet"], 5)


# -- parts that do not fit ------------------------------------------------------------------


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_columns_may_come_in_another_order_and_parts_may_be_empty(tmp_path, form):
    lake = make_lake(tmp_path / "lake", form)
    expected = sample_table(lake, DESIGN)
    write(
        made_rows(700, seed=1)[["city", "bought", "x", "code", "id", "whole"]], lake / f"1.{form}"
    )
    write(made_rows(0), lake / f"9.{form}")
    pd.testing.assert_frame_equal(sample_table(lake, DESIGN).frame, expected.frame)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_part_that_does_not_fit_is_named(tmp_path, form):
    def refuse(change):
        shutil.rmtree(tmp_path / "lake", ignore_errors=True)
        lake = make_lake(tmp_path / "lake", form)
        change(lake / f"2.{form}")
        model = tmp_path / "m.mixpul"
        result = run("fit", lake, "--label", "bought", "--max-rows", "500", "-o", model)
        assert result.code == 2
        assert "Traceback" not in result.err
        assert not model.exists()
        (line,) = [line for line in result.err.splitlines() if f"2.{form}'" in line]
        return line

    rows = made_rows(800)
    assert "no column 'city'" in refuse(lambda path: write(rows.drop(columns="city"), path))
    assert "no column 'bought'" in refuse(lambda path: write(rows.drop(columns="bought"), path))
    if form == "parquet":
        assert "Column 'x'" in refuse(lambda path: write(rows.assign(x="a lot"), path))
        assert "2.parquet" in refuse(lambda path: path.write_bytes(path.read_bytes()[:-100]))
    else:
        assert "has 7 cells" in refuse(
            lambda path: path.write_text(path.read_text().replace("Oslo", "Oslo,Oslo", 1))
        )
        assert "is empty" in refuse(lambda path: path.write_text(""))


# -- mixpul fit -----------------------------------------------------------------------------


def fit(table, model, *more):
    words = ["fit", table, "--label", "bought", "--id", "id", "--method", "logistic"]
    result = run(*words, "-o", model, *more)
    assert result.code == 0, result.err
    return result


def test_a_small_table_is_learned_from_whole(lake, tmp_path):
    found = json.loads(fit(lake, tmp_path / "a.mixpul", "--json").out)
    assert found["data"]["sample"] is None
    assert found["data"]["rows"] == 3101
    fit(lake, tmp_path / "b.mixpul", "--max-rows", "3101")
    assert (tmp_path / "a.mixpul").read_bytes() == (tmp_path / "b.mixpul").read_bytes()


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sampled")
    lake = make_lake(folder / "lake", "csv")
    page = folder / "page.html"
    more = ["--max-rows", "1000", "--report", page]
    said = fit(lake, folder / "m.mixpul", *more).out
    return folder, said, page.read_text()


def test_a_fit_says_what_rests_on_its_sample(sampled):
    folder, said, page = sampled
    info = describe(folder / "m.mixpul")["info"]
    sample, known = info["sample"], info["assessment"]
    assert (sample["rows"], sample["max_rows"], known["rows"]) == (3101, 1000, 1000)
    share = f"{known['unlabeled']:,} of {sample['unlabeled']:,} unlabeled rows"
    assert share in said
    assert share in page
    # Numbers of flagged rows are those of the whole table.
    (line,) = [line for line in said.splitlines() if line.startswith("│ 0.5 ")]
    k = int(np.argmin(np.abs(np.array(info["thresholds"]["threshold"]) - 0.5)))
    flagged = round(info["thresholds"]["flagged"][k] * sample["unlabeled"])
    assert f" {flagged:,} " in line
    assert "a random sample of 3,101 rows" in run("inspect", folder / "m.mixpul").out
    whole = read_table(folder / "lake")
    column = info["summary"]["columns"]["x"]
    assert (column["low"], column["high"]) == (whole["x"].min(), whole["x"].max())


def test_the_class_prior_is_estimated_on_the_sample_of_a_fit(sampled):
    folder, *_ = sampled
    words = ["prior", folder / "lake", "--label", "bought", "--id", "id", "--estimators", "tice"]
    info = describe(folder / "m.mixpul")["info"]
    found = json.loads(run(*words, "--max-rows", "1000", "--json").out)
    assert found["sample"] == info["sample"]
    n_unlabeled = info["assessment"]["unlabeled"]
    drawn = f"{n_unlabeled:,} of {info['sample']['unlabeled']:,} unlabeled rows"
    assert drawn in run(*words, "--max-rows", "1000").out
    assert json.loads(run(*words, "--json").out)["sample"] is None


def test_the_same_table_elsewhere_leads_to_the_same_model(sampled, tmp_path):
    folder, _, _ = sampled
    moved = shutil.copytree(folder / "lake", tmp_path / "lake")
    fit(moved, tmp_path / "m.mixpul", "--max-rows", "1000")
    assert (tmp_path / "m.mixpul").read_bytes() == (folder / "m.mixpul").read_bytes()


def test_rows_of_a_sample_are_reviewed_and_audited(sampled, tmp_path):
    folder, _, _ = sampled
    model, queue = folder / "m.mixpul", tmp_path / "queue.csv"
    result = run("review", model, folder / "lake", "-n", "30", "-o", queue)
    assert result.code == 0, result.err
    drawn = pd.read_csv(queue)
    whole = read_table(folder / "lake").set_index("id")
    assert (whole.loc[drawn["id"], "bought"] == 0).all()
    np.testing.assert_allclose(whole.loc[drawn["id"], "x"], drawn["x"], rtol=1e-4)
    n_unlabeled = describe(model)["info"]["assessment"]["unlabeled"]
    assert sum(map(int, str(drawn["mixpul_strata"][0]).split("+"))) == n_unlabeled
    frame = pd.read_csv(queue, dtype=str, keep_default_na=False)
    frame.assign(verdict="no").to_csv(queue, index=False)
    result = run("audit", model, queue)
    assert result.code == 0, result.err
    assert "a random sample of the" in result.out
    assert "--max-rows 1000 --seed 0" in result.out
    # Verdicts are found again by ids; other rows than those of the queue are refused.
    again = ["--max-rows", "1000", "--verdicts", queue, "-o", tmp_path / "m.mixpul"]
    words = ["fit", folder / "lake", "--label", "bought", "--method", "logistic", *again]
    assert run(*words, "--id", "id").code == 0
    result = run(*words, "--force")
    assert result.code == 2
    assert "--id" in result.err
    result = run(*words, "--id", "id", "--force", "--seed", "1")
    assert result.code == 2
    assert "the table has changed" in result.err


def test_there_are_no_out_of_fold_scores_of_rows_that_were_not_drawn(sampled, tmp_path):
    folder, _, _ = sampled
    words = ["predict", folder / "m.mixpul", folder / "lake", "-o", tmp_path / "s.csv"]
    result = run(*words, "--out-of-fold")
    assert result.code == 2
    assert "a sample of 1,000 of 3,101 rows" in result.err
    assert not (tmp_path / "s.csv").exists()


def test_a_stream_is_sampled_as_it_comes(tmp_path, monkeypatch):
    text = made_rows(3000).to_csv(index=False).encode()
    for n in ("1000", "5000"):
        model = tmp_path / f"{n}.mixpul"
        stdin = io.TextIOWrapper(io.BytesIO(text))
        monkeypatch.setattr(sys, "stdin", stdin)
        found = json.loads(fit("-", model, "--max-rows", n, "--json").out)
        assert found["data"]["rows"] == min(int(n), 3000)
        assert (found["data"]["sample"] is None) == (n == "5000")


MEASURE = """
import pathlib, sys
from mixpul.tables.sampling import Design, sample_table
import pandas, pyarrow.parquet, pyarrow.csv

def read(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024

before = read("VmRSS")
found = sample_table(sys.argv[1], Design(max_rows=20_000, label="bought"))
print(len(found.frame), found.n_rows, read("VmHWM") - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_table(tmp_path):
    rng = np.random.default_rng(0)
    piece = {f"x{j}": rng.normal(size=50_000) for j in range(12)}
    piece["bought"] = (np.arange(50_000) % 1000 == 0).astype(int)
    table = pa.table(piece)
    for k in range(4):
        with pq.ParquetWriter(tmp_path / f"{k}.parquet", table.schema) as writer:
            for _ in range(10):
                writer.write_table(table)
    command = [sys.executable, "-c", MEASURE, str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    n_drawn, n_rows, megabytes = int(printed[0]), int(printed[1]), float(printed[2])
    assert (n_drawn, n_rows) == (20_000, 2_000_000)
    # The whole table has 208 megabytes, and reading it at once takes twice that.
    assert megabytes < 120


def test_the_option_is_checked(tmp_path):
    write(made_rows(300), tmp_path / "t.csv")
    words = ["fit", tmp_path / "t.csv", "--label", "bought", "--max-rows", "5"]
    assert run(*words, "-o", tmp_path / "m.mixpul").code == 2


def test_a_forged_note_of_a_sample_is_refused():
    good = {"rows": 9, "positives": 1, "negatives": 0, "unlabeled": 8, "max_rows": 5, "seed": 0}
    assert find_sample({"sample": good | {"share": 0.5}})["rows"] == 9
    assert find_sample({}) is None
    for bad in (7, good, good | {"share": 0.5, "rows": "9"}):
        with pytest.raises(MixpulError, match="Fit the model again"):
            find_sample({"sample": bad})
