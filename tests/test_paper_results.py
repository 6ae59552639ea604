"""The page and the tables say what the records say."""

import json
import re

import numpy as np
import pytest
from jinja2 import Environment, PackageLoader

from browser import contrast
from mixpul.pages import charts
from mixpul.paper import results as report
from mixpul.paper.grid import trials_of
from mixpul.paper.methods import METHODS
from mixpul.paper.perform import perform
from mixpul.paper.runs import pack_results, run
from mixpul.paper.targets import TARGETS

UCI, MNIST = TARGETS["uci"], TARGETS["mnist"]


def record(method, seed=0, *, target="uci", dataset="titanic", value=0.1, **scores):
    """A finished trial."""
    told = ", true prior" if METHODS[method].true_prior else ""
    return {
        "id": f"{dataset}_{method}_{value}_{seed}",
        "target": target,
        "dataset": dataset,
        "method": method,
        "seed": seed,
        "settings": {TARGETS[target].setting: value},
        "recipe": f"{method}(){told}",
        "version": "0.1.0",
        "auc": 0.7,
        "error": 0.1,
        "labeled": 50,
        "prior": 0.3,
        "fit_seconds": 0.5,
        "seconds": 0.6,
        "finished": f"2026-11-15T10:00:{seed:02d}+00:00",
        "made_with": {"python": "3.11.7", "machine": "Linux x86_64, 2 cores"},
        **scores,
    }


def aucs(method, *values, **place):
    return [record(method, seed, auc=auc, **place) for seed, auc in enumerate(values)]


def write(folder, records):
    for one in records:
        (folder / one["target"]).mkdir(exist_ok=True)
        name = re.sub(r"\W", "-", one["id"])
        (folder / one["target"] / f"{name}.json").write_text(json.dumps(one))
    return folder


# -- numbers --------------------------------------------------------------------------------


def test_a_cell_holds_mean_population_deviation_and_runs():
    cell = report.summarise(aucs("MixPUL", 0.6, 0.7, 0.8), UCI)["titanic", "MixPUL", 0.1]
    assert (cell.mean, cell.runs, cell.labeled) == (pytest.approx(0.7), 3, 50)
    assert cell.sd == pytest.approx(0.02**0.5 / 3**0.5)


def test_a_cell_mixes_no_recipes_and_no_failures():
    old = [one | {"recipe": "older"} for one in aucs("MixPUL", 0.1, 0.1)]
    failure = record("MixPUL", 7) | {"failure": "ValueError: no"}
    new = aucs("MixPUL", 0.8, 0.8, 0.8)
    cells = report.summarise([*old, failure, *new], UCI)
    assert cells["titanic", "MixPUL", 0.1][:3] == pytest.approx((0.8, 0.0, 3))


def test_all_that_tie_at_the_digits_shown_are_best():
    records = aucs("MixPUL", 0.70012) + aucs("nnPU", 0.69987) + aucs("VPU", 0.699)
    cells = report.summarise(records, UCI)
    assert report.find_best_methods(cells, UCI, "titanic", 0.1) == {"MixPUL", "nnPU"}


def test_the_best_error_is_the_smallest():
    place = {"target": "mnist", "dataset": "mnist-0v1", "value": 1200}
    records = [record("MixPUL", error=0.01, **place), record("Ramp", error=0.02, **place)]
    cells = report.summarise(records, MNIST)
    assert report.find_best_methods(cells, MNIST, "mnist-0v1", 1200) == {"MixPUL"}
    assert report.find_losses(records, MNIST) == []
    ((loss),) = report.find_losses(records, MNIST, method="Ramp")
    assert loss.ahead[0].method == "MixPUL"
    assert loss.ahead[0].mean == pytest.approx(-0.01)


def test_ranks_are_over_settings_that_all_methods_have_and_ties_share():
    records = [
        *(one for method in ("MixPUL", "nnPU") for one in aucs(method, 0.8)),
        *aucs("VPU", 0.7),
        *aucs("MixPUL", 0.6, value=0.2),
        *aucs("nnPU", 0.7, value=0.2),
        *aucs("VPU", 0.8, value=0.2),
        *aucs("VPU", 0.9, value=0.4),  # nobody else was run here
    ]
    ranks, settings = report.rank_methods(report.summarise(records, UCI), UCI)
    assert ranks == {"nnPU": 1.75, "MixPUL": 2.25, "VPU": 2.0}
    assert settings == [("titanic", 0.1), ("titanic", 0.2)]


