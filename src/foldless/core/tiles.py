r"""Cholesky factors and triangular inverses of large matrices, on all threads of a fit.

A matrix is halved until its blocks are small,

.. math:: L_{11} L_{11}' = A_{11}, \qquad L_{21} = A_{21} L_{11}^{-T}, \qquad L_{22} L_{22}' = A_{22} - L_{21} L_{21}':  \tag{1}

rows of :math:`L_{21}` are independent of each other, columns of the difference too, and so are the columns of an inverse. The
parts do not depend on the number of threads, and the digits do not either.
"""

from functools import partial

import numpy as np

from foldless.core import blas
from foldless.core.gram import Matrix
from foldless.core.parallel import side_by_side

# Blocks up to so many rows are factored as they are.
BLOCK_ROWS = 512
N_PARTS = 4
INVERSE_COLUMNS = 256


def factor_in_place(A: Matrix) -> int:
    """Replace the lower triangle of ``A`` by its Cholesky factor and return ``info``, positive if A has none; eq. (1).

    The entries above the diagonal are not meaningful afterwards.
    """
    n = len(A)
    if n <= BLOCK_ROWS:
        A[...], info = blas.dpotrf(A)
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
    A[rows, :half] = blas.dtrtrs(A[:half, :half], A[rows, :half].T)[0].T


def _subtract_columns(A: Matrix, half: int, columns: slice) -> None:
    # The product is formed transposed, so that its memory has the order of A.
    A[columns.start :, columns] -= (A[columns, :half] @ A[columns.start :, :half].T).T


def inverse_by_columns(L: Matrix) -> Matrix:
    """Return the inverse of a lower triangular matrix."""
    inverse = np.zeros(L.shape, order="F")
    side_by_side([partial(_invert_columns, L, inverse, part) for part in _slices(0, len(L), INVERSE_COLUMNS)])
    return inverse


def _invert_columns(L: Matrix, inverse: Matrix, columns: slice) -> None:
    unit = np.zeros((len(L) - columns.start, columns.stop - columns.start), order="F")
    np.fill_diagonal(unit, 1.0)
    inverse[columns.start :, columns] = blas.dtrtrs(L[columns.start :, columns.start :], unit)[0]


def solve_by_columns(L: Matrix, M: Matrix, transposed: bool) -> Matrix:
    """Return ``L^{-1} M``, or ``L^{-T} M``, for lower triangular ``L`` and a matrix M."""
    found = np.empty(M.shape, order="F")

    def solve(columns: slice) -> None:
        found[:, columns] = blas.dtrtrs(L, M[:, columns], transposed)[0]

    side_by_side([partial(solve, part) for part in _slices(0, M.shape[1], INVERSE_COLUMNS)])
    return found


def _slices(begin: int, end: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, end)) for i in range(begin, end, step)]
