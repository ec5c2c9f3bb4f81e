r"""Derivatives, in K and in C, of a function of the left-out residuals of a least-squares machine.

With :math:`r_i = \rho_i / k_i`, :math:`\rho = \alpha / w`, :math:`k_i = 1 - h_i / c_i` (see :mod:`foldless.machines.lssvm`)
and :math:`p = d\Phi / dr`,

.. math:: \frac{d\Phi}{dK} = \tilde A \operatorname{diag}\Bigl(\frac{\sum_j p_{ij} r_{ij}}{w_i k_i c_i}\Bigr) \tilde A
          - \operatorname{sym}\bigl(\tilde A \tfrac{p}{w k}\, \alpha'\bigr).  \tag{1}
"""

import numpy as np

from foldless.core.contracts import Adjoint, Matrix, Vector
from foldless.grams.adjoints import add_symmetric
from foldless.machines.lssvm import LSSVMSolution


def total_derivative_from_left_out(solution: LSSVMSolution, p: Matrix) -> tuple[Adjoint, Vector]:
    """Return the adjoint (1) and the slope in log C.

    Parameters
    ----------
    solution : LSSVMSolution
    p : array of shape (n, k)
        Derivative in the residuals of the machines that did not see the sample.
    """
    factor, k, r = solution.factor, solution.one_minus_leverage, solution.loo_residuals
    w = factor.w
    # A E A = H'(WEW)H
    diagonal_term = factor.congruence(w * np.sum(p * r, axis=1) / (k * solution.row_counts))
    adjoint = add_symmetric(diagonal_term, -factor.solve(p / (w * k)[:, None]), solution.alpha)
    return adjoint, np.array([_slope_in_log_c(solution, adjoint, p / k[:, None])])


def _slope_in_log_c(solution: LSSVMSolution, adjoint: Adjoint, by_residuals: Matrix) -> float:
    r"""Return the derivative in log C, by the diagonal of the adjoint :math:`-\lambda \sum_i G_{ii} / v_i`, or by its product with K.

    Both hold because (K, lambda) and (sK, s lambda) leave the same residuals. For a close fit the product is a small
    difference of large terms, so that it serves only operators, whose diagonal is not known. A row that stands for several
    samples adds a term, because leaving one of them out leaves the others in.
    """
    if not isinstance(adjoint, np.ndarray):
        return solution.gram.inner(adjoint)
    one_minus_h = solution.factor.inverse_diag() / solution.row_counts
    copies = np.sum(by_residuals * (solution.residuals - one_minus_h[:, None] * solution.loo_residuals))
    return -float(np.diag(adjoint) @ (1 / solution.factor.w) + copies)
