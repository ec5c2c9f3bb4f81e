"""Linear, constant and noise kernels, and the algebra ``+``, ``*``, ``**`` over all kernels."""

import numpy as np
from sklearn.gaussian_process.kernels import (
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Product,
    Sum,
    WhiteKernel,
)

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.evaluate import gram, is_semidefinite, pullback
from foldless.kernels.pairs import Pairs

EMPTY_GRADIENT = np.zeros(0)


@gram.register
def _(kernel: DotProduct, pairs: Pairs) -> Matrix:
    return pairs.inner + kernel.sigma_0**2


@pullback.register
def _(kernel: DotProduct, pairs: Pairs, adjoint: Matrix) -> Vector:
    if kernel.hyperparameter_sigma_0.fixed:
        return EMPTY_GRADIENT
    return np.array([2 * kernel.sigma_0**2 * adjoint.sum()])


@gram.register
def _(kernel: ConstantKernel, pairs: Pairs) -> Matrix:
    return np.full(pairs.shape, float(kernel.constant_value))


@pullback.register
def _(kernel: ConstantKernel, pairs: Pairs, adjoint: Matrix) -> Vector:
    if kernel.hyperparameter_constant_value.fixed:
        return EMPTY_GRADIENT
    return np.array([kernel.constant_value * adjoint.sum()])


@gram.register
def _(kernel: WhiteKernel, pairs: Pairs) -> Matrix:
    return kernel.noise_level * np.eye(pairs.shape[0]) if pairs.symmetric else np.zeros(pairs.shape)


@pullback.register
def _(kernel: WhiteKernel, pairs: Pairs, adjoint: Matrix) -> Vector:
    if kernel.hyperparameter_noise_level.fixed:
        return EMPTY_GRADIENT
    return np.array([kernel.noise_level * np.trace(adjoint) if pairs.symmetric else 0.0])


@gram.register
def _(kernel: Sum, pairs: Pairs) -> Matrix:
    return gram(kernel.k1, pairs) + gram(kernel.k2, pairs)


@pullback.register
def _(kernel: Sum, pairs: Pairs, adjoint: Matrix) -> Vector:
    return np.r_[pullback(kernel.k1, pairs, adjoint), pullback(kernel.k2, pairs, adjoint)]


@gram.register
def _(kernel: Product, pairs: Pairs) -> Matrix:
    return gram(kernel.k1, pairs) * gram(kernel.k2, pairs)


@pullback.register
def _(kernel: Product, pairs: Pairs, adjoint: Matrix) -> Vector:
    return np.r_[
        pullback(kernel.k1, pairs, adjoint * gram(kernel.k2, pairs)),
        pullback(kernel.k2, pairs, adjoint * gram(kernel.k1, pairs)),
    ]


@gram.register
def _(kernel: Exponentiation, pairs: Pairs) -> Matrix:
    return gram(kernel.kernel, pairs) ** kernel.exponent


@pullback.register
def _(kernel: Exponentiation, pairs: Pairs, adjoint: Matrix) -> Vector:
    K = gram(kernel.kernel, pairs)
    return pullback(kernel.kernel, pairs, adjoint * kernel.exponent * K ** (kernel.exponent - 1))


@is_semidefinite.register(ConstantKernel)
@is_semidefinite.register(DotProduct)
@is_semidefinite.register(WhiteKernel)
def _(kernel: Kernel) -> bool:
    return True


@is_semidefinite.register(Sum)
@is_semidefinite.register(Product)
def _(kernel: Sum | Product) -> bool:
    return is_semidefinite(kernel.k1) and is_semidefinite(kernel.k2)


@is_semidefinite.register
def _(kernel: Exponentiation) -> bool:
    return float(kernel.exponent).is_integer() and kernel.exponent >= 0 and is_semidefinite(kernel.kernel)


def has_noise(kernel: Kernel) -> bool:
    """Return True if a white-noise term is part of the kernel; a low-rank Gram cannot represent one."""
    if isinstance(kernel, WhiteKernel):
        return True
    return any(has_noise(part) for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel))
