r"""Minus the log evidence.

References
----------
.. [1] Rasmussen and Williams (2006), *Gaussian Processes for Machine Learning*, (2.30).
"""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

from foldless.contracts import PathReading, Reading
from foldless.criterion import Criterion
from foldless.machines import RidgeSolution


@dataclass(frozen=True)
class Evidence(Criterion):
    r"""Minus the log marginal likelihood.

    *Ridge*: exact, with the noise variance profiled, the mean over outputs; it is half of ABIC, with no constant
    between them,

    .. math:: \tfrac{n}{2} \ln(2\pi\, y'Ry/n) + \tfrac n2 - \tfrac12 \ln\det R.  \tag{1}

    With an intercept it is the restricted likelihood.
    """

    name: ClassVar[str] = "evidence"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: RidgeSolution) -> Reading:
        value, slope, M = solution.deviance()
        parts = {"sigma2": float(solution.variances().mean()), "df": solution.df}
        return PathReading(value / 2, lambda: solution.adjoint(0.5 * M), solution.along(slope / 2), parts)
