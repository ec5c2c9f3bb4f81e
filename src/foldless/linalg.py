"""Small pieces of linear algebra that several files need."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator

from foldless.errors import NotPositiveDefinite


def symmetric(A):
    """Return the symmetric part of ``A``."""
    return (A + A.T) / 2


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Orthonormal vectors ``Q`` (n, r) with their eigenvalues ``nu`` (r,)."""

    Q: np.ndarray
    nu: np.ndarray

    @cached_property
    def squares(self):
        """``Q**2``: diagonals of functions of the matrix are products with it."""
        return self.Q**2


def check_symmetric(K, tolerance=1e-8):
    """Refuse a Gram matrix that is not square, finite and symmetric."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"a Gram matrix must be square, got shape {K.shape}.")
    K = K.toarray() if hasattr(K, "toarray") else K
    gap = np.max(np.abs(K - K.T))
    if not gap <= tolerance * np.max(np.abs(K)):
        raise ValueError(f"a Gram matrix must be symmetric and finite; K and its transpose differ by {gap:.1e}.")


def cholesky(A, overwrite=False):
    r"""Lower Cholesky factor of a positive definite matrix, reading its lower triangle.

    Raises
    ------
    NotPositiveDefinite
        Naming the smallest eigenvalue.
    """
    L, info = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=overwrite)
    if info != 0:
        smallest = np.linalg.eigvalsh(A)[0] if not overwrite and np.isfinite(A).all() else np.nan
        raise NotPositiveDefinite("the matrix to factor", smallest, "Is the Gram matrix indefinite?")
    return L


def solve_lower(L, M, transposed=False):
    """Return ``L^{-1} M``, or ``L^{-T} M`` when ``transposed``, for lower triangular ``L``."""
    x, _ = lapack.dtrtrs(L, M, lower=1, trans=int(transposed))
    return x


def inverse_lower(L):
    """Return the inverse of a lower triangular matrix."""
    return lapack.dtrtri(L, lower=1)[0]


def pivoted_cholesky(A, tolerance=None):
    r"""Rank-revealing Cholesky: ``A[piv][:, piv] = L L'`` up to the pivots that were dropped.

    Parameters
    ----------
    A : array of shape (n, n)
        Positive semi-definite.
    tolerance : float, optional
        Pivots below this are dropped; by default ``n * eps * max(diag(A))``.

    Returns
    -------
    L : array of shape (r, r)
        Lower triangular factor of the leading block.
    kept : array of shape (r,)
        The rows that were kept, in the order of elimination.
    """
    n = len(A)
    if tolerance is None:
        tolerance = n * np.finfo(float).eps * max(np.max(np.diag(A)), np.finfo(float).tiny)
    c, piv, rank, _ = lapack.dpstrf(A, tol=tolerance, lower=1)
    return np.tril(c[:rank, :rank]), piv[:rank] - 1


def centre(K):
    """Return ``J K J``: row, column and grand means removed."""
    m = K.mean(axis=0)
    Kc = K - m
    Kc -= m[:, None]
    Kc += m.mean()
    return Kc


def add_symmetric(G, P, Q):
    """Return ``G + (P Q' + Q P') / 2`` for thin P and Q (n, k), as an array or, when G is one, an operator."""
    if isinstance(G, np.ndarray):
        T = P @ Q.T
        return G + symmetric(T)
    return G + _symmetric_operator(P, Q)


def _symmetric_operator(P, Q):
    def apply(M):
        return (P @ (Q.T @ M) + Q @ (P.T @ M)) / 2

    return symmetric_operator(len(P), apply)


def symmetric_operator(n, apply):
    """Return the symmetric linear operator whose products are ``apply(M)``."""
    return LinearOperator((n, n), matvec=apply, matmat=apply, rmatvec=apply, rmatmat=apply, dtype=float)
