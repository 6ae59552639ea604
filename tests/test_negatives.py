"""Verified negatives: rows that someone has checked, given to `fit` as a mask."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    BoostingPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    NNPUClassifier,
    UPUClassifier,
    VPUClassifier,
    WeightedSVMClassifier,
    load,
)
from mixpul._util.cross_validation import cross_validate
from mixpul._util.random import number_folds
from mixpul.assess import assess, compare
from mixpul.base import NeuralPUClassifier
from mixpul.losses import pn_risk
from mixpul.methods._kernel.solvers import ramp_cccp, ramp_risk, upu_convex, upu_squared
from mixpul.methods._verified import share_verified, weigh_by_score, weigh_sides
from mixpul.methods.neural import Member
from mixpul.methods.neural.negatives import MinedNegatives
from mixpul.metrics import pu_auc_score
from mixpul.persistence import describe
from mixpul.tables import find_negatives, read_verdicts, split_label
from test_cli import assert_one_sentence
from test_table_cli import run

QUICK = {
    "net": (8,),
    "n_epochs": 3,
    "batch_size": 32,
    "min_steps": None,
    "cross_fitting": 2,
    "random_state": 0,
}


@pytest.fixture
def negative(pu):
    """Twenty of the 120 negatives, found by looking."""
    return np.isin(np.arange(200), np.flatnonzero(~pu.truth)[:20])


# -- the equations ----------------------------------------------------------------------------


def test_pn_risk_by_hand():
    # Ramp loss of 1 and 0: 0 and .5; of the negatives -(-1) and -(0): 0 and .5.
    positive, others = torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 0.0])
    assert pn_risk(positive, others, 0.4, "ramp").item() == pytest.approx(0.4 * 0.25 + 0.6 * 0.25)


def test_a_few_verified_negatives_count_half_as_much_as_positives_many_up_to_half_of_the_side():
    assert share_verified(0, 60) == 0
    assert share_verified(20, 60) == 0.125
    assert share_verified(60, 60) == 0.25
    assert 0.49 < share_verified(6000, 60) < 0.5


def test_weights_of_both_sides_by_hand():
    is_positive, is_negative = np.arange(10) < 4, np.arange(10) > 5
    # 5 to the four positives; of the other 5 a quarter to the four verified negatives.
    expected = [5 / 4] * 4 + [15 / 8] * 2 + [5 / 16] * 4
    np.testing.assert_allclose(weigh_sides(is_positive, is_negative), expected)
    none = np.zeros(10, dtype=bool)
    np.testing.assert_allclose(weigh_sides(is_positive, none), [5 / 4] * 4 + [5 / 6] * 6)


def draw_scores_of_checked_rows(n_verified, seed=0):
    """Normal scores; rows are checked the more often the higher they score."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=3000)
    is_positive = np.arange(3000) < 60
    odds = np.exp(scores) * ~is_positive
    rows = random.choice(3000, n_verified, replace=False, p=odds / odds.sum())
    return scores, is_positive, np.isin(np.arange(3000), rows)


def test_weights_make_checked_rows_lie_as_unlabeled_ones():
    scores, is_positive, is_negative = draw_scores_of_checked_rows(300)
    weights = weigh_by_score(scores, is_positive, is_negative)
    assert scores[is_negative].mean() > 0.7
    assert abs(np.average(scores[is_negative], weights=weights[is_negative])) < 0.2
    assert weights[is_negative].mean() == pytest.approx(1)
    assert (weights[~is_negative] == 1).all()


def test_weights_of_one_or_of_equal_rows_are_even():
    scores, is_positive, is_negative = draw_scores_of_checked_rows(1)
    assert weigh_by_score(scores, is_positive, is_negative)[is_negative] == 1
    _, is_positive, is_negative = draw_scores_of_checked_rows(30)
    np.testing.assert_allclose(weigh_by_score(np.zeros(3000), is_positive, is_negative), 1)


