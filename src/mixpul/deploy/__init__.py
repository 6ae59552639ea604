"""Models on their way out: ONNX files, MLflow models, model cards and a server.

Each needs an extra of its own, which is named where it is missing. MLflow models are made by the
functions of `mixpul.deploy.mlflow`.
"""

from mixpul.deploy.card import make_card
from mixpul.deploy.onnx import export_onnx
from mixpul.deploy.serve import make_app

__all__ = ["export_onnx", "make_app", "make_card"]
