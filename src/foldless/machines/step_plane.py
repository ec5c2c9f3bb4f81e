r"""The best point in the plane of a Newton step.

Where a fit is far from its minimum, Newton steps are short: the curvature of a logistic loss falls as the outputs grow, and one step
does not know. Between a point with outputs z and penalty slopes :math:`\beta` and the end of its step :math:`(dz, d\beta)` the objective

.. math:: \varphi(s, t) = \sum_i v_i\, \ell(y_i, u_i) + \tfrac12 u'\,(s \beta + t\, d\beta), \qquad u = s z + t\, dz  \tag{1}

has two variables and costs no product with a matrix. A few Newton steps in these, from :math:`s = t = 1`, where the whole step ends, save
a third of the steps of cold fits with C of 10 to 10 000, each of which is a factorisation.
"""

import numpy as np

from foldless.core.conjugate_gradients import dots
from foldless.core.gram import Matrix, Vector
from foldless.machines.losses.protocols import SmoothLoss

N_STEPS = 3
MAX_MULTIPLE = 4.0
# Determinants below this fraction of the product of the diagonal: the point and the step have the same direction.
FLAT_DETERMINANT = 1e-10


def best_in_plane(
    loss: SmoothLoss, y: Matrix, v: Matrix, point: tuple[Matrix, Matrix], step: tuple[Matrix, Matrix]
) -> tuple[Matrix, Matrix]:
    """Return outputs and slopes of the penalty where eq. (1) is least, nearly, for every column.

    Nothing says that the objective is lower there: where it is far from quadratic it may not be.

    Parameters
    ----------
    loss : SmoothLoss
    y, v : arrays of shape (n, k)
        Targets and weights of the rows.
    point, step : pairs of arrays of shape (n, k)
        Outputs and slopes of the penalty, and how a Newton step changes them.
    """
    (z, beta), (dz, dbeta) = point, step
    Q00, Q01, Q11 = dots(z, beta), dots(dz, beta), dots(dz, dbeta)
    s, t = np.ones((2, z.shape[1]))
    # What is not a number any more changes nothing.
    with np.errstate(all="ignore"):
        for _ in range(N_STEPS):
            slope, curvature, _ = loss.derivatives(y, s * z + t * dz)
            slope, curvature = v * slope, v * curvature
            g0, g1 = dots(z, slope) + s * Q00 + t * Q01, dots(dz, slope) + s * Q01 + t * Q11
            wz, wdz = curvature * z, curvature * dz
            H00, H01, H11 = dots(z, wz) + Q00, dots(z, wdz) + Q01, dots(dz, wdz) + Q11
            determinant = H00 * H11 - H01**2
            is_plane = determinant > FLAT_DETERMINANT * H00 * H11
            s = _within(s - np.where(is_plane, (H11 * g0 - H01 * g1) / determinant, 0.0))
            t = _within(t - np.where(is_plane, (H00 * g1 - H01 * g0) / determinant, g1 / H11))
    return s * z + t * dz, s * beta + t * dbeta


def _within(multiple: Vector) -> Vector:
    """Return a multiple that is not far from one, where the step is still worth something."""
    return np.clip(np.where(np.isfinite(multiple), multiple, 1.0), 1 / MAX_MULTIPLE, MAX_MULTIPLE)
