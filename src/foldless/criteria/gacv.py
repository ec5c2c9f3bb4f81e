r"""Generalised approximate cross-validation.

References
----------
.. [1] Xiang and Wahba, *A generalized approximate cross validation for smoothing splines with non-Gaussian data*
   (1996).
.. [2] Gold and Sollich, *Model selection for support vector machine classification*, (13), after Wahba.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Adjoint, Reading, Vector
from foldless.core.errors import Undefined
from foldless.core.targets import weighted_mean
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.smooth import CovarianceAdjoint, differentiate
from foldless.criteria.derivatives.svm import implicit_step
from foldless.grams.adjoints import add_symmetric
from foldless.machines.losses import Logistic
from foldless.machines.smooth import SmoothSolution
from foldless.machines.svm import SquaredHingeSolution, SupportSolution, SVMSolution


@dataclass(frozen=True)
class GACV(Criterion):
    r"""Generalised approximate cross-validation: leave-one-out with every leverage replaced by its mean; loss per row.

    *Kernel logistic regression* [1]_, with :math:`t = (1 + y)/2` and n the total weight,

    .. math:: \frac1n \sum_i v_i \ell_i + \frac{v'\operatorname{diag} V}{n} \cdot \frac{t'a}{n - \operatorname{tr} W V}.
              \tag{1}

    With :math:`s = t'a`, :math:`\nu = v'\operatorname{diag} V`, :math:`r = n - \operatorname{tr} W V`,

    .. math:: \Phi_z = -\frac an - \frac{\nu}{n r}\, t \circ w + \frac{\nu s}{n r^2}\, w' \circ V_{ii}, \qquad
              \Phi_V = \frac{s}{n r} \operatorname{diag} v + \frac{\nu s}{n r^2} W.  \tag{2}

    It averages :math:`V_{ii}`: one remote point of which the machine is certain (w near 0, V huge) ruins it.

    *Support vector machines* [2]_: an upper bound of the hinge loss left out, if the offset is part of the kernel,

    .. math:: \sum_i p_i \bigl[(1 - s_i)_+ + \alpha_i K_{ii} f_i\bigr], \qquad
              f_i = 2 \text{ if } s_i < -1, \text{ else } 1,  \tag{3}

    with the shares :math:`p_i = C_i / \sum_j C_j`, which are :math:`1/n` without weights. It jumps where some
    :math:`s_i` crosses -1. Between jumps, with :math:`p_b`, the shares of the bounded points b of the hinge loss and
    zero elsewhere,

    .. math:: G = \operatorname{diag}(p \circ \alpha \circ f) -
              \operatorname{sym}\bigl((y \circ p_b)(y \circ \alpha)'\bigr), \qquad
              g_C = \sum_b p_i C_i f_i K_{ii} - p_b'Q(C \circ 1_b), \qquad
              q = (p \circ f \circ k)_m - (Q p_b)_m,  \tag{4}

    and :math:`-y'p_b` for the bias; for the squared hinge, where :math:`1 - s_i = \alpha_i / C_i`,

    .. math:: G = \operatorname{diag}(p \circ \alpha \circ f), \qquad g_C = -\sum_i p_i \alpha_i / C_i, \qquad
              q_i = p_i (f_i K_{ii} + 1 / C_i),  \tag{5}

    before the implicit step of :func:`foldless.criteria.derivatives.svm.implicit_step`.
    """

    name: ClassVar[str] = "gacv"
    title: ClassVar[str] = "Generalised approximate cross-validation"
    unit: ClassVar[str] = "loss per row"

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        if not isinstance(solution.machine.loss, Logistic):
            kind = type(solution.machine.loss).__name__
            raise Undefined(f"gacv is defined for the logistic loss, got {kind}. Use criterion='loo'.")
        a, w, v, V = solution.a, solution.w, solution.v, solution.V
        t, n = (1 + solution.y) / 2, v.sum()
        s, nu, r = t @ a, v @ V, n - w @ V
        value = float(solution.loss / n + nu * s / (n * r))

        def derive() -> tuple[Adjoint, Vector]:  # eq. (2)
            phi_z = -a / n - nu / (n * r) * t * w + nu * s / (n * r**2) * solution.dw * V
            phi_V = CovarianceAdjoint(s / (n * r) * v + nu * s / (n * r**2) * w)
            return differentiate(solution, phi_z, phi_V)

        parts = {
            "loss": solution.loss / n,
            "penalty": float(nu * s / (n * r)),
            "leverage": float(np.max(w * V)),
        }
        return Reading.lazy(value, derive, parts)

    @reads(SVMSolution)
    def _read_hinge(self, solution: SVMSolution) -> Reading:
        y, p, kf = solution.y, solution.row_shares, _diagonal_terms(solution)
        free, bounded = solution.free, solution.upper

        def derive() -> tuple[Adjoint, Vector]:  # eq. (4)
            inside = np.zeros(solution.n)
            inside[bounded] = (y * p)[bounded]
            pull = solution.gram.matmul(inside)  # y (Q p_b)
            G = solution.gram.diagonal(p * solution.alpha * _factors(solution))
            G = add_symmetric(G, -inside[:, None], solution.beta[:, None])
            explicit = float(solution.C[bounded] @ (p * kf)[bounded] - pull[bounded] @ solution.beta[bounded])
            q = (p * kf)[free] - (y * pull)[free]
            adjoint, slope = implicit_step(solution, G, explicit, q, -inside.sum())
            return adjoint, np.array([slope])

        return Reading.lazy(_bound(solution), derive)

    @reads(SquaredHingeSolution)
    def _read_squared_hinge(self, solution: SquaredHingeSolution) -> Reading:
        free, alpha, C, p = solution.free, solution.alpha, solution.C, solution.row_shares

        def derive() -> tuple[Adjoint, Vector]:  # eq. (5)
            G = solution.gram.diagonal(p * alpha * _factors(solution))
            q = p[free] * (_diagonal_terms(solution)[free] + 1 / C[free])
            adjoint, slope = implicit_step(solution, G, -float(p[free] @ (alpha[free] / C[free])), q)
            return adjoint, np.array([slope])

        return Reading.lazy(_bound(solution), derive)


def _factors(solution: SupportSolution) -> Vector:
    """Return f of eq. (3)."""
    return np.where(solution.s < -1, 2.0, 1.0)


def _diagonal_terms(solution: SupportSolution) -> Vector:
    """Return the terms of eq. (3) over alpha, ``K_ii f_i``."""
    return solution.gram.diag() * _factors(solution)


def _bound(solution: SupportSolution) -> float:
    """Return eq. (3).

    Points with s > 1 need no test: their alpha is 0. A test would drop points on the margin by rounding.
    """
    terms = np.maximum(1 - solution.s, 0) + solution.alpha * _diagonal_terms(solution)
    return weighted_mean(terms, solution.C)
