import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone

from mixpul import datasets
from mixpul.miners import MINERS, DistanceMiner, NegativeMiner, NTCMiner, RandomMiner

FAST = {"rand": {"random_state": 0}, "dist": {}, "ntc": {"n_estimators": 40, "random_state": 0}}


class CentroidMiner:
    """All that a miner of one's own needs."""

    def mine(self, X_positive, X_unlabeled, n):
        distance = np.linalg.norm(X_unlabeled - X_positive.mean(axis=0), axis=1)
        return np.argsort(-distance, kind="stable")[:n]


def built_in():
    return [pytest.param(MINERS[name](**FAST[name]), id=name) for name in MINERS]


def clusters(seed=0):
    """Positives around (4, 4); the first 30 of 80 unlabeled rows are positives too."""
    generator = np.random.default_rng(seed)
    positive = generator.normal(4, 1, (25, 2))
    unlabeled = np.concatenate([generator.normal(4, 1, (30, 2)), generator.normal(0, 1, (50, 2))])
    return positive, unlabeled


@pytest.mark.parametrize("miner", [*built_in(), CentroidMiner()])
@pytest.mark.parametrize("n", [1, 40, 80])
def test_every_miner_returns_n_distinct_rows_of_the_unlabeled_part(miner, n):
    positive, unlabeled = clusters()
    assert isinstance(miner, NegativeMiner)
    mined = miner.mine(positive, unlabeled, n)
    assert mined.shape == (n,)
    assert mined.dtype.kind == "i"
    assert len(np.unique(mined)) == n
    assert mined.min() >= 0
    assert mined.max() < 80


@pytest.mark.parametrize("miner", built_in())
def test_a_smaller_set_is_the_head_of_a_larger_one(miner):
    positive, unlabeled = clusters()
    np.testing.assert_array_equal(
        miner.mine(positive, unlabeled, 20), miner.mine(positive, unlabeled, 50)[:20]
    )


@pytest.mark.parametrize("miner", built_in())
def test_frames_images_sparse_and_single_precision_give_the_same_rows(miner):
    # Halves are exact in either precision.
    positive, unlabeled = (np.round(2 * part) / 2 for part in clusters())
    expected = miner.mine(positive, unlabeled, 30)
    for convert in (
        np.float32,
        pd.DataFrame,
        lambda part: part.reshape(-1, 1, 2, 1),
        sparse.csr_matrix,
        sparse.csr_array,
        sparse.coo_array,
    ):
        mined = miner.mine(convert(positive), convert(unlabeled), 30)
        np.testing.assert_array_equal(mined, expected)
    mixed = miner.mine(positive, sparse.csr_array(unlabeled), 30)
    np.testing.assert_array_equal(mixed, expected)


@pytest.mark.parametrize("miner", built_in())
def test_miners_are_cloned_with_their_settings_and_leave_the_global_state_alone(miner):
    positive, unlabeled = clusters()
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    settings = miner.get_params()
    mined = miner.mine(positive, unlabeled, 10)
    assert miner.get_params() == settings
    np.testing.assert_array_equal(clone(miner).mine(positive, unlabeled, 10), mined)
    if "random_state" in settings:
        clone(miner).set_params(random_state=None).mine(positive, unlabeled, 10)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("miner", built_in())
def test_a_handful_of_rows_is_enough(miner):
    assert set(miner.mine([[0.0]], [[1.0], [2.0]], 2)) == {0, 1}


@pytest.mark.parametrize("miner", built_in())
def test_integer_features_are_taken_as_numbers(miner):
    assert len(miner.mine(np.ones((3, 2), dtype=np.uint8), np.zeros((4, 2), dtype=bool), 2)) == 2


@pytest.mark.parametrize("miner", built_in())
@pytest.mark.parametrize(
    ("shapes", "n", "message"),
    [
        (((3, 2), (5, 2)), 0, "from 1 to 5.*got 0"),
        (((3, 2), (5, 2)), 6, "from 1 to 5.*got 6"),
        (((3, 2), (5, 2)), 0.5, "from 1 to 5"),
        (((3, 2), (5, 3)), 2, "same features; got 2 and 3"),
        (((0, 2), (5, 2)), 2, "at least one positive"),
    ],
)
def test_every_miner_says_what_it_expected(miner, shapes, n, message):
    with pytest.raises(ValueError, match=message):
        miner.mine(*(np.zeros(shape) for shape in shapes), n)


@pytest.mark.parametrize(
    "miner",
    [
        RandomMiner(every_epoch="yes"),
        DistanceMiner(memory_mb=0),
        NTCMiner(n_estimators=0),
        NTCMiner(min_samples_leaf=-1),
        NTCMiner(random_state="today"),
    ],
)
def test_impossible_settings_are_refused_when_mining(miner):
    with pytest.raises(ValueError, match="parameter of"):
        miner.mine(*clusters(), 5)


