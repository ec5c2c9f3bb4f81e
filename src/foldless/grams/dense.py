r"""The Gram matrix as an array.

Everything comes from one Cholesky factorisation :math:`B = I + S K S = L L'`. A free bias is the limit of
``K + k 11'`` as k grows; with :math:`g = B^{-1} s`, :math:`\sigma = s'g` it changes the inverse by one rank,

.. math:: A = S B^{-1} S - (S g)(S g)'/\sigma, \qquad V = V_0 + h h'/\sigma, \qquad h = 1 - V_0 w.  \tag{1}

The covariance as an array is, for weights that matter and for weights that hardly do,

.. math:: V_0 = S^{-1} (I - B^{-1}) S^{-1},  \tag{2}
.. math:: V_0 = K - K S B^{-1} S K:  \tag{3}

the first cancels where a point has no leverage, the second where :math:`w_i K_{ii}` is large.

``K`` is centred first, which changes nothing in exact arithmetic and saves ten digits for wide kernels.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import blas, lapack, svd

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import NotPositiveDefinite
from foldless.core.linalg import Eigenpairs, centre, cholesky, inverse_lower, mirror, solve_lower, symmetric
from foldless.grams.adjoints import Complement

LIGHT = 1e-4  # leverage below which eq. (2) loses more than four digits
INDEFINITE = 1e-8  # eigenvalues below minus this, relative to the largest, are no rounding
FEW = 0.25  # fraction of the rows up to which copying them is cheaper than a pass over all
STRIP = 256  # rows looked at together where a whole copy of K is to be avoided


@dataclass(frozen=True, eq=False)
class DenseGram:
    """A symmetric positive semi-definite array.

    Parameters
    ----------
    K : array of shape (n, n)
    semidefinite : bool
        Whether that is known, from the kernel, and need not be checked.
    """

    K: Matrix
    semidefinite: bool = False
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

    def block(self, rows, cols):
        """Return the entries of ``K`` at ``rows`` and ``cols``, as an array."""
        return self.K[np.ix_(rows, cols)]

    def combine(self, rows, v):
        """Return ``K[:, rows] @ v``; rows are copied only where they are few."""
        if len(rows) <= FEW * self.n:
            return v @ self.K[rows]
        whole = np.zeros(self.n)
        whole[rows] = v
        return self.K @ whole

    def extremes(self):
        """Return the smallest and the largest entry."""
        return float(np.min(self.K)), float(np.max(self.K))

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
        return DenseFactor(K, np.asarray(w, float), s, self._root_of(np.array(K), s), bias)

    def _root_of(self, B, s):
        """Return the Cholesky factor of ``I + S B S`` in the place of ``B``."""
        B *= s[:, None]
        B *= s
        B.flat[:: self.n + 1] += 1
        try:
            return cholesky(
                B.T, overwrite=True
            )  # the transpose is Fortran ordered: LAPACK then works in place
        except NotPositiveDefinite:
            raise NotPositiveDefinite(
                "the Gram matrix",
                np.linalg.eigvalsh(self.K)[0],
                "Kernel machines need one that is positive semi-definite.",
            ) from None

    def residual_maker(self, w, bias=False):
        """Return ``I - S V S`` as an array, and ``logdet()`` of the factor: all in the memory of that one array.

        A factor keeps what further questions need, five arrays; a search that asks these two has room for larger n.
        """
        s = np.sqrt(w)
        L = self._root_of(centre(self.K) if bias else np.array(self.K), s)
        logdet = 2 * float(np.sum(np.log(np.diag(L))))
        g = solve_lower(L, solve_lower(L, s), transposed=True)
        R = mirror(lapack.dpotri(L, lower=1, overwrite_c=1)[0])
        if not bias:
            return R.T, logdet
        sigma = float(s @ g)
        return blas.dger(-1 / sigma, g, g, a=R, overwrite_a=1).T, logdet + np.log(sigma)  # eq. (1)

    @cached_property
    def _spectrum(self):
        mu, U = np.linalg.eigh(self.K)
        if mu[0] < -INDEFINITE * max(abs(mu[-1]), np.finfo(float).tiny):
            raise NotPositiveDefinite("the Gram matrix", mu[0], "Use a positive semi-definite kernel.")
        return np.ascontiguousarray(U[:, ::-1]), np.maximum(mu[::-1], 0)

    def spectrum(self):
        """Return eigenvectors and eigenvalues, decreasing; rounding below zero is cut off."""
        return self._spectrum

    def diagonal(self, d):
        """Return ``diag(d)`` in the form of an adjoint: an array."""
        return np.diag(np.asarray(d, float))

    def weighted_spectrum(self, v, bias=False):
        r"""Return eigenvectors and eigenvalues of ``D K D``, ``D = diag(sqrt(v))``; remembered for the latest ``v``.

        With a bias they are those on the complement of :math:`u = D1 / \|D1\|`. The pair of u itself is pushed below
        all others and dropped, so that a zero of a singular ``K`` is never confused with it.
        """
        key = (np.asarray(v, float).tobytes(), bias)
        if self._weighted.get("key") != key:
            self._weighted.update(key=key, pairs=self._decompose(np.sqrt(v), bias))
        return self._weighted["pairs"]

    def image_beside(self, free, s, B=None):
        """Return n - p left singular vectors of ``(I - free free') S K B`` and the squared singular values."""
        N = Complement(free)
        KB = self.K if B is None else self.K @ B
        V, t, _ = svd(
            N.transpose_times(s[:, None] * KB), full_matrices=KB.shape[1] < self.n - N.p, check_finite=False
        )
        t = np.r_[t, np.zeros(V.shape[1] - len(t))]
        return N.times(V), t**2

    @cached_property
    def _weighted(self):
        return {}

    def _decompose(self, s, bias):
        M = (self.centred().K if bias else self.K) * s[:, None] * s
        if bias:
            u = s / np.linalg.norm(s)
            Mu = M @ u
            below = 2 * np.trace(M) + 1  # u takes the lowest place
            M -= np.multiply.outer(u, Mu) + np.multiply.outer(Mu + (below - u @ Mu) * u, u)
        nu, V = np.linalg.eigh(M)
        rounding = (
            self.n * np.finfo(float).eps * np.max(np.diag(self.K) * s**2)
        )  # all there is of a constant, centred
        if nu[int(bias)] < -max(INDEFINITE * abs(nu[-1]), rounding, np.finfo(float).tiny):
            raise NotPositiveDefinite(
                "the Gram matrix", nu[int(bias)], "Use a positive semi-definite kernel."
            )
        Q = np.ascontiguousarray(V[:, int(bias) :][:, ::-1])  # products copy what runs backwards
        return Eigenpairs(Q, np.maximum(nu[int(bias) :][::-1], 0))

    def inner(self, adjoint):
        """Return ``<adjoint, K>``: the derivative in the logarithm of a common factor of ``K``."""
        return float(np.vdot(adjoint, self.K))

    def norm(self):
        """Return the Frobenius norm."""
        return float(np.linalg.norm(self.K))

    def centred_norm(self):
        """Return the Frobenius norm of ``J K J`` without forming it."""
        m = self.K.mean(axis=0)
        shift = m - m.mean()
        strips = (slice(i, i + STRIP) for i in range(0, self.n, STRIP))
        return float(np.sqrt(sum(np.sum((self.K[rows] - m - shift[rows, None]) ** 2) for rows in strips)))

    def adjoint(self, P, Q, identity=0.0, itself=0.0):
        """Return ``(P Q' + Q P') / 2 + identity I + itself K`` for thin P and Q (n, p), as an array."""
        G = P @ Q.T
        G = symmetric(G)
        if itself:
            G += itself * self.K
        G.flat[:: self.n + 1] += identity
        return G


@dataclass(frozen=True, eq=False)
class DenseFactor:
    """Cholesky factor of ``I + S K S``; see :class:`foldless.core.contracts.Factor`."""

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
        """``1 - V_0 w``, by whichever of two equal forms does not cancel."""
        h = 1 - self.K @ (self.s * self._g)
        heavy = self.w * np.diag(self.K) > 1
        h[heavy] = self._g[heavy] / self.s[heavy]
        return h

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
    def _core(self):
        """``B^{-1}`` as an array."""
        return mirror(lapack.dlauum(self._Linv, lower=1)[0])

    @cached_property
    def _inverse_diag(self):
        r = np.einsum("ij,ij->j", self._Linv, self._Linv)
        return r - self._g**2 / self._sigma if self.bias else r

    def inverse_diag(self):
        """Return ``1 - w * covariance_diag()`` without cancellation."""
        return self._inverse_diag

    @cached_property
    def _light(self):
        """Points so light that ``(I - B^{-1}) / s s'`` would cancel in their rows; eq. (3)."""
        return np.flatnonzero(1 - self.inverse_diag() < LIGHT)

    @cached_property
    def _covariance_diag(self):
        v = np.divide(1 - self.inverse_diag(), self.w, out=np.zeros(len(self.w)), where=self.w > 0)
        light = self._light
        if len(light):
            half = solve_lower(self.L, self.s[:, None] * self.K[:, light])
            v[light] = np.maximum(np.diag(self.K)[light] - np.einsum("ij,ij->j", half, half), 0)
            if self.bias:
                v[light] += self._h[light] ** 2 / self._sigma
        return v

    def covariance_diag(self):
        """Return the diagonal of ``V``: :math:`(1 - (B^{-1})_{ii}) / w_i`, or eq. (1) where that would cancel."""
        return self._covariance_diag

    def trace_inverse(self):
        """Return the trace of ``A``."""
        return float(self.w @ self.inverse_diag())

    def resolvent(self):
        """Return ``A`` as an array."""
        return self._resolvent

    @cached_property
    def V(self):
        """The covariance as an array; eq. (2), and (3) in the rows of light points."""
        t = np.divide(1, self.s, out=np.zeros(len(self.s)), where=self.s > 0)
        V = self._core * -t
        V *= t[:, None]
        if self.bias:
            V += np.multiply.outer(t * self._g, t * self._g / self._sigma)
        light = self._light
        if len(light):
            V[light] = self.K[light] - self._rooted(self.K[:, light]).T @ self.K
            if self.bias:
                V[light] += np.multiply.outer(self._h[light], self._h / self._sigma)
            V[:, light] = V[light].T
        V.flat[:: len(V) + 1] = self.covariance_diag()
        return V

    def root(self):
        """Return a root of ``V``: an array (n, n) whose square it is."""
        mu, U = np.linalg.eigh(self.V)
        return U * np.sqrt(np.maximum(mu, 0))

    @cached_property
    def _resolvent(self):
        A = self._core
        if self.bias:
            A = A - np.multiply.outer(self._g, self._g / self._sigma)
        return self.s[:, None] * A * self.s

    def block(self, rows):
        """Return ``A[rows][:, rows]``."""
        return self.resolvent()[np.ix_(rows, rows)]

    def covariance_block(self, rows):
        """Return ``V[rows][:, rows]``."""
        return self.V[np.ix_(rows, rows)]

    def inverse_block(self, rows):
        """Return ``(I - S V S)[rows][:, rows]``."""
        block = self._core[np.ix_(rows, rows)]
        return block - np.multiply.outer(self._g[rows], self._g[rows] / self._sigma) if self.bias else block

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
        T = mirror(T)
        VW *= e[:, None]
        T -= VW
        T -= VW.T
        T.flat[:: len(w) + 1] += e
        return T
