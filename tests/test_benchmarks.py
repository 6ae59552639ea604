"""What the benchmarks say of a run is what its trials say; nothing is trained here."""

import importlib
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from mixpul.nets import EfficientNetLite0

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("peers")


@pytest.fixture
def speed(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("speed")


@pytest.fixture
def suite(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("suite")


def result(auc):
    return {"auc": auc, "accuracy": 0.5, "f1": 0.5, "seconds": 1.0, "setting": "defaults"}


def trials(**aucs):
    """One trial on each of two data sets; an AUC of None is a failure."""
    names = {"mixpul": "mixpul MixPUL", "prior": "mixpul nnPU (prior)", "peer": "pulearn bagging"}
    return [
        {
            "dataset": dataset,
            "c": 0.1,
            "seed": 0,
            "methods": {
                names[key]: {"failed": "ValueError: too few"} if auc is None else result(auc)
                for key, auc in zip(aucs, column, strict=True)
            },
        }
        for dataset, column in zip(("a", "b"), zip(*aucs.values(), strict=True), strict=True)
    ]


def test_a_prior_free_win_of_ours_is_said(peers):
    text = peers.write_report(trials(mixpul=(0.9, 0.8), prior=(0.7, 0.7), peer=(0.8, 0.8)))
    assert "a prior-free method of ours: mixpul MixPUL, 0.850. Best of the peers: pulearn" in text
    assert "| mixpul MixPUL | **0.850** |" in text


@pytest.mark.parametrize("winner", ["prior", "peer"])
def test_any_other_win_is_said_too(peers, winner):
    aucs = {"mixpul": (0.8, 0.8), "prior": (0.7, 0.7), "peer": (0.7, 0.7)} | {winner: (0.8, 0.9)}
    sentence = peers.write_verdict(peers.average_cells(trials(**aucs)))
    assert sentence.startswith("Best mean AUC, NOT a prior-free method of ours: ")
    assert "Best of ours without a prior: mixpul MixPUL, 0.800." in sentence


def test_a_failure_is_shown_and_has_no_mean(peers):
    failing = trials(mixpul=(0.8, 0.8), prior=(0.7, 0.7), peer=(0.9, None))
    for trial in failing:
        trial["methods"]["pulearn Elkan-Noto"] = result(0.6)
    text = peers.write_report(failing)
    assert "pulearn bagging failed on b, c = 0.1, seed 0: ValueError: too few" in text
    assert "pulearn bagging" not in peers.average_cells(failing)


def test_a_folder_of_something_else_is_not_cleared(peers, tmp_path):
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(SystemExit, match="delete it; give a new folder"):
        peers.build_environment(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_the_best_setting_on_pu_data_is_chosen(peers):
    s = np.repeat([1, 0], [30, 90])
    X = np.random.default_rng(0).normal(size=(120, 2)) + s[:, None]
    fails = LogisticRegression(C=-1.0)
    grid = {"fails": fails, "blind": DummyClassifier(), "sees": LogisticRegression()}
    assert peers.choose(grid, X, s, seed=0) == "sees"
    with pytest.raises(RuntimeError, match="no setting could be fitted"):
        peers.choose({"fails": fails, "fails too": fails}, X, s, seed=0)


def test_the_committed_results_can_be_shown(peers):
    kept = json.loads(peers.RESULTS.read_text())
    assert {t["dataset"] for t in kept["trials"]} == set(peers.DATASETS)
    assert "### Mean of all" in peers.write_report(kept["trials"])


def test_a_limit_that_is_passed_is_said(speed):
    unit = speed.Cost(wall=9.0, processor=4.0)
    assert speed.write_line("VPU", speed.Cost(30.0, 10.0), unit, 20.0) == (
        "| VPU | 30.0 | 10.0 | 2.50 | 20 s holds |"
    )
    assert "20 s DOES NOT HOLD" in speed.write_line("VPU", speed.Cost(30.0, 21.0), unit, 20.0)


def suite_records(**aucs):
    """Results of methods on one table with 12 and with 60 labeled positives."""
    return [
        {"dataset": "a", "method": method, "settings": {"n_positive": n}, "auc": auc,
         "seed": 0, "fit_seconds": 1.0}
        for method, values in aucs.items()
        for n, auc in zip((12, 60), values, strict=False)
    ]  # fmt: skip


def test_the_suite_compares_methods_on_the_splits_of_the_portfolio(suite):
    text = suite.summarise(suite_records(Auto=(0.6, 0.8), VPU=(0.7, 0.7)))
    assert "over 2 cells of 1 tables, 1 split each" in text
    assert "| Auto | 0.700 | 0.600 | 0.800 | – | 1.5 | 1 | 1.0 |" in text
    text = suite.summarise(suite_records(Auto=(0.6, 0.8), VPU=(0.7,)))
    assert "| VPU |" not in text
    assert "Not in the table: VPU, which has 1 of 2 splits." in text
    text = suite.summarise(suite_records(Auto=(0.6,), VPU=(0.7, 0.9)))
    assert "| VPU | 0.700 | 0.700 | – | – | 1.0 | 1 | 1.0 |" in text
    assert "no results yet" in suite.summarise([])


def test_the_suite_labels_at_most_half_of_the_positives_and_scales_by_training_rows(suite):
    generator = np.random.default_rng(0)
    y = (np.arange(300) < 90).astype(int)
    X = np.column_stack([generator.normal(5, 2, 300), np.exp(generator.normal(0, 3, 300))])
    split = suite.split_table(X, y, n_labeled=250, seed=0)
    assert len(split.pu.s) == 180
    assert split.pu.s.sum() == 27  # of 54
    np.testing.assert_allclose(split.pu.X.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(split.pu.X.std(axis=0), 1)
    # Without the logarithm one row would be further out than all the others together.
    assert np.abs(split.pu.X).max() < suite.HEAVY_TAIL
    assert len(split.X_test) == 120


def test_the_suite_compares_the_portfolios_own_figure_with_that_of_fresh_rows(suite):
    record = {"prior": 0.2, "auc": 0.9, "pu_auc": 0.84, "nested_pu_auc": 0.83}
    assert suite.expect_pu_auc(record) == pytest.approx(0.82)  # 0.8 * 0.9 + 0.1
    records = [record | {"settings": {"n_positive": 60}, "pu_auc": one} for one in (0.84, 0.86)]
    assert suite.summarise_optimism(records)[-1] == "| 60 | +0.0300 | 0.0100 | +0.0200 |"


@pytest.fixture
def trust(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("trust")


def claims(**intervals):
    return {name: [0.0, 1.0] for name in ("prior", "auc", "recall", "precision")} | intervals


def test_the_page_on_trust_shows_the_committed_results(trust):
    """If not: python benchmarks/trust.py --write"""
    assert trust.PAGE.read_text() == trust.fill_page()


@pytest.fixture
def negatives(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("negatives")


def test_the_page_on_verified_negatives_shows_the_committed_results(negatives):
    """If not: python benchmarks/negatives.py --write"""
    assert negatives.PAGE.read_text() == negatives.fill_page()


def test_a_loss_beyond_noise_is_listed_and_noise_is_not(negatives):
    changes = {"attr": (-0.03, -0.02, -0.01), "credit": (-0.03, 0.0, 0.0), "german": (-0.1, -0.1)}
    records = [
        {"method": "Bagging", "dataset": table, "aucs": {"0": 0.8, "audit-30": 0.8 + change}}
        for table, own in changes.items()
        for change in own
    ]
    # A mean of -.02 has a standard error of .0058, one of -.01 has .01; two splits are too few.
    assert negatives.list_losses(records).splitlines() == [
        "Falls by more than twice the standard error, in 1 of 2 cells:",
        "Bagging on attr, audit-30: -0.020 ± 0.006",
    ]


def test_both_are_the_positives_and_the_negatives_that_are_drawn_alone(negatives):
    y = np.repeat([1, 0], 20)
    pu = SimpleNamespace(y=y, s=np.where(np.arange(40) < 5, 1, 0))
    positive, negative = negatives.draw_known(pu, "both", 0)
    # Labeled positives are known already.
    assert sorted(positive) == list(range(5, 20))
    assert sorted(negative) == list(range(20, 40))
    for rows, kind in ((positive, "positives"), (negative, "negatives")):
        (alone,) = negatives.draw_known(pu, kind, 0)
        np.testing.assert_array_equal(rows, alone)


def test_the_page_on_probabilities_shows_the_committed_errors():
    errors: dict[tuple, list[float]] = {}
    lines = (BENCHMARKS / "results" / "calibration.jsonl").read_text().splitlines()
    for record in map(json.loads, lines):
        cell = (record["table"], record["labeled"], record["method"])
        errors.setdefault(cell, []).append(record["error"])
    above = {cell: own for cell, own in errors.items() if np.mean(own) > 0.05}
    page = (BENCHMARKS.parent / "docs/how-to/judge-without-negatives.md").read_text()
    text = " ".join(page.split())
    assert f"at most .05 in {len(errors) - len(above)} of {len(errors)} cells" in text
    for (table, *_), own in above.items():
        spread = np.std(own, ddof=1) / np.sqrt(len(own))
        assert table == "titanic"
        assert f"{np.mean(own):.3f} ± {spread:.3f}".replace("0.", ".") in text


def test_the_readme_shows_the_committed_errors_with_pretrained_features():
    lines = (BENCHMARKS / "results" / "pretrained.jsonl").read_text().splitlines()
    errors: dict[int, list[float]] = {}
    for record in map(json.loads, lines):
        # The features of today; earlier ones were of the last layer alone.
        if record.get("features") == EfficientNetLite0.n_features:
            errors.setdefault(record["labeled"], []).append(100 * record["error"])
    assert {n: len(own) for n, own in errors.items()} == {100: 3, 500: 3, 1000: 3}
    text = (BENCHMARKS.parent / "README.md").read_text(encoding="utf-8")
    for title, summarise in (
        ("MixPUL on features, mean", np.mean),
        ("standard deviation", np.std),
    ):
        cells = " | ".join(f"{summarise(errors[n]):.2f}" for n in sorted(errors))
        assert f"| {title} | {cells} |" in text


def test_what_must_hold_holds_in_the_committed_results(trust):
    at_random = [
        record for record in trust.read_results(trust.RESULTS, trust.TARGET)
        if record["settings"]["bias"] == 1
    ]  # fmt: skip
    assert len({record["dataset"] for record in at_random}) >= 8

    def read_cell(figure, route):
        cell = trust._write_cell(at_random, figure, route)
        share, width = re.match(r"(\d+) % \((.*)\)", cell).groups()
        return int(share), float(width)

    assert read_cell("prior", "without a prior")[0] >= 95
    assert read_cell("recall", "without a prior")[0] >= 90
    for figure in ("precision", "auc"):
        assert read_cell(figure, "with the prior")[0] >= 90
    for n, width in ((60, 0.20), (200, 0.12)):
        assert read_cell("prior", f"{n} verdicts") >= (90, 0.0)
        assert read_cell("prior", f"{n} verdicts")[1] <= width
        assert read_cell("precision", f"{n} verdicts")[0] >= 90


def test_a_claim_holds_if_the_truth_is_inside_it(trust):
    truth = {"prior": 0.2, "auc": 0.8, "recall": 0.7, "precision": None}
    routes = {name: claims() for name in trust.ROUTES}
    records = [
        {"dataset": "a", "settings": {"bias": 1}, "truth": truth, "claims": routes | more}
        for more in (
            {"without a prior": claims(prior=[0.0, 0.3])},
            {"without a prior": claims(prior=[0.0, 0.1]), "with the prior": None},
        )
    ]
    text = trust.write_tables(records)
    assert "at random: 2 draws from 1 tables" in text
    assert "| class prior | 50 % (0.20) | given; refused in 1 of 2 |" in text
    # A precision that is not defined cannot be right or wrong.
    assert "| precision | – | – | – | – |" in text
    assert trust.write_tables([]) == "There are no results yet."


def test_biased_labels_favour_one_side_of_a_column(trust):
    random = np.random.default_rng(0)
    X, truth = random.normal(size=(4000, 1)), np.ones(4000)
    for bias, expected in ((1, 1), (10, 10)):
        counts = np.zeros(2)
        for seed in range(40):
            labeled = trust.draw_labels(X, truth, bias, seed)
            assert labeled.sum() == trust.N_LABELED
            upper = X[labeled, 0] > np.median(X)
            counts += [upper.sum(), (~upper).sum()]
        assert counts[0] / counts[1] == pytest.approx(expected, rel=0.2)


# -- long attacks ---------------------------------------------------------------------------


@pytest.fixture
def pieces(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("pieces")


def test_pieces_that_are_counted_are_not_run_again_and_add_up(pieces, tmp_path):
    results, asked = tmp_path / "results.jsonl", []

    def count(first):
        asked.append(first)
        return pieces.Piece({"read": 3, "refused": 7}, ["bad"] if first == 20 else [], peak=first)

    said = pieces.count_pieces("tables", "code", [0, 10], count, results)
    assert said == "tables: 20 (6 read, 14 refused), at most 10 MB; failures: 0"
    said = pieces.count_pieces("tables", "code", [0, 10, 20], count, results)
    assert said == "tables: 30 (9 read, 21 refused), at most 20 MB; failures: 1"
    assert asked == [0, 10, 20]
    # Other code, and another attack, are counted by themselves.
    pieces.count_pieces("tables", "other code", [0], count, results)
    pieces.count_pieces("kills", "code", [0], count, results)
    assert asked == [0, 10, 20, 0, 0]
    assert len(results.read_text().splitlines()) == 5


def test_code_is_known_by_what_stands_in_its_files(pieces, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1")
    (tmp_path / "src" / "b.py").write_text("2")
    before, partly = pieces.hash_code("src"), pieces.hash_code("src", but="b.py")
    (tmp_path / "src" / "b.py").write_text("3")
    assert pieces.hash_code("src") != before
    assert pieces.hash_code("src", but="b.py") == partly
