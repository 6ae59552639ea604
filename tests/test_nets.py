import copy

import numpy as np
import pytest
import torch
from torch import nn

from mixpul import NNPUClassifier
from mixpul.losses import pairwise_margin
from mixpul.nets import (
    MLP,
    AllConv13,
    Averaged,
    KernelNet,
    SideBySide,
    SkipMLP,
    Teacher,
    make_net,
    refresh_batch_norm,
    simplify,
)


def linear_sizes(net):
    return [(m.in_features, m.out_features) for m in net.modules() if isinstance(m, nn.Linear)]


def constant(value):
    """A network that gives the same logit for every row."""
    net = MLP((2,), ())
    nn.init.zeros_(net.layers[-1].weight)
    nn.init.constant_(net.layers[-1].bias, value)
    return net


def normalised(shape):
    """Batch norm without weights of its own, then one linear layer."""
    return nn.Sequential(nn.BatchNorm1d(shape[0], affine=False), nn.Linear(shape[0], 1))


# -- networks -------------------------------------------------------------------------------


def test_an_mlp_computes_what_its_layers_say():
    net = MLP((2,), (2,))
    first, last = (m for m in net.modules() if isinstance(m, nn.Linear))
    with torch.no_grad():
        first.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
        first.bias.copy_(torch.tensor([0.5, 0.0]))
        last.weight.copy_(torch.tensor([[2.0, 3.0]]))
        last.bias.fill_(-1.0)
    # Row 1: relu(1.5, -2) = (1.5, 0), so 3 - 1 = 2. Row 2: relu(-0.5, 4) = (0, 4), so 12 - 1.
    assert net(torch.tensor([[1.0, 2.0], [-1.0, -4.0]])).tolist() == [2.0, 11.0]


@pytest.mark.parametrize(
    ("widths", "sizes"),
    [
        ((), [(5, 1)]),
        ((7,), [(5, 7), (7, 1)]),
        ((7, 3), [(5, 7), (7, 3), (3, 1)]),
    ],
)
def test_an_mlp_has_the_widths_it_was_given_and_one_logit_per_row(widths, sizes):
    net = MLP((5,), widths)
    assert linear_sizes(net) == sizes
    assert sum(isinstance(m, nn.ReLU) for m in net.modules()) == len(widths)
    for n_rows in (0, 1, 6):
        assert net(torch.zeros(n_rows, 5)).shape == (n_rows,)


@pytest.mark.parametrize("name", ["skip-mlp", "mlp", "linear"])
def test_images_are_flattened(name):
    net = make_net(name, (3, 4, 2))
    images = torch.randn(6, 3, 4, 2, generator=torch.Generator().manual_seed(0))
    for parameter in net.parameters():  # else a network that starts at 0 agrees with anything
        nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    assert net(images).shape == (6,)
    assert net(images).std() > 0
    torch.testing.assert_close(net(images), net(images.reshape(6, 24)))


def test_the_linear_network_has_no_hidden_layer():
    net = make_net("linear", (5,))
    assert linear_sizes(net) == [(5, 1)]
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    weight, bias = net.parameters()
    torch.testing.assert_close(net(x), x @ weight[0] + bias)


def test_the_skip_mlp_gives_exactly_zero_at_first():
    x = 1e3 * torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
    assert not SkipMLP((3,))(x).any()


def test_the_first_gradient_of_the_skip_mlp_is_the_difference_of_the_class_means():
    positive = torch.tensor([[3.0, 0.0], [5.0, 2.0]])  # mean (4, 1)
    unlabeled = torch.tensor([[0.0, 1.0], [2.0, 1.0], [-2.0, 1.0]])  # mean (0, 1)
    net = SkipMLP((2,), (16,))
    pairwise_margin(net(positive), net(unlabeled), 1.0).backward()
    # The loss is 1 + mean p(u) - mean p(p), and the sigmoid has slope 1/4 at 0.
    gradient = net.linear.layers[-1].weight.grad
    torch.testing.assert_close(gradient, torch.tensor([[-1.0, 0.0]]))
    hidden, last = (m for m in net.deep.modules() if isinstance(m, nn.Linear))
    assert not hidden.weight.grad.any()
    assert last.weight.grad.any(), "the hidden layers could never start to learn"


def test_the_two_paths_of_the_skip_mlp_add_up():
    net = SkipMLP((3,), (4,))
    for parameter in net.parameters():
        nn.init.normal_(parameter, generator=torch.Generator().manual_seed(0))
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(net(x), net.linear(x) + net.deep(x))


