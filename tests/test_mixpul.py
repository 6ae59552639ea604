from contextlib import nullcontext

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from mixpul import MixPULClassifier, datasets
from mixpul.losses import consistency, mix, pairwise_margin
from mixpul.methods._mixpul_objective import SideBySideJoint
from mixpul.methods.neural.checkpoint import Checkpoint
from mixpul.methods.neural.objective import JointObjective
from mixpul.methods.neural.settings import _balance
from mixpul.metrics import balanced_threshold, pu_auc_scorer
from mixpul.miners import DistanceMiner, RandomMiner
from mixpul.nets import Averaged
from mixpul.training import Batch

RNG = np.random.default_rng(0)
TRUTH = RNG.random(240) < 0.4
X = (RNG.normal(size=(240, 4)) + 1.5 * TRUTH[:, None]).astype(np.float32)
Y = (TRUTH & (RNG.random(240) < 0.5)).astype(int)
QUICK = {
    "net": "skip-mlp",
    "n_epochs": 4,
    "batch_size": 32,
    "max_steps": None,
    "min_steps": None,
    "random_state": 0,
}


def test_from_paper_has_the_published_settings():
    model = MixPULClassifier.from_paper()
    published = {
        "alpha": 1.0, "beta": 1.0, "gamma": 1.0, "ema_decay": 0.999, "miner": "rand",
        "optimizer": "sgd", "momentum": 0.9, "learning_rate": 1e-3, "weight_decay": 1e-4,
        "batch_size": 128, "n_epochs": 200, "early_stopping": False, "cross_fitting": None,
    }  # fmt: skip
    assert published.items() <= model.get_params().items()
    assert MixPULClassifier.from_paper(learning_rate=1e-5).learning_rate == 1e-5
    assert not hasattr(MixPULClassifier.from_paper(**QUICK).fit(X, Y), "oof_scores_")


class OneWeight(nn.Module):
    """logit = w * first feature: simple enough to follow by hand."""

    def __init__(self, shape):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return self.w * x[:, 0]


def make_objective(**params):
    model = MixPULClassifier(**(QUICK | {"net": OneWeight} | params))
    model._row_shape = X.shape[1:]
    member = model._build_member(
        X, lambda i: torch.from_numpy(X)[i], Y == 1, np.ones(len(X), bool), 5
    )
    return model._make_objective(member)


def test_loss_terms_are_the_equations_of_the_paper():
    objective = make_objective(alpha=1.0, mixing=None, beta=0.7, gamma=0.3, margin=0.2, warmup=0.0)
    x_p, x_n, x_u = (torch.from_numpy(X[i : i + 6]) for i in (0, 6, 12))
    terms = objective.terms(Batch(x_p, x_n, x_u), progress=0.9)

    # The same draws, in the same order, from fresh sources with the member's seed.
    rng, generator = np.random.default_rng(5), torch.Generator().manual_seed(5)
    rng.permutation(int((Y == 0).sum()))  # the miner's draw
    f = objective.member.net
    x, y = torch.cat([x_p, x_n]), torch.cat([torch.ones(6), torch.zeros(6)])
    weight, order = rng.beta(1, 1), torch.randperm(12, generator=generator)
    expected_pn = consistency(f(mix(x, x[order], weight)), mix(y, y[order], weight))
    weight, order = rng.beta(1, 1), torch.randperm(6, generator=generator)
    soft = torch.sigmoid(f(x_u)).detach()  # the teacher has not moved yet
    expected_u = consistency(f(mix(x_u, x_u[order], weight)), mix(soft, soft[order], weight))
    torch.testing.assert_close(terms["L_PN"], expected_pn)
    torch.testing.assert_close(terms["L_U"], 0.7 * expected_u)
    torch.testing.assert_close(terms["L_PU"], 0.3 * pairwise_margin(f(x_p), f(x_u), 0.2))


@pytest.mark.parametrize("shape", [(3,), (2, 5, 4)])
def test_each_row_can_have_a_mixing_weight_of_its_own(shape):
    objective = make_objective(mixing="row", alpha=2.0)
    x, y = torch.randn(50, *shape), torch.rand(50)
    objective.member.rng, generator = np.random.default_rng(3), torch.Generator().manual_seed(4)
    objective.member.generator.manual_seed(4)
    mixed, target = objective._mix(x, y)

    weight = torch.from_numpy(np.random.default_rng(3).beta(2, 2, 50)).float()
    assert len(weight.unique()) == 50
    partner = torch.randperm(50, generator=generator)
    for row in range(50):
        own, other = float(weight[row]), partner[row]
        torch.testing.assert_close(mixed[row], mix(x[row], x[other], own))
        torch.testing.assert_close(target[row], mix(y[row], y[other], own))