@pytest.mark.parametrize(
    "model",
    [BaggingPUClassifier(n_estimators=60), BoostingPUClassifier(), LogisticPUClassifier(C=1)],
)
def test_negatives_found_among_the_highest_scores_do_not_turn_the_ranking_around(model):
    # Ten kinds of rows; the share of positives rises with the kind. All that were checked are of
    # the two highest kinds: counted like a random draw, these would sink below the others.
    random = np.random.default_rng(0)
    kind = random.integers(10, size=2000)
    truth = random.random(2000) < kind / 12
    X = np.column_stack([kind, random.normal(size=2000)]).astype(float)
    y = np.isin(np.arange(2000), random.choice(np.flatnonzero(truth), 100, replace=False))
    found = np.flatnonzero(~truth & (kind >= 8))[:60]
    model.set_params(random_state=0).fit(X, y, negative=np.isin(np.arange(2000), found))
    scores = model.decision_function(np.column_stack([np.arange(10), np.zeros(10)]))
    assert scores[8:].min() > scores[:5].max()


def test_networks_see_those_more_often_that_are_rarely_checked():
    random, seen = np.random.default_rng(0), []

    class Remembering(NeuralPUClassifier):
        _uses_negatives = True

        def _loss_terms(self, batch, progress):
            seen.append(batch.negative[:, 1])
            return {"L": torch.nn.functional.softplus(-self.net_(batch.positive)).mean()}

    score = random.normal(size=1000)
    X = np.column_stack([score, np.arange(1000)])
    by_score = np.argsort(score)
    # 60 of the 200 highest rows were checked, and 10 of the 500 lowest.
    high, low = by_score[-200::3][:60], by_score[:500:50]
    y = np.isin(np.arange(1000), np.setdiff1d(by_score[-200:], high)[:50])
    is_negative = np.isin(np.arange(1000), np.concatenate([high, low]))
    Remembering(net="linear", n_epochs=5, random_state=0).fit(X, y, negative=is_negative)
    counts = np.bincount(torch.cat(seen).numpy().astype(int), minlength=1000)
    assert counts[~is_negative].sum() == 0
    assert counts[low].mean() > 1.5 * counts[high].mean()


RNG = np.random.default_rng(0)
PHI = {kind: RNG.normal(size=(n, 3)) + shift for kind, n, shift in
       (("p", 9, 0.7), ("u", 30, 0.0), ("n", 6, -0.7))}  # fmt: skip


