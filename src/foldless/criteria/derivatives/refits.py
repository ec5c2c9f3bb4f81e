r"""Fits of a smooth machine without one row each, all of them together, and the derivatives of their losses.

The fit to all rows has the outputs :math:`z`, minus the slopes :math:`a` and the curvatures :math:`w` of its losses, and the covariance
:math:`V = (K^{-1}/C + W)^{-1}`. Where the outputs move to :math:`z + x` with :math:`x = V s`, the slope of the penalty is
:math:`K^{-1}(z + x)/C = a + s - W x`, so that nothing but products with V is needed. Without row i the losses have minus the slopes
:math:`a^{(i)}` and the curvatures :math:`w^{(i)}`; a Newton step solves

.. math:: (V^{-1} + D)\, dx = -F, \qquad F = a + s - W x - a^{(i)}(z + x), \quad D = W^{(i)}(z + x) - W,  \tag{1}

by conjugate gradients with V as preconditioner. D is large in few rows, row i and those near it, and conjugate gradients take about
one step for each of these. The rows that are left out are columns of one matrix and share the products with V. The first
Newton step, from :math:`x = 0`, is known: :math:`s = -e_i \varphi_i a_i / k_i`, with :math:`\varphi_i` the fraction that one row is
of point i and :math:`k_i = 1 - \varphi_i w_i V_{ii}`.

Where the curvature can vanish far from the targets, or grow without bounds, few digits are left of V for large C: fits of numbers and
counts, and those of labels that are not found in this way, have factorisations of their own.

A loss :math:`g = \ell'(y_i, z_i)` at the row that a fit leaves out has the derivatives

.. math:: \frac{d}{dK} = \tfrac{C g}2 (p\, a' + a\, p'), \quad p = (I - W V) e_i, \qquad
          \frac{d}{d\log C} = g\, (V a)_i,  \tag{2}

with :math:`a`, :math:`W` and :math:`V = (V^{-1} + D)^{-1}` of this fit.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from foldless.core.conjugate_gradients import Solved, dots, solve_near
from foldless.core.contracts import Adjoint, Matrix, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.core.gram import Rows
from foldless.core.memo import cached_property
from foldless.grams.adjoints import add_symmetric
from foldless.machines.newton import FULL_STEP_DECREMENT, STALLED_DECREMENT
from foldless.machines.smooth import SmoothSolution, WarmStart

MAX_NEWTON_STEPS, MAX_HALVINGS, MAX_CONJUGATE_STEPS = 20, 10, 100
# What conjugate gradients leave of the decrement of a step: this fraction, or the decrement itself if that is less.
ROUGH_FRACTION = 0.01
# A last Newton step with a factorisation squares the error. One by conjugate gradients does not, and so must begin below the tolerance.
INEXACT_FRACTION = 1e-3
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits without one row each.

    Parameters
    ----------
    solution : SmoothSolution
        The fit to all rows.
    rows : array of shape (k,)
        Those that are left out.
    s, x : arrays of shape (n, k)
        ``x = V s`` is by how much the outputs differ from those of the fit to all rows.
    """

    solution: SmoothSolution
    rows: Rows
    s: Matrix
    x: Matrix

    @classmethod
    def of(cls, solution: SmoothSolution, rows: Iterable[int]) -> "Refits":
        """Fit without each of ``rows`` that can be left out: a class, or all counts above zero, may consist of one row."""
        found = cls._after_one_step(solution, np.array(list(rows), dtype=np.intp))
        if not len(found.rows):
            return found
        if not found._share_products:
            return found._completed(np.zeros(len(found.rows), bool))
        found, is_solved = found._solved()
        return found if is_solved.all() else found._completed(is_solved)

    @property
    def _share_products(self) -> bool:
        """Whether products with V are accurate enough: for labels."""
        return self.solution.machine.loss.labels

    @classmethod
    def _after_one_step(cls, solution: SmoothSolution, rows: Rows) -> "Refits":
        s, x = np.zeros((2, solution.gram.n, len(rows)))
        if len(rows):
            pulls = (solution.fraction_of_one_row * solution.a / solution.one_minus_leverage)[rows]
            s[rows, np.arange(len(rows))] = -pulls
            x = -solution.covariance_columns(rows) * pulls
        return cls(solution, rows, s, x)

    @property
    def outputs(self) -> Vector:
        """The output at each row of the fit without it."""
        return self.z[self.rows, np.arange(len(self.rows))]

    def add_derivatives(self, g: Vector, adjoint: Adjoint, slope: Vector) -> tuple[Adjoint, Vector]:
        """Return adjoint and slope of a cost plus (2) for every row.

        Parameters
        ----------
        g : array of shape (k,)
            Derivatives of the cost in ``outputs``.
        adjoint, slope
            Of the other terms of the cost.
        """
        if not len(self.rows):
            return adjoint, slope
        units = np.zeros_like(self.s)
        units[self.rows, np.arange(len(self.rows))] = g
        columns, is_solved = np.zeros_like(units), np.zeros(len(g), bool)
        if self._share_products:
            error = partial(np.full_like, fill_value=self.solution.machine.decrement)
            columns, _, is_solved = self._solve(units, error)
        for i in map(int, np.flatnonzero(~is_solved)):
            columns[:, i] = self._alone(i).covariance(units[:, i])
        P, slopes = units - self.w * columns, dots(columns, self.a)
        return add_symmetric(adjoint, self.solution.C * P, self.a), slope + np.sum(slopes)

    @cached_property
    def v(self) -> Matrix:
        """Weights of the rows in every fit (n, k)."""
        found = np.repeat(self.solution.v[:, None], len(self.rows), axis=1)
        found[self.rows, np.arange(len(self.rows))] *= 1 - self.solution.fraction_of_one_row[self.rows]
        return found

    @cached_property
    def z(self) -> Matrix:
        """Outputs (n, k)."""
        return self.solution.z[:, None] + self.x

    @cached_property
    def _derivatives(self) -> tuple[Matrix, Matrix, Matrix]:
        return self.solution.machine.loss.derivatives(self.solution.y[:, None], self.z)

    @cached_property
    def a(self) -> Matrix:
        """Minus the slopes of the losses (n, k)."""
        return -self.v * self._derivatives[0]

    @cached_property
    def w(self) -> Matrix:
        """Curvatures of the losses (n, k)."""
        return self.v * self._derivatives[1]

    @cached_property
    def _penalty_slope(self) -> Matrix:
        s = self.solution
        return s.a[:, None] + self.s - s.w[:, None] * self.x

    @cached_property
    def _gradient(self) -> Matrix:
        """F of eq. (1)."""
        return self._penalty_slope - self.a

    @cached_property
    def _value(self) -> Vector:
        """The objectives (k,)."""
        losses = self.v * self.solution.machine.loss.value(self.solution.y[:, None], self.z)
        return dots(self.z, self._penalty_slope) / 2 + losses.sum(axis=0)

    def _solved(self) -> tuple["Refits", NDArray[np.bool_]]:
        """Return the fits after as many Newton steps as they need, and which of them were found."""
        points, goal = self, self._goal
        is_solved, last = np.zeros(len(self.rows), bool), np.full(len(self.rows), np.inf)
        for _ in range(MAX_NEWTON_STEPS):
            dx, ds, is_exact = points._newton_step()
            decrement = -dots(points._gradient, dx)
            relative = decrement / np.maximum(1.0, points._value)
            # Where the decrement does not shrink any more, rounding is all that is left.
            is_last = (decrement <= goal) | ((relative <= STALLED_DECREMENT) & (decrement >= last))
            is_last &= is_exact
            points = points._moved(dx, ds, np.where(is_solved, 0.0, 1.0), relative > FULL_STEP_DECREMENT)
            is_solved, last = is_solved | is_last, decrement
            if np.all(is_solved | ~np.isfinite(decrement)):
                break
        return points, is_solved & np.isfinite(points._value)

    @property
    def _goal(self) -> float:
        """Largest decrement of a fit."""
        return INEXACT_FRACTION * self.solution.machine.decrement * float(np.sum(self.solution.v))

    def _newton_step(self) -> Solved:
        """Return the steps of x and of s; eq. (1)."""

        def error(size: Vector) -> Vector:
            least = ROUGH_FRACTION * self._goal / np.maximum(size, TINY)
            return np.maximum(np.minimum(ROUGH_FRACTION, size), least)

        return self._solve(-self._gradient, error)

    def _solve(self, B: Matrix, error: Callable[[Vector], Vector]) -> Solved:
        """Solve ``(V^{-1} + D) X = B``."""
        D = self.w - self.solution.w[:, None]
        return solve_near(self.solution.repeated_covariance, D, B, error, MAX_CONJUGATE_STEPS)

    def _moved(self, dx: Matrix, ds: Matrix, fraction: Vector, must_fall: NDArray[np.bool_]) -> "Refits":
        """Return the points after a step, which is halved as long as an objective that must fall does not."""
        for _ in range(MAX_HALVINGS):
            new = replace(self, s=self.s + fraction * ds, x=self.x + fraction * dx)
            rises = must_fall & ~(new._value <= self._value)
            if not rises.any():
                break
            fraction = np.where(rises, fraction / 2, fraction)
        return new

    def _alone(self, column: int) -> SmoothSolution:
        """Return one of the fits, with factors of its own."""
        solution, v = self.solution, self.v[:, column]
        machine = replace(solution.machine, weights=v)
        return SmoothSolution(solution.gram, machine, solution.y, v, self.z[:, column], 0)

    def _completed(self, is_solved: NDArray[np.bool_]) -> "Refits":
        """Return the fits that were found and, with factorisations of their own, the others; none where there is no fit."""
        solution, s, x, exists = self.solution, self.s.copy(), self.x.copy(), is_solved.copy()
        for column in np.flatnonzero(~is_solved):
            machine = replace(solution.machine, weights=self.v[:, column])
            with suppress(Undefined, NotPositiveDefinite, np.linalg.LinAlgError):
                fit = machine.solve(solution.gram, solution.Y, [WarmStart(solution.z)]).columns[0]
                x[:, column] = fit.z - solution.z
                s[:, column] = fit.a - solution.a + solution.w * x[:, column]
                exists[column] = True
        return Refits(solution, self.rows[exists], s[:, exists], x[:, exists])
