r"""Derivatives of anything that is a function of a fit and of its Laplace covariance.

A criterion on a smooth machine is a function :math:`\Phi(z, V)`. Let :math:`\Phi_z` be its derivative in z at
fixed V (the residuals and curvatures move with z) and :math:`\Phi_V` the symmetric derivative in V. A change dA
of :math:`A = C K` moves :math:`z` by :math:`H\,dA\,a` and V by :math:`H\,dA\,H' - V\,dW\,V`, with
:math:`H = I - V W`. Hence, with everything implicit included,

.. math::
    c = \Phi_z - w' \circ \operatorname{diag}(V \Phi_V V), \qquad
    \frac{d\Phi}{dK} = C \bigl[ H' \Phi_V H + \tfrac12 (H'c\, a' + a\, c'H) \bigr],  \tag{1}

and, since :math:`H A H' = V - V W V` and :math:`H A a = V a`,

.. math:: \frac{d\Phi}{d\log C} = c' V a + \langle \Phi_V, V - V W V \rangle.  \tag{2}
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from foldless.core.contracts import Adjoint, Gram, Matrix, Vector
from foldless.core.gram import Factor
from foldless.grams.adjoints import add_symmetric
from foldless.machines.smooth import SmoothSolution


@dataclass(frozen=True, eq=False)
class CovarianceAdjoint:
    r"""The derivative :math:`\Phi_V = \operatorname{diag}(e) + U \operatorname{diag}(s)\, U'`."""

    e: Vector | None = None
    U: Matrix | None = None
    s: Vector | None = None


def differentiate(
    solution: SmoothSolution, phi_z: Vector, phi_V: CovarianceAdjoint, factor: Factor | None = None
) -> tuple[Adjoint, Vector]:
    """Return the adjoint (1) and the slope (2) of a criterion on a smooth solution.

    Parameters
    ----------
    solution : SmoothSolution
    phi_z : array of shape (n,)
        Derivative in z at fixed V.
    phi_V : CovarianceAdjoint
        Derivative in V.
    factor : Factor, optional
        The factor whose covariance is V, if that is not the solution's own (a penalty without the bias).
    """
    a, w = solution.a, solution.w
    terms = _CovarianceTerms.of(solution, phi_V, factor or solution.factor)
    c = phi_z - solution.dw * terms.sandwich
    P = solution.C * np.column_stack([terms.P, c - w * solution.covariance(c)])
    Q = np.column_stack([terms.Q, a])
    adjoint = solution.gram.adjoint(P, Q) if terms.G is None else add_symmetric(terms.G, P, Q)
    return adjoint, np.array([terms.slope + c @ solution.covariance(a)])


@dataclass(frozen=True, eq=False)
class _CovarianceTerms:
    """The terms with the derivative in V: ``G + C sym(P Q')`` of (1), the diagonal in c, and the inner product of (2)."""

    G: Adjoint | None
    P: Matrix
    Q: Matrix
    sandwich: Vector
    slope: float

    @classmethod
    def of(cls, solution: SmoothSolution, phi_V: CovarianceAdjoint, factor: Factor) -> Self:
        """Compute them with the covariance of ``factor``."""
        C, w, n = solution.C, solution.w, solution.gram.n
        U = np.zeros((n, 0)) if phi_V.U is None else phi_V.U
        s = np.zeros(0) if phi_V.s is None else phi_V.s
        VU = C * factor.covariance(U)
        HU = U - w[:, None] * VU
        sandwich, slope = VU**2 @ s, float(s @ np.einsum("ik,ik->k", VU, HU))
        if phi_V.e is None:
            return cls(None, HU * s, HU, sandwich, slope)
        sandwich = sandwich + C**2 * factor.sandwich(phi_V.e)
        slope += C * factor.covariance_slope(phi_V.e)
        return cls(factor.congruence(C * phi_V.e), HU * s, HU, sandwich, slope)


@dataclass(frozen=True, eq=False)
class LaplaceEvidence:
    """Minus the logarithm of a Laplace evidence, with its derivatives.

    Attributes
    ----------
    value : float
    solution : SmoothSolution
        The fit around which it was expanded: the given one, or the one with a prior on the bias.
    gram : Gram
        The matrix in which it is differentiated: K without a constant for the bias.
    """

    value: float
    solution: SmoothSolution
    gram: Gram

    def derive(self) -> tuple[Adjoint, Vector]:
        r"""Return adjoint and slope.

        With :math:`c = \tfrac12 w' \circ V_{ii}` and :math:`Q = W - W V W`,

        .. math:: \frac{d}{dK} = \tfrac C2 \bigl[ Q - a a' + H'c\, a' + a\, c'H \bigr],  \tag{4}

        and the slope is its inner product with K: a prior on the bias does not scale with C.
        """
        s = self.solution
        c = s.dw * s.V / 2
        Hc = c - s.w * s.covariance(c)
        P, Q = s.C * np.column_stack([Hc, -s.a / 2]), np.column_stack([s.a, s.a])
        adjoint = add_symmetric(s.factor.resolvent() * 0.5, P, Q)
        return adjoint, np.array([self.gram.inner(adjoint)])


def laplace_evidence(solution: SmoothSolution, bias_prior: float | None = None) -> LaplaceEvidence:
    r"""Return minus the log evidence of a smooth machine by Laplace's approximation.

    .. math::
        \sum_i v_i \ell_i + \tfrac12 a'Aa + \tfrac12 \log\det(I + S A S)
        \;\bigl[ + \tfrac12 \log(s'B^{-1}s) - \tfrac12 \log 2\pi \bigr],  \tag{3}

    the bracket for a free bias under a flat prior. That prior is improper: on separable data (3) falls without
    bound as C grows. A bias :math:`b \sim N(0, \sigma_b^2)` instead is the plain formula with
    :math:`A + \sigma_b^2 11'`, refitted.

    Parameters
    ----------
    solution : SmoothSolution
    bias_prior : float, optional
        Standard deviation :math:`\sigma_b`; ``None`` is the flat prior.
    """
    s = solution if bias_prior is None else solution.with_bias_prior(bias_prior)
    value = s.loss + s.a @ s.z / 2 + s.factor.logdet() / 2
    if s.machine.bias:
        value -= (np.log(s.C) + np.log(2 * np.pi)) / 2  # the factor's weights are C w
    return LaplaceEvidence(float(value), s, solution.gram)
