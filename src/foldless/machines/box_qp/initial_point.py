"""Where to begin with the box problem of :mod:`foldless.machines.box_qp.problem` when nothing is known: libsvm, or an interior point."""

from functools import singledispatch

import numpy as np
from sklearn.svm import SVC

from foldless.core.errors import NotPositiveDefinite
from foldless.grams import DenseGram

CENTRED = 1e-3  # complementarity, relative to the bounds, per violation allowed in the interior-point start
BALANCED = 1e-10  # sum of beta, relative to that of the bounds, at which it is rounding there
DOUBLED = 4000  # largest n for which the symmetrised problem of 2n points is worth its memory


@singledispatch
def rough(gram, qp, violation):
    r"""Return an alpha whose conditions are violated little, by a primal-dual interior-point method on any Gram.

    The barrier turns the box into a diagonal, :math:`d_i = D_i + z_i / \alpha_i + t_i / (u_i - \alpha_i)`, so that a step
    costs one ``gram.factor(1 / d)``. An index ends at a bound if its multiplier (z below, t above) outweighs its
    distance from it.

    As the barrier vanishes, d shrinks below the rounding of K, and steps that should balance beta begin to upset it.
    The point returned is therefore the one nearest to both aims (complementarity and balance), not the last one.
    """
    on = np.flatnonzero(qp.upper > 0)
    K, y, u, D = gram.subset(on), qp.y[on], qp.upper[on], qp.ridge[on]
    alpha, z, t, small = u / 2, np.ones(on.size), np.ones(on.size), CENTRED * violation
    room = alpha  # u - alpha, which would cancel
    nearest, best = np.inf, (alpha, room, z, t)
    for _ in range(100):
        beta, mu = y * alpha, (alpha @ z + room @ t) / (2 * on.size)
        imbalance = abs(beta.sum()) / (max(small, BALANCED) * u.sum()) if qp.bias else 0.0
        distance = max(mu / (small * np.mean(u)), imbalance)
        if distance < nearest:
            nearest, best = distance, (alpha, room, z, t)
        if distance < 1:
            break
        goal = 0.1 * max(mu, small * np.mean(u))  # never below: the steps that balance beta need a centre too
        d = D + z / alpha + t / room
        r = y - K.matmul(beta) - D * beta + goal * y * (1 / alpha - 1 / room)
        try:
            step = y * _balanced_solve(K, d, r, beta, qp.bias)
        except NotPositiveDefinite:  # as far as the digits go
            break
        dz, dt = (goal - z * step) / alpha - z, (goal + t * step) / room - t
        h, k = min(_stay(alpha, step), _stay(room, -step)), min(_stay(z, dz), _stay(t, dt))
        alpha, room, z, t = alpha + h * step, room - h * step, z + k * dz, t + k * dt
    alpha, room, z, t = best
    full = np.zeros(len(qp.y))
    full[on] = np.where(alpha < u * z, 0.0, np.where(room < u * t, u, alpha))
    return full


def _balanced_solve(K, d, r, beta, bias):
    """Solve ``(K + diag(d)) step = r``; with a bias the step also removes what is left of ``1'beta``."""
    factor = K.factor(1 / d, bias)
    if not bias:
        return factor.solve(r)
    shift = -np.abs(beta) * (beta.sum() / np.abs(beta).sum())
    return factor.solve(r - K.matmul(shift) - d * shift) + shift


def _stay(x, dx):
    """Return the step along dx that keeps x positive, a little less than the longest, at most 1."""
    falls = dx < 0
    return min(1.0, 0.99 * np.min(-x[falls] / dx[falls], initial=np.inf))


@rough.register
def _(gram: DenseGram, qp, violation):
    r"""libsvm, which knows the free bias only.

    Without a bias the problem is made symmetric: Gram :math:`[[K, -K], [-K, K]]`, labels :math:`[y, -y]`, half the
    bounds, and :math:`\alpha_i = a_i + a_{n+i}`.
    """
    on = np.flatnonzero(qp.upper > 0)
    if not qp.bias and on.size > DOUBLED:
        return rough.dispatch(object)(gram, qp, violation)
    K, y, u = gram.K if on.size == gram.n else gram.block(on, on), qp.y[on], qp.upper[on]
    if np.any(qp.ridge[on]):
        K = K + np.diag(qp.ridge[on])
    alpha = np.zeros(len(qp.y))
    if qp.bias:
        alpha[on] = _libsvm(K, y, u, violation)
    else:
        alpha[on] = np.sum(
            np.split(_libsvm(np.block([[K, -K], [-K, K]]), np.r_[y, -y], np.r_[u, u] / 2, violation), 2),
            axis=0,
        )
    return alpha


def _libsvm(K, y, upper, violation):
    svc = SVC(C=1.0, kernel="precomputed", tol=violation, cache_size=500).fit(K, y, sample_weight=upper)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    return alpha
