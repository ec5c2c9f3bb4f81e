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
from foldless.estimators.columns import ColumnCodes
from foldless.estimators.onnx_graph import GraphBuilder
from foldless.estimators.onnx_kernels import kernel_values
from foldless.estimators.preparation import ColumnScaler, Preparation
from foldless.estimators.prepared_columns import PreparedColumns


def to_onnx(model: BaseEstimator) -> Any:
    """Return a fitted model as an ONNX graph in double precision.

    Needs ``pip install 'foldless[onnx]'``.

    Parameters
    ----------
    model : estimator
        A fitted ``KernelClassifier``, ``KernelRegressor``, ``KernelLogisticRegression``, ``KernelLSSVC`` or
        ``KernelRidgeRegressor``, alone or after a ``StandardScaler`` in a pipeline, or a model that ``foldless tune`` saved. The kernel is
        ``RBF``, ``Matern`` (nu of 0.5, 1.5 or 2.5), ``Laplacian``, ``Metric``, ``Softened``, ``Columns``, ``Categorical`` or ``DotProduct``, with
        one length scale or one per feature, or a sum or product of these.

    Returns
    -------
    graph : onnx.ModelProto
        Its input is ``X`` (n, d) in double; missing numbers are nan. A category of a data frame is the number of its level in
        ``column_codes_.levels``, a missing one that of the level ``None``, and any other number, such as -1, matches nothing; columns
        of an array are taken as they were in the fit. A classifier has the outputs ``label`` (n,) and
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
    if machine.cells_ is not None or machine._pairwise:
        raise DataError(f"a fit by cells or to a Gram matrix cannot be exported to ONNX. {_SUPPORTED}")
    graph = GraphBuilder()
    points = "X"
    for step in (*steps, *([last] if isinstance(last, BaseDefault) else [])):
        points = (_scaled if isinstance(step, StandardScaler) else _coded_and_prepared)(graph, step, points)
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
    first = steps[0] if steps else last
    return graph.model(first.n_features_in_, classes, machine.dual_coef_.shape[0])


_SUPPORTED = (
    "KernelClassifier, KernelRegressor, KernelLogisticRegression, KernelLSSVC and KernelRidgeRegressor can, alone or after a "
    "StandardScaler."
)


def _refusal(machine: Any) -> DataError:
    return DataError(f"{type(machine).__name__} cannot be exported to ONNX. {_SUPPORTED}")


def _parts(model: Any) -> tuple[list[StandardScaler | PreparedColumns], Any]:
    """Return what prepares the columns, if there is anything, and the estimator after it."""
    steps = (
        [step for _, step in model.steps if step != "passthrough"] if isinstance(model, Pipeline) else [model]
    )
    *before, last = steps
    if not isinstance(last, BaseKernelEstimator | BaseDefault):
        raise _refusal(last)
    if any(type(step) not in (StandardScaler, ColumnScaler, PreparedColumns) for step in before):
        names = ", ".join(type(step).__name__ for step in before)
        raise DataError(f"the steps {names} cannot be exported to ONNX. {_SUPPORTED}")
    return before, last


def _scaled(graph: GraphBuilder, scaler: StandardScaler, points: str) -> str:
    if scaler.with_mean:
        points = graph.add("Sub", points, graph.constant(scaler.mean_))
    return graph.add("Div", points, graph.constant(scaler.scale_)) if scaler.with_std else points


def _coded_and_prepared(graph: GraphBuilder, step: BaseDefault | PreparedColumns, points: str) -> str:
    codes = step.column_codes_
    if codes is not None and codes.of_array:
        points = _coded(graph, codes, points)
    return _prepared(graph, step.preparation_, points)


def _coded(graph: GraphBuilder, codes: ColumnCodes, points: str) -> str:
    """Add the codes of categories in the place of the values that an array has for them."""
    columns = []
    for place in codes.names:
        values = graph.add("Gather", points, graph.constant(np.array([place])), axis=1)
        columns.append(
            _level_numbers(graph, codes.levels[place], values) if place in codes.levels else values
        )
    return graph.add("Concat", *columns, axis=1)


def _level_numbers(graph: GraphBuilder, levels: list[Any], values: str) -> str:
    """Add the number of the level of each row (n, 1): one more than it, or 0 for none, less 1."""
    text = next((level for level in levels if isinstance(level, str)), None)
    if text is not None:
        raise DataError(
            f"an array with texts such as {text!r} cannot be exported to ONNX. Fit a data frame, or codes in the array."
        )
    known = np.array([level for level in levels if level is not None], dtype=float)
    places = np.arange(1.0, len(known) + 1)
    same = graph.add("Equal", values, graph.constant(known[None]))
    each = graph.add("Where", same, graph.constant(places), graph.constant(np.zeros(len(known))))
    number = graph.add("ReduceSum", each, graph.constant(np.array([1])), keepdims=1)
    number = graph.add("Sub", number, graph.constant(1.0))
    if len(known) == len(levels):
        # A value that is missing for the first time is no level either.
        return number
    return graph.add("Where", graph.add("IsNaN", values), graph.constant(float(len(known))), number)


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
