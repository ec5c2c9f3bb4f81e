r"""The span estimate of the leave-one-out error of a support vector machine, as a count and smoothed.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (11), (12). Whether points that
   are no support vectors count in the smoothed sum is left open there; they must, or it jumps when the set changes.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from foldless.core.contracts import Adjoint, Reading, Vector
from foldless.core.targets import weighted_mean
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.svm import implicit_step, span_margins
from foldless.grams.adjoints import embed
from foldless.machines.svm import SquaredHingeSolution, SVMSolution


@dataclass(frozen=True)
class Span(Criterion):
    r"""Fraction of points that the machine without them would misclassify, if no set changed.

    Points with weights count by their weights, as repeated rows that are left out together would.

    *Squared hinge*: exact on a fixed active set, :math:`s_i^{(-i)} = 1 - \alpha_i S_i^2`. *Hinge*: the sets change far
    more often; errors of order one are common for small n. A count: no derivative.
    """

    name: ClassVar[str] = "span"
    title: ClassVar[str] = "Span estimate of the leave-one-out error"
    unit: ClassVar[str] = "fraction of rows"

    @reads(SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution: SVMSolution | SquaredHingeSolution) -> Reading:
        return Reading(weighted_mean(span_margins(solution) <= 0, solution.C))


@dataclass(frozen=True)
class SmoothedSpan(Criterion):
    r"""Smoothed span estimate of the squared-hinge machine: a surrogate with derivatives, larger than the fraction of errors.

    With :math:`\tilde w_i = 1 / (1/C_i + \eta/\alpha_i)` on the active set, V and :math:`k_i = 1 - \tilde w_i V_{ii}` of the
    factor of :math:`I + \tilde S K_{AA} \tilde S`,

    .. math:: \sum_i p_i\, \sigma\bigl(c_1 (h_i - 1) - c_2\bigr), \qquad
              h_i = \frac{\alpha_i / C_i + \eta\, \tilde w_i V_{ii}}{k_i},  \tag{1}

    summed over all points (:math:`h_i = 0` outside A) with the shares :math:`p_i = C_i / \sum_j C_j`, which are
    :math:`1/n` without weights. :math:`h_i` equals :math:`1/W_{ii} - \eta` with
    :math:`W = (D (K + 1/C)_{AA} D + \eta)^{-1}`, :math:`D = \operatorname{diag}\sqrt\alpha`, without its cancellation. With
    :math:`e_i = c_1 \sigma_i (1 - \sigma_i)\, p_i \alpha_i / k_i^2` and :math:`H = I - V \tilde W`,

    .. math:: G_{AA} = H'\operatorname{diag}(e) H, \qquad g_C = -\sum_i G_{ii} / C_i, \qquad
              q_i = \bigl[e_i V_{ii} - \tilde w_i (V \operatorname{diag}(e) V)_{ii} + G_{ii} / C_i\bigr] / \alpha_i,  \tag{2}

    before the implicit step. A free bias is in V. Small :math:`\eta` gives the span, a large one
    :math:`\alpha_i (K_{ii} + 1/C_i)`. The value is continuous with kinks where A changes.

    The hinge machine's sets change too often for a derivative: there the value is the mean of
    :math:`\sigma(-c_1 s_i^{(-i)} - c_2)` over the left-out margins that ``span`` counts (:math:`h_i = 1 - s_i^{(-i)}`), and
    :math:`\eta` is not used.

    Parameters
    ----------
    eta : float, default=1.0
        Regularisation of the span.
    c1 : float, default=5.0
        Slope of the sigmoid.
    c2 : float, default=0.0
        Offset of the sigmoid.
    """

    eta: float = 1.0
    c1: float = 5.0
    c2: float = 0.0
    name: ClassVar[str] = "smoothed-span"
    title: ClassVar[str] = "Smoothed span estimate of the leave-one-out error"
    unit: ClassVar[str] = "fraction of rows"

    def __post_init__(self) -> None:
        if not self.eta > 0:
            raise ValueError(f"eta must be positive, got {self.eta!r}.")

    @reads(SVMSolution)
    def _read_hinge(self, solution: SVMSolution) -> Reading:
        return Reading(weighted_mean(expit(-self.c1 * span_margins(solution) - self.c2), solution.C))

    @reads(SquaredHingeSolution)
    def _read_squared_hinge(self, solution: SquaredHingeSolution) -> Reading:
        active, n = solution.free, solution.n
        alpha, C, p = solution.alpha[active], solution.C[active], solution.row_shares[active]
        w = alpha * C / (alpha + self.eta * C)
        factor = solution.block.gram.factor(w, solution.bias)
        V, k = factor.covariance_diag(), factor.inverse_diag()
        h = (alpha / C + self.eta * w * V) / k  # eq. (1)
        sigma = expit(self.c1 * (h - 1) - self.c2)
        value = float(p @ sigma + (1 - p.sum()) * expit(-self.c1 - self.c2))

        def derive() -> tuple[Adjoint, Vector]:  # eq. (2)
            e = self.c1 * sigma * (1 - sigma) * p * alpha / k**2
            VeV = factor.sandwich(e)
            diag = e - 2 * w * V * e + w**2 * VeV
            q = (e * V - w * VeV + diag / C) / alpha
            G = embed(factor.congruence(e), active, n)
            adjoint, slope = implicit_step(solution, G, -np.sum(diag / C), q)
            return adjoint, np.array([slope])

        return Reading.lazy(value, derive)