def test_no_gradient_flows_through_the_teacher():
    objective = make_objective(gamma=0.0, warmup=0.0)
    batch = Batch(*(torch.from_numpy(X[i : i + 6]) for i in (0, 6, 12)))
    objective.terms(batch, 0.9)["L_U"].backward()
    assert objective.member.net.net.w.grad is not None
    assert all(p.grad is None for p in objective.predictor.parameters())


def test_unlabeled_consistency_sets_in_after_the_warm_up_and_rises_to_one():
    ramp_up = make_objective(warmup=0.25)._ramp_up
    assert ramp_up(0.0) == ramp_up(0.2499) == 0
    assert ramp_up(0.25) == pytest.approx(np.exp(-5))
    assert ramp_up(0.30) == pytest.approx(np.exp(-5 / 4))
    assert ramp_up(0.35) == ramp_up(0.99) == 1
    assert make_objective(warmup=1.0)._ramp_up(0.999) == 0

    history = MixPULClassifier(**(QUICK | {"n_epochs": 4, "warmup": 0.5})).fit(X, Y).history_
    assert [record["L_U"] > 0 for record in history] == [False, False, True, True]


def test_attributes_after_a_cross_fitted_fit():
    model = MixPULClassifier(**QUICK).fit(X, Y)
    assert [record["epoch"] for record in model.history_] == [1, 2, 3, 4]
    assert model.history_[0].keys() == {"epoch", "L_PN", "L_U", "L_PU", "loss", "pu_auc", "gap"}
    for record in model.history_:
        assert record["loss"] == pytest.approx(sum(record[k] for k in ("L_PN", "L_U", "L_PU")))
    assert 1 <= model.n_epochs_ <= 4
    assert isinstance(model.net_, Averaged)
    assert len(model.net_.members) == 5
    assert model.oof_scores_.shape == (240,)
    assert np.isfinite(model.oof_scores_).all()
    assert not any(p.requires_grad for p in model.net_.parameters())
    negatives = model.reliable_negatives_
    assert (Y[negatives] == 0).all()
    assert len(np.unique(negatives)) == len(negatives) == (Y == 0).sum()


def test_out_of_fold_scores_come_from_networks_that_have_not_seen_the_row():
    # Pure noise with few rows: a network that has seen a positive ranks it far above the rest.
    noise = np.random.default_rng(1).normal(size=(200, 20)).astype(np.float32)
    y = (np.arange(200) < 20).astype(int)
    settings = {"n_epochs": 60, "learning_rate": 0.1, "early_stopping": False, "weight_decay": 0.0}
    model = MixPULClassifier(**(QUICK | settings)).fit(noise, y)
    assert roc_auc_score(y, model.decision_function(noise)) > 0.95
    assert 0.25 < roc_auc_score(y, model.oof_scores_) < 0.75


def test_a_single_network_stops_early():
    model = MixPULClassifier(
        net="skip-mlp",
        cross_fitting=None,
        n_epochs=200,
        patience=3,
        batch_size=32,
        min_steps=None,
        random_state=0,
    ).fit(X, Y)
    assert len(model.history_) < 200
    assert len(model.history_) == model.n_epochs_ + 3
    assert not isinstance(model.net_, Averaged)


def test_a_new_fit_forgets_what_an_old_one_learned():
    model = MixPULClassifier(**QUICK).fit(X, Y)
    model.set_params(cross_fitting=None).fit(X, Y)
    assert not hasattr(model, "oof_scores_")
    assert not isinstance(model.net_, Averaged)


def test_mined_negatives_are_as_many_as_asked_for_and_surest_first():
    model = MixPULClassifier(miner="dist", negative_fraction=0.25, cross_fitting=None, **QUICK)
    model.set_params(early_stopping=False).fit(X, Y)
    unlabeled = np.flatnonzero(Y == 0)
    expected = DistanceMiner().mine(X[Y == 1], X[unlabeled], n=round(0.25 * len(unlabeled)))
    np.testing.assert_array_equal(model.reliable_negatives_, unlabeled[expected])


