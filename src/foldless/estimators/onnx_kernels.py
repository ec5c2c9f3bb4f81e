r"""Kernels as ONNX graphs in double precision.

Radial kernels are functions of the squared distances

.. math:: d_j^2 = \sum_l (x_l - x_{jl})^2 / \ell_l^2:  \tag{1}

:math:`k = e^{-d^2/2}` for the Gaussian kernel, and for Matérn kernels with :math:`s = \sqrt{2\nu}\,d` one of
:math:`e^{-s}`, :math:`(1 + s) e^{-s}`, :math:`(1 + s + s^2/3) e^{-s}`. A square is multiplied out,
:math:`|x|^2 + |x_j|^2 - 2 x^\top x_j`, except for :math:`\nu = 1/2`: there k has a kink at 0, and rounding would cost half of
the digits. A learned metric is a radial kernel in rotated coordinates. No single number stands beside a product of matrices:
onnxruntime would move it into the product, as a float of seven digits.
"""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Kernel, Matern, Product, Sum

from foldless.core.contracts import Matrix
from foldless.core.errors import DataError
from foldless.estimators.onnx_graph import GraphBuilder
from foldless.kernels import Categorical, Columns, Laplacian, Metric, Softened
from foldless.kernels.metric import radial

# Coefficients of 1, s, s^2 before exp(-s).
MATERN_POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1 / 3)}


@singledispatch
def kernel_values(kernel: Kernel, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    """Add the kernel between new points and those of the fit (n, m)."""
    raise DataError(
        f"the kernel {kernel} cannot be exported to ONNX. RBF, Matern, Laplacian, Metric, Softened, Columns, Categorical and DotProduct can, and "
        "their sums and products."
    )


@kernel_values.register
def _(kernel: Product, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    return graph.add("Mul", *(kernel_values(part, graph, points, X_fit) for part in (kernel.k1, kernel.k2)))


@kernel_values.register
def _(kernel: Sum, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    return graph.add("Add", *(kernel_values(part, graph, points, X_fit) for part in (kernel.k1, kernel.k2)))


@kernel_values.register
def _(kernel: ConstantKernel, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    return graph.constant(np.full(len(X_fit), float(kernel.constant_value)))


@kernel_values.register
def _(kernel: DotProduct, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    products = _times(graph, points, X_fit.T)
    return graph.add("Add", products, graph.constant(np.full(len(X_fit), float(kernel.sigma_0) ** 2)))


@kernel_values.register
def _(kernel: RBF, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    # scikit-learn's Matern is a subclass; it has its own function.
    squares = _squared_distances(graph, points, X_fit, _lengths(kernel), exact=False)
    return graph.add("Exp", graph.add("Mul", squares, graph.constant(-0.5)))


@kernel_values.register
def _(kernel: Matern, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    if kernel.nu == np.inf:
        return kernel_values(RBF(kernel.length_scale), graph, points, X_fit)
    if kernel.nu not in MATERN_POLYNOMIALS:
        raise DataError(
            f"a Matern kernel with nu={kernel.nu:g} cannot be exported to ONNX; nu of 0.5, 1.5 and 2.5 can."
        )
    squares = _squared_distances(graph, points, X_fit, _lengths(kernel), exact=kernel.nu == 0.5)
    s = graph.add("Sqrt", graph.add("Mul", squares, graph.constant(2.0 * kernel.nu)))
    decay = graph.add("Exp", graph.add("Neg", s))
    return graph.add("Mul", _polynomial(graph, s, MATERN_POLYNOMIALS[kernel.nu]), decay)


@kernel_values.register
def _(kernel: Metric, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    if kernel.directions is None:
        return kernel_values(radial(kernel), graph, points, X_fit)
    U = np.asarray(kernel.directions, dtype=float)
    return kernel_values(radial(kernel), graph, _times(graph, points, U), X_fit @ U)


@kernel_values.register
def _(kernel: Softened, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    # asinh(x) = sign(x) log(|x| + sqrt(x^2 + 1)): the runtime has no inverse sine in double precision.
    x = graph.add("Mul", points, graph.constant(float(kernel.strength)))
    root = graph.add("Sqrt", graph.add("Add", graph.add("Mul", x, x), graph.constant(1.0)))
    size = graph.add("Log", graph.add("Add", graph.add("Abs", x), root))
    soft = graph.add(
        "Div", graph.add("Mul", graph.add("Sign", x), size), graph.constant(float(kernel.strength))
    )
    return kernel_values(kernel.kernel, graph, soft, np.asarray(kernel.changed(X_fit)))


@kernel_values.register
def _(kernel: Columns, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    chosen = np.array(kernel.indices(X_fit.shape[1]), dtype=np.int64)
    some = graph.add("Gather", points, graph.constant(chosen), axis=1)
    return kernel_values(kernel.kernel, graph, some, X_fit[:, chosen])


@kernel_values.register
def _(kernel: Categorical, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    # Codes that did not occur in training are no codes of X_fit, and match nothing.
    rows = graph.add("Unsqueeze", points, graph.constant(np.array([1])))
    same = graph.add("Equal", rows, graph.constant(X_fit[None]))
    costs = np.broadcast_to(-1 / _lengths(kernel), X_fit.shape[1:])
    each = graph.add("Where", same, graph.constant(np.zeros(X_fit.shape[1])), graph.constant(costs))
    return graph.add("Exp", graph.add("ReduceSum", each, graph.constant(np.array([2])), keepdims=0))


@kernel_values.register
def _(kernel: Laplacian, graph: GraphBuilder, points: str, X_fit: Matrix) -> str:
    if kernel.norm == 2:
        return kernel_values(Matern(kernel.length_scale, nu=0.5), graph, points, X_fit)
    scaled = graph.add("Div", points, graph.constant(_lengths(kernel)))
    sizes = graph.add("Abs", _differences(graph, scaled, X_fit / kernel.length_scale))
    total = graph.add("ReduceSum", sizes, graph.constant(np.array([2])), keepdims=0)
    return graph.add("Exp", graph.add("Neg", total))


def _times(graph: GraphBuilder, points: str, A: Matrix) -> str:
    """Add the product of the points and a matrix; by Einsum, into which onnxruntime does not move the scale of a single feature."""
    return graph.add("Einsum", points, graph.constant(A), equation="ij,jk->ik")


def _lengths(kernel: Any) -> NDArray[Any]:
    return np.asarray(kernel.length_scale, dtype=float)


def _differences(graph: GraphBuilder, points: str, fitted: Matrix) -> str:
    """Add the differences of every new point and every point of the fit (n, m, d)."""
    rows = graph.add("Unsqueeze", points, graph.constant(np.array([1])))
    return graph.add("Sub", rows, graph.constant(fitted[None]))


def _squared_distances(
    graph: GraphBuilder, points: str, X_fit: Matrix, length_scale: NDArray[Any], exact: bool
) -> str:
    """Add eq. (1), (n, m); distances from the mean point of the fit lose fewer digits."""
    centre = X_fit.mean(axis=0)
    fitted = (X_fit - centre) / length_scale
    centred = graph.add("Sub", points, graph.constant(centre))
    new = graph.add("Div", centred, graph.constant(length_scale))
    if exact:
        return graph.add("ReduceSumSquare", _differences(graph, new, fitted), axes=[2], keepdims=0)
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
