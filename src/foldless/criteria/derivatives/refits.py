r"""Fits of a smooth machine without one of its rows, and the rows for which one Newton step does not replace them.

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

A refit is a solution :math:`z^{(i)}` of its own, and a loss :math:`g = \ell'(y_i, z^{(i)}_i)` at its row i has the
derivatives

.. math:: \frac{d}{dK} = \tfrac{C g}2 (p\, a' + a\, p'), \quad p = (I - W V) e_i, \qquad
          \frac{d}{d\log C} = g\, (V a)_i,  \tag{3}

with :math:`a`, :math:`W` and :math:`V` of the refit.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from foldless.core.contracts import Adjoint, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.core.gram import Rows
from foldless.grams.adjoints import add_symmetric
from foldless.machines.smooth import SmoothSolution, WarmStart

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
    units = np.zeros((s.gram.n, len(rows)))
    units[rows, columns] = 1
    V = s.covariance(units)
    k = s.one_minus_leverage[rows]
    delta = -V * (s.fraction_of_one_row * s.a)[rows] / k
    a = -s.v[:, None] * s.machine.loss.derivatives(s.y[:, None], s.z[:, None] + delta)[0]
    r = a - s.a[:, None] + s.w[:, None] * delta
    # Equal rows that stay are among the others.
    r[rows, columns] *= 1 - s.fraction_of_one_row[rows]
    return np.asarray(np.einsum("ij,ij->j", V, r) / k)


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits without one row each.

    Attributes
    ----------
    rows : array of int
        The rows that could be left out: a class, or all counts above zero, may consist of one row.
    fits : list of SmoothSolution
        One per row.
    """

    rows: Rows
    fits: list[SmoothSolution]

    @classmethod
    def of(cls, solution: SmoothSolution, rows: Iterable[int]) -> "Refits":
        """Fit without each of ``rows``."""
        found = {i: _without(solution, i) for i in rows}
        fits = {i: fit for i, fit in found.items() if fit is not None}
        return cls(np.array(list(fits), dtype=np.intp), list(fits.values()))

    @property
    def outputs(self) -> Vector:
        """The output at each row of the fit without it."""
        return np.array([fit.z[i] for i, fit in zip(self.rows, self.fits, strict=True)])

    def add_derivatives(self, g: Vector, adjoint: Adjoint, slope: Vector) -> tuple[Adjoint, Vector]:
        """Return adjoint and slope of a cost plus (3) for every row.

        Parameters
        ----------
        g : array of shape (rows,)
            Derivatives of the cost in ``outputs``.
        adjoint, slope
            Of the other terms of the cost.
        """
        if not self.fits:
            return adjoint, slope
        P, Q, slopes = zip(*map(_derivatives, self.rows, self.fits, g), strict=True)
        C = self.fits[0].C
        return add_symmetric(adjoint, C * np.column_stack(P), np.column_stack(Q)), slope + np.sum(slopes)


def _derivatives(i: int, fit: SmoothSolution, g: float) -> tuple[Vector, Vector, float]:
    """Return g p, a and the slope of eq. (3)."""
    unit = np.zeros(fit.gram.n)
    unit[i] = g
    column = fit.covariance(unit)
    return unit - fit.w * column, fit.a, float(column @ fit.a)


def _without(solution: SmoothSolution, i: int) -> SmoothSolution | None:
    """Return the fit without one row, started at the fit with it; None if there is no such fit."""
    v = solution.v.copy()
    v[i] *= 1 - solution.fraction_of_one_row[i]
    machine = replace(solution.machine, weights=v)
    try:
        return machine.solve(solution.gram, solution.Y, [WarmStart(solution.z)]).columns[0]
    except (Undefined, NotPositiveDefinite, np.linalg.LinAlgError):
        return None
