r"""Additive kernels: sums of functions of one column each, and of two.

.. math:: k(x, x') = \sum_a z_a + c \sum_{a < b} z_a z_b, \qquad z_a = s_a \exp(-(x_a - x'_a)^2 / 2 \ell^2)  \tag{1}

The tuned parameters are one amplitude :math:`s_a` per column, the strength c of the interactions, and one width. The
sum over pairs is an elementary symmetric polynomial, by Newton and Girard :math:`e_2 = (p_1^2 - p_2) / 2` with the power
sums :math:`p_r = \sum_a z_a^r`, so that d columns cost d exponentials and no pairs [1]_. Its derivative in
:math:`z_a` is :math:`p_1 - z_a`, hence

.. math:: \frac{\partial k}{\partial \log s_a} = z_a (1 + c (p_1 - z_a)), \qquad
          \frac{\partial k}{\partial \log \ell} = \sum_a \frac{\partial k}{\partial \log s_a}
          \frac{(x_a - x'_a)^2}{\ell^2}, \qquad \frac{\partial k}{\partial \log c} = c\, e_2.  \tag{2}

References
----------
.. [1] Duvenaud, Nickisch and Rasmussen, *Additive Gaussian processes*, NIPS 24 (2011).
"""

from collections.abc import Iterator
from functools import singledispatch
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Hyperparameter,
    Kernel,
    Product,
    StationaryKernelMixin,
    Sum,
)

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.base import PairKernel
from foldless.kernels.columns import Columns
from foldless.kernels.evaluate import gram, is_semidefinite, pullback, shown
from foldless.kernels.pairs import Pairs, to_dense

ORDERS = (1, 2)


class Additive(StationaryKernelMixin, PairKernel):
    """Sum of one-dimensional Gaussian kernels, one per column, and of their products in pairs; eq. (1).

    Parameters
    ----------
    amplitude : array of shape (d,)
        One for every column.
    length_scale : float, default=1.0
        The width that all columns share.
    interaction : float, default=1.0
        c; ignored with ``order=1``.
    order : {1, 2}, default=1
        Functions of single columns, or also of two; not tuned.
    amplitude_bounds : pair of floats or "fixed", default=(0.0001, 100.0)
    length_scale_bounds : pair of floats or "fixed", default=(1e-05, 100000.0)
    interaction_bounds : pair of floats or "fixed", default=(0.0001, 100.0)

    Examples
    --------
    >>> Additive([1.0, 2.0], order=2)([[0.0, 0.0], [0.0, 99.0]]).round(4)
    array([[5., 1.],
           [1., 5.]])
    """

    def __init__(
        self,
        amplitude: ArrayLike,
        length_scale: float = 1.0,
        interaction: float = 1.0,
        order: int = 1,
        amplitude_bounds: tuple[float, float] | str = (1e-4, 1e2),
        length_scale_bounds: tuple[float, float] | str = (1e-5, 1e5),
        interaction_bounds: tuple[float, float] | str = (1e-4, 1e2),
    ) -> None:
        self.amplitude = amplitude
        self.length_scale = length_scale
        self.interaction = interaction
        self.order = order
        self.amplitude_bounds = amplitude_bounds
        self.length_scale_bounds = length_scale_bounds
        self.interaction_bounds = interaction_bounds

    @property
    def hyperparameter_amplitude(self) -> Hyperparameter:
        """The amplitudes, in logarithms."""
        return Hyperparameter("amplitude", "numeric", self.amplitude_bounds, np.size(self.amplitude))

    @property
    def hyperparameter_interaction(self) -> Hyperparameter:
        """The strength of the interactions, in logarithms; fixed where there are none."""
        bounds = self.interaction_bounds if _order(self) == 2 else "fixed"
        return Hyperparameter("interaction", "numeric", bounds)

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """The width, in logarithms."""
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds)

    def __repr__(self) -> str:
        numbers = f"amplitude={shown(self.amplitude)}, length_scale={shown(self.length_scale)}"
        return f"Additive({numbers}, interaction={shown(self.interaction)}, order={self.order})"

    def derivatives(self, pairs: Pairs) -> list[Matrix]:
        """Return the derivatives in theta: amplitudes, interaction and width, if they are free."""
        first, second = _power_sums(self, pairs)
        slopes = list(_slopes(self, pairs, first))
        amplitudes, width = [slope for slope, _ in slopes], [np.sum([part for _, part in slopes], axis=0)]
        interaction = [self.interaction * (first**2 - second) / 2]
        groups: list[list[Matrix]] = [amplitudes, interaction, width]
        return [one for free, group in zip(_free(self), groups, strict=True) if free for one in group]

    def diag(self, X: ArrayLike) -> Vector:
        """Return the diagonal, a constant."""
        s, c = np.ravel(self.amplitude), self.interaction if _order(self) == 2 else 0.0
        return np.full(np.shape(X)[0], s.sum() + c * (s.sum() ** 2 - np.sum(s**2)) / 2)


