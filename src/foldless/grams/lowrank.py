r"""The Gram matrix as a product of thin factors, :math:`K = F F'` with F of shape (n, r).

With :math:`\tilde F = [F, 1]` and :math:`D = \operatorname{diag}(1, \dots, 1, 0)` for a free bias (else F and I),

.. math:: P = \tilde F' W \tilde F + D = L L', \qquad X = L^{-1} \tilde F', \qquad V = X' X,  \tag{1}

a sum of squares: nothing cancels, nothing n x n is formed, and the cost is O(n r^2).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import blas

from foldless.contracts import Matrix, Vector
from foldless.linalg import Eigenpairs, cholesky, solve_lower, symmetric_operator


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

    def weighted_spectrum(self, v, bias=False):
        r"""Return eigenvectors and positive eigenvalues of ``D K D``, ``D = diag(sqrt(v))``; the others are zero.

        With a bias they are those on the complement of :math:`u = D1 / \|D1\|`. Remembered for the latest ``v``.
        """
        key = (np.asarray(v, float).tobytes(), bias)
        if self._weighted.get("key") != key:
            self._weighted.update(key=key, pairs=self._decompose(np.sqrt(v), bias))
        return self._weighted["pairs"]

    @cached_property
    def _weighted(self):
        return {}

    def _decompose(self, s, bias):
        F = (self.centred().F if bias else self.F) * s[:, None]
        if bias:
            u = s / np.linalg.norm(s)
            F -= np.multiply.outer(u, u @ F)
        V, sigma, _ = np.linalg.svd(F, full_matrices=False)
        kept = sigma > self.n * np.finfo(float).eps * np.max(sigma, initial=0)  # a null vector may lean on u
        return Eigenpairs(V[:, kept], sigma[kept] ** 2)

    def inner(self, adjoint):
        """Return ``<adjoint, K>``: the derivative in the logarithm of a common factor of ``K``."""
        return float(np.vdot(self.F, adjoint @ self.F))

    def norm(self):
        """Return the Frobenius norm."""
        return float(np.linalg.norm(self.F.T @ self.F))

    def centred_norm(self):
        """Return the Frobenius norm of ``J K J``."""
        return self.centred().norm()

    def adjoint(self, P, Q, identity=0.0, itself=0.0):
        """Return ``(P Q' + Q P') / 2 + identity I + itself K`` for thin P and Q (n, p), as an operator."""

        def apply(M):
            return (P @ (Q.T @ M) + Q @ (P.T @ M)) / 2 + identity * M + itself * self.matmul(M)

        return symmetric_operator(self.n, apply)


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

        return symmetric_operator(len(self.w), apply)

    def resolvent(self):
        """Return ``A`` as an operator."""
        return symmetric_operator(len(self.w), self.solve)

    def block(self, rows):
        """Return ``A[rows][:, rows]``."""
        X, w = self.X[:, rows], self.w[rows]
        return np.diag(w) - w[:, None] * (X.T @ X) * w
