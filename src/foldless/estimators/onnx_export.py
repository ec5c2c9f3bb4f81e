r"""Fitted models as ONNX graphs in double precision, for programs without Python.

The graph computes :math:`f(x) = \sum_j \alpha_j k(x, x_j) + b` from the squared distances

.. math:: d_j^2 = \sum_l (x_l - x_{jl})^2 / \ell_l^2,  \tag{1}

with :math:`k = e^{-d^2/2}` for the Gaussian kernel, and for Matérn kernels with :math:`s = \sqrt{2\nu}\,d` one of
:math:`e^{-s}`, :math:`(1 + s) e^{-s}`, :math:`(1 + s + s^2/3) e^{-s}`. A square is multiplied out,
:math:`|x|^2 + |x_j|^2 - 2 x^\top x_j`, except for :math:`\nu = 1/2`: there k has a kink at 0, and rounding would cost half of
the digits. No single number stands beside a product of matrices: onnxruntime would move it into the product, as a float of
seven digits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, Product
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from foldless.core.contracts import Matrix
from foldless.core.errors import DataError
from foldless.core.optional_imports import import_extra
from foldless.estimators.base import BaseKernelEstimator

# Operators of this version are known to every runtime of the last years.
OPERATOR_SET, FORMAT_VERSION = 17, 8
# Coefficients of 1, s, s^2 before exp(-s).
MATERN_POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1 / 3)}


def to_onnx(model: BaseEstimator) -> Any:
    """Return a fitted model as an ONNX graph in double precision.

    Needs ``pip install 'foldless[onnx]'``.

    Parameters
    ----------
    model : estimator
        A fitted ``KernelLogisticRegression``, ``KernelLSSVC`` or ``KernelRidgeRegressor``, alone or after a
        ``StandardScaler`` in a pipeline, with the kernel ``RBF`` or ``Matern`` (one length scale or one per feature; nu of 0.5,
        1.5 or 2.5), perhaps times a constant.

    Returns
    -------
    graph : onnx.ModelProto
        Its input is ``X`` (n, d) in double. A classifier has the outputs ``label`` (n,) and ``probabilities`` (n, n_classes), a
        regressor ``prediction`` (n, n_outputs). ``graph.SerializeToString()`` is the content of a file.

    Raises
    ------
    DataError
        If the model has a part that cannot be exported; the message names it.
    """
    scaler, machine = _parts(model)
    check_is_fitted(model)
    link = machine._link
    if link is None:
        raise DataError(f"{type(machine).__name__} cannot be exported to ONNX. {_SUPPORTED}")
    if machine.cells_ is not None or machine._pairwise or machine.column_codes_ is not None:
        raise DataError(
            f"a fit by cells, to a Gram matrix or to categories cannot be exported to ONNX. {_SUPPORTED}"
        )
    graph = GraphBuilder()
    points = "X" if scaler is None else _scaled(graph, scaler)
    K = _kernel_values(graph, machine.kernel_, points, _dense(machine.X_fit_))
    coefficients, intercept = link.slope * machine.dual_coef_.T, link.slope * machine.intercept_
    outputs = graph.add(
        "Add", graph.add("MatMul", K, graph.constant(coefficients)), graph.constant(intercept)
    )
    classes = machine.classes_ if link.gives_probabilities else None
    if classes is None:
        graph.add("Identity", outputs, to="prediction")
    else:
        _add_probabilities(graph, outputs, link.joint, classes)
    return graph.model(machine.n_features_in_, classes, machine.dual_coef_.shape[0])


_SUPPORTED = (
    "KernelLogisticRegression, KernelLSSVC and KernelRidgeRegressor can, alone or after a StandardScaler, with RBF and Matern "
    "kernels."
)


def _parts(model: Any) -> tuple[StandardScaler | None, BaseKernelEstimator]:
    """Return the scaling, if there is any, and the machine."""
    steps = (
        [step for _, step in model.steps if step != "passthrough"] if isinstance(model, Pipeline) else [model]
    )
    *before, machine = steps
    if not isinstance(machine, BaseKernelEstimator):
        raise DataError(f"{type(machine).__name__} cannot be exported to ONNX. {_SUPPORTED}")
    if len(before) > 1 or any(type(step) is not StandardScaler for step in before):
        names = ", ".join(type(step).__name__ for step in before)
        raise DataError(f"the steps {names} cannot be exported to ONNX. {_SUPPORTED}")
    return (before[0] if before else None), machine


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


def _scaled(graph: GraphBuilder, scaler: StandardScaler) -> str:
    points = "X"
    if scaler.with_mean:
        points = graph.add("Sub", points, graph.constant(scaler.mean_))
    return graph.add("Div", points, graph.constant(scaler.scale_)) if scaler.with_std else points


def _dense(points: Any) -> Matrix:
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points, dtype=float)


def _kernel_values(graph: GraphBuilder, kernel: Kernel, points: str, X_fit: Matrix) -> str:
    """Add the kernel between new points and those of the fit (n, m)."""
    if isinstance(kernel, Product):
        factors = [_kernel_values(graph, part, points, X_fit) for part in (kernel.k1, kernel.k2)]
        return graph.add("Mul", *factors)
    if isinstance(kernel, ConstantKernel):
        return graph.constant(np.full(len(X_fit), float(kernel.constant_value)))
    if type(kernel) not in (RBF, Matern):
        raise DataError(f"the kernel {kernel} cannot be exported to ONNX. {_SUPPORTED}")
    nu = kernel.nu if isinstance(kernel, Matern) else np.inf
    if nu != np.inf and nu not in MATERN_POLYNOMIALS:
        raise DataError(
            f"a Matern kernel with nu={nu:g} cannot be exported to ONNX; nu of 0.5, 1.5 and 2.5 can."
        )
    squares = _squared_distances(
        graph, points, X_fit, np.asarray(kernel.length_scale, dtype=float), exact=nu == 0.5
    )
    if nu == np.inf:
        return graph.add("Exp", graph.add("Mul", squares, graph.constant(-0.5)))
    s = graph.add("Sqrt", graph.add("Mul", squares, graph.constant(2.0 * nu)))
    decay = graph.add("Exp", graph.add("Neg", s))
    return graph.add("Mul", _polynomial(graph, s, MATERN_POLYNOMIALS[nu]), decay)


def _squared_distances(
    graph: GraphBuilder, points: str, X_fit: Matrix, length_scale: NDArray[Any], exact: bool
) -> str:
    """Add eq. (1), (n, m); distances from the mean point of the fit lose fewer digits."""
    centre = X_fit.mean(axis=0)
    fitted = (X_fit - centre) / length_scale
    centred = graph.add("Sub", points, graph.constant(centre))
    new = graph.add("Div", centred, graph.constant(length_scale))
    if exact:
        rows = graph.add("Unsqueeze", new, graph.constant(np.array([1])))
        differences = graph.add("Sub", rows, graph.constant(fitted[None]))
        return graph.add("ReduceSumSquare", differences, axes=[2], keepdims=0)
    own = graph.add("ReduceSumSquare", new, axes=[1], keepdims=1)
    both = graph.add("Add", own, graph.constant(np.sum(fitted**2, axis=1)))
    products = graph.add("MatMul", centred, graph.constant(2 * (fitted / length_scale).T))
    return graph.add("Max", graph.add("Sub", both, products), graph.constant(0.0))


def _polynomial(graph: GraphBuilder, s: str, coefficients: Sequence[float]) -> str:
    """Add a polynomial of s by Horner's rule."""
    value = graph.constant(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = graph.add("Add", graph.add("Mul", value, s), graph.constant(coefficient))
    return value


def _add_probabilities(graph: GraphBuilder, logits: str, joint: bool, classes: NDArray[Any]) -> None:
    """Add labels and probabilities to outputs (n, 1 or n_classes)."""
    if len(classes) == 2:
        logits = graph.add("MatMul", logits, graph.constant(np.array([[-0.5, 0.5]])))
    if joint or len(classes) == 2:
        graph.add("Softmax", logits, axis=1, to="probabilities")
    else:
        each = graph.add("Sigmoid", logits)
        total = graph.add("ReduceSum", each, graph.constant(np.array([1])), keepdims=1)
        graph.add(
            "Div", each, graph.add("Max", total, graph.constant(np.finfo(float).tiny)), to="probabilities"
        )
    number = graph.add("ArgMax", logits, axis=1, keepdims=0)
    labels = classes.astype(np.int64) if classes.dtype.kind in "iub" else classes.astype(str).astype(object)
    graph.add("Gather", graph.constant(labels), number, to="label")
