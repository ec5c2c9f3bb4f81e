r"""Cholesky factors and triangular inverses of large matrices, on all threads of a fit.

A matrix is halved until its blocks are small,

.. math:: L_{11} L_{11}' = A_{11}, \qquad L_{21} = A_{21} L_{11}^{-T}, \qquad L_{22} L_{22}' = A_{22} - L_{21} L_{21}':  \tag{1}

rows of :math:`L_{21}` are independent of each other, columns of the difference too. An inverse and its square are, with blocks
A, B, C of a triangle,

.. math:: \begin{pmatrix} A & \\ B & C \end{pmatrix}^{-1} = \begin{pmatrix} A^{-1} & \\ -C^{-1} B A^{-1} & C^{-1} \end{pmatrix},  \tag{2}

.. math:: \begin{pmatrix} A & \\ B & C \end{pmatrix}' \begin{pmatrix} A & \\ B & C \end{pmatrix}
          = \begin{pmatrix} A'A + B'B & \\ C'B & C'C \end{pmatrix} \quad \text{(lower triangle)}.  \tag{3}

The parts do not depend on the number of threads, and the digits do not either. Factors of matrices in single precision have that
precision. Eq. (2) is worth its while without threads:
with 400 rows it takes half the time of LAPACK's routine.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.core import blas
from foldless.core.gram import Matrix, Vector
from foldless.core.parallel import side_by_side

# Blocks up to so many rows are factored as they are, or inverted.
BLOCK_ROWS, INVERTED_ROWS = 512, 100
N_PARTS = 4
INVERSE_COLUMNS = 256


def factor_in_place(A: NDArray[Any]) -> int:
    """Replace the lower triangle of ``A`` by its Cholesky factor and return ``info``, positive if A has none; eq. (1).

    The entries above the diagonal are not meaningful afterwards.
    """
    n = len(A)
    if n <= BLOCK_ROWS:
        A[...], info = (blas.spotrf if A.dtype == np.float32 else blas.dpotrf)(A)
        return info
    half = n // 2
    info = factor_in_place(A[:half, :half])
    if info != 0:
        return info
    below = _slices(half, n, -(-(n - half) // N_PARTS))
    side_by_side([partial(_solve_rows, A, half, rows) for rows in below])
    side_by_side([partial(_subtract_columns, A, half, columns) for columns in below])
    info = factor_in_place(A[half:, half:])
    return info and info + half


def _solve_rows(A: Matrix, half: int, rows: slice) -> None:
    A[rows, :half] = triangular_solver(A)(A[:half, :half], A[rows, :half].T)[0].T


def triangular_solver(L: NDArray[Any]) -> Callable[..., tuple[Matrix, int]]:
    """Return the routine that solves systems of a triangular matrix, in its precision."""
    return blas.strtrs if L.dtype == np.float32 else blas.dtrtrs


def _subtract_columns(A: Matrix, half: int, columns: slice) -> None:
    # The product is formed transposed, so that its memory has the order of A.
    A[columns.start :, columns] -= (A[columns, :half] @ A[columns.start :, :half].T).T


def invert_in_place(L: Matrix) -> None:
    """Replace a lower triangular matrix by its inverse; eq. (2)."""
    n, half = len(L), len(L) // 2
    if n <= INVERTED_ROWS:
        L[...] = blas.dtrtri(L)[0]
        return
    A, B, C = L[:half, :half], L[half:, :half], L[half:, half:]
    invert_both = [partial(invert_in_place, A), partial(invert_in_place, C)]
    if n > BLOCK_ROWS:
        side_by_side(invert_both)
    else:
        for invert in invert_both:
            invert()
    # An even number, so that two threads have as much to do.
    n_parts = 1 if n <= BLOCK_ROWS else 2 if n <= 3 * BLOCK_ROWS else N_PARTS
    rows, columns = (_slices(0, m, -(-m // n_parts)) for m in B.shape)
    side_by_side([partial(blas.dtrmm, 1.0, A, B[part], right=True) for part in rows])
    side_by_side([partial(blas.dtrmm, -1.0, C, B[:, part]) for part in columns])


def square_in_place(L: Matrix) -> None:
    """Replace a lower triangular matrix by the lower triangle of ``L' L``; eq. (3)."""
    n, half = len(L), len(L) // 2
    if n <= BLOCK_ROWS:
        L[...] = blas.dlauum(L)[0]
        return
    A, B, C = L[:half, :half], L[half:, :half], L[half:, half:]
    square_in_place(A)
    columns = _slices(0, half, -(-half // N_PARTS))
    side_by_side([partial(_add_square, A, B, part) for part in columns])
    side_by_side([partial(blas.dtrmm, 1.0, C, B[:, part], transposed=True) for part in columns])
    square_in_place(C)


def _add_square(A: Matrix, B: Matrix, columns: slice) -> None:
    # The product is formed transposed, so that its memory has the order of A.
    A[columns.start :, columns] += (B[:, columns].T @ B[:, columns.start :]).T


def inverse_squares_by_columns(L: Matrix) -> Vector:
    """Return the squared norms of the columns of the inverse of a lower triangular matrix, without the diagonal of that.

    No more than a few columns exist at a time.
    """

    def squares(columns: slice) -> Vector:
        part = _inverse_columns(L, columns)
        np.fill_diagonal(part, 0.0)
        return np.asarray(np.einsum("ij,ij->j", part, part))

    parts = side_by_side([partial(squares, part) for part in _slices(0, len(L), INVERSE_COLUMNS)])
    return np.concatenate(parts)


def _inverse_columns(L: Matrix, columns: slice) -> Matrix:
    """Return columns of the inverse from the diagonal on."""
    unit = np.zeros((len(L) - columns.start, columns.stop - columns.start), order="F")
    np.fill_diagonal(unit, 1.0)
    return blas.dtrtrs(L[columns.start :, columns.start :], unit, overwrite=True)[0]


def solve_by_columns(L: NDArray[Any], M: NDArray[Any], transposed: bool) -> NDArray[Any]:
    """Return ``L^{-1} M``, or ``L^{-T} M``, for lower triangular ``L`` and a matrix M."""
    found, solver = np.empty(M.shape, L.dtype, order="F"), triangular_solver(L)

    def solve(columns: slice) -> None:
        found[:, columns] = solver(L, M[:, columns], transposed)[0]

    side_by_side([partial(solve, part) for part in _slices(0, M.shape[1], INVERSE_COLUMNS)])
    return found


def _slices(begin: int, end: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, end)) for i in range(begin, end, step)]
