"""MLflow models hold our model file and no pickle; MLflow scores with them as we do."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from deploying import fit_pipeline, make_table
from mixpul import BaggingPUClassifier, load, save
from mixpul.deploy import mlflow as ours

pytest.importorskip("mlflow")


@pytest.fixture(scope="module")
def model():
    return fit_pipeline(BaggingPUClassifier(n_estimators=20, random_state=0))


@pytest.fixture(scope="module")
def work(tmp_path_factory, model):
    """A model logged to a real store, in a process of its own: MLflow has warnings of its own."""
    folder = tmp_path_factory.mktemp("mlflow")
    save(model, folder / "leads.mixpul")
    table = make_table(seed=1)[0]
    table.to_pickle(folder / "new.pkl")
    program = """
        import mlflow, pandas as pd
        from mixpul import load
        from mixpul.deploy import mlflow as ours

        mlflow.set_tracking_uri("sqlite:///store.db")
        mlflow.set_experiment("leads")
        with mlflow.start_run():
            done = ours.log_model("leads.mixpul", "leads", registered_model_name="leads")
        table = pd.read_pickle("new.pkl")
        loaded = mlflow.pyfunc.load_model("models:/leads/1")
        loaded.predict(table).to_pickle("scores.pkl")
        loaded.predict(table, params={"threshold": 0.6, "prior": 0.2}).to_pickle("more.pkl")
        ours.load_model(done.model_uri).predict_proba(table).dump("ours.pkl")
        ours.save_model(load("leads.mixpul"), "folder")
        mlflow.pyfunc.load_model("folder").predict(table).to_pickle("saved.pkl")
        try:
            ours.save_model(load("leads.mixpul"), "folder")
        except ValueError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (folder / "said").write_text(done.stdout)
    return folder


@pytest.mark.slow
def test_scores_come_back_from_the_store_to_the_bit(work, model):
    import pandas as pd

    table = make_table(seed=1)[0]
    expected = model.predict_proba(table)[:, 1]
    for name in ("scores.pkl", "saved.pkl"):
        found = pd.read_pickle(work / name)
        assert list(found) == ["score", "predicted"]
        assert (found["score"].to_numpy() == expected).all()
        assert (found["predicted"] == model.predict(table)).all()
    assert (np.load(work / "ours.pkl", allow_pickle=True)[:, 1] == expected).all()


@pytest.mark.slow
def test_parameters_set_the_threshold_and_the_prior(work, model):
    import pandas as pd

    table = make_table(seed=1)[0]
    found = pd.read_pickle(work / "more.pkl")
    assert (found["predicted"] == (model.predict_proba(table)[:, 1] > 0.6)).all()
    frame = model[0].transform(table)
    expected = model[-1].predict_proba(frame, calibrated=True, prior=0.2)[:, 1]
    assert (found["probability"].to_numpy() == expected).all()


@pytest.mark.slow
def test_the_folder_holds_our_file_and_no_pickle(work):
    files = [path for path in (work / "folder").rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in {".pkl", ".pickle", ".joblib"}]
    assert load(work / "folder" / "data" / "model.mixpul")
    about = (work / "folder" / "MLmodel").read_text()
    assert "loader_module: mixpul.deploy.mlflow" in about
    assert "python_model" not in about
    assert "mixpul[mlflow]==" in (work / "folder" / "requirements.txt").read_text()
    for column in make_table(n=5)[0]:
        assert f'"{column}"' in about


@pytest.mark.slow
def test_a_folder_that_exists_is_refused(work):
    assert "'folder' exists" in (work / "said").read_text()


def test_a_missing_extra_is_one_sentence(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match=r"pip install 'mixpul\[mlflow\]'"):
        ours.save_model(model, tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore")  # MLflow has some at its import
def test_a_broken_file_is_not_logged(tmp_path):
    (tmp_path / "broken.mixpul").write_bytes(b"broken")
    with pytest.raises(ValueError, match="broken"):
        ours.save_model(tmp_path / "broken.mixpul", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
