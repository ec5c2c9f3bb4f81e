"""The operators and constants of an ONNX graph, with names."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.core.optional_imports import import_extra

# Operators of this version are known to every runtime of the last years.
OPERATOR_SET, FORMAT_VERSION = 17, 8


class GraphBuilder:
    """Collects the operators and constants of a graph, and gives them names."""

    def __init__(self) -> None:
        self.onnx = import_extra("onnx", "onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """Add an array and return its name."""
        name = f"constant{len(self.constants)}"
        self.constants.append(
            self.onnx.numpy_helper.from_array(np.ascontiguousarray(values).reshape(np.shape(values)), name)
        )
        return name

    def add(self, operator: str, *inputs: str, to: str = "", **attributes: Any) -> str:
        """Add an operator and return the name of its output."""
        name = to or f"value{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def model(self, n_features: int, classes: NDArray[Any] | None, n_outputs: int) -> Any:
        """Return the graph with its inputs and outputs declared."""
        kinds, helper = self.onnx.TensorProto, self.onnx.helper
        if classes is None:
            outputs = [helper.make_tensor_value_info("prediction", kinds.DOUBLE, [None, n_outputs])]
        else:
            kind = kinds.INT64 if classes.dtype.kind in "iub" else kinds.STRING
            outputs = [
                helper.make_tensor_value_info("label", kind, [None]),
                helper.make_tensor_value_info("probabilities", kinds.DOUBLE, [None, len(classes)]),
            ]
        inputs = [helper.make_tensor_value_info("X", kinds.DOUBLE, [None, n_features])]
        graph = helper.make_graph(self.nodes, "foldless", inputs, outputs, self.constants)
        opset = [helper.make_opsetid("", OPERATOR_SET)]
        made = helper.make_model(
            graph, opset_imports=opset, ir_version=FORMAT_VERSION, producer_name="foldless"
        )
        self.onnx.checker.check_model(made)
        return made
