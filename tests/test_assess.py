import dataclasses
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    PUAUCClassifier,
    UPUClassifier,
    VPUClassifier,
)
from mixpul._names import STUDENTS
from mixpul._util.errors import MixpulError
from mixpul._util.json_values import to_plain
from mixpul.assess import METHODS, Source, assess, compare
from mixpul.assess.checks import QUESTIONS, VERDICTS
from mixpul.assess.checks.class_prior import check_class_prior
from mixpul.assess.checks.enough_positives import check_enough_positives
from mixpul.assess.checks.label_odds import compare_odds
from mixpul.assess.checks.leaks import check_leaks
from mixpul.assess.checks.random_draw import check_random_draw
from mixpul.assess.checks.ranking import check_better_than_chance
from mixpul.assess.checks.simple_method import check_simple_method
from mixpul.assess.claims import make_claims
from mixpul.assess.comparison import _advise
from mixpul.assess.figures import bound_auc, bound_counts, bound_f1, bound_precision
from mixpul.assess.importance import ShuffledScores
from mixpul.assess.intervals import estimate_auc_difference
from mixpul.assess.models import (
    choose_image_classifier,
    choose_methods,
    choose_pipeline,
    hand_on_prior,
)
from mixpul.assess.out_of_fold import fit_on_all_rows, score_out_of_fold
from mixpul.assess.priors import estimate_priors
from mixpul.assess.rows import prepare_rows
from mixpul.assess.thresholds import (
    compute_curves,
    find_promised_threshold,
    find_recall_threshold,
    list_lowest_positives,
    suggest_thresholds,
)
from mixpul.assess.top_rows import write_cells
from mixpul.metrics import (
    Estimate,
    PURates,
    auc_interval,
    pu_auc_score,
    pu_interval,
    recall_threshold,
)
from mixpul.metrics.shares import logit_interval, wilson_interval
from mixpul.tables import Leak, TableInput

KEYS = {
    "data", "method", "settings", "seed", "folds", "pu_auc", "prior", "corrected_auc",
    "thresholds", "suggested", "histogram", "top", "bottom", "importance", "leaderboard",
    "networks", "agreement", "doubtful", "history", "checks", "warnings", "made",
}  # fmt: skip


def made_table(n=500, seed=0):
    """Customers of whom a third is interested; of those a third, drawn at random, has bought."""
    random = np.random.default_rng(seed)
    interested = random.random(n) < 1 / 3
    table = pd.DataFrame(
        {
            "customer": [f"c{i}" for i in range(n)],
            "income": np.exp(random.normal(size=n) + 2 * interested),
            "city": np.where(random.random(n) < 0.3 + 0.4 * interested, "Oslo", "Rome"),
            "height": random.normal(size=n),
        }
    )
    return table, interested & (random.random(n) < 1 / 3)


@pytest.fixture(scope="module")
def table():
    return made_table()


@pytest.fixture(scope="module")
def found(table):
    return assess(brief(), *table)


def brief(**params):
    cheap = {"net": (8,), "n_epochs": 5, "batch_size": 32, "cross_fitting": 3, "random_state": 0}
    return MixPULClassifier(**(cheap | params))


# -- the assessment -------------------------------------------------------------------------


def test_mixpul_is_judged_by_the_out_of_fold_scores_of_its_one_fit(found, table):
    classifier = found.model[-1]
    np.testing.assert_array_equal(found.scores, expit(classifier.oof_scores_))
    assert found.pu_auc == pytest.approx(auc_interval(table[1], classifier.oof_scores_))
    assert found.folds == 3


def test_the_model_is_that_of_a_plain_fit(found, table):
    X, is_positive = table
    alone = make_pipeline(TableInput(), brief()).fit(X, is_positive)
    np.testing.assert_array_equal(found.model.predict_proba(X), alone.predict_proba(X))


def test_a_method_without_scores_of_its_own_is_cross_validated(table):
    X, is_positive = table
    classifier = PUAUCClassifier(prior=0.2, n_centres=20, random_state=0)
    found = assess(classifier, X, is_positive, n_folds=4, random_state=7)
    rows = TableInput().fit_transform(X)
    folds = StratifiedKFold(4, shuffle=True, random_state=7)
    expected = cross_val_predict(
        classifier, rows, is_positive.astype(int), cv=folds, method="decision_function"
    )
    np.testing.assert_allclose(found.scores, expit(expected), rtol=1e-5)
    assert found.folds == 4
    assert found.history == []


def fit_once(model, table):
    """Return the prepared rows and the out-of-fold scores of a model fitted on all of them."""
    X, is_positive = table
    rows = prepare_rows(model, X, is_positive, 0)
    fit_on_all_rows(rows.classifier, rows.values, is_positive, 0)
    return rows, score_out_of_fold(rows.classifier, rows.values, is_positive, 3, 0, 0)


@pytest.mark.parametrize("kind", ["portfolio", "networks", "cross-validated"])
def test_rows_that_are_not_shuffled_have_their_out_of_fold_scores(table, kind):
    model = {
        # Of all three some part is kept: trees score by bags, the others by folds.
        "portfolio": AutoPUClassifier(candidates=["trees", "logistic-0.1", brief(n_epochs=20)]),
        "networks": brief(),
        "cross-validated": PUAUCClassifier(prior=0.2, n_centres=20),
    }[kind]
    rows, fitted = fit_once(model, table)
    if kind == "portfolio":
        assert min(rows.classifier.weights_.values()) > 0.03
    # Some rows of a fold only, in another order than in the fit.
    for k, scorer in enumerate(fitted.scorers):
        places = np.random.default_rng(k).permutation(np.flatnonzero(fitted.folds == k))[:50]
        again = scorer(rows.values[places], places)
        np.testing.assert_allclose(again, fitted.scores[places], atol=1e-4)


