import math

import numpy as np
import pytest
import torch
from torch import nn

from mixpul.methods.neural import selection
from mixpul.methods.neural.selection import GAP, EpochAverage, score_gap, score_held_out


@pytest.fixture(autouse=True)
def slack(monkeypatch):
    """The unit of the numbers below, whatever the default is tuned to."""
    monkeypatch.setattr(selection, "PU_AUC", selection.PU_AUC._replace(slack=0.05))


class Table(nn.Module):
    """A network whose weights are the scores of the rows, so that a test sets them."""

    def __init__(self, n_rows):
        super().__init__()
        self.values = nn.Parameter(torch.zeros(n_rows))

    def forward(self, indices):
        return self.values[indices]

    def set(self, values):
        with torch.no_grad():
            self.values.copy_(torch.as_tensor(values, dtype=torch.float32))


def make_average(nets, held_out, is_positive, patience=10):
    return EpochAverage(
        nets,
        [torch.tensor(rows, dtype=torch.int64) for rows in held_out],
        lambda indices: indices,
        np.asarray(is_positive, dtype=bool),
        patience,
        selection.PU_AUC,
    )


def one_positive(score):
    """The positive first, then 20 unlabeled rows with scores 1 to 20."""
    return [score, *range(1, 21)]


def run(net, average, epochs):
    """Let the epochs pass; return the records and the answers."""
    records = [{"epoch": epoch, "loss": 1.0} for epoch in range(1, len(epochs) + 1)]
    answers = []
    for values, record in zip(epochs, records, strict=True):
        net.set(values)
        answers.append(average(record))
    return records, answers


def test_weights_of_epochs_worked_out_by_hand():
    # One positive: the unit is 0.05, and so is a step of the PU-AUC over 20 unlabeled rows.
    net = Table(21)
    average = make_average([net], [range(21)], [1] + [0] * 20)
    records, _ = run(net, average, [one_positive(score) for score in (18.5, 20.5, 19.5)])
    assert [record["pu_auc"] for record in records] == pytest.approx([0.9, 1.0, 0.95])
    average.finish()
    weights = np.exp([-2, 0, -1])
    expected = weights @ [18.5, 20.5, 19.5] / weights.sum()
    assert net.values[0].item() == pytest.approx(expected, rel=1e-6)
    assert net.values[1:].tolist() == pytest.approx(range(1, 21))
    assert average.n_epochs == 2


def test_the_order_of_the_epochs_does_not_change_the_average():
    ends = []
    for scores in ([18.5, 20.5, 19.5], [20.5, 19.5, 18.5], [18.5, 19.5, 20.5]):
        net = Table(21)
        average = make_average([net], [range(21)], [1] + [0] * 20)
        run(net, average, [one_positive(score) for score in scores])
        average.finish()
        ends.append(net.values[0].item())
    assert ends == pytest.approx([ends[0]] * 3, rel=1e-6)


def test_epochs_that_tie_give_the_plain_mean_and_the_first_of_them():
    net = Table(4)
    average = make_average([net], [range(4)], [1, 1, 0, 0])
    run(net, average, [[3, 4, 1, 2], [30, 40, 10, 20], [6, 7, 4, 5]])
    average.finish()
    assert net.values.tolist() == pytest.approx([13, 17, 5, 9])
    assert average.n_epochs == 1


def test_with_very_many_positives_the_average_is_the_best_epoch():
    n = 4000
    is_positive = np.repeat([True, False], [n, 2])
    better = np.concatenate([np.arange(n), [-1, 400]])  # 400 of 4000 lie below one unlabeled row
    worse = 5 + np.concatenate([np.arange(n), [-1, 480]])
    net = Table(n + 2)
    average = make_average([net], [range(n + 2)], is_positive)
    records, _ = run(net, average, [worse, better, worse])
    assert records[1]["pu_auc"] - records[0]["pu_auc"] == pytest.approx(0.01, abs=1e-4)
    average.finish()
    # Weights e^{-0.01 sqrt(4000) / 0.05} = e^{-12.6} on either side.
    np.testing.assert_allclose(net.values.detach(), better, atol=1e-3)
    assert average.n_epochs == 2


def test_networks_are_averaged_with_the_same_weights_by_their_pooled_scores():
    nets = [Table(21), Table(21)]
    # The positive is scored by the first network, most unlabeled rows by the second.
    held_out = [range(11), range(11, 21)]
    average = make_average(nets, held_out, [1] + [0] * 20)
    for epoch, score in enumerate([18.5, 20.5], start=1):
        nets[0].set(one_positive(score))
        nets[1].set([100 * epoch, *range(1, 21)])  # not held out there, so without a say
        record = {"epoch": epoch}
        average(record)
    assert record["pu_auc"] == 1.0
    average.finish()
    weights = np.exp([-2, 0])
    for net, values in zip(nets, ([18.5, 20.5], [100, 200]), strict=True):
        assert net.values[0].item() == pytest.approx(weights @ values / weights.sum(), rel=1e-6)


