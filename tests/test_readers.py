"""Excel, JSON Lines, SQLite, DuckDB, text in many encodings: real files, and all that is wrong."""

import gzip
import json
import sqlite3
import subprocess
import sys
import zipfile
from datetime import date, datetime

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from mixpul.tables import read_table, stream_table
from mixpul.tables._encodings import guess_encoding
from test_tables import refusal, together, written

FRAME = pd.DataFrame(
    {
        "id": [1, 2, 3],
        "age": [31.5, np.nan, 40.25],
        "city": ["Oslo", "Zürich", None],
        "member": [True, False, True],
    }
)
KINDS = {"age": "number", "city": "text", "member": "boolean"}


def write_excel(path, *, sheets=("Sheet",)):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
        sheet.append(list(FRAME.columns))
        for row in FRAME.astype(object).where(FRAME.notna(), None).itertuples(index=False):
            sheet.append(list(row))
    book.save(path)
    return path


def write_json_lines(path):
    text = FRAME.to_json(orient="records", lines=True, force_ascii=False).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def write_sqlite(path):
    with sqlite3.connect(path) as database:
        FRAME.to_sql("people", database, index=False)
    database.close()
    return path


def write_duckdb(path):
    with duckdb.connect(str(path)) as database:
        database.register("frame", FRAME)
        database.execute("CREATE TABLE people AS SELECT * FROM frame")
    return path


