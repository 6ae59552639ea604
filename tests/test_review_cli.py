"""`mixpul review` and `mixpul audit`, as they are typed, and the page between them."""

import csv
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from mixpul import MixPULClassifier, cli, load, persistence, save
from mixpul.assess.queues import DESIGN
from mixpul.methods._candidates import CANDIDATES
from mixpul.pages import render_review_page
from mixpul.tables.content import hash_cells, hash_rows
from test_assess import made_table
from test_cli import assert_one_sentence, parsed
from test_table_cli import FEW, run

COLUMNS = ("mixpul_row", "verdict", *DESIGN, "mixpul_check")
ATTACK = "</script><script>document.title='broken'</script><b>x</b>"


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A table of customers with a name that attacks pages, a model, and the truth by customer."""
    folder = tmp_path_factory.mktemp("review")
    table, bought = made_table(600)
    table.loc[5:, "note"] = "=1+1"
    table["note"] = table["note"].fillna(ATTACK)
    table["bought"] = bought.astype(int)
    table.to_csv(folder / "leads.csv", index=False)
    made_table(400, seed=7)[0].assign(note=ATTACK).to_csv(folder / "new.csv", index=False)
    result = run(
        "fit", folder / "leads.csv", "--label", "bought", "--id", "customer", "--drop", "note",
        *FEW, "-o", folder / "model.mixpul",
    )  # fmt: skip
    assert result.code == 0, result.err
    return folder


@pytest.fixture(scope="module")
def queue(work):
    result = run("review", work / "model.mixpul", work / "leads.csv", "-o", work / "queue.csv",
                 "--show", "note")  # fmt: skip
    assert result.code == 0, result.err
    assert "60 rows to check" in result.err
    return work / "queue.csv"


def read(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows, delimiter=","):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def answer(rows, word=None):
    """Say yes to the higher half of incomes, or the given word to all."""
    return [
        row | {"verdict": word or ("yes" if float(row["income"]) > 5 else "no")} for row in rows
    ]


@pytest.fixture
def answered(queue, tmp_path):
    return write(tmp_path / "answered.csv", answer(read(queue)))


# -- words ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["review", "audit"])
def test_the_help_shows_an_example_that_is_accepted(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = CliRunner().invoke(cli.app, [command, "--help"])
    example = re.search(rf"Example: mixpul ({command} .*\S)", shown.output)[1]
    assert parsed(*example.split())


# -- the queue ------------------------------------------------------------------------------


def test_a_queue_has_the_row_its_columns_and_how_it_was_drawn(work, queue):
    rows, table = read(queue), pd.read_csv(work / "leads.csv")
    assert len(rows) == 60
    names = list(rows[0])
    assert names[:2] == ["mixpul_row", "customer"]
    assert set(names[2 : names.index("verdict")]) == {"income", "city", "height", "note"}
    assert [name for name in names if name in COLUMNS] == list(COLUMNS)
    checksum = persistence.describe(work / "model.mixpul")["checksum"]
    scores = persistence.read_scores(work / "model.mixpul")
    for row in rows:
        number = int(row["mixpul_row"])
        assert row["customer"] == table["customer"][number]
        assert table["bought"][number] == 0
        assert row["verdict"] == ""
        assert row["mixpul_model"] == checksum[:16]
        assert float(row["mixpul_score"]) == pytest.approx(scores[number], abs=1e-5)
        share = int(row["mixpul_stratum_drawn"]) / int(row["mixpul_stratum_rows"])
        assert float(row["mixpul_inclusion"]) == pytest.approx(share, abs=1e-5)


def test_cells_that_a_spreadsheet_would_run_are_disarmed(queue):
    assert {row["note"] for row in read(queue)} <= {"'=1+1", ATTACK}


def test_the_same_command_draws_the_same_rows_and_replaces_nothing(work, queue, tmp_path):
    again = ["review", work / "model.mixpul", work / "leads.csv", "--show", "note", "-o"]
    assert run(*again, tmp_path / "queue.csv").code == 0
    assert (tmp_path / "queue.csv").read_bytes() == queue.read_bytes()
    result = run(*again, queue)
    assert (result.code, "--force" in result.err) == (2, True)


def test_the_hash_of_a_row_is_the_same_however_it_was_read(work, queue):
    kinds = load(work / "model.mixpul")[0].kinds_
    hashes = hash_rows(pd.read_csv(work / "leads.csv"), kinds)
    assert [hashes[int(row["mixpul_row"])] for row in read(queue)] == [
        row["mixpul_content"] for row in read(queue)
    ]
    changed = pd.read_csv(work / "leads.csv")
    changed.loc[0, "income"] += 1
    assert hash_rows(changed, kinds)[0] != hashes[0]
    assert hash_rows(changed, kinds)[1:] == hashes[1:]


def test_a_spreadsheet_may_round_and_reorder_but_not_change():
    before = ["12345678901234567", "0.123456789", "2024-02-09", "Łódź  x", "TRUE", "'=1"]
    after = ["1.23457E+16", "0,1234568", "09.02.2024", "?ód? x", "true", "=1"]
    assert hash_cells(before) == hash_cells(after)
    assert hash_cells(["123456"]) != hash_cells(["123457"])


def test_another_table_is_refused_unless_its_rows_are_unseen(work, tmp_path):
    out = tmp_path / "queue.csv"
    result = run("review", work / "model.mixpul", work / "new.csv", "-o", out)
    assert result.code == 2
    assert "not the table that the model was fitted on" in result.err
    assert_one_sentence(result.err)
    result = run("review", work / "model.mixpul", work / "new.csv", "--unseen", "-n", 30, "-o", out)
    assert result.code == 0, result.err
    scores = load(work / "model.mixpul").predict_proba(pd.read_csv(work / "new.csv"))[:, 1]
    rows = read(out)
    assert [float(row["mixpul_score"]) for row in rows] == pytest.approx(
        [scores[int(row["mixpul_row"])] for row in rows], abs=1e-5
    )
    found = run("audit", work / "model.mixpul", write(out, answer(rows)), "--json")
    assert json.loads(found.out)["rows"] == 400
    result = run("review", work / "model.mixpul", work / "leads.csv", "--unseen", "-o", out,
                 "--force")  # fmt: skip
    assert (result.code, "this very table" in result.err) == (2, True)


def test_a_model_without_scores_of_its_rows_says_so(work, tmp_path):
    model = load(work / "model.mixpul")
    info = persistence.describe(work / "model.mixpul")["info"]
    save(model, tmp_path / "old.mixpul", info=info)
    result = run("review", tmp_path / "old.mixpul", work / "leads.csv", "-o", tmp_path / "q.csv")
    assert result.code == 2
    assert "fit it again" in result.err
    assert_one_sentence(result.err)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-o", "queue.txt"], "ends in .csv, .html, .json"),
        (["-o", "q.csv", "--show", "nope"], "no column 'nope'"),
        (["-o", "q.csv", "--id", "verdict"], "no column 'verdict'"),
    ],
)
def test_what_review_refuses(work, more, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("review", work / "model.mixpul", work / "leads.csv", *more)
    assert result.code != 0
    assert words in " ".join(result.err.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


def test_scores_are_kept_for_the_rows_and_leave_the_model_alone(tmp_path, pu, quick):
    model = quick().fit(pu.X, pu.y)
    save(model, tmp_path / "m", scores=np.linspace(0, 1, 200))
    found = persistence.read_scores(tmp_path / "m")
    assert found.dtype == np.float32
    assert found == pytest.approx(np.linspace(0, 1, 200))
    loaded = load(tmp_path / "m")
    assert isinstance(loaded, MixPULClassifier)
    np.testing.assert_array_equal(loaded.predict_proba(pu.X), model.predict_proba(pu.X))


# -- the audit ------------------------------------------------------------------------------


def test_an_audit_says_figures_beside_claims(work, answered, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    before = answered.read_bytes()
    result = run("audit", work / "model.mixpul", answered)
    assert result.code == 0, result.err
    assert "60 rows answered" in result.out
    for word in ("class prior", "precision", "recall", "F1", "AUC", "claimed"):
        assert word in result.out
    assert "more rows would halve the interval" in result.out
    assert "mixpul fit TABLE --label bought --id customer --prior-interval 0." in result.out
    assert answered.read_bytes() == before


def test_json_has_everything(work, answered):
    found = json.loads(run("audit", work / "model.mixpul", answered, "--json").out)
    info = persistence.describe(work / "model.mixpul")["info"]
    prior = found["prior"]
    assert prior["source"] == "audited"
    assert prior["low"] < prior["value"] < prior["high"]
    assert found["thresholds"]["threshold"] == info["thresholds"]["threshold"]
    flagged = np.array(info["thresholds"]["flagged"]) * info["assessment"]["unlabeled"]
    assert found["thresholds"]["flagged"] == pytest.approx(flagged)
    assert set(found["suggested"]) == set(info["thresholds"]["suggested"])
    assert set(found["claimed"]["suggested"]) == set(found["suggested"])
    assert found["claimed"]["prior"]["kind"] == "at most"
    assert 0 < found["claimed"]["prior"]["value"] <= 1


def test_rows_that_people_and_scores_disagree_on_are_named(work, answered, tmp_path):
    page = tmp_path / "audit.html"
    rows = {row["customer"]: row for row in read(answered)}
    for row in list(rows.values())[::4]:
        row["verdict"] = "no" if row["verdict"] == "yes" else "yes"
    write(answered, list(rows.values()))
    words = ["audit", work / "model.mixpul", answered, "--json", "--report", page]
    found = json.loads(run(*words).out)["disagreements"]
    for kind, verdict in (("false_alarms", "no"), ("missed", "yes")):
        above = verdict == "no"
        expected = [
            row["customer"]
            for row in rows.values()
            if row["verdict"] == verdict and (float(row["mixpul_score"]) > 0.5) == above
        ]
        assert expected, "the table should have both kinds"
        assert {one["id"] for one in found[kind]} == set(expected)
        scores = [one["score"] for one in found[kind]]
        assert scores == sorted(scores, reverse=above)
        assert all(one["cells"]["income"] == rows[one["id"]]["income"] for one in found[kind])
    text = page.read_text()
    assert "Where people and scores disagree" in text
    assert ATTACK not in text
    worst = found["false_alarms"][0]
    assert f"<bdi>{worst['id']}</bdi>" in text


def test_rounds_add_up_on_the_command_line(work, queue, answered, tmp_path):
    out = tmp_path / "second.csv"
    result = run("review", work / "model.mixpul", work / "leads.csv", "--after", answered,
                 "-n", 40, "-o", out)  # fmt: skip
    assert result.code == 0, result.err
    first, second = read(queue), read(out)
    assert not {row["mixpul_row"] for row in first} & {row["mixpul_row"] for row in second}
    assert {row["mixpul_round"] for row in second} == {"2"}
    write(out, answer(second))
    found = json.loads(run("audit", work / "model.mixpul", answered, out, "--json").out)
    assert sum(found["answers"][word] for word in ("yes", "no")) == 100


def test_a_queue_may_be_divided_among_people(work, queue, answered, tmp_path):
    rows = read(answered)
    halves = [write(tmp_path / f"{k}.csv", rows[k::2]) for k in (0, 1)]
    whole, divided = (
        json.loads(run("audit", work / "model.mixpul", *files, "--json").out)
        for files in ([answered], halves)
    )
    assert divided["prior"] == whole["prior"]


def test_a_queue_comes_back_from_a_spreadsheet(work, answered, tmp_path):
    rows = [
        row | {
            "mixpul_score": row["mixpul_score"].replace(".", ","),
            "income": f"{float(row['income']):.7f}".replace(".", ","),
            "verdict": f" {row['verdict'].upper()} ",
        }
        for row in read(answered)
    ]  # fmt: skip
    back = tmp_path / "back.csv"
    write(back, sorted(rows, key=lambda row: row["customer"]), delimiter=";")
    found, whole = (
        json.loads(run("audit", work / "model.mixpul", path, "--json").out)
        for path in (back, answered)
    )
    assert found["prior"] == whole["prior"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows[3].update(verdict="maybe"), "line 5: A verdict is yes, no or unsure"),
        (lambda rows: rows[3].update(mixpul_stratum="1" if rows[3]["mixpul_stratum"] != "1"
                                     else "2"), "line 5 was changed"),
        (lambda rows: rows[3].update(income="3.25"), "line 5 was changed"),
        (lambda rows: rows.pop(), "has 60 rows, but the queue has 59"),
        (lambda rows: [row.update(verdict="") for row in rows], "No row has a verdict yet"),
        (lambda rows: rows.append(rows[0] | {"verdict": "unsure"}), "has the same row as line 2"),
        (lambda rows: [row.pop("mixpul_rank") for row in rows], "no column 'mixpul_rank'"),
        (lambda rows: rows.append(dict(rows[0])), "has the same row as line 2"),
    ],
)  # fmt: skip
def test_what_an_audit_refuses(work, answered, tmp_path, change, words):
    rows = read(answered)
    change(rows)
    result = run("audit", work / "model.mixpul", write(tmp_path / "bad.csv", rows))
    assert result.code == 2
    assert words in result.err
    assert_one_sentence(result.err)


def test_files_that_share_rows_must_agree(work, answered, tmp_path):
    rows = read(answered)
    rows[0]["verdict"] = "unsure"
    other = write(tmp_path / "other.csv", rows)
    result = run("audit", work / "model.mixpul", answered, other)
    assert (result.code, "agree on one answer" in result.err) == (2, True)


def test_the_same_queue_twice_and_that_of_another_model_are_refused(work, answered, tmp_path):
    shutil.copy(answered, tmp_path / "copy.csv")
    result = run("audit", work / "model.mixpul", answered, tmp_path / "copy.csv")
    assert (result.code, "would count twice" in result.err) == (2, True)
    info = persistence.describe(work / "model.mixpul")["info"]
    save(load(work / "model.mixpul"), tmp_path / "other.mixpul", info=info)
    result = run("audit", tmp_path / "other.mixpul", answered)
    assert (result.code, "drawn for another model" in result.err) == (2, True)
    (tmp_path / "page.html").write_text("<!DOCTYPE html>")
    result = run("audit", work / "model.mixpul", tmp_path / "page.html")
    assert (result.code, "is a page" in result.err) == (2, True)
    result = run("audit", work / "model.mixpul", tmp_path / "absent.csv")
    assert (result.code, "There is no queue" in result.err) == (2, True)


# -- Label Studio ---------------------------------------------------------------------------


def test_tasks_go_to_label_studio_and_come_back(work, answered, tmp_path):
    out = tmp_path / "tasks.json"
    assert run("review", work / "model.mixpul", work / "leads.csv", "-o", out,
               "--show", "note").code == 0  # fmt: skip
    tasks = json.loads(out.read_text())
    assert len(tasks) == 60
    verdicts = {row["mixpul_row"]: row["verdict"] for row in read(answered)}
    for task in tasks:
        choices = {"choices": [verdicts[task["data"]["mixpul_row"]]]}
        result = {"from_name": "verdict", "to_name": "row", "type": "choices", "value": choices}
        task["annotations"] = [{"was_cancelled": False, "result": [result]}]
        # As a database returns it.
        task["data"] = dict(sorted(task["data"].items(), key=lambda item: len(item[0])))
    out.write_text(json.dumps(tasks))
    found, whole = (
        json.loads(run("audit", work / "model.mixpul", path, "--json").out)
        for path in (out, answered)
    )
    assert found["prior"] == whole["prior"]
    second = {"was_cancelled": False, "result": [{"value": {"choices": ["unsure"]}}]}
    tasks[0]["annotations"].append(second)
    out.write_text(json.dumps(tasks))
    result = run("audit", work / "model.mixpul", out)
    assert (result.code, "task 1 has several answers" in result.err) == (2, True)


# -- pages ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(work):
    out = work / "review.html"
    result = run("review", work / "model.mixpul", work / "leads.csv", "--show", "note", "-o", out)
    assert result.code == 0, result.err
    return out


def press(browser, key):
    browser.run(
        f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: {key!r}, cancelable: true}}))"
    )


def state(browser):
    return browser.texts("#progress")[0]


def forget(browser, page):
    browser.open(page)
    browser.run("localStorage.clear()")
    browser.open(page)


def test_rows_are_answered_by_keys_and_buttons(browser, page):
    forget(browser, page)
    assert state(browser) == "row 1 of 60, 0 answered"
    press(browser, "y")
    press(browser, "n")
    browser.run("document.querySelector('[data-answer=unsure]').click()")
    assert state(browser) == "row 4 of 60, 3 answered"
    press(browser, "ArrowLeft")
    pressed = browser.texts("[aria-pressed=true]")
    assert pressed == ["Unsure u"]
    press(browser, "Backspace")
    assert state(browser) == "row 3 of 60, 2 answered"
    browser.run("document.getElementById('undo').click()")
    assert state(browser) == "row 2 of 60, 1 answered"
    press(browser, "ArrowRight")
    assert state(browser) == "row 3 of 60, 1 answered"
    # Closed and opened again: answers are kept, and the first open row is shown.
    browser.open(page)
    assert state(browser) == "row 2 of 60, 1 answered"
    assert browser.complaints() == []
    assert browser.loaded() == []


def test_answers_are_saved_as_the_queue_with_its_verdicts(browser, page, work, queue, tmp_path):
    forget(browser, page)
    expected = answer(read(queue))
    for row in expected[:-1]:
        press(browser, row["verdict"][0])
    assert state(browser) == "row 60 of 60, 59 answered"
    press(browser, expected[-1]["verdict"][0])
    assert state(browser) == "60 answered"
    assert browser.run("document.getElementById('done').hidden") is False
    # The file as the button offers it.
    browser.run("""(() => {
        const make = URL.createObjectURL;
        URL.createObjectURL = (file) => { file.text().then((t) => { window.saved = t; });
                                          return make.call(URL, file); };
        document.getElementById('save').click();
    })()""")
    saved = tmp_path / "answers.csv"
    saved.write_bytes(browser.wait_for("window.saved").encode())
    assert read(saved) == expected
    result = run("audit", work / "model.mixpul", saved, "--json")
    assert json.loads(result.out)["answers"]["open"] == 0


def test_cells_cannot_break_out_of_the_page(browser, page):
    forget(browser, page)
    for _ in range(60):
        assert browser.run("document.querySelectorAll('#values b, #values script').length") == 0
        press(browser, "ArrowRight")
    assert "rows to check" in browser.run("document.title")
    assert ATTACK not in page.read_text()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 900, 1400])
def test_pages_fit_their_windows(browser, page, work, answered, tmp_path, width, dark):
    report = tmp_path / "audit.html"
    if width == 400:
        assert run("audit", work / "model.mixpul", answered, "--report", report).code == 0
    for path in (page, *([report] if report.exists() else [])):
        browser.open(path, width, dark=dark)
        assert browser.overflow() <= 0
        assert browser.complaints() == []
    browser.open(page, width, dark=dark)
    heights = browser.run(
        "[...document.querySelectorAll('button')].map(b => b.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44  # as large as a thumb


def test_the_slider_shows_audited_figures(browser, work, answered, tmp_path):
    report = tmp_path / "audit.html"
    found = run("audit", work / "model.mixpul", answered, "--report", report, "--json")
    content = json.loads(found.out)
    browser.open(report)
    assert json.loads(browser.texts("#audit")[0]) == content
    for place in (0, 60, 199):
        browser.run(
            f"(() => {{ const s = document.getElementById('slider'); s.value = {place};"
            "s.dispatchEvent(new Event('input')); })()"
        )
        flagged = content["thresholds"]["flagged"][place]
        assert browser.texts("[data-show=flagged]")[0] == f"{flagged:,.0f}"
        recall = content["thresholds"]["recall"]["value"][place]
        shown = float(browser.texts("[data-show=recall]")[0].rstrip("\xa0%"))
        assert shown == pytest.approx(100 * recall, abs=0.051)
    assert browser.complaints() == []


def test_a_page_of_rows_without_names_counts_them(browser, tmp_path):
    line = {"mixpul_row": "7", "age": "", "verdict": ""}
    page = tmp_path / "page.html"
    page.write_text(render_review_page({"id_column": None, "shown": ["age"], "lines": [line]}))
    browser.open(page)
    assert browser.texts("#name") == ["row 7"]
    assert browser.texts("#values dd") == ["–"]


# -- the tutorial ---------------------------------------------------------------------------

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorials" / "check-sixty-rows.md"


def test_the_commands_of_the_tutorial_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = TUTORIAL.read_text(encoding="utf-8")
    steps = re.findall(r"^```(python|py|sh)\n(.*?)^```", text, re.M | re.S)
    # The commands are tested here, and all candidates elsewhere.
    few = {name: CANDIDATES[name] for name in ("trees", "logistic-0.1")}
    monkeypatch.setattr("mixpul.methods._candidates.CANDIDATES", few)
    known = {option for one in get_command(cli.app).commands["fit"].params for option in one.opts}
    names = {"__name__": "page"}
    for kind, step in steps:
        if kind != "sh":
            exec(compile(step, str(TUTORIAL), "exec"), names)
            continue
        for line in step.splitlines():
            words = shlex.split(line)[1:]
            if words[0] == "fit" and not {w for w in words if w.startswith("--")} <= known:
                continue  # an option that this version does not have
            result = run(*words)
            assert result.code == 0, f"{line}\n{result.err}"
    prior = names["goes_bad"][names["loans"]["bad"] == 0].mean()
    found = json.loads(run("audit", "loans.mixpul", "answered.csv", "--json").out)
    assert found["prior"]["low"] < prior < found["prior"]["high"]
    assert len(read("second.csv")) == 140


# -- the circle -----------------------------------------------------------------------------


def test_verdicts_are_learned_from_and_the_new_model_can_be_audited(work, answered, tmp_path):
    again = tmp_path / "again.mixpul"
    result = run(
        "fit", work / "leads.csv", "--label", "bought", "--id", "customer", "--drop", "note",
        *FEW, "--verdicts", answered, "--prior-interval", "0.05,0.3", "-o", again,
    )  # fmt: skip
    assert result.code == 0, result.err
    n_no = sum(row["verdict"] == "no" for row in read(answered))
    about = persistence.describe(again)["info"]["assessment"]
    assert about["negatives"] == n_no
    assert about["prior"]["source"] == "given"
    second = tmp_path / "second.csv"
    assert run("review", again, work / "leads.csv", "-o", second).code == 0
    write(second, answer(read(second)))
    found = json.loads(run("audit", again, second, "--json").out)
    assert found["claimed"]["prior"] == {"kind": "estimate", "value": pytest.approx(0.175)}
    # The first queue was drawn by the scores of another model.
    refused = run("audit", again, answered)
    assert_one_sentence(refused.err)
    assert "another model" in refused.err


def test_verified_negatives_of_the_label_column_are_not_drawn(work, tmp_path):
    table = pd.read_csv(work / "leads.csv")
    table["bought"] = table["bought"].map({1: "yes", 0: "?"})
    refused = table.index[table["bought"] == "?"][:80]
    table.loc[refused, "bought"] = "refused"
    table.to_csv(tmp_path / "three.csv", index=False)
    model, queue = tmp_path / "three.mixpul", tmp_path / "queue.csv"
    label = ["--label", "bought", "--positive", "yes", "--negative", "refused"]
    result = run("fit", tmp_path / "three.csv", *label, "--drop", "note", *FEW, "-o", model)
    assert result.code == 0, result.err
    result = run("review", model, tmp_path / "three.csv", "-n", "200", "-o", queue)
    assert result.code == 0, result.err
    drawn = {int(row["mixpul_row"]) for row in read(queue)}
    assert len(drawn) == 200
    assert not drawn & set(refused)
