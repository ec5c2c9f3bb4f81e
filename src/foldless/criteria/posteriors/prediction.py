r"""Log-odds at new points from the Gaussian posterior of expectation propagation.

With :math:`k_x` the kernel between a new point and the points that carry the fit (all training points, or landmarks)
the posterior of :math:`\theta(x)` is

.. math:: N\bigl(c' k_x,\; k(x, x) - k_x' Q k_x\bigr),  \tag{1}

with :math:`Q = (K + T^{-1})^{-1}` on all training points, T the precisions of the sites. With landmarks,
:math:`K = F F'` and :math:`F = K_{nm} L^{-T}`, it is

.. math:: Q = L^{-T} \bigl(I - (I + F'TF)^{-1}\bigr) L^{-1}.  \tag{2}
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.linalg import inverse_lower
from foldless.criteria.posteriors.ep import class_log_odds

# A variance is at least this fraction of the prior's: rounding must not make it negative.
VARIANCE_FLOOR_FRACTION = 1e-12


def variance_matrix(gram: Gram, factor: Any) -> Matrix:
    """Return Q of eq. (1) for the factor of a posterior."""
    if gram.landmark_root is None:
        return factor.resolvent()
    L, kept = gram.landmark_root
    inverse = inverse_lower(L)
    inner = inverse_lower(factor.L)[: len(kept), : len(kept)]
    return inverse.T @ (np.eye(len(kept)) - inner.T @ inner) @ inverse


def log_odds(
    site: Any, cross: Matrix, prior: Vector, coefficients: Matrix, matrices: Sequence[Matrix]
) -> Matrix:
    """Return the log-odds (m, k) of the classes at m new points.

    Parameters
    ----------
    site : HingeSite or SquaredHingeSite
    cross : array of shape (m, p)
        Kernel between the new points and the p points that carry the fit.
    prior : array of shape (m,)
        Kernel of each new point with itself.
    coefficients : array of shape (k, p)
    matrices : k arrays of shape (p, p)
        Q of eq. (1), one per column.
    """
    columns = []
    for c, Q in zip(coefficients, matrices, strict=True):
        variance = np.maximum(
            prior - np.einsum("ij,ij->i", cross @ Q, cross), VARIANCE_FLOOR_FRACTION * prior
        )
        columns.append(class_log_odds(site, cross @ c, variance))
    return np.column_stack(columns)
