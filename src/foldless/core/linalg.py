"""Small pieces of linear algebra that several files need."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from foldless.core import blas
from foldless.core.errors import NotPositiveDefinite
from foldless.core.gram import Matrix, Rows, Vector
from foldless.core.parallel import side_by_side
from foldless.core.tiles import (
    factor_in_place,
    invert_in_place,
    solve_by_columns,
    square_in_place,
    triangular_solver,
)

SYMMETRY_TOLERANCE = 1e-8  # a matrix and its transpose may differ by this fraction of the largest entry
NEGATIVE_EIGENVALUE_TOLERANCE = 1e-8  # negative eigenvalues up to this fraction of the trace are rounding

CACHE_STRIP_ROWS = len(blas.ABOVE_DIAGONAL)  # rows of an n x n array that stay in the processor's cache
# A strip for matrix products has at least 512 rows, or as many as hold 2**17 entries.
PRODUCT_STRIP_ROWS = 512
PRODUCT_STRIP_ENTRIES = 2**17

# Larger matrices are factored and inverted in tiles, which threads share.
TILED_MIN_ROWS = 1500

# Pivots below this fraction of the largest diagonal entry are rounding.
PIVOT_TOLERANCE = 50 * np.finfo(float).eps
# Reject a low-rank factor whose relative error exceeds this. For a positive semi-definite matrix small pivots rule that
# out, so a larger error means that the matrix is indefinite.
LOW_RANK_MAX_ERROR = 1e-10


def symmetric(A: Matrix) -> Matrix:
    """Return the symmetric part of ``A``."""
    return (A + A.T) / 2


def mirror(A: Matrix) -> Matrix:
    """Fill the upper triangle of ``A`` from its lower one, in place, and return ``A``."""
    for rows in strips(len(A)):
        A[rows, rows.stop :] = A[rows.stop :, rows].T
        corner = A[rows, rows]
        np.copyto(corner, corner.T, where=blas.ABOVE_DIAGONAL[: len(corner), : len(corner)])
    return A


def strips(n: int) -> Iterator[slice]:
    """Yield the rows 0..n in slices so short that a strip of an n x n array stays in the processor's cache."""
    for i in range(0, n, CACHE_STRIP_ROWS):
        yield slice(i, min(i + CACHE_STRIP_ROWS, n))


def each_strip(n: int, work: Callable[[slice], None]) -> None:
    """Call ``work`` for all rows of an n x n array, on all threads of a fit: strip by strip, or at once if they are few."""
    if n < TILED_MIN_ROWS:
        work(slice(0, n))
    else:
        side_by_side([partial(work, rows) for rows in strips(n)])


def long_strips(n: int, width: int) -> Iterator[slice]:
    """Yield the rows 0..n in slices long enough for products of ``width`` columns to run at full speed."""
    step = _product_rows(width)
    for i in range(0, max(n, 1), step):
        yield slice(i, min(i + step, n))


