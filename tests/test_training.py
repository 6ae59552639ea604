import warnings

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from mixpul import training
from mixpul._util.errors import TrainingDiverged
from mixpul.training import (
    Batch,
    PUBatches,
    as_rows,
    as_tensor,
    make_optimizer,
    own_torch_state,
    pick_device,
    score_rows,
    train,
)

CPU = torch.device("cpu")


def row_numbers(indices):
    """Stands in for fetched rows: the tests look at which rows were asked for."""
    return indices


def make_batches(n_positive=7, n_unlabeled=50, mine=None, seed=0, **settings):
    """Rows 0, 1, ... are positive, rows 1000, 1001, ... unlabeled."""
    return PUBatches(
        row_numbers,
        torch.arange(n_positive),
        torch.arange(1000, 1000 + n_unlabeled),
        mine,
        generator=torch.Generator().manual_seed(seed),
        **({"batch_size": 8} | settings),
    )


def counts(parts):
    return torch.cat(parts).unique(return_counts=True)


# -- batches --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_unlabeled", [2, 8, 16, 18, 50, 55])
def test_an_epoch_covers_every_unlabeled_row_exactly_once(n_unlabeled):
    batches = make_batches(n_unlabeled=n_unlabeled)
    for _ in range(2):
        rows, times = counts([batch.unlabeled for batch in batches])
        assert rows.tolist() == list(range(1000, 1000 + n_unlabeled))
        assert (times == 1).all()


def test_every_batch_holds_equally_many_rows_of_each_kind():
    batches = make_batches(n_unlabeled=50, mine=lambda: np.arange(1000, 1020))
    sizes = [[len(part) for part in batch] for batch in batches]
    assert sizes == [[8, 8, 8]] * 6 + [[2, 2, 2]]


def test_positives_negatives_and_unlabeled_rows_come_from_their_own_pools():
    mined = np.array([1003, 1007, 1011])
    for batch in make_batches(mine=lambda: mined):
        assert (batch.positive < 7).all()
        assert set(batch.negative.tolist()) <= set(mined.tolist())
        assert (batch.unlabeled >= 1000).all()


@pytest.mark.parametrize(
    ("n_unlabeled", "sizes"),
    [(17, [8, 8]), (18, [8, 8, 2]), (9, [8]), (8, [8]), (3, [3]), (1, [1])],
)
def test_a_last_batch_of_one_row_is_left_out_and_one_of_two_kept(n_unlabeled, sizes):
    batches = make_batches(n_unlabeled=n_unlabeled)
    assert [len(batch.unlabeled) for batch in batches] == sizes
    assert len(batches) == len(sizes)


def test_min_steps_goes_through_the_rows_again_in_full_batches():
    batches = make_batches(n_unlabeled=20, batch_size=8, min_steps=7)
    assert len(batches) == 7
    parts = [batch.unlabeled for batch in batches]
    assert [len(part) for part in parts] == [8] * 7
    rows, times = counts(parts)
    assert len(rows) == 20
    assert times.max() - times.min() <= 1


@pytest.mark.parametrize("n_positive", [1, 2, 7, 30, 49, 50])
def test_rows_of_a_small_pool_are_used_almost_equally_often(n_positive):
    mined = np.arange(1000, 1011)
    batches = make_batches(n_positive=n_positive, mine=lambda: mined)
    for _ in range(3):
        epoch = list(batches)
        for pool, kind in ((n_positive, "positive"), (len(mined), "negative")):
            rows, times = counts([getattr(batch, kind) for batch in epoch])
            assert len(rows) == min(pool, 50)
            assert times.max() - times.min() <= 1


def test_a_small_pool_is_gone_through_in_a_new_order_each_time():
    drawn = torch.cat([batch.positive for batch in make_batches(n_positive=5)])
    rounds = drawn.reshape(10, 5)
    assert (rounds.sort(1).values == torch.arange(5)).all()
    assert len({tuple(order) for order in rounds.tolist()}) > 5


def test_a_pool_larger_than_an_epoch_is_not_used_up_in_the_same_order_every_time():
    batches = make_batches(n_positive=500)
    first, second = (set(torch.cat([b.positive for b in batches]).tolist()) for _ in range(2))
    assert len(first) == len(second) == 50
    assert first != second