# -- make_net -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), [("skip-mlp", SkipMLP), ("mlp", MLP), ("linear", MLP)])
def test_a_name_gives_the_network_of_that_name(name, kind):
    assert type(make_net(name, (4,))) is kind


@pytest.mark.parametrize("widths", [(6, 2), [6, 2], np.array([6, 2])])
def test_widths_give_an_mlp_of_these_widths(widths):
    assert linear_sizes(make_net(widths, (4,))) == [(4, 6), (6, 2), (2, 1)]


@pytest.mark.parametrize("squeeze", [True, False])
def test_a_callable_gets_the_shape_of_one_row_and_may_keep_a_last_axis_of_one(squeeze):
    shapes = []

    def own(shape):
        shapes.append(shape)
        linear = nn.Linear(12, 1)
        return nn.Sequential(nn.Flatten(), linear, *([nn.Flatten(0)] if squeeze else []))

    net = make_net(own, (3, 4))
    assert shapes == [(3, 4)]
    assert net(torch.zeros(5, 3, 4)).shape == (5,)


@pytest.mark.parametrize("own", [lambda shape: None, lambda shape: nn.Linear, np.zeros])
def test_a_callable_that_gives_no_network_is_refused(own):
    with pytest.raises(TypeError, match=r"net must return a torch.nn.Module .*; got \w+\.$"):
        make_net(own, (4,))


@pytest.mark.parametrize("n_outputs", [2, 5])
def test_a_network_with_several_outputs_per_row_is_refused_with_the_way_out(n_outputs):
    # Five outputs for five rows: as many numbers as a mistake in the check might let through.
    net = make_net(lambda shape: nn.Linear(*shape, n_outputs), (4,))
    message = rf"one logit per row.*\(5,\) or \(5, 1\).*gave \(5, {n_outputs}\).*difference"
    with pytest.raises(ValueError, match=message):
        net(torch.zeros(5, 4))


def test_a_network_that_gives_one_number_for_the_whole_batch_is_refused():
    class Mean(nn.Module):
        def forward(self, x):
            return x.mean()

    with pytest.raises(ValueError, match=r"one logit per row.*it gave \(\)"):
        make_net(lambda shape: Mean(), (4,))(torch.zeros(5, 4))


@pytest.mark.parametrize("widths", [(-1,), (0,), (1.5,), ("8",), (8, None)])
def test_impossible_widths_are_refused_before_training(pu, quick, widths, monkeypatch):
    monkeypatch.setattr(
        "mixpul.methods.neural.classifier.train", lambda *args, **settings: pytest.fail("trained")
    )
    with pytest.raises(ValueError, match=r"net|widths"):
        quick(net=widths).fit(pu.X, pu.y)


def test_networks_of_one_fit_share_no_weights_even_if_the_callable_returns_one_network(pu, quick):
    # Otherwise each network has learned from the rows that the others hold out.
    only = nn.Linear(4, 1)
    model = quick(net=lambda shape: only, n_epochs=1, early_stopping=False).fit(pu.X, pu.y)
    first, second = (member.net.weight for member in model.net_.members)
    assert not torch.equal(first, second)


# -- averages -------------------------------------------------------------------------------


def test_averaged_is_the_mean_logit_not_the_mean_probability():
    nets = [constant(-1.0), constant(2.0), constant(5.0)]
    assert Averaged(nets)(torch.zeros(3, 2)).tolist() == [2.0, 2.0, 2.0]
    assert Averaged(iter(nets))(torch.zeros(1, 2)).tolist() == [2.0]


def test_the_teacher_is_the_plain_mean_of_all_iterates_while_the_ramp_lasts():
    generator = torch.Generator().manual_seed(0)
    student = MLP((3,), (2,)).double()
    iterates = [copy.deepcopy(student.state_dict())]
    teacher = Teacher(student, decay=0.999)
    for k in range(1, 21):
        with torch.no_grad():
            for parameter in student.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator))
        teacher.update()
        iterates.append(copy.deepcopy(student.state_dict()))
        for name, value in teacher.net.state_dict().items():
            mean = torch.stack([iterate[name] for iterate in iterates]).mean(0)
            torch.testing.assert_close(value, mean, rtol=0, atol=1e-12, msg=f"{name}, step {k}")


def test_the_decay_of_the_teacher_stays_at_its_cap():
    student = constant(0.0)
    teacher = Teacher(student, decay=0.5)
    seen = []
    for value in (4.0, 8.0, 8.0):
        nn.init.constant_(student.layers[-1].bias, value)
        teacher.update()
        seen.append(teacher(torch.zeros(1, 2)).item())
    # By hand: (0 + 4) / 2, then (2 + 8) / 2, then (5 + 8) / 2; plain means would be 2, 4, 5.
    assert seen == [2.0, 5.0, 6.5]


