"""`mixpul fit`, `compare`, `predict`, `evaluate`, `prior` and `inspect`, as they are typed."""

import io
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import metrics
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from mixpul import MixPULClassifier, VPUClassifier, assess, cli, load, save
from mixpul.assess import METHODS
from mixpul.cli import _inputs
from mixpul.cli._settings import make_classifier
from mixpul.cli.compare import _repeat_options
from mixpul.cli.options import Method, Reading, TableOptions, parse_names
from mixpul.cli.prior import judge_agreement
from mixpul.methods._candidates import CANDIDATES
from mixpul.metrics import pu_report
from mixpul.metrics.thresholds import find_recall_depth
from mixpul.persistence import describe, read_scores
from mixpul.priors import PRIORS
from mixpul.tables import TableInput, read_table, write_table
from test_assess import made_table
from test_cli import assert_one_sentence, parsed

CHEAP = {"n_epochs": 2, "net": (8,), "cross_fitting": 2, "batch_size": 32}
SETTINGS = [word for name, value in CHEAP.items() for word in ("--set", f"{name}={value}")]
MIXPUL = ["--method", "mixpul", *SETTINGS]
# A portfolio that is quick to fit.
FEW = ["--set", "candidates=trees,logistic-0.1"]
COMMANDS = ("fit", "compare", "predict", "evaluate", "prior", "inspect")


def run(*arguments):
    """Run `mixpul` in this process; give its exit code, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["mixpul", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        cli.main()
    return SimpleNamespace(code=end.value.code or 0, out=out.getvalue(), err=err.getvalue())


def typed(*arguments, **options):
    """Run `mixpul` in a process of its own."""
    command = [sys.executable, "-m", "mixpul", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **options)


def started(*arguments):
    command = [sys.executable, "-m", "mixpul", *map(str, arguments)]
    pipe = subprocess.PIPE
    # Shells start what runs in the background with Ctrl-C ignored, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Tables of customers, and a model fitted on one of them."""
    folder = tmp_path_factory.mktemp("work")
    for name, seed in (("leads", 0), ("later", 1)):
        table, bought = made_table(seed=seed)
        table["bought"] = bought.astype(int)
        if name == "later":
            table["interested"] = (bought | (table["income"] > 3)).astype(int)
        table.to_csv(folder / f"{name}.csv", index=False)
    made_table(700, seed=2)[0].to_csv(folder / "new.csv", index=False)
    result = fit(folder, "model.mixpul", "--report", folder / "page.html")
    assert result.code == 0, result.err
    return folder


def fit(folder, name, *more, table="leads.csv", settings=MIXPUL):
    return run(
        "fit", folder / table, "--label", "bought", "--id", "customer",
        *settings, "-o", folder / name, *more,
    )  # fmt: skip


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


# -- words ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_shows_an_example_that_is_accepted(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = CliRunner().invoke(cli.app, [command, "--help"])
    assert shown.exit_code == 0
    example = re.search(rf"Example: mixpul ({command} .*\S)", shown.output)[1]
    assert parsed(*example.split())


def test_the_names_of_the_methods_are_those_of_the_library():
    assert [method.value for method in Method] == list(METHODS)


def test_the_help_names_every_estimator(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = CliRunner().invoke(cli.app, ["prior", "--help"]).output
    assert [name for name in PRIORS if name not in shown] == []


def test_lists_of_columns_are_split_at_commas():
    assert parse_names("a, b,c,") == ["a", "b", "c"]
    assert parse_names('a, "b, c",d') == ["a", "b, c", "d"]
    assert parse_names("") == []


# -- fit ------------------------------------------------------------------------------------


def test_fit_says_how_good_it_is_and_writes_model_and_page(work, out):
    result = fit(work, out, "--report", out.with_suffix(".html"))
    assert result.code == 0
    for words in ("PU-AUC out of fold", "recall>=0.9", "labeled positives: ", str(out)):
        assert words in result.out
    # Without a known prior only limits.
    for words in ("at most 0.", "at most", "by the class prior", "--prior"):
        assert words in result.out
    assert out.with_suffix(".html").read_text().lower().startswith("<!doctype html>")
    assert load(out)[-1].n_epochs == 2


def test_the_json_of_fit_is_all_there_is_on_standard_output(work, out):
    content = json.loads(fit(work, out, "--json").out)
    assert content["data"]["source"] == "leads.csv"
    assert content["data"]["label"] == "bought"
    assert content["data"]["positive"] == "1"
    assert content["data"]["id"] == "customer"
    assert content["data"]["fingerprint"].startswith("sha256:")
    assert content["top"][0]["id"].startswith("c")
    assert content["settings"]["net"] == "(8,)"
    assert content["made"]["command"].startswith("mixpul fit ")
    kept = describe(out)["info"]
    assert kept["assessment"]["pu_auc"] == content["pu_auc"]
    assert kept["thresholds"]["suggested"] == content["suggested"]


def test_the_same_file_and_seed_give_the_same_model_to_the_bit(work, out):
    fit(work, out)
    assert out.read_bytes() == (work / "model.mixpul").read_bytes()


def test_another_seed_gives_another_model(work, out):
    fit(work, out, "--seed", "1")
    assert out.read_bytes() != (work / "model.mixpul").read_bytes()


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"mixpul"}))
def test_every_method_can_be_fitted_and_predicts(work, out, method):
    cheap = {
        "auto": FEW, "logistic": ["--set", "C=0.1"],
        "nnpu": SETTINGS, "vpu": SETTINGS, "upu": ["--set", "n_centres=20"],
        "ramp": ["--set", "n_centres=20"], "pnu": ["--set", "n_centres=20"], "wsvm": [],
        "supervised": ["--set", "n_evals=1"], "bagging": ["--set", "n_estimators=5"],
        "boosting": ["--set", "n_estimators=2"],
    }[method]  # fmt: skip
    result = fit(work, out, "--method", method, settings=cheap)
    assert result.code == 0, result.err
    assert run("predict", out, work / "new.csv", "-o", out.with_suffix(".csv")).code == 0


def test_columns_can_be_dropped_kept_and_taken_as_codes(work, out):
    fit(work, out, "--drop", "height", "--categorical", "income")
    report = {entry["column"]: entry for entry in describe(out)["table"]["report"]}
    assert report["height"]["note"] == "left out as asked"
    assert report["income"]["kind"] == "text"
    assert describe(out)["info"]["dropped"] == ["customer", "height"]


def test_how_the_file_is_written_is_remembered(work, out, tmp_path):
    table = read_table(work / "leads.csv")
    table.loc[::7, "income"] = np.nan
    path = tmp_path / "leads.csv"
    table.to_csv(path, sep=";", decimal=",", na_rep="?", index=False, encoding="utf-16")
    style = ["--encoding", "utf-16", "--decimal", ",", "--missing", "?"]
    assert fit(tmp_path, out, *style).code == 0
    assert describe(out)["info"]["reading"] == {
        "encoding": "utf-16", "decimal": ",", "missing": ["?"]
    }  # fmt: skip
    scores = tmp_path / "scores.csv"
    assert run("predict", out, path, "-o", scores).code == 0
    assert len(read_table(scores)) == len(table)