@pytest.mark.parametrize(
    ("solve", "loss"),
    [
        (upu_squared, lambda z: (z - 1) ** 2 / 4),
        (upu_convex, lambda z: np.logaddexp(0, -z)),
    ],
)
def test_kernel_models_minimise_the_pnu_risk(solve, loss):
    prior, eta, penalty = 0.3, 0.4, 0.1
    more = ("logistic",) if solve is upu_convex else ()
    alpha = solve(PHI["p"], PHI["u"], prior, penalty, *more, PHI["n"], eta, bias=False)

    def risk(a):
        p, u, n = (loss(sign * (PHI[kind] @ a)).mean()
                   for kind, sign in (("p", 1), ("u", -1), ("n", -1)))  # fmt: skip
        wrong = loss(-(PHI["p"] @ a)).mean()
        of_pu, of_pn = prior * (p - wrong) + u, prior * p + (1 - prior) * n
        # The penalty of the closed form is half of that of the other.
        return (1 - eta) * of_pu + eta * of_pn + penalty / (4 if not more else 2) * a @ a

    best = minimize(risk, np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(alpha, best.x, atol=2e-3)


def test_ramp_with_negatives_ends_at_the_pnu_risk_of_its_coefficients():
    prior, eta, penalty = 0.3, 0.4, 0.1
    alpha, trace = ramp_cccp(PHI["p"], PHI["u"], prior, penalty, PHI["n"], eta, bias=False)
    g_p, g_u, g_n = (PHI[kind] @ alpha for kind in "pun")
    lost_p, lost_n = np.clip(1 - g_p, 0, 2) / 2, np.clip(1 + g_n, 0, 2) / 2
    of_pn = prior * lost_p.mean() + (1 - prior) * lost_n.mean()
    whole = (1 - eta) * ramp_risk(g_p, g_u, prior) + eta * of_pn + penalty / 2 * alpha @ alpha
    # The kinks are rounded off.
    assert trace[-1] == pytest.approx(whole, abs=0.01)
    assert (np.diff(trace) <= 0).all()


# -- folds ------------------------------------------------------------------------------------


def test_negatives_are_dealt_to_all_folds_and_leave_the_other_rows_where_they_are():
    is_positive, is_negative = np.arange(100) < 20, np.arange(100) >= 90
    folds = number_folds(is_positive, 5, 3, is_negative)
    assert np.bincount(folds[is_negative]).tolist() == [2] * 5
    np.testing.assert_array_equal(folds[:90], number_folds(is_positive[:90], 5, 3))


def test_fewer_negatives_than_folds_are_dealt_without_a_warning():
    folds = number_folds(np.arange(50) < 10, 5, 0, np.arange(50) >= 48)
    assert len(set(folds[48:])) == 2


def test_a_member_never_learns_from_a_verified_negative_that_it_scores():
    is_seen, is_negative = np.arange(10) % 2 == 0, np.arange(10) >= 7
    member = Member(torch.nn.Linear(1, 1), is_seen, 0, is_negative=is_negative)
    assert member.verified.tolist() == [8]
    assert member.held_out.tolist() == [1, 3, 5, 7, 9]
    assert member.judges.tolist() == [1, 3, 5]


def test_copies_in_a_cross_validation_get_the_negatives_of_their_own_rows():
    class Spy(LogisticRegression):
        def fit(self, X, y, negative=None):
            seen.append((X[:, 0], negative))
            return super().fit(X, y)

    seen = []
    rows, negative = np.arange(12.0)[:, None], np.arange(12) >= 9
    cross_validate(Spy(), rows, np.arange(12) % 2, np.arange(12) % 3, negative=negative)
    for numbers, mask in seen:
        np.testing.assert_array_equal(mask, numbers >= 9)


# -- what fit takes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (np.arange(20), "must be a mask.*numpy.isin"),
        (np.zeros(200), "must be a mask.*float64"),
        (np.zeros(199, dtype=bool), "one entry for each of the 200 rows.*199"),
        (np.zeros((200, 1), dtype=bool), "one entry for each of the 200 rows"),
    ],
)
def test_what_is_not_a_mask_of_all_rows_is_refused(pu, mask, sentence):
    with pytest.raises(ValueError, match=sentence):
        LogisticPUClassifier().fit(pu.X, pu.y, negative=mask)


def test_rows_cannot_be_positive_and_negative(pu):
    with pytest.raises(ValueError, match="30 rows are labeled positive in y and marked"):
        LogisticPUClassifier().fit(pu.X, pu.y, negative=pu.y == 1)
    first = np.arange(200) == np.flatnonzero(pu.y)[0]
    with pytest.raises(ValueError, match="1 row is labeled positive"):
        LogisticPUClassifier().fit(pu.X, pu.y, negative=first)


def test_some_rows_have_to_be_unlabeled(pu):
    with pytest.raises(ValueError, match="needs unlabeled rows"):
        LogisticPUClassifier().fit(pu.X, pu.y, negative=pu.y == 0)


def test_masks_of_pandas_are_taken(pu, negative):
    model = LogisticPUClassifier(C=1.0, random_state=0)
    expected = model.fit(pu.X, pu.y, negative=negative).decision_function(pu.X)
    for mask in (negative.tolist(), pd.Series(negative), pd.Series(negative, dtype="boolean")):
        again = model.fit(pu.X, pu.y, negative=mask).decision_function(pu.X)
        np.testing.assert_array_equal(again, expected)


