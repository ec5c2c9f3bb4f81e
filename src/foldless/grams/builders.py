r"""Kernel and points -> Gram, and back: dense, or through landmarks (Nyström).

A representation owns the points and their distances, so that a search that moves only ``theta`` computes them once.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from foldless.core.linalg import long_strips, pivoted_cholesky, solve_lower
from foldless.grams import ChunkedGram, DenseGram, LowRankGram
from foldless.grams.adjoints import on_features
from foldless.grams.features import FEW
from foldless.kernels.algebra import has_noise
from foldless.kernels.evaluate import gram, is_semidefinite, pullback
from foldless.kernels.pairs import Pairs

TINY = 1e-12  # eigenvalues of a landmark matrix below this, relative to the largest, are rounding


@dataclass(frozen=True, eq=False)
class DenseBuilder:
    """All pairs of points.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    """

    X: object
    exact: ClassVar[bool] = True  # whether the Gram is the kernel matrix itself

    @cached_property
    def pairs(self):
        """The pairs, with their distances."""
        return Pairs(self.X)

    def gram(self, kernel):
        """Return the Gram of ``kernel``."""
        return DenseGram(gram(kernel, self.pairs), is_semidefinite(kernel))

    def pullback(self, kernel, K, adjoint):
        """Return the gradient in ``kernel.theta``."""
        return pullback(kernel, self.pairs, adjoint)

    def expansion(self, K, alpha):
        """Return points and coefficients ``beta`` with ``f(x) = k(x, points) @ beta``."""
        return self.X, alpha


@dataclass(frozen=True, eq=False)
class RowsTimesLandmarks:
    """Rows beside landmarks: kernel -> features, and back, a strip of rows at a time.

    Parameters
    ----------
    pairs : Pairs
        Of the rows with all landmarks.
    """

    pairs: Pairs

    def _strips(self):
        n, m = self.pairs.shape
        return self._kept if n * m <= FEW else self._fresh()

    def _fresh(self):
        for rows in long_strips(*self.pairs.shape):
            yield rows, self.pairs.strip(rows)

    @cached_property
    def _kept(self):
        """The strips, which remember the latest kernel: the way back needs its values again."""
        return list(self._fresh())

    def features(self, kernel, root):
        """Return :math:`F = K_{nm} L^{-T}` for the ``root`` (L, kept) of the landmarks' own matrix."""
        L, kept = root
        F = np.empty((self.pairs.shape[0], len(kept)))
        for rows, pairs in self._strips():
            F[rows] = solve_lower(L, gram(kernel, pairs)[:, kept].T).T
        return F

    def pullback(self, kernel, root, thin):
        """Return the part of the gradient that comes through :math:`K_{nm}`, whose adjoint is :math:`2 G F L^{-1}`."""
        L, kept = root
        gradient = np.zeros(len(kernel.theta))
        for rows, pairs in self._strips():
            adjoint = np.zeros(pairs.shape)
            adjoint[:, kept] = 2 * _unroot(L, thin.strip(rows))
            gradient = gradient + pullback(kernel, pairs, adjoint)
        return gradient


@dataclass(frozen=True, eq=False)
class NystromBuilder:
    r"""Landmarks: :math:`\tilde K = K_{nm} K_{mm}^{-1} K_{mn} = F F'`.

    Here :math:`F = K_{nm} L^{-T}` with :math:`L L' = K_{mm}`. The Cholesky factor is pivoted and drops landmarks that
    are numerically redundant; there is no jitter. Of the arrays (n, m) only F is kept, and the distances where all
    kernels share them: everything else is made a strip of rows at a time, there and back.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    landmarks : array of shape (m,)
        Row numbers.
    """

    X: object
    landmarks: np.ndarray
    exact: ClassVar[bool] = False

    @cached_property
    def _cross(self):
        return RowsTimesLandmarks(Pairs(self.X, self.X[self.landmarks]))

    @cached_property
    def _own(self):
        return Pairs(self.X[self.landmarks])

    def gram(self, kernel):
        """Return the low-rank Gram of ``kernel``."""
        root = pivoted_cholesky(gram(kernel, self._own))
        return LowRankGram(self._cross.features(kernel, root), root)

    def pullback(self, kernel, K, adjoint):
        r"""Return the gradient in ``kernel.theta``.

        With :math:`T = K_{nm} K_{mm}^{-1} = F L^{-1}` the adjoint of :math:`K_{nm}` is :math:`2 G T`, that of
        :math:`K_{mm}` is :math:`-T' G T`.
        """
        (L, kept), m = K.root, len(self.landmarks)
        thin = on_features(adjoint, K.features())
        own = np.zeros((m, m))
        own[np.ix_(kept, kept)] = -_unroot(L, _unroot(L, thin.square).T)
        return self._across(kernel, K.root, thin) + pullback(kernel, self._own, own)

    def _across(self, kernel, root, thin):
        return self._cross.pullback(kernel, root, thin)

    def expansion(self, K, alpha):
        """Return landmarks and coefficients ``beta`` with ``f(x) = k(x, landmarks) @ beta``."""
        L, kept = K.root
        return self.X[self.landmarks[kept]], solve_lower(
            L, K.features().transpose_times(alpha), transposed=True
        )


def _unroot(L, M):
    """Return ``M L^{-1}``."""
    return solve_lower(L, M.T, transposed=True).T


def leading_nystrom(kernel, X, landmarks, components=None):
    r"""Low-rank Gram from the leading eigenvectors of the landmarks' own matrix, as Kobayashi and Komaki have it.

    .. math:: K_{mm} = U \Lambda U', \qquad F = K_{nm} U_p \Lambda_p^{-1/2}.

    With all components it is the Gram of :class:`NystromBuilder` in other coordinates. For fitting at a given kernel only:
    there is no way back to ``theta``.

    Parameters
    ----------
    kernel : Kernel
    X : array or sparse matrix of shape (n, d)
    landmarks : array of shape (m,)
    components : int, optional
        The number p kept; by default all whose eigenvalue exceeds 1e-12 of the largest.
    """
    mu, U = np.linalg.eigh(gram(kernel, Pairs(X[landmarks])))
    kept = np.flatnonzero(mu > TINY * mu[-1])[::-1][:components]
    return LowRankGram(gram(kernel, Pairs(X, X[landmarks])) @ (U[:, kept] / np.sqrt(mu[kept])))


@dataclass(frozen=True, eq=False)
class ChunkedBuilder:
    """All pairs of points, a strip of rows at a time: for criteria made of products, at any size.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    chunk : int, optional
        Rows per strip.
    """

    X: object
    chunk: int | None = None
    exact: ClassVar[bool] = True

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