def _order(kernel: Additive) -> int:
    if kernel.order not in ORDERS:
        raise ValueError(f"order must be 1 or 2, got {kernel.order!r}.")
    return kernel.order


def _factors(kernel: Additive, pairs: Pairs) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield z and the squared difference over the squared width, column by column."""
    X, Y, s = to_dense(pairs.X), to_dense(pairs.Y), np.ravel(kernel.amplitude)
    if len(s) != X.shape[1]:
        raise ValueError(f"Additive has {len(s)} amplitudes for {X.shape[1]} columns.")
    for a, amplitude in enumerate(s):
        D = np.square(np.subtract.outer(X[:, a], Y[:, a]) / kernel.length_scale)
        yield amplitude * np.exp(-0.5 * D), D


def _power_sums(kernel: Additive, pairs: Pairs) -> tuple[Matrix, Matrix]:
    first, second = np.zeros(pairs.shape), np.zeros(pairs.shape)
    for z, _ in _factors(kernel, pairs):
        first += z
        second += z**2
    return first, second


def _slopes(kernel: Additive, pairs: Pairs, first: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield the derivative in the logarithm of each amplitude, and its part in the one of the width; eq. (2)."""
    c = kernel.interaction if _order(kernel) == 2 else 0.0
    for z, D in _factors(kernel, pairs):
        slope = z * (1 + c * (first - z))
        yield slope, slope * D


@gram.register
def _(kernel: Additive, pairs: Pairs) -> Matrix:
    first, second = _power_sums(kernel, pairs)
    return first if _order(kernel) == 1 else first + kernel.interaction * (first**2 - second) / 2


def _free(kernel: Additive) -> tuple[bool, bool, bool]:
    """Return whether amplitudes, interaction and width are tuned: the order of theta."""
    return (
        not kernel.hyperparameter_amplitude.fixed,
        not kernel.hyperparameter_interaction.fixed,
        not kernel.hyperparameter_length_scale.fixed,
    )


@pullback.register
def _(kernel: Additive, pairs: Pairs, adjoint: Matrix) -> Vector:
    first, second = _power_sums(kernel, pairs)
    sums = np.array([[np.vdot(adjoint, part) for part in pair] for pair in _slopes(kernel, pairs, first)])
    interaction = kernel.interaction * np.vdot(adjoint, first**2 - second) / 2
    groups = zip(_free(kernel), (sums[:, 0], [interaction], [sums[:, 1].sum()]), strict=True)
    return np.concatenate([np.zeros(0), *(group for free, group in groups if free)])


@is_semidefinite.register
def _(kernel: Additive) -> bool:
    return True


@singledispatch
def addends(kernel: Kernel) -> list[Kernel]:
    """Return kernels whose sum is ``kernel``: each belongs to one term of an additive model.

    Examples
    --------
    >>> addends(ConstantKernel(3.0) * (Columns(RBF(1.0), [0]) + Columns(RBF(1.0), [1])))
    [1.73**2 * Columns(RBF(length_scale=1), [0]), 1.73**2 * Columns(RBF(length_scale=1), [1])]
    """
    return [kernel]


@addends.register
def _(kernel: Sum) -> list[Kernel]:
    return addends(kernel.k1) + addends(kernel.k2)


@addends.register
def _(kernel: Product) -> list[Kernel]:
    return [left * right for left in addends(kernel.k1) for right in addends(kernel.k2)]


@addends.register
def _(kernel: Additive) -> list[Kernel]:
    s, c = np.ravel(kernel.amplitude), kernel.interaction
    base = RBF(kernel.length_scale, kernel.length_scale_bounds)
    found = [ConstantKernel(s[a]) * Columns(base, [a]) for a in range(len(s))]
    pairs = combinations(range(len(s)), 2) if _order(kernel) == 2 else ()
    return found + [ConstantKernel(c * s[a] * s[b]) * Columns(base, [a, b]) for a, b in pairs]