def test_a_teacher_without_decay_is_the_student():
    student = constant(0.0)
    teacher = Teacher(student, decay=0.0)
    nn.init.constant_(student.layers[-1].bias, 3.0)
    teacher.update()
    assert teacher(torch.zeros(1, 2)).item() == 3.0


def test_float_buffers_are_averaged_and_counters_copied():
    student = nn.BatchNorm1d(2, momentum=1.0)  # so that its statistics are those of the last batch
    teacher = Teacher(student)
    for rows in ([[0.0, 2.0], [4.0, 2.0]], [[9.0, 0.0], [11.0, 4.0]]):
        student(torch.tensor(rows))
        teacher.update()
    # Means: (0, 0) at first, then (2, 2), then (10, 2). Variances: 1, then (8, 0), then (2, 8).
    torch.testing.assert_close(teacher.net.running_mean, torch.tensor([4.0, 4 / 3]))
    torch.testing.assert_close(teacher.net.running_var, torch.tensor([11 / 3, 3.0]))
    assert teacher.net.num_batches_tracked == 2
    assert teacher.net.num_batches_tracked.dtype == torch.int64


def test_the_teacher_takes_no_gradients_and_leaves_the_student_alone():
    student = MLP((3,), (2,))
    before = copy.deepcopy(student.state_dict())
    teacher = Teacher(student)
    x = torch.ones(2, 3, requires_grad=True)
    assert not teacher(x).requires_grad
    assert not any(p.requires_grad for p in teacher.net.parameters())
    assert all(p.requires_grad for p in student.parameters())
    student(x).sum().backward()
    teacher.update()
    for name, value in student.state_dict().items():
        assert torch.equal(value, before[name])
        assert value.data_ptr() != teacher.net.state_dict()[name].data_ptr()


# -- batch norm -----------------------------------------------------------------------------


def test_refreshed_statistics_are_those_of_the_clean_rows():
    net = normalised((2,))
    net(torch.full((4, 2), 100.0))  # statistics of something else
    refresh_batch_norm(net, [torch.tensor([[1.0, 0.0], [3.0, 0.0], [8.0, 6.0]])])
    torch.testing.assert_close(net[0].running_mean, torch.tensor([4.0, 2.0]))
    torch.testing.assert_close(net[0].running_var, torch.tensor([13.0, 12.0]))


def test_refreshed_statistics_weigh_equal_batches_equally():
    net = normalised((1,))
    refresh_batch_norm(net, [torch.tensor([[0.0], [2.0]]), torch.tensor([[5.0], [9.0]])])
    torch.testing.assert_close(net[0].running_mean, torch.tensor([4.0]))  # of 1 and 7
    torch.testing.assert_close(net[0].running_var, torch.tensor([5.0]))  # of 2 and 8


@pytest.mark.parametrize("training", [True, False])
def test_refreshing_keeps_the_mode_and_the_momentum(training):
    net = normalised((2,)).train(training)
    refresh_batch_norm(net, [torch.randn(5, 2)])
    assert net.training is net[0].training is training
    assert net[0].momentum == 0.1


def test_a_network_without_batch_norm_is_left_alone_and_no_rows_are_fetched():
    net = MLP((2,), (3,))
    before = copy.deepcopy(net.state_dict())
    batches = iter([torch.ones(4, 2)])
    refresh_batch_norm(net, batches)
    assert len(list(batches)) == 1
    assert all(torch.equal(v, before[k]) for k, v in net.state_dict().items())


def test_fit_refreshes_batch_norm_even_if_one_row_is_left_for_the_last_batch(pu, quick):
    model = quick(net=normalised, cross_fitting=None, early_stopping=False, batch_size=33)
    assert (len(pu.X) - 2) % 33 == 0
    model.fit(pu.X[:-1], pu.y[:-1])
    torch.testing.assert_close(
        model.net_.net[0].running_mean, torch.from_numpy(pu.X[:-1].mean(0)), rtol=0, atol=0.05
    )


def test_batch_norm_after_fit_does_not_depend_on_the_order_of_the_rows(pu, quick):
    # Tables often come sorted; the spread within a slice of a sorted table is not that of it all.
    order = np.argsort(pu.X[:, 0])
    model = quick(net=normalised, cross_fitting=None, early_stopping=False, batch_size=20)
    model.fit(pu.X[order], pu.y[order])
    torch.testing.assert_close(
        model.net_.net[0].running_var, torch.from_numpy(pu.X.var(0, ddof=1)), rtol=0.1, atol=0
    )