def test_the_portfolio_is_judged_by_its_one_fit_and_tells_how_it_weighed(table, monkeypatch):
    fits = []
    fit = AutoPUClassifier.fit
    monkeypatch.setattr(
        AutoPUClassifier, "fit", lambda self, *args: fits.append(1) or fit(self, *args)
    )
    # So that both candidates are members, however well they score.
    monkeypatch.setattr("mixpul.methods.auto.weigh", lambda z, beliefs: np.ones(len(z)) / len(z))
    several = brief(weight_decay=[0.1, 0.001], n_epochs=2)
    model = AutoPUClassifier(candidates={"several": several, "pnu": PUAUCClassifier(prior=0.2)})
    found = assess(model, *table)
    assert len(fits) == 1
    classifier = found.model[-1]
    np.testing.assert_array_equal(found.scores, expit(classifier.oof_scores_))
    assert found.leaderboard == classifier.leaderboard_
    assert found.history == []
    assert found.importance[0]["column"] == "income"
    content = found.to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert [one["candidate"] for one in content["networks"]] == ["several", "several"]
    assert [one["net"] for one in content["networks"]] == ["(8,)", "(8,)"]
    assert sum(one["weight"] for one in content["networks"]) == pytest.approx(1)


def test_settings_that_mixpul_has_weighed_are_told(table):
    found = assess(brief(weight_decay=[0.1, 0.001], n_epochs=2), *table)
    assert [one["weight_decay"] for one in found.networks] == [0.1, 0.001]
    assert {one["candidate"] for one in found.networks} == {None}
    assert found.leaderboard == []


def test_by_default_tables_get_the_portfolio_and_images_mixpul():
    assert isinstance(choose_pipeline(None, 3)[-1], AutoPUClassifier)
    assert choose_pipeline(None, 3)[-1].random_state == 3
    assert isinstance(choose_image_classifier(None, 3, 100), MixPULClassifier)


def test_a_network_without_cross_fitting_is_cross_validated_too(table):
    found = assess(brief(cross_fitting=None, n_epochs=2), *table, n_folds=2)
    assert found.folds == 2
    assert np.isfinite(found.scores).all()


@pytest.mark.parametrize("method", [VPUClassifier, UPUClassifier])
def test_other_methods_are_assessed_alike(table, method):
    model = method(n_epochs=2, batch_size=32) if method is VPUClassifier else method(n_centres=20)
    found = assess(model, *table, n_folds=2)
    assert found.method == method.__name__
    assert found.pu_auc.value > 0.6


def test_the_same_seed_gives_the_same_assessment(found, table):
    again = assess(brief(), *table)
    first, second = found.to_dict(), again.to_dict()
    assert first.pop("made").keys() == second.pop("made").keys()
    assert first == second


def test_it_is_plain_json_with_all_the_keys(found):
    content = found.to_dict()
    assert set(content) == KEYS
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["data"]["rows"] == content["data"]["positives"] + content["data"]["unlabeled"]
    assert [c["column"] for c in content["data"]["columns"]] == [
        "customer",
        "income",
        "city",
        "height",
    ]
    assert content["settings"]["n_epochs"] == 5
    assert {"L_PN", "L_U", "L_PU", "pu_auc", "epoch"} <= content["history"][0].keys()


def test_the_judging_shows_how_far_it_is(table, capsys):
    assess(brief(n_epochs=2), *table, verbose=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"Judging .* 7/7 steps", shown.err)


def test_numbers_that_are_none_become_null():
    assert to_plain({"a": [np.float32(0.5), np.inf], "b": Estimate(1.0, np.nan, 0.0, 2.0)}) == {
        "a": [0.5, None],
        "b": {"value": 1.0, "se": None, "low": 0.0, "high": 2.0},
    }


def test_the_top_rows_are_unlabeled_named_and_in_order(table):
    X, is_positive = table
    found = assess(brief(), X, is_positive, ids=X["customer"].tolist())
    assert len(found.top) == 50
    scores = [row["score"] for row in found.top]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == found.scores[~is_positive].max()
    rows = [int(row["id"].removeprefix("c")) for row in found.top]
    assert not is_positive[rows].any()
    assert set(found.top[0]["values"]) == {"income", "city", "height"}
    assert found.top[0]["values"]["city"] == X["city"][rows[0]]


def test_rows_without_ids_are_counted_from_one(found, table):
    row = found.top[0]["id"]
    assert found.scores[row - 1] == pytest.approx(found.top[0]["score"])


def test_importance_names_columns_of_the_table_and_finds_the_one_that_matters(found):
    columns = [entry["column"] for entry in found.importance]
    assert columns[0] == "income"
    assert set(columns) == {"income", "city", "height"}  # not city=Oslo; the id is not used
    drops = {entry["column"]: entry for entry in found.importance}
    assert drops["income"]["drop"] > 3 * drops["income"]["se"]
    assert abs(drops["height"]["drop"]) < 0.05


def test_the_histogram_holds_all_rows(found):
    assert len(found.histogram["edges"]) == 41
    for kind in ("positives", "unlabeled"):
        assert sum(found.histogram[kind]) == pytest.approx(1)


def test_columns_may_be_named_by_numbers(table):
    X, is_positive = table
    found = assess(brief(n_epochs=2), X.set_axis(range(4), axis=1), is_positive)
    assert set(found.top[0]["values"]) == {"1", "2", "3"}


def test_one_positive_cannot_be_held_out(table):
    X, _ = table
    with pytest.raises(ValueError, match="at least 2 labeled positives"):
        assess(brief(), X, np.arange(len(X)) == 3)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("mixup", "no method 'mixup'; there are auto, mixpul"),
        (StandardScaler(), "classifier of mixpul; got StandardScaler"),
        (make_pipeline(StandardScaler(), brief()), "a TableInput and a classifier; got Standard"),
    ],
)
def test_what_cannot_be_assessed_is_refused(table, model, words):
    with pytest.raises(ValueError, match=words):
        assess(model, *table)


def test_labels_of_another_length_are_refused(table):
    with pytest.raises(ValueError, match="500 rows and 499 labels"):
        assess(brief(), table[0], table[1][:-1])


class Warns(PUAUCClassifier):
    def _fit(self, X, is_positive):
        warnings.warn("The moon is full.", UserWarning, stacklevel=2)
        warnings.warn("For programmers.", FutureWarning, stacklevel=2)
        return super()._fit(X, is_positive)


