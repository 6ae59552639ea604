"""A small builder of ONNX graphs: a call adds one operation and returns its result's name."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixpul._util.errors import MixpulError

__all__ = ["DOUBLE", "FLOAT", "INT64", "ML", "STRING", "Graph", "import_onnx"]

# The numbers that ONNX has given to its types (TensorProto), so that `onnx` need not be imported.
FLOAT, INT64, STRING, DOUBLE = 1, 7, 8, 11
ML = "ai.onnx.ml"
# The oldest sets of operations with what is used here: matching of text, trees in double precision.
OPSET, ML_OPSET = 20, 5
# The format of the file that goes with them, so that runtimes of that time read it.
IR_VERSION = 10


def import_onnx() -> tuple[Any, Any]:
    """Return the packages onnx and onnxruntime, or say how to get them."""
    try:
        import onnx
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            "Models are exported through onnx and checked in onnxruntime: "
            "pip install 'mixpul[onnx]'."
        ) from error
    return onnx, onnxruntime


class Graph:
    """Operations in the order in which they run, and what they work on.

    Every tensor has one line per row of the table: inputs and outputs have the shape (rows, 1).
    """

    def __init__(self) -> None:
        self._onnx, _ = import_onnx()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._taken: set[str] = set()

    def take_input(self, name: str, kind: int, about: str, width: int = 1) -> str:
        """Declare an input with one line per row."""
        if name in self._taken:
            raise MixpulError(f"Two inputs would have the name {name!r}; rename a column.")
        self._taken.add(name)
        value = self._onnx.helper.make_tensor_value_info(name, kind, ["rows", width], about)
        self._inputs.append(value)
        return name

    def reserve(self, *names: str) -> None:
        """Keep names of outputs free; inputs may not have them."""
        if clash := self._taken & set(names):
            raise MixpulError(
                f"The column {min(clash)!r} has the name of an output of the exported model; "
                "rename the column and fit again."
            )
        self._taken |= set(names)

    def give_output(self, name: str, value: str, kind: int, about: str) -> None:
        """Declare a value as an output, under a name that was reserved."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        info = self._onnx.helper.make_tensor_value_info(name, kind, ["rows", 1], about)
        self._outputs.append(info)

    def add(self, operation: str, *inputs: str | ArrayLike, domain: str = "", **more: Any) -> str:
        """Add an operation; inputs are names of values, or arrays, and `more` are attributes."""
        names = [one if isinstance(one, str) else self._add_constant(one) for one in inputs]
        result = self._make_name(operation.lower())
        made = self._onnx.helper.make_node(operation, names, [result], domain=domain, **more)
        self._nodes.append(made)
        return result

    def cast(self, value: str, kind: int) -> str:
        """Add a change of type."""
        return self.add("Cast", value, to=kind)

    def make_tensor(self, name: str, array: Any) -> Any:
        """Make a tensor for an attribute."""
        return self._onnx.numpy_helper.from_array(array, name)

    def finish(self, name: str, about: str, facts: dict[str, str]) -> Any:
        """Return the model; `facts` are stored in it as text."""
        helper = self._onnx.helper
        body = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(
            body, opset_imports=sets, ir_version=IR_VERSION, producer_name="mixpul"
        )
        model.doc_string = about
        helper.set_model_props(model, facts)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _add_constant(self, value: Any) -> str:
        name = self._make_name("constant")
        self._constants.append(self.make_tensor(name, np.asarray(value)))
        return name

    def _make_name(self, stem: str) -> str:
        # Columns have names of any kind: count on until one is free.
        number = len(self._nodes) + len(self._constants)
        while f"{stem}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{stem}_{number}")
        return f"{stem}_{number}"
