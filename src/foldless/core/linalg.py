"""Small pieces of linear algebra that several files need."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg import blas, lapack

from foldless.core.errors import NotPositiveDefinite

ROUNDING = (
    50 * np.finfo(float).eps
)  # of the largest diagonal entry: what the entries of a matrix are known to
STRIP = 64  # rows
LONG, ENTRIES = (
    512,
    2**17,
)  # of a strip for level-3 products: its fewest rows, and its entries if they may be more
HIDDEN = 1e-10  # of the norm: what a positive semi-definite remainder with such a diagonal cannot reach


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


def mirror(A):
    """Fill the upper triangle of ``A`` from its lower one, in place, and return ``A``."""
    for rows in strips(len(A)):
        A[rows, rows.stop :] = A[rows.stop :, rows].T
        corner = np.tril(A[rows, rows])
        A[rows, rows] = corner + np.tril(corner, -1).T
    return A


def strips(n):
    """Yield the rows 0..n in slices so short that a strip of an n x n array stays in the processor's cache."""
    for i in range(0, n, STRIP):
        yield slice(i, min(i + STRIP, n))


def long_strips(n, width):
    """Yield the rows 0..n in slices long enough for products of ``width`` columns to run at full speed."""
    step = max(LONG, ENTRIES // max(width, 1))
    for i in range(0, max(n, 1), step):
        yield slice(i, min(i + step, n))


def add_thin(G, P, Q):
    """Add ``P Q' + Q P'`` to the array ``G`` in place, for thin P and Q; no other n x n array is made."""
    for rows in strips(len(G)):
        G[rows] += P[rows] @ Q.T
        G[rows] += Q[rows] @ P.T
    return G


def self_product(B):
    """Return ``B B'`` by half the multiplications."""
    return mirror(blas.dsyrk(1.0, B.T, trans=1, lower=1))


def weighted_square(B, e):
    """Return ``B' diag(e) B`` by half the multiplications: what has a positive weight, less what has a negative one."""
    total = np.zeros((B.shape[1], B.shape[1]), order="F")
    for sign in (1.0, -1.0):
        rows = np.flatnonzero(sign * e > 0)
        part = B if len(rows) == len(B) else B[rows]
        part = part * np.sqrt(np.abs(e[rows]))[:, None]
        total = blas.dsyrk(sign, part.T, beta=1.0, c=total, lower=1, overwrite_c=1)
    return mirror(total)


def check_symmetric(K, tolerance=1e-8):
    """Refuse a Gram matrix that is not square, finite and symmetric."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"a Gram matrix must be square, got shape {K.shape}.")
    K = K.toarray() if hasattr(K, "toarray") else K
    gap = np.max(np.abs(K - K.T))
    if not gap <= tolerance * np.max(np.abs(K)):
        raise ValueError(
            f"a Gram matrix must be symmetric and finite; K and its transpose differ by {gap:.1e}."
        )


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


def solve_cholesky(L, M):
    """Return ``(L L')^{-1} M`` for lower triangular ``L``."""
    return lapack.dpotrs(L, M, lower=1)[0]


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


def thin_root(A, most):
    r"""Return ``F`` (n, r) with ``A = F F'`` to rounding, or None if that takes more than ``most`` columns.

    A Cholesky factorisation with pivots, ended when no diagonal entry of the remainder exceeds ``ROUNDING`` times the
    largest of A: F then errs by no more than an eigendecomposition of A does.

    Parameters
    ----------
    A : array of shape (n, n)
        Positive semi-definite; None is returned for a matrix that is not, or not finite.
    most : int
        A look at ``most + 1`` rows tells first whether it is worth trying, at the price of :math:`(most / n)^3`.
    """
    tolerance = ROUNDING * np.max(np.diag(A))
    if not tolerance > 0 or _pivots(A[np.ix_(*2 * [_spread(len(A), most + 1)])], tolerance)[2] > most:
        return None
    c, order, rank = _pivots(A, tolerance)
    if rank > most:
        return None
    F = np.empty((len(A), rank), order="F")
    F[order] = np.tril(c[:, :rank])
    z = np.random.default_rng(0).choice(
        [-1.0, 1.0], size=len(A)
    )  # sees |A - F F'|: small pivots alone do not show
    return F if np.linalg.norm(A @ z - F @ (F.T @ z)) <= HIDDEN * np.linalg.norm(A) else None


def _pivots(A, tolerance):
    c, order, rank, _ = lapack.dpstrf(A.T, tol=tolerance, lower=1)
    return c, order - 1, rank


def _spread(n, m):
    return np.linspace(0, n - 1, m).astype(int)


def square_eigenpairs(F):
    r"""Return ``Q`` (n, r) with orthonormal columns and ``mu`` decreasing, :math:`F F' = Q \operatorname{diag}(\mu) Q'`."""
    return strip_eigenpairs(lambda rows: F[rows], *F.shape)


def strip_eigenpairs(take, n, width, lead=0):
    r"""The same for an F whose rows are shown by ``take``, on the complement of its first ``lead`` columns.

    Through :math:`F = Q_1 T` and the eigenvectors of :math:`T T'`: about a third of the price of a singular value
    decomposition. Q is orthonormal whatever the rank; nothing is divided by a small number. The strips are factored
    first, then their triangles on top of each other, so that no other array is as large as Q.

    Parameters
    ----------
    take : callable
        From a slice to these rows of F.
    n, width : int
        The shape of F.
    lead : int
    """
    parts, tops = _tall_strips(n, width), []
    Q = np.empty((n, min(n, width)))
    for rows in parts:
        Q[rows], T = np.linalg.qr(take(rows))
        tops.append(T)
    turn, T = np.linalg.qr(np.vstack(tops))
    mu, V = np.linalg.eigh(T[lead:, lead:] @ T[lead:, lead:].T)
    turns = np.split(turn[:, lead:] @ V[:, ::-1], len(parts))
    for rows, turn in zip(parts, turns, strict=True):
        Q[rows, : len(mu)] = Q[rows] @ turn
    return Q[:, : len(mu)], np.maximum(mu[::-1], 0)


def _tall_strips(n, width):
    """Slices of at least twice as many rows as columns, if there are so many."""
    step = max(LONG, ENTRIES // max(width, 1), 2 * width)
    edges = np.linspace(0, n, max(1, n // step) + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(edges)]


def centre(K):
    """Return ``J K J``: row, column and grand means removed."""
    m = K.mean(axis=0)
    Kc = K - m
    Kc -= m[:, None]
    Kc += m.mean()
    return Kc