def test_max_steps_bounds_an_epoch_and_each_epoch_draws_other_rows():
    batches = make_batches(n_unlabeled=50, max_steps=3)
    assert len(batches) == 3
    first, second = (torch.cat([b.unlabeled for b in batches]) for _ in range(2))
    assert len(first.unique()) == len(second.unique()) == 24
    assert set(first.tolist()) != set(second.tolist())
    assert len(make_batches(n_unlabeled=50, max_steps=100)) == 7


def test_rows_of_a_small_pool_are_used_almost_equally_often_under_max_steps():
    batches = make_batches(n_positive=5, max_steps=3)
    _, times = counts([batch.positive for batch in batches])
    assert sorted(times.tolist()) == [4, 5, 5, 5, 5]  # 3 steps of 8


def test_negatives_are_asked_for_once_per_epoch_and_used_in_that_epoch():
    answers = [np.array([1000, 1001]), np.array([1002, 1003])]
    waiting = iter(answers)
    batches = make_batches(mine=lambda: next(waiting))
    for answer in answers:
        assert counts([batch.negative for batch in batches])[0].tolist() == answer.tolist()
    assert next(waiting, None) is None


def test_there_are_no_negatives_when_nothing_mines_them():
    for batch in make_batches(mine=None):
        assert batch.negative.shape == (0,)
        assert len(batch.positive) == len(batch.unlabeled) > 0


def test_same_generator_seed_same_batches():
    def drawn(seed):
        batches = make_batches(mine=lambda: np.arange(1000, 1020), seed=seed)
        return torch.cat([torch.cat(batch) for _ in range(2) for batch in batches])

    torch.manual_seed(1)
    first = drawn(0)
    torch.manual_seed(2)  # the global generator has no say
    assert torch.equal(first, drawn(0))
    assert not torch.equal(first, drawn(1))


# -- the loop -------------------------------------------------------------------------------

X = torch.tensor([[1.0], [3.0]])


def line(weight=2.0):
    net = nn.Linear(1, 1, bias=False)
    nn.init.constant_(net.weight, weight)
    return net


def squared_error(net):
    """((w - 1)^2 + (3 w - 1)^2) / 2, whose slope in w is 10 w - 4."""
    return lambda batch, progress: {"fit": ((net(batch) - 1) ** 2).mean()}


@pytest.mark.parametrize(
    ("momentum", "weight_decay", "n_epochs", "expected"),
    [
        (0.0, 0.0, 1, 2 - 0.1 * 16),  # the slope at 2 is 16
        (0.0, 0.5, 1, 2 - 0.1 * (16 + 0.5 * 2)),
        (0.5, 0.0, 1, 2 - 0.1 * (16 + 0.5 * 16)),  # -0.4: velocity 16, looked ahead
        (0.5, 0.0, 2, -0.4 - 0.1 * (-8 + 0.5 * (0.5 * 16 - 8))),  # slope -8, velocity 0
    ],
    ids=["plain", "weight decay", "Nesterov", "Nesterov, second step"],
)
def test_steps_of_sgd_worked_out_by_hand(momentum, weight_decay, n_epochs, expected):
    net = line()
    optimizer = make_optimizer(net, "sgd", 0.1, momentum, weight_decay)
    history = train(net, [X], squared_error(net), optimizer=optimizer, n_epochs=n_epochs)
    assert net.weight.item() == pytest.approx(expected, abs=1e-6)
    assert history[0]["fit"] == pytest.approx((1 + 25) / 2)  # before the step


def test_the_first_step_of_adam_is_the_learning_rate_downhill():
    net = line()
    optimizer = make_optimizer(net, "adam", 0.1, 0.7, 0.0)
    assert isinstance(optimizer, torch.optim.Adam)
    assert optimizer.defaults["betas"] == (0.7, 0.999)
    train(net, [X], squared_error(net), optimizer=optimizer, n_epochs=1)
    assert net.weight.item() == pytest.approx(1.9, abs=1e-6)