def test_the_source_is_passed_on_and_the_assessment_is_finished(table):
    source = Source(
        name="leads.csv", label="bought", positive="yes", id="customer", fingerprint="sha256:0",
        command="mixpul fit leads.csv", warnings=["Few rows."],
    )  # fmt: skip
    found = assess(brief(n_epochs=1), *table, source=source)
    data = found.to_dict()["data"]
    assert [data[key] for key in ("source", "label", "positive", "id", "fingerprint")] == [
        "leads.csv", "bought", "yes", "customer", "sha256:0"
    ]  # fmt: skip
    assert found.made["command"] == "mixpul fit leads.csv"
    assert found.warnings == ["Few rows."]
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.warnings = []


def test_warnings_of_the_fit_are_kept_once_and_raised_for_the_caller(table):
    model = Warns(prior=0.2, n_centres=20)
    source = Source(warnings=["Few rows."])
    for _ in range(2):  # also in a process that has seen them before
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            found = assess(model, *table, source=source, n_folds=2)
        assert found.warnings == ["Few rows.", "The moon is full."]
        assert {str(one.message) for one in caught} == {"The moon is full.", "For programmers."}


def test_warnings_are_raised_for_the_caller_also_if_the_fit_fails(table):
    class Fails(Warns):
        def _fit(self, X, is_positive):
            super()._fit(X, is_positive)
            raise RuntimeError("no luck")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with pytest.raises(RuntimeError, match="no luck"):
            assess(Fails(prior=0.2, n_centres=20), *table)
    assert "The moon is full." in {str(one.message) for one in caught}


def test_the_model_is_handed_over_as_soon_as_it_is_fitted(table, monkeypatch):
    handed = []
    monkeypatch.setattr(
        "mixpul.assess.assessment.score_out_of_fold", lambda *args: pytest.fail("judged first")
    )
    with pytest.raises(pytest.fail.Exception, match="judged first"):
        assess(brief(n_epochs=1), *table, on_fitted=handed.append, verbose=0)
    (model,) = handed
    assert len(model.predict(table[0])) == len(table[0])


def net_of_four(shape):
    from mixpul.nets import MLP

    return MLP(shape, (4,))


def test_a_network_given_as_a_function_is_named(table):
    found = assess(brief(n_epochs=1, net=net_of_four), *table)
    assert found.settings["net"] == "net_of_four"


NULLABLE = {
    "boolean": [True, False, None],
    "Int64": [1, 2, None],
    "Float64": [0.5, 2.0, None],
    "string": ["a", "b", None],
    "category": ["a", "b", None],
    "datetime64[ns]": ["2024-01-01", "2024-02-03", None],
    "bool[pyarrow]": [True, False, None],
    "int64[pyarrow]": [1, 2, None],
    "string[pyarrow]": ["a", "b", None],
    "object": [True, False, None],
}


@pytest.mark.parametrize("dtype", NULLABLE)
def test_gaps_of_every_type_of_column_are_empty_cells(dtype):
    first, second, gap = written(pd.Series(NULLABLE[dtype], dtype=dtype))
    assert "" not in (first, second)
    assert gap == ""


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "Float64", "string", "object"])
def test_a_column_with_gaps_can_be_assessed(table, dtype):
    X, is_positive = table
    values = pd.Series((NULLABLE[dtype] * len(X))[: len(X)], dtype=dtype)
    found = assess(brief(n_epochs=1), X.assign(more=values), is_positive)
    shown = {row["values"]["more"] for row in found.top}
    assert "" in shown
    assert len(shown) == 3
    json.dumps(found.to_dict(), allow_nan=False)


# -- differences ----------------------------------------------------------------------------


def test_the_difference_of_two_aucs_worked_out_by_hand():
    is_positive = np.array([True, True, False, False])
    # Of 4 pairs 4 are in order, then 3: the second positive is below the first unlabeled row.
    gap = estimate_auc_difference(is_positive, np.array([4, 3, 2, 1]), np.array([4, 1.5, 2, 1]))
    assert gap.value == pytest.approx(1 - 0.75)
    # Components differ by 0 and 1/2 over the positives, and by 1/2 and 0 over the others.
    assert gap.se == pytest.approx(np.sqrt(0.125 / 2 + 0.125 / 2))


def test_the_difference_of_equal_scores_is_zero_for_sure():
    is_positive = np.arange(20) < 5
    scores = np.random.default_rng(0).normal(size=20)
    assert estimate_auc_difference(is_positive, scores, 3 * scores)[:2] == (0.0, 0.0)


def test_the_standard_error_of_a_difference_is_that_of_resamples():
    random = np.random.default_rng(0)
    is_positive = np.arange(600) < 150
    one = random.normal(size=600) + is_positive
    other = one + random.normal(size=600)
    gaps = []
    for _ in range(500):
        rows = np.concatenate([random.integers(150, size=150), random.integers(150, 600, size=450)])
        gaps.append(
            pu_auc_score(is_positive[rows], one[rows])
            - pu_auc_score(is_positive[rows], other[rows])
        )
    assert estimate_auc_difference(is_positive, one, other).se == pytest.approx(
        np.std(gaps), rel=0.15
    )


def test_cells_of_the_highest_rows_are_written_in_full():
    values = [1205620.0, 0.1234567, 3.0, None, np.nan, "a", 1e300]
    assert written(pd.Series(values, dtype=object)) == [
        "1205620", "0.123457", "3", "", "", "a", "1e+300"
    ]  # fmt: skip


def written(column):
    cells = write_cells(column.to_frame("a"), np.arange(len(column)), ["a"])
    return [cell["a"] for cell in cells]


# -- curves ---------------------------------------------------------------------------------


KNOWN = {"source": "given", "value": 0.3, "upper": 0.5, "low": None, "high": None}


def curves_of(is_positive, scores):
    scores = np.asarray(scores, dtype=np.float32)
    cuts = suggest_thresholds(is_positive, scores, 0.3)
    prior = KNOWN | {"low": 0.26, "high": 0.34}
    return cuts, compute_curves(is_positive, scores, prior, cuts)


def cut_for(curves, recall):
    return find_recall_threshold(curves["threshold"], curves["recall"]["value"], recall)


@pytest.fixture(scope="module")
def scored():
    random = np.random.default_rng(1)
    is_positive = np.arange(2000) < 300
    truth = is_positive | (random.random(2000) < 0.3)
    return is_positive, expit(random.normal(size=2000) * 1.5 + 2 * truth - 1).astype(np.float32)