def test_a_refused_mask_leaves_an_earlier_fit_as_it_was(pu):
    model = LogisticPUClassifier(C=1.0, random_state=0).fit(pu.X, pu.y)
    expected = model.decision_function(pu.X)
    with pytest.raises(ValueError, match="one entry for each"):
        model.fit(pu.X[:, :2], pu.y, negative=[True])
    np.testing.assert_array_equal(model.decision_function(pu.X), expected)


def test_a_pipeline_hands_the_mask_on(pu, negative):
    pipeline = make_pipeline(StandardScaler(), MixPULClassifier(**QUICK))
    pipeline.fit(pu.X, pu.y, mixpulclassifier__negative=negative)
    rows = StandardScaler().fit_transform(pu.X)
    alone = MixPULClassifier(**QUICK).fit(rows, pu.y, negative=negative)
    np.testing.assert_array_equal(pipeline.decision_function(pu.X), alone.decision_function(rows))


def test_a_method_that_cannot_use_them_says_so_and_takes_them_for_unlabeled(pu, negative):
    class Own(NeuralPUClassifier):
        def _loss_terms(self, batch, progress):
            assert not len(batch.negative)
            logits = self.net_(torch.cat([batch.positive, batch.unlabeled]))
            positive, unlabeled = logits.chunk(2)
            return {"L": unlabeled.sigmoid().mean() - positive.sigmoid().mean()}

    with pytest.warns(UserWarning, match="Own cannot learn from verified negatives; the 20"):
        model = Own(**QUICK).fit(pu.X, pu.y, negative=negative)
    np.testing.assert_array_equal(
        model.decision_function(pu.X), Own(**QUICK).fit(pu.X, pu.y).decision_function(pu.X)
    )


# -- the methods ------------------------------------------------------------------------------


def test_verified_negatives_join_the_mined_ones_by_their_share():
    class First:
        def mine(self, positive, unlabeled, n):
            return np.arange(n)

    source = MinedNegatives(
        First(), np.zeros((20, 1)), np.arange(4), np.arange(4, 18), 6, [18, 19], share=0.25
    )
    # Six mined rows are three quarters, so that two verified ones are the rest.
    assert sorted(source()) == [4, 5, 6, 7, 8, 9, 18, 19]
    source.share = 0.5
    assert sorted(source()) == [4, 5, 6, 7, 8, 9, *[18] * 3, *[19] * 3]
    # Each is there at least once.
    source.share = 0.01
    assert sorted(source()) == [4, 5, 6, 7, 8, 9, 18, 19]


def test_mixpul_never_mines_a_verified_negative_nor_takes_it_for_unlabeled(pu, negative):
    seen = []

    class Spy:
        every_epoch = True

        def mine(self, positive, unlabeled, n):
            seen.append(unlabeled)
            return np.arange(n)

    rows = np.column_stack([pu.X, negative]).astype(np.float32)
    model = MixPULClassifier(miner=Spy(), **QUICK).fit(rows, pu.y, negative=negative)
    assert seen
    assert not any(part[:, -1].any() for part in seen)
    assert set(model.reliable_negatives_[:20]) == set(np.flatnonzero(negative))
    assert len(set(model.reliable_negatives_)) == len(model.reliable_negatives_)
    # Rows that no network has seen judge it, negatives are scored all the same.
    assert np.bincount(model.oof_folds_[negative]).tolist() == [10, 10]
    assert np.isfinite(model.oof_scores_[negative]).all()


def test_held_out_figures_do_not_count_verified_negatives(pu, negative):
    model = MixPULClassifier(**QUICK | {"n_epochs": 1}).fit(pu.X, pu.y, negative=negative)
    others = ~negative
    expected = pu_auc_score(pu.y[others], model.oof_scores_[others])
    assert model.history_[0]["pu_auc"] == pytest.approx(expected, abs=1e-6)