def test_patience_counts_the_epochs_since_the_best():
    net = Table(2)
    average = make_average([net], [range(2)], [1, 0], patience=2)
    wrong, tied, right = [0, 1], [0, 0], [1, 0]
    records, answers = run(net, average, [wrong, tied, tied, right, tied, right, tied])
    assert [record["pu_auc"] for record in records] == [0, 0.5, 0.5, 1, 0.5, 1, 0.5]
    # A tie with the best is no progress: two epochs after the fourth it is over.
    assert answers == [False, False, False, False, False, True, True]
    assert average.n_epochs == 4


@pytest.mark.parametrize("held_out", [[range(2)], [[]]], ids=["held out", "nothing held out"])
def test_without_patience_or_held_out_rows_the_last_epoch_is_taken_as_it_is(held_out):
    net = Table(2)
    patience = None if len(held_out[0]) else 1
    average = make_average([net], held_out, [1, 0], patience=patience)
    records, answers = run(net, average, [[1, 0], [0, 1], [0.25, 0.125]])
    average.finish()
    assert net.values.tolist() == [0.25, 0.125]
    assert average.n_epochs == 3
    assert answers == [False] * 3
    assert "pu_auc" not in records[0]


def test_a_row_is_scored_by_the_network_that_has_not_seen_it_or_else_not_at_all():
    nets = [Table(5), Table(5)]
    nets[0].set([1, 2, 3, 4, 5])
    nets[1].set([10, 20, 30, 40, 50])
    average = make_average(nets, [[3, 0], [1]], [1, 0, 1, 0, 0])
    scores, is_known = score_held_out(nets, average.held_out, average.rows, 5)
    np.testing.assert_array_equal(is_known, [True, True, False, True, False])
    np.testing.assert_array_equal(scores[is_known], [1, 20, 4])
    assert scores.dtype == np.float32


def test_rows_that_no_network_held_out_have_no_say_in_the_pu_auc():
    net = Table(4)
    average = make_average([net], [[0, 1]], [1, 0, 1, 0])
    records, _ = run(net, average, [[2, 1, -9, 9]])
    assert records[0]["pu_auc"] == 1.0


def test_floating_point_buffers_are_averaged_and_counters_left_at_the_last_epoch():
    net = nn.Sequential(nn.BatchNorm1d(1, affine=False, momentum=1.0), nn.Flatten(0))
    rows = torch.tensor([[1.0], [0.0]])
    average = EpochAverage(
        [net], [torch.arange(2)], lambda indices: rows[indices], np.array([True, False]), 5
    )
    for epoch, mean in enumerate([2.0, 6.0], start=1):
        net.train()(torch.tensor([[mean - 1], [mean + 1]]))
        average({"epoch": epoch})
    average.finish()
    assert net[0].running_mean.item() == pytest.approx(4)
    assert net[0].num_batches_tracked == 2


def test_fit_averages_its_epochs_and_notes_the_best_one(pu, quick):
    model = quick(n_epochs=5).fit(pu.X, pu.y)
    pu_aucs = [record["pu_auc"] for record in model.history_]
    assert len(pu_aucs) == 5
    assert model.n_epochs_ == 1 + int(np.argmax(pu_aucs))
    assert not np.isnan(model.oof_scores_).any()


def test_fit_stops_when_patience_runs_out(pu, quick):
    model = quick(n_epochs=200, patience=2, learning_rate=0.3).fit(pu.X, pu.y)
    assert len(model.history_) == model.n_epochs_ + 2 < 200


def test_fit_without_early_stopping_takes_all_epochs(pu, quick):
    model = quick(n_epochs=4, patience=1, early_stopping=False).fit(pu.X, pu.y)
    assert len(model.history_) == model.n_epochs_ == 4
    assert "pu_auc" not in model.history_[0]
    assert math.isfinite(model.history_[-1]["loss"])


def test_the_gap_worked_out_by_hand():
    logits = np.log([4.0, 1.0, 1.0, 0.25])  # probabilities .8, .5, .5, .2
    is_positive = np.array([True, False, True, False])
    assert score_gap(is_positive, logits) == pytest.approx(0.65 - 0.35)


def test_epochs_may_be_judged_by_the_gap():
    """The second epoch orders worse, and is the surer one."""
    net = Table(4)
    average = EpochAverage(
        [net], [torch.arange(4)], lambda i: i, np.array([True, False, False, False]), 5, GAP
    )
    records, _ = run(net, average, [[0.4, 0.3, 0.2, 0.1], [9.0, 10.0, -9.0, -9.0]])
    assert records[0]["pu_auc"] > records[1]["pu_auc"]
    assert records[0]["gap"] < records[1]["gap"]
    assert average.n_epochs == 2
