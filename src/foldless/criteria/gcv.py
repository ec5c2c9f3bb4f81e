r"""Generalised cross-validation: leave-one-out with every leverage replaced by the mean one."""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

import numpy as np

from foldless.contracts import LazyReading, Reading
from foldless.criterion import Criterion
from foldless.linalg import add_symmetric
from foldless.machines import LSSVMSolution


@dataclass(frozen=True)
class GCV(Criterion):
    r"""Generalised cross-validation.

    *LS-SVM* with weights ``v``, residuals :math:`\rho_i = \lambda \alpha_i / v_i` and h degrees of freedom,

    .. math:: n\, \frac{S}{T^2}, \qquad S = \sum_i v_i \rho_i^2, \qquad
              T = n - h = \lambda \sum_i \tilde A_{ii} / v_i,  \tag{1}

    .. math:: \frac{d}{dK} = n \lambda \Bigl[ \frac{2S}{T^3} \tilde A V^{-1} \tilde A
              - \frac{1}{T^2} \bigl( (\tilde A \rho)\, \alpha' + \alpha\, (\tilde A \rho)' \bigr) \Bigr].  \tag{2}
    """

    name: ClassVar[str] = "gcv"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: LSSVMSolution) -> Reading:
        factor, v, rho, w = solution.factor, solution.v, solution.residuals, solution.factor.w
        n, k = solution.copies.sum(), rho.shape[1]
        S, T = np.sum(v[:, None] * rho**2) / k, n - solution.gram.n + factor.inverse_diag().sum()
        value = float(n * S / T**2)

        def derive():
            bend = factor.congruence(2 * n * S / T**3 * w)
            pull = -2 * n / (k * T**2) * factor.solve((v / w)[:, None] * rho)
            adjoint = add_symmetric(bend, pull, solution.alpha)  # eq. (2)
            return adjoint, np.array([solution.gram.inner(adjoint)])

        return LazyReading(value, derive, {"gcv": value, "df": solution.df})
