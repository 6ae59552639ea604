"""Rows are drawn by strata of the score, and verdicts on them give figures with intervals."""

import numpy as np
import pytest

from mixpul.assess import audit, review
from mixpul.assess.audit_figures import (
    Sample,
    compute_rates,
    count_more_rows,
    count_sides,
    draw_shares,
    draw_sides,
    estimate_auc,
    estimate_share,
)
from mixpul.assess.strata import allocate_rows, cut_strata, guess_probabilities
from mixpul.assess.verdicts import check_verdicts, read_verdict

SIZES, DRAWN, YES = np.array([100, 300, 600]), np.array([20, 20, 20]), np.array([18, 8, 1])


def make_rows(n=3000, seed=0, *, power=3.0):
    """Scores, the truth that rises with them, and rows labeled positive."""
    random = np.random.default_rng(seed)
    scores = random.random(n)
    truth = random.random(n) < scores**power
    return scores, truth, truth & (random.random(n) < 0.3)


def sample_by_hand():
    """The audit worked out by hand: rows of each stratum are spread evenly over its ranks."""
    strata = np.repeat([0, 1, 2], 20)
    before = np.repeat([0, 100, 400], 20)
    ranks = before + np.tile(np.arange(1, 21), 3) * np.repeat([5, 15, 30], 20)
    yes = np.concatenate([np.arange(20) < k for k in YES]).astype(float)
    return Sample(SIZES, strata, ranks, yes)


# -- figures worked out by hand -------------------------------------------------------------


def test_the_prior_and_its_error_are_those_of_the_strata():
    value, se = estimate_share(SIZES, DRAWN, YES)
    assert value == pytest.approx(0.24)
    assert se == pytest.approx(0.044373, abs=5e-7)


def test_precision_and_recall_above_two_strata():
    found, missed = count_sides(sample_by_hand(), 400)
    assert (found, missed) == pytest.approx((210, 30))
    rates = compute_rates(np.array([found]), np.array([missed]), [400])
    assert rates["precision"][0] == pytest.approx(0.525)
    assert rates["recall"][0] == pytest.approx(0.875)
    assert rates["f1"][0] == pytest.approx(2 * 210 / (400 + 240))


def test_intervals_by_jeffreys_rule_in_each_stratum():
    shares = draw_shares(SIZES, DRAWN, YES, 200_000, np.random.default_rng(0))
    positives = shares * SIZES
    found, total = positives[:, :2].sum(1), positives.sum(1)
    for draws, expected in (
        (total / 1000, (0.174, 0.354)),
        (found / 400, (0.374, 0.686)),
        (found / total, (0.611, 0.985)),
    ):
        assert np.quantile(draws, [0.025, 0.975]) == pytest.approx(expected, abs=0.003)


def test_a_threshold_inside_a_stratum_splits_its_rows():
    # Of the second stratum the first ten drawn rows are above, 8 of them yes, and ten below.
    found, missed = count_sides(sample_by_hand(), 250)
    assert found == pytest.approx(90 + 150 * 8 / 10)
    assert missed == pytest.approx(150 * 0 / 10 + 30)


def test_a_part_without_drawn_rows_has_the_share_of_its_stratum():
    # Nobody has looked at the first row of the second stratum.
    found, _ = count_sides(sample_by_hand(), 101)
    assert found == pytest.approx(90 + 0.4)


def test_a_stratum_that_was_checked_completely_is_known():
    shares = draw_shares([20, 300], [20, 20], [18, 8], 1000, np.random.default_rng(0))
    assert set(shares[:, 0]) == {0.9}
    assert len(set(shares[:, 1])) > 900


