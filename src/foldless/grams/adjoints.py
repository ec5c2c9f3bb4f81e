"""Symmetric operators for the derivative of a value in the kernel matrix, where an array would be too large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator

from foldless.core.gram import Adjoint, Matrix, Rows, Vector
from foldless.core.linalg import add_thin, symmetric
from foldless.grams.features import Features


class Term(Protocol):
    """A symmetric matrix known by its products."""

    def apply(self, M: Matrix) -> Matrix:
        """Return the product with a block."""

    def times_features(self, F: Features) -> FeatureProducts:
        """Return the products with features.

        The way back through a low-rank Gram needs these; they are often cheaper than by ``apply``, and come a strip of
        rows at a time.
        """


class Operator(LinearOperator):
    """A weighted sum of terms; it understands ``@``, ``+`` and a scalar ``*``.

    Parameters
    ----------
    n : int
    terms : list of pairs
        Each a number and a :class:`Term`.
    """

    def __init__(self, n: int, terms: list[tuple[float, Term]]) -> None:
        super().__init__(np.float64, (n, n))
        self.terms = terms

    def _matvec(self, x: Matrix) -> Matrix:
        total: Any = sum(scale * term.apply(x) for scale, term in self.terms)
        return total

    _matmat = _rmatvec = _rmatmat = _matvec

    def _adjoint(self) -> Operator:
        return self

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Operator):
            return Operator(self.shape[0], self.terms + other.terms)
        return super().__add__(other)

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, Real):
            return Operator(self.shape[0], [(float(factor) * scale, term) for scale, term in self.terms])
        return super().__mul__(factor)

    __rmul__ = __mul__

    def times_features(self, F: Features) -> FeatureProducts:
        """Return the products with F."""
        found = [(scale, term.times_features(F)) for scale, term in self.terms]
        parts = [
            replace(part, scale=scale * part.scale) for scale, products in found for part in products.parts
        ]
        return FeatureProducts(parts, sum(scale * products.square for scale, products in found))


@dataclass(frozen=True, eq=False)
class FeatureProducts:
    """Products of a symmetric matrix G with features F (n, r), see :class:`foldless.grams.features.Features`.

    Parameters
    ----------
    parts : list of RowTerm
        The rows of ``G F`` are their sum, computed a strip at a time.
    square : array of shape (r, r)
        ``F' G F``.
    """

    parts: list[Any]
    square: Any

    def strip(self, rows: slice) -> Matrix:
        """Return some rows of ``G F``."""
        return sum(part.strip(rows) for part in self.parts)


@dataclass(frozen=True, eq=False)
class RowTerm:
    """Rows ``compute(F, *vectors)``, each from its own row of the features (or None) and of the vectors."""

    compute: Callable[..., Matrix]
    vectors: tuple[Any, ...] | list[Any]
    features: Features | None = None
    scale: float = 1.0

    def strip(self, rows: slice) -> Matrix:
        """Return some rows."""
        F = None if self.features is None else self.features.take(rows)
        return self.scale * self.compute(F, *(v[rows] for v in self.vectors))


@dataclass(frozen=True, eq=False)
class SymmetricOuter:
    """The symmetric thin term ``(P Q' + Q P') / 2``."""

    P: Matrix
    Q: Matrix

    def apply(self, M: Matrix) -> Matrix:
        """Return the product with a block."""
        return (self.P @ (self.Q.T @ M) + self.Q @ (self.P.T @ M)) / 2

    def times_features(self, F: Features) -> FeatureProducts:
        """Return the products with F."""
        PF, QF = F.transpose_times(self.P).T, F.transpose_times(self.Q).T
        part = RowTerm(lambda F, P, Q: (P @ QF + Q @ PF) / 2, (self.P, self.Q))
        return FeatureProducts([part], symmetric(PF.T @ QF))


def on_features(G: Adjoint, F: Features) -> FeatureProducts:
    """Return the products of an array or an operator with features."""
    if isinstance(G, Operator):
        return G.times_features(F)
    return ByProducts(lambda M: G @ M).times_features(F)


def add_symmetric(G: Adjoint, P: Matrix, Q: Matrix) -> Adjoint:
    """Return ``G + (P Q' + Q P') / 2`` for thin P and Q (n, k): an array or an operator, as G is."""
    if isinstance(G, np.ndarray):
        return add_thin(G.copy(), P / 2, Q)
    return G + Operator(len(P), [(1.0, SymmetricOuter(P, Q))])


@dataclass(frozen=True, eq=False)
class ByProducts:
    """A term known only by its products."""

    apply: Callable[[Matrix], Matrix]

    def times_features(self, F: Features) -> FeatureProducts:
        """Return the products with F."""
        rows = F.whole()
        GF = self.apply(rows)
        return FeatureProducts([RowTerm(lambda F, GF: GF, (GF,))], rows.T @ GF)


def symmetric_operator(n: int, apply: Callable[[Matrix], Matrix]) -> Operator:
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

    def __init__(self, free: Matrix) -> None:
        self.n, self.p = free.shape
        self.mirrors: list[Vector] = []
        F = np.array(free, dtype=float)
        for j in range(self.p):
            w = np.r_[np.zeros(j), F[j:, j]]
            w[j] += np.copysign(np.linalg.norm(w), w[j])
            w /= np.linalg.norm(w)
            F = _reflected(w, F)
            self.mirrors.append(w)

    def transpose_times(self, M: Matrix) -> Matrix:
        """Return ``N'M`` with ``N`` (n, n - p) an orthonormal basis of the complement."""
        for w in self.mirrors:
            M = _reflected(w, M)
        return M[self.p :]

    def times(self, V: Matrix) -> Matrix:
        """Return ``N V``."""
        V = np.concatenate([np.zeros((self.p, *V.shape[1:])), V])
        for w in reversed(self.mirrors):
            V = _reflected(w, V)
        return V


def _reflected(w: Vector, M: Matrix) -> Matrix:
    """Return the Householder reflection of ``M`` along the unit vector ``w``."""
    return M - np.multiply.outer(2 * w, w @ M)


def embed(G: Adjoint, rows: Rows, n: int) -> Adjoint:
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
    rows: Rows

    def apply(self, M: Matrix) -> Matrix:
        """Return the product with a block."""
        out = np.zeros(M.shape)
        out[self.rows] = self.G @ M[self.rows]
        return out

    def times_features(self, F: Features) -> FeatureProducts:
        """Return the products with F."""
        products = self.G.times_features(F.select_rows(self.rows))
        return FeatureProducts([_EmbeddedRows(products, self.rows)], products.square)


@dataclass(frozen=True, eq=False)
class _EmbeddedRows:
    """The rows of ``products`` at increasing ``rows``, and zeros elsewhere."""

    products: FeatureProducts
    rows: Rows
    scale: float = 1.0

    def strip(self, rows: slice) -> Matrix:
        inside = slice(*np.searchsorted(self.rows, [rows.start, rows.stop]))
        out = np.zeros((rows.stop - rows.start, len(self.products.square)))
        out[self.rows[inside] - rows.start] = self.scale * self.products.strip(inside)
        return out
