r"""Minus the logarithm of the evidence by expectation propagation: the recommended evidence of a support vector machine."""

from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Adjoint, Machine, Reading, Vector
from foldless.core.errors import Undefined, UnsuitableBias
from foldless.criteria.base import Criterion, reads
from foldless.criteria.posteriors.ep import EPPosterior, expectation_propagation
from foldless.criteria.posteriors.sites import SITES
from foldless.machines.svm import SquaredHingeSolution, SupportProblem, SVMSolution


@dataclass(frozen=True)
class EvidenceEP(Criterion):
    r"""Minus :math:`E = \frac1n [\ln Z_{EP} + \sum_i \ln\kappa(C_i)]`, in nats per row; E is too low by some thousandths.

    .. math:: n\,\frac{dE}{dK} = \tfrac12 (b b' - R), \qquad
              n\,\frac{dE}{d\ln C} = \sum_i C_i \bigl(\kappa'(C_i)/\kappa(C_i) - \langle\ell\rangle_i\bigr)

    with the tilted means of the losses. It reads the problem that a solution was fitted to, not the fit. :math:`\ln Z_{EP}`
    is stationary in the sites: known to :math:`\epsilon` they give it to :math:`\epsilon^2`. So the sites are first computed to
    the root of the tolerance, which is enough for the value, and to all digits if a derivative is asked for.

    Parameters
    ----------
    tolerance : float, default=1e-09
        Relative change of the sites at which their fixed point counts as reached; before that the gradient is wrong.

    References
    ----------
    .. [1] Gold and Sollich, *Model selection for support vector machine classification*, section 3.3, where the evidence
       is called difficult to obtain.
    """

    tolerance: float = 1e-9
    value_scale: ClassVar[float | None] = 1.0
    name: ClassVar[str] = "evidence-ep"
    title: ClassVar[str] = "Minus the log evidence by expectation propagation"
    unit: ClassVar[str] = "nats per row"
    needs_fit: ClassVar[bool] = False
    needs_proper_offset: ClassVar[bool] = True
    needs_amplitude: ClassVar[bool] = True

    def nats_per_unit(self, machine: Machine, n: int, k: int) -> float:
        """Return n k: the value is the mean over rows and columns."""
        return float(n * k)

    @reads(SupportProblem, SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution: SupportProblem) -> Reading:
        n, C = solution.n, solution.C
        posterior = ep_posterior(solution, np.sqrt(self.tolerance))
        kappa, dkappa = solution.loss.log_kappa(C)
        E = float(posterior.log_z + kappa.sum()) / n

        refined = cache(partial(self._refined, solution, posterior))

        def derive() -> tuple[Adjoint, Vector]:
            exact = refined()
            slope = C @ (dkappa - exact.tilted.loss) / n
            return exact.adjoint() * (-1 / n), np.array([-slope])

        return Reading.lazy(-E, derive, {"log_evidence": E}, posteriors=(refined,))

    def _refined(self, solution: SupportProblem, posterior: EPPosterior) -> EPPosterior:
        """Return the posterior to all digits of the tolerance, or as it is: half the digits are better than none."""
        try:
            return ep_posterior(solution, self.tolerance, posterior.start)
        except Undefined:
            return posterior


def ep_posterior(
    solution: SupportProblem, tolerance: float = 1e-9, start: tuple[Vector, Vector] | None = None
) -> EPPosterior:
    """Return the EP posterior of the problem that ``solution`` was fitted to."""
    if solution.bias:
        raise UnsuitableBias("evidence-ep", "the evidence needs a proper prior on the offset")
    site = SITES[solution.loss.power](solution.C)
    return expectation_propagation(solution.gram, solution.y, site, start, tolerance)
