r"""Mixtures of kernels, :math:`K = \sum_k m_k K_k` with :math:`m \ge 0`, chosen by a criterion.

References
----------
.. [1] Cortes, Mohri and Rostamizadeh, *Algorithms for learning kernels based on centered alignment* (2012).
.. [2] Li et al., *Efficient kernel selection via spectral analysis* (2017), remark 3.
"""

import warnings
from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize, nnls
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel
from sklearn.utils import check_array, check_consistent_length

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import CriterionWarning, Undefined
from foldless.core.linalg import centre
from foldless.core.magnitude import check_magnitude
from foldless.core.targets import as_columns
from foldless.core.text_columns import naming_text_columns
from foldless.criteria import CenteredAlignment, Spectral
from foldless.criteria.base import Criterion
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.kernels.pairs import Pairs
from foldless.machines import NoMachine
from foldless.tuning.lookup import as_criterion, as_kernel
from foldless.tuning.objective import UNDEFINED_ERRORS

# Weights below this fraction of the largest are zero.
WEIGHT_TOLERANCE = 1e-6
# Cost of a mixture for which the criterion does not exist.
UNDEFINED_COST = 1e10
VALUE_TOLERANCE, GRADIENT_TOLERANCE = 1e-12, 1e-9


def combine_kernels(
    X: ArrayLike,
    y: ArrayLike,
    kernels: Sequence[str | Kernel],
    criterion: str | Criterion = "centered-alignment",
    *,
    machine: Machine | None = None,
    max_evaluations: int = 200,
) -> Kernel:
    r"""Return the mixture of kernels with the lowest criterion, as a scikit-learn kernel.

    * ``"centered-alignment"``: the quadratic programme of [1]_. With :math:`M_{kl} = \langle K^c_k, K^c_l \rangle` and
      :math:`a_k = \langle K^c_k, Y_c Y_c' \rangle`, the weights are proportional to
      :math:`\arg\min_{m \ge 0} m'Mm - 2 a'm`.
    * ``Spectral(normaliser="frobenius")`` and ``"alignment"``: descent with the adjoint,
      :math:`\partial / \partial m_k = \langle G, K_k \rangle`.
    * ``"spectral"`` with the trace or the sum (the proposal of [2]_) is convex in the normalised weights for
      :math:`1 \le r \le 2`, so its best mixture is always a single kernel. It is returned, with a warning.
    * Any other criterion reads ``machine``: ``"loo"`` with ``LSSVM`` is the exact leave-one-out error, with a smooth
      machine its approximation. The sum of the weights then plays the part of C.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
    kernels : list of Kernel or str
    criterion : str or Criterion, default="centered-alignment"
    machine : Machine, optional
    max_evaluations : int, default=200

    Returns
    -------
    kernel : Kernel
        A ``Sum`` of ``ConstantKernel * kernel`` with the weights fixed and zero ones left out; a single product if one
        is left. For criteria that need no machine the weights are scaled to a mean diagonal of one.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> from foldless import combine_kernels
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> combine_kernels(X, y, [RBF(0.5), DotProduct()])
    0.671**2 * RBF(length_scale=0.5) + 0.482**2 * DotProduct(sigma_0=1)
    """
    with naming_text_columns(X):
        X = check_array(X, accept_sparse="csr", dtype=float)
    check_magnitude(X, "X")
    check_consistent_length(X, y)
    Y, criterion = as_columns(y), as_criterion(criterion)
    kernels = [as_kernel(kernel, X) for kernel in kernels]
    if not kernels:
        raise ValueError("kernels must name at least one kernel, got an empty list.")
    read_machine = NoMachine() if criterion.ignores_machine else machine
    if read_machine is None:
        raise ValueError(
            f"{criterion.name} reads a fitted machine: pass one, for instance machine=machines.LSSVM()."
        )
    pairs = Pairs(X)
    grams = [gram(kernel, pairs) for kernel in kernels]
    scale = np.array([np.mean(np.diag(K)) for K in grams])
    if isinstance(criterion, CenteredAlignment):
        m = alignment_weights(grams, Y)
    else:
        _warn_of_collapse(criterion)
        scaled = [K / s for K, s in zip(grams, scale)]
        m = _best_weights(criterion, read_machine, scaled, Y, max_evaluations) / scale
    m[m * scale < WEIGHT_TOLERANCE * np.max(m * scale)] = 0
    return _sum(m / (m @ scale) if criterion.ignores_machine else m, kernels)


