"""What `mixpul fit`, `compare`, `predict`, `evaluate`, `prior` and `inspect` do."""

from mixpul.table_commands._compare import compare
from mixpul.table_commands._evaluate import evaluate
from mixpul.table_commands._fit import fit
from mixpul.table_commands._inspect import inspect
from mixpul.table_commands._predict import predict
from mixpul.table_commands._prior import prior

__all__ = ["compare", "evaluate", "fit", "inspect", "predict", "prior"]
