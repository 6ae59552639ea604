"""The published numbers, the trials of each target, and how a trial is carried out."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from joblib import cpu_count

from mixpul import datasets
from mixpul.metrics import pu_auc_score
from mixpul.paper.baselines import ClassMeans
from mixpul.paper.grid import make_trial, matches, parse_only, trials_of
from mixpul.paper.methods import METHODS, METHODS_OF_IMAGES
from mixpul.paper.names import CIFAR10_CPU, ETHN
from mixpul.paper.perform import perform, split_data
from mixpul.paper.published import Published
from mixpul.paper.results.numbers import is_shortened
from mixpul.paper.runs import has_failed, plan, read_results, run
from mixpul.paper.targets import EXTRA_SETS, TARGETS

RESULTS = Path(__file__).parents[1] / "results"


class TestPublished:
    def test_every_cell_of_every_table_is_there(self):
        sizes = {name: len(target.published) for name, target in TARGETS.items()}
        assert sizes == {
            "uci": 4 * 6 * 5,
            "mnist": 9 * 2 * 3,
            "cifar10": 3 * 6,
            "cifar10-cpu": 3 * 6,
            "rn-mining": 3 * 4,
            "prior-error": 0,
            "mixup-ablation": 0,
            "margin-ablation": 0,
        }

    @pytest.mark.parametrize(
        ("target", "cell", "number"),
        [
            ("uci", ("spambase", "MixPUL", 0.4), Published(0.96, 0.0)),
            ("uci", ("ethn", "WSVM", 0.01), Published(0.56, 0.20)),
            ("mnist", ("mnist-0v5", "MixPUL", 3600), Published(0.0962)),
            ("cifar10", ("cifar10", "nnPU", 10_000), Published(0.0887)),
            ("rn-mining", ("titanic", "Dist", 25), Published(0.53, 0.16)),
        ],
    )
    def test_some_cells(self, target, cell, number):
        assert TARGETS[target].published[cell] == number

    def test_the_abstracts_means_over_cifar10(self):
        """'improves classification error from 16.49 to 13.09 on average'"""
        for method, mean in (("nnPU", 0.16493), ("MixPUL", 0.13098)):
            cells = [v.mean for (_, m, _), v in TARGETS["cifar10"].published.items() if m == method]
            assert np.mean(cells) == pytest.approx(mean, abs=1e-5)

    def test_methods_are_known(self):
        for target in TARGETS.values():
            known = METHODS_OF_IMAGES.get(target.name, METHODS)
            assert set(target.all_methods) <= set(known)


class TestTrials:
    def test_sizes(self):
        assert len(trials_of("uci")) == 10 * 8 * 5 * 13
        assert len(trials_of("mnist", runs=1)) == 27 * 3
        each = {name: len(trials_of(name, runs=1)) for name in TARGETS}
        cpu = each.pop("cifar10-cpu")
        assert len(trials_of("all", runs=1)) == sum(each.values())
        on_cpu = len(trials_of("all", runs=1, preset="cpu"))
        assert on_cpu == sum(each.values()) - each["cifar10"] + cpu

    def test_presets_are_targets_of_their_own(self):
        paper, cpu = (trials_of("cifar10", runs=1, preset=p)[0] for p in ("paper", "cpu"))
        assert (paper.target, cpu.target) == ("cifar10", "cifar10-cpu")
        assert "net='allconv13'" in paper.recipe
        assert "net='small-conv'" in cpu.recipe
        with pytest.raises(ValueError, match="No preset 'gpu'; there are: paper, cpu"):
            trials_of("cifar10", preset="gpu")

    def test_shortened_trials_are_other_trials(self):
        whole, short = (
            trials_of("mnist", runs=1, shortened=shortened)[0]
            for shortened in (None, {"subset": 500, "epochs": 2})
        )
        assert whole.id != short.id
        assert "subset500_epochs2" in short.id

    def test_ids_differ_within_a_target(self):
        trials = trials_of("all", runs=2)
        assert len({(trial.target, trial.id) for trial in trials}) == len(trials)

    def test_only(self):
        kept = trials_of("uci", only="method=nnpu,method=MixPUL,c=0.10,dataset=krvskp,seed=3")
        assert {(t.method, t.settings["c"], t.dataset, t.seed) for t in kept} == {
            ("nnPU", 0.1, "krvskp", 3),
            ("MixPUL", 0.1, "krvskp", 3),
        }
        assert trials_of("uci", only="dataset=nosuch") == []

    def test_only_takes_names_with_commas(self):
        assert parse_only("method=nnPU, bbe prior,c=0.1") == {
            "method": {"nnpu, bbe prior"},
            "c": {"0.1"},
        }
        kept = trials_of("prior-error", runs=1, only="method=nnPU, bbe prior,c=0.1")
        assert len(kept) == 3

    @pytest.mark.parametrize(
        ("only", "message"),
        [
            ("krvskp", "key=value"),
            ("data=krvskp", "knows the keys"),
            ("c=many", "takes a number"),
        ],
    )
    def test_only_refuses(self, only, message):
        with pytest.raises(ValueError, match=message):
            trials_of("uci", only=only)

    def test_a_key_the_target_does_not_have_matches_nothing(self):
        assert not matches(trials_of("mnist", runs=1)[0], {"c": {"0.1"}})

    def test_an_unknown_target(self):
        with pytest.raises(ValueError, match="No target 'uic'; there are: uci, mnist"):
            trials_of("uic")

    def test_a_changed_default_is_another_trial(self, monkeypatch):
        before = make_trial("uci", "titanic", "MixPUL", 0, {"c": 0.1})
        model = METHODS["MixPUL"].model
        changed = type(METHODS["MixPUL"])(type(model)(n_epochs=31))
        monkeypatch.setitem(METHODS, "MixPUL", changed)
        assert make_trial("uci", "titanic", "MixPUL", 0, {"c": 0.1}).id != before.id

    def test_the_committed_results_are_those_of_these_trials(self):
        """A changed name, recipe or id would leave thousands of finished trials behind."""
        run = {(r["target"], r["dataset"], r["method"]) for name in TARGETS
               for r in read_results(RESULTS, name)
               if not has_failed(r) and not is_shortened(r)}  # fmt: skip
        trials = trials_of("all", runs=1, preset="cpu")
        assert run <= {(t.target, t.dataset, t.method) for t in trials}
        left = {(t.target, t.dataset, t.method) for t in plan(trials, RESULTS).left}
        # Some cells of CIFAR-10 take hours.
        assert {cell for cell in left & run if cell[0] != CIFAR10_CPU} == set()
        # What the paper has is run wherever there are data.
        of_paper = {(name, dataset, method) for name, target in TARGETS.items()
                    for dataset in target.datasets for method in target.methods}  # fmt: skip
        assert {d for name, d, _ in left & of_paper if name != CIFAR10_CPU} == {ETHN}

    def test_the_portfolio_scores_rows_for_estimates_of_the_prior(self):
        recipe = METHODS["nnPU, dedpul prior by Auto"].recipe
        assert "prior=DEDPULPrior(" in recipe
        assert "scorer=AutoPUClassifier(" in recipe
        kept = trials_of("prior-error", runs=1, only="method=nnPU, dedpul prior by Auto,c=0.1")
        assert {trial.dataset for trial in kept} == {"krvskp", "titanic", "spambase"}

    def test_a_recipe_holds_no_address_in_memory(self):
        """It would be another one in every process, and nothing would ever be done."""
        assert not any(" at 0x" in trial.recipe for trial in trials_of("all", runs=1))


class TestPerform:
    @pytest.mark.parametrize(("dataset", "n_train"), [("krvskp", 2237), ("titanic", 1540)])
    def test_the_papers_split(self, dataset, n_train):
        split = split_data(dataset, 0, {"c": 0.1})
        assert len(split.pu.s) == n_train
        assert split.pu.s.sum() == round(0.1 * split.pu.y.sum())
        # All other training rows are unlabeled, so the prior is theirs, not the population's.
        assert split.pu.prior == split.pu.y[split.pu.s == 0].mean()

    def test_five_persons_are_five_labels_of_the_whole_training_set(self):
        split = split_data("titanic", 0, {"n_positive": 5})
        assert (split.pu.s.sum(), len(split.pu.s)) == (5, 1540)

    def test_scores_and_times(self):
        trial = make_trial("uci", "titanic", "logistic regression", 0, {"c": 0.4})
        record = perform(trial)
        assert 0.6 < record["auc"] < 0.8
        assert 0.2 < record["error"] < 0.5
        assert record["labeled"] + record["unlabeled"] == 1540
        assert record["fit_seconds"] > 0
        assert perform(trial)["auc"] == record["auc"]

    def test_the_true_prior_is_that_of_the_unlabeled_rows(self):
        trial = make_trial("uci", "titanic", "PNU", 0, {"c": 0.4})
        record = perform(trial)
        assert record["used_prior"] == record["prior"] < 0.3

    def test_curves_come_from_the_test_rows_and_change_nothing(self, monkeypatch):
        model = METHODS["without L_U"].model
        quick = type(model).from_paper(n_epochs=4, beta=0.0)
        monkeypatch.setitem(METHODS, "without L_U", type(METHODS["nnPU"])(quick))
        record = perform(make_trial("mixup-ablation", "titanic", "without L_U", 0, {"c": 0.1}))
        curve = record["curve"]
        assert curve["step"] == list(range(1, 4 * 12 + 1))
        assert curve["error"][-1] == record["error"]
        assert len(curve["student_error"]) == len(curve["step"])
        plain = type(model).__mro__[1].from_paper(n_epochs=4, beta=0.0)
        monkeypatch.setitem(METHODS, "without L_U", type(METHODS["nnPU"])(plain))
        again = perform(make_trial("mixup-ablation", "titanic", "without L_U", 0, {"c": 0.1}))
        assert again["auc"] == record["auc"]

    def test_out_of_fold_pu_auc(self):
        # Cut short, which is enough for scores that are better than chance.
        trial = make_trial("uci", "titanic", "MixPUL", 0, {"c": 0.2, "epochs": 8})
        record = perform(trial)
        assert 0.5 < record["pu_auc"] < record["auc"]
        assert record["epochs"] >= 1

    def test_absent_data_is_a_failure_that_says_so(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MIXPUL_DATA", str(tmp_path))
        trials = trials_of("uci", runs=1, only="dataset=ethn,c=0.1,method=class means")
        [record] = run(trials, perform, tmp_path / "out")
        assert has_failed(record)
        assert record["failure"].startswith("DataNotAvailable")


def test_names_and_results_are_read_without_torch():
    """It takes seconds to import, and a report needs none of it."""
    code = (
        "import sys, mixpul.paper.names; heavy = {'torch', 'sklearn'} & set(sys.modules)\n"
        "import mixpul.paper, mixpul.paper.results; mixpul.paper.TARGETS\n"
        "print(heavy or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_class_means_put_the_threshold_halfway():
    X = np.array([[0.0], [2.0], [4.0], [6.0]])
    model = ClassMeans().fit(X, np.array([0, 0, 1, 1]))
    assert model.predict(X).tolist() == [0, 0, 1, 1]
    assert model.decision_function(np.array([[3.0]]))[0] == 0
    assert pu_auc_score([0, 0, 1, 1], model.decision_function(X)) == 1


def test_extra_sets_are_known_to_the_loader():
    with pytest.raises(ValueError, match="mushroom"):
        datasets.load("nosuch")
    assert set(EXTRA_SETS) == {"mushroom", "satimage", "texture", "twonorm"}


@pytest.mark.slow
def test_images_killed_in_an_epoch_and_taken_up_again(tmp_path):
    """CIFAR-10 in its true size, of two plain colours; only some of it is used."""
    arrays = {}
    for part, n in (("train", 50_000), ("test", 10_000)):
        y = np.arange(n) % 10
        X = np.zeros((n, 3, 32, 32), np.uint8)
        X[np.isin(y, (0, 1, 8, 9)), 0] = 255
        arrays |= {f"X_{part}": X, f"y_{part}": y}
    np.savez_compressed(tmp_path / "cifar10.npz", **arrays)

    def command(out):
        return [
            sys.executable, "-m", "mixpul", "reproduce", "cifar10", "--preset", "cpu",
            "--data", str(tmp_path), "--out", str(tmp_path / out), "--subset", "300",
            "--epochs", "2", "--runs", "1", "--only", "n_positive=100,method=MixPUL",
        ]  # fmt: skip

    subprocess.run(command("whole"), check=True, capture_output=True)
    process = subprocess.Popen(command("killed"), start_new_session=True, stderr=subprocess.PIPE)
    folder = tmp_path / "killed" / "cifar10-cpu"
    deadline = time.monotonic() + 120
    while not list(folder.glob("*.checkpoint")):
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not list(folder.glob("*.json"))
    subprocess.run(command("killed"), check=True, capture_output=True)
    [whole] = read_results(tmp_path / "whole", "cifar10-cpu")
    [resumed] = read_results(tmp_path / "killed", "cifar10-cpu")
    for key in ("id", "auc", "error", "epochs"):
        assert resumed[key] == whole[key]
    assert whole["auc"] == 1
    assert whole["fit_seconds"] > 0
    assert resumed["fit_seconds"] is None
    assert whole["threads"] == cpu_count()  # of one process
    assert not list(folder.glob("*.checkpoint"))