class FirstRows:
    """The smallest miner there can be."""

    calls = 0

    def mine(self, X_positive, X_unlabeled, n):
        self.calls += 1
        return np.arange(n)


def test_a_miner_of_ones_own_needs_one_method():
    miner = FirstRows()
    model = MixPULClassifier(miner=miner, negative_fraction=0.1, cross_fitting=None, **QUICK)
    model.set_params(early_stopping=False).fit(X, Y)
    n = round(0.1 * (Y == 0).sum())
    np.testing.assert_array_equal(model.reliable_negatives_, np.flatnonzero(Y == 0)[:n])
    assert miner.calls == 1


def test_a_random_miner_with_a_seed_still_draws_anew_each_epoch(monkeypatch):
    drawn = []
    mine = RandomMiner.mine
    monkeypatch.setattr(RandomMiner, "mine", lambda *args: drawn.append(mine(*args)) or drawn[-1])
    miner = RandomMiner(every_epoch=True, random_state=3)
    model = MixPULClassifier(miner=miner, negative_fraction=0.2, cross_fitting=None, **QUICK)
    first = model.fit(X, Y).decision_function(X)
    assert len(drawn) == 1 + 4
    assert len({tuple(rows) for rows in drawn}) == len(drawn)
    np.testing.assert_array_equal(model.fit(X, Y).decision_function(X), first)


def test_reliable_negatives_are_those_of_all_epochs(monkeypatch):
    drawn = []
    mine = RandomMiner.mine
    monkeypatch.setattr(RandomMiner, "mine", lambda *args: drawn.append(mine(*args)) or drawn[-1])
    model = MixPULClassifier(
        miner=RandomMiner(every_epoch=True), negative_fraction=0.2, cross_fitting=None,
        early_stopping=False, **QUICK,
    ).fit(X, Y)  # fmt: skip
    unlabeled = np.flatnonzero(Y == 0)
    # The first draw only checks that the miner works.
    used = unlabeled[np.unique(np.concatenate(drawn[1:]))]
    assert len(used) > len(drawn[1])
    assert sorted(model.reliable_negatives_) == used.tolist()
    assert model.reliable_negatives_[0] in unlabeled[[rows[0] for rows in drawn[1:]]]


def test_reliable_negatives_of_a_resumed_training_are_those_of_all_epochs(tmp_path, monkeypatch):
    params = {"miner": RandomMiner(every_epoch=True), "negative_fraction": 0.1} | QUICK
    whole = MixPULClassifier(**params).fit(X, Y)
    model = MixPULClassifier(**params, checkpoint=tmp_path / "checkpoint")
    save = Checkpoint.save

    def stop_after_two(self, history):
        save(self, history)
        if len(history) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    monkeypatch.setattr(Checkpoint, "save", save)
    np.testing.assert_array_equal(model.fit(X, Y).reliable_negatives_, whole.reliable_negatives_)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_networks_trained_together_equal_one_trained_alone(optimizer):
    """The members of a cross-fit share a loop and an optimiser, and nothing else."""
    together = MixPULClassifier(optimizer=optimizer, early_stopping=False, **QUICK)
    together._row_shape = X.shape[1:]
    rows = lambda i: torch.from_numpy(X)[i]  # noqa: E731
    seen = np.arange(240) % 3 != 0

    def train(n_members):
        torch.manual_seed(0)
        members = [together._build_member(X, rows, Y == 1, seen, 9 + k) for k in range(n_members)]
        objectives = [together._make_objective(member) for member in members]
        average, _ = together._train_members(objectives, X, Y == 1)
        return together._average_members(objectives, average)

    state = torch.get_rng_state()
    first_of_pair, alone = train(2)[0].state_dict(), train(1)[0].state_dict()
    torch.set_rng_state(state)
    for name, tensor in alone.items():
        torch.testing.assert_close(tensor, first_of_pair[name], rtol=0, atol=1e-7)


