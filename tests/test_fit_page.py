"""The page of a user's own table says what the assessment says, and the slider looks it up."""

import csv
import html
import io
import json
import re
from urllib.parse import unquote

import numpy as np
import pytest

from browser import contrast
from mixpul import MixPULClassifier, datasets
from mixpul._util.json_values import to_plain
from mixpul.assess import assess, compare
from mixpul.assess.figures import bound_auc, bound_f1, bound_precision
from mixpul.metrics import Estimate
from mixpul.pages import charts, describe_threshold, render_comparison_page, render_fit_page
from mixpul.pages.numbers import format_percent
from mixpul.pages.texts import describe_prior
from mixpul.pages.thresholds import (
    find_boundaries,
    find_nearest,
    list_suggestions,
    prepare_slider,
)

# A class prior that the mails do not rule out.
PRIOR = 0.25
ATTACK = "<script>alert(1)</script>"
SPITE = "</script><!--<script>\u2028'\"&"


@pytest.fixture(scope="module")
def assessment():
    """Mails as a table: numbers, an id, text with gaps, a column with a bad name and bad values."""
    pd = pytest.importorskip("pandas")
    data = datasets.load("spambase")
    pu = datasets.make_pu(data.X, data.y, c=0.2, random_state=0)
    generator = np.random.default_rng(0)
    table = pd.DataFrame(pu.X[:, -16:], columns=data.feature_names[-16:])
    ids = [f"m-{number:05d}" for number in range(len(table))]
    table.insert(0, "mail_id", ids)
    table["folder"] = generator.choice(["inbox", "archive", None], len(table))
    # Tells something of the truth, so that it is shown among the columns that matter.
    table[ATTACK] = np.where(
        generator.random(len(table)) < 0.9,
        np.where(pu.y, SPITE, "=1+1"),
        generator.choice([ATTACK, "long " * 60], len(table)),
    )
    model = MixPULClassifier(n_epochs=4, cross_fitting=2, random_state=0)
    found = assess(model, table, pu.s, ids=ids).to_dict()
    # What only the command knows.
    found["data"] |= {
        "source": "mails.csv", "label": "reported", "positive": "1", "id": "mail_id",
        "fingerprint": "sha256:" + 64 * "0",
    }  # fmt: skip
    found["made"]["command"] = "mixpul fit mails.csv --label reported --id mail_id -o mails.mixpul"
    found["warnings"] = [f"Column {ATTACK!r} alone tells labeled from unlabeled rows."]
    found["checks"] += [
        {"name": "spite", "verdict": "bad", "text": SPITE},
        {"name": "doubt", "verdict": "caution", "text": "Is it so?"},
        {"name": "silence", "verdict": "note", "text": "Nobody knows."},
        {"name": "joy", "verdict": "good", "text": "It is so."},
    ]
    return found


@pytest.fixture
def small():
    """Three thresholds with numbers worked out by hand: 200 unlabeled rows, 60 of them positive."""
    return {
        "data": {"source": None, "rows": 250, "positives": 50, "unlabeled": 200, "label": None,
                 "positive": None, "id": None, "columns": [], "features": 2, "fingerprint": None,
                 "unit": "row"},
        "method": "NNPUClassifier",
        "settings": {"n_epochs": 3},
        "seed": 0,
        "folds": 5,
        "pu_auc": {"value": 0.8, "se": 0.05, "low": 0.7, "high": 0.9},
        "prior": {"value": 0.3, "upper": 0.5, "source": "given", "low": 0.2, "high": 0.4,
                  "estimates": {"bbe": 0.35, "dedpul": 0.32}},
        "corrected_auc": {"kind": "estimate", "value": 0.93, "low": 0.89, "high": 0.97},
        "thresholds": {
            "threshold": [0.0, 0.5, 1.0],
            "recall": {"value": [1.0, 0.8, 0.0], "low": [0.9, 0.7, 0.0], "high": [1.0, 0.9, 0.1]},
            "flagged": {"value": [1.0, 0.35, 0.0], "low": [1.0, 0.3, 0.0],
                        "high": [1.0, 0.4, 0.01]},
            "precision": {"kind": "estimate", "value": [0.3, 24 / 35, None],
                          "low": [0.2, 0.5, None], "high": [0.4, 0.8, None]},
            "f1": {"kind": "estimate", "value": [0.4615, 0.7385, 0.0], "low": [0.4, 0.6, 0.0],
                   "high": [0.5, 0.8, 0.1]},
        },
        "suggested": {"0.5": 0.5, "prior": None},
        "histogram": {"edges": [0.0, 0.5, 1.0], "positives": [0.2, 0.8], "unlabeled": [0.7, 0.3]},
        "top": [], "bottom": [], "importance": [], "history": [], "checks": [], "warnings": [],
        "made": {"mixpul": "0", "date": "2026-11-15", "command": None, "seconds": 1.0},
    }  # fmt: skip


@pytest.fixture
def bounded(small):
    """The same if the class prior is not known: at most half of the rows are positive."""
    small["prior"] |= {"source": "estimated", "low": None, "high": None}
    small["corrected_auc"] = {"kind": "at most", "value": 0.95, "low": 0.7, "high": 0.95}
    for name in ("precision", "f1"):
        small["thresholds"][name] |= {"kind": "at most"}
    return small


@pytest.fixture
def weighed(small):
    """Three candidates, one of them left out, and a MixPUL that has weighed two settings."""
    entries = [("trees", 0.81, 0.0, 0.6), ("mix<b>", 0.8, -0.01, 0.4), ("vpu", 0.7, -0.11, 0.0)]
    leaderboard = [
        {"candidate": name, "pu_auc": auc, "standard_error": 0.02, "difference": difference,
         "difference_error": 0.005, "weight": weight, "seconds": 1.26}
        for name, auc, difference, weight in entries
    ]  # fmt: skip
    networks = [
        {"candidate": "mix<b>", "net": "skip-mlp", "weight_decay": decay, "weight": weight}
        for decay, weight in ((0.02, 0.75), (0.002, 0.25))
    ]
    return small | {"leaderboard": leaderboard, "networks": networks}


