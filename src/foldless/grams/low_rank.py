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

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from foldless.core.contracts import Matrix, Vector
from foldless.core.linalg import (
    Eigenpairs,
    cholesky,
    inverse_lower,
    long_strips,
    solve_lower,
    square_eigenpairs,
    weighted_square,
)
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

STRIP = 1000  # rows of K formed at a time where every entry must be seen


class FeatureGram:
    """``K = F F'``: what needs no more of F than its :class:`foldless.grams.features.Features`, wherever they are."""

    dense: ClassVar[bool] = False  # adjoints are operators
    semidefinite: ClassVar[bool] = True

    def features(self, bias=False):
        """Return the rows of F, with a bias those of [F less its mean, 1]."""
        raise NotImplementedError

    @property
    def n(self):
        """Number of rows."""
        return self.features().n

    @cached_property
    def memo(self):
        """What was computed from this Gram and may be asked for again, by key."""
        return {}

    @cached_property
    def _mean(self):
        return self.features().transpose_times(np.full(self.n, 1 / self.n))

    def matmul(self, M):
        """Return ``K @ M``."""
        return self.features().times(self.features().transpose_times(M))

    def diag(self):
        """Return the diagonal."""
        return self.features().each(lambda F: _row_products(F, F))

    def factor(self, w, bias=False):
        """Return the factor of ``I + S K S``, with or without a free bias; eq. (1)."""
        F, w = self.features(bias), np.asarray(w, float)
        P = F.square(w)
        P.flat[:: len(P) + 1] += np.r_[np.ones(len(P) - 1), 0] if bias else 1
        return LowRankFactor(F, w, cholesky(P, overwrite=True), bias)

    def diagonal(self, d):
        """Return ``diag(d)`` in the form of an adjoint: an operator."""
        return symmetric_operator(self.n, lambda M: d * M if M.ndim == 1 else d[:, None] * M)

    def inner(self, adjoint):
        """Return ``<adjoint, K>``: the derivative in the logarithm of a common factor of ``K``."""
        return float(np.trace(on_features(adjoint, self.features()).square))

    def adjoint(self, P, Q, identity=0.0, itself=0.0):
        """Return ``(P Q' + Q P') / 2 + identity I + itself K`` for thin P and Q (n, p), as an operator."""
        thin = Operator(self.n, [(1.0, SymmetricOuter(P, Q))])
        if not (identity or itself):
            return thin
        return thin + symmetric_operator(self.n, lambda M: identity * M + itself * self.matmul(M))


@dataclass(frozen=True, eq=False)
class LowRankGram(FeatureGram):
    """``K = F F'``.

    Parameters
    ----------
    F : array of shape (n, r)
    root : tuple, optional
        How F came about, for the way back to the kernel: see :class:`foldless.grams.builders.NystromBuilder`.
    """

    F: Matrix
    root: Any = None

    def subset(self, rows):
        """Return the Gram of some rows, in the same feature space."""
        everything = np.array_equal(rows, np.arange(self.n))
        return LowRankGram(self.F if everything else self.F[rows])

    def block(self, rows, cols):
        """Return the entries of ``K`` at ``rows`` and ``cols``, as an array."""
        return self.F[rows] @ self.F[cols].T

    def combine(self, rows, v):
        """Return ``K[:, rows] @ v``."""
        parts = long_strips(len(rows), self.F.shape[1])
        return self.F @ sum((v[part] @ self.F[rows[part]] for part in parts), np.zeros(self.F.shape[1]))

    def extremes(self):
        """Return the smallest and the largest entry; no more than a strip of ``K`` is formed at a time."""
        low, high = np.inf, -np.inf
        for i in range(0, self.n, STRIP):
            K = self.F[i : i + STRIP] @ self.F.T
            low, high = min(low, np.min(K)), max(high, np.max(K))
        return float(low), float(high)

    def centred(self):
        """Return ``J K J``."""
        return self._centred

    @cached_property
    def _centred(self):
        return LowRankGram(self.F - self._mean)

    def features(self, bias=False):
        """Return the rows of F, with a bias those of [F less its mean, 1]."""
        return Features(self.F, self._mean, 1.0) if bias else Features(self.F)

    def shifted(self, constant):
        """Return ``K + constant 11'``."""
        return LowRankGram(np.column_stack([self.F, np.full(self.n, np.sqrt(constant))]))

    @cached_property
    def _spectrum(self):
        return square_eigenpairs(self.F)

    def spectrum(self):
        """Return the r leading eigenvectors and eigenvalues; the others are zero."""
        return self._spectrum

    def weighted_spectrum(self, v, bias=False):
        r"""Return eigenvectors and the leading eigenvalues of ``D K D``, ``D = diag(sqrt(v))``; the others are zero.

        With a bias they are those on the complement of :math:`u = D1 / \|D1\|`. Remembered for the latest ``v``.
        """
        key = (np.asarray(v, float).tobytes(), bias)
        if self._weighted.get("key") != key:
            self._weighted.clear()  # the next is made when this one is gone
            self._weighted.update(key=key, pairs=Eigenpairs(*self.features(bias).eigenpairs(np.sqrt(v))))
        return self._weighted["pairs"]

    def image_beside(self, free, s, B=None):
        """Return left singular vectors of ``(I - free free') S K B`` and the squared singular values."""
        N = Complement(free)
        Q, T = np.linalg.qr(N.transpose_times(s[:, None] * self.F))
        FB = self.F.T if B is None else self.F.T @ B
        U, t, _ = np.linalg.svd(T @ FB, full_matrices=False)
        return N.times(Q @ U), t**2

    @cached_property
    def _weighted(self):
        return {}

    def norm(self):
        """Return the Frobenius norm."""
        return float(np.linalg.norm(self.F.T @ self.F))

    def centred_norm(self):
        """Return the Frobenius norm of ``J K J``."""
        return self.centred().norm()


