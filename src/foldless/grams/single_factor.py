r"""A factor in single precision: half the time and the memory of one in double precision, and half the digits.

It serves where a product with the covariance need not be exact: as the preconditioner of conjugate gradients, whose residuals are
computed in double precision. With :math:`B = I + S K S = L L'`, of a Gram that is centred if there is a bias, and
:math:`g = B^{-1} s`, :math:`\sigma = s'g`, :math:`t = S^{-1} g`,

.. math:: V = S^{-1} (I - B^{-1}) S^{-1} + t t' / \sigma.  \tag{1}

This cancels where a point has no leverage: weights below some 1e-4 of :math:`1 / K_{ii}` leave no digit.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from foldless.core.gram import Matrix, Vector
from foldless.core.linalg import single_cholesky, solve_lower
from foldless.core.memo import cached_property

TINY = float(np.finfo(float).tiny)
EPS = float(np.finfo(np.float32).eps)
# What rounding may add to B. More of it hides the eigenvalues that are near one: conjugate gradients do not arrive then.
MAX_ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class SingleFactor:
    """Cholesky factor of ``I + S K S`` in single precision.

    Parameters
    ----------
    s : array of shape (n,)
        Square roots of the weights; positive.
    L : array of shape (n, n)
    bias : bool
    """

    s: Vector
    L: NDArray[np.float32]
    bias: bool

    @classmethod
    def of(cls, B: NDArray[np.float32], s: Vector, bias: bool) -> Self | None:
        """Return the factor of ``B = I + S K S``, which is overwritten, or None if it is of no use in single precision."""
        if not EPS * float(np.linalg.norm(B)) <= MAX_ROUNDING or (L := single_cholesky(B)) is None:
            return None
        factor = cls(s, L, bias)
        usable = np.isfinite(factor._g).all() and (factor._sigma > 0 or not bias)
        return factor if usable else None

    @cached_property
    def _g(self) -> Vector:
        return self._solve(self.s[:, None])[:, 0]

    @cached_property
    def _sigma(self) -> float:
        return float(self.s @ self._g)

    def _solve(self, M: Matrix) -> Matrix:
        """Return ``B^{-1} M``; the columns are scaled, so that nothing is too large or too small for single precision."""
        size = np.maximum(np.max(np.abs(M), axis=0), TINY)
        X = np.asarray(M / size, np.float32, order="F")
        return solve_lower(self.L, solve_lower(self.L, X), transposed=True) * size

    def covariance(self, M: Matrix) -> Matrix:
        """Return ``V M`` for a matrix M; eq. (1)."""
        s = self.s[:, None]
        VM = M / s
        VM -= self._solve(VM)
        VM /= s
        if self.bias:
            t = self._g / self.s
            VM += np.multiply.outer(t, t @ M / self._sigma)
        return VM
