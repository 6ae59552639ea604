import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mixpul import losses
from mixpul.losses import (
    SURROGATES,
    consistency,
    mix,
    nnpu_risk,
    pairwise_hinge,
    pairwise_margin,
    upu_risk,
    variational_risk,
)

P = torch.tensor([0.9, 0.2, 0.6], dtype=torch.float64)
U = torch.tensor([0.1, 0.8, 0.5, 0.3], dtype=torch.float64)


@pytest.fixture(params=["dense", "sorting"])
def form(request, monkeypatch):
    monkeypatch.setattr(losses, "DENSE_PAIRS", 2**17 if request.param == "dense" else 0)
    return request.param


def value_and_gradients(p, u, margin):
    p, u = p.clone().requires_grad_(), u.clone().requires_grad_()
    value = pairwise_hinge(p, u, margin)
    return value.detach(), *torch.autograd.grad(value, (p, u))


def test_hinge_of_the_worked_example(form):
    value, dp, du = value_and_gradients(P, U, 0.2)
    assert value.item() == pytest.approx(2.3 / 12, abs=1e-12)
    torch.testing.assert_close(dp, torch.tensor([-1.0, -4, -2], dtype=torch.float64) / 12)
    torch.testing.assert_close(du, torch.tensor([1.0, 3, 2, 1], dtype=torch.float64) / 12)


def test_hinge_gradient_agrees_with_finite_differences(form):
    p, u = P.clone().requires_grad_(), U.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda p, u: pairwise_hinge(p, u, 0.25), (p, u))


def test_margin_and_consistency_gradients_agree_with_finite_differences(form):
    zp, zu = torch.logit(P).requires_grad_(), torch.logit(U).requires_grad_()
    assert torch.autograd.gradcheck(lambda p, u: pairwise_margin(p, u, 0.25), (zp, zu))
    assert torch.autograd.gradcheck(lambda p, u: pairwise_margin(p, u, 1.0), (zp, zu))
    assert torch.autograd.gradcheck(lambda z: consistency(z, P.detach()), (zp,))


def scores(size):
    # Multiples of 1/64 make exact ties without decimal rounding.
    return npst.arrays(np.float64, size, elements=st.integers(0, 64).map(lambda k: k / 64))


@given(
    p=st.integers(1, 12).flatmap(scores),
    u=st.integers(1, 12).flatmap(scores),
    margin=st.sampled_from([0.0, 0.125, 0.5, 1.0, 1.5]),
)
@settings(max_examples=300, deadline=None)
def test_the_three_forms_of_the_margin_loss_agree(p, u, margin):
    p, u = torch.from_numpy(p), torch.from_numpy(u)
    dense = torch.relu(u[None, :] - p[:, None] + margin).mean()
    slope = ((u[None, :] - p[:, None] + margin) > 0).double() / (len(p) * len(u))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "DENSE_PAIRS", 0)
        value, dp, du = value_and_gradients(p, u, margin)
    assert value.item() == pytest.approx(dense.item(), abs=1e-14)
    torch.testing.assert_close(dp, -slope.sum(1), rtol=0, atol=1e-15)
    torch.testing.assert_close(du, slope.sum(0), rtol=0, atol=1e-15)
    if margin >= 1:
        assert (margin + u.mean() - p.mean()).item() == pytest.approx(dense.item(), abs=1e-12)


def test_gradients_of_the_hinge_sum_to_zero(form):
    generator = torch.Generator().manual_seed(0)
    p, u = torch.rand(40, generator=generator), torch.rand(30, generator=generator)
    _, dp, du = value_and_gradients(p, u, 0.1)
    assert (dp.sum() + du.sum()).item() == pytest.approx(0, abs=1e-6)


def test_margin_of_one_is_the_difference_of_means():
    generator = torch.Generator().manual_seed(0)
    p, u = torch.rand(50, generator=generator), torch.rand(70, generator=generator)
    expected = 1 + u.mean() - p.mean()
    assert pairwise_hinge(p, u, 1.0).item() == pytest.approx(expected.item(), abs=1e-6)
    assert pairwise_margin(p.logit(), u.logit(), 1.0).item() == pytest.approx(
        expected.item(), abs=1e-6
    )


def test_margin_is_zero_when_every_pair_is_ranked_by_more_than_it(form):
    value, dp, du = value_and_gradients(torch.tensor([0.9, 0.8]), torch.tensor([0.1, 0.2]), 0.5)
    assert value == 0
    assert not dp.any()
    assert not du.any()


def test_sorting_keeps_float32_accuracy_when_scores_share_a_large_offset():
    generator = torch.Generator().manual_seed(0)
    p, u = torch.rand(600, generator=generator), torch.rand(600, generator=generator)
    p, u = p + 1e3, u + 1e3  # rounded once, here; the reference starts from the same numbers
    exact = torch.relu(u.double()[None, :] - p.double()[:, None] + 0.25).mean()
    assert p.numel() * u.numel() > losses.DENSE_PAIRS
    assert pairwise_hinge(p, u, 0.25).item() == pytest.approx(exact.item(), rel=1e-6)


def test_sorting_refuses_nan_scores():
    p, u = torch.full((600,), torch.nan), torch.rand(600)
    with pytest.raises(ValueError, match="NaN"):
        pairwise_hinge(p, u, 0.1)