def test_every_point_of_the_curves_is_what_the_rates_say(scored):
    is_positive, scores = scored
    cuts, curves = curves_of(*scored)
    assert len(curves["threshold"]) == 200
    assert curves["threshold"] == sorted(curves["threshold"])
    assert set(cuts.values()) <= set(curves["threshold"])
    for k in range(0, 200, 7):
        rates = PURates.from_masks(is_positive, scores > curves["threshold"][k], 0.3)
        assert curves["recall"]["value"][k] == pytest.approx(rates.recall)
        assert curves["flagged"]["value"][k] == pytest.approx(rates.flagged)
        if rates.flagged > 0:
            assert curves["precision"]["value"][k] == pytest.approx(min(rates.precision, 1))
            assert curves["f1"]["value"][k] == pytest.approx(rates.f1)


def test_bands_hold_the_values_and_are_those_of_the_bootstrap(scored):
    is_positive, scores = scored
    _, curves = curves_of(*scored)
    for name in ("recall", "flagged", "precision", "f1"):
        # The last point flags no row: it has no precision.
        low, value, high = (np.array(curves[name][part][:-1]) for part in ("low", "value", "high"))
        assert ((low >= 0) & (low <= value) & (value <= high) & (high <= 1)).all()
    k = curves["threshold"].index(0.5)
    for name in ("recall", "precision", "f1"):
        expected = pu_interval(
            name, is_positive, scores, threshold=0.5, prior=0.3, prior_se=0.02, random_state=0
        )
        assert curves[name]["low"][k] == pytest.approx(expected.low, abs=0.02)
        assert curves[name]["high"][k] == pytest.approx(min(expected.high, 1), abs=0.02)


def test_a_recall_of_one_on_few_rows_has_a_band(scored):
    is_positive = np.arange(100) < 5
    scores = np.where(is_positive, 0.9, 0.1)
    _, curves = curves_of(is_positive, scores)
    k = curves["threshold"].index(0.5)
    assert curves["recall"]["value"][k] == 1
    # Wilson's interval of 5 of 5 would begin at 0.566. Of the 28.5 hidden positives that a prior of
    # 0.3 means, 5 labeled ones tell as much as 5 * 28.5 / 33.5 = 4.25 of 4.25, so at 0.525.
    assert curves["recall"]["low"][k] == pytest.approx(0.525, abs=0.001)


def test_where_nothing_is_flagged_the_precision_is_unknown(scored):
    _, curves = curves_of(*scored)
    assert curves["flagged"]["value"][-1] == 0
    assert [curves["precision"][part][-1] for part in ("low", "value", "high")] == [None] * 3


def test_a_recall_is_promised_by_its_name_if_there_are_enough_positives(scored):
    is_positive, scores = scored
    cuts, _ = curves_of(*scored)
    assert list(cuts) == ["0.5", "prior", "f1", "recall>=0.9"]
    # Of 300 positives the 22nd lowest: P(Beta(22, 279) <= .1) = .954.
    n_below = int((scores[is_positive] <= cuts["recall>=0.9"]).sum())
    assert n_below == 21
    few = np.arange(100) < 28
    assert list(suggest_thresholds(few, np.linspace(1, 0, 100), 0.2)) == ["0.5", "prior", "f1"]


def test_the_model_file_can_promise_any_recall(scored):
    is_positive, scores = scored
    lowest = list_lowest_positives(is_positive, scores)
    assert lowest["positives"] == len(lowest["score"]) == 300
    for recall in (0.05, 0.5, 0.9, 0.97):
        assert find_promised_threshold(lowest, recall) == recall_threshold(
            is_positive, scores, recall
        )
    with pytest.raises(MixpulError, match="from 2,995 labeled positives on; there are 300"):
        find_promised_threshold(lowest, 0.999)


def test_of_very_many_positives_a_promise_is_made_by_those_kept(monkeypatch):
    monkeypatch.setattr("mixpul.assess.thresholds.MOST_KEPT", 11)
    scores = np.linspace(0, 1, 1000, dtype=np.float32)
    lowest = list_lowest_positives(np.ones(1000, dtype=bool), scores)
    assert len(lowest["depth"]) == 11
    exact = recall_threshold([1] * 1000 + [0], np.append(scores, 0.5), 0.7)
    # On the safe side: no higher than the exact one, and not far below.
    assert exact - 0.1 < find_promised_threshold(lowest, 0.7) <= exact


def test_the_cut_for_a_recall_is_the_highest_that_has_it():
    is_positive = np.arange(30) < 10
    scores = np.concatenate([np.linspace(0.5, 0.95, 10), np.linspace(0, 0.49, 20)])
    _, curves = curves_of(is_positive, scores)
    # Nine of ten positives are above a cut between the lowest and the second lowest.
    assert 0.5 < cut_for(curves, 0.9) < 0.55


def test_the_curves_have_cuts_for_every_second_percent_of_recall(scored):
    is_positive, scores = scored
    _, curves = curves_of(is_positive, scores)
    ordered = np.sort(scores[is_positive])[::-1]
    for wanted in (0.02, 0.5, 0.9, 1.0):
        n = int(np.ceil(wanted * len(ordered)))
        cut = cut_for(curves, wanted)
        assert (scores[is_positive] > cut).sum() == n
        assert cut < ordered[n - 1]


def test_scores_crowded_at_one_end_still_have_cuts_among_them(scored):
    is_positive, scores = scored
    _, curves = curves_of(is_positive, scores / 1000)
    recall = np.array(curves["recall"]["value"])
    assert len(np.unique(recall)) > 50


@pytest.fixture(scope="module")
def two_kinds():
    """Labels and logits of 3,000 rows; a quarter of the unlabeled ones are positive."""
    random = np.random.default_rng(0)
    is_positive = np.arange(3000) < 500
    truth = is_positive | (random.random(3000) < 0.25)
    return is_positive, random.normal(size=3000) + 4 * truth - 2, truth


