r"""Bases for penalties other than the squared norm of the function: :math:`\alpha'\alpha`, or :math:`\alpha' T \alpha`.

.. math:: S = Z Z', \qquad Z = D K B, \qquad T^{+} = B B'.  \tag{1}

S comes from one singular value decomposition of Z; :math:`K^2` is never formed. Coefficients that T does not penalise join
the free directions.
"""

import numpy as np
from numpy.typing import ArrayLike

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.errors import NotPositiveDefinite
from foldless.core.linalg import check_eigenvalues, check_symmetric
from foldless.machines.coefficients import without_rounding
from foldless.machines.least_squares.eigenbasis import EPS, Basis, column_space, intercept, scale, thin


def identity_basis(gram: Gram, bias: bool, weights: Vector | None) -> Basis:
    """Return the basis for the penalty I."""
    if weights is None and not bias:
        Q, mu = thin(gram).spectrum()
        mu, none = without_rounding(mu), np.zeros((gram.n, 0))
        return Basis(Q, mu**2, none, Q.shape[1] >= gram.n, None, Q * mu, none)
    free, root = intercept(gram.n, bias, weights), _root(gram, weights)
    Q, s = thin(gram).image_beside(free, root)
    return _basis(Q, s, free, weights, gram.matmul(scale(root, Q)), np.zeros_like(free))


def matrix_basis(gram: Gram, penalty: ArrayLike, bias: bool, weights: Vector | None) -> Basis:
    """Return the basis for a penalty matrix T; coefficients that it does not penalise are free."""
    root = _root(gram, weights)
    B, E = penalty_roots(penalty, gram.n)
    C = np.column_stack([*([root] if bias else []), scale(root, gram.matmul(E))])
    free, back = column_space(C)
    Q, s = thin(gram).image_beside(free, root, B)
    free_coef_map = E @ back[int(bias) :]
    coef_map = B @ (B.T @ gram.matmul(scale(root, Q)))
    coef_map = coef_map - free_coef_map @ (free.T @ scale(root, gram.matmul(coef_map)))
    return _basis(Q, s, free, weights, coef_map, free_coef_map)


def smallest_by_penalty(gram: Gram, penalty: ArrayLike, bias: bool, Z: Matrix) -> tuple[Matrix, Vector]:
    r"""Return the coefficients and biases with outputs ``Z`` (n, k) and the smallest :math:`\alpha' T \alpha`."""
    B, E = penalty_roots(penalty, gram.n)
    C = np.column_stack([*([np.ones(gram.n)] if bias else []), gram.matmul(E)])
    free, back = column_space(C)
    M = gram.matmul(B)
    M = M - free @ (free.T @ M)
    alpha = B @ (np.linalg.pinv(M, rcond=gram.n * EPS) @ Z)
    rest = back @ (free.T @ (Z - gram.matmul(alpha)))
    return alpha + E @ rest[int(bias) :], rest[0] if bias else np.zeros(Z.shape[1])


def _root(gram: Gram, weights: Vector | None) -> Vector:
    return np.ones(gram.n) if weights is None else np.sqrt(weights)


def _basis(
    Q: Matrix, s: Vector, free: Matrix, weights: Vector | None, coef_map: Matrix, free_coef_map: Matrix
) -> Basis:
    complete = Q.shape[1] + free.shape[1] >= len(Q)
    root = None if weights is None else np.sqrt(weights)
    s = without_rounding(np.sqrt(s)) ** 2
    return Basis(Q, s, free, complete, root, np.where(s > 0, coef_map, 0.0), free_coef_map)


def penalty_roots(T: ArrayLike, n: int) -> tuple[Matrix, Matrix]:
    """Return B with ``T^+ = B B'`` and an orthonormal basis E of the null space of T.

    Parameters
    ----------
    T : array-like of shape (n, n)
        A penalty; one that is not symmetric, finite and positive semi-definite is refused.
    n : int
        The number of rows it must have.
    """
    T = check_symmetric(T, "the penalty matrix")
    if T.shape != (n, n):
        raise ValueError(f"the penalty matrix must have shape ({n}, {n}), got {T.shape}.")
    t, E = np.linalg.eigh(T)
    check_eigenvalues(t, "the penalty matrix")
    if t[-1] <= 0:
        raise NotPositiveDefinite("the penalty matrix", t[0], "It must not be zero.")
    used = t > n * EPS * t[-1]
    return E[:, used] / np.sqrt(t[used]), E[:, ~used]
