r"""The Gram matrix as a product of thin factors, :math:`K = F F'` with F of shape (n, r).

With :math:`\tilde F = [F, 1]` and :math:`D = \operatorname{diag}(1, \dots, 1, 0)` for a free bias (else F and I),

.. math:: P = \tilde F' W \tilde F + D = L L', \qquad X = L^{-1} \tilde F', \qquad V = X' X,  \tag{1}

a sum of squares: nothing cancels, nothing n x n is formed, and the cost is O(n r^2). X is made a strip of rows at a
time wherever it is needed: beside F there is no array of its size.

For diagonal E put :math:`M = X E X'` and :math:`N = L^{-1} D`. Since :math:`X W X' = I - N N'` and
:math:`H \tilde F = X' N` with :math:`H = I - V W`,

.. math::
    \langle E, V - V W V \rangle = \langle M, N N' \rangle, \qquad
    H' E H \tilde F = E X' N - W X' M N, \qquad \tilde F' H' E H \tilde F = N' M N,  \tag{2}

so that the way back costs two thin products.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from foldless.core.gram import Adjoint, Eigenpairs, Factor, Gram, LandmarkRoot, Matrix, Rows, Vector
from foldless.core.linalg import (
    cholesky,
    inverse_lower,
    long_strips,
    solve_lower,
    square_eigenpairs,
    weighted_square,
)
from foldless.core.memo import Latest, cached_property
from foldless.grams.adjoints import (
    Complement,
    FeatureProducts,
    Operator,
    RowTerm,
    SymmetricOuter,
    on_features,
    symmetric_operator,
)
from foldless.grams.features import Features

EXTREMES_STRIP_ROWS = 1000  # rows of K formed at a time to find its smallest and largest entry


class FeatureGram(Gram):
    """``K = F F'``: the verbs that only need :class:`foldless.grams.features.Features`, wherever they are stored."""

    semidefinite = True

    @abstractmethod
    def features(self, bias: bool = False) -> Features:
        """Return the rows of F, with a bias those of [F less its mean, 1]."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.features().n

    @cached_property
    def _mean(self) -> Vector:
        return self.features().transpose_times(np.full(self.n, 1 / self.n))

    def matmul(self, M: Matrix) -> Matrix:
        """Return ``K @ M``."""
        return self.features().times(self.features().transpose_times(M))

    def diag(self) -> Vector:
        """Return the diagonal."""
        return self.features().each(lambda F: _row_products(F, F))

    def factor(self, w: Vector, bias: bool = False) -> LowRankFactor:
        """Return the factor of ``I + S K S``, with or without a free bias; eq. (1)."""
        F, w = self.features(bias), np.asarray(w, float)
        P = F.square(w)
        P.flat[:: len(P) + 1] += np.r_[np.ones(len(P) - 1), 0] if bias else 1
        return LowRankFactor(F, w, cholesky(P, overwrite=True), bias)

    def diagonal(self, d: Vector) -> Operator:
        """Return ``diag(d)`` in the form of an adjoint: an operator."""
        return symmetric_operator(self.n, lambda M: _scale_rows(d, M))

    def inner(self, adjoint: Adjoint) -> float:
        """Return ``<adjoint, K>``: the derivative in the logarithm of a common factor of ``K``."""
        return float(np.trace(on_features(adjoint, self.features()).square))

    def adjoint(self, P: Matrix, Q: Matrix, identity: float = 0.0, itself: float = 0.0) -> Operator:
        """Return ``(P Q' + Q P') / 2 + identity I + itself K`` for thin P and Q (n, p), as an operator."""
        outer = Operator(self.n, [(1.0, SymmetricOuter(P, Q))])
        if not (identity or itself):
            return outer
        return outer + symmetric_operator(self.n, lambda M: identity * M + itself * self.matmul(M))


@dataclass(frozen=True, eq=False)
class LowRankGram(FeatureGram):
    """``K = F F'``.

    Parameters
    ----------
    F : array of shape (n, r)
    landmark_root : tuple, optional
        How F came from landmarks, for the way back to the kernel: see :class:`foldless.grams.builders.NystromBuilder`.
    """

    F: Matrix
    landmark_root: LandmarkRoot | None = None

    def subset(self, rows: Rows) -> LowRankGram:
        """Return the Gram of some rows, in the same feature space."""
        everything = np.array_equal(rows, np.arange(self.n))
        return LowRankGram(self.F if everything else self.F[rows])

    def block(self, rows: Rows, cols: Rows) -> Matrix:
        """Return the entries of ``K`` at ``rows`` and ``cols``, as an array."""
        return self.F[rows] @ self.F[cols].T

    def combine(self, rows: Rows, v: Vector) -> Vector:
        """Return ``K[:, rows] @ v``."""
        parts = long_strips(len(rows), self.F.shape[1])
        return self.F @ sum((v[part] @ self.F[rows[part]] for part in parts), np.zeros(self.F.shape[1]))

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and the largest entry; no more than a strip of ``K`` is formed at a time."""
        low, high = np.inf, -np.inf
        for i in range(0, self.n, EXTREMES_STRIP_ROWS):
            K = self.F[i : i + EXTREMES_STRIP_ROWS] @ self.F.T
            low, high = min(low, np.min(K)), max(high, np.max(K))
        return float(low), float(high)

    def centred(self) -> LowRankGram:
        """Return ``J K J``."""
        return self._centred

    @cached_property
    def _centred(self) -> LowRankGram:
        return LowRankGram(self.F - self._mean)

    def features(self, bias: bool = False) -> Features:
        """Return the rows of F, with a bias those of [F less its mean, 1]."""
        return Features(self.F, self._mean, 1.0) if bias else Features(self.F)

    def shifted(self, constant: float) -> LowRankGram:
        """Return ``K + constant 11'``."""
        return LowRankGram(np.column_stack([self.F, np.full(self.n, np.sqrt(constant))]))

    @cached_property
    def _spectrum(self) -> tuple[Matrix, Vector]:
        return square_eigenpairs(self.F)

    def spectrum(self) -> tuple[Matrix, Vector]:
        """Return the r leading eigenvectors and eigenvalues; the others are zero."""
        return self._spectrum

    def weighted_spectrum(self, v: Vector, bias: bool = False) -> Eigenpairs:
        r"""Return eigenvectors and the leading eigenvalues of ``D K D``, ``D = diag(sqrt(v))``; the others are zero.

        With a bias they are those on the complement of :math:`u = D1 / \|D1\|`. Kept for the latest ``v``.
        """
        key = (np.asarray(v, float).tobytes(), bias)
        compute = lambda: Eigenpairs(*self.features(bias).eigenpairs(np.sqrt(v)))
        return self._weighted_spectrum.get(key, compute)

    @cached_property
    def _weighted_spectrum(self) -> Latest:
        return Latest()

    def image_beside(self, free: Matrix, s: Vector, B: Matrix | None = None) -> tuple[Matrix, Vector]:
        """Return left singular vectors of ``(I - free free') S K B`` and the squared singular values."""
        N = Complement(free)
        Q, T = np.linalg.qr(N.transpose_times(s[:, None] * self.F))
        FB = self.F.T if B is None else self.F.T @ B
        U, t, _ = np.linalg.svd(T @ FB, full_matrices=False)
        return N.times(Q @ U), t**2

    def norm(self) -> float:
        """Return the Frobenius norm."""
        return float(np.linalg.norm(self.F.T @ self.F))

    def centred_norm(self) -> float:
        """Return the Frobenius norm of ``J K J``."""
        return self.centred().norm()