@pytest.mark.parametrize("mixing", ["row", None])
def test_side_by_side_the_terms_are_the_sums_over_members(mixing):
    """One batched product per layer, and nothing but rounding else."""
    model = MixPULClassifier(**(QUICK | {"net": (8,), "mixing": mixing}))
    model._row_shape = X.shape[1:]
    rows = lambda i: torch.from_numpy(X)[i]  # noqa: E731

    def build():
        torch.manual_seed(1)
        seen = np.ones(240, bool)
        members = [model._build_member(X, rows, Y == 1, seen, k) for k in range(3)]
        return [model._make_objective(member) for member in members]

    batches = tuple(next(iter(objective.member.batches)) for objective in build())
    loop = JointObjective(build(), nullcontext).terms(batches, 0.9)
    joint = model._join(build(), nullcontext)
    assert isinstance(joint, SideBySideJoint)
    for name, term in joint.terms(batches, 0.9).items():
        torch.testing.assert_close(term, loop[name], rtol=1e-5, atol=1e-6)


def test_by_default_several_settings_are_weighed():
    model = MixPULClassifier(n_epochs=2, min_steps=10, cross_fitting=2, random_state=0).fit(X, Y)
    kinds = [setting["net"] for setting in model.settings_]
    assert kinds == ["narrow-skip-mlp"] * 2 + ["kernel"] * 2
    assert sum(setting["weight"] for setting in model.settings_) == pytest.approx(1)
    n = int(Y.sum())
    decays = [setting["weight_decay"] * n for setting in model.settings_]
    assert decays == pytest.approx([0.01, 10.0, 20.0, 2.0])
    # Kernel networks become one at prediction; the scores stay.
    with torch.no_grad():
        logits = model.net_(torch.from_numpy(X)).numpy() - model.threshold_
    np.testing.assert_allclose(model.decision_function(X), logits, atol=1e-5)
    folds = np.stack([score(X) for score in model.make_fold_scorers()])
    held_out = folds[model.oof_folds_, np.arange(len(X))]
    np.testing.assert_allclose(held_out, model.oof_scores_, atol=1e-5)


def test_settings_count_by_weight_whatever_the_spread_of_their_logits():
    wide, narrow = np.array([-30.0, 0.0, 30.0]), np.array([1.0, -2.0, 1.0])
    factors = _balance([wide, narrow], np.array([0.25, 0.75]))
    spread = factors * [wide.std(), narrow.std()]
    assert spread[1] / spread[0] == pytest.approx(3)
    # The mean spread stays, so that probabilities are as sharp as before.
    assert spread.sum() == pytest.approx(0.25 * wide.std() + 0.75 * narrow.std())
    # Logits that are all but equal are not blown up without end; one setting stays as it is.
    assert _balance([wide, narrow * 1e-30], np.array([0.5, 0.5])).max() < 1000
    assert _balance([np.zeros(3), np.zeros(3)], np.array([0.5, 0.5])).tolist() == [0.5, 0.5]
    assert _balance([wide], np.ones(1)) == pytest.approx([1])


def test_weight_decays_of_ones_own_are_weighed_too():
    model = MixPULClassifier(**QUICK, weight_decay=[0.5, 1e-4]).fit(X, Y)
    assert [setting["weight_decay"] for setting in model.settings_] == [0.5, 1e-4]
    # Each decays by its own rate: the strong one is left with smaller weights.
    strong = MixPULClassifier(**QUICK, weight_decay=0.5, patience=None).fit(X, Y)
    weak = MixPULClassifier(**QUICK, weight_decay=1e-4, patience=None).fit(X, Y)
    sizes = [sum(float(p.square().sum()) for p in m.net_.parameters()) for m in (strong, weak)]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    ("n_positive", "batch", "steps"), [(12, 32, 50), (600, 75, 120), (9000, 128, 250)]
)
def test_batches_and_epochs_grow_with_the_number_of_positives(n_positive, batch, steps):
    model = MixPULClassifier()
    assert model._choose_batch_size(n_positive) == batch
    assert model._choose_most_steps(n_positive) == steps


def test_grid_search_over_miner_and_alpha():
    pipeline = make_pipeline(StandardScaler(), MixPULClassifier(cross_fitting=None, **QUICK))
    grid = {
        "mixpulclassifier__miner": ["rand", DistanceMiner(), RandomMiner(every_epoch=True)],
        "mixpulclassifier__alpha": [0.5, 2.0],
    }
    search = GridSearchCV(pipeline, grid, scoring=pu_auc_scorer, cv=2).fit(X, Y)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_score_ > 0.6


def test_cross_validation_by_pu_auc_uses_every_job():
    model = make_pipeline(StandardScaler(), MixPULClassifier(cross_fitting=2, **QUICK))
    scores = cross_val_score(model, X, Y, scoring=pu_auc_scorer, cv=3, n_jobs=2)
    assert scores.shape == (3,)
    assert scores.mean() > 0.6


