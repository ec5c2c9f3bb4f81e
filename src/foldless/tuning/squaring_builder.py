"""A dense builder that squares matrices instead of taking exponentials, for a grid of Gaussian widths."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel

from foldless.core.contracts import Adjoint, Gram, Matrix, Vector
from foldless.grams import DenseGram
from foldless.grams.builders import Builder, DenseBuilder

# Squarings in a row before the next exponential.
MAX_SQUARINGS = 4
WIDTH_RATIO_TOLERANCE = 1e-14


def gaussian_width(kernel: Kernel) -> float | None:
    """Return the length scale of a Gaussian kernel with one length scale, else None."""
    is_plain = type(kernel) is RBF and np.ndim(kernel.length_scale) == 0
    return float(kernel.length_scale) if is_plain else None


class SquaringDenseBuilder(Builder):
    r"""The whole matrix, from a product where that is possible: :math:`K(\ell / \sqrt2) = K(\ell) \circ K(\ell)` for Gaussians.

    Down a grid of widths most matrices are squares of the one before. Every ``MAX_SQUARINGS`` products the exponential is
    computed again, so that rounding never adds up to more than a few units in the last place. Products overwrite each
    other: a Gram is valid until the next one is built.

    Parameters
    ----------
    builder : DenseBuilder
    """

    def __init__(self, builder: DenseBuilder) -> None:
        self.builder, self.X = builder, builder.X
        self._width: float | None = None
        self._K: Matrix | None = None
        self._n_squarings = 0

    def gram(self, kernel: Kernel) -> DenseGram:
        """Return the Gram of ``kernel``."""
        width = gaussian_width(kernel)
        if self._K is not None and self._is_square_root_of(width):
            # The first product needs a new array, because the matrix of the builder must not change.
            K = np.multiply(self._K, self._K, out=self._K if self._n_squarings else None)
            self._n_squarings += 1
        else:
            K, self._n_squarings = self.builder.gram(kernel).K, 0
        self._width, self._K = width, K
        return DenseGram(K)

    def _is_square_root_of(self, width: float | None) -> bool:
        """Return whether the square of the latest matrix is that of a Gaussian of this width."""
        if width is None or self._width is None or self._n_squarings >= MAX_SQUARINGS:
            return False
        return bool(np.isclose(self._width, np.sqrt(2) * width, rtol=WIDTH_RATIO_TOLERANCE, atol=0))

    def pullback(self, kernel: Kernel, K: Gram, adjoint: Adjoint) -> Vector:
        """Return the gradient in ``kernel.theta``."""
        return self.builder.pullback(kernel, K, adjoint)

    def expansion(self, K: Gram, alpha: Matrix) -> tuple[Any, Matrix]:
        """Return points and coefficients ``beta`` with ``f(x) = k(x, points) @ beta``."""
        return self.builder.expansion(K, alpha)