def embedded(page):
    (text,) = re.findall(
        r'<script type="application/json" id="(?:assessment|comparison)">(.*?)</script>', page
    )
    return json.loads(text)


# -- numbers --------------------------------------------------------------------------------


def test_the_page_holds_the_very_numbers_of_the_assessment(assessment):
    assert embedded(render_fit_page(assessment)) == json.loads(json.dumps(assessment))


def test_numbers_that_json_lacks_are_refused(small):
    small["pu_auc"]["se"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        render_fit_page(small)


def test_a_threshold_worked_out_by_hand(small):
    # 70 of 200 rows flagged; 60 positives, 48 of them found, 12 missed; so 22 false alarms.
    assert describe_threshold(small, 1) == {
        "threshold": "0.500", "exact": "0.5",
        "recall": "80.0\xa0%", "recall_span": "70.0 to 90.0\xa0%",
        "precision": "68.6\xa0%", "precision_span": "50.0 to 80.0\xa0%",
        "f1": "73.9\xa0%", "f1_span": "60.0 to 80.0\xa0%",
        "flagged": "70", "flagged_share": "35.0\xa0%", "flagged_span": "60 to 80",
        "found": "48", "missed": "12", "false_alarms": "22",
    }  # fmt: skip


def test_where_nothing_is_flagged_precision_is_not_known_and_costs_nothing(small):
    shown = describe_threshold(small, 2)
    assert (shown["precision"], shown["precision_span"], shown["false_alarms"]) == ("–", "–", "0")
    assert (shown["flagged"], shown["missed"]) == ("0", "60")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.8125, "81.3\xa0%"), (-0.0126, "−1.3\xa0%"), (1, "100.0\xa0%"), (None, "–")],
)
def test_percentages_round_half_up(share, text):
    assert format_percent(share) == text


def test_the_nearest_point_is_the_first_of_two():
    assert [find_nearest([0, 0.4, 0.6, 1], value) for value in (-3, 0.5, 0.51, 7)] == [0, 1, 2, 3]


def test_a_number_between_two_points_belongs_to_the_nearer_one():
    points = [0.0, 0.25, 0.25, 0.75]
    assert find_boundaries(points) == [0.125, 0.25, 0.5]
    assert [find_nearest(points, value) for value in (0.125, 0.126, 0.25, 0.5, 0.51)] == [
        0, 1, 1, 2, 3
    ]  # fmt: skip


def test_the_slider_has_the_texts_of_every_threshold(assessment):
    slider = prepare_slider(assessment)
    assert len(slider["texts"]) == 200
    for place, texts in enumerate(slider["texts"]):
        found = dict(zip(slider["names"], texts, strict=True))
        assert found == describe_threshold(assessment, place)


def test_without_a_prior_every_figure_that_rests_on_it_is_a_limit(bounded):
    shown = describe_threshold(bounded, 1)
    assert (shown["precision"], shown["precision_span"]) == ("≤ 68.6\xa0%", "at most (95\xa0%)")
    assert (shown["recall"], shown["recall_span"]) == ("80.0\xa0%", "70.0 to 90.0\xa0%")
    # 100 hidden positives beside 50 labeled ones are known as if by 33.3: Wilson's interval of
    # .8 goes from .638 to .901. So at most all 70 flagged rows are found, at most 36 are missed.
    assert (shown["found"], shown["false_alarms"]) == ("≤ 70", "≥ 0")
    assert shown["missed"] == "≤ 36"
    assert prepare_slider(bounded)["prior"] is None


def test_the_suggestions_are_named_as_they_can_be_typed(assessment):
    page = render_fit_page(assessment)
    names = re.findall(r'<tr data-suggestion="([^"]+)">', page)
    assert sorted(map(html.unescape, names)) == ["0.5", "f1", "prior", "recall>=0.9"]
    assert "missing-promise" not in page


def test_too_few_positives_for_a_promise_are_explained(small):
    page = render_fit_page(small | {"data": small["data"] | {"positives": 20}})
    assert "from 29 labeled positives on; there are 20." in page


# -- words ----------------------------------------------------------------------------------


def answer(page):
    text = re.sub(r"<[^>]+>", "", re.search(r'<div class="answer">(.*?)</div>', page, re.S)[1])
    return html.unescape(text).replace("\xa0", " ").strip().split("\n")


def test_the_answer_is_computed_from_the_numbers(small):
    ranking, threshold, _, positives = answer(render_fit_page(small))
    assert ranking.startswith("The model ranks well:")
    assert "unlabeled row in 80.0 % of pairs (70.0 to 90.0 %)." in ranking
    assert ranking.endswith("above a truly negative row in about 93.0 % (89.0 to 97.0 %).")
    assert threshold == (
        "At the threshold 0.5 the model flags 70 unlabeled rows. It finds 80.0 % of all positives "
        "(70.0 to 90.0 %). Of the flagged rows, 68.6 % are positive (50.0 to 80.0 %)."
    )
    assert positives == (
        "About 60 of the 200 unlabeled rows are positive (30.0 %, 20.0 to 40.0 %, as given). By "
        "the scores at most 50.0 % could be."
    )