WRITERS = {
    "t.xlsx": write_excel,
    "t.jsonl": write_json_lines,
    "t.ndjson.gz": write_json_lines,
    "t.json": write_json_lines,
    "t.db": write_sqlite,
    "t.sqlite": write_sqlite,
    "t.duckdb": write_duckdb,
    "u.db": write_duckdb,
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_table_comes_out_of_every_format(tmp_path, name):
    path = WRITERS[name](tmp_path / name)
    expected = FRAME.astype({"member": int} if WRITERS[name] is write_sqlite else {})
    for frame in (read_table(path), together(stream_table(path))):
        assert frame.columns.tolist() == FRAME.columns.tolist()
        assert frame["id"].tolist() == [1, 2, 3]
        assert frame["id"].dtype == np.int64
        np.testing.assert_array_equal(frame["age"], FRAME["age"])
        assert frame["city"].tolist()[:2] == ["Oslo", "Zürich"]
        assert frame["city"].isna().tolist() == [False, False, True]
        assert frame["member"].tolist() == expected["member"].tolist()
    for frame in (read_table(path, kinds=KINDS), together(stream_table(path, kinds=KINDS))):
        assert frame.columns.tolist() == list(KINDS)
        np.testing.assert_array_equal(frame["age"], FRAME["age"])
        assert frame["member"].tolist() == [True, False, True]
    assert "no column 'aeg'" in refusal(read_table, path, kinds={"aeg": "number"})


# -- Excel ----------------------------------------------------------------------------------


def test_a_sheet_is_chosen_by_its_name_and_the_first_one_is_said(tmp_path):
    path = write_excel(tmp_path / "t.xlsx", sheets=("Leads", "Old ones"))
    assert len(read_table(f"{path}::Old ones")) == 3
    with pytest.warns(UserWarning, match="2 sheets; 'Leads' is read"):
        assert len(read_table(path)) == 3
    assert "no sheet 'Odl'; it has 'Leads', 'Old ones'" in refusal(read_table, f"{path}::Odl")


def test_cells_of_a_sheet_keep_their_types(tmp_path):
    book = openpyxl.Workbook()
    book.active.append([])
    book.active.append(["code", "day", "moment", "mixed", None, "none", 2024])
    book.active.append(["007", date(2024, 1, 2), datetime(2024, 1, 2, 3, 4), 5, "x", None, 1])
    book.active.append(["=1+1", date(2024, 1, 3), None, "five", None, None, 2])
    book.save(tmp_path / "t.xlsx")
    frame = read_table(tmp_path / "t.xlsx")
    assert frame.columns.tolist() == ["code", "day", "moment", "mixed", "column E", "none", "2024"]
    assert frame["code"].tolist()[0] == "007"
    assert frame["day"].dt.day.tolist() == [2, 3]
    assert frame["moment"].iloc[0] == pd.Timestamp("2024-01-02 03:04")
    assert frame["mixed"].tolist() == ["5", "five"]
    assert frame["2024"].tolist() == [1, 2]
    texts = read_table(tmp_path / "t.xlsx", kinds={"day": "date", "mixed": "text"})
    assert texts["day"].tolist() == ["2024-01-02", "2024-01-03"]


def repack(path, change, target):
    """Write an Excel file again, with its parts changed."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            new.writestr(part.filename, change(part.filename, old.read(part)))
    return target


def test_a_sheet_with_a_cell_far_away_is_refused_before_memory_is_asked_for(tmp_path):
    path = write_excel(tmp_path / "t.xlsx")

    def move(name, content):
        return content.replace(b'r="D4"', b"r='XFD1048576'") if "worksheets" in name else content

    sentence = refusal(read_table, repack(path, move, tmp_path / "far.xlsx"))
    assert "they reach over 1,048,576 rows and 16,384 columns" in sentence


def test_an_excel_file_that_unpacks_to_too_much_is_refused(tmp_path):
    path = write_excel(tmp_path / "t.xlsx")
    more = repack(path, lambda name, content: content, tmp_path / "more.xlsx")
    with (
        zipfile.ZipFile(more, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/sharedStrings2.xml", "w") as part,
    ):
        for _ in range(300):
            part.write(bytes(2**20))
    assert "unpacks to" in refusal(read_table, more)


BAD_EXCEL = {
    "empty": (lambda book: None, "is empty; a row of column names was expected"),
    "numbers": (lambda book: book.active.append([1, 2]), "has no header"),
    "twice": (
        lambda book: [book.active.append(row) for row in (["a", "a"], [1, 2])],
        "more than one column named 'a'",
    ),
    "no rows": (lambda book: book.active.append(["a", "b"]), "has no rows"),
}


@pytest.mark.parametrize("what", BAD_EXCEL)
def test_a_bad_sheet_is_refused_in_a_sentence(tmp_path, what):
    fill, words = BAD_EXCEL[what]
    book = openpyxl.Workbook()
    fill(book)
    book.save(tmp_path / "t.xlsx")
    assert words in refusal(read_table, tmp_path / "t.xlsx")


# -- JSON Lines -----------------------------------------------------------------------------


def test_json_lines_may_differ_in_keys_types_and_depth(tmp_path):
    rows = [
        {"a": 1, "home": {"city": "Rome"}},
        {"a": 2.5, "tags": ["x"]},
        {"home": None, "a": None},
    ]
    text = "\n".join(map(json.dumps, rows)) + "\n\n"
    frame = read_table(written(tmp_path / "t.jsonl", text))
    assert frame.columns.tolist() == ["a", "home.city", "tags", "home"]
    np.testing.assert_array_equal(frame["a"], [1, 2.5, np.nan])
    assert frame["tags"].tolist()[1] == '["x"]'


def test_types_of_json_lines_follow_from_all_rows(tmp_path):
    lines = [json.dumps({"n": k, "id": k}) for k in range(20_000)] + ['{"n": 0.5, "id": "k7"}']
    path = written(tmp_path / "t.jsonl", "\n".join(lines))
    frame = read_table(path)
    assert frame["n"].dtype == np.float64
    assert frame["id"].tolist()[-2:] == ["19999", "k7"]
    assert "In column 'n'" in refusal(stream_table, path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}\n{"a": \n', "Line 2 of .* is not JSON"),
        ('{"a": 1}\n[1, 2]\n', "Line 2 of .* is JSON, but not an object"),
        ("[" * 100_000, "is not JSON|one JSON array"),
        ('{"a": ' + "9" * 5000 + "}", "is not JSON"),
        ('{"a": 1e999}\n', "^$"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, words):
    path = written(tmp_path / "t.jsonl", text)
    if words == "^$":
        assert np.isinf(read_table(path)["a"]).all()
        return
    assert pd.Series([refusal(read_table, path)]).str.contains(words).all()


# -- databases ------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [write_sqlite, write_duckdb])
def test_a_table_or_a_query_is_named_after_two_colons(tmp_path, write):
    path = write(tmp_path / "t.db")
    assert len(read_table(f"{path}::people")) == 3
    found = read_table(f"{path}::SELECT age * 2 AS double FROM people WHERE id < 3")
    assert found["double"].tolist()[0] == 63
    assert "did you mean 'people'?" in refusal(read_table, f"{path}::peple")
    sentence = refusal(read_table, f"{path}::SELECT * FROM nowhere")
    assert "nowhere" in sentence


@pytest.mark.parametrize("write", [write_sqlite, write_duckdb])
@pytest.mark.parametrize(
    "query",
    [
        "WITH x AS (SELECT 1) INSERT INTO people SELECT * FROM people",
        "SELECT 1; DROP TABLE people",
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "SELECT * FROM '{folder}/secret.csv'",
        "SELECT load_extension('x')",
        "SELECT * FROM FRAME",
    ],
)
def test_a_query_can_neither_write_nor_read_other_files(tmp_path, write, query):
    path = write(tmp_path / "t.db")
    before = path.read_bytes()
    written(tmp_path / "secret.csv", "a\n1\n")
    sentence = refusal(read_table, f"{path}::{query.format(folder=tmp_path)}")
    assert str(path) in sentence
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"t.db", "secret.csv"}


@pytest.mark.parametrize("place", ["ATTACH 'x.db' AS x", "PRAGMA journal_mode=WAL", "DROP TABLE t"])
def test_what_is_not_a_query_is_taken_for_a_table(tmp_path, place):
    path = write_sqlite(tmp_path / "t.db")
    assert "has no table" in refusal(read_table, f"{path}::{place}")


def test_several_tables_have_to_be_told_apart(tmp_path):
    path = write_sqlite(tmp_path / "t.db")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE [two words] (x)")
    database.close()
    assert "has the tables 'people', 'two words'; name one" in refusal(read_table, path)
    assert "has no rows" in refusal(read_table, f"{path}::two words")


def test_values_of_one_sqlite_column_may_differ_in_type(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE t (big, mixed)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(2**53 + 1, 1), (2, "one")])
    database.close()
    frame = read_table(tmp_path / "t.db")
    assert frame["big"].tolist() == [2**53 + 1, 2]
    assert frame["mixed"].tolist() == ["1", "one"]


@pytest.mark.parametrize("write", [write_sqlite, write_duckdb])
def test_a_damaged_database_is_refused(tmp_path, write):
    path = write(tmp_path / "t.db")
    content = path.read_bytes()
    path.write_bytes(content[:16] + bytes(len(content) - 16))
    assert "cannot be read as" in refusal(read_table, path)


# -- what is not read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("t.xls", "an old Excel file; save it as .xlsx"),
        ("t.ods", "an OpenDocument sheet"),
        ("t.sav", "an SPSS file; read it with pandas.read_spss"),
        ("t.pkl", "a pickle, which can run any code"),
        ("t.zip", "a zip archive; unpack it"),
        ("t.csv.bz2", "packed with bzip2"),
        ("t.parquet.gz", "a packed Parquet file; unpack it"),
    ],
)
def test_what_is_not_read_is_named_with_the_way_out(tmp_path, name, words):
    content = gzip.compress(b"x") if name.endswith(".gz") else b"anything"
    assert words in refusal(read_table, written(tmp_path / name, content))


def test_a_json_array_is_refused_with_the_way_out(tmp_path):
    path = written(tmp_path / "t.json", '[{"a": 1}]')
    assert "is one JSON array; write one object per line" in refusal(read_table, path)


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [("python_calamine", "t.xlsx", "excel"), ("duckdb", "t.duckdb", "database")],
)
def test_a_missing_extra_is_one_sentence(tmp_path, monkeypatch, package, name, extra):
    path = WRITERS[name](tmp_path / name)
    monkeypatch.setitem(sys.modules, package, None)
    sentence = refusal(read_table, path, error=ImportError)
    assert f"pip install 'mixpul[{extra}]'" in sentence


# -- encodings ------------------------------------------------------------------------------

TEXTS = {
    "cp1252": "Straße,Größe,prénom\nMünchen,groß,Hélène\nKöln,klein,François\n",
    "cp1250": "Jméno,Příjmení,Město\nJiří,Novák,Plzeň\nTomáš,Dvořák,Ústí\nŽofie,Černá,Děčín\n",
    "cp1251": "Имя,Город,Возраст\nИван,Москва,34\nОльга,Казань,28\n",
    "cp932": "名前,都市,年齢\n田中太郎,東京,30\n鈴木一郎,大阪市,25\n",
    "utf-16-le": "name,age\nAda,36\nZoë,41\n",
    "utf-16": "name,age\nAda,36\nZoë,41\n",
    "utf-8-sig": "naïve,age\nAda,36\n",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_an_encoding_that_is_not_said_is_guessed_and_column_names_are_whole(tmp_path, encoding):
    text = TEXTS[encoding]
    path = written(tmp_path / "t.csv", text.encode(encoding))
    is_guess = encoding.startswith("cp")
    for read in (read_table, lambda path: together(stream_table(path))):
        if is_guess:
            with pytest.warns(UserWarning, match=f"read as {encoding}, which is a guess"):
                frame = read(path)
        else:
            frame = read(path)
        assert frame.columns.tolist() == text.splitlines()[0].split(",")
        assert str(frame.iloc[-1, 0]) == text.splitlines()[-1].split(",")[0]


def test_a_letter_far_down_changes_the_guess_there(tmp_path):
    content = b"name,n\n" + b"Ada,1\n" * 800_000 + b"Zo\xeb,2\n"
    with pytest.warns(UserWarning, match="read as cp1252"):
        frame = read_table(written(tmp_path / "t.csv", content))
    assert frame["name"].iloc[-1] == "Zoë"
    assert len(frame) == 800_001


def test_without_its_package_only_western_text_is_guessed(monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    assert guess_encoding(TEXTS["cp1252"].encode("cp1252")) == "cp1252"
    assert guess_encoding("price 5 € “so”\nit’s 20°\n".encode("cp1252")) == "cp1252"
    for encoding in ("cp1251", "cp932"):
        assert guess_encoding(TEXTS[encoding].encode(encoding)) is None
    assert guess_encoding("Płeć,Łódź,mężczyzna\n".encode("cp1250")) is None


def test_noise_is_not_taken_for_text(tmp_path):
    noise = np.random.default_rng(0).integers(1, 256, 10_000).astype(np.uint8).tobytes()
    assert "is not written in utf-8" in refusal(read_table, written(tmp_path / "t.csv", noise))


@pytest.mark.parametrize("encoding", ["hex", "rot13", "zip", "a\0b", "", "undefined", "idna"])
@pytest.mark.parametrize("read", [read_table, stream_table])
def test_codecs_that_are_not_text_are_refused(tmp_path, read, encoding):
    path = written(tmp_path / "t.csv", "a,b\n1,é\n")
    if encoding:
        assert "ncoding" in refusal(read, path, encoding=encoding)


def test_a_wrong_encoding_ends_the_process_in_order(tmp_path):
    path = written(tmp_path / "t.csv", "a,b\n" + "1,é\n" * 300_000)
    program = f"""
from mixpul.tables import stream_table, read_table
for read in (stream_table, read_table):
    try:
        list(read({str(path)!r}, encoding="ascii"))
    except ValueError as error:
        print(error)
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("is not written in ascii: byte 0xc3 in line 2") == 2


# -- CSV as it comes ------------------------------------------------------------------------


def test_lines_may_end_in_carriage_returns_alone(tmp_path):
    frame = read_table(written(tmp_path / "t.csv", 'a,b\r1,"x\ry"\r2,z\r'))
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].tolist() == ["x\ny", "z"]