def test_training_that_diverges_is_one_sentence(work, out):
    result = fit(work, out, "--set", "learning_rate=1e30")
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "learning_rate" in result.err
    assert not out.exists()


def fail(*args, **kwargs):
    raise ValueError("no luck")


@pytest.mark.parametrize("method", ["mixpul", "pnu"])
def test_the_model_is_there_if_its_assessment_fails(work, out, monkeypatch, method):
    monkeypatch.setattr("mixpul.assess.assessment.make_claims", fail)
    cheap = SETTINGS if method == "mixpul" else ["--set", "n_centres=20"]
    result = fit(work, out, "--method", method, settings=cheap)
    assert result.code == 2
    assert f"The model {str(out)!r} is written, but without an assessment.\n" in result.err
    assert result.err.endswith("mixpul: no luck\n")
    about = describe(out)["info"]
    assert (about["label"], about["id"], about["seed"]) == ("bought", "customer", 0)
    assert "assessment" not in about
    assert run("inspect", out).code == 0
    scores = out.with_suffix(".csv")
    assert run("predict", out, work / "new.csv", "-o", scores).code == 0
    if method == "mixpul":
        whole = load(work / "model.mixpul").predict_proba(read_table(work / "new.csv"))[:, 1]
        np.testing.assert_allclose(read_table(scores)["score"], whole, rtol=1e-6)


@pytest.mark.parametrize("what", ["mixpul.pages.render_fit_page", "mixpul.cli._results.print_json"])
def test_the_model_is_whole_if_its_page_or_its_json_fails(work, out, monkeypatch, what):
    monkeypatch.setattr(what, fail)
    result = fit(work, out, "--report", out.with_suffix(".html"), "--json")
    assert result.code == 2
    assert out.read_bytes() == (work / "model.mixpul").read_bytes()


def test_warnings_are_said_also_if_the_command_fails(work, out, tmp_path, monkeypatch):
    (tmp_path / "few.csv").write_text(table_of(*[1] * 5, *[0] * 50))
    monkeypatch.setattr(assess, "compare", fail)
    result = run("compare", tmp_path / "few.csv", "--label", "bought", "-o", out)
    assert result.code == 2
    first, last = result.err.splitlines()
    assert first.startswith("mixpul: warning: ")
    assert "5 labeled positives" in first
    assert last == "mixpul: no luck"


# -- the portfolio --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def portfolio(work):
    """What `fit` without a method says, and the model that it wrote."""
    path, page = work / "auto.mixpul", work / "auto.html"
    result = fit(work, path, "--report", page, settings=[*FEW, "--set", "n_jobs=1"])
    assert result.code == 0, result.err
    return SimpleNamespace(path=path, said=result.out, page=page.read_text())


def test_without_a_method_the_portfolio_is_fitted_and_its_weights_are_said(portfolio):
    assert "AutoPUClassifier" in portfolio.said
    (line,) = [line for line in portfolio.said.splitlines() if line.startswith("Weighed")]
    weights = dict(re.findall(r"([\w.-]*[a-z][\w.-]*) (\d\.\d\d)", line))
    assert set(weights) <= {"trees", "logistic-0.1"}
    assert sum(map(float, weights.values())) == pytest.approx(1, abs=0.02)
    assert "How the methods were weighed" in portfolio.page


def test_inspect_shows_the_candidates_of_a_portfolio(portfolio):
    shown = run("inspect", portfolio.path)
    assert shown.code == 0
    assert "AutoPUClassifier" in shown.out
    for entry in describe(portfolio.path)["learned"]["leaderboard_"]:
        (line,) = [one for one in shown.out.splitlines() if f" {entry['candidate']} " in one]
        assert f"{entry['pu_auc']:.3f} ± {entry['standard_error']:.3f}" in line
        assert (f"{entry['weight']:.2f}" if entry["weight"] else "left out") in line


def test_settings_of_the_portfolio_can_be_typed():
    words = ["candidates=trees, logistic-0.1", "n_jobs=2", "time_limit=30"]
    made = make_classifier("auto", words, 0, defaults={}, set_otherwise={})
    assert made.candidates == ["trees", "logistic-0.1"]
    assert (made.n_jobs, made.time_limit) == (2, 30)
    for text in ("candidates=trees", "candidates=['trees']"):
        made = make_classifier("auto", [text], 0, defaults={}, set_otherwise={})
        assert made.candidates == ["trees"]


def test_a_candidate_that_fails_is_a_warning_and_the_others_are_fitted(work, out, monkeypatch):
    monkeypatch.setattr(METHODS["pnu"], "_fit", fail)
    result = fit(work, out, "--json", settings=["--set", "candidates=trees,pnu"])
    assert result.code == 0
    assert result.err == "mixpul: warning: Candidate 'pnu' is left out: ValueError: no luck\n"
    told = json.loads(result.out)
    assert [entry["candidate"] for entry in told["leaderboard"]] == ["trees"]
    assert told["warnings"] == ["Candidate 'pnu' is left out: ValueError: no luck"]


def test_if_every_candidate_fails_it_is_one_sentence(work, out, monkeypatch):
    monkeypatch.setattr(METHODS["pnu"], "_fit", fail)
    result = fit(work, out, settings=["--set", "candidates=pnu"])
    assert result.code == 2
    assert "None of the candidates could be fitted (pnu)" in result.err
    assert "Traceback" not in result.err
    assert not out.exists()


def test_a_terminal_shows_a_bar_for_each_candidate(work, out, monkeypatch):
    monkeypatch.setattr("mixpul.cli._results.choose_verbosity", lambda: 1)
    cheap = ["--set", "candidates=logistic-0.1,vpu"]
    with monkeypatch.context() as patch:
        brief = CANDIDATES["vpu"]._replace(model=VPUClassifier(n_epochs=2, net=(8,)))
        patch.setitem(CANDIDATES, "vpu", brief)
        result = fit(work, out, settings=cheap)
    assert result.code == 0, result.err
    assert "VPU" in result.err
    assert describe(out)["params"]["verbose"] == 0


# -- predict --------------------------------------------------------------------------------


def test_fit_and_predict_in_other_processes_equal_the_python_api(work, tmp_path):
    model, scores = tmp_path / "model.mixpul", tmp_path / "scores.parquet"
    words = ["--label", "bought", "--id", "customer", *MIXPUL, "-o", model]
    assert typed("fit", work / "leads.csv", *words).returncode == 0
    assert typed("predict", model, work / "new.csv", "-o", scores).returncode == 0
    table, new = read_table(work / "leads.csv"), read_table(work / "new.csv")
    pipeline = make_pipeline(
        TableInput(drop=["customer"]), MixPULClassifier(**CHEAP, random_state=0)
    ).fit(table.drop(columns="bought"), table["bought"])
    found = read_table(scores)
    np.testing.assert_array_equal(found["score"], pipeline.predict_proba(new)[:, 1])
    np.testing.assert_array_equal(found["predicted"], pipeline.predict(new) == 1)
    assert found["customer"].tolist() == new["customer"].tolist()
    assert model.read_bytes() == (work / "model.mixpul").read_bytes()


