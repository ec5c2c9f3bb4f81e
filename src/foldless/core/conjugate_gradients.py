r"""Linear systems near one that is factorised.

With the covariance :math:`V` of a factorised system :math:`V^{-1}`, the system :math:`(V^{-1} + D)\, x = b` of a diagonal D is
solved by conjugate gradients with V as preconditioner [1]_. Everything is written as :math:`x = V s`: then
:math:`(V^{-1} + D)\, x = s + D x`, and one product with V a step is all that is needed.

References
----------
.. [1] Golub and Van Loan (2013), *Matrix Computations*, section 11.5.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Matrix, Vector

# Solved columns stay, unchanged, until no more than this fraction of the columns is left.
MAX_KEPT_FRACTION = 0.75


class Solved(NamedTuple):
    """The solution of one or more systems.

    Attributes
    ----------
    x, s : arrays of shape (n, k)
        ``x = V s``.
    is_solved : array of shape (k,)
        Whether no more than the error is left of the right-hand side.
    n_steps : int
        Steps that were taken.
    """

    x: Matrix
    s: Matrix
    is_solved: NDArray[np.bool_]
    n_steps: int


def solve_near(
    V: Callable[[Matrix], Matrix], D: Matrix, B: Matrix, error: Callable[[Vector], Vector], max_steps: int
) -> Solved:
    """Solve ``(V^{-1} + D) x = b`` for every column.

    Parameters
    ----------
    V : callable
        Returns the product with V.
    D : array of shape (n, k)
        The diagonals; ``V^{-1} + D`` is positive definite.
    B : array of shape (n, k)
        The right-hand sides.
    error : callable
        Given ``b' V b`` of every column (k,), it returns the fraction of it that may be left.
    max_steps : int

    Examples
    --------
    >>> K = np.diag([1.0, 2.0, 4.0])
    >>> D, b = np.array([[0.5], [0.0], [0.0]]), np.ones((3, 1))
    >>> solve_near(lambda M: K @ M, D, b, lambda size: 1e-20 * size, 10).x.ravel().round(6).tolist()
    [0.666667, 2.0, 4.0]
    """
    x, s, r = np.zeros_like(B), np.zeros_like(B), B
    p, q = V(r), r
    size = first = dots(r, p)
    goal = error(first) * first
    # Columns that are not solved; the others are taken out when they are many.
    left, n_steps = np.arange(B.shape[1]), 0
    is_solved = size <= goal
    # What is not a number is neither solved nor goes on.
    while n_steps < max_steps and np.any(goes_on := size > goal[left]):
        if np.sum(goes_on) <= MAX_KEPT_FRACTION * len(left):
            left, D, r, p, q, size = left[goes_on], *(M[:, goes_on] for M in (D, r, p, q)), size[goes_on]
            goes_on = goes_on[goes_on]
        Ap = q + D * p
        step = np.where(goes_on, _ratio(size, dots(p, Ap)), 0.0)
        if not np.any(step):
            break
        x[:, left] += step * p
        s[:, left] += step * q
        r = r - step * Ap
        y = V(r)
        size, before = dots(r, y), size
        again = _ratio(size, before)
        p, q = y + again * p, r + again * q
        n_steps += 1
        is_solved[left] = size <= goal[left]
    return Solved(x, s, is_solved, n_steps)


def dots(A: Matrix, B: Matrix) -> Vector:
    """Return the product of every column with that of the other matrix."""
    return np.asarray(np.einsum("ij,ij->j", A, B))


def _ratio(a: Vector, b: Vector) -> Vector:
    """Return a / b, zero unless b is positive."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
