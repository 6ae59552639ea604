"""Models for MLflow without pickle: the model file of mixpul in MLflow's folder.

MLflow loads it by `mlflow.pyfunc`, which calls this module; so do registries and servers that take
MLflow models. ``pip install 'mixpul[mlflow]'``.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit
from sklearn.pipeline import Pipeline

import mixpul
from mixpul._util.errors import MixpulError
from mixpul._util.files import write_whole
from mixpul.base import PUClassifier
from mixpul.deploy._made_rows import make_rows
from mixpul.persistence import describe, load, save

__all__ = ["load_model", "log_model", "save_model"]

FILE = "model.mixpul"
LOADER = "mixpul.deploy.mlflow"
N_EXAMPLES = 3

Model: TypeAlias = Pipeline | PUClassifier | str | os.PathLike


def save_model(model: Model, path: str | os.PathLike, **more: Any) -> None:
    """Write an MLflow model to a folder.

    Parameters
    ----------
    model : Pipeline, PUClassifier, str or path-like
        A fitted model, or the path of a model file, which is taken as it is.
    path : str or path-like
        The folder; it must not exist.
    **more
        Passed on to ``mlflow.pyfunc.save_model``, such as `signature`, `input_example`,
        `pip_requirements` or `metadata`, in place of those that are worked out here.
    """
    if os.path.exists(path):
        raise MixpulError(f"{os.fspath(path)!r} exists; name a folder that does not.")
    mlflow = _import_mlflow()
    with _prepare(model, more) as arguments:
        mlflow.pyfunc.save_model(path=os.fspath(path), **arguments)


def log_model(model: Model, name: str = "model", **more: Any) -> Any:
    """Log an MLflow model to the active run, or to a new one.

    Parameters
    ----------
    model : Pipeline, PUClassifier, str or path-like
        A fitted model, or the path of a model file, which is taken as it is.
    name : str, default='model'
    **more
        Passed on to ``mlflow.pyfunc.log_model``, such as `registered_model_name`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        With `model_uri`, which `mlflow.pyfunc.load_model` and `load_model` take.
    """
    mlflow = _import_mlflow()
    with _prepare(model, more) as arguments:
        return mlflow.pyfunc.log_model(name=name, **arguments)


def load_model(model_uri: str) -> Pipeline | PUClassifier:
    """Load the model itself, as `mixpul.load` does, from any place that MLflow knows.

    ``mlflow.pyfunc.load_model`` returns MLflow's own object instead, whose `predict` returns a data
    frame with `score`, `predicted` and, if the model can tell it, `probability`.

    Parameters
    ----------
    model_uri : str
        Such as 'runs:/.../model', 'models:/leads/1' or a folder.

    Returns
    -------
    Pipeline or PUClassifier
    """
    mlflow = _import_mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri))
    flavor = mlflow.models.Model.load(str(folder)).flavors.get("python_function", {})
    if flavor.get("loader_module") != LOADER:
        raise MixpulError(f"{model_uri!r} is not a model that mixpul has logged.")
    return load(folder / flavor["data"])


class Scorer:
    """What MLflow calls: a data frame in, a data frame out."""

    def __init__(self, model: Pipeline | PUClassifier) -> None:
        self.model = model
        self._classifier = model[-1] if isinstance(model, Pipeline) else model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the columns `score`, `predicted` and perhaps `probability`.

        `params` may hold a `threshold`, and the class prior as `prior` for probabilities.
        """
        import pandas as pd

        logits = self.model.decision_function(model_input)
        scores = expit(logits)
        given = params or {}
        threshold, prior = given.get("threshold"), given.get("prior")
        predicted = logits > 0 if threshold is None else scores > threshold
        columns = {"score": scores, "predicted": np.asarray(predicted)}
        if prior is not None:
            columns["probability"] = self._classifier.calibrate(logits, prior)
        return pd.DataFrame(columns)


def _load_pyfunc(path: str) -> Scorer:
    """Load a model for `mlflow.pyfunc`; MLflow calls it by this name."""
    return Scorer(load(path))


def _import_mlflow() -> Any:
    try:
        import mlflow
        import mlflow.artifacts
        import mlflow.models
        import mlflow.pyfunc
    except ImportError as error:
        raise ImportError(
            "Models are logged through MLflow: pip install 'mixpul[mlflow]'."
        ) from error
    return mlflow


@contextmanager
def _prepare(model: Any, more: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments for MLflow; the model file exists while the block runs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        if isinstance(model, str | os.PathLike):
            fitted = load(model)  # refuses what is broken
            write_whole(path, Path(model).read_bytes())
        else:
            fitted = model
            save(fitted, path)
        yield {
            "loader_module": LOADER,
            "data_path": str(path),
            "pip_requirements": [f"mixpul[mlflow]=={mixpul.__version__}"],
            "metadata": {"mixpul": _list_facts(path)},
            **_describe_input(fitted),
            **more,
        }


def _list_facts(path: Path) -> dict[str, Any]:
    """Return what is worth searching for among many models."""
    about = describe(path)
    facts = {"class": about["class"], "version": about["version"], "checksum": about["checksum"]}
    assessment = about["info"].get("assessment")
    return facts | ({"pu_auc": assessment["pu_auc"]["value"]} if assessment else {})


def _describe_input(model: Any) -> dict[str, Any]:
    """Return signature and example of a model of a table; arrays need none."""
    if not isinstance(model, Pipeline):
        return {}
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import AnyType

    plans = model[0].plan_
    # Of any type: MLflow would refuse whole numbers where it expects doubles, codes where it
    # expects text, and booleans with gaps. `TableInput` takes them, and says what it does not take.
    columns = [ColSpec(AnyType(), plan["column"], required=True) for plan in plans]
    outputs = [ColSpec("float", "score"), ColSpec("boolean", "predicted")]
    outputs.append(ColSpec("float", "probability", required=False))
    params = [ParamSpec("threshold", "double", None), ParamSpec("prior", "double", None)]
    signature = ModelSignature(Schema([*columns]), Schema([*outputs]), ParamSchema(params))
    return {"signature": signature, "input_example": make_rows(plans, N_EXAMPLES, strange=0.0)}