@pytest.mark.parametrize(
    "threshold",
    ["0.25", "0.5", "prior", "f1", "recall=0.9", "recall=0.5", "recall>=0.9", "recall >= 0.5"],
)
def test_the_cut_is_a_number_or_comes_from_the_curve_of_the_fit(work, tmp_path, threshold):
    scores = tmp_path / "scores.csv"
    result = run(
        "predict", work / "model.mixpul", work / "new.csv", "-o", scores,
        "--threshold", threshold, "--json",
    )  # fmt: skip
    told = json.loads(result.out)
    found = read_table(scores)
    assert told["rows"] == len(found) == 700
    assert told["flagged"] == found["predicted"].sum() == (found["score"] > told["threshold"]).sum()
    curve = describe(work / "model.mixpul")["info"]["thresholds"]
    if threshold in curve["suggested"]:
        assert told["threshold"] == curve["suggested"][threshold]
    elif threshold == "0.25":
        assert told["threshold"] == 0.25
    elif threshold == "recall >= 0.5":
        # 43 positives: the 15th lowest promises a half.
        scores = np.array(curve["lowest"]["score"])
        assert (scores <= told["threshold"]).sum() == find_recall_depth(43, 0.5) - 1 == 15
    else:
        wanted = float(threshold.removeprefix("recall="))
        k = curve["threshold"].index(told["threshold"])
        assert curve["recall"][k] >= wanted
        higher = np.array(curve["threshold"]) > told["threshold"]
        assert np.array(curve["recall"])[higher].max() < wanted


def test_every_threshold_that_is_printed_can_be_typed(work, tmp_path):
    suggested = describe(work / "model.mixpul")["info"]["thresholds"]["suggested"]
    assert list(suggested) == ["0.5", "prior", "f1", "recall>=0.9"]
    for name, value in suggested.items():
        words = ["evaluate", work / "model.mixpul", work / "later.csv", "--json"]
        assert json.loads(run(*words, "--threshold", name).out)["threshold"] == value


def test_a_promise_that_43_positives_cannot_make_is_one_sentence(work, tmp_path):
    words = ["predict", work / "model.mixpul", work / "new.csv", "-o", tmp_path / "s.csv"]
    result = run(*words, "--threshold", "recall>=0.99")
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "from 299 labeled positives on; there are 43" in result.err
    assert not (tmp_path / "s.csv").exists()


def test_a_model_file_of_an_earlier_version_says_what_it_cannot_promise(work, tmp_path):
    info = describe(work / "model.mixpul")["info"]
    old = {"bbe": {"value": 0.3, "se": 0.1, "low": 0.2, "high": 0.4}, "used": 0.3, "from": "bbe"}
    info["assessment"]["prior"] = old
    del info["thresholds"]["lowest"]
    model = tmp_path / "old.mixpul"
    save(load(work / "model.mixpul"), model, info=info)
    words = ["predict", model, work / "new.csv", "-o", tmp_path / "s.csv", "--threshold"]
    result = run(*words, "recall>=0.9")
    assert result.code == 2
    assert "written before 'recall>=0.9' could be asked for; fit the model again" in result.err
    assert run(*words, "recall=0.9").code == 0
    assert run("inspect", model).code == 0


def test_with_a_prior_bounds_become_estimates(work, out):
    told = json.loads(
        fit(work, out, "--prior", "0.1", "--prior-interval", "0.05,0.15", "--json").out
    )
    prior = told["prior"]
    assert (prior["value"], prior["source"]) == (0.1, "given")
    assert (prior["low"], prior["high"]) == (0.05, 0.15)
    kinds = [
        told["corrected_auc"]["kind"],
        *(told["thresholds"][k]["kind"] for k in ("precision", "f1")),
    ]
    assert kinds == ["estimate"] * 3
    assert "given; the scores allow at most 0." in run("inspect", out).out


def test_a_prior_that_the_rows_rule_out_is_refused_before_the_fit(work, out):
    with mock.patch.object(MixPULClassifier, "fit", side_effect=AssertionError):
        result = fit(work, out, "--prior", "0.95")
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "speak against a class prior of 0.95: with 99.5 % confidence at most 0." in result.err
    assert result.out == ""
    assert not out.exists()


def test_a_prior_that_only_the_fit_rules_out_is_refused_with_the_limit(work, out, monkeypatch):
    # As where a simple method ranks badly: its scores allow any share.
    monkeypatch.setattr("mixpul.assess.preparing.largest_prior", lambda *scores, level: 1.0)
    result = fit(work, out, "--prior", "0.95")
    assert result.code == 2
    sentence = result.err.splitlines()[-1]
    assert "speak against a class prior of 0.95: with 95 % confidence at most 0." in sentence
    assert "is written, but without an assessment" in result.err


def test_standard_streams_are_csv(work):
    text = (work / "new.csv").read_bytes()
    result = typed("predict", work / "model.mixpul", "-", "-o", "-", "--id", "customer", input=text)
    assert result.returncode == 0
    found = pd.read_csv(io.BytesIO(result.stdout))
    assert list(found.columns) == ["customer", "score", "predicted"]
    assert len(found) == 700
    assert result.stderr.startswith(b"mixpul: 700 rows scored")


def test_a_reader_that_goes_away_is_no_reason_to_complain(work):
    with started("predict", work / "model.mixpul", "-", "-o", "-") as process:
        process.stdout.close()
        process.stdin.write((work / "new.csv").read_bytes())
        process.stdin.close()
        assert process.wait(60) == 1
        assert process.stderr.read() == b""


def test_columns_may_come_in_another_order_and_with_others(work, tmp_path):
    new = read_table(work / "new.csv")
    new.assign(more=1)[["height", "more", "city", "income"]].to_csv(tmp_path / "other.csv")
    for name in ("new", "other"):
        source = (work if name == "new" else tmp_path) / f"{name}.csv"
        run("predict", work / "model.mixpul", source, "-o", tmp_path / f"{name}-scores.csv")
    first, second = (read_table(tmp_path / f"{name}-scores.csv") for name in ("new", "other"))
    assert list(first.columns) == ["customer", "score", "predicted"]
    assert list(second.columns) == ["score", "predicted"]  # it has no customer
    assert first["score"].tolist() == second["score"].tolist()


def test_one_row_is_one_row(work, tmp_path):
    read_table(work / "new.csv")[:1].to_csv(tmp_path / "one.csv", index=False)
    result = run("predict", work / "model.mixpul", tmp_path / "one.csv", "-o", tmp_path / "s.csv")
    assert result.err.startswith("mixpul: 1 row scored")


