r"""How a function of the residuals left out of a least-squares machine moves with K and with C.

With :math:`r_i = \rho_i / k_i`, :math:`\rho = \alpha / w`, :math:`k_i = 1 - h_i / c_i` (see :mod:`foldless.machines.lssvm`)
and :math:`p = d\Phi / dr`,

.. math:: \frac{d\Phi}{dK} = \tilde A \operatorname{diag}\Bigl(\frac{\sum_j p_{ij} r_{ij}}{w_i k_i c_i}\Bigr) \tilde A
          - \operatorname{sym}\bigl(\tilde A \tfrac{p}{w k}\, \alpha'\bigr).  \tag{1}
"""

import numpy as np

from foldless.grams.adjoints import add_symmetric


def total_derivative_from_left_out(solution, p):
    """Return the adjoint (1) and the slope in log C.

    Parameters
    ----------
    solution : LSSVMSolution
    p : array of shape (n, k)
        Derivative in the residuals of the machines that did not see the sample.
    """
    factor, keep, w, r = (
        solution.factor,
        solution.one_minus_leverage,
        solution.factor.w,
        solution.loo_residuals,
    )
    bend = factor.congruence(w * np.sum(p * r, axis=1) / (keep * solution.row_counts))  # A E A = H'(WEW)H
    adjoint = add_symmetric(bend, -factor.solve(p / (w * keep)[:, None]), solution.alpha)
    return adjoint, np.array([_slope_in_log_c(solution, adjoint, p / keep[:, None])])


def _slope_in_log_c(solution, adjoint, pull):
    r"""Derivative in log C, by the diagonal of the adjoint :math:`-\lambda \sum_i G_{ii} / v_i`, or by its product with K.

    Both hold because (K, lambda) and (sK, s lambda) leave the same residuals. For a close fit the product is a small
    difference of large terms, so it serves only operators, which do not show their diagonal. A row of several
    samples adds what it keeps of its own leverage.
    """
    if not isinstance(adjoint, np.ndarray):
        return solution.gram.inner(adjoint)
    left = solution.factor.inverse_diag() / solution.row_counts
    own = np.sum(pull * (solution.residuals - left[:, None] * solution.loo_residuals))
    return -(np.diag(adjoint) @ (1 / solution.factor.w) + own)
