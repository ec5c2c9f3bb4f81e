r"""Derivatives of anything that is a function of a fit and of its Laplace covariance.

A criterion on a smooth machine is a function :math:`\Phi(z, V)`. Let :math:`\Phi_z` be its derivative in z at fixed V
(the residuals and curvatures move with z) and :math:`\Phi_V` the symmetric derivative in V. A change dA of
:math:`A = C K` moves :math:`z` by :math:`H\,dA\,a` and V by :math:`H\,dA\,H' - V\,dW\,V`, with
:math:`H = I - V W`. Hence, with everything implicit included,

.. math::
    c = \Phi_z - w' \circ \operatorname{diag}(V \Phi_V V), \qquad
    \frac{d\Phi}{dK} = C \bigl[ H' \Phi_V H + \tfrac12 (H'c\, a' + a\, c'H) \bigr],  \tag{1}

and, since :math:`H A H' = V - V W V` and :math:`H A a = V a`,

.. math:: \frac{d\Phi}{d\log C} = c' V a + \langle \Phi_V, V - V W V \rangle.  \tag{2}
"""

from dataclasses import dataclass

import numpy as np

from foldless.contracts import Matrix, Vector
from foldless.linalg import add_symmetric


@dataclass(frozen=True, eq=False)
class Bend:
    r"""The derivative :math:`\Phi_V = \operatorname{diag}(e) + U \operatorname{diag}(s)\, U'`."""

    e: Vector
    U: Matrix | None = None
    s: Vector | None = None


def differentiate(solution, phi_z, bend, frozen=False):
    """Return the adjoint (1) and the slope (2) of a criterion on a smooth solution.

    Parameters
    ----------
    solution : SmoothSolution
    phi_z : array of shape (n,)
    bend : Bend
    frozen : bool
        Keep the curvatures fixed, as Cawley and Talbot's appendix B does: the wrong gradient, for comparison only.
    """
    C, a, w, factor = solution.C, solution.a, solution.w, solution.factor
    VU = solution.covariance(bend.U) if bend.U is not None else None
    sandwich = C**2 * factor.sandwich(bend.e)
    if VU is not None:
        sandwich = sandwich + VU**2 @ bend.s
    c = phi_z if frozen else phi_z - solution.dw * sandwich
    Hc = c - w * solution.covariance(c)
    G = factor.congruence(bend.e)
    P, Q = [Hc], [a]
    slope = c @ solution.covariance(a) + C * factor.spread(bend.e)
    if VU is not None:
        HU = bend.U - w[:, None] * VU
        P, Q = [*P, *(HU * bend.s).T], [*Q, *HU.T]
        slope += bend.s @ np.einsum("ik,ik->k", VU, HU)
    return C * add_symmetric(G, np.column_stack(P), np.column_stack(Q)), np.array([slope])
