r"""The Gram matrix as an array.

Everything comes from one Cholesky factorisation :math:`B = I + S K S = L L'`. A free bias is the limit of
``K + k 11'`` as k grows; with :math:`g = B^{-1} s` and :math:`\sigma = s'g` it changes the inverse by one rank,

.. math:: A = S B^{-1} S - (S g)(S g)'/\sigma, \qquad V = V_0 + h h'/\sigma, \qquad h = 1 - V_0 w.  \tag{1}

``K`` is centred first, which changes nothing in exact arithmetic and saves ten digits for wide kernels.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import blas, lapack, svd

from foldless.contracts import Matrix, Vector
from foldless.errors import NotPositiveDefinite
from foldless.linalg import Complement, centre, cholesky, inverse_lower, solve_lower, symmetric

INDEFINITE = 1e-8  # eigenvalues below minus this, relative to the largest, are no rounding


@dataclass(frozen=True, eq=False)
class DenseGram:
    """A symmetric positive semi-definite array.

    Parameters
    ----------
    K : array of shape (n, n)
    """

    K: Matrix
    dense: ClassVar[bool] = True  # adjoints are arrays

    @cached_property
    def memo(self):
        """What was computed from this Gram and may be asked for again, by key."""
        return {}

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
        return _eigenpairs(self.K)

    def spectrum(self):
        """Return eigenvectors and eigenvalues, decreasing; rounding below zero is cut off."""
        return self._spectrum

    def spectrum_beside(self, free, s=None):
        """Return the n - p eigenpairs of ``S K S`` on the complement of p orthonormal directions ``free``."""
        K = self.K if s is None else self.K * np.multiply.outer(s, s)
        N = Complement(free)
        V, mu = _eigenpairs(symmetric(N.down(N.down(K).T)))
        return N.up(V), mu

    def image_beside(self, free, s, B=None):
        """Return n - p left singular vectors of ``(I - free free') S K B`` and the squared singular values."""
        N = Complement(free)
        KB = self.K if B is None else self.K @ B
        V, t, _ = svd(N.down(s[:, None] * KB), full_matrices=KB.shape[1] < self.n - N.p, check_finite=False)
        t = np.r_[t, np.zeros(V.shape[1] - len(t))]
        return N.up(V), t**2

    def inner(self, adjoint):
        """Return ``<adjoint, K>``: the derivative in the logarithm of a common factor of ``K``."""
        return float(np.vdot(adjoint, self.K))


def _eigenpairs(K):
    mu, U = np.linalg.eigh(K)
    if mu[0] < -INDEFINITE * max(abs(mu[-1]), np.finfo(float).tiny):
        raise NotPositiveDefinite("the Gram matrix", mu[0], "Use a positive semi-definite kernel.")
    return U[:, ::-1], np.maximum(mu[::-1], 0)


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
    def _inverse_diag(self):
        Linv = inverse_lower(self.L)
        r = np.einsum("ij,ij->j", Linv, Linv)
        return r - self._g**2 / self._sigma if self.bias else r

    def inverse_diag(self):
        """Return ``1 - w * covariance_diag()`` without cancellation."""
        return self._inverse_diag

    @cached_property
    def _half(self):
        return solve_lower(self.L, (self.K * self.s).T)  # L^{-1} S K

    @cached_property
    def _covariance_diag(self):
        v = np.diag(self.K) - np.einsum("ij,ij->j", self._half, self._half)
        if self.bias:
            v = v + self._h**2 / self._sigma
        large = self.w * v > 0.5  # the difference above cancels exactly where the other route does not
        v = np.maximum(v, 0)
        v[large] = (1 - self.inverse_diag()[large]) / self.w[large]
        return v

    def covariance_diag(self):
        """Return the diagonal of ``V``."""
        return self._covariance_diag

    def trace_inverse(self):
        """Return the trace of ``A``."""
        return float(self.w @ self.inverse_diag())

    def inverse(self):
        """Return ``I - S V S`` as an array, without cancellation: ``B^{-1}`` when there is no bias."""
        R, _ = lapack.dpotri(self.L, lower=1)
        R = np.tril(R) + np.tril(R, -1).T
        return R - np.multiply.outer(self._g, self._g / self._sigma) if self.bias else R

    @cached_property
    def V(self):
        """The covariance as an array."""
        V = blas.dsyrk(-1.0, self._half, beta=1.0, c=self.K, trans=1, lower=1)
        V = np.tril(V) + np.tril(V, -1).T
        if self.bias:
            V += np.multiply.outer(self._h, self._h / self._sigma)
        return V

    def sandwich(self, e):
        """Return the diagonal of ``V diag(e) V``."""
        return (self.V**2) @ e

    def congruence(self, e):
        """Return ``H' diag(e) H`` with ``H = I - V W``, as an array."""
        V, w = self.V, self.w
        VE = V * e
        T = VE @ V
        T *= np.multiply.outer(w, w)
        VE *= w[:, None]
        T -= VE
        T -= VE.T
        T.flat[:: len(w) + 1] += e
        return T