def test_one_verified_negative_is_enough_for_every_network(pu):
    one = np.arange(200) == np.flatnonzero(~pu.truth)[0]
    for model in (
        MixPULClassifier(**QUICK),
        NNPUClassifier(prior=0.3, **QUICK),
        UPUClassifier(prior=0.3, model="mlp", **QUICK),
        VPUClassifier(**QUICK),
    ):
        # A fold holds it out, so the other network has none.
        assert np.isfinite(model.fit(pu.X, pu.y, negative=one).oof_scores_).all()


def test_risk_methods_report_both_risks(pu, negative):
    model = NNPUClassifier(prior=0.3, **QUICK).fit(pu.X, pu.y, negative=negative)
    record = model.history_[0]
    assert record["loss"] == pytest.approx(record["R_PU"] + record["R_PN"])
    assert "R_PN" not in NNPUClassifier(prior=0.3, **QUICK).fit(pu.X, pu.y).history_[0]


def test_an_estimated_prior_is_the_share_among_the_rows_that_stay_unlabeled(pu, negative):
    others = ~negative
    with_them = NNPUClassifier(**QUICK).fit(pu.X, pu.y, negative=negative)
    without = NNPUClassifier(**QUICK).fit(pu.X[others], pu.y[others])
    assert with_them.prior_ == without.prior_


def test_a_checkpoint_belongs_to_its_negatives(pu, negative, tmp_path):
    class Stopped(Exception):
        pass

    class Stopping(NNPUClassifier):
        def _average_members(self, *arguments):
            raise Stopped

    settings = QUICK | {"prior": 0.3, "checkpoint": tmp_path / "state"}
    with pytest.raises(Stopped):
        Stopping(**settings).fit(pu.X, pu.y, negative=negative)
    with pytest.raises(ValueError, match="other parameters or other data"):
        Stopping(**settings).fit(pu.X, pu.y)


def test_verified_negatives_take_the_place_of_some_unlabeled_rows_of_each_tree(pu, negative):
    model = BaggingPUClassifier(n_estimators=50, random_state=0)
    model.fit(pu.X, pu.y, negative=negative)
    # 20 of them beside 30 positives: a fifth of the 30 others.
    n_seen = model._was_seen[negative].sum(axis=0)
    assert 1 <= n_seen.min() <= n_seen.max() == 6
    is_unlabeled = (pu.y == 0) & ~negative
    assert (model._was_seen[is_unlabeled].sum(axis=0) == 24).all()
    assert (model.oob_scores_[negative] != 0).all()


def test_a_tree_sees_an_unlabeled_row_beside_verified_negatives():
    X = np.random.default_rng(0).normal(size=(12, 2))
    y, negative = np.arange(12) < 5, np.arange(12) >= 6
    model = BaggingPUClassifier(n_estimators=3, random_state=0).fit(X, y, negative=negative)
    assert model._was_seen[5].all()


def test_members_of_other_estimators_get_verified_negatives_by_number(pu, negative):
    class Spy(LogisticRegression):
        def fit(self, X, y):
            counts.append((int(X[:, -1].sum()), len(y)))
            return super().fit(X, y)

    counts = []
    rows = np.column_stack([pu.X, negative]).astype(np.float32)
    model = BaggingPUClassifier(estimator=Spy(), n_estimators=2, random_state=0)
    model.fit(rows, pu.y, negative=negative)
    # 20 of them beside 30 positives: a fifth of the 30 others.
    assert counts == [(6, 60), (6, 60)]


def test_weighted_svm_takes_them_wholly_for_negatives(pu, negative):
    model = WeightedSVMClassifier(n_folds=2, random_state=0)
    model.fit(pu.X, pu.y, negative=negative)
    assert (model.weights_[negative] == 0).all()
    assert (model.weights_[pu.truth & (pu.y == 0)] > 0).any()