@dataclass(frozen=True, eq=False)
class LowRankFactor(Factor):
    """Factor of ``I + S F F' S``.

    Parameters
    ----------
    F : Features
        With a bias, of the centred rows and a constant 1.
    w : array of shape (n,)
    L : array of shape (r, r)
        Cholesky factor of P in eq. (1).
    bias : bool
    """

    F: Features
    w: Vector
    L: Matrix
    bias: bool

    @cached_property
    def X(self) -> Features:
        """The rows of ``X'`` of eq. (1)."""
        return self.F.whitened(self.L)

    def covariance(self, M: Matrix) -> Matrix:
        """Return ``V M``."""
        FM = self.F.transpose_times(M)
        return self.F.times(solve_lower(self.L, solve_lower(self.L, FM), transposed=True))

    def solve(self, M: Matrix) -> Matrix:
        """Return ``A M = W M - W V W M``."""
        WM = _scale_rows(self.w, M)
        return WM - _scale_rows(self.w, self.covariance(WM))

    def logdet(self) -> float:
        """Return ``log det P``, equal to ``log det B``, plus ``log s'B^{-1}s`` with a bias."""
        return 2 * float(np.sum(np.log(np.diag(self.L))))

    @cached_property
    def _covariance_diag(self) -> Vector:
        return self.X.each(lambda X: _row_products(X, X))

    def covariance_diag(self) -> Vector:
        """Return the diagonal of ``V``."""
        return self._covariance_diag

    def inverse_diag(self) -> Vector:
        """Return ``1 - w * covariance_diag()``."""
        return 1 - self.w * self.covariance_diag()

    def covariance_root(self) -> Matrix:
        """Return a root ``R`` (n, r) with ``R @ R.T = V``."""
        return self.X.whole()

    @cached_property
    def _latest_middle(self) -> Latest:
        return Latest()

    def _middle(self, e: Vector) -> Matrix:
        """Return ``M`` of eq. (2), kept for the latest ``e``."""
        return self._latest_middle.get(e.tobytes(), lambda: self.X.total(weighted_square, e))

    @cached_property
    def _N(self) -> Matrix:
        N = inverse_lower(self.L)
        if self.bias:
            N[:, -1] = 0
        return N

    def sandwich(self, e: Vector) -> Vector:
        """Return the diagonal of ``V diag(e) V``."""
        M = self._middle(e)
        return self.X.each(lambda X: _row_products(X, X @ M))

    def covariance_slope(self, e: Vector) -> float:
        """Return ``<diag(e), V - V W V>``; eq. (2)."""
        return float(np.vdot(self._N.T @ self._middle(e), self._N.T))

    def congruence(self, e: Vector) -> Operator:
        """Return ``H' diag(e) H`` with ``H = I - V W``, as an operator."""
        return Operator(len(self.w), [(1.0, Congruence(self, e))])

    def resolvent(self) -> Operator:
        """Return ``A`` as an operator."""
        return Operator(len(self.w), [(1.0, Resolvent(self))])

    def block(self, rows: Rows) -> Matrix:
        """Return ``A[rows][:, rows]``."""
        w = self.w[rows]
        return np.diag(w) - w[:, None] * self.covariance_block(rows) * w

    def covariance_block(self, rows: Rows) -> Matrix:
        """Return ``V[rows][:, rows]``."""
        X = self.X.take(rows)
        return X @ X.T

    def inverse_block(self, rows: Rows) -> Matrix:
        """Return ``(I - S V S)[rows][:, rows]``."""
        X = self.X.take(rows) * np.sqrt(self.w[rows])[:, None]
        return np.eye(len(X)) - X @ X.T


