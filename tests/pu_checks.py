"""What every PU classifier must do, beyond scikit-learn's checks. Each check takes one unfitted."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mixpul import load, save

RNG = np.random.default_rng(0)
TRUTH = RNG.random(300) < 0.4
X = (RNG.normal(size=(300, 5)) + 2 * TRUTH[:, None] * [1, 1, 0, 0, 0]).astype(np.float32)
Y = (TRUTH & (RNG.random(300) < 0.5)).astype(int)


def check_learns_two_blobs(estimator):
    model = estimator.set_params(random_state=0).fit(X, Y)
    assert roc_auc_score(TRUTH, model.decision_function(X)) > 0.9


def check_labels_of_any_kind_give_the_same_scores(estimator):
    expected = clone(estimator).set_params(random_state=0).fit(X, Y).decision_function(X)
    for y in (2 * Y - 1, Y.astype(bool), Y.astype(float), pd.Series(Y)):
        model = clone(estimator).set_params(random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X), expected)
        assert set(model.predict(X)) <= set(np.unique(y))
    text = np.where(Y == 1, "known", "unknown")
    model = clone(estimator).set_params(random_state=0, pos_label="known").fit(X, text)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    assert model.classes_.tolist() == ["unknown", "known"]


def check_arrays_of_any_kind_give_the_same_scores(estimator):
    whole = np.round(4 * X)  # small integers: exact in every type below
    expected = clone(estimator).set_params(random_state=0).fit(whole, Y).decision_function(whole)
    kinds = {
        "float64": whole.astype(np.float64),
        "integer": whole.astype(np.int64),
        "fortran": np.asfortranarray(whole),
        "sparse": sparse.csr_array(whole),
        "list": whole.tolist(),
    }
    for name, rows in kinds.items():
        scores = clone(estimator).set_params(random_state=0).fit(rows, Y).decision_function(rows)
        np.testing.assert_array_equal(scores, expected, err_msg=name)


def check_memory_maps_are_read_only_and_not_copied(estimator):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        mapped = np.load(f"{folder}/X.npy", mmap_mode="r")
        scores = (
            clone(estimator).set_params(random_state=0).fit(mapped, Y).decision_function(mapped)
        )
        expected = clone(estimator).set_params(random_state=0).fit(X, Y).decision_function(X)
        np.testing.assert_array_equal(scores, expected)
        del mapped


def check_frames_keep_feature_names(estimator):
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), estimator).fit(frame, Y)
    assert model[-1].feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        model[-1].predict(frame[list("edcba")])


def check_same_seed_same_scores_to_the_bit(estimator):
    first, second = (clone(estimator).set_params(random_state=7).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    other = clone(estimator).set_params(random_state=8).fit(X, Y)
    assert (first.decision_function(X) != other.decision_function(X)).any()


def check_global_state_is_left_alone(estimator):
    np.random.seed(3)
    torch.manual_seed(3)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()
    try:
        for seed in (0, None):
            clone(estimator).set_params(random_state=seed).fit(X, Y).predict(X)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])
    assert torch.equal(torch.get_rng_state(), before[1])


def check_probabilities_order_like_scores(estimator):
    model = estimator.set_params(random_state=0).fit(X, Y)
    scores, probabilities = model.decision_function(X), model.predict_proba(X)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    assert (np.diff(probabilities[np.argsort(scores, kind="stable"), 1]) >= 0).all()
    np.testing.assert_array_equal(model.predict(X) == model.classes_[1], scores > 0)


def check_calibrated_probabilities_grow_with_the_score_and_have_the_prior_as_their_mean(estimator):
    model = estimator.set_params(random_state=0).fit(X, Y)
    if not hasattr(model, "density_ratio_"):
        with pytest.raises(ValueError, match="held no rows"):
            model.predict_proba(X, calibrated=True, prior=0.2)
        return
    probabilities = model.predict_proba(X, calibrated=True, prior=0.2)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    order = np.argsort(model.decision_function(X), kind="stable")
    assert (np.diff(probabilities[order, 1]) >= 0).all()
    # Rows that were learned from score a little differently from rows that were left out.
    assert 0.1 < probabilities[Y == 0, 1].mean() < 0.35
    with tempfile.TemporaryDirectory() as folder:
        save(model, f"{folder}/model")
        again = load(f"{folder}/model").predict_proba(X, calibrated=True, prior=0.2)
    np.testing.assert_array_equal(again, probabilities)


def check_the_threshold_is_the_raw_score_that_becomes_zero(estimator):
    model = estimator.set_params(random_state=0).fit(X, Y)
    assert isinstance(model.threshold_, float)
    raw = model._scores(model._check_input(X))
    np.testing.assert_array_equal(model.decision_function(X) > 0, raw > model.threshold_)


def check_a_refused_fit_leaves_an_earlier_one_as_it_was(estimator):
    model = estimator.set_params(random_state=0).fit(X, Y)
    expected = model.decision_function(X)
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X[:, :3], np.zeros(len(Y)))
    np.testing.assert_array_equal(model.decision_function(X), expected)


def check_a_mask_without_negatives_changes_nothing_to_the_bit(estimator):
    expected = clone(estimator).set_params(random_state=0).fit(X, Y).decision_function(X)
    none = np.zeros(len(Y), dtype=bool)
    model = clone(estimator).set_params(random_state=0).fit(X, Y, negative=none)
    np.testing.assert_array_equal(model.decision_function(X), expected)


def check_verified_negatives_are_taken(estimator):
    negative = ~TRUTH & (np.arange(300) % 4 == 0)
    model = estimator.set_params(random_state=0).fit(X, Y, negative=negative)
    assert "_is_negative" not in vars(model)
    assert roc_auc_score(TRUTH, model.decision_function(X)) > 0.9
    for name in ("oof_scores_", "oob_scores_"):
        scores = getattr(model, name, np.zeros(300))
        assert scores.shape == (300,)
        assert np.isfinite(scores).all()


def check_rows_are_scored_one_by_one(estimator):
    model = estimator.set_params(random_state=0).fit(X, Y)
    together = model.decision_function(X)
    alone = np.concatenate([model.decision_function(X[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, together[:20], rtol=1e-4, atol=1e-5)


def check_save_and_load_give_the_same_scores_to_the_bit(estimator):
    model = estimator.set_params(random_state=0).fit(X, Y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(model, path)
        loaded = load(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    again = clone(loaded).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


PU_CHECKS = [
    check
    for name, check in list(globals().items())
    if name.startswith("check_") and callable(check)
]