def test_a_table_may_come_through_a_named_pipe(work, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=((work / "new.csv").read_bytes(),))
    writer.start()
    result = run("predict", work / "model.mixpul", pipe, "-o", tmp_path / "s.csv")
    writer.join()
    assert result.code == 0, result.err
    assert len(read_table(tmp_path / "s.csv")) == 700


def test_scores_in_a_tab_file_are_separated_by_tabs(work, tmp_path):
    scores = tmp_path / "scores.tab"
    assert run("predict", work / "model.mixpul", work / "new.csv", "-o", scores).code == 0
    first = scores.read_text().splitlines()[0]
    assert first.replace('"', "").split("\t") == ["customer", "score", "predicted"]
    assert len(read_table(scores)) == 700


def test_another_id_can_be_kept(work, tmp_path):
    run(
        "predict", work / "model.mixpul", work / "new.csv", "--id", "city", "-o", tmp_path / "s.csv"
    )
    assert list(read_table(tmp_path / "s.csv").columns) == ["city", "score", "predicted"]


def test_ids_keep_their_type(work, tmp_path):
    new = read_table(work / "new.csv")[:4]
    ids = {
        "big": ["9007199254740993", "7", "8", ""],
        "zeros": ["007", "8", "9", "10"],
        "day": ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"],
    }
    types = {"big": "int64", "zeros": "string", "day": "date32[day]"}
    for name, values in ids.items():
        table, scores = tmp_path / f"{name}.csv", tmp_path / f"{name}-scores"
        new.assign(**{name: values}).to_csv(table, index=False)
        for suffix in (".csv", ".parquet"):
            words = ["predict", work / "model.mixpul", table, "--id", name, "-o"]
            assert run(*words, f"{scores}{suffix}").code == 0
        lines = scores.with_suffix(".csv").read_text().splitlines()
        quotes = '"' if name == "zeros" else ""
        assert [line.split(",")[0] for line in lines[1:]] == [
            f"{quotes}{v}{quotes}" for v in values
        ]
        assert str(pq.read_schema(scores.with_suffix(".parquet")).field(name).type) == types[name]


def test_ids_of_typed_files_stay_what_they_are_also_if_the_model_uses_them(work, tmp_path):
    new = read_table(work / "new.csv").assign(key=np.arange(700) + 2**53 + 1)
    new.to_parquet(tmp_path / "new.parquet")
    run("predict", work / "model.mixpul", tmp_path / "new.parquet", "--id", "key", "-o",
        tmp_path / "s.csv")  # fmt: skip
    assert read_table(tmp_path / "s.csv")["key"].tolist() == new["key"].tolist()
    run("predict", work / "model.mixpul", work / "new.csv", "--id", "height", "-o",
        tmp_path / "h.csv")  # fmt: skip
    heights = (tmp_path / "h.csv").read_text().splitlines()[1:]
    expected = [line.split(",")[3] for line in (work / "new.csv").read_text().splitlines()[1:]]
    assert [line.split(",")[0].strip('"') for line in heights] == expected


def test_ids_that_a_spreadsheet_would_run_are_disarmed_in_csv_files_only(work, tmp_path):
    new = read_table(work / "new.csv")[:3]
    new.assign(customer=["=1+1", "-7", "fine"]).to_csv(tmp_path / "t.csv", index=False)
    for suffix in (".csv", ".parquet"):
        result = run("predict", work / "model.mixpul", tmp_path / "t.csv", "-o",
                     tmp_path / f"s{suffix}")  # fmt: skip
        assert ("begin like a formula" in result.err) == (suffix == ".csv")
    assert read_table(tmp_path / "s.csv")["customer"].tolist() == ["'=1+1", "-7", "fine"]
    assert read_table(tmp_path / "s.parquet")["customer"].tolist() == ["=1+1", "-7", "fine"]


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.binary()],
    ids=str,
)
def test_they_are_disarmed_whatever_the_type_of_text(tmp_path, kind):
    """Of a Parquet file of pandas, text is of another type than of a CSV file."""
    ids = pa.array(["=1+1", None, "fine"]).cast(kind)
    batches = pa.table({"customer": ids, "score": [0.5, 0.25, 0.0]}).to_batches()
    with pytest.warns(UserWarning, match="begin like a formula"):
        write_table(batches, tmp_path / "s.csv")
    lines = (tmp_path / "s.csv").read_text().splitlines()
    assert [line.split(",")[0].strip('"') for line in lines] == ["customer", "'=1+1", "", "fine"]


def test_the_table_of_the_fit_gets_honest_scores(work, tmp_path):
    words = ["predict", work / "model.mixpul", work / "leads.csv", "-o"]
    flattering = run(*words, tmp_path / "a.csv")
    assert "--out-of-fold writes the honest ones" in flattering.err
    honest = run(*words, tmp_path / "b.csv", "--out-of-fold", "--json")
    assert honest.code == 0, honest.err
    scores = read_table(tmp_path / "b.csv")
    np.testing.assert_allclose(scores["score"], read_scores(work / "model.mixpul"), rtol=1e-5)
    assert scores["customer"].tolist() == read_table(work / "leads.csv")["customer"].tolist()
    assert not np.allclose(scores["score"], read_table(tmp_path / "a.csv")["score"])
    words = ["predict", work / "model.mixpul", work / "new.csv", "--out-of-fold"]
    refused = run(*words, "-o", tmp_path / "c.csv")
    assert refused.code == 2
    assert "not the table that the model was fitted on" in refused.err
    assert not (tmp_path / "c.csv").exists()


# -- evaluate, prior, inspect, compare ------------------------------------------------------


def test_evaluate_gives_the_metrics_of_the_library_and_those_of_the_truth(work):
    words = ["evaluate", work / "model.mixpul", work / "later.csv", "--prior", "0.2"]
    told = json.loads(run(*words, "--label", "bought", "--truth", "interested", "--json").out)
    table = read_table(work / "later.csv")
    is_positive = table["bought"].to_numpy() == 1
    scores = load(work / "model.mixpul").predict_proba(table)[:, 1]
    expected = pu_report(is_positive, scores, threshold=0.5, prior=0.2)
    assert told["metrics"].keys() == expected["metrics"].keys()
    for name, entry in told["metrics"].items():
        # Those of the fit's own page mark what they are.
        if "kind" not in entry:
            assert entry == expected["metrics"][name]
        assert entry["value"] == pytest.approx(expected["metrics"][name]["value"])
    assert told["prior"]["source"] == "given"
    hidden = table["interested"].to_numpy()[~is_positive]
    left = scores[~is_positive]
    assert told["truth"]["corrected_auc"] == pytest.approx(metrics.roc_auc_score(hidden, left))
    assert told["truth"]["f1"] == pytest.approx(metrics.f1_score(hidden, left > 0.5))
    assert told["truth"]["prior"] == pytest.approx(hidden.mean())