def _product_rows(width: int) -> int:
    return max(PRODUCT_STRIP_ROWS, PRODUCT_STRIP_ENTRIES // max(width, 1))


def add_thin(G: Matrix, P: Matrix, Q: Matrix) -> Matrix:
    """Add ``P Q' + Q P'`` to the array ``G`` in place, for thin P and Q; no other n x n array is made."""
    left, right = np.hstack([P, Q]), np.vstack([Q.T, P.T])
    for rows in strips(len(G)):
        G[rows] += left[rows] @ right
    return G


def self_product(B: Matrix) -> Matrix:
    """Return ``B B'`` with half the multiplications of a plain product."""
    return mirror(blas.dsyrk(1.0, B))


def weighted_square(B: Matrix, e: Vector) -> Matrix:
    """Return ``B' diag(e) B`` with half the multiplications: rows of positive weight, minus those of negative weight."""
    root, total = np.sqrt(np.abs(e))[:, None], None
    for sign in (1.0, -1.0):
        rows = np.flatnonzero(sign * e > 0)
        if len(rows) == len(B):
            part = B * root
        else:
            part = B[rows]
            part *= root[rows]
        total = blas.dsyrk(sign, part.T, total)
    assert total is not None
    # The transpose is row-major.
    return mirror(total).T


def column_means(K: Matrix) -> tuple[Vector, Vector]:
    """Return the means of the columns, and how far they are above the mean of all entries."""
    m = K.mean(axis=0)
    return m, m - m.mean()


def centre(K: Matrix) -> Matrix:
    """Return ``J K J``: row, column and grand means removed."""
    (m, shift), Kc = column_means(K), np.empty_like(K)

    def fill(rows: slice) -> None:
        strip = np.subtract(K[rows], m, out=Kc[rows])
        strip -= shift[rows, None]

    each_strip(len(K), fill)
    return Kc


def check_symmetric(A: Any, what: str) -> Matrix:
    """Return ``A`` as an array, or raise if it is not square, finite and symmetric.

    Parameters
    ----------
    A : array-like or sparse matrix
    what : str
        The name of the matrix in messages, with its article.
    """
    A = A.toarray() if sp.issparse(A) else np.asarray(A, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"{what} must be square, got shape {A.shape}.")
    largest = max(-np.min(A, initial=0.0), np.max(A, initial=0.0))
    if not np.isfinite(largest):
        raise ValueError(f"{what} contains NaN or infinity.")
    gap = max((np.max(np.abs(A[rows] - A[:, rows].T)) for rows in strips(len(A))), default=0.0)
    if gap > SYMMETRY_TOLERANCE * largest:
        raise ValueError(f"{what} is not symmetric: it and its transpose differ by {gap:.1e}.")
    return A


def check_semidefinite(A: Any, what: str) -> Matrix:
    """Return ``A`` as an array, or raise if it is not square, finite, symmetric and positive semi-definite."""
    A = check_symmetric(A, what)
    B = np.array(A)
    B.flat[:: len(B) + 1] += max(NEGATIVE_EIGENVALUE_TOLERANCE * np.trace(A), np.finfo(float).tiny)
    try:
        # The transpose is Fortran ordered: LAPACK then works in place.
        cholesky(B.T, overwrite=True)
    except NotPositiveDefinite:
        raise indefinite(what, np.linalg.eigvalsh(A)[0]) from None
    return A


def check_eigenvalues(mu: Vector, what: str, rounding: float = 0.0) -> None:
    """Raise if the increasing eigenvalues ``mu``, known up to ``rounding``, are not of a positive semi-definite matrix."""
    if mu[0] < -max(NEGATIVE_EIGENVALUE_TOLERANCE * float(np.sum(mu)), rounding):
        raise indefinite(what, mu[0])


def indefinite(what: str, smallest: float) -> NotPositiveDefinite:
    """Return the error for a matrix that must not have a negative eigenvalue."""
    return NotPositiveDefinite(
        what,
        smallest,
        "It must be positive semi-definite; adding that much to its diagonal would make it so.",
    )


def cholesky(A: Matrix, overwrite: bool = False) -> Matrix:
    r"""Lower Cholesky factor of a positive definite matrix, reading its lower triangle.

    Raises
    ------
    NotPositiveDefinite
        Naming the smallest eigenvalue.
    """
    if len(A) < TILED_MIN_ROWS:
        L, info = blas.dpotrf(A, overwrite)
    else:
        L = A if overwrite and A.flags.f_contiguous else np.array(A, dtype=float, order="F")
        info = factor_in_place(L)
        L = blas.clear_upper(L)
    if info != 0:
        smallest = np.linalg.eigvalsh(A)[0] if not overwrite and np.isfinite(A).all() else np.nan
        raise NotPositiveDefinite("the matrix to factor", smallest, "Is the Gram matrix indefinite?")
    return L


def single_cholesky(A: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Return the lower Cholesky factor of a matrix in single precision, which is overwritten, or None if it has none in that.

    The entries above the diagonal are not meaningful.
    """
    return A if factor_in_place(A) == 0 else None


def solve_lower(L: NDArray[Any], M: NDArray[Any], transposed: bool = False) -> NDArray[Any]:
    """Return ``L^{-1} M``, or ``L^{-T} M`` when ``transposed``, for lower triangular ``L``."""
    if len(L) < TILED_MIN_ROWS or M.size == len(M):
        return triangular_solver(L)(L, M, transposed)[0]
    return solve_by_columns(L, M, transposed)


def solve_cholesky(L: Matrix, M: Matrix) -> Matrix:
    """Return ``(L L')^{-1} M`` for lower triangular ``L``."""
    return blas.dpotrs(L, M)[0]


def inverse_lower(L: Matrix) -> Matrix:
    """Return the inverse of a lower triangular matrix."""
    inverse = np.array(L, dtype=float, order="F")
    invert_in_place(inverse)
    return inverse


def inverse_of_square(L: Matrix, overwrite: bool = False) -> Matrix:
    """Return ``(L L')^{-1}`` for lower triangular ``L``, in its place if that may be overwritten."""
    R = L if overwrite and L.flags.f_contiguous else np.array(L, dtype=float, order="F")
    invert_in_place(R)
    square_in_place(R)
    return mirror(R)


def pivoted_cholesky(A: Matrix, tolerance: float | None = None) -> tuple[Matrix, Rows]:
    r"""Rank-revealing Cholesky: ``A[kept][:, kept] = L L'``; the pivots that were dropped are rounding.

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
    c, order, rank = blas.dpstrf(A, tolerance)
    return np.tril(c[:rank, :rank]), order[:rank]


def thin_root(A: Matrix, max_rank: int) -> Matrix | None:
    r"""Return ``F`` (n, r) with ``A = F F'`` to rounding, or None if that takes more than ``max_rank`` columns.

    A Cholesky factorisation with pivots, ended when no diagonal entry of the remainder exceeds ``PIVOT_TOLERANCE`` times
    the largest of A: F then errs by no more than an eigendecomposition of A does.

    Parameters
    ----------
    A : array of shape (n, n)
        Positive semi-definite; None is returned for a matrix that is not, or not finite.
    max_rank : int
        A block of ``max_rank + 1`` rows is factored first, at the price of :math:`(\mathrm{max\_rank} / n)^3` of the whole;
        if its rank is too large, that of A is too.
    """
    tolerance = PIVOT_TOLERANCE * np.max(np.diag(A))
    if not tolerance > 0:
        return None
    sample = np.linspace(0, len(A) - 1, max_rank + 1).astype(int)
    if blas.dpstrf(A[np.ix_(sample, sample)], tolerance)[2] > max_rank:
        return None
    c, order, rank = blas.dpstrf(A.T, tolerance)
    if rank > max_rank:
        return None
    F = np.empty((len(A), rank), order="F")
    F[order] = np.tril(c[:, :rank])
    return F if _is_root(F, A) else None


def _is_root(F: Matrix, A: Matrix) -> bool:
    """Return True if ``A = F F'``, tested on one vector of random signs, which shows the size of the difference."""
    z = np.random.default_rng(0).choice([-1.0, 1.0], size=len(A))
    return bool(np.linalg.norm(A @ z - F @ (F.T @ z)) <= LOW_RANK_MAX_ERROR * np.linalg.norm(A))


def square_eigenpairs(F: Matrix) -> tuple[Matrix, Vector]:
    r"""Return ``Q`` (n, r) with orthonormal columns and ``mu`` decreasing, :math:`F F' = Q \operatorname{diag}(\mu) Q'`."""
    return strip_eigenpairs(lambda rows: F[rows], *F.shape)


def strip_eigenpairs(
    take: Callable[[slice], Matrix], n: int, width: int, n_leading: int = 0
) -> tuple[Matrix, Vector]:
    r"""Return the eigenpairs of ``F F'`` on the complement of the first ``n_leading`` columns of F.

    Through :math:`F = Q_1 T` and the eigenvectors of :math:`T T'`: about a third of the price of a singular value
    decomposition. Q is orthonormal whatever the rank; nothing is divided by a small number. The strips are factored
    first, then their triangles on top of each other, so that no other array is as large as Q.

    Parameters
    ----------
    take : callable
        Takes a slice and returns these rows of F.
    n, width : int
        The shape of F.
    n_leading : int

    Returns
    -------
    Q : array of shape (n, r)
        Orthonormal columns.
    mu : array of shape (r,)
        Decreasing.
    """
    parts, triangles = _tall_strips(n, width), []
    Q = np.empty((n, min(n, width)))
    for rows in parts:
        Q[rows], T = np.linalg.qr(take(rows))
        triangles.append(T)
    rotation, T = np.linalg.qr(np.vstack(triangles))
    T = T[n_leading:, n_leading:]
    mu, V = np.linalg.eigh(T @ T.T)
    rotations = np.split(rotation[:, n_leading:] @ V[:, ::-1], len(parts))
    for rows, rotation in zip(parts, rotations, strict=True):
        Q[rows, : len(mu)] = Q[rows] @ rotation
    return Q[:, : len(mu)], np.maximum(mu[::-1], 0)


def _tall_strips(n: int, width: int) -> list[slice]:
    """Return slices of at least twice as many rows as columns, if there are so many."""
    step = max(_product_rows(width), 2 * width)
    edges = np.linspace(0, n, max(1, n // step) + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(edges)]