def test_the_prior_is_read_from_scores_and_bounded_from_above(two_kinds):
    is_positive, scores, _ = two_kinds
    prior = estimate_priors(scores, is_positive)
    for name in ("bbe", "dedpul"):
        assert prior["estimates"][name] == pytest.approx(0.25, abs=0.04)
    assert prior["value"] == prior["estimates"]["dedpul"]
    assert 0.25 < prior["upper"] < 0.32
    assert (prior["source"], prior["low"], prior["high"]) == ("estimated", None, None)


def test_a_given_prior_is_used_unless_the_scores_rule_it_out(two_kinds):
    is_positive, scores, _ = two_kinds
    prior = estimate_priors(scores, is_positive, prior=0.1)
    assert (prior["value"], prior["source"], prior["low"]) == (0.1, "given", None)
    between = estimate_priors(scores, is_positive, prior_interval=(0.1, 0.2))
    assert between["value"] == pytest.approx(0.15)
    assert (between["low"], between["high"]) == (0.1, 0.2)


def test_a_prior_above_the_limit_is_refused_with_the_limit(two_kinds):
    is_positive, scores, _ = two_kinds
    upper = estimate_priors(scores, is_positive)["upper"]
    with pytest.raises(MixpulError, match=f"a class prior of 0.4: .* at most {upper:.3g} of the"):
        estimate_priors(scores, is_positive, prior=0.4)
    ends = estimate_priors(scores, is_positive, prior=0.2, prior_interval=(0.1, 0.9))
    assert (ends["low"], ends["high"]) == (0.1, upper)


@pytest.mark.parametrize(
    ("prior", "interval", "sentence"),
    [
        (1.5, None, "above 0 and below 1; got 1.5"),
        (0.0, None, "above 0 and below 1; got 0.0"),
        (None, (0.4, 0.2), "the smaller one first; got 0.4 and 0.2"),
        (None, (0.0, 0.2), "two ends between 0 and 1"),
        (0.5, (0.1, 0.2), "0.5 lies outside its interval, 0.1 to 0.2"),
    ],
)
def test_what_cannot_be_a_prior_is_refused_before_anything_is_fitted(prior, interval, sentence):
    with pytest.raises(ValueError, match=sentence):
        assess("auto", None, None, prior=prior, prior_interval=interval)


def test_a_prior_of_next_to_nothing_is_one_row():
    is_positive = np.arange(60) < 50
    prior = estimate_priors(np.where(is_positive, 5.0, -5.0), is_positive)
    assert prior["estimates"]["dedpul"] < 0.1
    assert prior["value"] == 0.1


# -- figures that rest on the prior ---------------------------------------------------------


def figures_at(prior, recall=0.8, flagged=0.35):
    rates = (prior, np.array([recall]), np.array([flagged]), 50, 200)
    return bound_precision(*rates), bound_f1(*rates), bound_counts(*rates)


def test_figures_of_a_known_prior_by_hand():
    precision, f1, counts = figures_at(KNOWN)
    # .3 * .8 / .35; 2 * .24 / .65. Of 50 and 60 positives 27.3 count: Wilson .8 -> .615 to .909.
    assert (precision["kind"], f1["kind"]) == ("estimate", "estimate")
    assert precision["value"] == pytest.approx([24 / 35])
    assert f1["value"] == pytest.approx([48 / 65])
    low, high = wilson_interval(0.8, 50 * 60 / 110)
    assert precision["low"] == pytest.approx([0.3 * low / 0.35])
    assert precision["high"] == pytest.approx([0.3 * high / 0.35])
    assert [counts[name][0] for name in ("found", "missed", "false_alarms")] == pytest.approx(
        [48, 12, 22]
    )


def test_an_interval_of_the_prior_widens_the_figures():
    wide, narrow = (figures_at(p)[0] for p in (KNOWN | {"low": 0.2, "high": 0.4}, KNOWN))
    # Both errors like the sides of a right triangle.
    by_prior = 24 / 35 - 0.2 * 0.8 / 0.35
    expected = 24 / 35 - np.hypot(24 / 35 - narrow["low"], by_prior)
    assert wide["low"] == pytest.approx(expected)
    assert wide["high"][0] <= 1


def test_figures_of_an_unknown_prior_are_limits():
    unknown = KNOWN | {"source": "estimated"}
    precision, f1, counts = figures_at(unknown, flagged=0.6)
    low, high = wilson_interval(0.8, 50 * 100 / 150)
    assert (precision["kind"], f1["kind"]) == ("at most", "at most")
    assert precision["value"] == pytest.approx([0.5 * high / 0.6])
    assert precision["low"] == [0]
    assert counts["missed"] == pytest.approx([200 * 0.5 * (1 - low)])
    # With fewer flagged rows than positives every flagged one may be positive.
    precision, f1, counts = figures_at(unknown)
    assert precision["value"] == [1]
    # Then F1 is best if just those are positive that fill the 35 %: 2 * .35 / (.35 / r + .35).
    assert f1["value"] == pytest.approx([2 / (1 / high + 1)])
    assert counts["false_alarms"] == [0]


@pytest.mark.parametrize("source", ["estimated", "given"])
def test_no_rows_have_no_precision(source):
    precision, f1, counts = figures_at(KNOWN | {"source": source}, recall=0.1, flagged=0.0)
    assert np.isnan([precision[part][0] for part in ("value", "low", "high")]).all()
    assert f1["value"] == [0]
    assert counts["found"] == counts["false_alarms"] == [0]


@settings(max_examples=200, deadline=None)
@given(
    st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["estimated", "given"])
)
def test_no_figure_is_impossible(upper, recall, flagged, source):
    prior = {"source": source, "value": upper / 2, "upper": upper, "low": upper / 4, "high": upper}
    precision, f1, counts = figures_at(prior, recall, flagged)
    for figure in (precision, f1):
        low, value, high = (figure[part][0] for part in ("low", "value", "high"))
        assert np.isnan(value) or 0 <= low <= value <= high <= 1
    assert all(0 <= counts[name][0] <= 200 for name in counts)


