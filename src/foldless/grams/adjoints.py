"""Symmetric operators for the derivative of a value in the kernel matrix, where an array would be too large."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from foldless.core.linalg import symmetric


class Operator(LinearOperator):
    """A symmetric matrix known by its products: a weighted sum of terms.

    A term has ``apply(M)``, its product with a block, and ``on(F)``, its products with features, :class:`Thin`: what the
    way back through a low-rank Gram needs, often cheaper than by ``apply``, and a strip of rows at a time.
    """

    def __init__(self, n, terms):
        super().__init__(np.float64, (n, n))
        self.terms = terms

    def _matvec(self, x):
        return sum(scale * term.apply(x) for scale, term in self.terms)

    _matmat = _rmatvec = _rmatmat = _matvec

    def _adjoint(self):
        return self

    def __add__(self, other):
        if isinstance(other, Operator):
            return Operator(self.shape[0], self.terms + other.terms)
        return super().__add__(other)

    def __mul__(self, factor):
        if np.isscalar(factor):
            return Operator(self.shape[0], [(factor * scale, term) for scale, term in self.terms])
        return super().__mul__(factor)

    __rmul__ = __mul__

    def times_features(self, F):
        """Return the products with F."""
        found = [(scale, term.times_features(F)) for scale, term in self.terms]
        parts = [replace(part, scale=scale * part.scale) for scale, thin in found for part in thin.parts]
        return FeatureProducts(parts, sum(scale * thin.square for scale, thin in found))


@dataclass(frozen=True, eq=False)
class FeatureProducts:
    """Products of a symmetric matrix G with features F (n, r), see :class:`foldless.grams.features.Features`."""

    parts: list  # of which the rows of ``G F`` are the sum, made when they are asked for
    square: np.ndarray  # ``F' G F``

    def strip(self, rows):
        """Return some rows (a slice) of ``G F``."""
        return sum(part.strip(rows) for part in self.parts)


@dataclass(frozen=True, eq=False)
class RowTerm:
    """Rows that are ``compute(F, *vectors)`` of the rows of features (or None) and of vectors: of them alone."""

    compute: Callable[..., np.ndarray]
    vectors: tuple
    features: Any = None
    scale: float = 1.0

    def strip(self, rows):
        """Return some rows."""
        F = None if self.features is None else self.features.take(rows)
        return self.scale * self.compute(F, *(v[rows] for v in self.vectors))


@dataclass(frozen=True, eq=False)
class SymmetricOuter:
    """The symmetric thin term ``(P Q' + Q P') / 2``."""

    P: np.ndarray
    Q: np.ndarray

    def apply(self, M):
        """Return the product with a block."""
        return (self.P @ (self.Q.T @ M) + self.Q @ (self.P.T @ M)) / 2

    def times_features(self, F):
        """Return the products with F."""
        PF, QF = F.transpose_times(self.P).T, F.transpose_times(self.Q).T
        part = RowTerm(lambda F, P, Q: (P @ QF + Q @ PF) / 2, (self.P, self.Q))
        return FeatureProducts([part], symmetric(PF.T @ QF))


def on_features(G, F):
    """Return the products :class:`FeatureProducts` of an array or an operator with features."""
    if isinstance(G, Operator):
        return G.times_features(F)
    return ByProducts(lambda M: G @ M).times_features(F)


def add_symmetric(G, P, Q):
    """Return ``G + (P Q' + Q P') / 2`` for thin P and Q (n, k), as an array or, when G is one, an operator."""
    if isinstance(G, np.ndarray):
        return G + symmetric(P @ Q.T)
    return G + Operator(len(P), [(1.0, SymmetricOuter(P, Q))])


@dataclass(frozen=True, eq=False)
class ByProducts:
    """A term known only by its products."""

    apply: Callable[[np.ndarray], np.ndarray]

    def times_features(self, F):
        """Return the products with F."""
        F = F.whole()
        GF = self.apply(F)
        return FeatureProducts([RowTerm(lambda F, GF: GF, (GF,))], F.T @ GF)


def symmetric_operator(n, apply):
    """Return the symmetric operator whose products are ``apply(M)``."""
    return Operator(n, [(1.0, ByProducts(apply))])


class Complement:
    """The complement of p orthonormal directions, as Householder reflections: nothing n x n is stored.

    Parameters
    ----------
    free : array of shape (n, p)
        Orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> N = Complement(np.array([[0.6], [0.8]]))
    >>> N.times(np.eye(1)).round(3).T
    array([[-0.8,  0.6]])
    """

    def __init__(self, free):
        self.n, self.p = free.shape
        self.mirrors, F = [], np.array(free, dtype=float)
        for j in range(self.p):
            w = np.r_[np.zeros(j), F[j:, j]]
            w[j] += np.copysign(np.linalg.norm(w), w[j])
            w /= np.linalg.norm(w)
            F = _mirror(w, F)
            self.mirrors.append(w)

    def transpose_times(self, M):
        """Return ``N'M`` with ``N`` (n, n - p) an orthonormal basis of the complement."""
        for w in self.mirrors:
            M = _mirror(w, M)
        return M[self.p :]

    def times(self, V):
        """Return ``N V``."""
        V = np.concatenate([np.zeros((self.p, *V.shape[1:])), V])
        for w in reversed(self.mirrors):
            V = _mirror(w, V)
        return V


def _mirror(w, M):
    return M - np.multiply.outer(2 * w, w @ M)


def embed(G, rows, n):
    """Return the n x n matrix (array or operator, as G is) that has ``G`` on ``rows`` and zeros elsewhere."""
    if isinstance(G, np.ndarray):
        full = np.zeros((n, n))
        full[np.ix_(rows, rows)] = G
        return full

    return Operator(n, [(1.0, Embedded(G, rows))])


@dataclass(frozen=True, eq=False)
class Embedded:
    """The term that is the operator ``G`` on increasing ``rows``, and zero elsewhere."""

    G: Operator
    rows: np.ndarray

    def apply(self, M):
        """Return the product with a block."""
        out = np.zeros(M.shape)
        out[self.rows] = self.G @ M[self.rows]
        return out

    def times_features(self, F):
        """Return the products with F."""
        thin = self.G.times_features(F.select_rows(self.rows))
        return FeatureProducts([_EmbeddedPart(thin, self.rows)], thin.square)


@dataclass(frozen=True, eq=False)
class _EmbeddedPart:
    thin: FeatureProducts
    rows: np.ndarray
    scale: float = 1.0

    def strip(self, rows):
        inside = slice(*np.searchsorted(self.rows, [rows.start, rows.stop]))
        out = np.zeros((rows.stop - rows.start, len(self.thin.square)))
        out[self.rows[inside] - rows.start] = self.scale * self.thin.strip(inside)
        return out
