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

from foldless.kernels.evaluate import gram_of, pullback_of, semidefinite

NOTHING = np.zeros(0)


@gram_of.register
def _(kernel: DotProduct, pairs):
    return pairs.inner + kernel.sigma_0**2


@pullback_of.register
def _(kernel: DotProduct, pairs, adjoint):
    if kernel.hyperparameter_sigma_0.fixed:
        return NOTHING
    return np.array([2 * kernel.sigma_0**2 * adjoint.sum()])


@gram_of.register
def _(kernel: ConstantKernel, pairs):
    return np.full(pairs.shape, float(kernel.constant_value))


@pullback_of.register
def _(kernel: ConstantKernel, pairs, adjoint):
    if kernel.hyperparameter_constant_value.fixed:
        return NOTHING
    return np.array([kernel.constant_value * adjoint.sum()])


@gram_of.register
def _(kernel: WhiteKernel, pairs):
    return kernel.noise_level * np.eye(pairs.shape[0]) if pairs.symmetric else np.zeros(pairs.shape)


@pullback_of.register
def _(kernel: WhiteKernel, pairs, adjoint):
    if kernel.hyperparameter_noise_level.fixed:
        return NOTHING
    return np.array([kernel.noise_level * np.trace(adjoint) if pairs.symmetric else 0.0])


@gram_of.register
def _(kernel: Sum, pairs):
    return gram_of(kernel.k1, pairs) + gram_of(kernel.k2, pairs)


@pullback_of.register
def _(kernel: Sum, pairs, adjoint):
    return np.r_[pullback_of(kernel.k1, pairs, adjoint), pullback_of(kernel.k2, pairs, adjoint)]


@gram_of.register
def _(kernel: Product, pairs):
    return gram_of(kernel.k1, pairs) * gram_of(kernel.k2, pairs)


@pullback_of.register
def _(kernel: Product, pairs, adjoint):
    return np.r_[
        pullback_of(kernel.k1, pairs, adjoint * gram_of(kernel.k2, pairs)),
        pullback_of(kernel.k2, pairs, adjoint * gram_of(kernel.k1, pairs)),
    ]


@gram_of.register
def _(kernel: Exponentiation, pairs):
    return gram_of(kernel.kernel, pairs) ** kernel.exponent


@pullback_of.register
def _(kernel: Exponentiation, pairs, adjoint):
    K = gram_of(kernel.kernel, pairs)
    return pullback_of(kernel.kernel, pairs, adjoint * kernel.exponent * K ** (kernel.exponent - 1))


@semidefinite.register(ConstantKernel)
@semidefinite.register(DotProduct)
@semidefinite.register(WhiteKernel)
def _(kernel):
    return True


@semidefinite.register(Sum)
@semidefinite.register(Product)
def _(kernel):
    return semidefinite(kernel.k1) and semidefinite(kernel.k2)


@semidefinite.register
def _(kernel: Exponentiation):
    return float(kernel.exponent).is_integer() and kernel.exponent >= 0 and semidefinite(kernel.kernel)


def has_noise(kernel: Kernel) -> bool:
    """Tell whether a white-noise term is part of the kernel (no low-rank form holds it)."""
    if isinstance(kernel, WhiteKernel):
        return True
    return any(has_noise(part) for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel))
