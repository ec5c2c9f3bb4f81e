r"""Kernel and points -> Gram, and back: dense, through landmarks (Nyström), or a strip of rows at a time.

A builder owns the points and their distances, so that a search that moves only ``theta`` computes them once; distances of
many rows from landmarks are not kept.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.gram import Adjoint, Gram, LandmarkRoot, Matrix, Rows, Vector
from foldless.core.linalg import long_strips, pivoted_cholesky, solve_lower
from foldless.core.memo import cached_property
from foldless.core.parallel import in_order
from foldless.grams import ChunkedGram, DenseGram, LowRankGram
from foldless.grams.adjoints import FeatureProducts, on_features
from foldless.grams.features import KEPT_ENTRIES
from foldless.grams.low_rank import FeatureGram
from foldless.kernels.algebra import has_noise
from foldless.kernels.evaluate import gram, is_semidefinite, pullback
from foldless.kernels.pairs import Pairs, Points

# Eigenvalues of a landmark matrix below this fraction of the largest are rounding.
EIGENVALUE_TOLERANCE = 1e-12


class Builder(ABC):
    """Points that turn a kernel into a Gram, and the derivative in the Gram into one in the kernel's ``theta``."""

    X: Points

    @property
    def exact(self) -> bool:
        """True if the Gram is the kernel matrix itself."""
        return True

    @abstractmethod
    def gram(self, kernel: Kernel) -> Gram:
        """Return the Gram of ``kernel``."""

    @abstractmethod
    def pullback(self, kernel: Kernel, K: Any, adjoint: Adjoint) -> Vector:
        """Return the gradient in ``kernel.theta`` for the Gram ``K`` that ``gram(kernel)`` returned."""

    @abstractmethod
    def expansion(self, K: Any, alpha: Matrix) -> tuple[Points, Matrix]:
        """Return points and coefficients ``beta`` with ``f(x) = k(x, points) @ beta``."""


@dataclass(frozen=True, eq=False)
class DenseBuilder(Builder):
    """All pairs of points.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    """

    X: Points

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs, with their distances."""
        return Pairs(self.X)

    def gram(self, kernel: Kernel) -> DenseGram:
        """Return the Gram of ``kernel``."""
        return DenseGram(gram(kernel, self.pairs), is_semidefinite(kernel))

    def pullback(self, kernel: Kernel, K: Gram, adjoint: Matrix) -> Vector:
        """Return the gradient in ``kernel.theta``."""
        return pullback(kernel, self.pairs, adjoint)

    def expansion(self, K: Gram, alpha: Matrix) -> tuple[Points, Matrix]:
        """Return the points and ``alpha``."""
        return self.X, alpha


@dataclass(frozen=True, eq=False)
class RowsTimesLandmarks:
    """Pairs of rows with landmarks: kernel -> features, and back, a strip of rows at a time.

    Parameters
    ----------
    pairs : Pairs
        Of the rows with all landmarks.
    """

    pairs: Pairs

    def _strips(self) -> Iterable[tuple[slice, Pairs]]:
        n, m = self.pairs.shape
        return self._kept_strips if n * m <= KEPT_ENTRIES else self._fresh_strips()

    def _fresh_strips(self) -> Iterator[tuple[slice, Pairs]]:
        for rows in long_strips(*self.pairs.shape):
            yield rows, self.pairs.strip(rows)

    @cached_property
    def _kept_strips(self) -> list[tuple[slice, Pairs]]:
        """The strips, each of which remembers its distances and latest kernel values: the way back needs them again."""
        return list(self._fresh_strips())

    def features(self, kernel: Kernel, landmark_root: LandmarkRoot) -> Matrix:
        """Return :math:`F = K_{nm} L^{-T}` for the root ``(L, kept_landmarks)`` of the landmarks' own matrix."""
        L, kept_landmarks = landmark_root
        F = np.empty((self.pairs.shape[0], len(kept_landmarks)))

        def fill(rows: slice, pairs: Pairs) -> None:
            F[rows] = solve_lower(L, gram(kernel, pairs)[:, kept_landmarks].T).T

        for _ in in_order(partial(fill, *strip) for strip in self._strips()):
            pass
        return F

    def pullback(self, kernel: Kernel, landmark_root: LandmarkRoot, products: FeatureProducts) -> Vector:
        """Return the part of the gradient that comes through :math:`K_{nm}`, whose adjoint is :math:`2 G F L^{-1}`."""
        L, kept_landmarks = landmark_root

        def of_strip(rows: slice, pairs: Pairs) -> Vector:
            adjoint = np.zeros(pairs.shape)
            adjoint[:, kept_landmarks] = 2 * _times_inverse(products.strip(rows), L)
            return pullback(kernel, pairs, adjoint)

        parts = in_order(partial(of_strip, *strip) for strip in self._strips())
        return sum(parts, np.zeros(len(kernel.theta)))