def test_the_optimizer_holds_every_parameter_and_its_settings():
    net = nn.Linear(3, 2)
    for name in ("sgd", "adam"):
        optimizer = make_optimizer(net, name, 0.03, 0.8, 0.2)
        (group,) = optimizer.param_groups
        assert {id(p) for p in group["params"]} == {id(p) for p in net.parameters()}
        assert (group["lr"], group["weight_decay"]) == (0.03, 0.2)
    sgd = make_optimizer(net, "sgd", 0.03, 0.8, 0.2)
    assert (sgd.defaults["momentum"], sgd.defaults["nesterov"]) == (0.8, True)


def run(terms, n_steps=2, n_epochs=3, **settings):
    """Train a weight on terms that do not depend on it; `terms` takes the number of the step."""
    net = line()
    return train(
        net,
        list(range(n_steps)),
        lambda batch, progress: {
            k: torch.tensor(v) + 0 * net.weight.sum() for k, v in terms(batch, progress).items()
        },
        optimizer=make_optimizer(net, "sgd", 0.1, 0.0, 0.0),
        n_epochs=n_epochs,
        **settings,
    )


def test_history_holds_the_epoch_and_the_mean_over_steps_of_each_term_and_of_their_sum():
    history = run(lambda step, progress: {"L_PN": 1.0 + 4 * step, "L_PU": 10.0 * step}, n_epochs=2)
    assert history == [
        {"epoch": 1, "L_PN": 3.0, "L_PU": 5.0, "loss": 8.0},
        {"epoch": 2, "L_PN": 3.0, "L_PU": 5.0, "loss": 8.0},
    ]
    assert list(history[0]) == ["epoch", "L_PN", "L_PU", "loss"]
    assert all(type(value) is float for value in list(history[0].values())[1:])


def test_the_steps_minimise_the_sum_of_all_terms():
    net = line()
    train(
        net,
        [None],
        lambda batch, progress: {"a": 3 * net.weight.sum(), "b": -net.weight.sum()},
        optimizer=make_optimizer(net, "sgd", 0.5, 0.0, 0.0),
        n_epochs=1,
    )
    assert net.weight.item() == pytest.approx(2 - 0.5 * (3 - 1))


def test_progress_rises_from_zero_and_stays_below_one():
    seen = []

    def terms(step, progress):
        seen.append(progress)
        return {"a": 0.0}

    run(terms, n_steps=2, n_epochs=2)
    assert seen == [0.0, 0.25, 0.5, 0.75]


def test_after_step_is_called_after_each_step():
    net, seen = line(), []
    train(
        net,
        [X, X],
        squared_error(net),
        optimizer=make_optimizer(net, "sgd", 0.1, 0.0, 0.0),
        n_epochs=2,
        after_step=lambda: seen.append(net.weight.item()),
    )
    # w <- w - 0.1 (10 w - 4) = 0.4 from the first step on.
    assert seen == pytest.approx([0.4] * 4)


def test_a_true_answer_of_on_epoch_stops_and_no_answer_goes_on():
    terms = lambda step, progress: {"a": 1.0}  # noqa: E731
    stopped = run(terms, n_epochs=5, on_epoch=lambda record: record["epoch"] == 2)
    assert [record["epoch"] for record in stopped] == [1, 2]
    assert len(run(terms, n_epochs=5, on_epoch=lambda record: None)) == 5


def test_what_on_epoch_adds_to_a_record_stays_in_the_history():
    history = run(
        lambda step, progress: {"a": 1.0},
        n_epochs=2,
        on_epoch=lambda record: record.update(pu_auc=record["epoch"] / 10),
    )
    assert [record["pu_auc"] for record in history] == [0.1, 0.2]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_names_the_epoch_and_the_way_out(value):
    with pytest.raises(
        FloatingPointError, match=f"loss of epoch 2 is {value}.*Standardise.*lower learning_rate"
    ):
        run(lambda step, progress: {"a": value if progress > 0.5 else 1.0, "b": 1.0}, n_epochs=2)


def test_a_learning_rate_that_is_far_too_large_is_reported_by_fit(pu, quick):
    with pytest.raises(FloatingPointError, match=r"diverged.*lower learning_rate"):
        quick(learning_rate=1e30).fit(pu.X, pu.y)