def test_the_added_answer_does_not_grow_with_the_number_of_strata():
    """Ten strata without a single yes say as little of the prior as one of the same rows."""
    priors = []
    for n_strata in (1, 10):
        strata = np.repeat(np.arange(n_strata), 60 // n_strata)
        sizes = np.full(n_strata, 6000 // n_strata)
        sample = Sample(sizes, strata, np.arange(60) * 100 + 1, np.zeros(60))
        found, missed = draw_sides(sample, 0, 20_000, np.random.default_rng(0))
        priors.append(np.quantile((found + missed) / 6000, [0.5, 0.975]))
    assert priors[1] == pytest.approx(priors[0], abs=0.006)


def test_auc_of_all_rows_is_the_ordinary_one():
    from sklearn.metrics import roc_auc_score

    scores, truth, _ = make_rows(300)
    order = np.argsort(-scores)
    strata = np.repeat([0, 1, 2], 100)
    sample = Sample(np.full(3, 100), strata, np.arange(1, 301), truth[order].astype(float))
    assert estimate_auc(sample) == pytest.approx(roc_auc_score(truth, scores), abs=0.001)


def test_three_times_as_many_more_rows_halve_the_interval():
    assert count_more_rows(60, 10**9) == 180
    # All rows of a small table leave nothing to chance.
    assert count_more_rows(100, 100) == 0


# -- the draw -------------------------------------------------------------------------------


def test_probabilities_are_the_prior_times_the_ratio_of_densities():
    # 50 labeled of 1000 rows, in three groups of scores with shares .02, .1 and .3.
    scores = np.repeat([0.1, 0.5, 0.9], [750, 200, 50])
    labeled = np.concatenate([np.arange(n) < k for n, k in ((750, 15), (200, 20), (50, 15))])
    found = guess_probabilities(scores, labeled, 0.2)
    assert found[[0, 800]] == pytest.approx([0.077551, 0.422222], abs=1e-6)
    assert found[-1] == 0.95  # 1, but no guess is sure


def test_the_allocation_follows_size_and_spread():
    assert allocate_rows(SIZES, np.array([0.3, 0.5, 0.1]), 60).tolist() == [8, 37, 15]


def test_each_stratum_has_three_rows_or_all_it_has():
    drawn = allocate_rows(np.array([2, 1000, 5000]), np.array([0.5, 0.0, 0.5]), 30)
    assert drawn.tolist() == [2, 3, 25]
    everything = allocate_rows(np.array([2, 10]), np.array([0.5, 0.5]), 60)
    assert everything.tolist() == [2, 10]


def test_strata_are_smaller_where_answers_vary():
    guess = np.concatenate([np.full(100, 0.5), np.full(900, 0.05)])
    sizes = cut_strata(guess, 4)
    assert sizes.sum() == 1000
    assert sizes[0] < sizes[-1] / 1.8


def test_labeled_rows_are_not_drawn_and_the_same_seed_draws_the_same():
    scores, _, labeled = make_rows()
    first, again, other = (review(scores, labeled, random_state=s) for s in (1, 1, 2))
    assert not labeled[first.rows].any()
    assert len(set(first.rows)) == 60
    np.testing.assert_array_equal(first.rows, again.rows)
    assert set(first.rows) != set(other.rows)
    assert first.sizes.sum() == (~labeled).sum()


def test_ranks_are_places_among_unlabeled_rows_and_strata_follow_them():
    scores, _, labeled = make_rows()
    drawn = review(scores, labeled)
    for row, rank in zip(drawn.rows, drawn.ranks, strict=True):
        assert (scores[~labeled] > scores[row]).sum() == rank - 1
    ends = np.cumsum(drawn.sizes)
    np.testing.assert_array_equal(drawn.strata, np.searchsorted(ends, drawn.ranks))


def test_the_first_half_of_a_queue_has_rows_of_all_strata():
    scores, _, labeled = make_rows()
    drawn = review(scores, labeled)
    whole, half = np.bincount(drawn.strata), np.bincount(drawn.strata[:30])
    assert (abs(half - whole / 2) <= 1).all()


def test_a_further_round_keeps_the_strata_and_draws_other_rows():
    scores, truth, labeled = make_rows()
    first = review(scores, labeled)
    second = review(scores, labeled, n=40, earlier=[first], verdicts=[truth[first.rows]])
    assert not set(first.rows) & set(second.rows)
    np.testing.assert_array_equal(first.sizes, second.sizes)
    assert (second.number, second.seed) == (2, first.seed)


def test_all_rows_can_be_drawn_round_by_round():
    scores = np.linspace(0, 1, 50)
    first = review(scores, n=30)
    second = review(scores, n=30, earlier=[first])
    assert sorted([*first.rows, *second.rows]) == list(range(50))
    assert len(review(scores, n=5, earlier=[first, second]).rows) == 0


def test_equal_scores_are_drawn_at_random():
    drawn = [review(np.full(1000, 0.5), n=50, random_state=seed).rows for seed in range(20)]
    assert 400 < np.concatenate(drawn).mean() < 600


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.1, np.nan],), "NaN"),
        (([0.1, 0.2], [True]), "one entry per row"),
        (([0.1], [True]), "no unlabeled row"),
    ],
)
def test_rows_that_cannot_be_drawn_from(arguments, words):
    with pytest.raises(ValueError, match=words):
        review(*arguments)


