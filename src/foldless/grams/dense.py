r"""The Gram matrix as an array.

Everything comes from one Cholesky factorisation :math:`B = I + S K S = L L'`. A free bias is the limit of
``K + k 11'`` as k grows; with :math:`g = B^{-1} s` and :math:`\sigma = s'g` it changes the inverse by one rank,

.. math:: A = S B^{-1} S - (S g)(S g)'/\sigma, \qquad V = V_0 + h h'/\sigma, \qquad h = 1 - V_0 w.  \tag{1}

``K`` is centred first, which changes nothing in exact arithmetic and saves ten digits for wide kernels.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from foldless.contracts import Matrix, Vector
from foldless.errors import NotPositiveDefinite
from foldless.linalg import centre, cholesky, inverse_lower, mirrored, solve_lower

FAINT = 1e-4  # leverage below which 1 - (B^-1)_ii has lost too many digits
INDEFINITE = 1e-8  # eigenvalues below minus this, relative to the largest, are no rounding


@dataclass(frozen=True, eq=False)
class DenseGram:
    """A symmetric positive semi-definite array.

    Parameters
    ----------
    K : array of shape (n, n)
    """

    K: Matrix

    @property
    def n(self):
        """Number of rows."""
        return len(self.K)

    def matmul(self, M):
        """Return ``K @ M``."""
        return self.K @ M

    def diag(self):
        """Return the diagonal."""
        return np.diag(self.K).copy()

    def subset(self, rows):
        """Return the Gram of some rows."""
        return DenseGram(self.K[np.ix_(rows, rows)])

    def centred(self):
        """Return ``J K J``."""
        return self._centred

    @cached_property
    def _centred(self):
        return DenseGram(centre(self.K))

    def shifted(self, constant):
        """Return ``K + constant 11'``."""
        return DenseGram(self.K + constant)

    def factor(self, w, bias=False):
        """Return the factor of ``I + S K S``, with or without a free bias."""
        K = self.centred().K if bias else self.K
        s = np.sqrt(w)
        B = np.multiply(K, s[:, None])
        B *= s
        B.flat[:: self.n + 1] += 1
        try:
            L = cholesky(B.T, overwrite=True)  # the transpose is Fortran ordered: LAPACK then works in place
        except NotPositiveDefinite:
            raise NotPositiveDefinite(
                "the Gram matrix",
                np.linalg.eigvalsh(self.K)[0],
                "Kernel machines need one that is positive semi-definite.",
            ) from None
        return DenseFactor(K, np.asarray(w, float), s, L, bias)

    @cached_property
    def _spectrum(self):
        mu, U = np.linalg.eigh(self.K)
        if mu[0] < -INDEFINITE * max(abs(mu[-1]), np.finfo(float).tiny):
            raise NotPositiveDefinite("the Gram matrix", mu[0], "Use a positive semi-definite kernel.")
        return U[:, ::-1], np.maximum(mu[::-1], 0)

    def spectrum(self):
        """Return eigenvectors and eigenvalues, decreasing; rounding below zero is cut off."""
        return self._spectrum

    def inner(self, adjoint):
        """Return ``<adjoint, K>``: the derivative in the logarithm of a common factor of ``K``."""
        return float(np.vdot(adjoint, self.K))


