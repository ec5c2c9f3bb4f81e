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

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.linalg import solve_lower
from foldless.machines.base import row_weights
from foldless.machines.least_squares.eigenbasis import EPS, scale
from foldless.machines.least_squares.smoother import DenseSmoother

VARIANCE_MAX_ERROR = 1e-7  # relative; above, the eigenpairs are used instead of an explicit inverse


def relative_variance(solution: Any, cross: Matrix, prior: Vector) -> Vector:
    r"""Return the variance of f at p new points in units of :math:`\sigma^2/\lambda`: the bracket of eq. (2) or (3), (p,).

    Parameters
    ----------
    solution : RidgeSolution
    cross : array of shape (p, n)
        Kernel between the new points and the training points.
    prior : array of shape (p,)
        Kernel of each new point with itself; used for T = K only.
    """
    solution = _with_exact_residual_maker(solution)
    penalty_is_kernel, half = solution.machine.penalty_is_kernel, _inverse_penalty_times(solution, cross.T)
    s_star = cross.T if penalty_is_kernel else solution.gram.matmul(half)
    s_own = prior if penalty_is_kernel else np.einsum("ij,ji->i", cross, half)
    m, mean_variance = _weighted_mean(solution)
    if solution.machine.bias:  # eq. (3)
        Sm = _prior_covariance_times(solution, m)
        s_own, s_star = s_own - 2 * m @ s_star + m @ Sm, s_star - Sm[:, None]
    explained = solution.smoother.form_diag(_whiten(solution, s_star)) / solution.lam
    return np.maximum(s_own - explained + mean_variance, 0)


class PosteriorVariance(Protocol):
    """The bracket of eq. (2) or (3) as a function of kernel values."""

    def __call__(self, cross: Matrix, prior: Vector) -> Vector:
        """Return it for kernel values (p, m) with the points that carry the fit, and (p,) of each point with itself."""


@dataclass(frozen=True, eq=False)
class DenseVariance:
    """The posterior variance from the whole Gram matrix."""

    solution: Any

    def __call__(self, cross: Matrix, prior: Vector) -> Vector:
        """Return the bracket for p new points; see :func:`relative_variance`."""
        return relative_variance(self.solution, cross, prior)


@dataclass(frozen=True, eq=False)
class LandmarkVariance:
    r"""The posterior variance as a quadratic form in landmark features :math:`\varphi = L^{-1} k_*`.

    See :func:`relative_variance_form` for ``square``, ``centre`` and ``constant``. For T = K the features lack :math:`k(x, x) - \varphi'\varphi`
    of the kernel, which is added.
    """

    L: Matrix
    square: Matrix
    centre: Vector
    constant: float
    penalty_is_kernel: bool

    def __call__(self, cross: Matrix, prior: Vector) -> Vector:
        """Return the bracket for kernel values (p, m) with m landmarks."""
        F = solve_lower(self.L, cross.T).T
        lack = prior - np.einsum("ij,ij->i", F, F) if self.penalty_is_kernel else 0.0
        F = F - self.centre
        return np.maximum(lack + np.einsum("ij,ij->i", F, F @ self.square) + self.constant, 0)


def posterior_variance(solution: Any) -> PosteriorVariance:
    """Return the posterior variance of a ridge fit, in units of the noise variance over lambda."""
    if solution.gram.landmark_root is None:
        return DenseVariance(solution)
    L, kept = solution.gram.landmark_root
    square, centre, constant = relative_variance_form(solution, solution.gram.F[:, : len(kept)])
    return LandmarkVariance(L, square, centre, constant, solution.machine.penalty_is_kernel)


def relative_variance_form(solution: Any, F: Matrix) -> tuple[Matrix, Vector, float]:
    r"""Return (square, centre, constant) with which eq. (2) or (3) is a quadratic form in features, on a Gram K = F F'.

    For new points with ``cross = phi F'`` the bracket is
    :math:`(\varphi - c)\, \text{square}\, (\varphi - c)' + \text{constant}`; for T = K the part of the kernel that the
    features lack, :math:`k(x, x) - \varphi\varphi'`, must be added.

    Parameters
    ----------
    solution : RidgeSolution
    F : array of shape (n, r)
    """
    half = _inverse_penalty_times(solution, F)
    s_star = F if solution.machine.penalty_is_kernel else solution.gram.matmul(half)
    s_own = np.eye(F.shape[1]) if solution.machine.penalty_is_kernel else F.T @ half
    explained = solution.smoother.form(_whiten(solution, s_star)) / solution.lam
    m, mean_variance = _weighted_mean(solution)
    return s_own - explained, F.T @ m, mean_variance


def _with_exact_residual_maker(solution: Any) -> Any:
    r"""Return the fit by its eigenpairs where an explicit inverse loses digits.

    The bracket is of the order of :math:`\lambda`, its parts of :math:`|k_*|^2 / \lambda` times the rounding of R.
    """
    if not isinstance(solution.smoother, DenseSmoother):
        return solution
    error = EPS * solution.n * np.max(solution.gram.diag()) ** 2 / solution.lam**2
    return solution.at(solution.lam) if error > VARIANCE_MAX_ERROR else solution


def _whiten(solution: Any, M: Matrix) -> Matrix:
    return scale(np.sqrt(row_weights(solution.machine, solution.n)), M)


def _weighted_mean(solution: Any) -> tuple[Vector, float]:
    """Return m and the last term of eq. (3); zeros without an intercept."""
    if not solution.machine.bias:
        return np.zeros(solution.n), 0.0
    v = row_weights(solution.machine, solution.n)
    return v / v.sum(), solution.lam / v.sum()


def _prior_covariance_times(solution: Any, M: Matrix) -> Matrix:
    """Return S M; eq. (1)."""
    KM = solution.gram.matmul(M)
    return (
        KM
        if solution.machine.penalty_is_kernel
        else solution.gram.matmul(_inverse_penalty_times(solution, KM))
    )


def _inverse_penalty_times(solution: Any, M: Matrix) -> Matrix:
    r"""Return :math:`T^{-1} M` for a penalty matrix, M itself for T = I; not used for T = K."""
    penalty = solution.machine.penalty
    if isinstance(penalty, str):
        return M
    t, E = penalty_eigenpairs(penalty)
    return E @ scale(1 / t, E.T @ M)


def penalty_eigenpairs(T: ArrayLike) -> tuple[Vector, Matrix]:
    """Return the eigenvalues and eigenvectors of a penalty matrix; raise unless it is positive definite."""
    t, E = np.linalg.eigh(np.asarray(T, dtype=float))
    if t[0] <= len(t) * EPS * t[-1]:
        raise Undefined(
            "standard deviations need a penalty matrix that is positive definite: along the null space of this one the "
            "coefficients have no prior. Add a small multiple of the identity to it."
        )
    return t, E
