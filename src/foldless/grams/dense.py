r"""The Gram matrix as an array.

Everything comes from one Cholesky factorisation :math:`B = I + S K S = L L'`. A free bias is the limit of
``K + k 11'`` as k grows; with :math:`g = B^{-1} s`, :math:`\sigma = s'g` it changes the inverse by one rank,

.. math:: A = S B^{-1} S - (S g)(S g)'/\sigma, \qquad V = V_0 + h h'/\sigma, \qquad h = 1 - V_0 w.  \tag{1}

The covariance as an array is, for weights that matter and for weights that hardly do,

.. math:: V_0 = S^{-1} (I - B^{-1}) S^{-1},  \tag{2}
.. math:: V_0 = K - K S B^{-1} S K:  \tag{3}

the first cancels where a point has no leverage, the second where :math:`w_i K_{ii}` is large. The diagonal of the second follows
from the factor and its inverse, since :math:`L^{-1} S K = (L' - L^{-1}) S^{-1}`:

.. math:: (V_0)_{ii} = q_i / L_{ii}^2 - \sum_{j > i} (L^{-1})_{ji}^2 / w_i, \qquad q_i = K_{ii} - \sum_{j < i} L_{ij}^2 / w_i.  \tag{5}

Where the first does not cancel, with
:math:`R = I - S V S` and :math:`H = I - V W = S^{-1} R S`,

.. math:: H' E H = S R\, E W^{-1} R S.  \tag{4}

``K`` is centred first, which changes nothing in exact arithmetic and saves ten digits for wide kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldless.core import blas
from foldless.core.errors import NotPositiveDefinite
from foldless.core.gram import Eigenpairs, Factor, Gram, Matrix, Rows, Vector
from foldless.core.linalg import (
    TILED_MIN_ROWS,
    add_thin,
    centre,
    check_eigenvalues,
    cholesky,
    column_means,
    each_strip,
    indefinite,
    inverse_lower,
    inverse_of_square,
    mirror,
    solve_lower,
    strips,
    weighted_square,
)
from foldless.core.memo import Latest, cached_property
from foldless.core.tiles import inverse_squares_by_columns
from foldless.grams.adjoints import Complement
from foldless.grams.single_factor import SingleFactor

# The diagonal of eq. (2) loses more than six digits for points of less leverage than this.
CANCELLATION_LEVERAGE = 1e-6
# Other entries i, j of eq. (2) err, in units of the root of V_ii V_jj, by rounding over the root of the product of both leverages: no
# more than seven digits are lost between points of more leverage than this.
FAINT_LEVERAGE = 1e-7
# Squares of the entries of a factor in the row of a point of less weight than this may be too small to be numbers.
VANISHING_WEIGHT = 1e-200
# From these fractions of its columns on the whole covariance is cheaper: with eq. (2), and where that cancels.
FORMED_FRACTION, CANCELLED_FORMED_FRACTION = 1 / 3, 1 / 8
COPIED_ROWS_FRACTION = 0.25  # up to this fraction of the rows, copying them is cheaper than a pass over all


@dataclass(frozen=True, eq=False)
class DenseGram(Gram):
    """A symmetric positive semi-definite array.

    Parameters
    ----------
    K : array of shape (n, n)
    semidefinite : bool
        True if K is known to be positive semi-definite, from the kernel, so solvers may skip the check.
    """

    K: Matrix
    semidefinite: bool = False
    dense: ClassVar[bool] = True

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.K)

    def matmul(self, M: Matrix) -> Matrix:
        """Return ``K @ M``."""
        return self.K @ M

    def diag(self) -> Vector:
        """Return the diagonal."""
        return np.diag(self.K).copy()

    def subset(self, rows: Rows) -> DenseGram:
        """Return the Gram of some rows."""
        return DenseGram(self.K.take(rows, axis=0).take(rows, axis=1), self.semidefinite)

    def block(self, rows: Rows, cols: Rows) -> Matrix:
        """Return the entries of ``K`` at ``rows`` and ``cols``, as an array."""
        return self.K[np.ix_(rows, cols)]

    def combine(self, rows: Rows, v: Vector) -> Vector:
        """Return ``K[:, rows] @ v``; the rows are copied only if they are a small fraction."""
        if len(rows) <= COPIED_ROWS_FRACTION * self.n:
            return v @ self.K[rows]
        whole = np.zeros(self.n)
        whole[rows] = v
        return self.K @ whole

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and the largest entry."""
        return float(np.min(self.K)), float(np.max(self.K))

    def centred(self) -> DenseGram:
        """Return ``J K J``."""
        return self._centred

    @cached_property
    def _centred(self) -> DenseGram:
        return DenseGram(centre(self.K), self.semidefinite)

    def shifted(self, constant: float) -> DenseGram:
        """Return ``K + constant 11'``."""
        return DenseGram(self.K + constant)

    @cached_property
    def _means(self) -> tuple[Vector, Vector]:
        return column_means(self.K)

    def centred_matmul(self, M: Matrix) -> Matrix:
        """Return ``J K J M``; of a large array no centred copy is made."""
        if self.n < TILED_MIN_ROWS:
            return self.centred().K @ M
        KM = self.K @ (M - M.mean(axis=0))
        return KM - KM.mean(axis=0)

    def centred_diag(self) -> Vector:
        """Return the diagonal of ``J K J``."""
        if self.n < TILED_MIN_ROWS:
            return self.centred().diag()
        m, shift = self._means
        return np.diag(self.K) - m - shift

    def factor(self, w: Vector, bias: bool = False) -> DenseFactor:
        """Return the factor of ``I + S K S``, with or without a free bias."""
        if bias and self.n < TILED_MIN_ROWS:
            # A small matrix has many factors, which share the centred copy.
            self.centred()
        s = np.sqrt(w)
        return DenseFactor(self, np.asarray(w, float), s, self._root(s, bias), bias)

    def single_factor(self, w: Vector, bias: bool = False) -> SingleFactor | None:
        """Return the factor in single precision, for positive weights; None if it does not exist in that."""
        s = np.sqrt(w)
        with np.errstate(over="ignore"):
            return SingleFactor.of(self._weighted(s, bias, np.float32).T, s, bias)

    def _root(self, s: Vector, bias: bool) -> Matrix:
        """Return the Cholesky factor of ``I + S K S``."""
        try:
            # The transpose is Fortran ordered: LAPACK then works in place.
            return cholesky(self._weighted(s, bias).T, overwrite=True)
        except NotPositiveDefinite:
            raise indefinite("the Gram matrix", np.linalg.eigvalsh(self.K)[0]) from None

    def _weighted(self, s: Vector, bias: bool, kind: type[np.floating] = np.float64) -> NDArray[Any]:
        """Return ``I + S K S``: all of a small matrix, and the upper triangle of a large one."""
        B = (np.zeros if self.n >= TILED_MIN_ROWS else np.empty)(self.K.shape, kind)

        def fill(rows: slice) -> None:
            columns = slice(rows.start, None)
            entries, filled = self._entries(rows, columns, bias), B[rows, columns]
            strip = np.multiply(entries, s[rows, None], out=filled if kind is np.float64 else None)
            np.multiply(strip, s[columns], out=filled)

        each_strip(self.n, fill)
        B.flat[:: self.n + 1] += 1
        return B

    def _entries(self, rows: slice, columns: slice, centred: bool) -> Matrix:
        """Return entries of ``K``, or of ``J K J``."""
        if not centred:
            return self.K[rows, columns]
        known: DenseGram | None = self.__dict__.get("_centred")
        if known is not None:
            return known.K[rows, columns]
        m, shift = self._means
        strip = self.K[rows, columns] - m[columns]
        strip -= shift[rows, None]
        return strip

    def residual_maker(self, w: Vector, bias: bool = False) -> tuple[Matrix, float]:
        """Return ``I - S V S`` as an array, and ``logdet()`` of the factor, in the memory of that one array.

        A factor keeps up to five arrays for all its verbs; a search that needs only these two has room for larger n.
        """
        s = np.sqrt(w)
        L = self._root(s, bias)
        logdet = 2 * float(np.sum(np.log(np.diag(L))))
        g = solve_lower(L, solve_lower(L, s), transposed=True)
        R = inverse_of_square(L, overwrite=True).T
        if not bias:
            return R, logdet
        sigma = float(s @ g)
        for rows in strips(self.n):  # eq. (1)
            R[rows] -= np.multiply.outer(g[rows] / sigma, g)
        return R, logdet + np.log(sigma)

    @cached_property
    def _spectrum(self) -> tuple[Matrix, Vector]:
        mu, U = np.linalg.eigh(self.K)
        check_eigenvalues(mu, "the Gram matrix")
        return np.ascontiguousarray(U[:, ::-1]), np.maximum(mu[::-1], 0)

    def spectrum(self) -> tuple[Matrix, Vector]:
        """Return eigenvectors and eigenvalues, decreasing; rounding below zero is set to zero."""
        return self._spectrum

    def diagonal(self, d: Vector) -> Matrix:
        """Return ``diag(d)`` in the form of an adjoint: an array."""
        return np.diag(np.asarray(d, float))

    def weighted_spectrum(self, v: Vector, bias: bool = False) -> Eigenpairs:
        r"""Return eigenvectors and eigenvalues of ``D K D``, ``D = diag(sqrt(v))``; kept for the latest ``v``.

        With a bias they are those on the complement of :math:`u = D1 / \|D1\|`. The eigenvalue of u itself is pushed
        below all others and dropped, so that a zero of a singular ``K`` is never confused with it.
        """
        key = (np.asarray(v, float).tobytes(), bias)
        return self._weighted_spectrum.get(key, lambda: self._decompose(np.sqrt(v), bias))

    def image_beside(self, free: Matrix, s: Vector, B: Matrix | None = None) -> tuple[Matrix, Vector]:
        """Return n - p left singular vectors of ``(I - free free') S K B`` and the squared singular values."""
        N = Complement(free)
        KB = self.K if B is None else self.K @ B
        image = N.transpose_times(s[:, None] * KB)
        V, t, _ = np.linalg.svd(image, full_matrices=image.shape[1] < len(image))
        t = np.r_[t, np.zeros(V.shape[1] - len(t))]
        return N.times(V), t**2

    @cached_property
    def _weighted_spectrum(self) -> Latest:
        return Latest()

    def _decompose(self, s: Vector, bias: bool) -> Eigenpairs:
        M = (self.centred().K if bias else self.K) * s[:, None] * s
        if bias:
            u = s / np.linalg.norm(s)
            Mu = M @ u
            # Project u out and give it an eigenvalue lower than all others.
            below = 2 * np.trace(M) + 1
            M -= np.multiply.outer(u, Mu) + np.multiply.outer(Mu + (below - u @ Mu) * u, u)
        nu, V = np.linalg.eigh(M)
        nu, V = nu[int(bias) :], V[:, int(bias) :]
        # A constant kernel is zero after centring; only rounding of this size remains.
        rounding = self.n * np.finfo(float).eps * np.max(np.diag(self.K) * s**2)
        check_eigenvalues(nu, "the Gram matrix", rounding)
        # Products would copy an array of negative strides each time: copy it once.
        return Eigenpairs(np.ascontiguousarray(V[:, ::-1]), np.maximum(nu[::-1], 0))

    def inner(self, adjoint: Matrix) -> float:
        """Return ``<adjoint, K>``: the derivative in the logarithm of a common factor of ``K``."""
        return float(np.vdot(adjoint, self.K))

    def norm(self) -> float:
        """Return the Frobenius norm."""
        return float(np.linalg.norm(self.K))

    def centred_norm(self) -> float:
        """Return the Frobenius norm of ``J K J`` without forming it."""
        m, shift = self._means
        parts = (np.sum((self.K[rows] - m - shift[rows, None]) ** 2) for rows in strips(self.n))
        return float(np.sqrt(sum(parts)))

    def adjoint(self, P: Matrix, Q: Matrix, identity: float = 0.0, itself: float = 0.0) -> Matrix:
        """Return ``(P Q' + Q P') / 2 + identity I + itself K`` for thin P and Q (n, p), as an array."""
        G = add_thin(itself * self.K if itself else np.zeros_like(self.K), P / 2, Q)
        G.flat[:: self.n + 1] += identity
        return G