def test_evaluate_without_a_prior_shows_limits(work):
    result = run("evaluate", work / "model.mixpul", work / "later.csv", "--truth", "interested")
    assert result.code == 0
    for words in ("from PU labels", "from the truth", "precision", "at most", "With --prior"):
        assert words in result.out
    assert "Matthews correlation" not in result.out
    told = json.loads(run("evaluate", work / "model.mixpul", work / "later.csv", "--json").out)
    assert told["metrics"]["precision"]["kind"] == told["metrics"]["f1"]["kind"] == "at most"
    assert told["prior"]["source"] == "estimated"
    assert told["metrics"]["corrected_auc"]["value"] <= 1


def test_evaluate_warns_about_the_table_of_the_fit(work):
    result = run("evaluate", work / "model.mixpul", work / "leads.csv", "--json")
    assert "fitted on this very table" in result.err
    assert "fitted on this very table" in json.loads(result.out)["warnings"][-1]


def test_evaluate_warns_about_rows_of_the_fit_in_another_file(work, tmp_path):
    words = ["--label", "bought", "--id", "customer", "--method", "bagging"]
    fitted = run("fit", work / "leads.csv", *words, "-o", tmp_path / "trees.mixpul")
    assert fitted.code == 0, fitted.err
    read_table(work / "leads.csv").assign(more=1).to_csv(tmp_path / "again.csv", index=False)
    told = run("evaluate", tmp_path / "trees.mixpul", tmp_path / "again.csv")
    assert "rank far better here" in told.err
    told = run("evaluate", tmp_path / "trees.mixpul", work / "later.csv")
    assert "rank far better here" not in told.err


@pytest.fixture
def audited(work, tmp_path):
    """A table of which some rows were looked into."""

    def made(change):
        table = read_table(work / "later.csv")
        table["truth"] = np.where(table.pop("interested") == 1, "good", "poor")
        change(table)
        table.to_csv(tmp_path / "audited.csv", index=False)
        words = ["evaluate", work / "model.mixpul", tmp_path / "audited.csv"]
        return [*words, "--truth", "truth", "--truth-positive", "good"], table

    return made


@pytest.mark.parametrize("more", [[], ["--truth-positive", "1"]])
def test_the_truth_of_some_rows_may_be_written_with_decimals(work, tmp_path, more):
    table = read_table(work / "later.csv")
    table.loc[::3, "interested"] = np.nan  # makes 1 and 0 of the others 1.0 and 0.0
    table.drop(columns="bought").to_csv(tmp_path / "test.csv", index=False)
    words = ["evaluate", work / "model.mixpul", tmp_path / "test.csv", "--truth", "interested"]
    result = run(*words, *more, "--json")
    assert result.code == 0, result.err
    told = json.loads(result.out)["truth"]
    assert told["n_positive"] == table["interested"].sum()
    assert told["n_unknown"] == table["interested"].isna().sum()


def test_the_truth_may_be_known_of_some_rows_only(audited):
    def forget(table):
        table.loc[table.index % 3 > 0, "truth"] = np.nan

    words, table = audited(forget)
    truth = json.loads(run(*words, "--json").out)["truth"]
    judged = (table["truth"].notna() & (table["bought"] == 0)).to_numpy()
    assert truth["n_rows"] == judged.sum()
    assert truth["prior"] == pytest.approx((table["truth"][judged] == "good").mean())
    assert f"The truth is known of {judged.sum()} of the unlabeled rows" in run(*words).out


def test_what_the_truth_does_not_define_is_left_open(audited):
    def all_poor(table):
        table.loc[table["bought"] == 0, "truth"] = "poor"

    truth = json.loads(run(*audited(all_poor)[0], "--json").out)["truth"]
    assert truth["recall"] is truth["f1"] is truth["corrected_auc"] is None
    assert truth["precision"] == 0
    assert truth["flagged_share"] == pytest.approx(1 - truth["accuracy"])


def test_labels_that_the_truth_contradicts_are_counted(audited):
    def slip(table):
        table.loc[table.index[table["bought"] == 1][:3], "truth"] = "poor"

    result = run(*audited(slip)[0], "--json")
    assert "3 of the labeled positives are negative by the truth" in result.err
    assert "3 of the labeled positives" in json.loads(result.out)["warnings"][-1]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", "b", "c"], "'a' and 'b' and 'c', but the positive one was said to be 'good'"),
        (["a", "b"], "'a' and 'b', but the positive one was said to be 'good'"),
        ([None], "The truth column 'truth' has 0 values"),
    ],
)
def test_a_bad_truth_is_refused_as_such(audited, values, words):
    def spoil(table):
        table["truth"] = [values[k % len(values)] for k in range(len(table))]

    result = run(*audited(spoil)[0])
    assert result.code == 2
    assert words in result.err
    assert "--missing-is-unlabeled" not in result.err


def test_a_plainly_labeled_test_table_is_judged_by_its_truth_alone(work, tmp_path):
    table = read_table(work / "later.csv").drop(columns="bought")
    table["interested"] = table["interested"].astype(object)
    table.loc[table.index % 4 == 0, "interested"] = np.nan
    table.to_csv(tmp_path / "test.csv", index=False)
    words = ["evaluate", work / "model.mixpul", tmp_path / "test.csv", "--truth", "interested"]
    told = json.loads(run(*words, "--json").out)
    known = table["interested"].notna().to_numpy()
    scores = load(work / "model.mixpul").predict_proba(table)[:, 1]
    expected = metrics.roc_auc_score(table["interested"][known].astype(int), scores[known])
    assert told["truth"]["corrected_auc"] == pytest.approx(expected)
    assert (told["truth"]["n_rows"], told["truth"]["n_unknown"]) == (known.sum(), (~known).sum())
    shown = run(*words).out
    assert f"The truth of {(~known).sum()} rows is missing; they are left out." in shown
    assert "from PU labels" not in shown


def test_the_label_column_of_the_fit_may_be_the_truth_of_a_test_table(work):
    words = ["evaluate", work / "model.mixpul", work / "later.csv", "--truth", "bought", "--json"]
    told = json.loads(run(*words).out)
    assert told["truth"]["n_rows"] == told["n_rows"] == len(read_table(work / "later.csv"))


@pytest.mark.parametrize("command", ["fit", "compare", "prior"])
def test_of_three_label_values_one_can_be_named(tmp_path, command):
    (tmp_path / "t.csv").write_text(table_of(*["won", "lost", "open", "open"] * 30))
    more = {
        "fit": [*MIXPUL, "-o", tmp_path / "m"],
        "compare": ["--methods", "upu", "--folds", "2", "-o", tmp_path / "c"],
        "prior": ["--estimators", "elkan-noto"],
    }[command]
    words = [command, tmp_path / "t.csv", "--label", "bought", *more]
    refused = run(*words)
    assert refused.code == 2
    assert "say which one means labeled positive with positive= (--positive)" in refused.err
    result = run(*words, "--positive", "won")
    assert result.code == 0, result.err
    assert "rows with 'lost', 'open' count as unlabeled" in result.err
    if command == "fit":
        judged = run("evaluate", tmp_path / "m", tmp_path / "t.csv", "--json")
        assert json.loads(judged.out)["n_positive"] == 30


