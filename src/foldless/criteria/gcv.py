r"""Generalised cross-validation: leave-one-out with every leverage replaced by the mean one."""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

import numpy as np

from foldless.contracts import PathReading, Reading
from foldless.criterion import Criterion
from foldless.errors import Undefined
from foldless.linalg import add_symmetric
from foldless.machines import LinearSolution, LSSVMSolution
from foldless.smoother import EPS, Sensitivity


@dataclass(frozen=True)
class GCV(Criterion):
    r"""Generalised cross-validation.

    *Linear smoothers* (ridge, subset; the mean over outputs), with :math:`\rho = R y` and :math:`t = n - df`,

    .. math:: n \frac{\|\rho\|^2}{t^2}, \qquad
              M = n \bigl[ -(\rho y' + y \rho') / t^2 + 2 \|\rho\|^2 I / t^3 \bigr].  \tag{3}

    *LS-SVM* with weights ``v``, the residuals being :math:`\lambda \alpha_i / v_i` and the degrees of freedom
    :math:`n - \lambda \sum_i \tilde A_{ii} / v_i`,

    .. math:: n\, \frac{N}{T^2}, \qquad N = \sum_i \alpha_i^2 / v_i, \qquad T = \sum_i \tilde A_{ii} / v_i,  \tag{1}

    .. math:: \frac{d}{dK} = n \Bigl[ \frac{2N}{T^3} \tilde A V^{-1} \tilde A
              - \frac{1}{T^2} \bigl( (\tilde A V^{-1} \alpha)\, \alpha' + \alpha\, (\tilde A V^{-1} \alpha)' \bigr) \Bigr].  \tag{2}
    """

    name: ClassVar[str] = "gcv"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: LSSVMSolution) -> Reading:
        factor, v, alpha = solution.factor, solution.v, solution.alpha
        n, k = alpha.shape
        N, T = np.sum(alpha**2 / v[:, None]) / k, np.sum(solution.d / v)
        value = float(n * N / T**2)
        bend = factor.congruence(2 * n * N / T**3 * factor.w**2 / v)
        adjoint = add_symmetric(
            bend, -2 * n / (k * T**2) * factor.solve(alpha / v[:, None]), alpha
        )  # eq. (2)
        return Reading(
            value, adjoint, np.array([solution.gram.inner(adjoint)]), {"gcv": value, "df": solution.df}
        )

    @read.register
    def _(self, solution: LinearSolution) -> Reading:
        n, t, rss = solution.size, solution.freedom, solution.rss.mean()
        if t <= n * EPS:
            raise Undefined("gcv is undefined (0/0): the fit has as many degrees of freedom as points.")
        value = n * rss / t**2
        slope = n * (solution.rss_slope.mean() / t**2 - 2 * rss * solution.smoother.trace_slope() / t**3)

        def adjoint():
            rho, Y = solution.rho, solution.targets.Y
            M = Sensitivity(identity=2 * n * rss / t**3, P=-n / (t**2 * Y.shape[1]) * rho, Q=Y)  # eq. (3)
            return solution.adjoint(M)

        return PathReading(
            float(value), adjoint, solution.along(slope), {"df": solution.df, "rss": float(rss)}
        )