@dataclass(frozen=True, eq=False)
class DenseFactor(Factor):
    """Cholesky factor of ``I + S K S``.

    Parameters
    ----------
    gram : DenseGram
    w, s : arrays of shape (n,)
        Weights and their square roots.
    L : array of shape (n, n)
    bias : bool
    """

    gram: DenseGram
    w: Vector
    s: Vector
    L: Matrix
    bias: bool

    @property
    def K(self) -> Matrix:
        """The Gram matrix, centred when there is a bias."""
        return self.gram.centred().K if self.bias else self.gram.K

    @cached_property
    def _diag(self) -> Vector:
        return self.gram.centred_diag() if self.bias else self.gram.diag()

    def _times(self, M: Matrix) -> Matrix:
        """Return ``K M``."""
        return self.gram.centred_matmul(M) if self.bias else self.gram.matmul(M)

    @cached_property
    def _g(self) -> Vector:
        return solve_lower(self.L, solve_lower(self.L, self.s), transposed=True)

    @cached_property
    def _sigma(self) -> float:
        return float(self.s @ self._g)

    @cached_property
    def _h(self) -> Vector:
        """``1 - V_0 w``, for each point by the one of two equal forms that does not cancel."""
        h = 1 - self._times(self.s * self._g)
        heavy = self.w * self._diag > 1
        h[heavy] = self._g[heavy] / self.s[heavy]
        return h

    def _solve_plain(self, M: Matrix) -> Matrix:
        """Return ``S B^{-1} S M``, the solve without the bias."""
        s = self.s if M.ndim == 1 else self.s[:, None]
        return s * solve_lower(self.L, solve_lower(self.L, s * M), transposed=True)

    def _covariance_plain(self, M: Matrix) -> Matrix:
        """Return ``V_0 M``, the covariance without the bias."""
        KM = self._times(M)
        return KM - self._times(self._solve_plain(KM))

    def solve(self, M: Matrix) -> Matrix:
        """Return ``A M``; eq. (1)."""
        AM = self._solve_plain(M)
        if not self.bias:
            return AM
        v = self.s * self._g
        return AM - np.multiply.outer(v, v @ M) / self._sigma

    def covariance(self, M: Matrix) -> Matrix:
        """Return ``V M``; eq. (1)."""
        VM = self._covariance_plain(M)
        return VM + np.multiply.outer(self._h, self._h @ M / self._sigma) if self.bias else VM

    def logdet(self) -> float:
        """Return ``log det B``, plus ``log s'B^{-1}s`` with a bias."""
        value = 2 * float(np.sum(np.log(np.diag(self.L))))
        return value + float(np.log(self._sigma)) if self.bias else value

    @cached_property
    def _Linv(self) -> Matrix:
        return inverse_lower(self.L)

    @cached_property
    def _squares_below(self) -> Vector:
        """Squared norms of the columns of ``L^{-1}`` below their diagonal."""
        if len(self.L) >= TILED_MIN_ROWS:
            # The inverse of a large factor is not kept: most have no use for more than its diagonal.
            return inverse_squares_by_columns(self.L)
        below = self._Linv.copy(order="F")
        np.fill_diagonal(below, 0.0)
        return np.einsum("ij,ij->j", below, below)

    @cached_property
    def _inverse_diag(self) -> Vector:
        if len(self.L) >= TILED_MIN_ROWS:
            r = self._squares_below + 1 / np.diag(self.L) ** 2
        else:
            r = np.einsum("ij,ij->j", self._Linv, self._Linv)
        return r - self._g**2 / self._sigma if self.bias else r

    def inverse_diag(self) -> Vector:
        """Return ``1 - w * covariance_diag()`` without cancellation."""
        return self._inverse_diag

    @cached_property
    def _faint(self) -> Rows:
        """Points of so little leverage that eq. (2) would cancel in their rows; eq. (3) is used there."""
        return np.flatnonzero(1 - self.inverse_diag() < FAINT_LEVERAGE)

    @cached_property
    def _covariance_diag(self) -> Vector:
        light = np.flatnonzero(1 - self.inverse_diag() < CANCELLATION_LEVERAGE)
        rest = np.delete(np.arange(len(self.w)), light)
        v = np.zeros(len(self.w))
        v[rest] = (1 - self.inverse_diag()[rest]) / self.w[rest]
        if len(light):
            vanishes = self.w[light] < VANISHING_WEIGHT
            for rows, diag in (
                (light[~vanishes], self._light_diag),
                (light[vanishes], self._weightless_diag),
            ):
                v[rows] = np.maximum(diag(rows), 0)
            if self.bias:
                v[light] += self._h[light] ** 2 / self._sigma
        return v

    def _light_diag(self, rows: Rows) -> Vector:
        """Return the diagonal of ``V_0`` for points of little leverage; eq. (5)."""
        left, w = self.L[rows], self.w[rows]
        pivots = left[np.arange(len(rows)), rows]
        left[np.arange(len(rows)), rows] = 0.0
        left /= self.s[rows, None]
        q = self._diag[rows] - np.einsum("ij,ij->i", left, left)
        return q / pivots**2 - self._squares_below[rows] / w

    def _weightless_diag(self, rows: Rows) -> Vector:
        """Return the diagonal of ``V_0`` for points whose weight is zero, or nearly; eq. (3)."""
        if not len(rows):
            return np.zeros(0)
        half = solve_lower(self.L, self.s[:, None] * self.K[:, rows])
        return self._diag[rows] - np.einsum("ij,ij->j", half, half)

    def covariance_diag(self) -> Vector:
        """Return the diagonal of ``V``: :math:`(1 - (B^{-1})_{ii}) / w_i`, or eq. (3) where that would cancel."""
        return self._covariance_diag

    def resolvent(self) -> Matrix:
        """Return ``A`` as an array."""
        return self._resolvent

    @cached_property
    def V(self) -> Matrix:
        """The covariance as an array; eq. (2), and (3) in the rows of faint points."""
        faint = self._faint
        rest = np.delete(np.arange(len(self.s)), faint)
        t = np.zeros(len(self.s))
        t[rest] = 1 / self.s[rest]
        V = self._R * -t
        V *= t[:, None]
        if len(faint):
            V[faint] = self.K[faint] - self._solve_plain(self.K[:, faint]).T @ self.K
            if self.bias:
                V[faint] += np.multiply.outer(self._h[faint], self._h / self._sigma)
            V[:, faint] = V[faint].T
        V.flat[:: len(V) + 1] = self.covariance_diag()
        return V

    def covariance_root(self) -> Matrix:
        """Return a root ``R`` (n, n) with ``R @ R.T = V``."""
        mu, U = np.linalg.eigh(self.V)
        return U * np.sqrt(np.maximum(mu, 0))

    @cached_property
    def _resolvent(self) -> Matrix:
        return self.s[:, None] * self._R * self.s

    def block(self, rows: Rows) -> Matrix:
        """Return ``A[rows][:, rows]``."""
        return self.resolvent()[np.ix_(rows, rows)]

    def covariance_block(self, rows: Rows) -> Matrix:
        """Return ``V[rows][:, rows]``."""
        return self.V[np.ix_(rows, rows)]

    def covariance_columns(self, rows: Rows) -> Matrix:
        """Return ``V[:, rows]``: few by eq. (2) if that does not cancel, many from V as a whole."""
        cancels = len(self._faint) > 0
        if len(rows) >= (CANCELLED_FORMED_FRACTION if cancels else FORMED_FRACTION) * len(self.w):
            return self.V[:, rows]
        if cancels:
            return super().covariance_columns(rows)
        V = solve_lower(self.L, self._Linv[:, rows], transposed=True)
        V /= -self.s[:, None]
        V /= self.s[rows]
        if self.bias:
            t = self._g / self.s
            V += np.multiply.outer(t, t[rows] / self._sigma)
        V[rows, np.arange(len(rows))] = self.covariance_diag()[rows]
        return V

    @cached_property
    def has_quick_covariance(self) -> bool:
        """Whether the weights matter everywhere, so that :meth:`quick_covariance` keeps its digits."""
        return bool(np.min(self.w * self._diag) > FAINT_LEVERAGE)

    def quick_covariance(self, M: Matrix) -> Matrix:
        """Return ``V M`` for weights that matter everywhere, by eq. (2) and without products with K."""
        s = self.s if M.ndim == 1 else self.s[:, None]
        VM = M / s
        VM -= solve_lower(self.L, solve_lower(self.L, VM), transposed=True)
        VM /= s
        if self.bias:
            h = self._g / self.s
            VM += np.multiply.outer(h, h @ M / self._sigma)
        return VM

    def repeated_covariance(self, M: Matrix) -> Matrix:
        """Return ``V M`` with V as an array."""
        return self.V @ M

    def inverse_block(self, rows: Rows) -> Matrix:
        """Return ``(I - S V S)[rows][:, rows]``."""
        return self._R[np.ix_(rows, rows)]

    @cached_property
    def _R(self) -> Matrix:
        """``I - S V S`` as an array."""
        R = blas.dlauum(self._Linv)[0]
        if self.bias:
            R = blas.dsyrk(-1 / self._sigma, self._g[:, None], R)
        return mirror(R).T

    def sandwich(self, e: Vector) -> Vector:
        """Return the diagonal of ``V diag(e) V``."""
        if len(self._faint):
            return np.einsum("ij,ij,j->i", self.V, self.V, e)
        # That of (I - R) E W^{-1} (I - R) W^{-1}; the signs do not matter.
        M = self._R.copy()
        M.flat[:: len(M) + 1] = self.w * self.covariance_diag()
        return np.einsum("ij,ij,j->i", M, M, e / self.w) / self.w

    def congruence(self, e: Vector) -> Matrix:
        """Return ``H' diag(e) H`` with ``H = I - V W``, as an array; eq. (4), unless that would cancel."""
        if not len(self._faint):
            T = weighted_square(self._R, e / self.w)
            T *= self.s
            T *= self.s[:, None]
            return T
        VW = self.V * self.w
        T = weighted_square(VW, e)
        VW *= e[:, None]
        T -= VW
        T -= VW.T
        T.flat[:: len(T) + 1] += e
        return T