def test_the_auc_lies_between_the_pu_auc_and_its_correction():
    auc = Estimate(0.7, 0.03, 0.64, 0.75)
    unknown = bound_auc(KNOWN | {"source": "estimated", "upper": 0.2}, auc, 50, 200)
    # (.7 - .1) / .8 = .75
    assert unknown == {"kind": "at most", "low": 0.64, "value": pytest.approx(0.75),
                       "high": pytest.approx(0.75)}  # fmt: skip
    assert bound_auc(KNOWN | {"source": "estimated", "upper": 1.0}, auc, 50, 200)["value"] == 1
    known = bound_auc(KNOWN, auc, 50, 200)
    assert known["value"] == pytest.approx(0.55 / 0.7)  # (.7 - .15) / .7
    # 50 labeled and 60 hidden positives: the standard error grows by sqrt(1 + 50 / 60).
    ends = logit_interval(0.7, 0.03 * np.sqrt(110 / 60), 27)
    assert (known["low"], known["high"]) == pytest.approx([(end - 0.15) / 0.7 for end in ends])
    sure = bound_auc(KNOWN, Estimate(0.9, 0.05, 0.77, 0.96), 50, 200)
    assert (sure["value"], sure["high"]) == (1, 1)


def test_claims_without_a_fit_are_those_of_an_assessment(found, table):
    classifier = found.model[-1]
    claims = make_claims(table[1] == 1, classifier.oof_scores_)
    assert claims.prior == found.prior
    assert claims.curves == found.thresholds
    at = claims.at(claims.suggested["recall>=0.9"])
    assert at["precision"]["kind"] == "at most"
    assert at["recall"]["low"] <= at["recall"]["value"] <= at["recall"]["high"]


def test_with_the_true_prior_the_truth_is_inside(two_kinds):
    is_positive, scores, truth = two_kinds
    hidden, left = truth[~is_positive], scores[~is_positive]
    claims = make_claims(is_positive, scores, prior=float(hidden.mean()))
    assert (
        claims.corrected_auc["low"] <= roc_auc_score(hidden, left) <= claims.corrected_auc["high"]
    )
    at = claims.at(0.5)
    precision = hidden[left > 0].mean()
    assert at["precision"]["low"] <= precision <= at["precision"]["high"]
    bounds = make_claims(is_positive, scores)
    assert bounds.at(0.5)["precision"]["value"] >= precision
    assert bounds.prior["upper"] >= hidden.mean()


def test_methods_that_take_a_prior_get_the_known_one():
    classifier = METHODS["nnpu"]()
    hand_on_prior(classifier, 0.2)
    assert classifier.prior == 0.2
    hand_on_prior(classifier, 0.3)  # a number is the user's own word
    assert classifier.prior == 0.2
    other = METHODS["upu"]()
    hand_on_prior(other, None, (0.1, 0.3))
    assert other.prior == pytest.approx(0.2)
    hand_on_prior(METHODS["bagging"](), 0.2)


# -- checks ---------------------------------------------------------------------------------


def test_checks_have_neutral_names_in_one_order_and_one_set_of_verdicts(found):
    assert [(check["name"], check["question"]) for check in found.checks] == list(QUESTIONS)
    assert [question.name for question in QUESTIONS] == [
        "labeled positives", "ranking", "class prior", "random draw of positives",
        "comparison with a simple method", "leaking columns",
    ]  # fmt: skip
    assert VERDICTS == ("good", "note", "caution", "bad")
    assert {check["verdict"] for check in found.checks} <= set(VERDICTS)
    for name, question in QUESTIONS:
        # "bad: class prior" can be said; "bad: class prior is stable" cannot.
        assert not re.search(r"\b(is|are|no|not|better|enough)\b", name)
        assert question.endswith("?")


def test_the_page_knows_the_verdicts():
    from mixpul.pages import fit

    assert set(fit.VERDICTS) == set(VERDICTS)


@pytest.mark.parametrize(
    ("n", "verdict"),
    [(4, "bad"), (5, "bad"), (19, "bad"), (20, "caution"), (99, "caution"), (100, "good")],
)
def test_enough_positives(n, verdict):
    check = check_enough_positives(np.arange(300) < n)
    assert check["verdict"] == verdict
    assert str(n) in check["text"]


def test_a_ranking_by_chance_or_none_at_all_is_bad():
    random = np.random.default_rng(0)
    is_positive = np.arange(300) < 60
    assert check_better_than_chance(is_positive, random.random(300))["verdict"] == "bad"
    assert "same" in check_better_than_chance(is_positive, np.full(300, 0.4))["text"]
    assert (
        check_better_than_chance(is_positive, random.random(300) / 2 + 0.4 * is_positive)["verdict"]
        == "good"
    )


def test_few_positives_are_not_held_against_the_ranking():
    is_positive = np.arange(300) < 6
    scores = np.random.default_rng(0).random(300) / 2 + 0.45 * is_positive
    assert check_better_than_chance(is_positive, scores)["verdict"] == "good"


def prior_of(source="estimated", value=0.2, upper=0.4):
    return {"source": source, "value": value, "upper": upper, "low": None, "high": None,
            "estimates": {"bbe": value, "dedpul": value}}  # fmt: skip


def test_two_estimates_that_agree_do_not_make_the_prior_known():
    check = check_class_prior(prior_of())
    assert check["verdict"] == "caution"
    for words in (
        "at most 40 %",
        "95 % confidence",
        "--prior",
        "`mixpul review`",
        "`mixpul audit`",
    ):
        assert words in check["text"]
    assert "may be anything up to 100 %" in check_class_prior(prior_of(upper=1.0))["text"]


@pytest.mark.parametrize("source", ["given", "audited"])
def test_a_prior_that_is_known_is_good(source):
    check = check_class_prior(prior_of(source))
    assert check["verdict"] == "good"
    assert f"It was {source}: 20 %." in check["text"]
    assert "at most 40 %" in check["text"]


def hinted(favour=1.0, n=4000, n_labeled=400, gap=1.0, **columns):
    """Labels given `favour` times as often to positives from the north; x and z tell the class."""
    random = np.random.default_rng(0)
    truth = random.random(n) < 0.4
    north = random.random(n) < 0.5
    weight = truth * np.where(north, favour, 1.0)
    is_positive = np.zeros(n, dtype=bool)
    is_positive[random.choice(n, n_labeled, replace=False, p=weight / weight.sum())] = True
    x, z = random.normal(size=(2, n)) + gap * truth
    table = TableInput()
    rows = table.fit_transform(pd.DataFrame({"x": x, "z": z, "north": north} | columns))
    # What a score would be that has not seen the column.
    without = [np.stack([z]), np.stack([x]), *[np.stack([x + z])] * (1 + len(columns))]
    return check_random_draw(table, ShuffledScores(rows, is_positive, x + z, without))