def _scale_rows(v: Vector, M: Matrix) -> Matrix:
    return v * M if M.ndim == 1 else v[:, None] * M


def _row_products(A: Matrix, B: Matrix) -> Vector:
    return np.einsum("ij,ij->i", A, B)


@dataclass(frozen=True, eq=False)
class Congruence:
    """The term ``H' diag(e) H`` of an adjoint."""

    factor: LowRankFactor
    e: Vector

    def apply(self, M: Matrix) -> Matrix:
        """Return the product with a block."""
        f = self.factor
        EHM = _scale_rows(self.e, M - f.covariance(_scale_rows(f.w, M)))
        return EHM - _scale_rows(f.w, f.covariance(EHM))

    def times_features(self, F: Features) -> FeatureProducts:
        """Return the products with the features the factor was made from; eq. (2). With a bias their means do not matter."""
        f, N = self.factor, self.factor._N[:, : F.width]
        MN = f._middle(self.e) @ N

        def compute(X: Matrix, e: Vector, w: Vector) -> Matrix:
            GF = e[:, None] * (X @ N)
            GF -= w[:, None] * (X @ MN)
            return GF

        return FeatureProducts([RowTerm(compute, (self.e, f.w), f.X)], N.T @ MN)


@dataclass(frozen=True, eq=False)
class Resolvent:
    r"""The term A of an adjoint: :math:`A F = W H F = W X' N` and :math:`F' A F = D - N' N`."""

    factor: LowRankFactor

    def apply(self, M: Matrix) -> Matrix:
        """Return the product with a block."""
        return self.factor.solve(M)

    def times_features(self, F: Features) -> FeatureProducts:
        """Return the products with the features the factor was made from."""
        f, N = self.factor, self.factor._N[:, : F.width]
        rows = RowTerm(lambda X, w: w[:, None] * (X @ N), (f.w,), f.X)
        return FeatureProducts([rows], np.eye(F.width) - N.T @ N)