@dataclass(frozen=True, eq=False)
class DenseFactor:
    """Cholesky factor of ``I + S K S``; see :class:`foldless.contracts.Factor`."""

    K: Matrix  # centred when there is a bias
    w: Vector
    s: Vector
    L: Matrix
    bias: bool

    @cached_property
    def _g(self):
        return solve_lower(self.L, solve_lower(self.L, self.s), transposed=True)

    @cached_property
    def _sigma(self):
        return float(self.s @ self._g)

    @cached_property
    def _h(self):
        return 1 - self._plain(self.w)

    def _rooted(self, M):
        """Return ``S B^{-1} S M``."""
        s = self.s if M.ndim == 1 else self.s[:, None]
        return s * solve_lower(self.L, solve_lower(self.L, s * M), transposed=True)

    def _plain(self, M):
        """Return ``V_0 M``, the covariance without the bias."""
        KM = self.K @ M
        return KM - self.K @ self._rooted(KM)

    def solve(self, M):
        """Return ``A M``; eq. (1)."""
        AM = self._rooted(M)
        if not self.bias:
            return AM
        v = self.s * self._g
        return AM - np.multiply.outer(v, v @ M) / self._sigma

    def covariance(self, M):
        """Return ``V M``; eq. (1)."""
        VM = self._plain(M)
        return VM + np.multiply.outer(self._h, self._h @ M) / self._sigma if self.bias else VM

    def logdet(self):
        """Return ``log det B`` (plus ``log s'B^{-1}s`` with a bias)."""
        value = 2 * np.sum(np.log(np.diag(self.L)))
        return value + np.log(self._sigma) if self.bias else value

    @cached_property
    def _Linv(self):
        return inverse_lower(self.L)

    @cached_property
    def _inverse_diag(self):
        r = np.einsum("ij,ij->j", self._Linv, self._Linv)
        return r - self._g**2 / self._sigma if self.bias else r

    def inverse_diag(self):
        """Return ``1 - w * covariance_diag()`` without cancellation."""
        return self._inverse_diag

    @cached_property
    def _faint(self):
        """Points whose leverage is too small to be read off ``B^{-1}``."""
        return np.flatnonzero(1 - self.inverse_diag() < FAINT)

    @cached_property
    def _covariance_diag(self):
        v = np.divide(1 - self.inverse_diag(), self.w, out=np.zeros(len(self.w)), where=self.w > 0)
        J = self._faint
        if len(J):
            half = solve_lower(self.L, self.s[:, None] * self.K[:, J])
            v[J] = np.maximum(np.diag(self.K)[J] - np.einsum("ij,ij->j", half, half), 0)
            if self.bias:
                v[J] += self._h[J] ** 2 / self._sigma
        return v

    def covariance_diag(self):
        """Return the diagonal of ``V``: :math:`(1 - (B^{-1})_{ii}) / w_i`, or eq. (1) where that would cancel."""
        return self._covariance_diag

    def trace_inverse(self):
        """Return the trace of ``A``."""
        return float(self.w @ self.inverse_diag())

    @cached_property
    def V(self):
        r"""The covariance as an array: :math:`-(B^{-1})_{ij} / s_i s_j` off the diagonal, where nothing cancels.

        Rows of faint points are computed by eq. (1).
        """
        J = self._faint
        V = mirrored(lapack.dlauum(self._Linv, lower=1)[0])
        if self.bias:
            V -= np.multiply.outer(self._g, self._g / self._sigma)
        t = np.divide(1, self.s, out=np.zeros(len(self.s)), where=self.s > 0)
        V *= -t
        V *= t[:, None]
        if len(J):
            unit = np.zeros((len(self.w), len(J)))
            unit[J, np.arange(len(J))] = 1
            V[:, J] = self.covariance(unit)
            V[J] = V[:, J].T
        V.flat[:: len(V) + 1] = self.covariance_diag()
        return V

    def sandwich(self, e):
        """Return the diagonal of ``V diag(e) V``."""
        return np.einsum("ij,ij,j->i", self.V, self.V, e)

    def spread(self, e):
        """Return ``<diag(e), V - V W V>``."""
        return float(e @ (self.covariance_diag() - self.sandwich(self.w)))

    def congruence(self, e):
        """Return ``H' diag(e) H`` with ``H = I - V W``, as an array."""
        V, w = self.V, self.w
        VW = V * w
        T = np.zeros_like(V, order="F")
        for sign in (1, -1):  # a symmetric product of half the price for each sign of e
            rows = np.flatnonzero(sign * e > 0)
            if len(rows):
                half = VW[rows] * np.sqrt(np.abs(e[rows]))[:, None]
                T = blas.dsyrk(sign, half.T, beta=1.0, c=T, lower=1, overwrite_c=1)
        T = mirrored(T)
        VW *= e[:, None]
        T -= VW
        T -= VW.T
        T.flat[:: len(w) + 1] += e
        return T