def test_the_common_odds_ratio_by_hand():
    # a, b, c, d of two groups: ad/n = 80/35, 360/98; bc/n = 10/35, 60/98.
    counts = [(4, 1, 10, 20), (6, 2, 30, 60)]
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    rows = [
        (*kind, g)
        for g, n in enumerate(counts)
        for kind, k in zip(kinds, n, strict=True)
        for _ in range(k)
    ]
    labeled, upper, groups = (np.array(column) for column in zip(*rows, strict=True))
    log_ratio, se = compare_odds(labeled, upper, groups)
    assert np.exp(log_ratio) == pytest.approx((5.959184 + 0.25) / (0.897959 + 0.25), rel=1e-6)
    # ((4.041316 / 6.209184 + 2.526114 / 1.147959) / 6.209184 + 0.289713 / 1.147959**2) / 2
    assert se == pytest.approx(0.339532**0.5, rel=1e-5)
    # Twice the unlabeled rows leave the ratio as it is, but for the quarter of a row.
    twice = np.concatenate([np.arange(len(rows)), np.flatnonzero(~labeled)])
    again, _ = compare_odds(labeled[twice], upper[twice], groups[twice])
    assert again == pytest.approx(log_ratio, abs=0.1)


def test_labels_at_random_raise_no_alarm_and_prove_nothing():
    check = hinted()
    assert check["verdict"] == "note"
    assert check["text"].startswith("This is not known.")


@pytest.mark.parametrize(("favour", "words"), [(10, "higher"), (1 / 10, "lower")])
def test_positives_of_one_kind_labeled_more_often_are_noticed(favour, words):
    check = hinted(favour)
    assert check["verdict"] == "caution"
    number, found = re.search(
        r"Where 'north' is true, the odds of a label are about (\d+) times (\w+) \(at least",
        check["text"],
    ).groups()
    assert 6 <= int(number) <= 16
    assert found == words
    assert "propensity=['north']" in check["text"]


def test_a_column_that_tells_of_the_class_is_not_mistaken_for_one_that_decides_on_labels():
    random = np.random.default_rng(0)
    truth = random.random(4000) < 0.4  # as in `hinted`
    check = hinted(tells=random.random(4000) < np.where(truth, 0.7, 0.3))
    assert check["verdict"] == "note"


def test_few_positives_are_no_ground_for_a_hint():
    check = hinted(10, n_labeled=19)
    assert check["verdict"] == "note"
    assert "with 19 labeled positives" in check["text"]
    assert hinted(10, n_labeled=20)["text"] != check["text"]


@pytest.mark.parametrize(("gain", "verdict"), [(1, "good"), (0, "caution"), (-1, "bad")])
def test_a_simple_method_is_compared_with(gain, verdict):
    random = np.random.default_rng(0)
    is_positive = np.arange(1000) < 300
    simple = random.normal(size=1000) + is_positive
    scores = simple + gain * is_positive + 1e-3 * random.normal(size=1000)
    check = check_simple_method(is_positive, scores, simple, brief())
    assert check["verdict"] == verdict
    assert "MixPUL" in check["text"]


def test_a_column_that_gives_the_label_away_is_bad_and_warned_about(table):
    X, is_positive = table
    found = assess(brief(n_epochs=2), X.assign(refund=is_positive * 1.0), is_positive)
    verdicts = {check["name"]: check["verdict"] for check in found.checks}
    assert verdicts["leaking columns"] == "bad"
    assert "'refund'" in found.warnings[0]
    assert check_leaks([])["verdict"] == "good"
    assert "'a'" in check_leaks([Leak("a", 1.0)])["text"]


def test_a_column_that_is_filled_for_some_labeled_rows_only_is_bad_on_terminal_and_page(table):
    X, is_positive = table
    some = is_positive & (np.cumsum(is_positive) <= 0.6 * is_positive.sum())
    filled = X.assign(refund=np.where(some, np.arange(len(X)) + 0.5, np.nan))
    found = assess(brief(n_epochs=2), filled, is_positive)
    check = next(check for check in found.checks if check["name"] == "leaking columns")
    assert check["verdict"] == "bad"
    assert check["text"].startswith("Column 'refund' is filled in for ")
    assert found.warnings[0] == check["text"]


# -- comparisons ----------------------------------------------------------------------------

CHEAP = {
    "mixpul": brief(n_epochs=2),
    "pnu": PUAUCClassifier(prior=0.2, n_centres=20, random_state=0),
}


class Broken(PUAUCClassifier):
    def _fit(self, X, is_positive):
        raise RuntimeError("no luck")


def test_methods_are_ranked_with_paired_differences(table):
    found = compare(*table, CHEAP, n_folds=3)
    first, second = found.methods
    assert first["pu_auc"].value >= second["pu_auc"].value
    assert first["behind"] is None
    assert second["behind"].value == pytest.approx(first["pu_auc"].value - second["pu_auc"].value)
    assert found.recommended == first["method"]
    assert 0.5 <= found.sure <= 1
    assert found.recommended in found.text
    assert json.loads(json.dumps(found.to_dict()))["folds"] == 3


def test_all_methods_see_the_same_folds_and_none_its_own(table):
    X, is_positive = table
    found = compare(X, is_positive, {"mixpul": brief(n_epochs=2)}, n_folds=3, random_state=5)
    rows = TableInput().fit_transform(X)
    scores = cross_val_predict(
        brief(n_epochs=2),
        rows,
        is_positive.astype(int),
        cv=StratifiedKFold(3, shuffle=True, random_state=5),
        method="decision_function",
    )
    assert found.methods[0]["pu_auc"].value == pytest.approx(pu_auc_score(is_positive, scores))
    assert found.sure is None


def test_all_methods_include_the_portfolio_first_and_logistic_regression():
    names = list(choose_methods(None, 0))
    assert names[:2] == ["auto", "mixpul"]
    assert "logistic" in names


