r"""Gradients of kernels in their first point: what a fitted function changes with.

.. math:: g_i = \sum_j W_{ij} \nabla_x k(x_i, x_j)  \tag{1}

for weights W (n, m). With the coefficients of a fit in every row of W it is the gradient of the fitted function. For a
function f of the squared distance D in units of the length scale, with the decay :math:`-2 f'` of
:mod:`foldless.kernels.stationary` and :math:`B = W \circ (-2 f'(D))`,

.. math:: g_{ia} = \Bigl( (B X')_{ia} - x_{ia} \textstyle\sum_j B_{ij} \Bigr) / \ell_a^2.  \tag{2}

Kernels without a formula are differentiated by central differences. Codes of categories have no gradient: it is zero.
"""

from functools import singledispatch

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Matern,
    Product,
    Sum,
    WhiteKernel,
)

from foldless.core.contracts import Matrix
from foldless.kernels.categorical import Categorical
from foldless.kernels.columns import Columns
from foldless.kernels.evaluate import gram
from foldless.kernels.metric import Metric, radial
from foldless.kernels.pairs import Pairs, to_dense
from foldless.kernels.softened import Softened
from foldless.kernels.stationary import PROFILES

# Step of a difference, as a fraction of the standard deviation of a column.
DIFFERENCE_STEP = 1e-5


@singledispatch
def input_gradient(kernel: Kernel, pairs: Pairs, W: Matrix) -> Matrix:
    """Return (1), an array (n, d), for ``pairs`` of two sets of points and weights ``W`` (n, m)."""
    X, Y = to_dense(pairs.X), to_dense(pairs.Y)
    gradient = np.zeros(X.shape)
    for a, deviation in enumerate(np.std(Y, axis=0)):
        step = np.zeros(X.shape[1])
        step[a] = DIFFERENCE_STEP * (deviation or 1.0)
        up, down = (gram(kernel, Pairs(X + shift, Y)) for shift in (step, -step))
        gradient[:, a] = np.einsum("ij,ij->i", W, up - down) / (2 * step[a])
    return gradient


def _radial(pairs: Pairs, length_scale: float | Matrix, nu: float, W: Matrix) -> Matrix:
    """Return (2)."""
    B = W * PROFILES[nu][1](pairs.squared_over(length_scale))
    X, Y = to_dense(pairs.X), to_dense(pairs.Y)
    return (B @ Y - X * B.sum(axis=1, keepdims=True)) / np.square(length_scale)


@input_gradient.register
def _(kernel: RBF, pairs: Pairs, W: Matrix) -> Matrix:
    return _radial(pairs, kernel.length_scale, np.inf, W)


@input_gradient.register
def _(kernel: Matern, pairs: Pairs, W: Matrix) -> Matrix:
    if kernel.nu not in PROFILES:
        return input_gradient.dispatch(object)(kernel, pairs, W)
    return _radial(pairs, kernel.length_scale, kernel.nu, W)


@input_gradient.register
def _(kernel: Metric, pairs: Pairs, W: Matrix) -> Matrix:
    if kernel.directions is None:
        return input_gradient(radial(kernel), pairs, W)
    U = np.asarray(kernel.directions, dtype=float)
    return input_gradient(radial(kernel), pairs.times(U), W) @ U.T


@input_gradient.register
def _(kernel: DotProduct, pairs: Pairs, W: Matrix) -> Matrix:
    return W @ to_dense(pairs.Y)


@input_gradient.register(Categorical)
@input_gradient.register(ConstantKernel)
@input_gradient.register(WhiteKernel)
def _(kernel: Kernel, pairs: Pairs, W: Matrix) -> Matrix:
    return np.zeros(pairs.X.shape)


@input_gradient.register
def _(kernel: Columns, pairs: Pairs, W: Matrix) -> Matrix:
    columns = kernel.indices(pairs.X.shape[1])
    gradient = np.zeros(pairs.X.shape)
    # A column may be chosen twice: its parts add up.
    for column, part in zip(
        columns, input_gradient(kernel.kernel, pairs.on_columns(columns), W).T, strict=True
    ):
        gradient[:, column] += part
    return gradient


@input_gradient.register
def _(kernel: Softened, pairs: Pairs, W: Matrix) -> Matrix:
    return input_gradient(kernel.kernel, kernel.changed_pairs(pairs), W) * kernel.slope(to_dense(pairs.X))


@input_gradient.register
def _(kernel: Sum, pairs: Pairs, W: Matrix) -> Matrix:
    return input_gradient(kernel.k1, pairs, W) + input_gradient(kernel.k2, pairs, W)


@input_gradient.register
def _(kernel: Product, pairs: Pairs, W: Matrix) -> Matrix:
    first = input_gradient(kernel.k1, pairs, W * gram(kernel.k2, pairs))
    return first + input_gradient(kernel.k2, pairs, W * gram(kernel.k1, pairs))


@input_gradient.register
def _(kernel: Exponentiation, pairs: Pairs, W: Matrix) -> Matrix:
    power = kernel.exponent
    return input_gradient(kernel.kernel, pairs, W * power * gram(kernel.kernel, pairs) ** (power - 1))