def test_cells_may_be_longer_than_the_standard_library_allows(tmp_path):
    path = written(tmp_path / "t.csv", f'{"n" * 200_000},b\n"{"x" * 9_000_000}",1\ny,2\n')
    for frame in (read_table(path), together(stream_table(path))):
        assert frame.iloc[:, 0].str.len().tolist() == [9_000_000, 1]
        assert frame["b"].tolist() == [1, 2]


def test_quotes_and_line_breaks_survive_the_borders_of_blocks(tmp_path):
    cells = ["plain", "comma, inside", "line\nbreak", 'quote " inside', '5" pipe', '"', ' "x"', ""]
    frame = pd.DataFrame({"n": range(400_000), "text": [cells[k * 7 % 8] for k in range(400_000)]})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    expected = frame.assign(text=frame["text"].where(frame["text"] != ""))
    pd.testing.assert_frame_equal(read_table(path), expected, check_dtype=False)
    raw = "n,text\n" + '1,5" pipe\n2,"a\nb"\n3,6" pipe and more\n' * 300_000
    found = together(stream_table(written(path, raw)))
    assert found["text"].value_counts().to_dict() == dict.fromkeys(
        ['5" pipe', "a\nb", '6" pipe and more'], 300_000
    )


def test_the_types_of_a_whole_file_fit_its_last_row(tmp_path):
    path = written(tmp_path / "t.csv", "a,b\n" + "1,007\n" * 900_000 + "1.5,x\n")
    frame = read_table(path)
    assert frame["a"].dtype == np.float64
    assert frame["b"].iloc[0] == "007"
    assert "In column 'a'" in refusal(stream_table, path)


