"""Tables as people have them: what their columns hold, and that it is read alike later."""

import json
from datetime import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from mixpul import LogisticPUClassifier, load, save
from mixpul.tables import TableInput, leaks, read_table, score_stream, stream_table
from mixpul.tables._kinds import as_numbers, look_at
from mixpul.tables._ngrams import embed_texts, plan_embedding
from test_table_cli import run

DATA = Path(__file__).parent / "data"


def read(cells, **options):
    """What a column of cells is found to be, and its values."""
    column = pd.Series(cells, dtype=object)
    found = look_at(column, **options)
    values = (
        None if found.kind in ("text", "other") else as_numbers(column, *found[:1], "x", found[1])
    )
    return found, values


def noted(model):
    return {entry["column"]: entry for entry in model.report_}


def refusal(call, *args, **options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the sentence is looked at by callers
        call(*args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- numbers --------------------------------------------------------------------------------

NUMBERS = {
    "dollars": (["$29.85", "$4,830.25", "-$3.00", "$-4"], [29.85, 4830.25, -3, -4]),
    "euros": (["1.234,50 €", "12,00 €", "3 €", "12,- €"], [1234.5, 12, 3, 12]),
    "a code before": (["USD 12", "usd 1,500", "USD 0.50"], [12, 1500, 0.5]),
    "no decimals": (["1.234 €", "12.900 €", "999 €"], [1234, 12900, 999]),
    "losses in brackets": (["(1,200.00)", "35.10", "7-"], [-1200, 35.1, -7]),
    "thousands": (["$1.2k", "$3M", "5 Mio. €", "2 k€"], [1200, 3e6, 5e6, 2000]),
    "percent": (["18.01%", "3 %", "-2.5%"], [18.01, 3, -2.5]),
    "decimal commas": (["129,0", "0,5", "1200,25"], [129, 0.5, 1200.25]),
    "English": (["1,234.5", "2,000", "7"], [1234.5, 2000, 7]),
    "German": (["1.234,5", "2.000", "7"], [1234.5, 2000, 7]),
    "Swiss": (["1'234.50", "2’000", "7"], [1234.5, 2000, 7]),
    "French": (["1\u202f234,5", "2\u00a0000", "1\u2009234\u2009567"], [1234.5, 2000, 1234567]),
    "Indian": (["12,34,567", "1,234", "56,789.5"], [1234567, 1234, 56789.5]),
    "true minus": (["\u22125.5", "+3", "2"], [-5.5, 3, 2]),
    "one unit": (["12 kg", "5.5kg", "3"], [12, 5.5, 3]),
    "two units": (["12 kg", "5.5 kg", "500 g"], [12, 5.5, 0.5]),
    "lengths": (["5.3km", "800 m", "2 km"], [5.3, 0.8, 2]),
    "unknown unit": (["3 rooms", "4 rooms", "12 rooms"], [3, 4, 12]),
    "degrees": (["21.5 °C", "-3 °C"], [21.5, -3]),
    "hexadecimal": (["0x1F", "0x20", "0xff"], [31, 32, 255]),
    "powers of ten": (["1e3", "2.5E-2", "7"], [1000, 0.025, 7]),
    "clock": (["1:30:00", "0:00:30", "12:05"], [5400, 30, 43500]),
    "hours and minutes": (["2h 5m", "45m", "3h"], [7500, 2700, 10800]),
    "days": (["3 days", "1 day", "2 weeks", "1 day 02:00:00"], [259200, 86400, 1209600, 93600]),
    "minutes": (["30 min", "2 h", "45"], [1800, 7200, 2700]),
    "ISO durations": (["PT2H5M", "P1DT1H", "PT30S"], [7500, 90000, 30]),
}  # fmt: skip


@pytest.mark.parametrize("what", NUMBERS)
def test_numbers_are_read_as_people_write_them(what):
    cells, expected = NUMBERS[what]
    found, values = read(cells)
    assert found.kind == "number"
    np.testing.assert_allclose(values, expected)


def test_the_whole_column_decides_what_a_comma_means():
    alone, values = read(["1,234", "5,678"])
    assert values.tolist() == [1234, 5678]
    assert "commas taken for thousands separators" in alone.said
    together, values = read(["1,234", "5,67"])
    assert values.tolist() == [1.234, 5.67]
    assert "decimal commas" in together.said
    plain, values = read(["1.234", "5.678"])
    assert values.tolist() == [1.234, 5.678]
    assert "thousands" not in plain.said


def test_units_that_cannot_be_converted_are_gaps_beside_the_commonest():
    found, values = read([*(f"{k} kg" for k in range(1, 60)), "3 km"])
    assert values[:3].tolist() == [1, 2, 3]
    assert np.isnan(values[-1])
    assert "'3 km' read as gaps" in found.said
    assert read(["3 kg", "4 km", "5 kg", "6 km"])[0].kind == "text"
    mixed, _ = read(["USD 3", "EUR 4", "USD 5"])
    assert mixed.said == "money (eur and usd, not converted)"


@pytest.mark.parametrize(
    "cells",
    [
        ["007", "010", "123"],
        ["12A", "14B", "7C"],
        ["10.0.0.1", "192.168.1.2"],
        ["1.2.3", "1.10.2"],
        ["555-1234", "555-9876"],
        ["18-24", "25-34", "65+"],
        ["A12", "B7"],
        ["12 Main Street", "7 Oak Avenue"],
        ["1st", "2nd", "3rd"],
        ["1", "2", "3", "unrated"],
        ["low", "none", "unknown"],
        ["3/4", "1/2"],
        ["99/99/9999", "32.13.2020"],
    ],
)
def test_codes_and_categories_stay_text(cells):
    assert read(cells * 5)[0].kind == "text"


def test_words_for_gaps_are_gaps_among_numbers_and_categories_among_categories():
    cells = [*map(str, range(20, 60)), "unknown", "n/a", "-", "?", "k.A.", "#N/A", "null", "None"]
    found, values = read(cells)
    assert found.kind == "number"
    assert np.isnan(values[40:]).all()
    assert not np.isnan(values[:40]).any()
    colours = pd.DataFrame({"colour": ["red", "none", "unknown", "blue"] * 10})
    names = TableInput().fit(colours).get_feature_names_out().tolist()
    assert names == ["colour=blue", "colour=none", "colour=red", "colour=unknown"]


def test_a_rare_word_among_numbers_is_a_gap_then_and_later():
    frame = pd.DataFrame({"age": [*map(str, range(0, 80, 2)), "thirty"]})
    model = TableInput().fit(frame)
    assert "'thirty' read as gaps" in noted(model)["age"]["note"]
    out = model.transform(pd.DataFrame({"age": ["forty", "39", None]}))
    np.testing.assert_allclose(out, [[0, 1], [0, 0], [0, 1]], atol=1e-6)
    strict = TableInput().fit(frame[:-1])
    assert "held numbers" in refusal(strict.transform, pd.DataFrame({"age": ["forty"]}))


@pytest.mark.parametrize(
    ("yes", "no"),
    [("yes", "no"), ("Y", "N"), ("TRUE", "false"), ("ja", "Nein"), ("oui", "non"), ("si", "no"),
     ("sí", "no"), ("t", "f"), ("on", "off"), ("да", "нет")],
)  # fmt: skip
def test_yes_and_no_are_true_and_false(yes, no):
    found, values = read([yes, no, f" {yes.upper()} ", "unknown"])
    assert found.kind == "boolean"
    np.testing.assert_array_equal(values, [1, 0, 1, np.nan])


@pytest.mark.parametrize("words", [["yes", "yes"], ["t", "f", "n"], ["yes", "no", "maybe"]])
def test_other_words_beside_yes_and_no_are_categories(words):
    assert read(words * 10)[0].kind == "text"


def test_numbers_beyond_all_measure_become_finite_features():
    wild = [1e308, -1e308, 3e38, -3e38, 1e-308, 0.0, 1.0, np.inf, np.nan, 5e-324]
    for values in (wild * 5, [1e308, -1e308] * 30, [1e308] + [0.0] * 99, [5e-324, 1e-310, 0.0] * 9):
        frame = pd.DataFrame({"x": values, "y": np.arange(len(values)) % 3})
        model = TableInput(keep=["x"]).fit(frame)
        assert np.isfinite(model.transform(frame)).all()
        later = pd.DataFrame({"x": wild, "y": 1})
        assert np.isfinite(model.transform(later)).all()
    assert (
        "beyond 1e150 taken for it"
        in noted(TableInput().fit(frame.assign(x=wild[:3] * 9)))["x"]["note"]
    )
    huge = pd.DataFrame({"x": pd.Series([10**400, 1, 2] * 9, dtype=object)})
    assert np.isfinite(TableInput().fit_transform(huge)).all()


# -- dates ----------------------------------------------------------------------------------

DATES = {
    "German": (["14.09.2008", "1.2.2009"], ["2008-09-14", "2009-02-01"], "day first"),
    "British": (["14/09/2008 16:08", "01/02/2009 00:30"], ["2008-09-14T16:08", "2009-02-01T00:30"],
                "day first"),
    "American": (["9/14/08 4:08 PM", "2/1/09 12:00 AM"], ["2008-09-14T16:08", "2009-02-01"],
                 "month first"),
    "names": (["14 Sep 2008", "Feb 1, 2009", "3. März 2010", "1-Jan-99"],
              ["2008-09-14", "2009-02-01", "2010-03-03", "1999-01-01"], "dates"),
    "year first": (["2008/09/14", "2009.02.01"], ["2008-09-14", "2009-02-01"], "dates"),
    "time zones": (["2008-09-14 10:00 +02:00", "Sun, 14 Sep 2008 10:00:00 GMT"],
                   ["2008-09-14T08:00", "2008-09-14T10:00"], "dates"),
    "months": (["Sep 2008", "Feb 2009"], ["2008-09-01", "2009-02-01"], "dates"),
}  # fmt: skip


@pytest.mark.parametrize("what", DATES)
def test_dates_are_read_as_people_write_them(what):
    cells, expected, said = DATES[what]
    found, values = read(cells)
    assert found.kind == "date"
    assert said in found.said
    days = (np.array(expected, dtype="datetime64[s]") - np.datetime64(0, "s")) / np.timedelta64(
        1, "D"
    )
    np.testing.assert_allclose(values, days)


def test_where_no_day_is_above_12_the_order_is_assumed_and_said():
    slashes, _ = read(["04/03/2018", "05/06/2019"])
    assert "month first is assumed" in slashes.said
    assert "--date-order day-first" in slashes.said
    points, _ = read(["04.03.2018", "05.06.2019"])
    assert "day first is assumed" in points.said
    first_of_month, _ = read(["01/03/2018", "01/06/2019"])
    assert "day first (every day is the first of its month)" in first_of_month.said
    table = pd.DataFrame(
        {"a": ["04/03/2018", "05/06/2019"] * 9, "b": ["14/03/2018", "05/06/2019"] * 9}
    )
    both = TableInput().fit(table)
    assert "dates, day first (as in 'b')" in noted(both)["a"]["note"]
    asked = TableInput(date_order="month-first").fit(table[["a"]])
    iso = TableInput().fit_transform(pd.DataFrame({"a": ["2018-04-03", "2019-05-06"] * 9}))
    np.testing.assert_allclose(asked.transform(table), iso, rtol=1e-6)


def test_stamps_are_dates_only_where_name_and_range_say_so():
    stamps = np.random.default_rng(0).integers(1_500_000_000, 1_600_000_000, 50)
    frame = pd.DataFrame(
        {"created_at": stamps, "timestamp": stamps * 1000, "amount": stamps, "updated": stamps // 9,
         "event_date": [20180101 + k % 28 for k in range(50)]}
    )  # fmt: skip
    model = TableInput().fit(frame)
    kinds = {name: entry["kind"] for name, entry in noted(model).items()}
    assert kinds == {"created_at": "date", "timestamp": "date", "amount": "number",
                     "updated": "number", "event_date": "date"}  # fmt: skip
    assert "seconds since 1970 by its name" in noted(model)["created_at"]["note"]
    as_dates = pd.DataFrame({"created_at": pd.to_datetime(stamps, unit="s")})
    np.testing.assert_allclose(
        TableInput().fit_transform(frame[["created_at"]]),
        TableInput().fit_transform(as_dates), atol=1e-4,
    )  # fmt: skip
    forced = TableInput(date=["amount"]).fit(frame)
    assert noted(forced)["amount"]["kind"] == "date"


# -- text -----------------------------------------------------------------------------------


def make_remarks(n_rows=300, seed=0):
    random = np.random.default_rng(seed)
    words = ["red", "blue", "green", "car", "bike", "boat", "old", "new", "broken", "fine"]
    return [f"{' '.join(random.choice(words, 5))} {k}" for k in range(n_rows)]


def test_free_text_becomes_numbers_that_follow_its_words():
    remarks = make_remarks()
    model = TableInput().fit(pd.DataFrame({"remark": remarks}))
    assert model.get_feature_names_out().tolist() == [f"remark_text{k}" for k in range(1, 9)]
    pairs = pd.DataFrame({"remark": ["old red car", "red car old", "new blue boat", None]})
    out = model.transform(pairs)
    near, far = np.linalg.norm(out[0] - out[1]), np.linalg.norm(out[0] - out[2])
    assert near < far / 3
    np.testing.assert_array_equal(out[3], np.zeros(8))
    # The order of rows does not matter, and the plan is plain JSON.
    again = TableInput().fit(pd.DataFrame({"remark": remarks[::-1]}))
    assert again.plan_ == model.plan_
    assert json.loads(json.dumps(model.plan_)) == model.plan_


def test_many_rare_categories_are_told_apart_by_letters_and_frequency():
    random = np.random.default_rng(0)
    places = [f"{a}{b}" for a in ("North", "South", "Oak", "Mill", "Ash", "King") for b in
              ("field", "ham", "ton", "bury", "port", "mouth", "haven", "ford")]  # fmt: skip
    frame = pd.DataFrame({"place": random.choice(places, 400)})
    labels = frame["place"].str.endswith("port")
    model = TableInput().fit(frame, labels)
    assert "place_rows" in model.get_feature_names_out()
    assert "place_text1" in model.get_feature_names_out()
    # Labels of any kind leave no trace.
    assert model.plan_ == TableInput().fit(frame, ~labels).plan_ == TableInput().fit(frame).plan_
    new = model.transform(pd.DataFrame({"place": ["Westport", None]}))
    assert np.isfinite(new).all()
    assert new[0].any()
    assert not new[1].any()


def test_an_embedding_is_bounded_and_alike_in_pieces():
    texts = sorted(make_remarks(2000))
    plan = plan_embedding(texts, np.ones(len(texts), dtype=int), 4)
    assert len(json.dumps(plan)) < 100_000
    whole = embed_texts(plan, texts)
    pieces = np.concatenate([embed_texts(plan, texts[k : k + 7]) for k in range(0, 2000, 7)])
    np.testing.assert_array_equal(whole, pieces)
    assert np.isfinite(embed_texts(plan, ["", "x" * 10**6, "\u0000", "日本"])).all()
    assert plan_embedding(["same"], np.array([5]), 4) is None


def test_a_model_with_text_and_money_is_stored_and_scores_streams_alike(tmp_path):
    random = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {"remark": make_remarks(n), "price": [f"${v:,.2f}" for v in random.lognormal(6, 1, n)],
         "opened": [f"{d:02d}.{m:02d}.2019" for d, m in zip(random.integers(1, 29, n),
                    random.integers(1, 13, n), strict=True)],
         "size": random.choice(["3 kg", "500 g", "unknown"], n),
         "hex": [hex(k % 50) for k in range(n)]}
    )  # fmt: skip
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    table = read_table(path)
    is_positive = np.arange(n) % 5 == 0
    model = make_pipeline(TableInput(), LogisticPUClassifier(random_state=0)).fit(
        table, is_positive
    )
    save(model, tmp_path / "m.mixpul")
    loaded = load(tmp_path / "m.mixpul")
    expected = model.predict_proba(table)[:, 1]
    np.testing.assert_array_equal(loaded.predict_proba(table)[:, 1], expected)
    for size in (7, 100):
        batches = pa.Table.from_batches(stream_table(path, kinds=loaded[0].kinds_)).to_batches(size)
        scored = pa.Table.from_batches(list(score_stream(loaded, batches)))
        np.testing.assert_array_equal(scored["score"].to_numpy(), expected)


@pytest.mark.parametrize(
    ("place", "change"),
    [
        ("words", {"matrix": "AAAA"}),
        ("words", {"centre": "no base64"}),
        ("words", {"size": 2}),
        ("style", {"as": "magic"}),
        ("style", {"decimal": "x"}),
        ("style", {"units": {"money": "much"}}),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(tmp_path, monkeypatch, place, change):
    frame = pd.DataFrame({"remark": make_remarks(60), "price": [f"${k}.50" for k in range(60)]})
    model = make_pipeline(TableInput(), LogisticPUClassifier(random_state=0))
    model.fit(frame, np.arange(60) % 4 == 0)
    (plan,) = (plan for plan in model[0].plan_ if place in plan)
    plan[place] |= change
    save(model, tmp_path / "m.mixpul")
    assert "m.mixpul" in refusal(load, tmp_path / "m.mixpul")


def test_a_model_file_from_before_there_were_styles_scores_as_it_did():
    i = np.arange(6)
    table = pd.DataFrame(
        {"age": 20.0 + i % 37, "city": np.array(["Rome", "Oslo", "Bonn"])[i % 3],
         "member": i % 4 == 0, "since": [f"20{10 + k % 9}-0{1 + k % 8}-1{k % 7}" for k in i],
         "visits": np.where(i % 5 == 0, np.nan, i % 11)}
    )  # fmt: skip
    model = load(DATA / "former-table.mixpul")
    expected = [-13.930443, 2.1625471, -6.1329536, -7.3935695, -4.3174381, -6.7893243]
    np.testing.assert_allclose(model.decision_function(table), expected, rtol=1e-4)
    assert model[0].kinds_["since"] == "date"


# -- the same at fit and later --------------------------------------------------------------

CELLS = st.one_of(
    st.sampled_from(["", "unknown", "-", "n/a", "?", "yes", "no", "ja", "nein"]),
    st.sampled_from(["true", "0x1F", "007"]),
    st.floats(allow_nan=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.floats(-1e6, 1e6).map(lambda v: f"${v:,.2f}"),
    st.floats(-1e6, 1e6).map(lambda v: f"{v:.2f}%"),
    st.floats(0, 1e6).map(lambda v: f"{v:.1f}".replace(".", ",")),
    st.integers(0, 10**5).map(lambda s: f"{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}"),
    st.integers(0, 86399).map(lambda s: f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}"),
    st.dates().map(lambda d: d.strftime("%d.%m.%Y")),
    st.dates().map(str),
    st.datetimes().map(lambda d: d.isoformat(sep=" ", timespec="minutes")),
    st.sampled_from(["12 kg", "5 g", "3 days", "2h 5m", "14 Sep 2008", "1:30"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\n"), max_size=8),
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=3), st.integers(1, 5))
def test_every_cell_that_a_fit_reads_is_read_alike_in_any_batch(tmp_path_factory, pools, n_rows):
    # Columns that repeat a few cells of one kind or of several, as hypothesis likes.
    frame = pd.DataFrame(
        {f"c{k}": [pool[i % len(pool)] for i in range(24)] for k, pool in enumerate(pools)}
    )
    frame["x"] = np.arange(24) % 7
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    frame.to_csv(path, index=False)
    table = read_table(path)
    model = TableInput().fit(table)
    expected = model.transform(table)
    assert np.isfinite(expected).all()
    whole = pa.Table.from_batches(stream_table(path, kinds=model.kinds_))
    np.testing.assert_array_equal(model.transform(whole), expected)
    pieces = [model.transform(batch) for batch in whole.to_batches(n_rows)]
    np.testing.assert_array_equal(np.concatenate(pieces), expected)


# -- what a user says -----------------------------------------------------------------------


@pytest.fixture
def orders(tmp_path):
    """A table with an id, money, dates and codes, and the file that it is in."""
    random = np.random.default_rng(0)
    n = 240
    value = random.normal(size=n)
    bought = value + random.normal(size=n) > 1
    frame = pd.DataFrame(
        {
            "order_id": [f"ORD-{k:05d}" for k in random.permutation(n)],
            "row": np.arange(n),
            "price": [f"${v:,.2f}" for v in 1000 * np.exp(value)],
            "when": [f"0{1 + k % 9}/0{1 + k % 7}/2018" for k in range(n)],
            "zip": random.integers(10, 20, n),
            "country": "NO",
            "bought": bought.astype(int),
        }
    )
    path = tmp_path / "orders.csv"
    frame.to_csv(path, index=False)
    return path


def fit(path, *options):
    out = path.parent / "m.mixpul"
    return run(
        "fit", path, "--label", "bought", "--method", "logistic", "-o", out, "--force", *options
    )


def test_what_is_left_out_is_named_with_the_reason_and_the_option_that_keeps_it(orders):
    result = fit(orders)
    assert result.code == 0, result.err
    assert "3 of 6 columns used" in result.out
    reason = "looks like an id: another text in every row"
    assert f"order_id left out: {reason}; --category order_id keeps it." in result.out
    assert (
        "row left out: looks like an id: consecutive whole numbers; --number row keeps it."
        in result.out
    )
    assert "country left out: constant." in result.out
    assert "price: money." in result.out
    assert "--date-order day-first if not" in result.out
    kept = fit(
        orders,
        "--category",
        "order_id",
        "--number",
        "row",
        "--category",
        "zip",
        "--date-order",
        "day-first",
    )
    assert kept.code == 0, kept.err
    assert "5 of 6 columns used" in kept.out
    assert "when: dates, day first." in kept.out
    inspected = run("inspect", orders.parent / "m.mixpul", "--json")
    params = json.loads(inspected.out)["table"]["params"]
    assert params["category"] == ["order_id", "zip"]
    assert params["date_order"] == "day-first"
    scored = run("predict", orders.parent / "m.mixpul", orders, "-o", orders.parent / "s.csv")
    assert scored.code == 0, scored.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--number", "prize"], "--number: the table has no column 'prize'; did you mean 'price'?"),
        (
            ["--text", "price", "--category", "price"],
            "'price' is named by both --category and --text",
        ),
        (["--date", "when", "--drop", "when"], "'when' is named by both --drop and --date"),
        (["--category", "bought"], "--category names 'bought', the label column"),
        (["--date-order", "sideways"], "--date-order"),
    ],
)
def test_a_column_that_is_not_there_or_two_things_at_once_is_refused(
    orders, monkeypatch, options, words
):
    monkeypatch.setenv("COLUMNS", "200")
    result = fit(orders, *options)
    assert result.code == 2
    assert words in " ".join(result.err.replace("│", " ").split())
    assert not (orders.parent / "m.mixpul").exists()


def test_prior_and_compare_take_the_same_options_and_name_columns(orders):
    result = run("prior", orders, "--label", "bought", "--estimators", "bbe", "--category", "zip")
    assert result.code == 0, result.err
    assert "order_id left out" in result.out
    options = [
        "--methods",
        "logistic",
        "--folds",
        "2",
        "--text",
        "order_id",
        "-o",
        orders.parent / "c",
    ]
    result = run("compare", orders, "--label", "bought", *options)
    assert result.code == 0, result.err
    assert "row left out" in result.out
    assert "--text order_id" in result.out


def test_keywords_decide_what_columns_are_and_must_make_sense():
    frame = pd.DataFrame(
        {"code": [1, 2, 3] * 10, "note": ["a b", "b c", "c d"] * 10, "mixed": ["1", "2", "x"] * 10}
    )
    model = TableInput(category=["code"], text=["note"], number=["mixed"]).fit(frame)
    assert model.get_feature_names_out()[:3].tolist() == ["code=1", "code=2", "code=3"]
    assert noted(model)["note"]["features"][0] == "note_text1"
    assert "'x' read as gaps" in noted(model)["mixed"]["note"]
    assert "no cell of column 'note' can be read as a number (such as 'a b')" in refusal(
        TableInput(number=["note"]).fit, frame
    )
    assert "no cell of column 'code' can be read as a date" in refusal(
        TableInput(date=["code"]).fit, frame
    )
    assert "named in both number and date" in refusal(
        TableInput(number=["code"], date=["code"]).fit, frame
    )
    assert "text=: X has no column 'nota'" in refusal(TableInput(text=["nota"]).fit, frame)


def test_a_hexadecimal_number_is_the_same_at_fit_and_at_predict(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{hex(k % 19)},{k % 5}\n" for k in range(60)))
    table = read_table(path)
    model = TableInput().fit(table)
    later = read_table(path, kinds=model.kinds_)
    np.testing.assert_array_equal(model.transform(later), model.transform(table))


def test_money_that_gives_the_label_away_is_found():
    is_positive = np.arange(300) < 60
    refund = [f"${v:,.2f}" for v in np.where(is_positive, 2000.5, 10) + np.arange(300)]
    (leak,) = leaks(pd.DataFrame({"refund": refund}), is_positive)
    assert leak.pattern.text.startswith("is above")


def test_cells_of_several_types_are_read_as_a_sheet_has_them():
    cells = [3, "$4.50", 6.5, None, "unknown"] * 8
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    model = TableInput().fit(frame)
    expected = TableInput().fit_transform(pd.DataFrame({"x": [3, 4.5, 6.5, None, None] * 8}))
    np.testing.assert_array_equal(model.transform(frame), expected)
    dates = [pd.Timestamp("2018-03-14"), "15.03.2018", None] * 8
    frame = pd.DataFrame({"x": pd.Series(dates, dtype=object)})
    assert noted(TableInput().fit(frame))["x"]["kind"] == "date"
    times = pd.DataFrame({"x": [time(1, 30), time(2), None] * 8})
    assert "lengths of time" in noted(TableInput().fit(times))["x"]["note"]