def test_without_a_prior_the_answer_has_limits(bounded):
    page = render_fit_page(bounded)
    ranking, threshold, positives, _ = answer(page)
    assert ranking.endswith(
        "a truly negative row in 70.0 to 95.0 % (depending on the class prior)."
    )
    assert "Of the flagged rows, ≤ 68.6 % are positive" in threshold
    assert positives.startswith(
        "At most 100 of the 200 unlabeled rows are positive (50.0 %, with 95 % confidence)."
    )
    assert '<p data-when="bounds">' in page
    assert '<p data-when="estimates" hidden>' in page
    assert "35.0\xa0% by BBE and 32.0\xa0% by DEDPUL" in page


@pytest.mark.parametrize(("source", "precision", "is_said"), [
    ("estimated", 1.0, True),
    # Shown as 100.0 % as well, but it is a limit.
    ("estimated", 0.9996, False),
    ("estimated", None, False),
    ("given", 1.0, False),
])  # fmt: skip
def test_a_precision_that_nothing_limits_is_said_to_have_no_limit(
    bounded, source, precision, is_said
):
    bounded["prior"]["source"] = source
    bounded["thresholds"]["precision"]["value"][1] = precision
    assert ("the labels give no limit here" in render_fit_page(bounded)) is is_said


def test_chance_is_called_chance(small):
    small["pu_auc"] |= {"value": 0.55, "low": 0.48}
    assert answer(render_fit_page(small))[0].startswith("The model ranks no better than chance")


def test_the_worst_of_rankings_has_a_name(small):
    small["pu_auc"] |= {"value": 0.55, "low": 0.51}
    assert answer(render_fit_page(small))[0].startswith("The model ranks poorly:")


def test_problems_come_first_and_are_named_at_the_top(small):
    small["checks"] = [
        {"name": "labeled positives", "verdict": "good", "text": "They are."},
        {"name": "stable prior", "verdict": "caution", "text": "It is not."},
        {"name": "random draw", "verdict": "note", "text": "This is not known."},
        {"name": "no leak", "verdict": "bad", "text": "There is one."},
    ]
    page = render_fit_page(small)
    assert "2 of 4" in page  # a note asks for nothing
    assert "no leak (bad), stable prior (caution)." in page
    assert page.index("There is one.") < page.index("It is not.") < page.index("They are.")


def test_a_check_shows_its_question_if_it_has_one(small):
    check = {"name": "class prior", "verdict": "good", "text": "They do."}
    small["checks"] = [check, check | {"question": "Do two estimates agree?"}]
    plain, asked = re.findall(r'<li class="good">.*?<div>(.*?)</div>', render_fit_page(small))
    assert plain == "<strong>class prior</strong>: good<br>They do."
    assert '<em class="soft">Do two estimates agree?</em> They do.' in asked


def test_what_is_not_there_leaves_no_trace(small):
    page = render_fit_page(small)
    for name in ("warnings", "checks", "top", "importance", "training", "command"):
        assert f'id="{name}"' not in page
        assert f'href="#{name}"' not in page
    assert "None" not in page


def test_a_column_that_is_left_out_is_said_to_be_once(small):
    common = {"kind": "text", "missing": 0.0, "distinct": 9, "used": False, "features": []}
    small["data"]["columns"] = [
        {"column": "a", "note": "left out as asked", **common},
        {"column": "b", "note": "constant", **common},
    ]
    found = re.findall(r'<tr class="unused">.*<td class="text">(.*?)</td>', render_fit_page(small))
    assert found == ["left out as asked", "left out: constant"]


def visible(page):
    """The sentences of a page, as far as they are not numbers in tables or charts."""
    body = re.sub(r"<(script|style|svg|table|nav).*?</\1>", "", page, flags=re.S)
    parts = re.split(
        r"</?(?:p|li|h\d|dd|dt|div|figcaption|footer|title|label|button)\b[^>]*>", body
    )
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split()) for part in parts]


def as_images(small, unit):
    """The same numbers as if they were of images."""
    data = small["data"] | {"unit": unit, "shape": [3, 12, 16], "resized": 2}
    data |= {"twins": ["a.png"], "skipped": []}
    for name in ("label", "positive", "id", "columns", "features"):
        del data[name]
    shown = [{"id": "a.png", "score": 0.9, "values": {}}]
    return small | {"data": data, "top": shown, "bottom": shown}


@pytest.mark.parametrize("unit", ["picture", "image"])
def test_images_are_called_images(weighed, unit):
    small = weighed
    page = render_fit_page(as_images(small, unit))
    assert "50 known positives and 200 unlabeled images" in page
    assert "16 x 12 pixels" in page
    assert not re.search(r"\b(rows?|pictures?|tables?)\b", " ".join(visible(page)))


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("kind", ["row", "image"])
def test_sentences_are_short_and_use_one_word_for_one_thing(weighed, kind):
    small = weighed
    small["history"] = [{"epoch": e, "L_U": 1 / e, "loss": 1 / e, "pu_auc": 0.7} for e in (1, 2)]
    small["importance"] = [{"column": "a", "drop": 0.1, "se": 0.01}]
    small["made"]["command"] = "mixpul fit"
    page = render_fit_page(as_images(small, kind) if kind == "image" else small)
    for part in visible(page):
        for sentence in re.split(r"(?<=[.?!:])\s", part):
            assert len(sentence.split()) <= 40, sentence
        assert not re.search(r"\b(cut|cuts|picture|pictures)\b", part), part


# -- weights --------------------------------------------------------------------------------


def find_section(page):
    (text,) = re.findall(r'<section id="weighing">(.*?)</section>', page, re.S)
    return text