def test_a_method_with_few_results_does_not_narrow_the_comparison():
    records = [
        *(one for value in (0.1, 0.2, 0.4) for one in aucs("MixPUL", 0.8, value=value)),
        *(one for value in (0.1, 0.2, 0.4) for one in aucs("nnPU", 0.7, value=value)),
        *aucs("VPU", 0.9),
    ]
    ranks, settings = report.rank_methods(report.summarise(records, UCI), UCI)
    assert ranks == {"nnPU": 2.0, "MixPUL": 1.0}
    assert settings == [("titanic", 0.1), ("titanic", 0.2), ("titanic", 0.4)]


def test_losses_are_paired_by_seed():
    rival = aucs("nnPU", 0.73, 0.83, 0.93, 0.1)  # the fourth split is the rival's alone
    own = aucs("MixPUL", 0.7, 0.8, 0.93)
    (loss,) = report.find_losses(rival + own, UCI)
    (ahead,) = loss.ahead
    assert (loss.dataset, loss.value, loss.mean) == ("titanic", 0.1, pytest.approx(0.81))
    # Differences .03, .03, 0: mean .02, sample deviation sqrt(.0003), t(2) at 97.5 % is 4.303.
    assert ahead.mean == pytest.approx(0.02)
    assert ahead.error == pytest.approx(0.01)
    assert not ahead.is_clear


def test_a_steady_difference_is_clear():
    ((loss),) = report.find_losses(
        aucs("nnPU", 0.75, 0.84, 0.95) + aucs("MixPUL", 0.7, 0.8, 0.9), UCI
    )
    assert loss.ahead[0].is_clear


@pytest.mark.parametrize(
    ("target", "mean", "published", "verdict"),
    [
        (UCI, 0.7049, 0.70, 0),
        (UCI, 0.7051, 0.70, 1),
        (UCI, 0.6949, 0.70, -1),
        (MNIST, 0.0024, 0.0024, 0),
        (MNIST, 0.0020, 0.0024, 1),
        (MNIST, 0.0033, 0.0024, -1),
    ],
)
def test_numbers_are_compared_at_the_digits_of_the_paper(target, mean, published, verdict):
    assert report.MEASURES[target.measure].against_paper(mean, published) == verdict


def test_our_run_of_the_published_settings_is_held_against_the_published_number():
    assert report.find_published(UCI, "titanic", "MixPUL as published", 0.1).mean == 0.70
    assert report.find_published(UCI, "titanic", "VPU", 0.1) is None


# -- Markdown -------------------------------------------------------------------------------


def test_the_table_of_the_readme():
    records = [
        *aucs("MixPUL", 0.70, 0.72, value=0.1),
        *aucs("nnPU", 0.70, 0.70, value=0.1),
        *aucs("MixPUL", 0.74, value=0.2),
        *aucs("nnPU", 0.76, value=0.2),
        *aucs("class means", 0.9, dataset="mushroom"),  # not bundled
    ]
    assert report.render_quality_table(records).splitlines() == [
        "| data | c | labeled | MixPUL | nnPU † | paper's<br>MixPUL |",
        "| --- | --- | --- | ---: | ---: | ---: |",
        "| titanic | 0.1 | 50 | **0.710** | 0.700 | 0.70 |",
        "| titanic | 0.2 | 50 | 0.740 | **0.760** | 0.71 |",
        "| mean |  |  | 0.725 | **0.730** | 0.705 |",
        "| mean rank |  |  | **1.5** | **1.5** |  |",
    ]


