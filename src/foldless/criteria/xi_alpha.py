r"""A count of the points that could be wrong once left out. No derivative.

References
----------
.. [1] Joachims (2000), *Estimating the generalization performance of an SVM efficiently*.
.. [2] Kobayashi and Komaki, METR 2005-23, section 8, which drops the slack.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Gram, Reading, Vector
from foldless.core.errors import Undefined
from foldless.core.targets import weighted_mean
from foldless.criteria.base import Criterion, reads
from foldless.machines.smooth import SmoothSolution
from foldless.machines.svm import SquaredHingeSolution, SVMSolution


@dataclass(frozen=True)
class XiAlpha(Criterion):
    r"""Fraction of support vectors with :math:`\rho\, \alpha_i R^2 + \xi_i \ge 1`, :math:`\xi_i = (1 - s_i)_+`.

    With the offset in the kernel :math:`\rho = 1`, :math:`R^2 = K_{ii}`: the bound of Jaakkola and Haussler. With a free
    bias :math:`\rho = 2`, :math:`R^2 = \max K - \min K`; it can then miss an error only of a machine whose bias is not
    unique.

    *Kernel logistic regression*: the count with :math:`\alpha_i = C |a_i|`, which is positive everywhere. It is no
    bound there: ``jaakkola-haussler`` is.

    Parameters
    ----------
    rho : float, optional
        By default 1 or 2, as above.
    """

    rho: float | None = None
    name: ClassVar[str] = "xi-alpha"
    title: ClassVar[str] = "Xi-alpha estimate of the leave-one-out error"
    unit: ClassVar[str] = "fraction of rows"

    @reads(SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution: SVMSolution | SquaredHingeSolution) -> Reading:
        return self._count(solution.gram, solution.alpha, solution.s, solution.bias, solution.C)

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        if not solution.machine.loss.labels:
            raise Undefined(
                "xi-alpha counts misclassified points; this loss has no classes. Use criterion='loo'."
            )
        alpha, s = np.abs(solution.alpha), solution.y * solution.z
        return self._count(solution.gram, alpha, s, solution.machine.bias, solution.v)

    def _count(self, gram: Gram, alpha: Vector, s: Vector, bias: bool, weights: Vector) -> Reading:
        """Return the reading from coefficients, margins and the weight of each point."""
        low, high = gram.extremes() if bias else (0.0, 0.0)
        radius2 = np.full(gram.n, high - low) if bias else gram.diag()
        rho = (2.0 if bias else 1.0) if self.rho is None else self.rho
        wrong = (alpha > 0) & (rho * alpha * radius2 + np.maximum(1 - s, 0) >= 1)
        return Reading(weighted_mean(wrong, weights))