def test_a_portfolio_shows_how_its_candidates_were_weighed(weighed):
    page = render_fit_page(weighed)
    assert '<a href="#weighing">How the methods were weighed</a>' in page
    section = find_section(page)
    bodies = "".join(re.findall(r"<tbody>(.*?)</tbody>", section, re.S))
    trees, mix, vpu, skip, other = re.findall(r"<tr.*?</tr>", bodies, re.S)
    for words in ("trees", "60.0\xa0%", "0.810", "± 0.020", "best", "1.3", "width: 6.0rem"):
        assert words in trees
    for words in ("mix&lt;b&gt;", "40.0\xa0%", "−0.010", "± 0.005", "width: 4.0rem"):
        assert words in mix
    assert 'class="unused"' in vpu
    assert "left out" in vpu
    assert "bar" not in vpu
    assert "width: 6.0rem" in skip
    assert "width: 2.0rem" in other
    assert "<b>" not in section


def test_mixpul_alone_shows_how_its_networks_were_weighed(weighed):
    networks = [one | {"candidate": None} for one in weighed["networks"]]
    page = render_fit_page(weighed | {"leaderboard": [], "networks": networks})
    assert "How the networks were weighed" in find_section(page)
    assert "How the methods were weighed" not in page


def test_without_weights_there_is_no_section_of_them(small, weighed):
    assert "weighed" not in render_fit_page(small)
    assert "weighed" not in render_fit_page(weighed | {"leaderboard": [], "networks": []})


@pytest.mark.parametrize("width", [400, 1000])
def test_the_page_of_a_portfolio_fits_the_window(browser, weighed, tmp_path, width):
    path = tmp_path / "page.html"
    path.write_text(render_fit_page(weighed), encoding="utf-8")
    browser.open(path, width)
    assert browser.overflow() <= 0
    assert browser.complaints() == []
    lengths = browser.run(
        "[...document.querySelectorAll('#candidates .bar')]"
        ".map(e => e.getBoundingClientRect().width)"
    )
    assert lengths[0] == pytest.approx(1.5 * lengths[1])


def test_other_methods_have_loss_terms_of_their_own(small):
    small["history"] = [{"epoch": e, "risk": 1 / e, "loss": 1 / e, "pu_auc": None} for e in (1, 2)]
    page = render_fit_page(small)
    assert "</svg> risk</li>" in page
    assert "held-out PU-AUC" not in page


# -- a comparison ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comparison():
    """Two methods on real rows, and one that fails."""
    pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.3, random_state=0)
    methods = {
        "quick": MixPULClassifier(n_epochs=2, random_state=0),
        "quicker": MixPULClassifier(n_epochs=1, net=(4,), random_state=0),
        ATTACK: MixPULClassifier(n_epochs=-1),
    }
    return compare(pu.X, pu.s, methods, n_folds=2).to_dict()


def test_a_comparison_is_a_table_with_the_best_first(comparison):
    page = render_comparison_page(
        comparison, source="leads.csv", command="mixpul compare leads.csv"
    )
    assert embedded(page) == json.loads(json.dumps(comparison))
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", page, re.S)
    first, second, _ = comparison["methods"]
    assert f"<strong>{comparison['recommended']}</strong>" in rows[0]
    assert f"<td>{first['pu_auc']['value']:.3f}<" in rows[0]
    assert f"<td>{second['behind']['value']:.3f}<" in rows[1]
    assert len(rows) == 2
    for text in (comparison["text"], "leads.csv:", "<code>mixpul compare leads.csv</code>"):
        assert text in page


def test_sentences_of_a_comparison_are_short(comparison):
    for part in visible(render_comparison_page(comparison)):
        assert all(len(sentence.split()) <= 40 for sentence in re.split(r"(?<=[.?!:])\s", part))


def test_zero_has_no_sign(comparison):
    changed = json.loads(json.dumps(comparison))
    changed["methods"][1]["behind"] |= {"value": 0.02, "low": -0.0004, "high": 0.0404}
    assert "0.000 to 0.040</span>" in render_comparison_page(changed)
    assert "−0.000" not in render_comparison_page(changed)


def test_a_method_that_failed_says_why_and_stays_text(comparison):
    page = render_comparison_page(comparison)
    assert ATTACK not in page
    failed = re.search(r'<section id="failed">(.*?)</section>', page, re.S)[1]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;</strong>: InvalidParameterError" in failed


def test_if_every_method_failed_there_is_no_leaderboard(comparison):
    failed = [one for one in comparison["methods"] if one["failure"]]
    page = render_comparison_page(
        comparison | {"methods": failed, "recommended": None, "text": "None."}
    )
    assert 'id="leaderboard"' not in page
    assert 'id="failed"' in page


# -- what a user's table may hold -----------------------------------------------------------


def test_text_of_the_table_is_inert(assessment):
    page = render_fit_page(assessment)
    assert page.count("<script") == 3
    assert page.count("</script") == 3
    assert "<!--" not in page
    assert ATTACK not in page


def test_the_rows_can_be_downloaded_whole(assessment):
    href = re.search(r'download="highest-scored.csv" href="([^"]+)"', render_fit_page(assessment))[
        1
    ]
    kind, _, content = href.partition(",")
    assert kind == "data:text/csv;charset=utf-8"
    rows = list(csv.reader(io.StringIO(unquote(content).removeprefix("\ufeff"))))
    names = list(assessment["top"][0]["values"])
    assert rows[0] == ["mail_id", "score", *names]
    for line, row in zip(rows[1:], assessment["top"], strict=True):
        assert (line[0], float(line[1])) == (row["id"], row["score"])
        for cell, name in zip(line[2:], names, strict=True):
            value = row["values"][name]
            assert cell == (f"'{value}" if value.startswith("=") else value)


def test_formulas_are_disarmed_and_numbers_are_not(small):
    values = {"a": "-1.5", "b": "-cmd()", "c": "@sum", "d": "+49"}
    small["top"] = [{"id": "=1+1", "score": 0.9, "values": values}]
    page = unquote(re.search(r'href="data:[^,]+,([^"]+)"', render_fit_page(small))[1])
    assert page.splitlines()[1] == "'=1+1,0.9,-1.5,'-cmd(),'@sum,+49"


