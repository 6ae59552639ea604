"""What users of scikit-learn and notebooks expect: importances, displays, frames, progress."""

import json
import pickle
import sys
import types
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline

from mixpul import (
    AutoPUClassifier,
    BaggingPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    UPUClassifier,
    load,
    save,
)
from mixpul._names import METHODS
from mixpul._util.cross_validation import cross_validate
from mixpul._util.progress import progress_bar
from mixpul.assess import assess, permutation_importance
from mixpul.metrics import (
    PURecallFlaggedDisplay,
    ScoreHistogramDisplay,
    TrainingCurveDisplay,
    pu_auc_score,
)
from mixpul.tables import TableInput

RANDOM = np.random.default_rng(0)
N = 240
IS_POSITIVE = np.arange(N) % 3 == 0
# The second column tells the label, the others nothing; the last has one value.
X = RANDOM.normal(size=(N, 4)).astype(np.float32)
X[:, 1] += 2 * IS_POSITIVE
X[:, 3] = 1
Y = (IS_POSITIVE & (RANDOM.random(N) < 0.7)).astype(int)


def make_models():
    return {
        "logistic": LogisticPUClassifier(C=1.0),
        "trees": BaggingPUClassifier(n_estimators=15, random_state=0),
        "network": MixPULClassifier(n_epochs=3, random_state=0),
        "portfolio": AutoPUClassifier(candidates=["logistic-0.1", "trees"], random_state=0),
    }


@pytest.mark.parametrize("name", ["logistic", "trees", "network", "portfolio"])
def test_the_column_that_tells_the_label_is_the_most_important(name):
    model = make_models()[name].fit(X, Y)
    found = model.feature_importances_
    assert found.shape == (4,)
    assert found.argmax() == 1
    assert (found >= 0).all()
    assert found[3] == 0
    # Shuffled, it leaves a ranking that is hardly better than chance.
    assert found[1] > 0.15
    assert max(found[0], found[2]) < 0.08
    assert model.feature_importances_ is found
    again = pickle.loads(pickle.dumps(model))
    del again._importances
    np.testing.assert_array_equal(again.feature_importances_, found)


def test_columns_are_selected_by_their_importance():
    chosen = SelectFromModel(LogisticPUClassifier(C=1.0)).fit(X, Y)
    assert chosen.get_support().tolist() == [False, True, False, False]


def test_importances_of_sparse_rows_are_those_of_dense_ones():
    model = BaggingPUClassifier(n_estimators=10, random_state=0)
    rows = np.where(np.abs(X) < 0.5, 0, X)
    dense = clone(model).fit(rows, Y).feature_importances_
    found = clone(model).fit(sparse.csr_matrix(rows), Y).feature_importances_
    np.testing.assert_allclose(found, dense, atol=1e-6)


def test_a_new_fit_has_new_importances():
    model = LogisticPUClassifier(C=1.0).fit(X, Y)
    assert model.feature_importances_.argmax() == 1
    assert model.fit(X[:, [1, 0, 2, 3]], Y).feature_importances_.argmax() == 0


def test_every_classifier_says_why_it_has_no_importances():
    for name in METHODS:
        model = METHODS[name]()
        with pytest.raises(AttributeError, match="not fitted yet"):
            model.feature_importances_  # noqa: B018


def test_a_loaded_model_says_how_to_measure_importances(tmp_path):
    save(LogisticPUClassifier().fit(X, Y), tmp_path / "m")
    with pytest.raises(AttributeError, match=r"call mixpul.assess.permutation_importance"):
        load(tmp_path / "m").feature_importances_  # noqa: B018


def test_images_have_no_columns_to_be_important():
    images = RANDOM.integers(0, 255, (40, 1, 8, 8), dtype=np.uint8)
    model = UPUClassifier(prior=0.3, net="linear", n_epochs=1).fit(images, np.arange(40) % 4 == 0)
    with pytest.raises(AttributeError, match="fitted on images"):
        model.feature_importances_  # noqa: B018


def test_permutation_importance_takes_frames_of_any_library():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = make_pipeline(TableInput(), LogisticPUClassifier(C=1.0)).fit(frame, pl.Series(Y))
    found = permutation_importance(model, frame, pl.Series(Y), n_repeats=2)
    assert found.columns == ["a", "b"]
    assert found.importances.shape == (2, 2)
    assert found.importances_mean[1] > 0.1 > found.importances_mean[0]
    again = permutation_importance(model, frame.to_arrow(), Y, n_repeats=2)
    np.testing.assert_array_equal(found.importances, again.importances)


# -- frames -----------------------------------------------------------------------------------


def test_polars_and_arrow_go_straight_into_a_pipeline():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    city = np.where(X[:, 2] > 0, "Rome", "Oslo")
    plain = pd.DataFrame({"a": X[:, 1], "city": city})
    expected = make_pipeline(TableInput(), LogisticPUClassifier(C=1.0)).fit(plain, Y)
    tables = [pl.DataFrame({"a": X[:, 1], "city": city}), pa.table({"a": X[:, 1], "city": city})]
    labels = [pl.Series("y", Y), pa.array(Y), pa.chunked_array([pa.array(Y)]), pl.Series(Y == 1)]
    for table in tables:
        for y in labels:
            model = clone(expected).fit(table, y)
            np.testing.assert_array_equal(
                model.decision_function(table), expected.decision_function(plain)
            )


