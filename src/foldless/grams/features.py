r"""The rows of a feature matrix F (n, r), or of :math:`[F - 1 m', c 1]`, seen a strip at a time.

Whatever needs all rows is a sum over strips or a list of rows, so that beside F nothing of its size ever exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.core import blas
from foldless.core.gram import Matrix, Rows, Vector
from foldless.core.linalg import long_strips, solve_lower, strip_eigenpairs
from foldless.core.parallel import in_order, side_by_side

KEPT_ENTRIES = 2_000_000  # arrays of up to so many numbers (16 MB) are kept rather than computed twice


@dataclass(frozen=True, eq=False)
class Features:
    """Many rows, each with r features.

    Parameters
    ----------
    F : array of shape (n, r)
    mean : array of shape (r,), optional
        Subtracted from every row.
    last : float, optional
        A constant column behind F: 1 after the mean for a machine with a free bias, else the prior deviation of one.
    index : array of int, optional
        The rows of F that are meant; by default all.
    L : array of shape (width, width), optional
        Lower triangular: every row is solved with it, :math:`x = L^{-1} f`.
    """

    F: Any
    mean: Vector | None = None
    last: float | None = None
    index: Rows | None = None
    L: Matrix | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.F if self.index is None else self.index)

    @property
    def width(self) -> int:
        """Number of features, the constant included."""
        return self.F.shape[1] + (self.last is not None)

    def take(self, rows: slice | Rows) -> Matrix:
        """Return some rows."""
        F = self.F[rows if self.index is None else self.index[rows]]
        if self.last is not None:
            F, inner = np.full((len(F), self.width), self.last), F
            np.subtract(inner, 0.0 if self.mean is None else self.mean, out=F[:, :-1])
        return F if self.L is None else solve_lower(self.L, F.T).T

    def whitened(self, L: Matrix) -> Features:
        """Return the features ``F L^{-T}``: computed once if they are small, else whenever rows are taken."""
        whitened = replace(self, L=L)
        return Features(whitened.whole()) if self.n * self.width <= KEPT_ENTRIES else whitened

    def whole(self) -> Matrix:
        """Return all rows, for computations that cannot be done in strips."""
        return self.take(slice(None))

    def select_rows(self, rows: Rows) -> Features:
        """Return the features of some rows; nothing is copied."""
        return replace(self, index=rows if self.index is None else self.index[rows])

    def total(self, compute: Callable[..., Matrix], *vectors: NDArray[np.float64]) -> Matrix:
        """Return the sum over all strips of ``compute(strip, *parts)``; each strip comes with its parts of the vectors."""
        strips = long_strips(self.n, self.width)
        parts = in_order(partial(self._on_strip, compute, rows, vectors) for rows in strips)
        return reduce(np.add, parts)

    def each(self, compute: Callable[..., Matrix], *vectors: NDArray[np.float64]) -> Matrix:
        """Return the rows ``compute(strip, *parts)`` of all strips, as one array."""
        strips = list(long_strips(self.n, self.width))
        first = self._on_strip(compute, strips[0], vectors)
        out = np.empty((self.n, *first.shape[1:]))
        out[strips[0]] = first

        def fill(rows: slice) -> None:
            out[rows] = self._on_strip(compute, rows, vectors)

        side_by_side([partial(fill, rows) for rows in strips[1:]])
        return out

    def _on_strip(self, compute: Callable[..., Matrix], rows: slice, vectors: Sequence[Matrix]) -> Matrix:
        return compute(self.take(rows), *(v[rows] for v in vectors))

    def transpose_times(self, M: Matrix) -> Matrix:
        """Return ``F' M``."""
        return self.total(lambda F, M: F.T @ M, M)

    def times(self, B: Matrix) -> Matrix:
        """Return ``F B``."""
        return self.each(lambda F: F @ B)

    def eigenpairs(self, s: Vector) -> tuple[Matrix, Vector]:
        r"""Return the eigenpairs of ``S F F' S``, ``S = diag(s)``; with a constant those on the complement of S1.

        Parameters
        ----------
        s : array of shape (n,)

        Returns
        -------
        Q : array of shape (n, r)
            Orthonormal columns.
        mu : array of shape (r,)
            Decreasing.
        """
        # Put the constant column first, so that QR makes the others orthogonal to it.
        n_leading = int(self.last is not None)

        def take(rows: slice) -> Matrix:
            return np.roll(self.take(rows) * s[rows, None], n_leading, axis=1)

        return strip_eigenpairs(take, self.n, self.width, n_leading)

    def square(self, w: Vector) -> Matrix:
        """Return the lower triangle of ``F' diag(w) F`` for ``w >= 0``."""
        return self.total(lambda F, s: blas.dsyrk(1.0, (F * s[:, None]).T), np.sqrt(w))