def test_no_row_is_certain(small):
    small["top"] = [{"id": n, "score": score, "values": {}} for n, score in enumerate((1, 0.99994))]
    assert re.findall(r'<td class="number">([^<]+)</td>', render_fit_page(small)) == [
        "&gt; 0.9999",
        "0.9999",
    ]


def test_long_texts_are_cut_short(small):
    small["top"] = [{"id": 1, "score": 0.9, "values": {"note": "word " * 30}}]
    page = render_fit_page(small)
    shown = re.search(r'<td class="value"><bdi title="word [^"]+">([^<]+)</bdi>', page)[1]
    assert len(shown) <= 44
    assert shown.endswith("…")


# -- charts ---------------------------------------------------------------------------------


def test_a_histogram_is_level_between_its_edges():
    line = charts.make_steps("rows", [0, 0.5, 1], [3, 1], series=2)
    assert list(zip(line.x, line.y, strict=True)) == [
        (0, 0), (0, 3), (0.5, 3), (0.5, 1), (1, 1), (1, 0)
    ]  # fmt: skip
    assert (line.low, line.high, line.series) == ([0] * 6, line.y, 2)


def test_intervals_are_drawn_from_end_to_end_with_the_value_between():
    svg = charts.draw_intervals(
        ["a", "b"], [0.7, 0.65], [0.6, 0.6], [0.8, 0.7], title="t", label="l", emphasis=1
    )
    (a, b) = (
        (float(x1), float(x2))
        for x1, x2 in re.findall(r'<line class="whisker" x1="([\d.]+)" x2="([\d.]+)"', svg)
    )
    assert a[1] - a[0] == pytest.approx(2 * (b[1] - b[0]), abs=0.2)
    (plain, x_a), (series, x_b) = re.findall(r'<circle class="(\S+) filled" cx="([\d.]+)"', svg)
    assert (plain, series) == ("plain", "series-0")
    assert float(x_a) == pytest.approx(sum(a) / 2, abs=0.2)
    assert float(x_b) == pytest.approx(sum(b) / 2, abs=0.2)


