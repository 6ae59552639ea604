"""A model card says what the model file holds, and marks what is only bounded."""

import re

import pytest

from deploying import fit_pipeline, make_table
from mixpul import BaggingPUClassifier, LogisticPUClassifier, save
from mixpul.deploy import make_card
from mixpul.persistence import describe
from test_cli import assert_one_sentence
from test_table_cli import run

QUICK = ["--method", "bagging", "--set", "n_estimators=10"]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card")
    table, label = make_table(n=250)
    table["bought|`yes`"] = label.astype(int)
    table = table.rename(columns={"age": "a|b <b>\n#1"})[["a|b <b>\n#1", "city", "bought|`yes`"]]
    table.to_csv(folder / "leads.csv", index=False)
    words = ["--label", "bought|`yes`", "-o", folder / "leads.mixpul", *QUICK]
    result = run("fit", folder / "leads.csv", *words)
    assert result.code == 0, result.err
    return folder


def test_the_card_has_the_figures_of_the_file(work):
    page, about = make_card(work / "leads.mixpul"), describe(work / "leads.mixpul")
    found = about["info"]["assessment"]
    assert f"| {found['pu_auc']['value']:.3f} (95 % interval" in page
    assert f"at most {found['prior']['upper']:.3f} (95 % confidence) | an upper bound |" in page
    assert "bounds, by the unknown class prior" in page
    assert about["checksum"] in page
    assert about["info"]["fingerprint"] in page
    for name, threshold in about["info"]["thresholds"]["suggested"].items():
        assert f"| `{name}` | {threshold:.4g} |" in page
    for name, verdict in found["checks"].items():
        assert f"| {name} | {verdict} |" in page


def test_a_known_prior_makes_estimates(work, tmp_path):
    words = ["--label", "bought|`yes`", "--prior", "0.25", "-o", tmp_path / "m.mixpul", *QUICK]
    assert run("fit", work / "leads.csv", *words).code == 0
    page = make_card(tmp_path / "m.mixpul")
    assert "| 0.250" in page
    assert "estimated, by the class prior" in page
    assert "upper bound" not in page


def test_names_cannot_break_the_page(work):
    page = make_card(work / "leads.mixpul", name="a [b](c) <script>\n# x")
    assert "<script>" not in re.sub(r"^model-index.*$", "", page, flags=re.M).replace("\\<", "")
    assert [line for line in page.splitlines() if line.startswith("# ")] == [
        r"# a \[b\](c) \<script\> \# x"
    ]
    tables = [line for line in page.splitlines() if line.startswith("| ") and "number" in line]
    assert any(r"a\|b \<b\> \#1" in line for line in tables)


def test_model_hubs_can_read_the_head(work):
    yaml = pytest.importorskip("yaml")
    head = yaml.safe_load(make_card(work / "leads.mixpul", name='x: "y"').split("---")[1])
    assert head["library_name"] == "mixpul"
    assert head["pipeline_tag"] == "tabular-classification"
    (entry,) = head["model-index"]
    assert entry["name"] == 'x: "y"'
    assert 0 < entry["results"][0]["metrics"][0]["value"] < 1


def test_a_file_without_an_assessment_says_so(tmp_path):
    save(fit_pipeline(LogisticPUClassifier(C=1.0)), tmp_path / "bare.mixpul")
    page = make_card(tmp_path / "bare.mixpul")
    assert "Not assessed." in page
    assert "## Thresholds" not in page
    assert "## Columns" in page


def test_what_does_not_fit_together_is_one_sentence(pu, tmp_path):
    model = BaggingPUClassifier(n_estimators=2, random_state=0).fit(pu.X, pu.y)
    save(model, tmp_path / "odd.mixpul", info={"assessment": {"rows": "many"}})
    result = run("card", tmp_path / "odd.mixpul")
    assert result.code == 2
    assert_one_sentence(result.err)


def test_the_command_writes_a_file_or_standard_output(work, tmp_path):
    path = tmp_path / "card.md"
    assert run("card", work / "leads.mixpul", "-o", path).out == f"Card: {path}\n"
    printed = run("card", work / "leads.mixpul")
    assert printed.out == path.read_text(encoding="utf-8") == make_card(work / "leads.mixpul")


@pytest.mark.parametrize("fault", ["no model", "no folder", "there already", "the model itself"])
def test_bad_input_is_one_sentence_and_nothing_is_written(work, tmp_path, fault):
    model, out = work / "leads.mixpul", tmp_path / "card.md"
    if fault == "no model":
        model = tmp_path / "none.mixpul"
    if fault == "no folder":
        out = tmp_path / "none" / "card.md"
    if fault == "there already":
        out.write_text("old")
    if fault == "the model itself":
        out = model

    def look():
        return {path: path.read_bytes() for path in (*tmp_path.iterdir(), *work.iterdir())}

    before = look()
    result = run("card", model, "-o", out, *(["--force"] if fault == "the model itself" else []))
    assert result.code == 2
    assert_one_sentence(result.err)
    assert look() == before
