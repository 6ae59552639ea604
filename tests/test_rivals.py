"""uPU, nnPU, Ramp and VPU: what is particular to each; the contract is in test_common."""

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score

from mixpul import (
    NNPUClassifier,
    PUAUCClassifier,
    RampClassifier,
    UPUClassifier,
    VPUClassifier,
)
from mixpul.losses import nnpu_risk, upu_risk, variational_risk
from mixpul.methods._kernel.solvers import ramp_cccp, upu_convex, upu_squared
from mixpul.methods.neural import Member
from mixpul.priors import BBEPrior
from mixpul.training import Batch

QUICK = {"n_epochs": 5, "batch_size": 32, "random_state": 0}
PRIOR = 50 / 170  # of the fixture `pu`: 80 positives of which 30 are labeled, 120 negatives


def one_step(model, pu):
    """The loss terms of a model with a linear network, and the logits they are made of."""
    model.prior_ = PRIOR
    model._row_shape = pu.X.shape[1:]
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Flatten(0))
    member = Member(net, np.ones(len(pu.X), dtype=bool), seed=0)
    x_p, x_u = torch.from_numpy(pu.X[pu.y == 1][:6]), torch.from_numpy(pu.X[pu.y == 0][:6])
    terms = model._make_objective(member).terms(Batch(x_p, x_p[:0], x_u), 0.5)
    return terms, net(x_p), net(x_u)


def test_networks_minimise_the_risks_of_their_papers(pu):
    terms, z_p, z_u = one_step(NNPUClassifier(loss="logistic", beta=0.1, gamma=0.5), pu)
    torch.testing.assert_close(terms["R_PU"], nnpu_risk(z_p, z_u, PRIOR, "logistic", 0.1, 0.5))
    terms, z_p, z_u = one_step(UPUClassifier(loss="double-hinge", model="mlp"), pu)
    torch.testing.assert_close(terms["R_PU"], upu_risk(z_p, z_u, PRIOR, "double-hinge"))
    terms, z_p, z_u = one_step(RampClassifier(model="mlp"), pu)
    torch.testing.assert_close(terms["R_PU"], upu_risk(z_p, z_u, PRIOR, "ramp"))
    terms, z_p, z_u = one_step(VPUClassifier(), pu)
    torch.testing.assert_close(terms["L_var"], variational_risk(z_p, z_u))
    assert terms["L_mix"] > 0


@pytest.mark.parametrize(
    ("model", "solve"),
    [
        (UPUClassifier(loss="squared"), upu_squared),
        (UPUClassifier(loss="logistic"), lambda *a: upu_convex(*a, "logistic")),
        (RampClassifier(), lambda *a: ramp_cccp(*a)[0]),
    ],
)
def test_kernel_models_use_the_solver_of_their_loss(model, solve):
    random = np.random.default_rng(0)
    phi_p, phi_u = random.random((5, 3)), random.random((8, 3))
    np.testing.assert_array_equal(
        model._solve(phi_p, phi_u, 0.3, 0.1), solve(phi_p, phi_u, 0.3, 0.1)
    )


@pytest.mark.parametrize(
    "model",
    [
        UPUClassifier(),
        UPUClassifier(model="mlp", **QUICK),
        NNPUClassifier(**QUICK),
        RampClassifier(),
        RampClassifier(model="mlp", **QUICK),
        VPUClassifier(**QUICK),
    ],
    ids=repr,
)
def test_predictions_cut_the_two_blobs_apart(model, pu):
    params = {"prior": PRIOR} if hasattr(model, "prior") else {}
    model.set_params(n_epochs=20, learning_rate=0.01, random_state=0, **params).fit(pu.X, pu.y)
    unlabeled = pu.y == 0
    assert accuracy_score(pu.truth[unlabeled], model.predict(pu.X[unlabeled])) > 0.8
    if params:
        assert model.prior_ == PRIOR


def test_a_prior_may_be_a_number_a_name_or_an_estimator(pu):
    for prior in ("elkan-noto", BBEPrior(random_state=0)):
        model = UPUClassifier(prior=prior, random_state=0).fit(pu.X, pu.y)
        assert 0 < model.prior_ < 1
    assert UPUClassifier(prior=0.3, random_state=0).fit(pu.X, pu.y).prior_ == 0.3


@pytest.mark.parametrize("prior", [0, 1, -0.2, 1.5])
def test_a_prior_outside_zero_and_one_is_refused_with_the_reason(pu, prior):
    with pytest.raises(ValueError, match="share of positives among the unlabeled"):
        NNPUClassifier(prior=prior).fit(pu.X, pu.y)


def test_vpu_cuts_at_half_of_the_largest_value(pu):
    model = VPUClassifier(**QUICK).fit(pu.X, pu.y)
    phi = torch.sigmoid(model.net_(torch.from_numpy(pu.X))).numpy()
    np.testing.assert_array_equal(model.predict(pu.X) == 1, phi > phi.max() / 2)


def test_a_refit_with_another_model_forgets_the_first(pu):
    model = UPUClassifier(prior=0.3, model="mlp", **QUICK).fit(pu.X, pu.y)
    first = model.decision_function(pu.X)
    model.set_params(model="kernel").fit(pu.X, pu.y)
    assert not hasattr(model, "net_")
    assert (model.decision_function(pu.X) != first).any()


@pytest.mark.parametrize(
    "model",
    [
        UPUClassifier(random_state=0),
        NNPUClassifier(**QUICK),
        RampClassifier(n_centres=20, random_state=0),
        PUAUCClassifier(random_state=0),
    ],
    ids=repr,
)
def test_a_prior_the_data_contradict_is_warned_of(model):
    random = np.random.default_rng(0)
    truth = np.arange(500) < 150
    X = random.normal(size=(600, 2))
    X[:100] += 8
    X[100:][truth] += 8
    y = (np.arange(600) < 100).astype(int)
    model.set_params(prior=0.3).fit(X, y)
    with pytest.warns(UserWarning, match="contradict prior=0.8"):
        model.set_params(prior=0.8).fit(X, y)
