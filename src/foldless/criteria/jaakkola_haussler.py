r"""A bound on the leave-one-out errors, computed from the fit alone.

References
----------
.. [1] Jaakkola and Haussler, *Probabilistic kernel regression models* (1999).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Reading
from foldless.core.errors import Undefined, UnsuitableBias
from foldless.core.targets import weighted_mean
from foldless.criteria.base import Criterion, reads
from foldless.machines.smooth import SmoothSolution
from foldless.machines.svm import SquaredHingeSolution, SVMSolution


@dataclass(frozen=True)
class JaakkolaHaussler(Criterion):
    r"""Fraction of points that could be wrong once left out.

    *Machines with a smooth loss on labels, without a bias*: the output of the machine that did not see point i
    has :math:`y_i u_i \ge y_i z_i - |\alpha_i| K_{ii}`, so

    .. math:: \frac1n \sum_i v_i\, [\, y_i z_i \le |\alpha_i| K_{ii} \,]  \tag{1}

    bounds the leave-one-out error; a tie counts. With a free bias K is centred and (1) is a rule of thumb without
    proof. Piecewise constant: it has no derivative.

    *Support vector machines without a free bias*: the fraction of points with :math:`\alpha_i > 0` and
    :math:`s_i \le \alpha_i K_{ii}`; with one the inequality does not hold and the criterion refuses.
    """

    name: ClassVar[str] = "jaakkola-haussler"
    title: ClassVar[str] = "Jaakkola and Haussler's bound of the leave-one-out error"
    unit: ClassVar[str] = "fraction of rows"
    needs_proper_offset: ClassVar[bool] = True

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        if not solution.machine.loss.labels:
            raise Undefined(
                "jaakkola-haussler counts misclassified points; this loss has no classes. Use criterion='loo'."
            )
        gram = solution.gram.centred() if solution.machine.bias else solution.gram
        largest_loss_of_margin = np.abs(solution.alpha) * gram.diag()
        wrong = solution.y * solution.z <= largest_loss_of_margin
        value = weighted_mean(wrong, solution.v)
        return Reading(value, parts={"proven": float(not solution.machine.bias)})

    @reads(SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution: SVMSolution | SquaredHingeSolution) -> Reading:
        if solution.bias:
            raise UnsuitableBias(self.name, "the inequality behind the bound does not hold with one")
        wrong = (solution.alpha > 0) & (solution.s <= solution.alpha * solution.gram.diag())
        return Reading(weighted_mean(wrong, solution.C))