@dataclass(frozen=True, eq=False)
class LowRankFactor:
    """Factor of ``I + S F F' S``; see :class:`foldless.core.contracts.Factor`."""

    F: Features  # with a bias, of the centred rows and a one
    w: Vector
    L: Matrix
    bias: bool
    _memo: list = field(default_factory=list, repr=False)

    @cached_property
    def X(self):
        """The rows of ``X'`` of eq. (1)."""
        return self.F.whitened(self.L)

    def _times(self, v, M):
        return v * M if M.ndim == 1 else v[:, None] * M

    def covariance(self, M):
        """Return ``V M``."""
        return self.F.times(
            solve_lower(self.L, solve_lower(self.L, self.F.transpose_times(M)), transposed=True)
        )

    def solve(self, M):
        """Return ``A M = W M - W V W M``."""
        WM = self._times(self.w, M)
        return WM - self._times(self.w, self.covariance(WM))

    def logdet(self):
        """Return ``log det P``, equal to ``log det B`` (plus ``log s'B^{-1}s`` with a bias)."""
        return 2 * np.sum(np.log(np.diag(self.L)))

    @cached_property
    def _covariance_diag(self):
        return self.X.each(lambda X: _row_products(X, X))

    def covariance_diag(self):
        """Return the diagonal of ``V``."""
        return self._covariance_diag

    def inverse_diag(self):
        """Return ``1 - w * covariance_diag()``."""
        return 1 - self.w * self.covariance_diag()

    def trace_inverse(self):
        """Return the trace of ``A``."""
        return float(self.w @ self.inverse_diag())

    def root(self):
        """Return a root of ``V``: an array (n, r) with ``root @ root.T = V``."""
        return self.X.whole()

    def _middle(self, e):
        """``M`` of eq. (2), remembered for the last ``e``."""
        if not self._memo or self._memo[0] is not e:
            self._memo[:] = [e, self.X.total(weighted_square, e)]
        return self._memo[1]

    @cached_property
    def _N(self):
        N = inverse_lower(self.L)
        if self.bias:
            N[:, -1] = 0
        return N

    def sandwich(self, e):
        """Return the diagonal of ``V diag(e) V``."""
        M = self._middle(e)
        return self.X.each(lambda X: _row_products(X, X @ M))

    def spread(self, e):
        """Return ``<diag(e), V - V W V>``; eq. (2)."""
        return float(np.vdot(self._N.T @ self._middle(e), self._N.T))

    def congruence(self, e):
        """Return ``H' diag(e) H`` with ``H = I - V W``, as an operator."""
        return Operator(len(self.w), [(1.0, Congruence(self, e))])

    def resolvent(self):
        """Return ``A`` as an operator."""
        return Operator(len(self.w), [(1.0, Resolvent(self))])

    def block(self, rows):
        """Return ``A[rows][:, rows]``."""
        w = self.w[rows]
        return np.diag(w) - w[:, None] * self.covariance_block(rows) * w

    def covariance_block(self, rows):
        """Return ``V[rows][:, rows]``."""
        X = self.X.take(rows)
        return X @ X.T

    def inverse_block(self, rows):
        """Return ``(I - S V S)[rows][:, rows]``."""
        X = self.X.take(rows) * np.sqrt(self.w[rows])[:, None]
        return np.eye(len(X)) - X @ X.T


def _row_products(A, B):
    return np.einsum("ij,ij->i", A, B)


@dataclass(frozen=True, eq=False)
class Congruence:
    """The term ``H' diag(e) H`` of an adjoint."""

    factor: LowRankFactor
    e: Vector

    def apply(self, M):
        """Return the product with a block."""
        f = self.factor
        EHM = f._times(self.e, M - f.covariance(f._times(f.w, M)))
        return EHM - f._times(f.w, f.covariance(EHM))

    def times_features(self, F):
        """Return the products with the features the factor was made from; eq. (2). A bias does not see their means."""
        f, N = self.factor, self.factor._N[:, : F.width]
        MN = f._middle(self.e) @ N

        def compute(X, e, w):
            GF = e[:, None] * (X @ N)
            GF -= w[:, None] * (X @ MN)
            return GF

        return FeatureProducts([RowTerm(compute, (self.e, f.w), f.X)], N.T @ MN)


@dataclass(frozen=True, eq=False)
class Resolvent:
    r"""The term A of an adjoint: :math:`A F = W H F = W X' N` and :math:`F' A F = D - N' N`."""

    factor: LowRankFactor

    def apply(self, M):
        """Return the product with a block."""
        return self.factor.solve(M)

    def times_features(self, F):
        """Return the products with the features the factor was made from."""
        f, N = self.factor, self.factor._N[:, : F.width]
        part = RowTerm(lambda X, w: w[:, None] * (X @ N), (f.w,), f.X)
        return FeatureProducts([part], np.eye(F.width) - N.T @ N)