def test_evaluate_remembers_what_a_missing_label_means(tmp_path):
    (tmp_path / "leads.csv").write_text(table_of(*["1", "", ""] * 30))
    assert fit(tmp_path, "m", "--missing-is-unlabeled").code == 0
    assert run("evaluate", tmp_path / "m", tmp_path / "leads.csv").code == 0


def test_prior_asks_the_estimators_and_says_whether_they_agree(work):
    words = ["prior", work / "leads.csv", "--label", "bought", "--id", "customer"]
    told = json.loads(run(*words, "--estimators", "bbe,elkan-noto", "--json").out)
    assert list(told["estimates"]) == ["bbe", "elkan-noto"]
    for estimate in told["estimates"].values():
        assert estimate["low"] <= estimate["value"] <= estimate["high"]
    assert told["agree"] in (True, False)
    assert 0 < told["upper"] <= 1
    shown = run(*words, "--estimators", "bbe")
    assert "Two estimates are needed" in shown.out


def test_agreement():
    def of(*values):
        return judge_agreement({str(v): v for v in values})

    agree, text = of(0.2, 0.25, 0.3)
    assert agree is True
    assert text.startswith("They agree: from 0.2 (0.2) to 0.3 (0.3). All may be too high together")
    assert of(0.01, 0.05)[0] is True
    agree, text = of(0.1, 0.2, 0.6)
    assert agree is False
    assert "the middle is 0.2" in text


def test_inspect_shows_what_is_in_the_file(work):
    shown = run("inspect", work / "model.mixpul")
    for words in ("MixPULClassifier", "'bought' is 1", "seed 0", "left out as asked", "n_epochs=2"):
        assert words in shown.out
    told = json.loads(run("inspect", work / "model.mixpul", "--json").out)
    assert told == describe(work / "model.mixpul")
    assert told["info"]["versions"].keys() == {"mixpul", "python", "torch", "scikit-learn"}


def test_compare_ranks_recommends_and_goes_on_where_it_stopped(work, out, monkeypatch):
    monkeypatch.setitem(
        METHODS, "mixpul", lambda random_state: MixPULClassifier(**CHEAP, random_state=random_state)
    )
    words = ["compare", work / "leads.csv", "--label", "bought", "--id", "customer", "-o", out]
    words += ["--methods", "mixpul,pnu", "--folds", "2"]
    told = json.loads(run(*words, "--json").out)
    assert {entry["method"] for entry in told["methods"]} == {"mixpul", "pnu"}
    assert json.loads((out / "comparison.json").read_text()) == told
    assert told["recommended"] in (out / "comparison.html").read_text()
    monkeypatch.setattr(MixPULClassifier, "fit", lambda *args: pytest.fail("fitted again"))
    shown = run(*words)
    assert shown.code == 0
    assert f"Next: mixpul fit {work / 'leads.csv'} --label bought --id customer" in shown.out
    assert f"--method {told['recommended']}" in shown.out


def test_the_next_command_says_of_the_table_what_this_one_said():
    options = TableOptions(
        label="state", positive="sold", missing_is_unlabeled=True, id_column=None,
        drop=["a", "b, c"], keep=[], categorical=[],
    )  # fmt: skip
    reading = Reading(delimiter=";", encoding=None, missing=["?", "-"])
    assert _repeat_options(options, reading) == [
        "--label", "state", "--positive", "sold", "--missing-is-unlabeled", "--drop", 'a,"b, c"',
        "--delimiter", ";", "--missing", "?", "--missing", "-",
    ]  # fmt: skip


def test_if_every_method_fails_compare_does_too(work, out, monkeypatch):
    def fails(*args):
        raise RuntimeError("no luck")

    monkeypatch.setattr(METHODS["pnu"], "_fit", fails)
    words = ["compare", work / "leads.csv", "--label", "bought", "--methods", "pnu", "-o", out]
    result = run(*words)
    assert result.code == 1
    assert "pnu failed: RuntimeError: no luck" in result.out


# -- bad input ------------------------------------------------------------------------------

HEAD = "customer,income,city,height,bought\n"
ROW = "c1,1.5,Oslo,0.3,"


def table_of(*labels):
    return HEAD + "".join(
        f"c{i},{i % 7}.5,Oslo,{i % 5},{label}\n" for i, label in enumerate(labels)
    )


BAD_TABLES = {
    "empty": ("", "is empty"),
    "no rows": (HEAD, "has no rows"),
    "no header": ("1,2,3\n4,5,6\n", "has no header"),
    "ragged": (HEAD + ROW + "1\n" + ROW + "1,2,3\n", "cells where the header has 5"),
    "encoding": (HEAD.encode() + b"c1,1,Malm\xc3\xb6 \xf6,2,1\n", "is not written in utf-8"),
    "no label": (table_of(1, 0).replace("bought", "bougth"), "did you mean 'bougth'"),
    "one value": (table_of(*[0] * 30), "is 0 in all 30 rows"),
    "all positive": (table_of(*[1] * 30), "is 1 in all 30 rows"),
    "three values": (table_of(*[0, 1, 2] * 10), "has 3 values"),
    "labels missing": (table_of(*["1", "0", ""] * 30), "is missing in 30 of 90 rows"),
    "twice the same name": (table_of(1, 0).replace("city", "income"), "column names must differ"),
    "one positive": (table_of(1, *[0] * 50), "at least 2 labeled positives"),
}


@pytest.mark.parametrize("what", BAD_TABLES)
@pytest.mark.parametrize("command", ["fit", "compare", "prior"])
def test_a_bad_table_is_one_sentence_and_leaves_nothing_behind(command, what, tmp_path):
    content, words = BAD_TABLES[what]
    table = tmp_path / "table.csv"
    table.write_bytes(content if isinstance(content, bytes) else content.encode())
    more = {"fit": ["-o", tmp_path / "m"], "compare": ["-o", tmp_path / "m"], "prior": []}[command]
    result = run(command, table, "--label", "bought", "--json", *more)
    assert result.code == 2
    assert result.out == ""
    sentences = [line for line in result.err.splitlines() if "warning:" not in line]
    assert len(sentences) == 1
    if not (what == "one positive" and command == "prior"):  # each estimator has its own needs
        assert words in sentences[0]
    assert [path.name for path in tmp_path.iterdir()] in (
        ["table.csv"],
        ["m", "table.csv"],
        ["table.csv", "m"],
    )
    assert not (tmp_path / "m").is_file()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "inspect"])
def test_a_missing_table_is_named_with_its_neighbour(work, out, command):
    words = [work / "model.mixpul"] * (command in ("predict", "evaluate")) + [work / "leeds.csv"]
    words += ["--label", "bought"] * (command != "predict")
    words += ["-o", out.with_suffix(".csv")] * (command in ("fit", "compare", "predict"))
    result = run(command, *words)
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "leeds.csv'; did you mean 'leads.csv'?" in result.err