def test_a_portfolio_hands_them_to_those_that_can_use_them(pu, negative):
    candidates = {
        "line": LogisticPUClassifier(C=0.1),
        "other": LogisticRegression(),
        "trees": BaggingPUClassifier(n_estimators=10),
    }
    model = AutoPUClassifier(candidates=candidates, n_folds=3, random_state=0)
    model.fit(pu.X, pu.y, negative=negative)
    assert model.oof_scores_.shape == (200,)
    assert np.bincount(model.oof_folds_[negative]).tolist() == [7, 7, 6]
    # Judged by positives and unlabeled rows, as without negatives.
    others = ~negative
    for entry in model.leaderboard_:
        if entry["candidate"] in model.members_:
            scores = model._scores_left_out[entry["candidate"]]
            expected = pu_auc_score(pu.y[others], scores[others])
            assert entry["pu_auc"] == pytest.approx(expected)


def test_negatives_help_where_unlabeled_positives_abound():
    generator = np.random.default_rng(0)
    truth = generator.random(600) < 0.6
    X = generator.normal(size=(600, 6)) + 1.2 * truth[:, None] * [1, 1, 1, 0, 0, 0]
    y = (truth & (np.cumsum(truth) <= 30)).astype(int)
    negative = ~truth & (np.cumsum(~truth) <= 30)
    test = np.arange(600) >= 300
    y[test], negative[test] = 0, False
    for model in (
        LogisticPUClassifier(C=0.1, random_state=0),
        BaggingPUClassifier(n_estimators=100, random_state=0),
    ):
        without, told = (
            roc_auc_score(
                truth[test],
                model.fit(X[~test], y[~test], negative=mask).decision_function(X[test]),
            )
            for mask in (None, negative[~test])
        )
        assert told > without


# -- files of verdicts and label columns ------------------------------------------------------


def write_queue(path, text):
    path.write_text(text)
    return path


IS_POSITIVE = np.arange(10) < 3
IDS = [f"c{k}" for k in range(10)]


def test_verdicts_are_read_whatever_the_case_and_the_delimiter(tmp_path):
    text = "mixpul_row;name;verdict\n4;c4; No\n7;c7;YES\n9;c9;\n5;c5;unsure\n8;c8;no\n"
    path = write_queue(tmp_path / "q.csv", text)
    found = read_verdicts(path, IS_POSITIVE, id_column="name", ids=IDS)
    assert np.flatnonzero(found.is_negative).tolist() == [4, 8]
    assert np.flatnonzero(found.is_positive).tolist() == [7]
    assert (found.n_unsure, found.n_open) == (1, 1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("row,verdict\n4,no\n", "no column 'mixpul_row'"),
        ("mixpul_row,answer\n4,no\n", "no column 'verdict'"),
        ("mixpul_row,verdict\n4,maybe\n", "verdict on row 4 is 'maybe'; write yes, no or unsure"),
        ("mixpul_row,verdict\n4,true\n5,false\n", "verdict on row 4 is .?True"),
        ("mixpul_row,verdict\n10,no\n", "names row 10, but the table has 10 rows"),
        ("mixpul_row,verdict\n-1,no\n", "names row -1"),
        ("mixpul_row,verdict\n4.5,no\n", "must be the number of a row"),
        ("mixpul_row,verdict\nfour,no\n", "must be the number of a row"),
        ("mixpul_row,verdict\n,no\n4,no\n", "must be the number of a row"),
        ("mixpul_row,verdict\n4,no\n4,yes\n", "names row 4 twice"),
        ("mixpul_row,verdict\n2,no\n", "row 2, which is labeled positive"),
        ("mixpul_row,name,verdict\n4,c5,no\n", "calls row 4 'c5', but .* its 'name' is 'c4'"),
    ],
)
def test_verdicts_that_do_not_fit_the_table_are_refused(tmp_path, text, sentence):
    path = write_queue(tmp_path / "q.csv", text)
    with pytest.raises(ValueError, match=sentence):
        read_verdicts(path, IS_POSITIVE, id_column="name", ids=IDS)


def test_open_verdicts_on_labeled_rows_do_no_harm(tmp_path):
    path = write_queue(tmp_path / "q.csv", "mixpul_row,verdict\n2,\n4,no\n")
    assert read_verdicts(path, IS_POSITIVE).is_negative.sum() == 1


