r"""Akaike's Bayesian information criterion: the evidence, paid for by the hyper-parameters tuned."""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

from foldless.contracts import LazyReading, Reading
from foldless.criterion import Criterion
from foldless.inference import laplace_evidence
from foldless.machines import SmoothSolution


@dataclass(frozen=True)
class ABIC(Criterion):
    r"""Twice minus the log evidence plus twice the number of hyper-parameters tuned.

    *Smooth machines*: Laplace's evidence, as in :class:`foldless.criteria.Evidence`. The number is a constant of
    a search and matters only where kernels with different numbers are compared.

    Parameters
    ----------
    tuned : int
        Number of hyper-parameters that are tuned.
    bias_prior : float, optional
        Standard deviation of a normal prior on the bias; ``None`` is flat.
    """

    tuned: int = 0
    bias_prior: float | None = 10.0
    name: ClassVar[str] = "abic"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: SmoothSolution) -> Reading:
        evidence = laplace_evidence(solution, self.bias_prior)

        def derive():
            adjoint, slope = evidence.derive()
            return 2 * adjoint, 2 * slope

        parts = {"evidence": evidence.value, "tuned": float(self.tuned)}
        return LazyReading(2 * evidence.value + 2 * self.tuned, derive, parts)
