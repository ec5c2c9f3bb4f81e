r"""Rows of a smooth machine for which one Newton step does not replace a fit without them.

Without row i one Newton step moves the outputs by :math:`\delta = -V_{\cdot i} \varphi_i a_i / k_i`, with
:math:`k_i = 1 - \varphi_i w_i V_{ii}`. That is exact if the other losses are quadratic. Otherwise residuals are left at
the other rows, and a second step with the old curvature would move the output of row i by

.. math:: \Delta_i = \frac1{k_i} \sum_{j \ne i} V_{ij} r_j, \qquad r_j = a_j(z_j + \delta_j) - a_j + w_j \delta_j.  \tag{1}

Further steps of this kind may diverge, so that (1) corrects nothing. But where it is small one step is enough, and where
it is not the row is refitted.

Most rows need not be asked. With :math:`\rho = \max_j |w'_j| / w_j`, to leading order :math:`|r_j| \le \rho w_j \delta_j^2 / 2`,
and since :math:`V W V \preceq V`,

.. math:: |\Delta_i| \le \frac{\rho\, d_i}{2} \frac{|\varphi_i a_i| V_{ii}}{k_i^2}, \qquad
          d_i = \frac{|\varphi_i a_i|}{k_i} \sqrt{V_{ii} \max_j V_{jj}} \ge \max_j |\delta_j|.  \tag{2}
"""

import numpy as np

from foldless.core.contracts import Vector
from foldless.core.gram import Rows
from foldless.machines.smooth import SmoothSolution

# Columns of V that are computed at a time.
COLUMNS_AT_A_TIME = 256
# Changes of the loss by second steps, as a fraction of the loss of all rows, that are known well enough from their bounds.
NEGLIGIBLE_CHANGES = 1e-3
# Longest step, in units of the distance over which curvatures change, for which the leading order is a bound.
LEADING_ORDER_STEP = 0.5


def second_step_changes(solution: SmoothSolution) -> tuple[Vector, float]:
    """Return by how much a second step (1) would change the left-out loss of every row, and the loss of all rows.

    Rows whose changes are together below a thousandth of the loss by eq. (2) have that bound in place of the change.
    """
    loss, y, v = solution.machine.loss, solution.y, solution.v
    u = one_step_outputs(solution)
    losses = v * loss.value(y, u)
    total = float(np.sum(losses))
    bounds = second_step_bounds(solution)
    unknown = np.isinf(bounds)
    changes = np.abs(v * loss.derivatives(y, u)[0]) * np.where(unknown, 0.0, bounds)
    changes[unknown] = np.inf
    smallest_first = np.argsort(changes, kind="stable")
    asked = np.sort(smallest_first[np.cumsum(changes[smallest_first]) > NEGLIGIBLE_CHANGES * total])
    after = v[asked] * loss.value(y[asked], u[asked] + second_steps(solution, asked))
    changes[asked] = np.abs(after - losses[asked])
    return changes, total


def one_step_outputs(solution: SmoothSolution) -> Vector:
    """Return the output of every row after one Newton step without it."""
    return solution.z - solution.fraction_of_one_row * solution.a * solution.V / solution.one_minus_leverage


def second_step_bounds(solution: SmoothSolution) -> Vector:
    """Return bounds of the second steps; eq. (2), and infinity where the first step is too long for it."""
    s = solution
    curved = s.w > 0
    ratio = float(np.max(np.abs(s.dw[curved]) / s.w[curved], initial=0.0))
    pull = np.abs(s.fraction_of_one_row * s.a) / s.one_minus_leverage
    longest = ratio * pull * np.sqrt(s.V * np.max(s.V))
    return np.where(longest < LEADING_ORDER_STEP, longest / 2 * pull * s.V / s.one_minus_leverage, np.inf)


def second_steps(solution: SmoothSolution, rows: Rows) -> Vector:
    """Return what a second step with the old curvature would add to the outputs of some left-out rows; eq. (1)."""
    parts = [rows[i : i + COLUMNS_AT_A_TIME] for i in range(0, len(rows), COLUMNS_AT_A_TIME)]
    return np.concatenate([np.zeros(0), *(_second_steps_of(solution, part) for part in parts)])


def _second_steps_of(solution: SmoothSolution, rows: Rows) -> Vector:
    s, columns = solution, np.arange(len(rows))
    V = s.covariance_columns(rows)
    k = s.one_minus_leverage[rows]
    delta = -V * (s.fraction_of_one_row * s.a)[rows] / k
    a = -s.v[:, None] * s.machine.loss.derivatives(s.y[:, None], s.z[:, None] + delta)[0]
    r = a - s.a[:, None] + s.w[:, None] * delta
    # Equal rows that stay are among the others.
    r[rows, columns] *= 1 - s.fraction_of_one_row[rows]
    return np.asarray(np.einsum("ij,ij->j", V, r) / k)
