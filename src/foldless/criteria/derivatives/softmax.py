r"""Derivatives of a function of a multinomial fit and of its Laplace covariance, point by point.

This is the algebra of :mod:`foldless.criteria.derivatives.smooth` with blocks instead of numbers: :math:`W_i`, :math:`V_{ij}` and
:math:`\Phi_{V,i} = E_i` are (k - 1, k - 1) in contrasts, and every class sees the same change of K. With
:math:`S_i` the i-th block of :math:`V \Phi_V V` and :math:`T^{(3)}` the third derivative of the loss,

.. math::
    c_i = \Phi_{z,i} - \langle T^{(3)}_i, S_i \rangle, \qquad
    \frac{d\Phi}{dK} = C \sum_c \bigl[ (H' \Phi_V H)_{cc} + \tfrac12 \bigl( (H'c)_c a_c' + a_c (H'c)_c' \bigr) \bigr].
    \tag{1}

With features F and :math:`L_c = [W_{c1} F, \dots], \; R_c = [E_{c1} F, \dots]` (n rows, one block per class),

.. math::
    \sum_c (H' \Phi_V H)_{cc} = \operatorname{diag} \sum_c E_{cc}
    + \sum_c \bigl[ L_c P^{-1} M P^{-1} L_c' - L_c P^{-1} R_c' - R_c P^{-1} L_c' \bigr], \qquad
    M = \sum_i f_i f_i' \otimes E_i.  \tag{2}
"""

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Adjoint, Matrix, Vector
from foldless.grams.adjoints import symmetric_operator
from foldless.machines.softmax import SoftmaxSolution

# One matrix (k - 1, k - 1) per row.
Blocks = NDArray[np.float64]


def third_derivative_term(solution: SoftmaxSolution, S: Blocks) -> Matrix:
    r"""Return the contraction of the third derivative of the loss with symmetric blocks: :math:`W (\operatorname{diag} S - 2 S p)`."""
    Q, p = solution.space.Q, solution.p
    full = np.einsum("ca,nab,db->ncd", Q, S, Q, optimize=True)
    r = np.einsum("ncc->nc", full) - 2 * np.einsum("ncd,nd->nc", full, p)
    return solution.v[:, None] * (p * (r - np.sum(p * r, axis=1, keepdims=True))) @ Q


def differentiate_blocks(solution: SoftmaxSolution, phi_z: Matrix, E: Blocks) -> tuple[Adjoint, Vector]:
    """Return the adjoint (1) and the slope of a criterion on a softmax solution.

    Parameters
    ----------
    solution : SoftmaxSolution
    phi_z : array of shape (n, k - 1)
    E : array of shape (n, k - 1, k - 1)
        Symmetric blocks of the derivative in V.
    """
    space, C, W = solution.space, solution.C, solution.state.W
    R = solution.inverse @ space.gather(E) @ solution.inverse
    c = phi_z - third_derivative_term(solution, space.blocks(R))
    Hc = c - np.einsum("nab,nb->na", W, solution.covariance(c))
    a, diagonal = solution.state.a, np.trace(E, axis1=1, axis2=2)

    def apply(M: Matrix) -> Matrix:
        """Return the adjoint times M: equation (2) and the thin terms of (1)."""
        out = diagonal.reshape(-1, *[1] * (M.ndim - 1)) * M + (Hc @ (a.T @ M) + a @ (Hc.T @ M)) / 2
        for k in range(W.shape[1]):
            left, right = _features(space.F, W[:, k]), _features(space.F, E[:, k])
            lM, rM = left.T @ M, right.T @ M
            out = out + left @ (R @ lM - solution.inverse @ rM) - right @ (solution.inverse @ lM)
        return C * out

    n = solution.gram.n
    adjoint = apply(np.eye(n)) if solution.gram.dense else symmetric_operator(n, apply)
    return adjoint, np.array([solution.gram.inner(adjoint)])


def _features(F: Matrix, w: Matrix) -> Matrix:
    """Return ``[w_1 F, w_2 F, ...]`` for weights (n, k - 1)."""
    return (w[:, :, None] * F[:, None, :]).reshape(len(F), -1)
