r"""Minus the logarithm of the evidence per point, by expectation propagation: the recommended evidence of an SVM."""

from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Reading
from foldless.core.errors import Undefined, UnsuitableBias
from foldless.criteria.base import Criterion, reads
from foldless.criteria.posteriors.ep import HingeSite, SquaredHingeSite, expectation_propagation
from foldless.machines import SquaredHingeSolution, SVMSolution
from foldless.machines.svm import SupportProblem

SITES = {1: HingeSite, 2: SquaredHingeSite}


@dataclass(frozen=True)
class EvidenceEP(Criterion):
    r"""Minus :math:`E = \frac1n [\ln Z_{EP} + \sum_i \ln\kappa(C_i)]`; lower than the truth by some thousandths.

    .. math:: n\,\frac{dE}{dK} = \tfrac12 (b b' - R), \qquad
              n\,\frac{dE}{d\ln C} = \sum_i C_i \bigl(\kappa'(C_i)/\kappa(C_i) - \langle\ell\rangle_i\bigr)

    with the tilted means of the losses. It reads the problem a solution was fitted to, not the fit. :math:`\ln Z_{EP}` is
    stationary in the sites: known to :math:`\epsilon` they give it to :math:`\epsilon^2`, so that the value alone stops at the root
    of the tolerance and takes fewer rounds.

    Parameters
    ----------
    tolerance : float, default=1e-09
        On the relative change of the sites; a fixed point that is not reached has a wrong gradient.

    References
    ----------
    .. [1] Gold and Sollich, *Model selection for support vector machine classification*, section 3.3, where the evidence
       is called difficult to obtain.
    """

    tolerance: float = 1e-9
    value_scale: ClassVar[float | None] = 1.0
    name: ClassVar[str] = "evidence-ep"
    title: ClassVar[str] = "Minus the log evidence by expectation propagation"
    unit: ClassVar[str] = "nats a row"
    needs_fit: ClassVar[bool] = False
    needs_proper_offset: ClassVar[bool] = True

    def nats_per_unit(self, machine, n, k):
        """Return n k: it is the mean over rows and columns."""
        return float(n * k)

    @reads(SupportProblem, SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution) -> Reading:
        n, C = solution.n, solution.C
        posterior = ep_posterior(solution, np.sqrt(self.tolerance))
        kappa, dkappa = solution.loss.log_kappa(C)
        E = (posterior.log_z + kappa.sum()) / n

        finished = cache(partial(self._finished, solution, posterior))

        def derive():
            settled = finished()
            slope = C @ (dkappa - settled.tilted.loss) / n
            return settled.adjoint() * (-1 / n), np.array([-slope])

        return Reading.lazy(-float(E), derive, {"log_evidence": float(E)}, posteriors=(finished,))

    def _finished(self, solution, posterior):
        """The posterior to all digits of the tolerance, or as it is: a slope with half of them is better than none."""
        try:
            return ep_posterior(solution, self.tolerance, posterior.start)
        except Undefined:
            return posterior


def ep_posterior(solution, tolerance=1e-9, start=None):
    """Return the EP posterior of the problem that ``solution`` was fitted to."""
    if solution.bias:
        raise UnsuitableBias("evidence-ep", "the evidence needs a proper prior on the offset")
    site = SITES[solution.loss.power](solution.C)
    return expectation_propagation(solution.gram, solution.y, site, start, tolerance)
