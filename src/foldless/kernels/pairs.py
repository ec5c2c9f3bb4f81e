"""Pairs of points and their distances, computed once for a data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from foldless.core.contracts import Matrix, Vector
from foldless.core.linalg import each_strip
from foldless.core.memo import cached_property

# Up to so many rows, repeated ones are removed before the data give a scale.
DISTINCT_MAX_ROWS = 2000
Points: TypeAlias = Any  # an array or a sparse matrix of shape (n, d)

# Squared distances below this fraction of the squared norms are recomputed without cancellation.
CANCELLATION_FRACTION = 1e-8
RECOMPUTED_PAIRS = 200_000  # pairs whose distances are recomputed at a time


class Pairs:
    """All pairs of two sets of points; distances are computed once and shared between calls.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array or sparse matrix of shape (m, d), optional
        ``None`` means the pairs of ``X`` with itself; the verbs then treat the matrix as symmetric.

    Notes
    -----
    Squared distances come from one matrix product on centred inputs. Where the product cancels (equal or nearly
    equal points) the few entries concerned are recomputed from the differences, so that square roots keep their
    digits.
    """

    def __init__(self, X: ArrayLike | Points, Y: ArrayLike | Points | None = None) -> None:
        self.symmetric = Y is None
        self.X = _as_float(X)
        self.Y = self.X if Y is None else _as_float(Y)
        self._latest: dict[str, tuple[bytes, Matrix]] = {}
        self._on_columns: dict[tuple[int, ...], Pairs] = {}
        self._mapped: tuple[bytes, Pairs] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        return self.X.shape[0], self.Y.shape[0]

    @cached_property
    def inner(self) -> Matrix:
        """Inner products, (n, m)."""
        return to_dense(self.X @ self.Y.T)

    @cached_property
    def squared(self) -> Matrix:
        """Squared Euclidean distances, (n, m)."""
        D = _squared_distances(*self.scaled(1.0), self.symmetric)
        D.flags.writeable = False
        return D

    def scaled(self, length_scale: float | Vector) -> tuple[Points, Points]:
        """Return both point sets, shifted by a common centre (unless sparse) and divided by ``length_scale``."""
        if np.ndim(length_scale) == 1 and len(np.asarray(length_scale)) not in (1, self.X.shape[1]):
            raise ValueError(
                f"the kernel has {len(np.asarray(length_scale))} length scales, and X has {self.X.shape[1]} columns."
            )
        if sp.issparse(self.X) or sp.issparse(self.Y):
            inverse = sp.diags_array(np.broadcast_to(1 / np.asarray(length_scale, float), self.X.shape[1]))
            return sp.csr_array(self.X) @ inverse, sp.csr_array(self.Y) @ inverse
        centre = self._centre
        Z = (self.X - centre) / length_scale
        return Z, Z if self.symmetric else (self.Y - centre) / length_scale

    @cached_property
    def _centre(self) -> Vector:
        return self.X.mean(axis=0)

    def squared_over(self, length_scale: float | Vector) -> Matrix:
        """Return squared distances in units of ``length_scale`` (a number, or one per feature)."""
        if np.ndim(length_scale) == 0:
            return self.squared / float(length_scale) ** 2
        key = np.asarray(length_scale, float).tobytes()
        D = self.recall("squared_over", key)
        return self.remember("squared_over", key, self.fresh_squared_over(length_scale)) if D is None else D

    def fresh_squared_over(self, length_scale: float | Vector) -> Matrix:
        """Return the distances of :meth:`squared_over`, not cached: the caller may modify the array in place."""
        return _squared_distances(*self.scaled(length_scale), self.symmetric)

    @cached_property
    def absolute(self) -> Matrix:
        """Sums of absolute differences, (n, m)."""
        D = cdist(to_dense(self.X), to_dense(self.Y), "cityblock")
        D.flags.writeable = False
        return D

    @cached_property
    def mismatches(self) -> Matrix:
        """Number of columns in which the codes of two points differ, (n, m); a negative code matches only itself."""
        X, Y = self.codes
        D = np.rint(cdist(X, Y, "hamming") * X.shape[1])
        D.flags.writeable = False
        return D

    @cached_property
    def codes(self) -> tuple[Matrix, Matrix]:
        """Both point sets as codes of categories: those that stand for no category are made all different."""
        X = _distinct_unknowns(to_dense(self.X), 1)
        return X, X if self.symmetric else _distinct_unknowns(to_dense(self.Y), 2)

    def on_columns(self, columns: list[int]) -> Pairs:
        """Return the pairs that only some columns make, with distances of their own, which are kept."""
        key = tuple(columns)
        found = self._on_columns.get(key)
        if found is None:
            chosen = None if self.symmetric else self.Y[:, columns]
            found = self._on_columns[key] = Pairs(self.X[:, columns], chosen)
        return found

    def times(self, directions: Matrix) -> Pairs:
        """Return the pairs of the points times a matrix (d, m); the latest are kept, with their distances."""
        return self.mapped(directions.tobytes(), lambda points: points @ directions)

    def mapped(self, key: bytes, change: Callable[[Points], Points]) -> Pairs:
        """Return the pairs of changed points; the latest are kept under ``key``, with their distances."""
        latest = self._mapped
        if latest is None or latest[0] != key:
            changed = None if self.symmetric else change(self.Y)
            latest = self._mapped = (key, Pairs(change(self.X), changed))
        return latest[1]

    def strip(self, rows: slice) -> Pairs:
        """Return the pairs of some rows with all of ``Y``; their distances are their own and go with them."""
        return Pairs(self.X[rows], self.Y)

    def recall(self, tag: str, key: bytes) -> Matrix | None:
        """Return the array that was last remembered under ``tag`` if ``key`` is still the same, else None.

        A search asks for the value and then for the gradient at the same point; this keeps the gradient from repeating
        the work of the value.
        """
        known, value = self._latest.get(tag, (None, None))
        return value if known == key else None

    def remember(self, tag: str, key: bytes, value: Matrix) -> Matrix:
        """Return ``value``, read-only, and keep it until another array is remembered under ``tag``."""
        value.flags.writeable = False
        # Another thread may overwrite the entry; the reference that is returned stays valid.
        self._latest[tag] = (key, value)
        return value


def _distinct_unknowns(X: Matrix, offset: int) -> Matrix:
    """Return codes in which the negative ones and NaN are replaced by numbers that occur once, in one of two sets."""
    unknown = ~(X >= 0)
    if not unknown.any():
        return X
    codes = X.copy()
    codes[unknown] = -(2.0 * np.arange(np.count_nonzero(unknown)) + offset)
    return codes


def to_dense(X: Points) -> Matrix:
    """Return ``X`` as an array."""
    return X.toarray() if sp.issparse(X) else X


def distinct_rows(X: Points) -> Points:
    """Return every row once, unless there are many; a row that is repeated and a row of a larger weight then agree."""
    return np.unique(to_dense(X), axis=0) if X.shape[0] <= DISTINCT_MAX_ROWS else X


def _as_float(X: Points) -> Points:
    return X.tocsr().astype(float) if sp.issparse(X) else np.ascontiguousarray(X, dtype=float)


def _squared_distances(X: Points, Y: Points, symmetric: bool) -> Matrix:
    x = _squared_norms(X)
    y = x if symmetric else _squared_norms(Y)
    D = np.empty((X.shape[0], Y.shape[0]))
    each_strip(len(D), lambda rows: _fill_distances(D[rows], X[rows], Y, np.add.outer(x[rows], y)))
    return D


def _fill_distances(D: Matrix, X: Points, Y: Points, scale: Matrix) -> None:
    """Write squared distances into ``D``; ``scale`` holds the sums of the squared norms and is overwritten."""
    np.multiply(to_dense(X @ Y.T), -2, out=D)
    D += scale
    scale *= CANCELLATION_FRACTION
    rows, cols = np.nonzero(scale > D)
    for i in range(0, len(rows), RECOMPUTED_PAIRS):
        r, c = rows[i : i + RECOMPUTED_PAIRS], cols[i : i + RECOMPUTED_PAIRS]
        D[r, c] = _squared_norms(X[r] - Y[c])
    np.maximum(D, 0, out=D)


def _squared_norms(X: Points) -> Vector:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
