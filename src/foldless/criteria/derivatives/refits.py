r"""Fits of a smooth machine without one of its rows, and the rows for which one Newton step does not replace them.

Without row i one Newton step moves the outputs by :math:`\delta = -V_{\cdot i} \varphi_i a_i / k_i`, with
:math:`k_i = 1 - \varphi_i w_i V_{ii}`. That is exact if the other losses are quadratic. Otherwise residuals are left at
the other rows, and a second step with the old curvature would move the output of row i by

.. math:: \Delta_i = \frac1{k_i} \sum_{j \ne i} V_{ij} r_j, \qquad r_j = a_j(z_j + \delta_j) - a_j + w_j \delta_j.  \tag{1}

Further steps of this kind may diverge, so that (1) corrects nothing. But where it is small one step is enough, and where
it is not the row is refitted. A refit is a solution :math:`z^{(i)}` of its own, and a loss
:math:`g = \ell'(y_i, z^{(i)}_i)` at its row i has the derivatives

.. math:: \frac{d}{dK} = \tfrac{C g}2 (p\, a' + a\, p'), \quad p = (I - W V) e_i, \qquad
          \frac{d}{d\log C} = g\, (V a)_i,  \tag{2}

with :math:`a`, :math:`W` and :math:`V` of the refit.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from foldless.core.contracts import Adjoint, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.core.gram import Rows
from foldless.grams.adjoints import add_symmetric
from foldless.grams.dense import DenseFactor
from foldless.machines.smooth import SmoothSolution, WarmStart

# Columns of V that are computed at a time.
COLUMNS_AT_A_TIME = 256


def second_step_changes(solution: SmoothSolution) -> tuple[Vector, float]:
    """Return by how much a second step (1) would change the left-out loss of every row, and the loss of all rows."""
    loss, y, v = solution.machine.loss, solution.y, solution.v
    u, step = one_step_outputs(solution), second_steps(solution)
    losses = v * loss.value(y, u)
    return np.abs(v * loss.value(y, u + step) - losses), float(np.sum(losses))


def one_step_outputs(solution: SmoothSolution) -> Vector:
    """Return the output of every row after one Newton step without it."""
    return solution.z - solution.fraction_of_one_row * solution.a * solution.V / solution.one_minus_leverage


def second_steps(solution: SmoothSolution) -> Vector:
    """Return what a second step with the old curvature would add to the output of every left-out row; eq. (1)."""
    n = solution.gram.n
    parts = [np.arange(i, min(i + COLUMNS_AT_A_TIME, n)) for i in range(0, n, COLUMNS_AT_A_TIME)]
    return np.concatenate([_second_steps_of(solution, rows) for rows in parts])


def _second_steps_of(solution: SmoothSolution, rows: Rows) -> Vector:
    s, columns = solution, np.arange(len(rows))
    V = (
        s.C * s.factor.V[:, rows]
        if isinstance(s.factor, DenseFactor)
        else s.covariance(np.eye(s.gram.n)[:, rows])
    )
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
        """Return adjoint and slope of a cost plus (2) for every row.

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
    """Return g p, a and the slope of eq. (2)."""
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
