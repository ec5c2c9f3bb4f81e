r"""Generalised cross-validation: leave-one-out with every leverage replaced by the mean one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Adjoint, Reading, Vector
from foldless.core.errors import Undefined
from foldless.criteria.base import Criterion, reads
from foldless.grams.adjoints import add_symmetric
from foldless.machines.least_squares.eigenbasis import EPS
from foldless.machines.least_squares.sensitivity import Sensitivity
from foldless.machines.least_squares.solution import LinearSolution
from foldless.machines.lssvm import LSSVMSolution


@dataclass(frozen=True)
class GCV(Criterion):
    r"""Generalised cross-validation, in squared units of y.

    *Linear smoothers* (ridge, subset; the mean over outputs), with :math:`\rho = R y` and :math:`t = n - df`,

    .. math:: n \frac{\|\rho\|^2}{t^2}, \qquad
              M = n \bigl[ -(\rho y' + y \rho') / t^2 + 2 \|\rho\|^2 I / t^3 \bigr].  \tag{3}

    *LS-SVM* with weights ``v``, residuals :math:`\rho_i = \lambda \alpha_i / v_i` and h degrees of freedom,

    .. math:: n\, \frac{S}{T^2}, \qquad S = \sum_i v_i \rho_i^2, \qquad
              T = n - h = \lambda \sum_i \tilde A_{ii} / v_i,  \tag{1}

    .. math:: \frac{d}{dK} = n \lambda \Bigl[ \frac{2S}{T^3} \tilde A V^{-1} \tilde A
              - \frac{1}{T^2} \bigl( (\tilde A \rho)\, \alpha' + \alpha\, (\tilde A \rho)' \bigr) \Bigr].  \tag{2}
    """

    name: ClassVar[str] = "gcv"
    title: ClassVar[str] = "Generalised cross-validation"
    unit: ClassVar[str] = "squared units of y"

    @reads(LSSVMSolution)
    def _read_lssvm(self, solution: LSSVMSolution) -> Reading:
        factor, v, rho, w = solution.factor, solution.v, solution.residuals, solution.factor.w
        n, k = solution.row_counts.sum(), rho.shape[1]
        S, T = np.sum(v[:, None] * rho**2) / k, n - solution.gram.n + factor.inverse_diag().sum()
        value = float(n * S / T**2)

        def derive() -> tuple[Adjoint, Vector]:
            through_T = factor.congruence(2 * n * S / T**3 * w)
            P = -2 * n / (k * T**2) * factor.solve((v / w)[:, None] * rho)
            adjoint = add_symmetric(through_T, P, solution.alpha)  # eq. (2)
            return adjoint, np.array([solution.gram.inner(adjoint)])

        return Reading.lazy(value, derive, {"df": solution.df})

    @reads(LinearSolution)
    def _read_linear(self, solution: LinearSolution) -> Reading:
        n, t, rss = solution.size, solution.residual_df, solution.rss.mean()
        if t <= n * EPS:
            raise Undefined("gcv is undefined (0/0): the fit has as many degrees of freedom as points.")
        value = n * rss / t**2

        def slope() -> Vector:
            d_rss, d_t = solution.rss_slope.mean(), solution.smoother.trace_slope()
            return solution.slope_along_alpha(n * (d_rss / t**2 - 2 * rss * d_t / t**3))

        def adjoint() -> Adjoint:
            rho, Y = solution.whitened_residuals, solution.targets.Y
            M = Sensitivity(identity=2 * n * rss / t**3, P=-n / (t**2 * Y.shape[1]) * rho, Q=Y)  # eq. (3)
            return solution.adjoint(M)

        return Reading(float(value), adjoint, slope, {"df": solution.df, "rss": float(rss)})