def test_a_third_value_of_the_label_means_verified_negative():
    frame = pd.DataFrame({"x": range(60), "y": ["yes", "no", "refused"] * 20})
    label = split_label(frame, "y", negative="refused")
    assert (label.is_positive.sum(), label.positive) == (20, "yes")
    assert find_negatives(frame, "y", "refused").tolist() == [False, False, True] * 20
    numbers = frame.assign(y=[1, 0, -1] * 20)
    assert split_label(numbers, "y", negative="-1").positive == 1
    assert find_negatives(numbers, "y", "-1").sum() == 20


def test_gaps_may_be_the_unlabeled_rows_beside_verified_negatives():
    frame = pd.DataFrame({"x": range(60), "y": ["good", None, "bad"] * 20})
    label = split_label(frame, "y", negative="bad", missing_is_unlabeled=True)
    assert label.is_positive.sum() == 20
    with pytest.raises(ValueError, match="is missing in 20 of 40 rows"):
        split_label(frame, "y", negative="bad")


def test_a_value_for_negatives_that_the_label_does_not_have_is_refused():
    frame = pd.DataFrame({"x": range(60), "y": ["yes", "no", "refused"] * 20})
    with pytest.raises(ValueError, match="said to be 'declined'; name one that it has"):
        split_label(frame, "y", negative="declined")
    with pytest.raises(ValueError, match=r"has 3 values.*--negative"):
        split_label(frame, "y")


# -- assess, compare and the commands ---------------------------------------------------------


@pytest.fixture(scope="module")
def leads():
    """A table of 240 rows: 40 labeled positives, 20 verified negatives."""
    generator = np.random.default_rng(1)
    truth = generator.random(240) < 0.45
    label = np.where(truth & (np.cumsum(truth) <= 40), "yes", "?").astype(object)
    label[np.flatnonzero(~truth)[:20]] = "refused"
    return pd.DataFrame(
        {
            "name": [f"c{k}" for k in range(240)],
            "age": generator.normal(size=240) + 1.5 * truth,
            "spent": generator.normal(size=240) + truth,
            "bought": label,
        }
    )


def test_figures_compare_positives_with_unlabeled_rows(leads):
    is_positive, negative = leads.bought == "yes", leads.bought == "refused"
    X = leads[["age", "spent"]]
    model = AutoPUClassifier(candidates=["trees", "logistic-0.1"])
    found = assess(model, X, is_positive, negative=negative)
    counts = {k: found.data[k] for k in ("rows", "positives", "unlabeled", "negatives")}
    assert counts == {"rows": 240, "positives": 40, "unlabeled": 180, "negatives": 20}
    others = ~negative.to_numpy()
    assert found.scores.shape == (240,)
    expected = pu_auc_score(is_positive[others], found.scores[others].astype(float))
    assert found.pu_auc.value == pytest.approx(expected, abs=1e-3)
    # Names of rows are those of the whole table.
    assert not {row["id"] for row in found.top} & set(1 + np.flatnonzero(negative))
    best = max(np.flatnonzero(others & ~is_positive), key=lambda row: found.scores[row])
    assert found.top[0]["id"] == best + 1


def test_folds_of_a_method_without_its_own_scores_learn_from_negatives(leads):
    is_positive, negative = leads.bought == "yes", leads.bought == "refused"
    X = leads[["age", "spent"]]
    model = LogisticPUClassifier(C=1.0)
    without, told = (assess(model, X, is_positive, negative=m) for m in (None, negative))
    assert without.data["negatives"] == 0
    assert (without.scores != told.scores).all()


