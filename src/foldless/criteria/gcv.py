r"""Generalised cross-validation.

References
----------
.. [1] Golub, Heath and Wahba, *Generalized cross-validation as a method for choosing a good ridge parameter* (1979).
"""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

from foldless.contracts import PathReading, Reading
from foldless.criterion import Criterion
from foldless.errors import Undefined
from foldless.machines import LinearSolution
from foldless.smoother import EPS, Sensitivity


@dataclass(frozen=True)
class GCV(Criterion):
    r"""Generalised cross-validation, the mean over outputs of

    .. math:: \frac{n \|\rho\|^2}{t^2}, \qquad t = n - df.  \tag{1}

    .. math:: M = n \bigl[ -(\rho y' + y \rho') / t^2 + 2 \|\rho\|^2 I / t^3 \bigr].  \tag{2}
    """

    name: ClassVar[str] = "gcv"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: LinearSolution) -> Reading:
        n, t, rss = solution.size, solution.freedom, solution.rss.mean()
        if t <= n * EPS:
            raise Undefined("gcv is undefined (0/0): the fit has as many degrees of freedom as points.")
        value = n * rss / t**2
        slope = n * (solution.rss_slope.mean() / t**2 - 2 * rss * solution.smoother.trace_slope() / t**3)

        def adjoint():
            rho, Y = solution.rho, solution.targets.Y
            M = Sensitivity(identity=2 * n * rss / t**3, P=-n / (t**2 * Y.shape[1]) * rho, Q=Y)  # eq. (2)
            return solution.adjoint(M)

        return PathReading(
            float(value), adjoint, solution.along(slope), {"df": solution.df, "rss": float(rss)}
        )
