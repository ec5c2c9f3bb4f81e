r"""How much every column matters to a fitted function.

With G the average gradient outer product and :math:`\sigma_a` the standard deviation of a column, its relevance is

.. math:: r_a = G_{aa} \sigma_a^2 \,\Big/ \sum_b G_{bb} \sigma_b^2 :  \tag{1}

what one standard deviation of the column changes, squared, so that units do not matter. Codes of categories have no
gradient; :math:`G_{aa} \sigma_a^2` is replaced by half the mean squared change when a row gets the category of another,
which is the same number for a linear function of a number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Vector
from foldless.grams.expansion import CellExpansion, Expansion

RELEVANCE_MAX_ROWS = 500


def relevance(
    expansion: Expansion | CellExpansion, kernel: Kernel, X: Any, categorical: Sequence[int] = ()
) -> Vector:
    """Return the relevance of every column, with sum 1; zeros for a constant function.

    Parameters
    ----------
    expansion : Expansion or CellExpansion
        The fitted function.
    kernel : Kernel
    X : array or sparse matrix of shape (n, d)
        Rows over which gradients are averaged, at most 500 of them.
    categorical : sequence of int
        Columns with codes of categories.
    """
    if X.shape[0] == 0:  # a machine without support vectors
        return np.zeros(X.shape[1])
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(X.shape[0])[:RELEVANCE_MAX_ROWS])
    points = X[rows].toarray() if sp.issparse(X) else X[rows]
    deviation = np.std(points, axis=0)
    # What rounding makes of a constant column is no deviation.
    deviation[deviation <= 10 * np.finfo(float).eps * np.abs(points.mean(axis=0))] = 0
    # In units of the outputs before they are squared: gradients alone may be too large for that.
    changes = expansion.gradients(kernel, points).reshape(-1, points.shape[1]) * deviation
    found = np.sum(changes**2, axis=0) / len(points)
    for column in categorical:
        moved = points.copy()
        moved[:, column] = rng.permutation(points[:, column])
        found[column] = np.sum((expansion(kernel, moved) - expansion(kernel, points)) ** 2) / (
            2 * len(points)
        )
    total = found.sum()
    return found / total if total > 0 else np.zeros(len(found))
