"""Approximate solutions of the box problem of :mod:`foldless.machines.box_qp.problem` by libsvm, from which active sets start."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from foldless.core.contracts import Matrix, Vector
from foldless.grams import DenseGram
from foldless.machines.box_qp.problem import BoxQP

SYMMETRISED_MAX_ROWS = 4000  # the symmetrised problem holds a matrix of twice as many rows
LIBSVM_CACHE_MB = 500
LIBSVM_MIN_STEPS, LIBSVM_STEPS_PER_ENTRY = 10_000, 10  # before it gives way to larger ridges


def initial_point(qp: BoxQP, violation: float) -> Vector | None:
    """Return an alpha whose optimality conditions are violated by at most ``violation``, about; None if libsvm has none.

    Parameters
    ----------
    qp : BoxQP
        Its Gram must be dense, its upper bounds finite, and its rows not too many.
    violation : float
    """
    active = np.flatnonzero(qp.upper > 0)
    too_many = not qp.bias and active.size > SYMMETRISED_MAX_ROWS
    if too_many or not isinstance(qp.gram, DenseGram) or not np.all(np.isfinite(qp.upper)):
        return None
    K = qp.gram.K if active.size == qp.gram.n else qp.gram.block(active, active)
    if np.any(qp.ridge[active]):
        K = K + np.diag(qp.ridge[active])
    solve = _libsvm if qp.bias else _libsvm_without_bias
    alpha = solve(K, qp.y[active], qp.upper[active], violation)
    return None if alpha is None else qp.embedded(active, alpha)


def _libsvm(K: Matrix, y: Vector, upper: Vector, violation: float) -> Vector | None:
    """Return the alpha of libsvm, or None if it needs so many steps that other ways are faster."""
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
