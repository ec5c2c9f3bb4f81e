"""Approximate solutions of the box problem of :mod:`foldless.machines.box_qp.problem`, from which active sets start."""

import warnings
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.errors import NotPositiveDefinite
from foldless.grams import DenseGram
from foldless.machines.box_qp.problem import BoxQP

COMPLEMENTARITY_PER_VIOLATION = 1e-3  # relative to the bounds, at the end of the interior-point method
BALANCE_TOLERANCE = 1e-10  # of the sum of beta, relative to the sum of the bounds
CENTRING = 0.1  # complementarity that the next interior-point step aims at, relative to the present one
MAX_INTERIOR_STEPS = 100
STEP_TO_BOUNDARY = 0.99  # fraction of the longest step that stays inside
SYMMETRISED_MAX_ROWS = 4000  # the symmetrised problem holds a matrix of twice as many rows
LIBSVM_CACHE_MB = 500
LIBSVM_MIN_STEPS, LIBSVM_STEPS_PER_ENTRY = 10_000, 10  # before it gives way to the interior-point method


@singledispatch
def initial_point(gram: Gram, qp: BoxQP, violation: float) -> Vector:
    """Return an alpha whose optimality conditions are violated by at most ``violation``, about.

    Parameters
    ----------
    gram : Gram
        The Gram of the problem: a dense one is left to libsvm, any other to :func:`interior_point`.
    qp : BoxQP
    violation : float
    """
    return interior_point(qp, violation)


@initial_point.register
def _(gram: DenseGram, qp: BoxQP, violation: float) -> Vector:
    active = np.flatnonzero(qp.upper > 0)
    if not qp.bias and active.size > SYMMETRISED_MAX_ROWS:
        return interior_point(qp, violation)
    K = gram.K if active.size == gram.n else gram.block(active, active)
    if np.any(qp.ridge[active]):
        K = K + np.diag(qp.ridge[active])
    solve = _libsvm if qp.bias else _libsvm_without_bias
    alpha = solve(K, qp.y[active], qp.upper[active], violation)
    return interior_point(qp, violation) if alpha is None else qp.embedded(active, alpha)


def _libsvm(K: Matrix, y: Vector, upper: Vector, violation: float) -> Vector | None:
    """Return the alpha of libsvm, or None if it needs so many steps that an interior-point method is faster."""
    max_iter = max(LIBSVM_MIN_STEPS, LIBSVM_STEPS_PER_ENTRY * len(y) ** 2)
    svc = SVC(C=1.0, kernel="precomputed", tol=violation, cache_size=LIBSVM_CACHE_MB, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svc.fit(K, y, sample_weight=upper)
    if svc.fit_status_ != 0 or np.any(svc.n_iter_ >= max_iter):
        return None
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    return alpha


def _libsvm_without_bias(K: Matrix, y: Vector, upper: Vector, violation: float) -> Vector | None:
    r"""Solve by libsvm, which always has a bias: it is zero in a problem that changes its sign with the labels.

    Gram :math:`[[K, -K], [-K, K]]`, labels :math:`[y, -y]`, half the bounds; then :math:`\alpha_i = a_i + a_{n+i}`.
    """
    a = _libsvm(np.block([[K, -K], [-K, K]]), np.r_[y, -y], np.r_[upper, upper] / 2, violation)
    return None if a is None else a[: len(y)] + a[len(y) :]


@dataclass(frozen=True, eq=False)
class _Iterate:
    """A point inside the box with its multipliers; ``room`` is ``u - alpha``, which would cancel."""

    alpha: Vector
    room: Vector
    z: Vector  # multipliers of alpha >= 0
    t: Vector  # multipliers of alpha <= u

    @property
    def complementarity(self) -> float:
        """Mean product of a multiplier and the distance from its bound; zero at the solution."""
        return float(self.alpha @ self.z + self.room @ self.t) / (2 * len(self.alpha))

    def moved(self, step: Vector, goal: float) -> "_Iterate":
        """Return the next point along ``step``, with multipliers that aim at the complementarity ``goal``."""
        dz = (goal - self.z * step) / self.alpha - self.z
        dt = (goal + self.t * step) / self.room - self.t
        h = min(_longest(self.alpha, step), _longest(self.room, -step))
        k = min(_longest(self.z, dz), _longest(self.t, dt))
        return _Iterate(self.alpha + h * step, self.room - h * step, self.z + k * dz, self.t + k * dt)

    def rounded(self, upper: Vector) -> Vector:
        """Return alpha with every entry at a bound whose multiplier outweighs the distance from it."""
        below, above = self.alpha < upper * self.z, self.room < upper * self.t
        return np.where(below, 0.0, np.where(above, upper, self.alpha))


def interior_point(qp: BoxQP, violation: float) -> Vector:
    r"""Return an approximate alpha by a primal-dual interior-point method, on any Gram.

    The barrier turns the box into a diagonal, :math:`d_i = D_i + z_i / \alpha_i + t_i / (u_i - \alpha_i)`, so that a step
    costs one ``gram.factor(1 / d)``.

    As the barrier vanishes, d shrinks below the rounding of K, and steps that should balance beta begin to upset it.
    The point returned is therefore the one nearest to both aims (complementarity and balance), not the last one.
    """
    active = np.flatnonzero(qp.upper > 0)
    K, y, u, D = qp.gram.subset(active), qp.y[active], qp.upper[active], qp.ridge[active]
    target = COMPLEMENTARITY_PER_VIOLATION * violation * float(np.mean(u))
    balance = max(COMPLEMENTARITY_PER_VIOLATION * violation, BALANCE_TOLERANCE) * float(u.sum())
    point = best = _Iterate(u / 2, u / 2, np.ones(active.size), np.ones(active.size))
    nearest = np.inf
    for _ in range(MAX_INTERIOR_STEPS):
        beta = y * point.alpha
        imbalance = abs(float(beta.sum())) / balance if qp.bias else 0.0
        distance = max(point.complementarity / target, imbalance)
        if distance < nearest:
            nearest, best = distance, point
        if distance < 1:
            break
        # Not below the target: the steps that balance beta need a centre too.
        goal = CENTRING * max(point.complementarity, target)
        d = D + point.z / point.alpha + point.t / point.room
        r = y - K.matmul(beta) - D * beta + goal * y * (1 / point.alpha - 1 / point.room)
        try:
            step = y * _balanced_solve(K, d, r, beta, qp.bias)
        except NotPositiveDefinite:
            # Rounding allows no further step.
            break
        point = point.moved(step, goal)
    return qp.embedded(active, best.rounded(u))


def _balanced_solve(K: Gram, d: Vector, r: Vector, beta: Vector, bias: bool) -> Vector:
    """Solve ``(K + diag(d)) step = r``; with a bias the step also makes the sum of beta zero."""
    factor = K.factor(1 / d, bias)
    if not bias:
        return factor.solve(r)
    shift = -np.abs(beta) * (beta.sum() / np.abs(beta).sum())
    return factor.solve(r - K.matmul(shift) - d * shift) + shift


def _longest(x: Vector, dx: Vector) -> float:
    """Return the step along dx that keeps x positive, a little less than the longest, at most 1."""
    falls = dx < 0
    return min(1.0, STEP_TO_BOUNDARY * float(np.min(-x[falls] / dx[falls], initial=np.inf)))