def test_markdown_has_published_numbers_missing_data_and_losses(tmp_path):
    text = report.render_paper_markdown(
        write(tmp_path, aucs("MixPUL", 0.68, 0.72) + aucs("uPU", 0.73, 0.77) + aucs("VPU", 0.5))
    )
    assert "| MixPUL | – (0.67) | – (0.68) | 0.700 ± 0.020 (0.70) |" in text
    assert "| uPU † | – (0.64) | – (0.70) | **0.750 ± 0.020** (0.71) |" in text
    assert "| VPU * | – | – | 0.500 [1 run] |" in text
    assert "ethn (data not available)" in text
    assert "| titanic | c = 0.1 | 0.700 | **uPU † +0.050 ± 0.000** |" in text
    assert "mixpul 0.1.0 (5 trials)" in text


def test_trainings_that_nobody_timed_as_a_whole_do_not_count_as_fast(tmp_path):
    some = [record("MixPUL", value=c, fit_seconds=t) for c, t in [(0.1, None), (0.2, 30.0)]]
    some += [record("nnPU", value=c, fit_seconds=None) for c in (0.1, 0.2)]
    text = report.render_paper_markdown(write(tmp_path, some))
    overall = text.partition("Over the")[2]
    rows = re.findall(r"\| (\w+)[ †]* \|.* \| (\S+) \|$", overall, re.MULTILINE)
    assert dict(rows) == {"MixPUL": "30", "nnPU": "–"}


# -- reading --------------------------------------------------------------------------------


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"No results in .* `mixpul reproduce` makes them"):
        report.render_paper_page(tmp_path)


def test_a_folder_of_failures_is_refused_with_the_first_one(tmp_path):
    write(tmp_path, [record("MixPUL") | {"failure": "OSError: disk full"}])
    with pytest.raises(ValueError, match=r"All 1 trials .* disk full"):
        report.render_paper_page(tmp_path)


def test_a_folder_of_shortened_trials_is_refused(tmp_path):
    short = record("MixPUL")
    write(tmp_path, [short | {"settings": short["settings"] | {"subset": 100}}])
    with pytest.raises(ValueError, match=r"shortened trials, which no report counts; run"):
        report.render_paper_page(tmp_path)


def test_shortened_trials_have_a_table_of_their_own(tmp_path):
    one = record("MixPUL")
    short = one | {"id": "short", "settings": one["settings"] | {"subset": 1200, "epochs": 3}}
    write(tmp_path, [one, short | {"auc": 0.123, "error": 0.123}])
    text = report.render_paper_markdown(tmp_path)
    table = text.split("## Cut short")[1].split("##")[0]
    assert "| MixPUL |" in table
    assert "| 1,200 | 3 |" in table
    assert "12" in table.splitlines()[-2]
    assert "not counted" not in text
    page = report.render_paper_page(tmp_path)
    assert page.count('id="cut-short"') == 1
    only_short = report.sections.Section(UCI, [short])
    assert only_short.why_empty == "only trials that were cut short"
    (tmp_path / "whole").mkdir()
    whole = write(tmp_path / "whole", [one])
    assert "Cut short" not in report.render_paper_markdown(whole)
    assert "Cut short" not in report.render_paper_page(whole)


def test_real_trials_packed_or_not_give_the_same_page(tmp_path):
    trials = trials_of("uci", runs=2, only="dataset=titanic,method=class means")
    run(trials, perform, tmp_path)
    report.write_report(tmp_path, tmp_path / "loose.html", tmp_path / "loose.md")
    pack_results(tmp_path, "uci")
    report.write_report(tmp_path, tmp_path / "packed.html", tmp_path / "packed.md")
    for kind in ("html", "md"):
        loose, packed = (tmp_path / f"{name}.{kind}" for name in ("loose", "packed"))
        assert loose.read_text() == packed.read_text()
    assert "class means" in (tmp_path / "packed.md").read_text()


def test_every_target_has_an_introduction_on_the_page():
    templates = Environment(loader=PackageLoader("mixpul.pages"))
    words = templates.get_template("paper/words.html.j2").module
    assert set(words.introductions) == set(TARGETS)
    assert set(words.captions) < set(TARGETS)


def test_text_of_results_is_escaped(tmp_path):
    failure = record("MixPUL", 1) | {"failure": "ValueError: <script>alert(1)</script>"}
    page = report.render_paper_page(write(tmp_path, [record("MixPUL"), failure]))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