def test_bars_start_at_zero_on_either_side_and_are_as_long_as_their_values():
    svg = charts.draw_bars(["a", "b"], [0.04, -0.02], [0.0, 0.01], title="t", label="l")
    (x, width), (x_below, width_below) = (
        (float(x), float(width))
        for x, width in re.findall(r'<rect [^>]*x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
    )
    assert width == pytest.approx(2 * width_below, abs=0.2)
    assert x_below + width_below == pytest.approx(x, abs=0.2)
    (_, whisker) = re.findall(r'<line class="whisker" x1="([\d.]+)" x2="([\d.]+)"', svg)
    assert float(whisker[1]) - float(whisker[0]) == pytest.approx(width_below, abs=0.2)


def test_a_long_name_of_a_bar_is_cut_and_escaped():
    svg = charts.draw_bars(["<b>" * 10], [1.0], [0.1], title="t", label="l")
    assert "<b>" not in svg
    assert "&lt;b&gt;&lt;b&gt;&lt;b&gt;&lt;b&gt;&lt;b&gt;&lt;b&gt;&lt;…<title>" in svg


def test_a_cursor_carries_the_ends_of_its_axis():
    line = charts.Line("a", [0, 1], [0, 1])
    svg = charts.draw_lines(
        [line], title="t", x_label="x", y_label="y", x_ticks=[0, 1], y_ticks=[0, 2], cursor_at=0.25
    )
    left, right = charts.LEFT, charts.WIDTH - charts.RIGHT
    (cursor,) = re.findall(r'<line class="cursor" ([^/]+)/>', svg)
    assert f'x1="{left + (right - left) / 4:g}"' in cursor
    assert f'data-low="0" data-high="1" data-start="{left}" data-end="{right}"' in cursor
    assert re.findall(r'text-anchor="end">(\d)</text>', svg) == ["0", "2"]


# -- in a browser ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(assessment, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_fit_page(assessment), encoding="utf-8")
    return path


def element(browser, selector):
    return browser.driver.find_element("css selector", selector)


def shown(browser):
    """The readout as the page shows it."""
    return browser.run(
        "Object.fromEntries([...document.querySelectorAll('[data-show]:not([data-at])')]"
        ".map(e => [e.dataset.show, e.textContent]))"
    )


def type_prior(browser, percent):
    browser.run(
        f"(f => {{ f.value = '{percent}'; f.dispatchEvent(new Event('input')) }})"
        "(document.getElementById('prior'))"
    )


def read_curve(browser):
    """The points of the precision."""
    path = browser.run(
        "[...document.querySelectorAll('#threshold svg:has(.cursor) .line.series-2')]"
        ".map(e => e.getAttribute('d'))"
    )
    return [float(number) for number in re.findall(r"[\d.]+", path[0])]


def slide(browser, place):
    browser.run(
        f"(s => {{ s.value = {place}; s.dispatchEvent(new Event('input', {{bubbles: true}})) }})"
        "(document.getElementById('slider'))"
    )


def numbers_at(assessment, place, prior):
    """What the readout should say for a given prior, by the formulas and not by the code."""
    curves, n = assessment["thresholds"], assessment["data"]["unlabeled"]
    recall, flagged = (curves[name]["value"][place] for name in ("recall", "flagged"))
    found = min(prior * recall, flagged)
    return {
        "threshold": curves["threshold"][place],
        "recall": 100 * recall,
        "precision": 100 * found / flagged if flagged else None,
        "f1": 100 * 2 * found / (prior + flagged),
        "flagged": flagged * n,
        "found": found * n,
        "missed": (prior - found) * n,
        "false_alarms": (flagged - found) * n,
    }


def as_number(text):
    return float(text.replace(",", "").removesuffix("\xa0%"))


def cost_at(assessment, place, alarm, miss):
    numbers = numbers_at(assessment, place, PRIOR)
    return alarm * numbers["false_alarms"] + miss * numbers["missed"]


def test_the_page_loads_nothing_and_complains_of_nothing(browser, page):
    browser.open(page)
    for place in (0, 199, 60):
        slide(browser, place)
    assert browser.complaints() == []
    assert browser.loaded() == []


def test_the_browser_reads_the_numbers_of_the_assessment(browser, page, assessment):
    browser.open(page)
    found = browser.run("document.getElementById('assessment').textContent")
    assert json.loads(found) == json.loads(json.dumps(assessment))


@pytest.mark.parametrize("place", [0, 37, 100, 163])
def test_a_typed_prior_shows_the_numbers_that_follow_from_it(browser, page, assessment, place):
    browser.open(page)
    slide(browser, place)
    type_prior(browser, 100 * PRIOR)
    texts = shown(browser)
    for name, value in numbers_at(assessment, place, PRIOR).items():
        close = {"threshold": 0.00051, "recall": 0.051, "precision": 0.051, "f1": 0.051}.get(
            name, 0.51
        )
        assert as_number(texts[name]) == pytest.approx(value, abs=close), name


def give_prior(assessment, prior):
    """The same assessment as if the class prior had been given."""
    data, curves = assessment["data"], assessment["thresholds"]
    known = assessment["prior"] | {"source": "given", "value": prior}
    shares = (np.array(curves[name]["value"]) for name in ("recall", "flagged"))
    rates = (known, *shares, data["positives"], data["unlabeled"])
    figures = {"precision": bound_precision(*rates), "f1": bound_f1(*rates)}
    return assessment | {
        "prior": known,
        "corrected_auc": bound_auc(
            known, Estimate(**assessment["pu_auc"]), data["positives"], data["unlabeled"]
        ),
        "thresholds": curves
        | to_plain(
            {
                name: {part: list(own) if part != "kind" else own for part, own in figure.items()}
                for name, figure in figures.items()
            }
        ),
    }


def test_the_script_computes_what_python_computes_for_a_given_prior(browser, page, assessment):
    given = give_prior(assessment, PRIOR)
    browser.open(page)
    type_prior(browser, 100 * PRIOR)
    for place in range(0, 200, 7):
        slide(browser, place)
        assert shown(browser) == describe_threshold(given, place), place
    told = describe_prior(given)
    for name in ("auc", "positives", "prior"):
        assert browser.texts(f"[data-tell={name}]") == [told[name]]
    for one in list_suggestions(given, "rows"):
        selector = f"tr[data-suggestion='{one.key}'] [data-show=precision]"
        assert browser.texts(selector) == [one.shown["precision"]]
    # And back: a page of the given prior, with the field emptied, has the limits of Python.
    again = page.with_name("given.html")
    again.write_text(render_fit_page(given), encoding="utf-8")
    browser.open(again)
    assert shown(browser)["precision"][0] != "≤"
    type_prior(browser, "")
    for place in range(0, 200, 23):
        slide(browser, place)
        assert shown(browser) == describe_threshold(assessment, place), place
    assert browser.texts("[data-tell=auc]") == [describe_prior(assessment)["auc"]]
    assert browser.complaints() == []


def test_a_typed_prior_turns_limits_into_estimates_and_back(browser, page):
    browser.open(page)
    bounds, estimates = "p[data-when=bounds]", "p[data-when=estimates]"
    before = read_curve(browser)
    assert element(browser, bounds).is_displayed()
    type_prior(browser, 100 * PRIOR)
    assert element(browser, estimates).is_displayed()
    assert not element(browser, bounds).is_displayed()
    assert "estimates for this share" in element(browser, "#prior-said").text
    assert read_curve(browser) != before
    type_prior(browser, "")
    assert element(browser, bounds).is_displayed()
    assert shown(browser)["precision"].startswith("≤ ")
    assert read_curve(browser) == pytest.approx(before, abs=0.11)


@pytest.mark.parametrize(
    ("typed", "words"), [("99.9", "speak against that: at most"), ("0", "between 0 and 100"),
                         ("120", "between 0 and 100"), ("-3", "between 0 and 100")]
)  # fmt: skip
def test_an_impossible_prior_is_refused_and_the_limits_stay(browser, page, typed, words):
    browser.open(page)
    type_prior(browser, typed)
    assert words in element(browser, "#prior-said").text.replace("\xa0", " ")
    assert element(browser, "#prior").get_attribute("aria-invalid") == "true"
    assert shown(browser)["precision"].startswith("≤ ")


def test_without_a_prior_a_cost_is_a_span(browser, bounded, tmp_path):
    path = tmp_path / "bounded.html"
    path.write_text(render_fit_page(bounded), encoding="utf-8")
    browser.open(path)
    element(browser, "#alarm").send_keys("1")
    element(browser, "#miss").send_keys("10")
    # No row is positive: 70 false alarms. 100 are: 20 of them missed, or 30 beyond the 70 rows.
    said = element(browser, "#cost").text
    assert "costs between 70 and 300, depending on how many rows are positive." in said
    assert not element(browser, "#go-cheapest").is_displayed()
    type_prior(browser, 30)
    assert "cost 142." in element(browser, "#cost").text  # 22 + 10 * 12
    assert browser.complaints() == []


def test_the_script_shows_the_texts_of_python_at_every_threshold(browser, page, assessment):
    browser.open(page)
    for place in range(len(assessment["thresholds"]["threshold"])):
        slide(browser, place)
        assert shown(browser) == describe_threshold(assessment, place), place


def test_the_slider_obeys_the_keyboard(browser, page, assessment):
    keys = pytest.importorskip("selenium.webdriver").Keys
    browser.open(page)
    slider = element(browser, "#slider")
    start = int(slider.get_attribute("value"))
    slider.send_keys(keys.ARROW_RIGHT, keys.ARROW_RIGHT, keys.ARROW_LEFT)
    assert shown(browser)["flagged"] == describe_threshold(assessment, start + 1)["flagged"]
    assert (
        slider.get_attribute("aria-valuetext")
        == describe_threshold(assessment, start + 1)["threshold"]
    )
    slider.send_keys(keys.HOME)
    assert shown(browser)["threshold"] == describe_threshold(assessment, 0)["threshold"]
    slider.send_keys(keys.END)
    assert shown(browser)["threshold"] == describe_threshold(assessment, 199)["threshold"]


def test_a_typed_threshold_goes_to_the_nearest_point(browser, page, assessment):
    keys = pytest.importorskip("selenium.webdriver").Keys
    browser.open(page)
    number = element(browser, "#number")
    number.send_keys(keys.CONTROL + "a")
    number.send_keys("0.7312", keys.ENTER)
    place = find_nearest(assessment["thresholds"]["threshold"], 0.7312)
    assert shown(browser)["recall"] == describe_threshold(assessment, place)["recall"]
    assert element(browser, "#slider").get_attribute("value") == str(place)
    number.send_keys(keys.ARROW_UP)
    assert element(browser, "#slider").get_attribute("value") == str(place + 1)
    number.send_keys(keys.CONTROL + "a")
    number.send_keys(keys.BACKSPACE, keys.TAB)  # nothing typed: it stays where it is
    assert number.get_attribute("value") == describe_threshold(assessment, place + 1)["threshold"]


@pytest.mark.parametrize(
    ("typed", "place"), [("0.25", 0), ("0.2501", 1), ("0.75", 1), ("0.76", 2), ("7", 2), ("-1", 0)]
)
def test_halfway_between_two_thresholds_the_lower_one_is_taken(
    browser, small, tmp_path, typed, place
):
    path = tmp_path / "small.html"
    path.write_text(render_fit_page(small), encoding="utf-8")
    browser.open(path)
    browser.run(
        f"(n => {{ n.value = {typed!r}; n.dispatchEvent(new Event('change')) }})"
        "(document.getElementById('number'))"
    )
    assert shown(browser) == describe_threshold(small, place)
    assert find_nearest(small["thresholds"]["threshold"], float(typed)) == place


def test_buttons_go_to_the_suggested_thresholds(browser, page, assessment):
    browser.open(page)
    points = assessment["thresholds"]["threshold"]
    buttons = browser.driver.find_elements("css selector", "[data-place]")
    assert len(buttons) == len(assessment["suggested"]) == 4
    values = sorted(assessment["suggested"].values())
    for button, value in reversed(list(zip(buttons, values, strict=True))):
        button.click()
        assert float(shown(browser)["exact"]) == points[find_nearest(points, value)]
        assert button.get_attribute("aria-pressed") == "true"


def test_the_default_threshold_is_shown_first(browser, page, assessment):
    browser.open(page)
    assert shown(browser)["exact"] == "0.5"
    assert element(browser, "#slider").get_attribute("value") == str(
        find_nearest(assessment["thresholds"]["threshold"], 0.5)
    )


def test_typed_costs_show_the_expected_cost_and_the_cheapest_threshold(browser, page, assessment):
    browser.open(page)
    place = 120
    slide(browser, place)
    type_prior(browser, 100 * PRIOR)
    element(browser, "#alarm").send_keys("2.5")
    assert "Type both" in element(browser, "#cost").text
    element(browser, "#miss").send_keys("40")
    costs = [cost_at(assessment, other, 2.5, 40) for other in range(200)]
    said = element(browser, "#cost").text
    now, threshold, least = (
        as_number(text.rstrip("."))
        for text in re.search(
            r"cost ([\d,.]+)\. The cheapest is ([\d.]+), at ([\d,.]+)\.", said
        ).groups()
    )
    assert now == pytest.approx(costs[place], abs=0.51)
    assert least == pytest.approx(min(costs), abs=0.51)
    cheapest = max(other for other in range(200) if costs[other] <= min(costs) + 1e-9)
    assert f"{threshold:.3f}" == describe_threshold(assessment, cheapest)["threshold"]
    element(browser, "#go-cheapest").click()
    assert shown(browser)["threshold"] == describe_threshold(assessment, cheapest)["threshold"]
    assert "No threshold costs less." in element(browser, "#cost").text
    assert not element(browser, "#go-cheapest").is_displayed()
    assert browser.complaints() == []


def test_a_negative_cost_is_refused(browser, page):
    browser.open(page)
    element(browser, "#alarm").send_keys("-1")
    element(browser, "#miss").send_keys("3")
    assert element(browser, "#cost").text == "A cost cannot be negative."
    assert not element(browser, "#cost-chart").is_displayed()


def test_the_line_on_the_charts_follows_the_threshold_and_a_click_moves_it(
    browser, page, assessment
):
    browser.open(page, 1000)
    points = assessment["thresholds"]["threshold"]
    slide(browser, 30)
    left, right = charts.LEFT, charts.WIDTH - charts.RIGHT
    lines = browser.run(
        "[...document.querySelectorAll('.panels svg .cursor')].map(l => +l.getAttribute('x1'))"
    )
    assert lines == pytest.approx([left + (right - left) * points[30]] * 4)
    at = left + 0.8 * (right - left)
    browser.run(
        "(chart => { const box = chart.getBoundingClientRect(); chart.dispatchEvent(new MouseEvent("
        f"'click', {{clientX: box.left + box.width * {at} / {charts.WIDTH}}})) }})"
        "(document.querySelector('#threshold svg.chart'))"
    )
    # The mouse knows whole pixels only.
    assert float(shown(browser)["exact"]) == pytest.approx(0.8, abs=0.02)


def test_what_the_slider_shows_is_said_once_it_rests(browser, page, assessment):
    browser.open(page)
    slide(browser, 80)
    waiter = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait(browser.driver, 5)
    said = waiter.until(lambda driver: element(browser, "#said").get_attribute("textContent"))
    expected = describe_threshold(assessment, 80)
    assert f"{expected['flagged']} rows flagged, recall {expected['recall']}" in said


def test_hostile_names_and_values_stay_text(browser, page, assessment):
    browser.open(page)
    assert browser.run("document.scripts.length") == 3
    names = list(assessment["top"][0]["values"])
    assert ATTACK in names
    assert browser.texts("table.top thead th")[2:] == names
    first = assessment["top"][0]["values"]
    assert browser.texts("table.top tbody tr:first-child td.value") == [first[n] for n in names]
    assert SPITE in browser.texts("#checks li:first-child div")[0]
    assert ATTACK in browser.texts("#warnings li")[0]
    assert ATTACK in browser.texts("table.columns tbody th")


def test_inputs_have_names_and_links_lead_somewhere(browser, page):
    browser.open(page)
    nameless = (
        "[...document.querySelectorAll('input')].filter(i => !i.labels.length && !i.ariaLabel)"
    )
    assert browser.run(f"{nameless}.length") == 0
    targets = "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash)"
    assert browser.run(f"{targets}.filter(hash => !document.querySelector(hash))") == []
    ids = browser.run("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("width", [320, 400, 900, 1400])
def test_the_page_is_not_wider_than_the_window(browser, page, width):
    browser.open(page, width)
    element(browser, "#alarm").send_keys("123456789")
    element(browser, "#miss").send_keys("987654321")
    assert browser.overflow() <= 0


def test_text_and_lines_stand_out_in_light_and_in_dark(browser, page):
    backgrounds = set()
    for dark in (False, True):
        browser.open(page, dark=dark)
        backgrounds.add(browser.background())
        for selector in (
            "p",
            "button",
            "#number",
            ".span",
            ".unused th",
            ".warnings h2",
            "a.button",
        ):
            style = f"getComputedStyle(document.querySelector({selector!r}))"
            assert contrast(browser.run(f"{style}.color"), browser.background()) >= 4.5, selector
        for verdict in ("good", "note", "caution", "bad"):
            style = f"getComputedStyle(document.querySelector('.{verdict} .icon')).color"
            assert contrast(browser.run(style), browser.background()) >= 3, verdict
        line = "getComputedStyle(document.querySelector('.cursor')).stroke"
        assert contrast(browser.run(line), browser.background()) >= 3
    assert len(backgrounds) == 2


def test_printed_it_has_numbers_and_no_controls(browser, page, assessment):
    browser.open(page, dark=True, medium="print")
    assert browser.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    for selector in (".slider", "button", "a.button", "#costs", "nav"):
        assert not element(browser, selector).is_displayed(), selector
    start = find_nearest(assessment["thresholds"]["threshold"], 0.5)
    assert describe_threshold(assessment, start)["recall"] in element(
        browser, "#expected"
    ).text.replace(" ", "\xa0")
    assert element(browser, "#suggestions").is_displayed()
    # Nothing of a table is hidden in a box that scrolls.
    boxes = "[...document.querySelectorAll('.scroll')]"
    assert browser.run(f"{boxes}.every(b => b.scrollHeight <= b.clientHeight + 1)")


def test_without_script_it_has_the_numbers_of_the_default_threshold(
    browser, page, tmp_path, assessment
):
    plain = tmp_path / "plain.html"
    plain.write_text(re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.S))
    browser.open(plain)
    assert not element(browser, ".slider").is_displayed()
    assert not element(browser, "#costs").is_displayed()
    start = find_nearest(assessment["thresholds"]["threshold"], 0.5)
    assert shown(browser) == describe_threshold(assessment, start)
    assert len(browser.texts("#suggestions tbody tr")) == 4


def test_a_page_without_much_works_too(browser, small, tmp_path):
    path = tmp_path / "small.html"
    path.write_text(render_fit_page(small), encoding="utf-8")
    browser.open(path, 400)
    slide(browser, 2)
    assert shown(browser)["precision"] == "–"
    element(browser, "#alarm").send_keys("1")
    element(browser, "#miss").send_keys("1")
    # At 0.5: 22 false alarms and 12 misses; at 1 all 60 are missed.
    assert "cost 60. The cheapest is 0.500, at 34." in element(browser, "#cost").text
    assert browser.complaints() == []
    assert browser.overflow() <= 0


def test_a_page_of_a_comparison_loads_nothing_and_fits_a_phone(browser, comparison, tmp_path):
    path = tmp_path / "comparison.html"
    path.write_text(render_comparison_page(comparison), encoding="utf-8")
    browser.open(path, 400)
    assert browser.complaints() == []
    assert browser.loaded() == []
    assert browser.overflow() <= 0


def test_more_positives_than_rows_are_explained(browser, small, tmp_path):
    # 48 positives are expected above the threshold 0.5, and 40 rows are there.
    flagged, precision = (small["thresholds"][name] for name in ("flagged", "precision"))
    flagged["value"][1], flagged["high"][1], precision["value"][1] = 0.2, 0.22, 1.0
    path = tmp_path / "wrong.html"
    path.write_text(render_fit_page(small), encoding="utf-8")
    assert '<p class="small worse" id="impossible">' in path.read_text()
    browser.open(path)
    assert element(browser, "#impossible").is_displayed()
    texts = shown(browser)
    assert (texts["flagged"], texts["found"], texts["false_alarms"]) == ("40", "40", "0")
    slide(browser, 0)
    assert not element(browser, "#impossible").is_displayed()
