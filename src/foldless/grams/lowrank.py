r"""The Gram matrix as a product of thin factors, :math:`K = F F'` with F of shape (n, r).

With :math:`\tilde F = [F, 1]` and :math:`D = \operatorname{diag}(1, \dots, 1, 0)` for a free bias (else F and I),

.. math:: P = \tilde F' W \tilde F + D = L L', \qquad X = L^{-1} \tilde F', \qquad V = X' X,  \tag{1}

a sum of squares: nothing cancels, nothing n x n is formed, and the cost is O(n r^2).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import blas
from scipy.sparse.linalg import LinearOperator

from foldless.contracts import Matrix, Vector
from foldless.linalg import Complement, cholesky, solve_lower


@dataclass(frozen=True, eq=False)
class LowRankGram:
    """``K = F F'``.

    Parameters
    ----------
    F : array of shape (n, r)
    root : tuple, optional
        How F came about, for the way back to the kernel: see :class:`foldless.representation.Nystrom`.
    """

    F: Matrix
    root: Any = None
    dense: ClassVar[bool] = False  # adjoints are operators

    @cached_property
    def memo(self):
        """What was computed from this Gram and may be asked for again, by key."""
        return {}

    @property
    def n(self):
        """Number of rows."""
        return len(self.F)

    def matmul(self, M):
        """Return ``K @ M``."""
        return self.F @ (self.F.T @ M)

    def diag(self):
        """Return the diagonal."""
        return np.einsum("ij,ij->i", self.F, self.F)

    def subset(self, rows):
        """Return the Gram of some rows, in the same feature space."""
        return LowRankGram(self.F[rows])

    def centred(self):
        """Return ``J K J``."""
        return self._centred

    @cached_property
    def _centred(self):
        return LowRankGram(self.F - self.F.mean(axis=0))

    def shifted(self, constant):
        """Return ``K + constant 11'``."""
        return LowRankGram(np.column_stack([self.F, np.full(self.n, np.sqrt(constant))]), self.root)

    def factor(self, w, bias=False):
        """Return the factor of ``I + S K S``, with or without a free bias; eq. (1)."""
        F = np.column_stack([self.centred().F, np.ones(self.n)]) if bias else self.F
        P = blas.dsyrk(1.0, (F * np.sqrt(w)[:, None]).T, lower=1)
        P.flat[:: len(P) + 1] += np.r_[np.ones(len(P) - 1), 0] if bias else 1
        return LowRankFactor(F, np.asarray(w, float), cholesky(P, overwrite=True), bias)

    @cached_property
    def _spectrum(self):
        U, s, _ = np.linalg.svd(self.F, full_matrices=False)
        return U, s**2

    def spectrum(self):
        """Return the r leading eigenvectors and eigenvalues; the others are zero."""
        return self._spectrum

    def spectrum_beside(self, free, s=None):
        """Return the leading eigenpairs of ``S K S`` on the complement of p orthonormal directions ``free``."""
        F = self.F if s is None else s[:, None] * self.F
        N = Complement(free)
        U, t, _ = np.linalg.svd(N.down(F), full_matrices=False)
        return N.up(U), t**2

    def image_beside(self, free, s, B=None):
        """Return left singular vectors of ``(I - free free') S K B`` and the squared singular values."""
        N = Complement(free)
        Q, T = np.linalg.qr(N.down(s[:, None] * self.F))
        FB = self.F.T if B is None else self.F.T @ B
        U, t, _ = np.linalg.svd(T @ FB, full_matrices=False)
        return N.up(Q @ U), t**2

    def inner(self, adjoint):
        """Return ``<adjoint, K>``: the derivative in the logarithm of a common factor of ``K``."""
        return float(np.vdot(self.F, adjoint @ self.F))


@dataclass(frozen=True, eq=False)
class LowRankFactor:
    """Factor of ``I + S F F' S``; see :class:`foldless.contracts.Factor`."""

    F: Matrix  # centred, with a column of ones, when there is a bias
    w: Vector
    L: Matrix
    bias: bool

    @cached_property
    def X(self):
        """``L^{-1} F'``, (r, n), so that ``V = X'X``."""
        return solve_lower(self.L, self.F.T)

    def _times(self, v, M):
        return v * M if M.ndim == 1 else v[:, None] * M

    def covariance(self, M):
        """Return ``V M``."""
        return self.F @ solve_lower(self.L, solve_lower(self.L, self.F.T @ M), transposed=True)

    def solve(self, M):
        """Return ``A M = W M - W V W M``."""
        WM = self._times(self.w, M)
        return WM - self._times(self.w, self.covariance(WM))

    def logdet(self):
        """Return ``log det P``, equal to ``log det B`` (plus ``log s'B^{-1}s`` with a bias)."""
        return 2 * np.sum(np.log(np.diag(self.L)))

    @cached_property
    def _covariance_diag(self):
        return np.einsum("ij,ij->j", self.X, self.X)

    def covariance_diag(self):
        """Return the diagonal of ``V``."""
        return self._covariance_diag

    def inverse_diag(self):
        """Return ``1 - w * covariance_diag()``."""
        return 1 - self.w * self.covariance_diag()

    def trace_inverse(self):
        """Return the trace of ``A``."""
        return float(self.w @ self.inverse_diag())

    def sandwich(self, e):
        """Return the diagonal of ``V diag(e) V``."""
        M = (self.X * e) @ self.X.T
        return np.einsum("ij,ij->j", self.X, M @ self.X)

    def congruence(self, e):
        """Return ``H' diag(e) H`` with ``H = I - V W``, as an operator."""

        def apply(M):
            HM = M - self.X.T @ (self.X @ self._times(self.w, M))
            EHM = self._times(e, HM)
            return EHM - self._times(self.w, self.X.T @ (self.X @ EHM))

        n = len(self.w)
        return LinearOperator((n, n), matvec=apply, matmat=apply, rmatvec=apply, rmatmat=apply, dtype=float)
