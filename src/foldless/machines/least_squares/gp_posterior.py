r"""The Gaussian process whose posterior mean a ridge fit is, and its posterior variance.

The penalty :math:`\lambda\, \alpha' T \alpha` is the prior :math:`\alpha \sim N(0, (\sigma^2/\lambda) T^{-1})` of the
coefficients of :math:`f = \sum_j \alpha_j k(\cdot, x_j)`. In units of :math:`\sigma^2/\lambda` the values of f have the
prior covariance

.. math:: S = K T^{-1} K, \qquad s_* = K T^{-1} k_*, \qquad s_{**} = k_*' T^{-1} k_*;  \tag{1}

for T = K that is the process with covariance k itself (:math:`S = K`, :math:`s_* = k_*`), and there
:math:`s_{**} = k(x, x)` is taken: the limit of a basis that is not confined to the training points. The variance of f at
a new point is

.. math:: \frac{\sigma^2}{\lambda} \bigl[ s_{**} - s_*' A s_* \bigr], \qquad A = (S + \lambda V^{-1})^{-1}.  \tag{2}

A free intercept b is the limit of a wide prior. With :math:`m = v / \sum_i v_i` the noise of the weighted mean
:math:`m'y` is independent of that of all contrasts, from which alone :math:`f(x) - m'f` is learned, so that

.. math:: \frac{\sigma^2}{\lambda} \bigl[ s_{**} - 2 m's_* + m'Sm - (s_* - Sm)' A (s_* - Sm) + \lambda / \textstyle\sum_i v_i
          \bigr]  \tag{3}

with the A that is bordered by the intercept: the same as (2.42) of [1]_, in a form that does not cancel for small
:math:`\lambda`. A penalty matrix that is singular is a flat prior along its null space, under which a function has no
variance before the data: not supported.

References
----------
.. [1] Rasmussen and Williams (2006), *Gaussian Processes for Machine Learning*, section 2.7.
"""

import numpy as np

from foldless.core.errors import Undefined
from foldless.machines.least_squares.eigenbasis import EPS, scale
from foldless.machines.least_squares.smoother import DenseSmoother

DIGITS = 1e-7  # relative error of a variance that is still fine


def spread(solution, cross, prior):
    """Return the bracket of eq. (2) or (3) for p new points, (p,).

    Parameters
    ----------
    solution : RidgeSolution
    cross : array of shape (p, n)
        Kernel between the new points and the training points.
    prior : array of shape (p,)
        Kernel of each new point with itself; only T = K looks at it.
    """
    solution = _exact(solution)
    penalty_is_kernel, half = solution.machine.penalty_is_kernel, _priced(solution, cross.T)
    seen = cross.T if penalty_is_kernel else solution.gram.matmul(half)
    own = prior if penalty_is_kernel else np.einsum("ij,ji->i", cross, half)
    m, rise = _mean(solution)
    if solution.machine.bias:  # eq. (3)
        Sm = _covariance(solution, m)
        own, seen = own - 2 * m @ seen + m @ Sm, seen - Sm[:, None]
    gain = solution.smoother.form_diag(scale(np.sqrt(_weights(solution)), seen)) / solution.lam
    return np.maximum(own - gain + rise, 0)


def form(solution, F):
    r"""Return (square, centre, rise) with which eq. (2) or (3) is a function of features, on a Gram K = F F'.

    For new points with ``cross = phi F'`` the bracket is
    :math:`(\varphi - c)\, \text{square}\, (\varphi - c)' + \text{rise}`, and for T = K also what the features lack of the
    kernel, :math:`k(x, x) - \varphi\varphi'`.

    Parameters
    ----------
    solution : RidgeSolution
    F : array of shape (n, r)
    """
    half = _priced(solution, F)
    seen = F if solution.machine.penalty_is_kernel else solution.gram.matmul(half)
    own = np.eye(F.shape[1]) if solution.machine.penalty_is_kernel else F.T @ half
    gain = solution.smoother.form(scale(np.sqrt(_weights(solution)), seen)) / solution.lam
    m, rise = _mean(solution)
    return own - gain, F.T @ m, rise


def _exact(solution):
    r"""Return the fit by its eigenpairs where an explicit inverse loses digits.

    The bracket is of the order of :math:`\lambda`, its parts of :math:`|k_*|^2 / \lambda` times what R is known to.
    """
    inverted = isinstance(solution.smoother, DenseSmoother)
    lost = EPS * solution.n * np.max(solution.gram.diag()) ** 2 / solution.lam**2
    return solution.at(solution.lam) if inverted and lost > DIGITS else solution


def _weights(solution):
    v = solution.machine.weights
    return np.ones(solution.n) if v is None else v


def _mean(solution):
    """Return m and the last term of eq. (3); zeros without an intercept."""
    if not solution.machine.bias:
        return np.zeros(solution.n), 0.0
    v = _weights(solution)
    return v / v.sum(), solution.lam / v.sum()


def _covariance(solution, M):
    """Return S M; eq. (1)."""
    KM = solution.gram.matmul(M)
    return KM if solution.machine.penalty_is_kernel else solution.gram.matmul(_priced(solution, KM))


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
