r"""Rows for which one step from the fit does not replace the fit without them.

A row is doubtful if its leverage is above 0.7, or if a second step would move its left-out output by more than 0.1: a tenth
of the odds, or of a rate. For smooth losses the second step is eq. (1) of :mod:`foldless.criteria.derivatives.second_steps`. For
softmax machines, in the terms of eq. (4) of :mod:`foldless.criteria.left_out_models`, the residuals that are left at the other rows
are vectors of contrasts, and

.. math:: \Delta_i = Q N_i \sum_{j \ne i} V_{ij} r_j, \qquad
          r_j = a_j(z_j + \delta_j) - a_j + W_j \delta_j, \qquad \delta_j = -V_{ji} N_i' \varphi_i a_i.  \tag{1}

Leverage alone is not enough where classes are many: curvatures, and leverages with them, are small where probabilities are. Among 200
rows of 26 letters one of leverage 0.33 has the probability 0.0013 of its own class without it, and 0.012 after one step.
"""

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import softmax

from foldless.core.contracts import Vector
from foldless.core.gram import Rows
from foldless.criteria.derivatives.second_steps import second_step_bounds, second_steps
from foldless.criteria.left_out_models import leverages
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.smooth import SmoothSolution
from foldless.machines.softmax import SoftmaxSolution

LEVERAGE_LIMIT = 0.7
# The whole error is up to three times the second step; see the tests.
SECOND_STEP_LIMIT = 0.1


def doubtful_rows(solution: Any) -> Rows:
    """Return the numbers of the rows that should be refitted, in order; raise Undefined if the loss has no curvature."""
    return np.flatnonzero((leverages(solution) > LEVERAGE_LIMIT) | has_long_second_step(solution))


@singledispatch
def has_long_second_step(solution: Any) -> np.ndarray:
    """Return for every row (n,) whether a second step would move one of its left-out outputs by more than the limit.

    Least squares needs no second step, and for support vector machines none is known.
    """
    return np.zeros(solution.gram.n, dtype=bool)


@has_long_second_step.register
def _(solution: ColumnwiseSolutions) -> np.ndarray:
    return np.any([has_long_second_step(column) for column in solution.columns], axis=0)


@has_long_second_step.register
def _(solution: SmoothSolution) -> np.ndarray:
    # Most steps are known to be short by their bounds.
    found = second_step_bounds(solution) > SECOND_STEP_LIMIT
    asked = np.flatnonzero(found)
    found[asked] = ~(np.abs(second_steps(solution, asked)) <= SECOND_STEP_LIMIT)
    return found


@has_long_second_step.register
def _(solution: SoftmaxSolution) -> np.ndarray:
    return ~(softmax_second_steps(solution) <= SECOND_STEP_LIMIT)


def softmax_second_steps(solution: SoftmaxSolution) -> Vector:
    """Return by how much a second step would move the left-out outputs of every row, the largest over classes (n,); eq. (1)."""
    s, space, phi = solution, solution.space, solution.fraction_of_one_row
    a, W = s.state.a, s.state.W
    N = np.linalg.inv(np.eye(a.shape[1]) - np.matmul(s.V, phi[:, None, None] * W))
    first = np.einsum("nba,nb->na", N, phi[:, None] * a)
    found = np.empty(len(a))
    for i in range(len(a)):
        pull = np.zeros_like(a)
        pull[i] = -first[i]
        delta = s.covariance(pull)
        p = softmax(s.z + delta @ space.Q.T, axis=1)
        r = (s.v[:, None] * (s.T - p)) @ space.Q - a + np.einsum("nab,nb->na", W, delta)
        # Equal rows that stay are among the others.
        r[i] *= 1 - phi[i]
        found[i] = np.max(np.abs(space.Q @ N[i] @ s.covariance(r)[i]))
    return found
