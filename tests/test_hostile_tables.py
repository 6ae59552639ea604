"""Strange and damaged tables and images: the short form of `make fuzz`; what it has found."""

import datetime

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

from fuzz_tables import KEPT, TableFuzz
from mixpul._util.errors import TableError
from mixpul.tables import TableInput, read_table, stream_table
from mixpul.tables.frames import use_plain_types
from mixpul.tables.labels import split_label
from test_table_cli import run


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory):
    fuzz = TableFuzz(tmp_path_factory.mktemp("tables"))
    yield fuzz
    fuzz.reader.stop()


def assert_good(fuzz, least):
    assert not fuzz.failures
    assert fuzz.counts.total() >= least
    assert fuzz.peak < 1024, "megabytes"


def test_what_once_failed_is_read_or_refused(fuzz):
    fuzz.repeat_kept()
    assert_good(fuzz, len(list(KEPT.iterdir())))


def test_strange_tables_and_images_are_read_or_refused(fuzz):
    fuzz.read_tables(84, first=0)
    fuzz.read_images(10, first=0)
    assert_good(fuzz, 94)
    assert fuzz.counts["tables", "read"] > 10


def test_commands_on_strange_tables_end_well_or_in_a_sentence(fuzz):
    fuzz.run_commands(10, first=0)
    assert_good(fuzz, 10)


def test_commands_on_models_with_forged_notes_end_well_or_in_a_sentence(fuzz):
    """What a fit had noted was used as it was: a list in place of a mapping was a TypeError."""
    fuzz.forge_notes(44, first=0)
    assert_good(fuzz, 40)
    assert fuzz.counts["notes", "read"] > 2


def test_a_failure_is_seen(fuzz):
    """A fuzzer that sees nothing would pass as well."""
    seen = TableFuzz(fuzz.folder)
    seen.reader = fuzz.reader
    seen.try_task(seen.make_task("strange", "csv", 231) | {"form": "no such format"}, "tables")
    assert seen.failures
    assert seen.failures[0][4] == "foreign"


# -- what it has found ----------------------------------------------------------------------