# -- charts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 3400, [0, 1000, 2000, 3000, 4000]),
        (0.63, 0.97, [0.6, 0.7, 0.8, 0.9, 1.0]),
        (-0.2, 0.1, [-0.2, -0.1, 0.0, 0.1]),
    ],
)
def test_ticks_are_round_and_embrace_the_data(low, high, ticks):
    assert charts.choose_ticks(low, high) == ticks


def test_ticks_of_a_single_value_leave_room_on_both_sides():
    ticks = charts.choose_ticks(0.7, 0.7)
    assert ticks[0] < 0.7 < ticks[-1]


def test_points_are_drawn_where_they_belong():
    line = charts.Line("a", [0, 50, 100], [0, 1, 0.5])
    svg = charts.draw_lines([line], title="t", x_label="x", y_label="y", marks=False)
    (path,) = re.findall(r'<path class="line series-0" d="M([^"]+)"', svg)
    points = np.array([point.split() for point in path.split("L")], dtype=float)
    bottom, top = charts.HEIGHT - charts.BOTTOM, charts.TOP
    left, right = charts.LEFT, charts.WIDTH - charts.RIGHT
    assert points.tolist() == [[left, bottom], [(left + right) / 2, top],
                               [right, (top + bottom) / 2]]  # fmt: skip


def test_a_logarithmic_axis_spaces_by_ratio():
    line = charts.Line("a", [0.01, 0.1, 1], [0, 0, 1])
    svg = charts.draw_lines([line], title="t", x_label="x", y_label="y", log_x=True, marks=False)
    (path,) = re.findall(r'<path class="line series-0" d="M([^"]+)"', svg)
    first, second, third = (float(point.split()[0]) for point in path.split("L"))
    assert second - first == pytest.approx(third - second)


def test_names_in_charts_are_escaped():
    line = charts.Line("<a & b>", [1, 2], [1, 2])
    assert "&lt;a &amp; b&gt;" in charts.draw_legend([line])
    assert "<b>" not in charts.draw_dots(["<b>"], [1.0], title="<b>", label="<b>")


def test_a_chart_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no points"):
        charts.draw_lines([], title="t", x_label="x", y_label="y")


# -- in a browser ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with every table and figure, full but for ethn and CIFAR-10."""
    folder = tmp_path_factory.mktemp("results")
    generator = np.random.default_rng(0)
    steps = np.arange(1, 101) * 34
    for target in TARGETS.values():
        if target.name == "cifar10":
            continue
        lines = []
        for dataset in target.all_datasets:
            for method in target.all_methods:
                for value in target.values:
                    for seed in range(2):
                        scores = {
                            "auc": generator.uniform(0.7, 0.9),
                            "error": generator.uniform(0.01, 0.02),
                            "used_prior": generator.uniform(0.2, 0.4),
                            "warmup": 0.25,
                            "curve": {
                                "step": steps.tolist(),
                                "error": (0.1 + 0.3 * np.exp(-steps / 900)).tolist(),
                            },
                        }
                        place = {"target": target.name, "dataset": dataset, "value": value}
                        lines.append(json.dumps(record(method, seed, **place, **scores)))
        lines = [line for line in lines if '"ethn"' not in line]
        (folder / f"{target.name}.jsonl").write_text("\n".join(lines) + "\n")
    report.write_report(folder, folder / "report.html")
    return folder / "report.html"


def test_the_page_loads_nothing_and_complains_of_nothing(browser, page):
    browser.open(page)
    assert browser.complaints() == []
    assert browser.loaded() == []