def test_the_portfolio_is_compared_by_plain_cross_validation(table, tmp_path, monkeypatch):
    fits = []
    fit = AutoPUClassifier.fit
    monkeypatch.setattr(
        AutoPUClassifier, "fit", lambda self, X, y: fits.append(len(X)) or fit(self, X, y)
    )
    few = AutoPUClassifier(candidates=["logistic-0.1", PUAUCClassifier(n_centres=20)])
    methods = {"auto": few, "logistic": LogisticPUClassifier()}
    found = compare(*table, methods, folder=tmp_path, n_folds=2)
    assert fits == [250, 250]
    assert {one["method"] for one in found.methods} == set(methods)
    again = compare(*table, methods, folder=tmp_path, n_folds=2)
    assert len(fits) == 2
    assert again == found


def test_a_comparison_goes_on_where_it_stopped(table, tmp_path, monkeypatch):
    folder = tmp_path / "results"
    first = compare(*table, {"pnu": CHEAP["pnu"]}, folder=folder, n_folds=2)
    monkeypatch.setattr(PUAUCClassifier, "fit", lambda *args: pytest.fail("fitted again"))
    both = compare(*table, CHEAP, folder=folder, n_folds=2)
    kept = next(entry for entry in both.methods if entry["method"] == "pnu")
    assert kept["pu_auc"] == first.methods[0]["pu_auc"]
    assert kept["seconds"] == first.methods[0]["seconds"]
    assert sorted(path.name for path in folder.iterdir()) == ["mixpul.json", "pnu.json"]


@pytest.mark.parametrize("change", ["seed", "rows", "setting"])
def test_a_result_of_something_else_is_not_taken_over(table, tmp_path, change):
    X, is_positive = table
    compare(X, is_positive, {"pnu": CHEAP["pnu"]}, folder=tmp_path, n_folds=2)
    before = (tmp_path / "pnu.json").read_text()
    if change == "rows":
        X = X.assign(height=-X["height"])
    n_centres = 10 if change == "setting" else 20
    other = PUAUCClassifier(prior=0.2, n_centres=n_centres, random_state=0)
    seed = 1 if change == "seed" else 0
    compare(X, is_positive, {"pnu": other}, folder=tmp_path, n_folds=2, random_state=seed)
    assert (tmp_path / "pnu.json").read_text() != before


def test_classifiers_without_a_seed_get_that_of_the_comparison(table):
    methods = {"bagging": BaggingPUClassifier(n_estimators=3), "mixpul": brief(random_state=None)}
    first, second, other = (
        {
            one["method"]: one["pu_auc"]
            for one in compare(*table, methods, n_folds=2, **more).methods
        }
        for more in ({}, {}, {"random_state": 1})
    )
    assert first == second
    assert first != other
    assert methods["bagging"].random_state is None  # a copy is seeded


def test_a_pipeline_without_a_seed_gets_one_for_its_steps(table):
    methods = {"ours": make_pipeline(StandardScaler(), BaggingPUClassifier(n_estimators=3))}
    first, second = (compare(*table, methods, n_folds=2).methods[0]["pu_auc"] for _ in range(2))
    assert first == second


def test_a_comparison_with_a_network_given_as_a_function_goes_on(table, tmp_path, monkeypatch):
    # Two functions at two places in memory, as in two processes.
    for net in [lambda shape: net_of_four(shape) for _ in range(2)]:
        compare(*table, {"mine": brief(n_epochs=1, net=net)}, folder=tmp_path, n_folds=2)
        monkeypatch.setattr(MixPULClassifier, "fit", lambda *args: pytest.fail("fitted again"))


def test_a_failure_is_shown_and_tried_again(table, tmp_path):
    methods = {"broken": Broken(), "pnu": CHEAP["pnu"]}
    found = compare(*table, methods, folder=tmp_path, n_folds=2)
    assert [entry["method"] for entry in found.methods] == ["pnu", "broken"]
    assert found.methods[1]["failure"] == "RuntimeError: no luck"
    assert found.recommended == "pnu"
    again = compare(*table, {"broken": CHEAP["pnu"]}, folder=tmp_path, n_folds=2)
    assert again.methods[0]["failure"] is None


def test_if_all_fail_nothing_is_recommended(table):
    found = compare(*table, {"broken": Broken()}, n_folds=2)
    assert found.recommended is None
    assert "nothing can be recommended" in found.text


def test_a_file_that_is_no_result_is_named(table, tmp_path):
    (tmp_path / "pnu.json").write_text("{}")
    with pytest.raises(ValueError, match=r"pnu\.json' is not a result of a comparison"):
        compare(*table, {"pnu": CHEAP["pnu"]}, folder=tmp_path)


@pytest.mark.parametrize(("methods", "words"), [(["no"], "no method 'no'"), ([], "at least one")])
def test_methods_that_do_not_exist_are_refused(table, methods, words):
    with pytest.raises(ValueError, match=words):
        compare(*table, methods)


def test_advice_is_sure_only_if_the_gap_is_large():
    seconds = {"a": 9.0, "b": 1.0}
    clear = {"b": Estimate(0.05, 0.01, 0.03, 0.07)}
    sure, text = _advise(["a", "b"], clear, seconds)
    assert sure > 0.999
    assert text.startswith("Use a: clearly the best")
    close = {"b": Estimate(0.01, 0.01, -0.01, 0.03)}
    sure, text = _advise(["a", "b"], close, seconds)
    assert sure == pytest.approx(0.841, abs=0.001)
    assert "cannot tell it from b" in text
    assert "b is the quickest" in text
    sure, _ = _advise(["a", "b"], {"b": Estimate(0.0, 0.0, 0.0, 0.0)}, seconds)
    assert sure == 0.5


def test_columns_that_are_not_used_are_not_suspected(table):
    X, is_positive = table
    model = make_pipeline(TableInput(drop=["refund"]), brief(n_epochs=2))
    assert assess(model, X.assign(refund=is_positive * 1.0), is_positive).warnings == []


def test_every_method_has_a_name():
    names = {cls.__name__ for cls in (*METHODS.values(), *STUDENTS.values())}
    import mixpul

    assert names == {name for name in mixpul.__all__ if name.endswith("Classifier")}
