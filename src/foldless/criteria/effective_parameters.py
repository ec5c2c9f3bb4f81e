r"""The effective number of parameters, and the information criterion that adds it to the loss."""

from dataclasses import dataclass
from typing import ClassVar

from foldless.core.contracts import Adjoint, Reading, Vector
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.smooth import CovarianceAdjoint, differentiate
from foldless.machines.smooth import SmoothSolution


@dataclass(frozen=True)
class EffectiveParameters(Criterion):
    r"""Effective number of parameters :math:`d = \operatorname{tr} W V`; a free bias counts for up to 1.

    The value is d divided by the weight of the rows. It is not to be minimised by itself: it is a diagnostic, with
    derivatives from :math:`\Phi_z = w' \circ V_{ii}`, :math:`\Phi_V = W`.
    """

    name: ClassVar[str] = "effective-parameters"
    title: ClassVar[str] = "Effective number of parameters"
    unit: ClassVar[str] = "parameters per row"

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        d = float(solution.w @ solution.V)

        def derive() -> tuple[Adjoint, Vector]:
            return differentiate(solution, solution.dw * solution.V, CovarianceAdjoint(solution.w))

        return Reading.lazy(d, derive, divisor=solution.v.sum())


@dataclass(frozen=True)
class AICd(Criterion):
    r"""Twice the loss plus twice the effective number of parameters.

    .. math:: 2 \Bigl[ \sum_i v_i \ell_i + \operatorname{tr} W V \Bigr], \qquad
              \Phi_z = 2 [-a + w' \circ V_{ii}], \qquad \Phi_V = 2 W.

    The value is this divided by 2 n, n the total weight of the rows: nats per row.

    It is :class:`foldless.criteria.KRIC` with the squared residuals replaced by their expectations under the model. Like
    KRIC it favours certainty: on data that can be separated it takes the largest C it is offered.
    """

    name: ClassVar[str] = "aicd"
    title: ClassVar[str] = "Information criterion with effective parameters"
    unit: ClassVar[str] = "nats per row"

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        d = float(solution.w @ solution.V)

        def derive() -> tuple[Adjoint, Vector]:
            return differentiate(
                solution, 2 * (solution.dw * solution.V - solution.a), CovarianceAdjoint(2 * solution.w)
            )

        parts = {"loss": solution.loss, "effective": d}
        return Reading.lazy(2 * (solution.loss + d), derive, parts, 2 * solution.v.sum())