@dataclass(frozen=True, eq=False)
class NystromBuilder(Builder):
    r"""Landmarks: :math:`\tilde K = K_{nm} K_{mm}^{-1} K_{mn} = F F'`.

    Here :math:`F = K_{nm} L^{-T}` with :math:`L L' = K_{mm}`. The Cholesky factor is pivoted and drops landmarks that
    are numerically redundant; there is no jitter. Of the arrays (n, m) only F is kept: everything else, distances
    too, is made a strip of rows at a time, there and back.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    landmarks : array of shape (m,), or array or sparse matrix of shape (m, d)
        Row numbers, or points.
    """

    X: Points
    landmarks: Rows | Points

    @property
    def exact(self) -> bool:
        """False: the Gram is an approximation."""
        return False

    @property
    def points(self) -> Points:
        """The landmarks as points (m, d)."""
        return self.X[self.landmarks] if self.landmarks.ndim == 1 else self.landmarks

    @property
    def m(self) -> int:
        """Number of landmarks."""
        return int(self.landmarks.shape[0])

    @cached_property
    def _rows_times_landmarks(self) -> RowsTimesLandmarks:
        return RowsTimesLandmarks(Pairs(self.X, self.points))

    @cached_property
    def _landmark_pairs(self) -> Pairs:
        return Pairs(self.points)

    def gram(self, kernel: Kernel) -> FeatureGram:
        """Return the low-rank Gram of ``kernel``."""
        landmark_root = pivoted_cholesky(gram(kernel, self._landmark_pairs))
        return LowRankGram(self._rows_times_landmarks.features(kernel, landmark_root), landmark_root)

    def pullback(self, kernel: Kernel, K: Any, adjoint: Adjoint) -> Vector:
        r"""Return the gradient in ``kernel.theta``.

        With :math:`T = K_{nm} K_{mm}^{-1} = F L^{-1}` the adjoint of :math:`K_{nm}` is :math:`2 G T`, that of
        :math:`K_{mm}` is :math:`-T' G T`.
        """
        L, kept_landmarks = K.landmark_root
        products = on_features(adjoint, K.features())
        own = np.zeros(self._landmark_pairs.shape)
        own[np.ix_(kept_landmarks, kept_landmarks)] = -_times_inverse(_times_inverse(products.square, L).T, L)
        through_rows = self._pullback_of_rows(kernel, (L, kept_landmarks), products)
        return through_rows + pullback(kernel, self._landmark_pairs, own)

    def _pullback_of_rows(
        self, kernel: Kernel, landmark_root: LandmarkRoot, products: FeatureProducts
    ) -> Vector:
        return self._rows_times_landmarks.pullback(kernel, landmark_root, products)

    def expansion(self, K: Any, alpha: Matrix) -> tuple[Points, Matrix]:
        """Return landmarks and coefficients ``beta`` with ``f(x) = k(x, landmarks) @ beta``."""
        L, kept_landmarks = K.landmark_root
        beta = solve_lower(L, K.features().transpose_times(alpha), transposed=True)
        return self.points[kept_landmarks], beta


def _times_inverse(M: Matrix, L: Matrix) -> Matrix:
    """Return ``M L^{-1}``."""
    return solve_lower(L, M.T, transposed=True).T


def leading_nystrom(kernel: Kernel, X: Points, landmarks: Rows, components: int | None = None) -> LowRankGram:
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
    kept = np.flatnonzero(mu > EIGENVALUE_TOLERANCE * mu[-1])[::-1][:components]
    return LowRankGram(gram(kernel, Pairs(X, X[landmarks])) @ (U[:, kept] / np.sqrt(mu[kept])))


@dataclass(frozen=True, eq=False)
class ChunkedBuilder(Builder):
    """All pairs of points, a strip of rows at a time: for criteria made of products, at any size.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    chunk : int, optional
        Rows per strip.
    """

    X: Points
    chunk: int | None = None

    def gram(self, kernel: Kernel) -> ChunkedGram:
        """Return the Gram of ``kernel``; nothing is computed yet."""
        if has_noise(kernel):
            raise ValueError(
                "a chunked Gram holds no WhiteKernel. Leave it out: the machine's C plays its part."
            )
        return ChunkedGram(kernel, self.X, self.chunk)

    def pullback(self, kernel: Kernel, K: ChunkedGram, adjoint: Adjoint) -> Vector:
        """Return the gradient in ``kernel.theta``."""
        parts = [pullback(kernel, pairs, adjoint.strip(rows, pairs)) for rows, pairs in K.strips()]
        return np.sum(parts, axis=0)

    def expansion(self, K: Gram, alpha: Matrix) -> tuple[Points, Matrix]:
        """Return the points and ``alpha``."""
        return self.X, alpha
