r"""What left-out residuals would be if every row had been left out of the tuning too.

Tuned parameters :math:`\theta` minimise a sum of left-out losses, so that every row drew them towards its own target, and the
left-out residuals :math:`r_i` are too small. Let :math:`J_i = \partial \mu_{-i}(x_i) / \partial \theta` (k rows, p columns),
:math:`\sigma_i` the deviation of target i up to a common factor, and :math:`c_i` the number of equal rows that row i stands for.
To first order the left-out predictions are linear in :math:`\theta`, tuning them is a regression with regressors J, and the
residual of a row that the regression has not seen is

.. math:: r_i' = (I - H_i)^{-1} r_i, \qquad
          H_i = \frac{1}{\sigma_i^2}\, J_i \Bigl( \sum_j \frac{c_j}{\sigma_j^2}\, J_j' J_j \Bigr)^{-1} J_i'.  \tag{1}

:math:`H_i` is the leverage of row i in the tuning, and :math:`\sum_i c_i \operatorname{tr} H_i = p`: residuals grow by a share of
about p / n. A parameter that changes no left-out prediction adds nothing, and without tuned parameters the residuals stay as
they are. Length scales that were tied to each other and stayed equal are one parameter. Two things remain too good: minima that a
single row would have exchanged for another one, and choices among kernels.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import JitterWarning
from foldless.criteria.left_out import left_out_outputs
from foldless.estimators.uncertainty.training_rows import TrainingRows
from foldless.tuning.objective import UNDEFINED_ERRORS

# Central differences with this step have about six right digits; what is smaller than the last of them is none.
STEP = 1e-3
PRECISION = 1e-6
# A leverage near one says that a row fixes the parameters by itself, and that first order is not enough.
LARGEST_LEVERAGE = 0.9
# Mean leverage of the rows in the tuning, p / n, that is not worth fits of all cells.
NEGLIGIBLE_LEVERAGE = 1e-3


def sensitivities(training: TrainingRows, kernel: Kernel, response: Callable[[Matrix], Matrix]) -> Matrix:
    """Return the derivatives (n, k, p) of the rows' left-out predictions in the tuned parameters.

    A parameter at whose neighbours the fit does not exist cannot have moved, and is left out. So are all of them in a fit by
    cells to a thousand rows for every parameter: all cells would be fitted twice for every parameter, and the coverage would grow by
    hundredths of a point.
    """
    theta, directions = training.tuned_theta(kernel), training.tuned_directions(kernel)
    if training.cells is not None and len(directions) <= NEGLIGIBLE_LEVERAGE * training.counts.sum():
        directions = directions[:0]
    found = []
    for step in STEP * directions:
        with warnings.catch_warnings(), suppress(*UNDEFINED_ERRORS):
            # The fit itself has already warned.
            warnings.simplefilter("ignore", JitterWarning)
            above, below = (
                response(left_out_outputs(training.solve_at(kernel, theta + side))) for side in (step, -step)
            )
            found.append((above - below) / (2 * STEP))
    return np.stack(found, axis=2) if found else np.zeros((*training.Y.shape, 0))


def retuned_residuals(
    residuals: Matrix, J: Matrix, counts: Vector, deviations: Matrix | float = 1.0
) -> Matrix:
    r"""Return the residuals (n, k) of rows that are left out of the tuning as well; eq. (1).

    Parameters
    ----------
    residuals : array of shape (n, k)
    J : array of shape (n, k, p)
        Derivatives of the left-out predictions in the tuned parameters.
    counts : array of shape (n,)
        Number of equal rows that each row stands for.
    deviations : array that broadcasts to (n, k), default=1.0
        Deviations of the targets, up to a common factor.

    Examples
    --------
    One parameter that moves all predictions alike is a mean, and leaving a row out of a mean of four is known:

    >>> r = np.array([[3.0], [-1.0], [-1.0], [-1.0]])
    >>> retuned_residuals(r, np.ones((4, 1, 1)), np.ones(4))[0].round(6).tolist()
    [4.0]
    """
    n, k, p = J.shape
    if not p:
        return residuals
    deviations = np.broadcast_to(deviations, (n, k))
    r, roots = residuals / deviations, np.sqrt(counts)[:, None]
    columns = (J / deviations[:, :, None] * roots[:, :, None]).reshape(n * k, p)
    lengths = np.linalg.norm(columns, axis=0)
    moving = lengths > PRECISION * np.linalg.norm(roots * r)
    U, values, _ = np.linalg.svd(columns[:, moving] / lengths[moving], full_matrices=False)
    basis = U[:, values > PRECISION].reshape(n, k, -1)
    H = np.matmul(basis, basis.transpose(0, 2, 1)) / counts[:, None, None]
    leverages, axes = np.linalg.eigh(H)
    along = np.einsum("nka,nk->na", axes, r)
    return deviations * np.einsum("nka,na->nk", axes, along / (1 - np.minimum(leverages, LARGEST_LEVERAGE)))
