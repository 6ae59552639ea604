"""Whatever table `mixpul fit` learns from, `mixpul predict` scores, each of its rows."""

import csv
import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from test_table_cli import run

N_ROWS = 40
# Columns as people have them, by kind: what a cell can be. Empty cells are added to some.
KINDS = {
    "numbers": st.floats(-1e6, 1e6).map(lambda x: f"{x:.6g}"),
    "large numbers": st.sampled_from(["1e300", "-1e308", "3e38", "0.0", "-2e-300"]),
    "integers": st.integers(-(2**40), 2**40).map(str),
    "hex": st.integers(0, 255).map(hex),
    "amounts": st.floats(0, 1e6).map(lambda x: f"{x:,.2f}"),
    "booleans": st.sampled_from(["true", "false"]),
    "yes and no": st.sampled_from(["yes", "no", "Yes"]),
    "dates": st.dates().map(str),
    "times": st.datetimes().map(lambda t: t.isoformat(" ", "seconds")),
    "categories": st.sampled_from(["red", "blue", "=1+1", "[/bold]", "grün", "\x1b[31m"]),
    "words": st.text("abc ,;\"'\t", min_size=1, max_size=8),
    "long cells": st.sampled_from(["x", "y " * 70_000]),
    "mixed": st.sampled_from(["1", "two", "3.5", "-", "nan", "0x1F"]),
    "all missing": st.just(""),
    "constant": st.just("same"),
}
LINE_ENDS = ("\n", "\r\n", "\r")


@st.composite
def columns(draw):
    """Return a kind for each of a few columns, and the cells, some of them empty."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    found = {}
    for number, kind in enumerate(kinds):
        # A few cells in a random order: enough variety, and quick to draw.
        few = draw(st.lists(KINDS[kind], min_size=3, max_size=6))
        if draw(st.booleans()):
            few.append("")
        order = np.random.default_rng(draw(st.integers(0, 99))).integers(len(few), size=N_ROWS)
        found[f"{number} {kind}"] = [few[k] for k in order]
    return found


def make_labels():
    label = np.zeros(N_ROWS, dtype=int)
    label[::3] = 1
    return label


def write_csv(cells, path, line_end):
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator=line_end)
    # A column of plain numbers is always there: a table without any cannot be learned from.
    names = [*cells, "plain", "label"]
    writer.writerow(names)
    plain = np.random.default_rng(0).normal(size=N_ROWS).round(3)
    writer.writerows(zip(*cells.values(), plain, make_labels(), strict=True))
    path.write_bytes(buffer.getvalue().encode())


def check_fit_then_predict(folder, table):
    """Fit and predict through the command line; return whether it was done, or refused."""
    model, scores = folder / "model", folder / "scores.csv"
    settings_of_trees = ("--method", "bagging", "--set", "n_estimators=5")
    fitted = run("fit", table, "--label", "label", *settings_of_trees, "-o", model)
    assert "Traceback" not in fitted.err
    if fitted.code:
        # Refused, with a sentence: then there is no model.
        assert fitted.err.splitlines()[-1].startswith("mixpul: ")
        assert "Please report it" not in fitted.err, fitted.err
        assert not model.exists()
        return False
    predicted = run("predict", model, table, "-o", scores)
    assert predicted.code == 0, predicted.err
    found = pd.read_csv(scores)
    assert len(found) == N_ROWS
    assert found["score"].between(0, 1).all()
    return True


@given(cells=columns(), line_end=st.sampled_from(LINE_ENDS))
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_a_csv_file_that_was_learned_from_is_scored(cells, line_end):
    try_csv(cells, line_end)


@pytest.mark.slow
@given(cells=columns(), line_end=st.sampled_from(LINE_ENDS))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_csv_files_that_were_learned_from_are_scored(cells, line_end):
    try_csv(cells, line_end)


def try_csv(cells, line_end):
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        write_csv(cells, table, line_end)
        check_fit_then_predict(Path(folder), table)


# What data frames hold beyond numpy's kinds, each with a gap.
NULLABLE = {
    "Int64": pd.array([1, None, 3, 4], dtype="Int64"),
    "Float64": pd.array([1.5, None, 2.5, 0.0], dtype="Float64"),
    "boolean": pd.array([True, None, False, True], dtype="boolean"),
    "string": pd.array(["a", None, "b", "a"], dtype="string"),
    "category": pd.Categorical(["a", None, "b", "a"]),
    "datetime": pd.to_datetime(["2020-01-01", None, "2021-02-03", "2022-03-04"]),
    "timezone": pd.to_datetime(["2020-01-01", None, "2021-02-03", "2022-03-04"], utc=True),
    "duration": pd.to_timedelta([1, None, 3, 4], unit="h"),
}


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_nullable_columns_that_were_learned_from_are_scored(tmp_path, ending):
    frame = pd.DataFrame(
        {
            name: pd.Series(values).take(np.arange(N_ROWS) % 4).reset_index(drop=True)
            for name, values in NULLABLE.items()
        }
    )
    frame["label"] = make_labels()
    table = tmp_path / f"table.{ending}"
    getattr(frame, f"to_{ending}")(table)
    assert check_fit_then_predict(tmp_path, table)