def test_random_miner_is_as_pure_as_the_unlabeled_part():
    positive, unlabeled = clusters()
    miner = RandomMiner(random_state=np.random.default_rng(0))
    is_negative = np.arange(80) >= 30
    purity = [is_negative[miner.mine(positive, unlabeled, 10)].mean() for _ in range(400)]
    assert np.mean(purity) == pytest.approx(50 / 80, abs=0.03)


@pytest.mark.parametrize(
    "random_state", [None, np.random.RandomState(0), np.random.default_rng(0)], ids=type
)
def test_random_miner_draws_anew_at_each_call_unless_seeded_by_a_number(random_state):
    positive, unlabeled = clusters()
    miner = RandomMiner(every_epoch=True, random_state=random_state)
    first, second = (miner.mine(positive, unlabeled, 40) for _ in range(2))
    assert not np.array_equal(first, second)
    seeded = RandomMiner(every_epoch=True, random_state=0)
    first, second = (seeded.mine(positive, unlabeled, 40) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_distance_miner_ranks_by_the_mean_distance_not_the_distance_to_the_mean():
    positive = np.array([[-10.0, 0.0], [10.0, 0.0]])
    # Mean distances (13 + 7) / 2 = 10 and sqrt(104) = 10.2; distances to the mean 3 and 2.
    unlabeled = np.array([[3.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(DistanceMiner().mine(positive, unlabeled, 2), [1, 0])


@pytest.mark.parametrize("memory_mb", [1e-6, 0.01, 128])
@pytest.mark.parametrize("offset", [0, 1e8])
def test_distance_miner_agrees_with_plain_distances(memory_mb, offset):
    positive, unlabeled = (part + offset for part in clusters())
    expected = np.argsort(-cdist(unlabeled, positive).mean(axis=1), kind="stable")
    mined = DistanceMiner(memory_mb=memory_mb).mine(positive, unlabeled, 80)
    np.testing.assert_array_equal(mined, expected)


@pytest.mark.parametrize("name", ["krvskp", "titanic", "spambase"])
@pytest.mark.parametrize("memory_mb", [0.01, 0.3, 128])
def test_distance_miner_breaks_ties_by_row_order(name, memory_mb):
    # Equal rows may differ in the last bits of the product by their place in a block.
    X, y = datasets.load(name, return_X_y=True)
    positive, unlabeled = X[y == 1][:50], np.tile(X[y == 0][:37], (31, 1))
    mined = DistanceMiner(memory_mb=memory_mb).mine(positive, unlabeled, len(unlabeled))
    _, kinds = np.unique(unlabeled, axis=0, return_inverse=True)
    for kind in np.unique(kinds):
        of_this_kind = mined[kinds[mined] == kind]
        np.testing.assert_array_equal(of_this_kind, np.sort(of_this_kind))


def test_distance_miner_keeps_within_its_memory():
    generator = np.random.default_rng(0)
    positive = generator.normal(size=(2000, 5))
    unlabeled = generator.normal(size=(20_000, 5))
    full_matrix_mb = 20_000 * 2000 * 8 / 2**20
    tracemalloc.start()
    DistanceMiner(memory_mb=16).mine(positive, unlabeled, 100)
    peak_mb = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert peak_mb < 2 * 16 < full_matrix_mb / 5


def test_distance_miner_refuses_missing_values():
    with pytest.raises(ValueError, match="NaN in column 1"):
        DistanceMiner().mine([[0.0, 0.0]], [[1.0, np.nan], [0.0, 1.0]], 1)


@pytest.mark.parametrize("name", ["dist", "ntc"])
def test_mined_rows_are_purer_than_random_ones(name):
    positive, unlabeled = clusters()
    mined = MINERS[name](**FAST[name]).mine(positive, unlabeled, 30)
    assert (mined >= 30).mean() >= 0.95


def test_ntc_scores_come_from_trees_that_have_not_seen_the_row():
    # In-bag scores of deep trees would be 0 for every unlabeled row and leave the row order.
    positive, unlabeled = clusters()
    miner = NTCMiner(n_estimators=100, min_samples_leaf=1, random_state=0)
    assert (miner.mine(positive, unlabeled, 45) >= 30).mean() > 0.9


def test_ntc_takes_rows_that_no_tree_can_score_last():
    positive, unlabeled = clusters()
    mined = NTCMiner(n_estimators=1, random_state=0).mine(positive, unlabeled, 80)
    assert set(mined) == set(range(80))
    # One tree leaves about 37 % of the rows out; the others follow in their order.
    unscored = mined[-40:]
    np.testing.assert_array_equal(unscored, np.sort(unscored))


def test_ntc_repeats_with_its_seed_whatever_the_number_of_jobs():
    positive, unlabeled = clusters()
    mined = [
        NTCMiner(n_estimators=40, random_state=seed, n_jobs=n_jobs).mine(positive, unlabeled, 80)
        for seed, n_jobs in [(0, None), (0, 2), (1, None)]
    ]
    np.testing.assert_array_equal(mined[0], mined[1])
    assert not np.array_equal(mined[0], mined[2])