class TinyConv(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(shape[0], 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveMaxPool2d(1),
            nn.Flatten(), nn.Linear(4, 1),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


@pytest.mark.parametrize("net", ["skip-mlp", (16,), TinyConv])
def test_images_of_four_dimensions(net):
    images = RNG.normal(size=(240, 2, 6, 6)).astype(np.float32)
    images[TRUTH, :, 2:4, 2:4] += 3
    model = MixPULClassifier(**(QUICK | {"net": net}), cross_fitting=2, learning_rate=0.05)
    model.set_params(n_epochs=20).fit(images, Y)
    assert roc_auc_score(TRUTH, model.decision_function(images)) > 0.8


def test_batch_norm_of_the_network_that_predicts_has_statistics_of_clean_rows():
    images = np.random.default_rng(0).normal(3, 2, size=(120, 1, 5, 5)).astype(np.float32)
    y = (np.arange(120) < 20).astype(int)
    model = MixPULClassifier(
        **(QUICK | {"net": TinyConv}), cross_fitting=None, early_stopping=False
    ).fit(images, y)
    conv, norm = model.net_.net.layers[:2]
    out = conv(torch.from_numpy(images))
    torch.testing.assert_close(norm.running_mean, out.mean((0, 2, 3)), rtol=1e-3, atol=1e-3)


def test_verbose_shows_a_bar_with_epochs_and_pu_auc(capsys):
    MixPULClassifier(verbose=1, **QUICK).fit(X, Y)
    shown = capsys.readouterr()
    assert shown.out == ""  # that is for results
    assert "MixPUL" in shown.err
    assert "4/4" in shown.err
    MixPULClassifier(**QUICK).fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_fewer_unlabeled_rows_than_a_batch_and_a_single_unlabeled_row():
    few = np.r_[np.flatnonzero(Y == 1)[:10], np.flatnonzero(Y == 0)[:3]]
    assert MixPULClassifier(**QUICK).fit(X[few], Y[few]).predict(X).shape == (240,)
    one = np.r_[np.flatnonzero(Y == 1)[:10], np.flatnonzero(Y == 0)[:1]]
    assert MixPULClassifier(**QUICK).fit(X[one], Y[one]).predict(X).shape == (240,)


@pytest.mark.parametrize("c", [0.01, 0.2])
def test_defaults_learn_spambase_from_few_and_from_many_positives(c):
    X, y = datasets.load("spambase", return_X_y=True)
    X_train, X_test, y_train, y_test = datasets.paper_split(np.log1p(X), y, random_state=0)
    pu = datasets.make_pu(X_train, y_train, c=c, random_state=0)
    model = make_pipeline(StandardScaler(), MixPULClassifier(n_epochs=10, random_state=0))
    auc = roc_auc_score(y_test, model.fit(pu.X, pu.s).decision_function(X_test))
    assert auc > {0.01: 0.85, 0.2: 0.95}[c]


def test_the_cut_is_set_on_out_of_fold_scores(pu):
    model = MixPULClassifier(n_epochs=5, random_state=0).fit(pu.X, pu.y)
    assert model.threshold_ != 0
    # Scores are logits less the threshold, so the best balanced cut of the scores is 0.
    assert balanced_threshold(pu.y, model.oof_scores_) == pytest.approx(0, abs=1e-5)
    with torch.inference_mode():
        logits = model.net_(torch.from_numpy(pu.X.astype(np.float32))).numpy()
    np.testing.assert_allclose(
        model.decision_function(pu.X), logits - model.threshold_, rtol=1e-5, atol=1e-5
    )
    alone = MixPULClassifier(n_epochs=2, cross_fitting=None, early_stopping=False)
    assert alone.fit(pu.X, pu.y).threshold_ == 0  # no row was held out


def test_a_classifier_of_kernel_networks_alone_predicts():
    pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.2, random_state=0)
    model = MixPULClassifier(net="kernel", n_epochs=2, cross_fitting=2, random_state=0)
    model.fit(pu.X, pu.s)
    is_first = model.oof_folds_ == 0
    # A sum of kernels has no parameters, only buffers.
    assert np.isfinite(model.decision_function(pu.X)).all()
    again = model.make_fold_scorers()[0](pu.X[is_first])
    np.testing.assert_allclose(again, model.oof_scores_[is_first], atol=1e-4)