def test_a_table_input_returns_frames_if_told_so():
    frame = pd.DataFrame({"a": X[:, 1]})
    rows = TableInput().set_output(transform="pandas").fit_transform(frame)
    assert list(rows.columns) == ["a"]
    model = make_pipeline(TableInput().set_output(transform="pandas"), LogisticPUClassifier())
    assert model.fit(frame, Y)[-1].feature_names_in_.tolist() == ["a"]


# -- an assessment in a notebook --------------------------------------------------------------


def test_an_assessment_shows_itself_in_a_notebook_and_writes_its_page(tmp_path):
    frame = pd.DataFrame({"<b>size</b>": X[:, 1], "other": X[:, 0]})
    found = assess(LogisticPUClassifier(C=1.0), frame, Y)
    short = found._repr_html_()
    assert "LogisticPUClassifier" in short
    assert "PU-AUC" in short
    assert "<b>size" not in short
    assert "&lt;b&gt;size" in short
    assert "<script" not in short
    page = found.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert page.startswith("<!")
    assert "Where to set the threshold" in page
    assert json.loads(json.dumps(found.to_dict()))["method"] == "LogisticPUClassifier"
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        found.to_html(tmp_path / "none" / "report.html")


def test_folds_fitted_at_the_same_time_score_the_same():
    folds = (np.arange(N) % 5).astype(np.int32)
    one, two = (
        cross_validate(LogisticPUClassifier(C=1.0), X, Y, folds, n_jobs=n)[0] for n in (None, 2)
    )
    np.testing.assert_array_equal(one, two)


# -- displays ---------------------------------------------------------------------------------


@pytest.fixture
def plots():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_the_curve_of_recall_has_the_area_of_the_pu_auc(plots):
    scores = np.round(X[:, 1], 1)  # with ties
    shown = PURecallFlaggedDisplay.from_predictions(Y, scores, name="mine")
    area = np.trapezoid(shown.recall, shown.flagged)
    assert area == pytest.approx(pu_auc_score(Y, scores)) == pytest.approx(shown.pu_auc)
    assert shown.line_.get_label() == f"mine, PU-AUC {shown.pu_auc:.3f}"
    assert shown.figure_ is shown.ax_.figure
    for k in (1, 50):
        at = shown.thresholds[k]
        assert shown.recall[k] == np.mean(scores[Y == 1] >= at)
        assert shown.flagged[k] == np.mean(scores[Y == 0] >= at)


def test_displays_draw_into_given_axes(plots):
    model = MixPULClassifier(n_epochs=2, random_state=0).fit(X, Y)
    _, axes = plots.subplots(1, 3)
    PURecallFlaggedDisplay.from_estimator(model, X, Y, ax=axes[0])
    shown = ScoreHistogramDisplay.from_estimator(model, X, Y, ax=axes[1], bins=10)
    TrainingCurveDisplay.from_estimator(model, ax=axes[2])
    assert [ax.get_xlabel() for ax in axes] == ["Share of unlabeled rows flagged", "Score", "Epoch"]
    assert shown.ax_ is axes[1]
    assert len(shown.edges) == 11
    assert shown.positive.sum() == pytest.approx(1) == pytest.approx(shown.unlabeled.sum())
    labels = [text.get_text() for text in axes[2].get_legend().get_texts()]
    assert labels == ["loss", "PU-AUC, rows left out"]


def test_displays_say_what_they_cannot_show(plots):
    with pytest.raises(ValueError, match="LogisticPUClassifier has no training curve"):
        TrainingCurveDisplay.from_estimator(LogisticPUClassifier().fit(X, Y))
    with pytest.raises(TypeError, match="use from_estimator"):
        TrainingCurveDisplay.from_predictions(Y, Y)
    with pytest.raises(ValueError, match="scores"):
        ScoreHistogramDisplay.from_predictions(Y, [0.5])


def test_a_missing_matplotlib_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'mixpul\[plots\]'"):
        PURecallFlaggedDisplay.from_predictions(Y, X[:, 1])


# -- progress in a notebook -------------------------------------------------------------------


def test_progress_in_a_notebook_needs_no_widgets_and_does_not_warn(monkeypatch):
    lines = []

    class Handle:
        def update(self, data, raw):
            lines.append(data["text/plain"])

    def display(data, raw, display_id):
        lines.append(data["text/plain"])
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    shown = types.ModuleType("IPython.display")
    shown.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with progress_bar(4, "Fit", 1) as advance:
            for loss in (0.5, 0.25):
                advance({"loss": loss})
    assert "0/4 epochs" in lines[0]
    assert "1/4 epochs  loss 0.500" in lines[1]
    assert lines[-1].endswith("2/2 epochs")