def test_methods_are_compared_without_verified_negatives(leads, tmp_path):
    is_positive, negative = leads.bought == "yes", leads.bought == "refused"
    X = leads[["age", "spent"]]
    methods = {"line": LogisticPUClassifier(C=1.0), "other": LogisticPUClassifier(C=0.01)}
    found = compare(X, is_positive, methods, folder=tmp_path, n_folds=2, negative=negative)
    scores = np.array(json.loads((tmp_path / "line.json").read_text())["scores"])
    others = ~negative.to_numpy()
    expected = pu_auc_score(is_positive[others], scores[others])
    assert {one["method"]: one["pu_auc"].value for one in found.methods}["line"] == pytest.approx(
        expected
    )
    # Other negatives are another comparison: nothing of the first is taken over.
    again = compare(X, is_positive, methods, folder=tmp_path, n_folds=2)
    assert again.methods[0]["pu_auc"].value != found.methods[0]["pu_auc"].value


LINE = ["--method", "logistic", "--set", "C=1.0"]


def test_fit_takes_a_value_for_verified_negatives(leads, tmp_path):
    table, model = tmp_path / "leads.csv", tmp_path / "m.mixpul"
    leads.to_csv(table, index=False)
    words = ["fit", table, "--label", "bought", "--positive", "yes", "--negative", "refused"]
    done = run(*words, *LINE, "-o", model, "--report", tmp_path / "p.html")
    assert done.code == 0, done.err
    assert "40 labeled positives and 180 unlabeled rows, 20 verified negatives" in done.out
    info = describe(model)["info"]
    assert info["negative"] == "refused"
    assert info["assessment"]["negatives"] == 20
    assert "20 verified negatives" in (tmp_path / "p.html").read_text()
    assert "20 verified negatives" in run("inspect", model).out
    # The same table, judged: the third value is neither positive nor unlabeled.
    assert "40 labeled positives, 180 unlabeled rows" in run("evaluate", model, table).out


def test_fit_takes_verdicts_and_says_what_became_of_them(leads, tmp_path):
    table, queue, model = (tmp_path / name for name in ("t.csv", "queue.csv", "m.mixpul"))
    leads.assign(bought=leads.bought.replace("refused", "?")).to_csv(table, index=False)
    hidden = np.flatnonzero(leads.bought == "refused")
    lines = [f"{row},c{row},no" for row in hidden] + [
        f"{row},c{row},yes" for row in np.flatnonzero(leads.bought == "?")[-3:]
    ]
    write_queue(queue, "mixpul_row,name,verdict\n" + "\n".join(lines) + "\n")
    words = ["fit", table, "--label", "bought", "--positive", "yes", "--id", "name", *LINE]
    done = run(*words, "--verdicts", queue, "-o", model)
    assert done.code == 0, done.err
    assert "20 rows answered no are verified negatives. The 3 answered yes stay unlabeled" in (
        done.err
    )
    assert "20 verified negatives" in done.out
    # The same as the third value of the label.
    leads.to_csv(tmp_path / "three.csv", index=False)
    words[1], other = tmp_path / "three.csv", tmp_path / "other.mixpul"
    assert run(*words, "--negative", "refused", "-o", other).code == 0
    X = leads[["name", "age", "spent"]]
    np.testing.assert_array_equal(
        load(model).decision_function(X), load(other).decision_function(X)
    )


def test_verdicts_that_contradict_each_other_are_refused_in_a_sentence(leads, tmp_path):
    table = tmp_path / "t.csv"
    leads.to_csv(table, index=False)
    row = np.flatnonzero(leads.bought == "refused")[0]
    queue = write_queue(tmp_path / "q.csv", f"mixpul_row,verdict\n{row},yes\n")
    words = ["fit", table, "--label", "bought", "--positive", "yes", "--negative", "refused"]
    done = run(*words, *LINE, "--verdicts", queue, "-o", tmp_path / "m.mixpul")
    assert_one_sentence(done.err)
    assert f"says that row {row} is positive, but another verdict" in done.err
    assert not (tmp_path / "m.mixpul").exists()
    # Nor is a queue ever written over.
    done = run(*words, *LINE, "--verdicts", queue, "-o", queue, "--force")
    assert "is an input of this command" in done.err