def test_settings_that_make_no_sense():
    with pytest.raises(ValueError, match="at least 1"):
        review([0.1, 0.2], n=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        review([0.1, 0.2], prior=1.0)
    earlier = review(np.linspace(0, 1, 90))
    with pytest.raises(ValueError, match="drawn from 90 unlabeled rows"):
        review(np.linspace(0, 1, 80), earlier=[earlier])


# -- the audit ------------------------------------------------------------------------------


def test_intervals_cover_the_truth_on_known_rows():
    """60 verdicts: class prior and precision within their intervals 9 times of 10 and more."""
    scores, truth, labeled = make_rows(seed=1000)
    above = scores[~labeled] > 0.8
    expected = truth[~labeled].mean(), truth[~labeled][above].mean()
    hits, widths = [], []
    for seed in range(1000, 1050):
        drawn = review(scores, labeled, prior=0.3, random_state=seed)
        found = audit(drawn, truth[drawn.rows], [0.8], flagged=[above.sum()], n_draws=400)
        precision = found.thresholds["precision"]
        hits.append(
            (
                found.prior.low <= expected[0] <= found.prior.high,
                precision["low"][0] <= expected[1] <= precision["high"][0],
            )
        )
        widths.append(found.prior.high - found.prior.low)
    assert (np.mean(hits, axis=0) >= 0.9).all()
    assert np.mean(widths) <= 0.2


def test_all_rows_checked_leave_nothing_to_chance():
    from sklearn.metrics import f1_score, recall_score

    scores, truth, _ = make_rows(60)
    drawn = review(scores, n=60)
    found = audit(drawn, truth[drawn.rows], [0.5], flagged=[(scores > 0.5).sum()])
    assert found.prior[:2] == (pytest.approx(truth.mean()), 0)
    assert found.prior.low == pytest.approx(found.prior.high)
    rates = {name: found.thresholds[name]["value"][0] for name in ("recall", "f1")}
    assert rates["recall"] == pytest.approx(recall_score(truth, scores > 0.5))
    assert rates["f1"] == pytest.approx(f1_score(truth, scores > 0.5))
    assert found.more_rows == 0


def test_unsure_answers_bound_figures_from_both_sides():
    scores, truth, labeled = make_rows()
    drawn = review(scores, labeled)
    words = np.where(truth[drawn.rows], "yes", "no").astype("<U6")
    words[::4] = "unsure"
    answers = {
        "sure": truth[drawn.rows],
        "unsure": words,
        "as no": np.where(words == "unsure", "no", words),
        "as yes": np.where(words == "unsure", "yes", words),
    }
    found = {name: audit(drawn, own, [0.8]) for name, own in answers.items()}
    assert found["unsure"].answers["unsure"] == 15
    assert found["unsure"].prior.low == pytest.approx(found["as no"].prior.low, abs=0.01)
    assert found["unsure"].prior.high == pytest.approx(found["as yes"].prior.high, abs=0.01)
    for name in ("precision", "recall", "f1"):
        wide = found["unsure"].thresholds[name]
        for other in ("sure", "as no", "as yes"):
            narrow = found[other].thresholds[name]
            assert wide["low"][0] <= narrow["low"][0] + 0.02
            assert wide["high"][0] >= narrow["high"][0] - 0.02
    assert found["unsure"].auc.low < min(found["as no"].auc.low, found["as yes"].auc.low) + 0.02


def test_open_rows_at_the_end_do_not_count_but_skipped_ones_are_unsure():
    scores, truth, labeled = make_rows()
    drawn = review(scores, labeled)
    words = np.where(truth[drawn.rows], "yes", "no")
    words[40:] = ""
    first_part = drawn._replace(
        **{part: getattr(drawn, part)[:40] for part in ("rows", "scores", "ranks", "strata")}
    )
    whole, part = audit(drawn, words, [0.5]), audit(first_part, words[:40], [0.5])
    assert whole.prior == part.prior
    assert whole.answers["open"] == 20
    skipped, unsure = words.astype("<U6"), words.astype("<U6")
    skipped[7], unsure[7] = "", "unsure"
    assert audit(drawn, skipped).prior == audit(drawn, unsure).prior
    assert audit(drawn, skipped).answers["skipped"] == 1


def test_rounds_add_up():
    scores, truth, labeled = make_rows()
    first = review(scores, labeled)
    second = review(scores, labeled, earlier=[first], verdicts=[truth[first.rows]])
    alone = audit(first, truth[first.rows])
    both = audit([first, second], [truth[first.rows], truth[second.rows]])
    assert both.answers["yes"] + both.answers["no"] == 120
    assert len(both.strata) == 1
    assert sum(one["checked"] for one in both.strata[0]) == 120
    assert both.prior.high - both.prior.low < alone.prior.high - alone.prior.low


def test_rounds_with_other_strata_are_averaged():
    scores, truth, labeled = make_rows()
    rounds = [review(scores, labeled, n=n, random_state=s) for n, s in ((40, 1), (100, 2))]
    verdicts = [truth[one.rows] for one in rounds]
    both = audit(rounds, verdicts, [0.5, 1.0])
    singles = [audit(one, own) for one, own in zip(rounds, verdicts, strict=True)]
    assert len(both.strata) == 2
    low, high = sorted(one.prior.value for one in singles)
    assert low <= both.prior.value <= high
    width = both.prior.high - both.prior.low
    assert width < min(one.prior.high - one.prior.low for one in singles)
    assert np.isnan(both.thresholds["precision"]["value"][1])


def test_where_nothing_is_flagged_there_is_no_precision():
    scores, truth, _ = make_rows(500)
    drawn = review(scores)
    found = audit(drawn, truth[drawn.rows], [1.0], flagged=[0]).to_dict()["thresholds"]
    assert found["precision"] == {"value": [None], "low": [None], "high": [None]}
    assert found["recall"]["value"] == [0]


def test_without_a_single_yes_the_prior_is_small_and_recall_unknown():
    drawn = review(np.linspace(0, 1, 1000))
    found = audit(drawn, np.full(60, False), [0.5])
    assert found.prior.value == 0
    assert found.prior.high < 0.1
    assert np.isnan(found.thresholds["recall"]["value"][0])
    assert np.isnan(found.auc.value)


def test_flagged_rows_are_interpolated_between_drawn_ones():
    scores = np.linspace(0, 1, 1001)
    drawn = review(scores, n=100)
    found = audit(drawn, scores[drawn.rows] > 0.5, [0.2, 0.5, 0.9, 1.0, -1])
    assert found.thresholds["flagged"] == pytest.approx([800, 500, 100, 0, 1001], abs=20)


def test_what_cannot_be_counted():
    drawn = review(np.linspace(0, 1, 1000))
    with pytest.raises(ValueError, match="No row has a verdict yet"):
        audit(drawn, [""] * 60)
    with pytest.raises(ValueError, match="A verdict is needed for each row"):
        audit(drawn, ["yes"])
    with pytest.raises(ValueError, match="Each round has verdicts of its own"):
        audit([drawn], [["yes"] * 60, ["no"] * 60])
    with pytest.raises(ValueError, match=r"none of them is from stratum \d of 5.*to its row \d+"):
        audit(drawn, ["yes", "no", *[""] * 58])


def test_words_of_verdicts():
    assert check_verdicts([" YES", "n", "Unsure", ""]).tolist() == ["yes", "no", "unsure", ""]
    assert check_verdicts(np.array([True, False])).tolist() == ["yes", "no"]
    with pytest.raises(ValueError, match=r"yes, no or unsure.*got 'maybe'"):
        read_verdict("maybe")
