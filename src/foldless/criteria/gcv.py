r"""Generalised cross-validation: leave-one-out with every leverage replaced by the mean one."""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

import numpy as np

from foldless.contracts import Reading
from foldless.criterion import Criterion
from foldless.linalg import add_symmetric
from foldless.machines import LSSVMSolution


@dataclass(frozen=True)
class GCV(Criterion):
    r"""Generalised cross-validation.

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
