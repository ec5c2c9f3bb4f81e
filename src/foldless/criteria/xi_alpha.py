r"""Counts that bound the leave-one-out error: xi-alpha, and the bound of Jaakkola and Haussler. No derivatives.

References
----------
.. [1] Joachims (2000), *Estimating the generalization performance of an SVM efficiently*.
.. [2] Kobayashi and Komaki, METR 2005-23, section 8, which drops the slack.
"""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

import numpy as np

from foldless.contracts import Reading
from foldless.criterion import Criterion
from foldless.machines import SquaredHingeSolution, SVMSolution


@dataclass(frozen=True)
class XiAlpha(Criterion):
    r"""Fraction of support vectors with :math:`\rho\, \alpha_i R^2 + \xi_i \ge 1`, :math:`\xi_i = (1 - s_i)_+`.

    With the offset in the kernel :math:`\rho = 1`, :math:`R^2 = K_{ii}`: the bound of Jaakkola and Haussler. With a free
    bias :math:`\rho = 2`, :math:`R^2 = \max K - \min K`; it can then miss an error only of a machine whose bias is not
    unique.

    Parameters
    ----------
    rho : float, optional
        By default 1 or 2, as above.
    """

    rho: float | None = None
    name: ClassVar[str] = "xi-alpha"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register(SVMSolution)
    @read.register(SquaredHingeSolution)
    def _(self, solution) -> Reading:
        if solution.bias:
            low, high = solution.gram.extremes()
            rho, radius = 2.0, high - low
        else:
            rho, radius = 1.0, solution.gram.diag()
        rho = rho if self.rho is None else self.rho
        value = float(
            np.mean(
                (solution.alpha > 0) & (rho * solution.alpha * radius + np.maximum(1 - solution.s, 0) >= 1)
            )
        )
        return Reading(value, parts={"xi_alpha": value})
