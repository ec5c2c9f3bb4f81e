"""Pairs of points and their distances, computed once for a data set."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from foldless.core.linalg import strips

NEAR = 1e-8  # squared distances below this fraction of the squared norms are recomputed without cancellation
CHUNK = 200_000  # pairs recomputed at a time


def _double(X):
    return X.tocsr().astype(float) if sp.issparse(X) else np.ascontiguousarray(X, dtype=float)


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

    def __init__(self, X, Y=None):
        self.symmetric = Y is None
        self.X = _double(X)
        self.Y = self.X if Y is None else _double(Y)
        self._latest = {}

    @property
    def shape(self):
        """(n, m)."""
        return self.X.shape[0], self.Y.shape[0]

    @cached_property
    def inner(self):
        """Inner products, (n, m)."""
        product = self.X @ self.Y.T
        return product.toarray() if sp.issparse(product) else product

    @cached_property
    def squared(self):
        """Squared Euclidean distances, (n, m)."""
        D = _squared_distances(*self.scaled(1.0), self.symmetric)
        D.flags.writeable = False
        return D

    def scaled(self, length_scale):
        """Return both point sets, shifted by a common centre (unless sparse) and divided by ``length_scale``."""
        if sp.issparse(self.X) or sp.issparse(self.Y):
            inverse = sp.diags_array(np.broadcast_to(1 / np.asarray(length_scale, float), self.X.shape[1]))
            return sp.csr_array(self.X) @ inverse, sp.csr_array(self.Y) @ inverse
        centre = self._centre
        Z = (self.X - centre) / length_scale
        return Z, Z if self.symmetric else (self.Y - centre) / length_scale

    @cached_property
    def _centre(self):
        return self.X.mean(axis=0)

    def squared_over(self, length_scale):
        """Squared distances in units of ``length_scale`` (a number, or one per feature)."""
        if np.ndim(length_scale) == 0:
            return self.squared / float(length_scale) ** 2
        key = np.asarray(length_scale, float).tobytes()
        return self.latest("squared_over", key, lambda: self.fresh_squared_over(length_scale))

    def fresh_squared_over(self, length_scale):
        """The same, computed now and the caller's own."""
        return _squared_distances(*self.scaled(length_scale), self.symmetric)

    @cached_property
    def absolute(self):
        """Sums of absolute differences, (n, m)."""
        D = cdist(to_dense(self.X), to_dense(self.Y), "cityblock")
        D.flags.writeable = False
        return D

    def strip(self, rows):
        """Return the pairs of some rows (a slice) with all of ``Y``; what is shared between calls is ours."""
        return _Strip(self, rows)

    def latest(self, tag, key, compute):
        """Return ``compute()``, remembered until the same ``tag`` is asked for with another ``key``.

        A search asks for the value and then for the gradient at the same point; this keeps the second from doing
        the first one's work. The array is read-only.
        """
        known, value = self._latest.get(tag, (None, None))
        if known != key:
            value = compute()
            value.flags.writeable = False
            self._latest[tag] = (key, value)  # another thread may replace it: what is returned stays ours
        return value


class _Strip(Pairs):
    """Some rows of the pairs ``whole``."""

    def __init__(self, whole, rows):
        super().__init__(whole.X[rows], whole.Y)
        self._whole, self._rows = whole, rows

    @property
    def inner(self):
        return self._whole.inner[self._rows]

    @property
    def squared(self):
        return self._whole.squared[self._rows]

    @property
    def absolute(self):
        return self._whole.absolute[self._rows]

    @property
    def _centre(self):
        return self._whole._centre


def _squared_distances(X, Y, symmetric):
    x = _row_norms(X)
    y = x if symmetric else _row_norms(Y)
    D = np.empty((X.shape[0], Y.shape[0]))
    for rows in strips(len(D)):
        _fill_distances(D[rows], X[rows], Y, np.add.outer(x[rows], y))
    return D


def _fill_distances(D, X, Y, scale):
    """Put squared distances into ``D``; ``scale`` are the sums of the squared norms, and is used up."""
    product = X @ Y.T
    np.multiply(product.toarray() if sp.issparse(product) else product, -2, out=D)
    D += scale
    scale *= NEAR
    rows, cols = np.nonzero(scale > D)
    for i in range(0, len(rows), CHUNK):
        r, c = rows[i : i + CHUNK], cols[i : i + CHUNK]
        D[r, c] = _row_norms(X[r] - Y[c])
    np.maximum(D, 0, out=D)


def _row_norms(X):
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)


def to_dense(X):
    """Return ``X`` as an array."""
    return X.toarray() if sp.issparse(X) else X