def test_batch_norm_of_nnpu_has_the_statistics_its_cut_was_learned_with():
    random = np.random.default_rng(0)
    is_positive = random.random(3000) < 0.4
    X = random.normal(3.0 * is_positive, 1.0)[:, None].astype(np.float32)
    y = (is_positive & (random.random(3000) < 0.1)).astype(int)
    prior = float(is_positive[y == 0].mean())
    model = NNPUClassifier(
        net=normalised,
        prior=prior,
        learning_rate=0.05,
        n_epochs=10,
        cross_fitting=None,
        early_stopping=False,
        random_state=0,
    ).fit(X, y)
    halves = (X[y == 1].mean() + X[y == 0].mean()) / 2
    assert float(model.net_.net[0].running_mean) == pytest.approx(halves, abs=0.1)
    # With statistics of all rows, fewer of them positive, it calls .47 of these positive.
    assert model.predict(X[y == 0]).mean() == pytest.approx(prior, abs=0.05)


def test_the_network_of_the_nnpu_paper():
    net = AllConv13((3, 32, 32))
    convolutions = [m for m in net.modules() if isinstance(m, torch.nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [96, 96, 96, 192, 192, 192, 192, 192, 10]
    assert [c.stride[0] for c in convolutions] == [1, 1, 2, 1, 1, 2, 1, 1, 1]
    linear = [m for m in net.modules() if isinstance(m, torch.nn.Linear)]
    assert [m.in_features for m in linear] == [10 * 8 * 8, 1000, 1000]
    assert net(torch.zeros(2, 3, 32, 32)).shape == (2,)
    assert AllConv13((1, 9, 6))(torch.zeros(2, 1, 9, 6)).shape == (2,)


def test_a_convolutional_network_refuses_tables():
    with pytest.raises(ValueError, match=r"takes images.*got rows of shape \(7,\)"):
        make_net("allconv13", (7,))


def make_kernel_net(n_rows=300, seed=0):
    torch.manual_seed(seed)
    net = KernelNet((3,))
    net.features.learn(torch.randn(n_rows, 3))
    return net


def test_kernel_features_are_those_of_the_kernel():
    """Their products are the kernel of landmarks, up to the scale that steps need."""
    net = make_kernel_net()
    landmarks = net.features.landmarks
    features = net.features(landmarks).double()
    distances = torch.cdist(landmarks, landmarks).double() ** 2
    expected = 25 * torch.exp(-distances / 3)
    torch.testing.assert_close(features @ features.T, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("n_rows", [1, 5, 199])
def test_fewer_rows_than_landmarks_leave_features_at_zero(n_rows):
    net = make_kernel_net(n_rows)
    features = net.features(torch.randn(4, 3))
    assert features.isfinite().all()
    assert (features[:, n_rows:] == 0).all()


def test_landmarks_that_are_alike_do_no_harm():
    net = KernelNet((2,))
    net.features.learn(torch.zeros(200, 2))
    assert net.features(torch.randn(5, 2)).abs().max() < 10


def test_a_mean_of_kernel_networks_is_simplified_to_one():
    first = make_kernel_net()
    nets = [KernelNet((3,), first.features) for _ in range(3)]
    for net in nets:
        torch.nn.init.normal_(net.top.layers[-1].weight)
        torch.nn.init.normal_(net.top.layers[-1].bias)
    mlp = MLP((3,), (4,))
    whole = Averaged([Averaged([mlp, nets[0]], [0.3, 0.7]), Averaged(nets[1:], [0.5, 0.5])])
    x = torch.randn(50, 3)
    with torch.no_grad():
        torch.testing.assert_close(simplify(whole)(x), whole(x), rtol=1e-4, atol=1e-4)
    assert len(simplify(whole).members) == 2
    assert simplify(mlp) is mlp


def test_networks_side_by_side_are_those_networks():
    nets = [SkipMLP((3,), (4,)) for _ in range(3)]
    for net in nets:
        for parameter in net.parameters():
            torch.nn.init.normal_(parameter)
    together = SideBySide(nets)
    x = torch.randn(3, 7, 3)
    expected = torch.stack([net(rows) for net, rows in zip(nets, x, strict=True)])
    torch.testing.assert_close(together(x), expected)
    # Views: what the joint network learns, each of them has learned.
    together.lend_weights(nets)
    with torch.no_grad():
        for parameter in together.parameters():
            parameter += 0.5
    torch.testing.assert_close(nets[1](x[1]), together(x)[1])
    assert not SideBySide.can_hold([nets[0], MLP((3,), (4,))])