def test_an_open_quote_is_one_sentence(tmp_path):
    assert "t.csv" in refusal(read_table, written(tmp_path / "t.csv", 'a,b\n1,"x\n2,y\n3,z\n'))


def test_a_small_packed_file_that_unpacks_to_gigabytes_is_refused_early(tmp_path):
    packer = gzip.compress(b"0,1\n" * 2**18, 9)
    path = written(tmp_path / "t.csv.gz", gzip.compress(b"a,b\n") + packer * 2000)
    program = f"""
import re, resource
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
from mixpul.tables import stream_table
try:
    for _ in stream_table({str(path)!r}, kinds={{"a": "number"}}):
        pass
except ValueError as error:
    print(error)
# Of this program alone: what getrusage tells includes the process that started it.
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sentence, peak = done.stdout.splitlines()
    assert "unpacks to more than" in sentence
    assert int(peak) < 2**20  # kilobytes


def test_a_row_without_an_end_is_refused(tmp_path):
    path = written(tmp_path / "t.csv", b"a,b\n" + b"x" * (70 * 2**20))
    assert "has more than 67,108,864 bytes" in refusal(read_table, path)


def test_arrow_tables_of_all_formats_can_be_joined(tmp_path):
    batches = list(stream_table(write_duckdb(tmp_path / "t.duckdb")))
    assert pa.Table.from_batches(batches).num_rows == 3
