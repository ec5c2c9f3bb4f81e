r"""The Gaussian process whose posterior mean a ridge fit is, and its posterior variance.

The penalty :math:`\lambda\, \alpha' T \alpha` is the prior :math:`\alpha \sim N(0, (\sigma^2/\lambda) T^{-1})` of the
coefficients of :math:`f = \sum_j \alpha_j k(\cdot, x_j)`. In units of :math:`\sigma^2/\lambda` the values of f have the
prior covariance

.. math:: S = K T^{-1} K, \qquad s_* = K T^{-1} k_*, \qquad s_{**} = k_*' T^{-1} k_*;  \tag{1}

for T = K that is the process with covariance k itself (:math:`S = K`, :math:`s_* = k_*`), and there
:math:`s_{**} = k(x, x)` is taken: the limit of a basis that is not confined to the training points. With A the inverse
of :math:`S + \lambda V^{-1}`, bordered by the intercept where there is one, :math:`w = A_v 1 / \tau` and
:math:`\tau = 1'A_v 1`, the variance of f at a new point is

.. math:: \frac{\sigma^2}{\lambda} \bigl[ s_{**} - s_*' A s_* + 1/\tau - 2\, w's_* \bigr];  \tag{2}

without an intercept the last two terms are absent. A penalty matrix that is singular is a flat prior along its null
space, under which no function has a variance before the data: not supported.

References
----------
.. [1] Rasmussen and Williams (2006), *Gaussian Processes for Machine Learning*, (2.26), and (2.42) for the intercept.
"""

import numpy as np

from foldless.basis import EPS, scale
from foldless.errors import Undefined


def spread(solution, cross, prior):
    """Return the bracket of eq. (2) for m new points, (m,).

    Parameters
    ----------
    solution : RidgeSolution
    cross : array of shape (m, n)
        Kernel between the new points and the training points.
    prior : array of shape (m,)
        Kernel of each new point with itself; only T = K looks at it.
    """
    moving, half = solution.machine.moving, _priced(solution, cross.T)
    seen = cross if moving else solution.gram.matmul(half).T
    own = prior if moving else np.einsum("ij,ji->i", cross, half)
    w, rise = _intercept(solution)
    spread = own - np.einsum("ij,ji->i", seen, _solve(solution, seen.T)) + rise - 2 * seen @ w
    return np.maximum(spread, 0)


def form(solution, F):
    r"""Return (square, pull, rise) with which eq. (2) is a function of features.

    For new points with ``cross = phi F'`` the bracket is
    :math:`\varphi\, \text{square}\, \varphi' - 2 \varphi\, \text{pull} + \text{rise}`, and for T = K also k(x, x).

    Parameters
    ----------
    solution : RidgeSolution
    F : array of shape (n, r)
    """
    moving, half = solution.machine.moving, _priced(solution, F)
    seen = F if moving else solution.gram.matmul(half)
    w, rise = _intercept(solution)
    square = -seen.T @ _solve(solution, seen)
    return square if moving else square + F.T @ half, seen.T @ w, rise


def _solve(solution, M):
    """Return A M, bordered by the intercept."""
    root = np.sqrt(_weights(solution))
    return scale(root, solution.smoother.apply(scale(root, M))) / solution.lam


def _weights(solution):
    v = solution.machine.weights
    return np.ones(solution.n) if v is None else v


def _intercept(solution):
    """Return w and 1 / tau of eq. (2); zeros without an intercept."""
    if not solution.machine.bias:
        return np.zeros(solution.n), 0.0
    v = _weights(solution)
    w = (v - _solve(solution, _covariance(solution, v))) / v.sum()
    return w, float(w @ (_covariance(solution, w) + solution.lam * w / v))


def _covariance(solution, M):
    """Return S M; eq. (1)."""
    KM = solution.gram.matmul(M)
    return KM if solution.machine.moving else solution.gram.matmul(_priced(solution, KM))


def _priced(solution, M):
    r"""Return :math:`T^{-1} M` for a fixed penalty."""
    penalty = solution.machine.penalty
    if isinstance(penalty, str):
        return M
    t, E = proper(penalty)
    return E @ scale(1 / t, E.T @ M)


def proper(T):
    """Return the eigenvalues and eigenvectors of a penalty matrix, which must be positive definite."""
    t, E = np.linalg.eigh(T)
    if t[0] <= len(t) * EPS * t[-1]:
        raise Undefined(
            "standard deviations need a penalty matrix that is positive definite: along the null space of this one the "
            "coefficients have no prior. Add a small multiple of the identity to it."
        )
    return t, E
