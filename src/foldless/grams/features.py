r"""The rows of a feature matrix F (n, r), or of :math:`[F - 1 m', c 1]`, seen a strip at a time.

Whatever needs all rows is a sum over strips or a list of rows, so that beside F nothing of its size ever exists.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from foldless.core.contracts import Matrix, Vector
from foldless.core.linalg import long_strips, solve_lower, strip_eigenpairs

FEW = 2_000_000  # numbers (16 MB) that are kept rather than computed twice


@dataclass(frozen=True, eq=False)
class Features:
    """Many rows, each with r features.

    Parameters
    ----------
    F : array of shape (n, r)
    mean : array of shape (r,), optional
        What is subtracted from every row.
    last : float, optional
        A constant column behind F: 1 after the mean for a machine with a free bias, else the prior deviation of one.
    index : array of int, optional
        The rows of F that are meant; by default all.
    L : array of shape (width, width), optional
        Lower triangular: every row is solved with it, :math:`x = L^{-1} f`.
    """

    F: Matrix
    mean: Vector | None = None
    last: float | None = None
    index: NDArray[np.intp] | None = None
    L: Matrix | None = None

    @property
    def n(self):
        """Number of rows."""
        return len(self.F if self.index is None else self.index)

    @property
    def width(self):
        """Number of features, the constant included."""
        return self.F.shape[1] + (self.last is not None)

    def take(self, rows):
        """Return some rows."""
        F = self.F[rows if self.index is None else self.index[rows]]
        if self.last is not None:
            F, inner = np.full((len(F), self.width), self.last), F
            np.subtract(inner, 0.0 if self.mean is None else self.mean, out=F[:, :-1])
        return F if self.L is None else solve_lower(self.L, F.T).T

    def whitened(self, L):
        """Return the features ``F L^{-T}``, made whenever they are asked for; at once where they are few."""
        found = replace(self, L=L)
        return Features(found.whole()) if self.n * self.width <= FEW else found

    def whole(self):
        """Return all rows, for what cannot be done in strips."""
        return self.take(slice(None))

    def select_rows(self, rows):
        """Return the features of some rows, an array of numbers; nothing is copied."""
        return replace(self, index=rows if self.index is None else self.index[rows])

    def total(self, compute, *vectors):
        """Return the sum of ``compute(strip, *parts)`` over the strips, with the parts of the vectors that belong there."""
        found = 0.0
        for rows in long_strips(self.n, self.width):
            found = found + compute(self.take(rows), *(v[rows] for v in vectors))
        return found

    def each(self, compute, *vectors):
        """Return the rows ``compute(strip, *parts)`` of all strips, as one array."""
        out = None
        for rows in long_strips(self.n, self.width):
            found = compute(self.take(rows), *(v[rows] for v in vectors))
            out = np.empty((self.n, *found.shape[1:])) if out is None else out
            out[rows] = found
        return out

    def transpose_times(self, M):
        """Return ``F' M``."""
        return self.total(lambda F, M: F.T @ M, M)

    def times(self, B):
        """Return ``F B``."""
        return self.each(lambda F: F @ B)

    def eigenpairs(self, s):
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
        lead = int(self.last is not None)  # it comes first: what follows is orthogonal to it

        def take(rows):
            return np.roll(self.take(rows) * s[rows, None], lead, axis=1)

        return strip_eigenpairs(take, self.n, self.width, lead)

    def square(self, w):
        """Return the lower triangle of ``F' diag(w) F`` for ``w >= 0``."""
        return self.total(lambda F, s: blas.dsyrk(1.0, (F * s[:, None]).T, lower=1), np.sqrt(w))
