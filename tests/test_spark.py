"""Scores on Spark: those of `mixpul predict`, row by row. `make test-spark` starts Spark itself."""

import os
import pickle
import sys
from dataclasses import replace

import mixpul.spark
import numpy as np
import pyarrow as pa
import pytest

from mixpul._util.errors import MixpulError
from mixpul.tables import read_table
from test_parts import lake, made_rows, model, read_scores_of  # noqa: F401
from test_table_cli import run
from test_tables import refusal

# -- the function, without Spark ------------------------------------------------------------


def test_the_function_travels_as_bytes_and_scores_like_predict(model, tmp_path):  # noqa: F811
    rows = made_rows(100)
    rows.to_parquet(tmp_path / "rows.parquet", index=False)
    assert run("predict", model, tmp_path / "rows.parquet", "-o", tmp_path / "s.parquet").code == 0
    score = pickle.loads(pickle.dumps(mixpul.spark.score(model)))
    # The id of the fit is kept, as text: its type is not known.
    assert score.schema == "`id` string, `score` float, `predicted` boolean"
    assert score.columns == ["x", "city", "day", "id"]
    batches = pa.Table.from_pandas(rows).to_batches(max_chunksize=7)
    scored = pa.Table.from_batches(score(batches)).to_pandas()
    one = read_table(tmp_path / "s.parquet")
    assert scored["id"].tolist() == one["id"].astype(str).tolist()
    assert scored["score"].tolist() == one["score"].tolist()


def test_what_the_function_cannot_do_is_said(model, tmp_path):  # noqa: F811
    score = mixpul.spark.score(model)
    batches = pa.Table.from_pandas(made_rows(3).drop(columns="id")).to_batches()
    assert "has no column 'id'" in refusal(list, score(batches))
    with pytest.raises(MixpulError, match="install the same version"):
        replace(score, version="0.0.1")(batches)
    (tmp_path / "no.mixpul").write_bytes(b"no model")
    refusal(mixpul.spark.score, tmp_path / "no.mixpul")


# -- Spark ----------------------------------------------------------------------------------

on_spark = [
    pytest.mark.spark,
    # Spark's own: it has not been tested with this pandas, which nothing here calls.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        # Each of the small files is a partition of its own.
        "spark.sql.files.openCostInBytes": "1000000000",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def apply(frame, score):
    return frame.select(*score.columns).mapInArrow(score, score.schema).toArrow().to_pandas()


class TestOnSpark:
    pytestmark = on_spark

    def test_scores_are_those_of_predict(self, model, lake, tmp_path, spark):  # noqa: F811
        assert run("predict", model, lake, "-o", f"{tmp_path / 'scores'}/").code == 0
        expected = read_scores_of(tmp_path / "scores")
        frame = spark.read.parquet(str(lake))
        assert frame.rdd.getNumPartitions() == 3
        scored = apply(frame, mixpul.spark.score(model, frame))
        assert scored["id"].dtype == expected["id"].dtype
        # To the bit where parts end at the same rows. Spark may take files in another order.
        scored = scored.sort_values("id")
        assert scored["id"].tolist() == expected["id"].tolist()
        assert scored["score"].tolist() == expected["score"].tolist()
        assert scored["predicted"].tolist() == expected["predicted"].tolist()
        # Other boundaries, rows in another order.
        other = apply(frame.repartition(5), mixpul.spark.score(model, frame)).sort_values("id")
        np.testing.assert_allclose(other["score"], expected["score"], rtol=0, atol=1e-6)

    def test_rows_of_a_partition_stay_in_order(self, model, spark):  # noqa: F811
        rows = made_rows(500).sample(frac=1, random_state=0)
        frame = spark.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False)).coalesce(1)
        scored = apply(frame, mixpul.spark.score(model, frame, keep=["id", "city"]))
        assert scored["id"].tolist() == rows["id"].tolist()
        assert scored["city"].tolist() == rows["city"].tolist()

    def test_frames_that_do_not_fit_are_refused_before_a_job(self, model, spark):  # noqa: F811
        frame = spark.createDataFrame(pa.Table.from_pandas(made_rows(5).drop(columns="city")))
        assert "The frame has no column 'city'" in refusal(mixpul.spark.score, model, frame)
        assert "'town'" in refusal(mixpul.spark.score, model, frame, keep=["town"])