def alignment_weights(grams: Sequence[Matrix], Y: Matrix) -> Vector:
    """Return the weights (p,) of the centred-alignment programme [1]_, for Gram matrices and targets (n, k)."""
    centred = [centre(K) for K in grams]
    Yc = Y - Y.mean(axis=0)
    a = np.array([np.vdot(Yc, K @ Yc) for K in centred])
    M = np.array([[np.vdot(K, L) for L in centred] for K in centred])
    # In units of their norms the matrices are of one size, so that no tolerance favours a large one.
    norms = np.sqrt(np.diag(M))
    unit = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    M, a = unit[:, None] * M * unit, unit * a
    mu, U = np.linalg.eigh(M)
    kept = mu > len(mu) * np.finfo(float).eps * mu[-1]
    if not (kept.any() and np.any(a > 0)):
        raise Undefined("no kernel aligns with the targets: all centred alignments are zero.")
    root = np.sqrt(mu[kept])
    # With S'S = M the programme is to minimise |S m - S^{-T} a|^2.
    return unit * nnls(root[:, None] * U[:, kept].T, (U[:, kept].T @ a) / root)[0]


def _warn_of_collapse(criterion: Criterion) -> None:
    if isinstance(criterion, Spectral) and criterion.normaliser != "frobenius":
        message = (
            f"the spectral measure with normaliser={criterion.normaliser!r} cannot combine kernels: its best mixture is a "
            "single one. Use normaliser='frobenius', 'centered-alignment', or loo with a machine."
        )
        warnings.warn(CriterionWarning(message), stacklevel=3)


def _best_weights(
    criterion: Criterion, machine: Machine, grams: Sequence[Matrix], Y: Matrix, max_evaluations: int
) -> Vector:
    """Return the best weights found from the best single kernel and from the mean of all; diagonals have mean one."""
    p = len(grams)

    def cost(m: Vector) -> tuple[float, Vector]:
        if not np.any(m > 0):
            return UNDEFINED_COST, np.zeros(p)
        try:
            mixture = DenseGram(sum(w * K for w, K in zip(m, grams) if w > 0))
            reading = criterion(machine.solve(mixture, Y))
        except UNDEFINED_ERRORS:
            return UNDEFINED_COST, np.zeros(p)
        if reading.adjoint is None:
            raise ValueError(
                f"{criterion.name} with these options has no derivative, so it cannot weigh kernels."
            )
        return reading.value, np.array([np.vdot(reading.adjoint, K) for K in grams])

    single, mean = min(np.eye(p), key=lambda m: cost(m)[0]), np.full(p, 1 / p)
    options = {"maxfun": max_evaluations, "ftol": VALUE_TOLERANCE, "gtol": GRADIENT_TOLERANCE}
    ends = [
        minimize(cost, m, jac=True, method="L-BFGS-B", bounds=[(0, None)] * p, options=options)
        for m in (single, mean)
    ]
    best = min(ends, key=lambda end: end.fun)
    if best.fun >= UNDEFINED_COST:
        raise Undefined(f"{criterion.name} is defined for none of the mixtures that were tried.")
    return best.x


def _sum(m: Vector, kernels: Sequence[Kernel]) -> Kernel:
    """Return the sum of the kernels with positive weights."""
    terms = [ConstantKernel(float(w), "fixed") * kernel for w, kernel in zip(m, kernels) if w > 0]
    return reduce(add, terms)
