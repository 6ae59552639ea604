"""Whether the world has moved since a fit: equations, summaries, the command and its page."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from mixpul import LogisticPUClassifier, save
from mixpul.assess.drift import (
    adjust_p_values,
    compare_counts,
    compare_scores,
    estimate_share_change,
)
from mixpul.assess.monitoring import Watch, summarise_fit
from mixpul.assess.out_of_fold import score_out_of_fold
from mixpul.cli.app import app
from mixpul.persistence import describe
from mixpul.tables import TableInput
from mixpul.tables.summaries import Tally, make_layout, summarise_table


def make_table(n, seed, prior=0.3):
    random = np.random.default_rng(seed)
    is_positive = random.random(n) < prior
    frame = pd.DataFrame(
        {
            "age": random.normal(40, 9, n) + 10 * is_positive,
            "city": random.choice(["Oslo", "Rome", "Lima"], n),
            "size": np.where(random.random(n) < 0.1, np.nan, random.normal(size=n)),
            "member": random.random(n) < 0.4,
        }
    )
    return frame, is_positive & (random.random(n) < 0.5)


# -- equations --------------------------------------------------------------------------------


def test_the_stability_index_is_that_of_a_hand_calculation():
    found = compare_counts([500, 500], [800, 200])
    p, q = np.array([500.5, 500.5]) / 1001, np.array([800.5, 200.5]) / 1001
    assert found.psi == pytest.approx(((p - q) * np.log(p / q)).sum())
    assert found.noise == pytest.approx(2 / 1000)
    assert found.p < 1e-30
    assert compare_counts([500, 500], [50, 50]).effect == 0


def test_p_values_are_uniform_if_nothing_moved():
    random = np.random.default_rng(0)
    p = [
        compare_counts(random.multinomial(900, [0.1] * 10), random.multinomial(300, [0.1] * 10)).p
        for _ in range(400)
    ]
    assert np.mean(np.array(p) < 0.1) == pytest.approx(0.1, abs=0.045)


def test_p_values_are_corrected_by_holm():
    assert adjust_p_values([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_empty_and_tiny_tables_raise_no_alarm():
    assert compare_counts([5, 5], [0, 0]).p == 1
    assert compare_counts([5, 5], [1, 0]).p == 1
    assert compare_scores([0, 0], [1, 1], [[0, 0]]).p == 1
    assert estimate_share_change([1, 0], [0, 1], [1, 0], [[1, 0]]) is None


def test_the_ratio_of_negatives_follows_from_the_mixture():
    # Unlabeled rows: 20 % positives; new ones: 60 %. So negatives are half as frequent.
    positive, negative = np.array([100, 300, 600]), np.array([600, 300, 100])
    before, after = 0.2 * positive + 0.8 * negative, 0.6 * positive + 0.4 * negative
    found = estimate_share_change(before, positive, after, [before])
    assert found.ratio == pytest.approx(0.5)
    assert found.low < 0.5 < found.high
    assert found.p < 1e-6
    # Models that differ from fold to fold make it less sure.
    folds = [before[::-1] / 2, before / 2]
    assert estimate_share_change(before, positive, after, folds).high > found.high


def test_scores_that_hardly_tell_positives_say_nothing_of_their_share():
    before = np.array([300, 300, 300])
    assert estimate_share_change(before, [*before, 0, 0, 5], before, [before]) is None


def test_the_distance_of_scores_is_in_their_spread_and_knows_its_noise():
    random = np.random.default_rng(1)
    counts = np.bincount(random.binomial(199, 0.4, 2000), minlength=200)
    same = np.bincount(random.binomial(199, 0.4, 500), minlength=200)
    moved = np.bincount(random.binomial(199, 0.4, 500) + 7, minlength=207)[:200]
    assert compare_scores(counts, same, [counts]).p > 0.01
    found = compare_scores(counts, moved, [counts])
    assert found.distance == pytest.approx(7 / np.sqrt(199 * 0.24), rel=0.15)
    assert found.p == 0.001
    assert found.noise < 0.1


# -- summaries --------------------------------------------------------------------------------


def test_a_summary_counts_rows_per_bin_and_names_no_rare_category():
    frame, label = make_table(400, 0)
    frame.loc[0, "city"] = "a person's name"
    table = TableInput().fit(frame)
    summary = summarise_table(table, frame, label)
    assert "a person's name" not in json.dumps(summary)
    assert summary["city"]["all"][:3] == frame["city"].value_counts().tolist()[:3]
    assert summary["city"]["all"][3:] == [1, 0]
    assert sum(summary["age"]["all"]) == 400
    assert max(summary["age"]["all"]) == min(summary["age"]["all"][:10]) == 40
    assert summary["size"]["all"][-1] == frame["size"].isna().sum()
    assert sum(summary["member"]["unlabeled"]) == (~label).sum()


def test_batches_count_like_the_whole():
    frame, _ = make_table(300, 1)
    table = TableInput().fit(frame)
    whole, pieces = (Tally(table, make_layout(table, frame)) for _ in range(2))
    whole.add(frame)
    for start in range(0, 300, 70):
        pieces.add(frame.iloc[start : start + 70])
    assert pieces.n_rows == 300
    for name, counts in whole.counts.items():
        np.testing.assert_array_equal(pieces.counts[name], counts)
    assert whole.outside["age"] == 0


# -- what moved -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    frame, label = make_table(1500, 2)
    model = make_pipeline(TableInput(), LogisticPUClassifier(C=1.0)).fit(frame, label)
    left_out = score_out_of_fold(model[1], model[0].transform(frame), label, 5, 0, 0)
    summary = summarise_fit(model[0], frame, label, left_out.shares, left_out.folds)
    return model, json.loads(json.dumps(summary))


def watch(fitted, frame, **options):
    one = Watch(*fitted, **options)
    one.add(frame)
    return one.conclude()


def draw_fresh(seed, **options):
    frame, label = make_table(1200, seed, **options)
    return frame[~label].reset_index(drop=True)


def test_fresh_rows_have_not_moved(fitted):
    for seed in (3, 4, 5):
        found = watch(fitted, draw_fresh(seed))
        assert not found["moved"], found


def test_a_million_rows_raise_no_alarm_by_their_number(fitted):
    fresh = draw_fresh(6)
    fresh["age"] += 2.5  # a quarter of its spread
    found = watch(fitted, pd.concat([fresh] * 60))
    assert [entry["column"] for entry in found["columns"] if entry["findings"]] == []
    assert min(entry["p"] for entry in found["columns"]) < 0.01


CHANGES = {
    "a shift": (lambda t: t.assign(age=t["age"] + 6), "age", "spread in another way"),
    "gaps": (lambda t: t.assign(size=t["size"].mask(t.index % 3 == 0)), "size", "are missing"),
    "no gaps": (lambda t: t.assign(size=t["size"].fillna(0)), "size", ""),
    "a category": (
        lambda t: t.assign(city=t["city"].mask(t.index % 20 == 0, "Paris")),
        "city",
        "rare or new categories, such as 'Paris'",
    ),
    "a range": (
        lambda t: t.assign(age=t["age"].mask(t.index % 30 == 0, 500.0)),
        "age",
        "outside of the range",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_moved_is_named(fitted, name):
    change, column, words = CHANGES[name]
    found = watch(fitted, change(draw_fresh(7)))
    moved = [entry for entry in found["columns"] if entry["findings"]]
    assert [entry["column"] for entry in moved] == [column]
    assert words in "; ".join(moved[0]["findings"])
    assert found["moved"]


def test_a_changed_share_of_positives_is_found_and_bounded(fitted):
    frame, _ = make_table(1500, 8, prior=0.7)
    found = watch(fitted, frame)["positives"]
    assert found["moved"]
    true = 0.3 / (0.7 / 0.85)  # of the unlabeled rows 0.7 / 0.85 were negative
    assert found["negatives_ratio"]["low"] < true < found["negatives_ratio"]["high"]
    assert found["now"] is None
    one = Watch(*fitted)
    one.add(frame)
    given = one.conclude({"value": 0.15 / 0.85, "source": "given", "upper": 0.3})["positives"]
    assert given["now"]["low"] < 0.7 < given["now"]["high"]
    bounds = one.conclude({"value": 0.2, "source": "estimated", "upper": 0.4})["positives"]["now"]
    assert bounds["value"] is None
    assert bounds["low"] < given["now"]["low"] < given["now"]["high"] < bounds["high"]


def test_all_rows_can_be_compared_with_all(fitted):
    frame, _ = make_table(1200, 9)
    assert not watch(fitted, frame, against="all")["moved"]


def test_broken_summaries_are_refused(fitted):
    model, summary = fitted
    for change in (
        {"columns": 1},
        {"scores": {"folds": [], "positive": []}},
        {"rows": {}},
        {"columns": {"age": {"kind": "number", "edges": [1], "low": 0, "high": 2, "all": [1]}}},
    ):
        with pytest.raises(ValueError, match="summaries in the model file are broken"):
            Watch(model, summary | change)


# -- the command ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitor")
    frame, label = make_table(900, 10)
    frame.assign(bought=label.astype(int)).to_csv(folder / "old.csv", index=False)
    draw_fresh(11).to_csv(folder / "same.csv", index=False)
    moved = draw_fresh(12).assign(**{"age": lambda t: t["age"] + 20})
    moved.to_csv(folder / "moved.csv", index=False)
    moved.drop(columns="city").to_parquet(folder / "short.parquet")
    fit = ("fit", "old.csv", "--label", "bought", "--method", "logistic", "-o", "m.mixpul")
    result = run(*fit, folder=folder)
    assert result.exit_code == 0, result.output
    return folder


def run(*words, folder):
    paths = [
        str(folder / word) if word.split(".")[-1] in ("csv", "mixpul", "html", "parquet") else word
        for word in words
    ]
    return CliRunner().invoke(app, paths)


def test_the_exit_code_tells_a_scheduler_what_happened(files):
    same = run("monitor", "m.mixpul", "same.csv", folder=files)
    assert same.exit_code == 0, same.output
    assert "nothing has moved" in same.output
    moved = run("monitor", "m.mixpul", "moved.csv", folder=files)
    assert moved.exit_code == 3
    assert "age" in moved.output
    short = run("monitor", "m.mixpul", "short.parquet", "--json", folder=files)
    assert short.exit_code == 3
    found = json.loads(short.stdout)
    assert found["missing_columns"] == ["city"]
    assert found["scores"] is None


def test_the_page_tells_the_same_and_is_not_overwritten(files):
    words = ("monitor", "m.mixpul", "moved.csv", "--report", "page.html", "--json")
    found = json.loads(run(*words, folder=files).stdout)
    page = (files / "page.html").read_text(encoding="utf-8")
    embedded = page.split('id="monitor">')[1].split("</script>")[0]
    assert json.loads(embedded) == found
    assert "<strong>Yes.</strong>" in page
    again = run(*words, folder=files)
    assert again.exit_code != 0
    assert isinstance(again.exception, FileExistsError)


def test_a_model_file_holds_no_rows_and_an_old_one_says_so(files, fitted, tmp_path):
    summary = describe(files / "m.mixpul")["info"]["summary"]
    assert set(summary) == {"rows", "columns", "scores"}
    save(fitted[0], tmp_path / "old.mixpul")
    result = CliRunner().invoke(
        app, ["monitor", str(tmp_path / "old.mixpul"), str(files / "same.csv")]
    )
    assert isinstance(result.exception, ValueError)
    assert "keeps no summaries" in str(result.exception)


def test_another_table_is_bad_input(files, tmp_path):
    pd.DataFrame({"x": [1, 2]}).to_csv(tmp_path / "x.csv", index=False)
    result = CliRunner().invoke(app, ["monitor", str(files / "m.mixpul"), str(tmp_path / "x.csv")])
    assert isinstance(result.exception, ValueError)
    assert "none of the columns" in str(result.exception)
