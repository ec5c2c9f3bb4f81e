r"""The bound of Jaakkola and Haussler on the leave-one-out error: a count, without derivative."""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

import numpy as np

from foldless.contracts import Reading
from foldless.criterion import Criterion
from foldless.errors import UnsuitableBias
from foldless.machines import SquaredHingeSolution, SVMSolution


@dataclass(frozen=True)
class JaakkolaHaussler(Criterion):
    r"""Fraction of points with :math:`\alpha_i > 0` and :math:`s_i \le \alpha_i K_{ii}`.

    A bound of the leave-one-out error, since :math:`s_i^{(-i)} \ge s_i - \alpha_i K_{ii}` for machines without a free bias.
    """

    name: ClassVar[str] = "jaakkola-haussler"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register(SVMSolution)
    @read.register(SquaredHingeSolution)
    def _(self, solution) -> Reading:
        if solution.bias:
            raise UnsuitableBias(self.name, "the inequality behind the bound does not hold with one")
        value = float(np.mean((solution.alpha > 0) & (solution.s <= solution.alpha * solution.gram.diag())))
        return Reading(value, parts={"jaakkola_haussler": value})