def test_missing_labels_can_mean_unlabeled(tmp_path):
    (tmp_path / "leads.csv").write_text(table_of(*["1", "", ""] * 30))
    assert fit(tmp_path, "m", "--missing-is-unlabeled").code == 0
    assert describe(tmp_path / "m")["info"]["missing_is_unlabeled"] is True


def test_labels_coded_1_and_2_have_to_be_explained(tmp_path):
    (tmp_path / "leads.csv").write_text(table_of(*[2, 1, 1] * 30))
    refused = fit(tmp_path, "m")
    assert refused.code == 2
    assert_one_sentence(refused.err)
    assert "--positive" in refused.err
    assert not (tmp_path / "m").exists()
    assert fit(tmp_path, "m", "--positive", "1").code == 0
    assert describe(tmp_path / "m")["info"]["positive"] == 1
    # What was said at the fit need not be said again.
    assert run("evaluate", tmp_path / "m", tmp_path / "leads.csv").code == 0


def test_a_boolean_column_with_gaps_is_learned_from_and_shown(tmp_path):
    table, bought = made_table(seed=3)
    table["member"] = np.where(table["income"] > 0, "True", "False")
    table.loc[::9, "member"] = ""
    table.assign(bought=bought.astype(int)).to_csv(tmp_path / "leads.csv", index=False)
    result = fit(tmp_path, tmp_path / "m", "--report", tmp_path / "page.html")
    assert result.code == 0, result.err
    kinds = {
        entry["column"]: entry["kind"] for entry in describe(tmp_path / "m")["table"]["report"]
    }
    assert kinds["member"] == "boolean"


def test_five_positives_are_fitted_with_a_warning(work, out, tmp_path):
    table = read_table(work / "leads.csv")
    rows = np.concatenate(
        [np.flatnonzero(table["bought"] == 0), np.flatnonzero(table["bought"])[:5]]
    )
    table.iloc[rows].to_csv(tmp_path / "leads.csv", index=False)
    result = fit(tmp_path, out, "--json")
    assert result.code == 0
    assert "mixpul: warning: " in result.err
    told = json.loads(result.out)
    assert told["checks"][0]["verdict"] == "bad"
    assert any("5 labeled positives" in sentence for sentence in told["warnings"])


def test_a_column_missing_at_predict_is_named(work, tmp_path):
    new = read_table(work / "new.csv").drop(columns="income")
    new.to_csv(tmp_path / "new.csv", index=False)
    scores = tmp_path / "scores.csv"
    result = run("predict", work / "model.mixpul", tmp_path / "new.csv", "-o", scores)
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "'income'" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect"])
def test_a_model_file_that_is_none_is_refused(work, tmp_path, command):
    words = {"predict": [work / "new.csv", "-o", tmp_path / "s.csv"], "inspect": []}
    result = run(command, work / "new.csv", *words.get(command, [work / "later.csv"]))
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "not a mixpul model file" in result.err


def test_probabilities_are_written_by_the_given_prior_or_as_upper_bounds(work, tmp_path):
    model, new = work / "model.mixpul", work / "new.csv"
    result = run(
        "predict", model, new, "-o", tmp_path / "s.csv", "--probability", "--prior", "0.05"
    )
    assert result.code == 0, result.err
    assert "upper bounds" not in result.err
    written = read_table(tmp_path / "s.csv")
    expected = load(model).predict_proba(read_table(new), calibrated=True, prior=0.05)[:, 1]
    np.testing.assert_allclose(written["probability"], expected, rtol=1e-5, atol=1e-7)
    plain = run("predict", model, new, "-o", tmp_path / "p.csv", "--probability")
    assert plain.code == 0
    assert plain.err.count("take the probabilities as upper bounds") == 1
    assert "probability" not in read_table_after("predict", model, new, "-o", tmp_path / "q.csv")


def read_table_after(*arguments):
    assert run(*arguments).code == 0
    return read_table(arguments[-1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--prior", "0.05"], "--probability"),
        (["--probability", "--prior", "5"], "above 0 and below 1"),
    ],
)
def test_a_prior_without_probabilities_or_out_of_range_is_refused(work, tmp_path, options, words):
    result = run(
        "predict", work / "model.mixpul", work / "new.csv", "-o", tmp_path / "s.csv", *options
    )
    assert result.code != 0
    assert words in " ".join(result.err.split())
    assert not (tmp_path / "s.csv").exists()


