r"""Fitted models as ONNX graphs in double precision, for programs without Python.

The graph prepares the columns as the fit did and computes :math:`f(x) = \sum_j \alpha_j k(x, x_j) + b`;
:mod:`foldless.estimators.onnx_kernels` has the kernels.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from foldless.core.contracts import Matrix
from foldless.core.errors import DataError
from foldless.estimators.base import BaseKernelEstimator
from foldless.estimators.choice import BaseDefault
from foldless.estimators.onnx_graph import GraphBuilder
from foldless.estimators.onnx_kernels import kernel_values
from foldless.estimators.preparation import ColumnScaler, Preparation


def to_onnx(model: BaseEstimator) -> Any:
    """Return a fitted model as an ONNX graph in double precision.

    Needs ``pip install 'foldless[onnx]'``.

    Parameters
    ----------
    model : estimator
        A fitted ``KernelClassifier``, ``KernelRegressor``, ``KernelLogisticRegression``, ``KernelLSSVC`` or
        ``KernelRidgeRegressor``, alone or after a ``StandardScaler`` in a pipeline. The kernel is ``RBF``, ``Matern`` (nu of 0.5, 1.5
        or 2.5), ``Laplacian``, ``Metric``, ``Softened`` or ``DotProduct``, with one length scale or one per feature, or a sum or product of these.
        Columns of categories cannot be exported.

    Returns
    -------
    graph : onnx.ModelProto
        Its input is ``X`` (n, d) in double; missing values are nan. A classifier has the outputs ``label`` (n,) and
        ``probabilities`` (n, n_classes), a regressor ``prediction`` (n, n_outputs). ``graph.SerializeToString()`` is the content of
        a file.

    Raises
    ------
    DataError
        If the model has a part that cannot be exported; the message names it.
    """
    steps, last = _parts(model)
    check_is_fitted(model)
    machine = last.best_estimator_ if isinstance(last, BaseDefault) else last
    link = machine._link
    if link is None:
        raise _refusal(machine)
    if machine.cells_ is not None or machine._pairwise or last.column_codes_ is not None:
        raise DataError(
            f"a fit by cells, to a Gram matrix or to categories cannot be exported to ONNX. {_SUPPORTED}"
        )
    graph = GraphBuilder()
    points = "X"
    for step in (*steps, *([last.preparation_] if isinstance(last, BaseDefault) else [])):
        points = (_prepared if isinstance(step, Preparation) else _scaled)(graph, step, points)
    K = kernel_values(machine.kernel_, graph, points, _dense(machine.X_fit_))
    coefficients, intercept = link.slope * machine.dual_coef_.T, link.slope * machine.intercept_
    outputs = graph.add(
        "Add", graph.add("MatMul", K, graph.constant(coefficients)), graph.constant(intercept)
    )
    classes = last.classes_ if link.gives_probabilities else None
    if classes is None:
        graph.add("Identity", outputs, to="prediction")
    else:
        _add_probabilities(graph, outputs, link.joint, classes)
    return graph.model(last.n_features_in_, classes, machine.dual_coef_.shape[0])


_SUPPORTED = (
    "KernelClassifier, KernelRegressor, KernelLogisticRegression, KernelLSSVC and KernelRidgeRegressor can, alone or after a "
    "StandardScaler, without categories."
)


def _refusal(machine: Any) -> DataError:
    return DataError(f"{type(machine).__name__} cannot be exported to ONNX. {_SUPPORTED}")


def _parts(model: Any) -> tuple[list[StandardScaler], Any]:
    """Return the scaling, if there is any, and the estimator after it."""
    steps = (
        [step for _, step in model.steps if step != "passthrough"] if isinstance(model, Pipeline) else [model]
    )
    *before, last = steps
    if not isinstance(last, BaseKernelEstimator | BaseDefault):
        raise _refusal(last)
    if any(type(step) not in (StandardScaler, ColumnScaler) for step in before):
        names = ", ".join(type(step).__name__ for step in before)
        raise DataError(f"the steps {names} cannot be exported to ONNX. {_SUPPORTED}")
    return before, last


def _scaled(graph: GraphBuilder, scaler: StandardScaler, points: str) -> str:
    if scaler.with_mean:
        points = graph.add("Sub", points, graph.constant(scaler.mean_))
    return graph.add("Div", points, graph.constant(scaler.scale_)) if scaler.with_std else points


def _prepared(graph: GraphBuilder, preparation: Preparation, points: str) -> str:
    """Add the columns that change, scaled and filled, and those that tell where values are missing."""
    kept = preparation.kept
    columns = graph.add("Gather", points, graph.constant(kept.astype(np.int64)), axis=1)
    centred = graph.add("Sub", columns, graph.constant(preparation.center[kept]))
    scaled = graph.add("Div", centred, graph.constant(preparation.scale[kept]))
    filled = graph.add("Where", graph.add("IsNaN", scaled), graph.constant(preparation.fill[kept]), scaled)
    if not len(preparation.gaps):
        return filled
    holed = graph.add("Gather", points, graph.constant(preparation.gaps.astype(np.int64)), axis=1)
    ones, zeros = (graph.constant(np.full(len(preparation.gaps), value)) for value in (1.0, 0.0))
    gaps = graph.add("Where", graph.add("IsNaN", holed), ones, zeros)
    return graph.add("Concat", filled, gaps, axis=1)


def _dense(points: Any) -> Matrix:
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points, dtype=float)


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