@pytest.mark.parametrize("early_stopping", [True, False])
def test_a_training_that_diverges_in_its_last_step_is_reported_too(pu, quick, early_stopping):
    # With one step in an epoch the loss is still finite; the scores are not.
    model = quick(
        learning_rate=1e30, batch_size=200, n_epochs=1, early_stopping=early_stopping,
        cross_fitting=None,
    )  # fmt: skip
    with pytest.raises(TrainingDiverged, match=r"diverged.*lower learning_rate"):
        model.fit(pu.X, pu.y)


def test_every_epoch_trains_in_training_mode_even_if_on_epoch_evaluates():
    # The authors' program froze its batch norm after the first epoch this way.
    net, modes = nn.Sequential(nn.BatchNorm1d(1), line()), []

    def terms(batch, progress):
        modes.append(net.training)
        return squared_error(net)(batch, progress)

    train(
        net,
        [X],
        terms,
        optimizer=make_optimizer(net, "sgd", 0.1, 0.0, 0.0),
        n_epochs=3,
        on_epoch=lambda record: net.eval() and None,
    )
    assert modes == [True] * 3
    assert net[0].num_batches_tracked == 3


# -- rows -----------------------------------------------------------------------------------


def stored(kind, X, folder):
    if kind == "read-only":
        X = X.copy()
        X.flags.writeable = False
    elif kind == "memory-mapped":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    elif kind == "CSR array":
        return sparse.csr_array(X)
    elif kind == "CSR matrix":
        return sparse.csr_matrix(X)
    return X


@pytest.mark.parametrize("kind", ["dense", "read-only", "memory-mapped", "CSR array", "CSR matrix"])
def test_rows_are_the_same_however_they_are_stored(kind, pu, tmp_path):
    X = np.where(pu.X > 0, pu.X, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = as_rows(stored(kind, X, tmp_path), CPU)
        for some in ([3, 0, 3, 199], [5], []):
            fetched = rows(torch.tensor(some, dtype=torch.int64))
            assert fetched.dtype == torch.float32
            assert fetched.shape == (len(some), 4)
            np.testing.assert_array_equal(fetched.numpy(), X[some])


@pytest.mark.parametrize("kind", ["dense", "read-only", "memory-mapped"])
def test_arrays_are_viewed_where_they_are(kind, pu, tmp_path):
    X = stored(kind, pu.X, tmp_path)
    assert as_tensor(X).data_ptr() == X.ctypes.data


def test_images_are_fetched_in_their_shape():
    X = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)
    np.testing.assert_array_equal(as_rows(X, CPU)(torch.tensor([1])).numpy(), X[1:])


def test_scores_come_a_few_rows_at_a_time_and_leave_the_mode_alone(monkeypatch):
    monkeypatch.setattr(training, "ROWS_PER_PASS", 3)
    sizes, modes = [], []

    class Sum(nn.Module):
        def forward(self, x):
            sizes.append(len(x))
            modes.append(self.training)
            return x.sum(1)

    net = Sum()
    X = np.arange(20, dtype=np.float32).reshape(10, 2)
    for training_mode in (True, False):
        net.train(training_mode)
        scores = score_rows(net, as_rows(X, CPU), torch.tensor([9, 0, 1, 2, 3, 4, 5]))
        assert net.training is training_mode
    np.testing.assert_array_equal(scores, X.sum(1)[[9, 0, 1, 2, 3, 4, 5]])
    assert scores.dtype == np.float32
    assert sizes == [3, 3, 1] * 2
    assert not any(modes)


# -- torch's state --------------------------------------------------------------------------


@pytest.mark.parametrize("fail", [False, True])
def test_torch_is_left_as_it_was_even_after_an_error(fail):
    torch.manual_seed(5)
    before, n_threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(2)
    drawn = []
    try:
        for _ in range(2):
            try:
                with own_torch_state(seed=1, n_threads=1):
                    assert torch.get_num_threads() == 1
                    drawn.append(torch.rand(1).item())
                    if fail:
                        raise RuntimeError
            except RuntimeError:
                pass
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(n_threads)
    assert drawn[0] == drawn[1]
    assert torch.equal(torch.get_rng_state(), before)


def test_auto_picks_a_device_that_is_there():
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert pick_device("cpu") == pick_device(CPU) == CPU


def test_a_batch_names_its_parts_in_the_order_of_the_equations():
    assert Batch._fields == ("positive", "negative", "unlabeled")