def test_a_model_without_a_table_is_refused_by_predict(work, tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    save(MixPULClassifier(**CHEAP).fit(rows, rows[:, 0] > 0.5), tmp_path / "bare.mixpul")
    result = run("predict", tmp_path / "bare.mixpul", work / "new.csv", "-o", tmp_path / "s.csv")
    assert result.code == 2
    assert "takes rows of numbers, not tables" in result.err


def test_a_model_saved_in_python_has_no_curve_to_cut_by(work, tmp_path):
    save(load(work / "model.mixpul"), tmp_path / "m.mixpul")
    words = ["predict", tmp_path / "m.mixpul", work / "new.csv", "-o", tmp_path / "s.csv"]
    assert "has no curve" in run(*words, "--threshold", "prior").err
    assert run(*words, "--threshold", "0.5").code == 0
    result = run("evaluate", tmp_path / "m.mixpul", work / "later.csv")
    assert result.code == 2
    assert "--label" in result.err


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["--set", "n_epochs"], "NAME=VALUE"),
        (["--method", "mixpul", "--set", "epochs=3"], "did you mean n_epochs?"),
        (["--method", "mixpul", "--set", "n_epochs=-3"], "n_epochs"),
        (["--set", "candidates=trees,leaves"], "There is no candidate 'leaves'"),
        (["--set", "n_epochs=3"], "There is no setting 'n_epochs'"),
        (["--set", "random_state=3"], "--seed"),
        (["--method", "mixup"], "mixup"),
        (["--seed", "no"], "--seed"),
        (["--id", "bought"], "--id names 'bought', the label column"),
        (["--drop", "city,bought"], "--drop names 'bought', the label column"),
        (["--report", "{out}"], "same file"),
        (["--prior", "1.5"], "between 0 and 1"),
        (["--prior-interval", "0.6,0.3"], "such as 0.03,0.06"),
        (["--prior-interval", "3 to 6"], "such as 0.03,0.06"),
    ],
)
def test_usage_errors_of_fit_have_exit_code_two_before_any_work(
    work, out, monkeypatch, words, culprit
):
    monkeypatch.setattr(_inputs, "read_table", lambda *args: pytest.fail("it began"))
    monkeypatch.setenv("COLUMNS", "200")
    words = [word.format(out=out) for word in words]
    result = run("fit", work / "leads.csv", "--label", "bought", "-o", out, *words)
    assert result.code == 2
    assert culprit in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "{model}", "{new}", "-o", "s.csv", "--threshold", "recall"],
        ["predict", "{model}", "{new}", "-o", "s.csv", "--threshold", "recall=2"],
        ["predict", "{model}", "{new}", "-o", "s.csv", "--threshold", "7"],
        ["predict", "{model}", "{new}", "-o", "s.csv", "--threshold", "recall>=1"],
        ["predict", "{model}", "{new}", "-o", "s.csv", "--threshold", "recall>0.9"],
        ["predict", "{model}", "{new}", "-o", "s.csv", "--threshold", "f2"],
        ["predict", "{model}", "{new}", "-o", "-", "--json"],
        ["predict", "{model}", "{new}"],
        ["prior", "{new}", "--label", "city", "--estimators", "guess"],
        ["prior", "{new}", "--label", "city", "--estimators", ","],
        ["compare", "{new}", "--label", "city", "--methods", "", "-o", "f"],
        ["evaluate", "{model}", "{new}", "--prior", "2"],
        ["compare", "{new}", "--label", "city", "--methods", "mixpul,guess", "-o", "f"],
        ["fit", "{new}"],
    ],
)
def test_other_usage_errors(work, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    names = {"model": work / "model.mixpul", "new": work / "new.csv"}
    result = run(*[word.format(**names) for word in words])
    assert result.code == 2
    assert result.out == ""
    assert list(tmp_path.iterdir()) == []


# -- outputs --------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["-o", "--report"])
def test_an_output_that_exists_is_refused_before_any_work(work, tmp_path, monkeypatch, which):
    old = tmp_path / "old"
    old.write_text("precious")
    paths = {"-o": tmp_path / "m", "--report": tmp_path / "p.html"} | {which: old}
    words = ["fit", work / "leads.csv", "--label", "bought", *MIXPUL]
    words += [word for pair in paths.items() for word in pair]
    with monkeypatch.context() as patch:
        patch.setattr(_inputs, "read_table", lambda *args: pytest.fail("the work began"))
        result = run(*words)
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "exists; pass --force" in result.err
    assert old.read_text() == "precious"
    assert run(*words, "--force").code == 0
    assert old.read_bytes() != b"precious"


def test_scores_that_exist_are_refused_without_force(work, tmp_path):
    scores = tmp_path / "s.csv"
    words = ["predict", work / "model.mixpul", work / "new.csv", "-o", scores]
    assert run(*words).code == 0
    assert "pass --force" in run(*words).err
    assert run(*words, "--force").code == 0


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("{out}/no/m", "There is no folder"),
        ("{work}", "a folder or a device"),
        ("/dev/null", "a folder or a device"),
        ("{work}/leads.csv", "is an input of this command"),
    ],
)
def test_outputs_that_cannot_be_written_are_refused_even_with_force(work, out, path, words):
    path = path.format(out=out, work=work)
    result = run("fit", work / "leads.csv", "--label", "bought", "-o", path, "--force")
    assert result.code == 2
    assert_one_sentence(result.err)
    assert words in result.err


@pytest.mark.parametrize(
    ("path", "words"), [("{out}/no/m", "no folder"), ("{work}/new.csv", "is a file")]
)
def test_a_folder_that_cannot_be_made_is_refused(work, out, path, words):
    path = path.format(out=out, work=work)
    result = run("compare", work / "leads.csv", "--label", "bought", "-o", path)
    assert result.code == 2
    assert words in result.err


@contextmanager
def limited_files(n_bytes):
    """No file may grow beyond `n_bytes`, as if the disk were full by then."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_full_disk_leaves_nothing_behind(work, tmp_path, command):
    target = tmp_path / "out.csv"
    words = {
        "fit": ["fit", work / "leads.csv", "--label", "bought", *MIXPUL, "-o", target],
        "predict": ["predict", work / "model.mixpul", work / "new.csv", "-o", target],
    }[command]
    with limited_files(4096):
        result = run(*words)
    assert result.code == 1
    assert_one_sentence(result.err)
    assert "was not written: File too large" in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_does_not_fit_leaves_the_model(work, tmp_path):
    model = tmp_path / "m"
    with limited_files(2 * (work / "model.mixpul").stat().st_size):
        result = fit(work, model, "--report", tmp_path / "page.html")
    assert result.code == 1
    assert_one_sentence(result.err)
    assert f"The model {str(model)!r} is; make room" in result.err
    assert list(tmp_path.iterdir()) == [model]


def test_a_comparison_that_does_not_fit_can_go_on(work, out):
    words = ["compare", work / "leads.csv", "--label", "bought", "--methods", "pnu", "-o", out]
    with limited_files(4096):
        result = run(*words, "--folds", "2")
    assert result.code == 1
    assert_one_sentence(result.err)
    assert "Make room. The same command goes on" in result.err
    assert list(out.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["predict", "inspect"])
def test_a_standard_output_that_is_full_is_named(work, command):
    words = {"predict": [work / "new.csv", "-o", "-"], "inspect": []}[command]
    with open("/dev/full", "wb") as full:
        arguments = [sys.executable, "-m", "mixpul", command, work / "model.mixpul", *words]
        done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert_one_sentence(done.stderr.decode())
    assert b"Standard output" in done.stderr


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_stopped_in_the_middle_it_leaves_no_half_output(work, tmp_path, sent, code):
    target = tmp_path / "scores.csv"
    with started("predict", work / "model.mixpul", "-", "-o", target) as process:
        process.stdin.write((work / "new.csv").read_bytes())
        process.stdin.flush()
        until = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)  # the output is open; now it waits for more input
        process.send_signal(sent)
        assert process.wait(30) == code
        assert process.stderr.read() == b""
    assert not target.exists()
    if sent == signal.SIGINT:
        assert list(tmp_path.iterdir()) == []


def test_an_interrupted_comparison_says_that_it_can_go_on(work, out, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(assess, "compare", interrupted)
    result = run("compare", work / "leads.csv", "--label", "bought", "-o", out)
    assert result.code == 130
    assert "goes on where it stopped" in result.err


# -- the tutorial ---------------------------------------------------------------------------

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorials" / "your-own-table.md"
KINDS = ("python", "sh")


@pytest.mark.slow
def test_the_commands_of_the_tutorial_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    text = TUTORIAL.read_text(encoding="utf-8")
    data, commands = (re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S) for kind in KINDS)
    exec(compile(data[0], str(TUTORIAL), "exec"), {"__name__": "page"})
    # The commands are tested here, and all candidates elsewhere.
    monkeypatch.setattr(
        "mixpul.methods._candidates.CANDIDATES",
        {name: CANDIDATES[name] for name in ("trees", "logistic-0.1")},
    )
    for line in "".join(commands).splitlines():
        if "|" in line:
            done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
        else:  # seconds of imports less
            command, _, target = line.partition(" > ")
            result = run(*shlex.split(command)[1:])
            assert result.code == 0, f"{line}\n{result.err}"
            if target:
                Path(target).write_text(result.out)
    for command in COMMANDS:
        assert f"mixpul {command} " in "".join(commands)
    assert len(read_table("scores.parquet")) == 1000
    assert json.loads(Path("predict.json").read_text())["rows"] == 1000
    assert len(read_table("first.csv")) == 4
