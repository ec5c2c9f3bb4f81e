r"""Kernel and points -> Gram, and back: dense, or through landmarks (Nyström).

A representation owns the points and their distances, so that a search that moves only ``theta`` computes them once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.gaussian_process.kernels import Kernel, WhiteKernel

from foldless.grams import ChunkedGram, DenseGram, LowRankGram
from foldless.linalg import on_features, pivoted_cholesky, solve_lower
from foldless.verbs import Pairs, diagonal, gram, pullback, semidefinite

POOL = 30  # rows looked at per landmark when landmarks are spread out
TINY = 1e-12  # eigenvalues of a landmark matrix below this, relative to the largest, are rounding


@dataclass(frozen=True, eq=False)
class Dense:
    """All pairs of points.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    """

    X: object

    @cached_property
    def pairs(self):
        """The pairs, with their distances."""
        return Pairs(self.X)

    def gram(self, kernel):
        """Return the Gram of ``kernel``."""
        return DenseGram(gram(kernel, self.pairs), semidefinite(kernel))

    def pullback(self, kernel, K, adjoint):
        """Return the gradient in ``kernel.theta``."""
        return pullback(kernel, self.pairs, adjoint)

    def expansion(self, K, alpha):
        """Return points and coefficients ``beta`` with ``f(x) = k(x, points) @ beta``."""
        return self.X, alpha


@dataclass(frozen=True, eq=False)
class Nystrom:
    r"""Landmarks: :math:`\tilde K = K_{nm} K_{mm}^{-1} K_{mn} = F F'`.

    Here :math:`F = K_{nm} L^{-T}` with :math:`L L' = K_{mm}`. The Cholesky factor is pivoted and drops landmarks that
    are numerically redundant; there is no jitter.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    landmarks : array of shape (m,)
        Row numbers.
    """

    X: object
    landmarks: np.ndarray

    @cached_property
    def _cross(self):
        return Pairs(self.X, self.X[self.landmarks])

    @cached_property
    def _own(self):
        return Pairs(self.X[self.landmarks])

    def gram(self, kernel):
        """Return the low-rank Gram of ``kernel``."""
        L, kept = pivoted_cholesky(gram(kernel, self._own))
        F = solve_lower(L, gram(kernel, self._cross)[:, kept].T).T
        return LowRankGram(F, (L, kept))

    def pullback(self, kernel, K, adjoint):
        r"""Return the gradient in ``kernel.theta``.

        With :math:`T = K_{nm} K_{mm}^{-1} = F L^{-1}` the adjoint of :math:`K_{nm}` is :math:`2 G T`, that of
        :math:`K_{mm}` is :math:`-T' G T`.
        """
        L, kept = K.root
        GF, FGF = on_features(adjoint, K.F[:, : len(kept)])
        m = len(self.landmarks)
        cross, own = np.zeros((K.n, m)), np.zeros((m, m))
        cross[:, kept] = 2 * solve_lower(L, GF.T, transposed=True).T
        own[np.ix_(kept, kept)] = -solve_lower(L, solve_lower(L, FGF, transposed=True).T, transposed=True)
        return pullback(kernel, self._cross, cross) + pullback(kernel, self._own, own)

    def expansion(self, K, alpha):
        """Return landmarks and coefficients ``beta`` with ``f(x) = k(x, landmarks) @ beta``."""
        L, kept = K.root
        return self.X[self.landmarks[kept]], solve_lower(L, K.F[:, : len(kept)].T @ alpha, transposed=True)


def leading_nystrom(kernel, X, landmarks, components=None):
    r"""Low-rank Gram from the leading eigenvectors of the landmarks' own matrix, as Kobayashi and Komaki have it.

    .. math:: K_{mm} = U \Lambda U', \qquad F = K_{nm} U_p \Lambda_p^{-1/2}.

    With all components it is the Gram of :class:`Nystrom` in other coordinates. For fitting at a given kernel only:
    there is no way back to ``theta``.

    Parameters
    ----------
    kernel : Kernel
    X : array or sparse matrix of shape (n, d)
    landmarks : array of shape (m,)
    components : int, optional
        The number p kept; by default all whose eigenvalue exceeds 1e-12 of the largest.
    """
    mu, U = np.linalg.eigh(gram(kernel, X[landmarks]))
    kept = np.flatnonzero(mu > TINY * mu[-1])[::-1][:components]
    return LowRankGram(gram(kernel, X, X[landmarks]) @ (U[:, kept] / np.sqrt(mu[kept])))


@dataclass(frozen=True, eq=False)
class Chunked:
    """All pairs of points, a strip of rows at a time: for criteria made of products, at any size.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    chunk : int, optional
        Rows per strip.
    """

    X: object
    chunk: int | None = None

    def gram(self, kernel):
        """Return the Gram of ``kernel``; nothing is computed yet."""
        if has_noise(kernel):
            raise ValueError(
                "a chunked Gram holds no WhiteKernel. Leave it out: the machine's C plays its part."
            )
        return ChunkedGram(kernel, self.X, self.chunk)

    def pullback(self, kernel, K, adjoint):
        """Return the gradient in ``kernel.theta``."""
        return sum(pullback(kernel, pairs, adjoint.strip(rows, pairs)) for rows, pairs in K.strips())

    def expansion(self, K, alpha):
        """Return points and coefficients ``beta`` with ``f(x) = k(x, points) @ beta``."""
        return self.X, alpha


def has_noise(kernel: Kernel) -> bool:
    """Tell whether a white-noise term is part of the kernel (no low-rank form holds it)."""
    if isinstance(kernel, WhiteKernel):
        return True
    return any(has_noise(part) for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel))


def uniform_landmarks(X, m, rng):
    """Return m distinct rows, drawn uniformly, in increasing order."""
    return np.sort(rng.choice(X.shape[0], size=m, replace=False))


def spread_landmarks(X, m, rng):
    """Return m rows by k-means++ seeding: far apart, but where the points are."""
    n = X.shape[0]
    pool = uniform_landmarks(X, POOL * m, rng) if n > POOL * m else np.arange(n)
    _, rows = kmeans_plusplus(X[pool], m, random_state=rng.integers(2**31))
    return np.unique(pool[rows])


def greedy_landmarks(kernel, X, m=None, tolerance=0.0):
    r"""Rows chosen by pivoted Cholesky: each is the one the others explain worst.

    Parameters
    ----------
    kernel : Kernel
    X : array of shape (n, d)
    m : int, optional
        At most this many; by default all.
    tolerance : float
        Stop when :math:`\sum_i (K_{ii} - \tilde K_{ii})` falls below this times the trace of K.

    Returns
    -------
    rows : array of shape (at most m,)
    residual : float
        The remaining :math:`\sum_i (K_{ii} - \tilde K_{ii})`.
    """
    n = X.shape[0]
    m = n if m is None else min(m, n)
    left = np.array(diagonal(kernel, X), dtype=float)
    floor = max(tolerance, n * np.finfo(float).eps) * left.sum()
    F, rows = np.empty((m, n)), []
    for j in range(m):
        i = int(np.argmax(left))
        if left.sum() <= floor or left[i] <= 0:
            break
        column = gram(kernel, X, X[[i]])[:, 0]
        F[j] = (column - F[:j, i] @ F[:j]) / np.sqrt(left[i])
        left = np.maximum(left - F[j] ** 2, 0)
        left[i] = 0
        rows.append(i)
    return np.array(rows, dtype=np.intp), float(left.sum())