def test_every_table_and_figure_is_there(browser, page):
    browser.open(page)
    tables = "[...document.querySelectorAll('table[data-target]')].map(t => {})"
    uci = set(UCI.all_datasets)
    assert set(browser.run(tables.format("t.dataset.target"))) == set(TARGETS) - {"cifar10"}
    assert uci <= set(browser.run(tables.format("t.dataset.dataset || ''")))
    charts_of = "document.querySelectorAll('#figure-{} svg.chart').length"
    for name, count in {
        "uci": 7,
        "prior-error": 3,
        "mixup-ablation": 4,
        "margin-ablation": 4,
    }.items():
        assert browser.run(charts_of.format(name)) == count
    assert browser.run("document.querySelectorAll('#margin-ablation .dashed').length") == 4
    # A band for each line that has several runs; of nine estimates only for the true prior.
    bands = "document.querySelectorAll('#figure-{} .band').length"
    counts = {"uci": 7 * 2 + 3, "prior-error": 3, "mixup-ablation": 4 * 2}
    assert {name: browser.run(bands.format(name)) for name in counts} == counts
    (ethn,) = browser.texts('table[data-dataset="ethn"] caption')
    assert "data not available" in ethn
    assert any("CIFAR-10" in text for text in browser.texts("#missing li"))


def test_the_claims_come_first_and_each_has_a_verdict(browser, page):
    browser.open(page)
    assert browser.run("document.querySelector('main section').id") == "claims"
    verdicts = set(browser.texts("#claims tbody td strong"))
    assert verdicts <= {"holds here", "does not hold here", "undecided", "not run"}
    assert len(browser.texts("#claims tbody")) == 10
    assert "no results yet; mixpul reproduce cifar10" in " ".join(browser.texts("#claims td"))


def test_on_a_phone_claims_are_not_scrolled(browser, page):
    browser.open(page, 400)
    region = "document.querySelector('#claims .scroll')"
    assert browser.run(f"{region}.scrollWidth - {region}.clientWidth") <= 0


def test_links_of_the_contents_lead_somewhere(browser, page):
    browser.open(page)
    missing = "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash)"
    assert browser.run(f"{missing}.filter(hash => !document.querySelector(hash))") == []


@pytest.mark.parametrize("width", [320, 400, 900, 1400])
def test_the_page_is_not_wider_than_the_window(browser, page, width):
    browser.open(page, width)
    assert browser.overflow() <= 0


def test_on_a_phone_the_first_column_stays_when_a_table_is_scrolled(browser, page):
    browser.open(page, 400)
    place = "document.querySelector('table[data-dataset=\"krvskp\"] tbody th')"
    before = browser.run(f"{place}.getBoundingClientRect().left")
    browser.run(f"{place}.closest('.scroll').scrollLeft = 150")
    assert browser.run(f"{place}.closest('.scroll').scrollLeft") == 150
    assert browser.run(f"{place}.getBoundingClientRect().left") == before


def test_text_stands_out_in_light_and_in_dark(browser, page):
    backgrounds = set()
    for dark in (False, True):
        browser.open(page, dark=dark)
        backgrounds.add(browser.background())
        for selector in ("p", "caption", "nav a", ".better", ".worse", ".sd", ".chart text"):
            # An SVG text is filled, other text has a colour.
            style = f"getComputedStyle(document.querySelector({selector!r}))"
            colour = browser.run(f"{style}.{'fill' if 'chart' in selector else 'color'}")
            assert contrast(colour, browser.background()) >= 4.5, (selector, dark)
    assert len(backgrounds) == 2


def test_lines_stand_out_in_light_and_in_dark(browser, page):
    for dark in (False, True):
        browser.open(page, dark=dark)
        for series in range(charts.N_SERIES):
            colour = browser.run(
                f"getComputedStyle(document.querySelector('.series-{series}')).color"
            )
            assert contrast(colour, browser.background()) >= 3, (series, dark)


def test_printed_it_has_no_contents_and_black_text(browser, page):
    browser.open(page, dark=True, medium="print")
    assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_a_lucky_run_is_not_compared_with_means_of_many():
    records = aucs("MixPUL", 0.7, 0.7, 0.7, 0.7) + aucs("VPU", 0.6, 0.6) + aucs("nnPU", 0.9)
    cells = report.summarise(records, UCI)
    assert report.find_best_methods(cells, UCI, "titanic", 0.1) == {"MixPUL"}
    ranks, _ = report.rank_methods(cells, UCI)
    assert ranks == {"MixPUL": 1, "VPU": 2}
    assert "nnPU" not in report.render_quality_table(records)