def test_half_letters_in_json_are_read_as_unknown_ones(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": "cut \\ud83d"}\n{"a": "\\ud83d\\ude00"}\n')
    assert list(read_table(tmp_path / "t.jsonl")["a"]) == ["cut \N{REPLACEMENT CHARACTER}", "😀"]


def test_lengths_of_time_in_a_sheet_can_be_scored(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["took", "x"])
    for k in range(10):
        book.active.append([datetime.timedelta(hours=k), k % 3])
    book.save(tmp_path / "t.xlsx")
    frame = read_table(tmp_path / "t.xlsx")
    encoder = TableInput().fit(frame)
    (batch,) = stream_table(tmp_path / "t.xlsx", kinds=encoder.kinds_)
    np.testing.assert_array_equal(encoder.transform(batch), encoder.transform(frame))


@pytest.mark.parametrize("seconds", [2**60, -(2**60)])
def test_dates_beyond_the_calendar_are_refused_by_name(tmp_path, seconds):
    table = pa.table({"day": pa.array([0, seconds], pa.timestamp("s")), "x": [1, 2]})
    pa.feather.write_feather(table, tmp_path / "t.feather")
    with pytest.raises(TableError, match="'day' has a date outside the years 1 to 9999"):
        read_table(tmp_path / "t.feather")
    frame = pd.DataFrame({"day": np.array([0, seconds], "datetime64[s]"), "x": [1, 2]})
    with pytest.raises(TableError, match="'day' has a date outside"):
        TableInput().fit(frame)


def test_a_type_that_cannot_be_read_is_refused_by_its_column(tmp_path):
    odd = pa.array([0, 1], pa.timestamp("s", "+24:30"))
    pa.feather.write_feather(pa.table({"x": [1, 2], "when": odd}), tmp_path / "t.feather")
    with pytest.raises(TableError, match="'when' has the type timestamp"):
        read_table(tmp_path / "t.feather")


def test_notes_of_pandas_that_are_damaged_do_no_harm(tmp_path):
    table = pa.table({"x": [1, 2]}).replace_schema_metadata({"pandas": b'{"index_columns" \xb1'})
    pa.feather.write_feather(table, tmp_path / "t.feather")
    assert list(read_table(tmp_path / "t.feather")["x"]) == [1, 2]


def test_a_name_as_long_as_a_page_is_shortened_in_a_sentence(tmp_path):
    name = "name" * 1000
    (tmp_path / "t.csv").write_text(f"{name},{name}\n1,2\n")
    result = run("prior", tmp_path / "t.csv", "--label", "x")
    assert result.code == 2
    assert "more than one column" in result.err
    assert len(result.err) < 500


BOOK = "x" * 150_000
CELLS = {
    "number": [1.0, 2.0, 5.0],
    "date": ["2024-01-01", "2024-02-01", "2024-03-09"],
    "boolean": [True, False, True],
}


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_as_long_as_a_book_is_shortened_in_a_sentence(kind):
    frame = pd.DataFrame({"x": CELLS[kind] * 5})
    encoder = TableInput().fit(frame)
    with pytest.raises(ValueError, match="but now holds 'xxx") as caught:
        encoder.transform(frame.astype(object).replace(CELLS[kind][-1], BOOK))
    assert len(str(caught.value)) < 300


def test_a_name_as_long_as_a_book_is_shortened_where_no_column_is_left():
    with pytest.raises(ValueError, match="no column to learn from") as caught:
        TableInput().fit(pd.DataFrame({BOOK: [1.0] * 15}))
    assert len(str(caught.value)) < 500


def test_a_label_as_long_as_a_book_is_shortened_in_a_sentence():
    with pytest.raises(ValueError, match="has 3 values") as caught:
        split_label(pd.DataFrame({"x": ["a", "b", BOOK] * 5}), "x")
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["Oslo", None] * 30, pa.string_view()),
        pa.array([["Oslo"], None] * 30, pa.list_(pa.string_view())),
        pa.array([{"a": "Oslo"}, None] * 30, pa.struct([("a", pa.string_view())])),
        pa.array([[1], None] * 30, pa.list_view(pa.int8())),
        pa.array([[], [1, 2], None] * 20, pa.large_list_view(pa.int8())),
        pa.array([0.5, None] * 30, pa.float16()),
        pa.DictionaryArray.from_arrays([0, 1] * 30, pa.array(["a", "b"], pa.string_view())),
        pa.RunEndEncodedArray.from_arrays([30, 60], [1.5, 2.5]),
        pa.array([1, 0] * 30, pa.bool8()),
        pa.array([b"0123456789abcdef", None] * 30, pa.uuid()),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_new_types_can_be_fitted_and_scored(tmp_path, column):
    """Rows of some of them cannot be taken in Arrow, as a sample of rows does."""
    numbers = [k * 7 % 23 for k in range(60)]
    table = pa.table({"label": [0, 0, 1] * 20, "x": numbers, "odd": column})
    with pa.ipc.new_file(str(tmp_path / "t.feather"), table.schema) as writer:
        writer.write(table)
    words = ["--label", "label", "--method", "logistic", "-o", tmp_path / "m.mixpul"]
    assert run("fit", tmp_path / "t.feather", *words).code == 0
    words = ["predict", tmp_path / "m.mixpul", tmp_path / "t.feather", "-o", tmp_path / "s.csv"]
    assert run(*words).code == 0


def test_lists_that_were_views_are_whole():
    """Arrow's own cast forgets the last offset: rows that are taken read beyond the memory."""
    lists = [[], [1, 2], None] * 20
    plain = use_plain_types(pa.table({"x": pa.array(lists, pa.list_view(pa.int8()))}))
    plain.validate(full=True)
    assert plain["x"].to_pylist() == lists


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read_as_a_table(name):
    """One has no end, so hashing it never ended."""
    result = run("fit", name, "--label", "x", "-o", "m.mixpul")
    assert result.code == 2
    assert f"{name!r} is a device; a file was expected" in result.err