def test_mix_with_weight_one_returns_its_first_argument_to_the_bit():
    a, b = torch.rand(5, 3), torch.rand(5, 3)
    assert torch.equal(mix(a, b, 1.0), a)
    torch.testing.assert_close(mix(a, b, 0.25), 0.25 * a + 0.75 * b)


def test_mixed_targets_stay_in_range_and_keep_their_mean_under_a_permutation():
    generator = torch.Generator().manual_seed(0)
    y = torch.cat([torch.ones(7), torch.zeros(9)])
    mixed = mix(y, y[torch.randperm(16, generator=generator)], 0.3)
    assert mixed.min() >= 0
    assert mixed.max() <= 1
    assert mixed.mean().item() == pytest.approx(7 / 16)


def test_consistency_of_a_worked_example():
    # sigmoid(0) = 1/2 and sigmoid(ln 3) = 3/4: ((1/2 - 1)^2 + (3/4 - 1/4)^2) / 2 = 1/4
    logits, target = torch.tensor([0.0, np.log(3.0)]), torch.tensor([1.0, 0.25])
    assert consistency(logits, target).item() == pytest.approx(0.25, abs=1e-7)


# -- risks of rival methods ---------------------------------------------------------------------

Z = torch.tensor([-3, -1, -0.5, 0, 0.5, 1, 3], dtype=torch.float64)
Z_P = torch.tensor([2.0, 1.0], dtype=torch.float64)
MILD = torch.tensor([-1, -2, -3, 0.5], dtype=torch.float64)
OVERFIT = torch.tensor([-3.0, -4, -5, -2], dtype=torch.float64)


def test_double_hinge_at_seven_points():
    expected = torch.tensor([3, 1, 0.75, 0.5, 0.25, 0, 0], dtype=torch.float64)
    torch.testing.assert_close(SURROGATES["double-hinge"](Z), expected)


@pytest.mark.parametrize("loss", ["squared", "logistic", "double-hinge"])
def test_losses_whose_difference_is_linear(loss):
    torch.testing.assert_close(SURROGATES[loss](Z) - SURROGATES[loss](-Z), -Z)


@pytest.mark.parametrize("loss", ["sigmoid", "ramp"])
def test_losses_that_add_up_to_one(loss):
    torch.testing.assert_close(SURROGATES[loss](Z) + SURROGATES[loss](-Z), torch.ones_like(Z))


def test_ramp_risk_of_the_worked_example_in_both_forms():
    f_p = torch.tensor([2.0, 0.5], dtype=torch.float64)
    f_u = torch.tensor([-2.0, 0.3, 1.5], dtype=torch.float64)
    ramp = SURROGATES["ramp"]
    cost_sensitive = 2 * 0.4 * ramp(f_p).mean() + ramp(-f_u).mean() - 0.4
    assert cost_sensitive.item() == pytest.approx(0.25)
    assert upu_risk(f_p, f_u, 0.4, "ramp").item() == pytest.approx(0.25)


def test_nnpu_before_it_overfits_is_upu_where_that_is_not_negative():
    z_u = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert nnpu_risk(Z_P, z_u, 0.4).item() == pytest.approx(
        upu_risk(Z_P, z_u, 0.4, "sigmoid").item()
    )


def test_nnpu_of_the_worked_examples():
    assert (0.4 * torch.sigmoid(-Z_P).mean()).item() == pytest.approx(0.0776289, abs=1e-7)
    assert (0.4 * torch.sigmoid(Z_P).mean()).item() == pytest.approx(0.3223711, abs=1e-7)
    assert upu_risk(Z_P, MILD, 0.4, "sigmoid").item() == pytest.approx(0.0197651, abs=1e-7)
    assert nnpu_risk(Z_P, MILD, 0.4).item() == pytest.approx(0.0776289, abs=1e-7)
    assert nnpu_risk(Z_P, MILD, 0.4, beta=0.1).item() == pytest.approx(0.0197651, abs=1e-7)


def test_nnpu_climbs_out_of_an_overfit():
    z_p, z_u = Z_P.clone().requires_grad_(), OVERFIT.clone().requires_grad_()
    value = nnpu_risk(z_p, z_u, 0.4)
    dp, du = torch.autograd.grad(value, (z_p, z_u))
    assert value.item() == pytest.approx(0.0776289, abs=1e-7)
    np.testing.assert_allclose(dp, [0.020999, 0.039322], atol=1e-6)
    np.testing.assert_allclose(du, [-0.011294, -0.004416, -0.001662, -0.026248], atol=1e-6)
    halved = nnpu_risk(z_p, z_u, 0.4, gamma=0.5)
    np.testing.assert_allclose(torch.autograd.grad(halved, z_p)[0], dp / 2, atol=1e-12)


def test_variational_risk_of_the_toy_is_minus_the_divergence_and_free_of_scale():
    # Three kinds of rows with shares .3, .3, .4 and P(y = 1) = 1, .5, 0: Phi is P(y = 1 | x).
    everything = torch.tensor([1.0] * 3 + [0.5] * 3 + [1e-12] * 4, dtype=torch.float64)
    positive = torch.tensor([1.0] * 2 + [0.5], dtype=torch.float64)  # p(x | y = 1) = 2/3, 1/3
    for scale in (0.9, 0.3):
        risk = variational_risk(torch.logit(scale * positive), torch.logit(scale * everything))
        assert risk.item() == pytest.approx(-0.567459, abs=1e-6)
