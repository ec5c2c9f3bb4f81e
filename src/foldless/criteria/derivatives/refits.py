r"""Fits of a smooth machine without one row each, all of them together, and the derivatives of their losses.

They are near the fit to all rows, see :mod:`foldless.machines.nearby_fits`, which has the outputs :math:`z`, minus the slopes :math:`a`
and the curvatures :math:`w` of its losses, and the covariance :math:`V`. The first Newton step without row i is known:
it moves the outputs by :math:`V s`, :math:`s = -e_i \varphi_i a_i / k_i`, with :math:`\varphi_i` the fraction that one row is of point i and
:math:`k_i = 1 - \varphi_i w_i V_{ii}`.

Where the curvature can vanish far from the targets, or grow without bounds, few digits are left of V for large C: fits of numbers and
counts, and those of labels that are not found in this way, have factorisations of their own.

A loss :math:`g = \ell'(y_i, z_i)` at the row that a fit leaves out has the derivatives

.. math:: \frac{d}{dK} = \tfrac{C g}2 (p\, a' + a\, p'), \quad p = (I - W V) e_i, \qquad
          \frac{d}{d\log C} = g\, (V a)_i,  \tag{1}

with :math:`a`, :math:`W` and :math:`V` of this fit.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from foldless.core.conjugate_gradients import dots
from foldless.core.contracts import Adjoint, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.core.gram import Rows
from foldless.grams.adjoints import add_symmetric
from foldless.machines.nearby_fits import Model, NearbyFits
from foldless.machines.smooth import SmoothSolution, WarmStart


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits without one row each.

    Parameters
    ----------
    solution : SmoothSolution
        The fit to all rows.
    rows : array of shape (k,)
        Those that are left out.
    fits : NearbyFits
        One for each.
    """

    solution: SmoothSolution
    rows: Rows
    fits: NearbyFits

    @classmethod
    def of(cls, solution: SmoothSolution, rows: Iterable[int]) -> "Refits":
        """Fit without each of ``rows`` that can be left out: a class, or all counts above zero, may consist of one row."""
        found = cls._after_one_step(solution, np.array(list(rows), dtype=np.intp))
        if not len(found.rows):
            return found
        is_solved = np.zeros(len(found.rows), bool)
        if found._share_products:
            fits, is_solved = found.fits.solved(solution.machine.decrement * float(np.sum(solution.v)))
            found = replace(found, fits=fits)
        return found if is_solved.all() else found._completed(is_solved)

    @property
    def _share_products(self) -> bool:
        """Whether products with V are accurate enough: for labels."""
        return self.solution.machine.loss.labels

    @classmethod
    def _after_one_step(cls, solution: SmoothSolution, rows: Rows) -> "Refits":
        columns = np.arange(len(rows))
        s, dz = np.zeros((2, solution.gram.n, len(rows)))
        v = np.repeat(solution.v[:, None], len(rows), axis=1)
        v[rows, columns] *= 1 - solution.fraction_of_one_row[rows]
        if len(rows):
            pulls = (solution.fraction_of_one_row * solution.a / solution.one_minus_leverage)[rows]
            s[rows, columns] = -pulls
            dz = -solution.covariance_columns(rows) * pulls
        y, z = np.broadcast_to(solution.y[:, None], dz.shape), solution.z[:, None] + dz
        beta = solution.a[:, None] + s - solution.w[:, None] * dz
        model = Model(solution.repeated_covariance, solution.w)
        return cls(solution, rows, NearbyFits(solution.machine.loss, model, y, v, z, beta))

    @property
    def outputs(self) -> Vector:
        """The output at each row of the fit without it."""
        return self.fits.z[self.rows, np.arange(len(self.rows))]

    def add_derivatives(self, g: Vector, adjoint: Adjoint, slope: Vector) -> tuple[Adjoint, Vector]:
        """Return adjoint and slope of a cost plus (1) for every row.

        Parameters
        ----------
        g : array of shape (k,)
            Derivatives of the cost in ``outputs``.
        adjoint, slope
            Of the other terms of the cost.
        """
        if not len(self.rows):
            return adjoint, slope
        fits, units = self.fits, np.zeros_like(self.fits.z)
        units[self.rows, np.arange(len(self.rows))] = g
        columns, is_solved = np.zeros_like(units), np.zeros(len(g), bool)
        if self._share_products:
            error = partial(np.full_like, fill_value=self.solution.machine.decrement)
            columns, _, is_solved, _ = fits.solve(units, error)
        for i in map(int, np.flatnonzero(~is_solved)):
            columns[:, i] = self._alone(i).covariance(units[:, i])
        P, slopes = units - fits.w * columns, dots(columns, fits.a)
        return add_symmetric(adjoint, self.solution.C * P, fits.a), slope + np.sum(slopes)

    def _alone(self, column: int) -> SmoothSolution:
        """Return one of the fits, with factors of its own."""
        solution, v = self.solution, self.fits.v[:, column]
        machine = replace(solution.machine, weights=v)
        return SmoothSolution(solution.gram, machine, solution.y, v, self.fits.z[:, column], 0)

    def _completed(self, is_solved: NDArray[np.bool_]) -> "Refits":
        """Return the fits that were found and, with factorisations of their own, the others; none where there is no fit."""
        solution, exists = self.solution, is_solved.copy()
        z, beta = self.fits.z.copy(), self.fits.beta.copy()
        for column in np.flatnonzero(~is_solved):
            machine = replace(solution.machine, weights=self.fits.v[:, column])
            with suppress(Undefined, NotPositiveDefinite, np.linalg.LinAlgError):
                fit = machine.solve(solution.gram, solution.Y, [WarmStart(solution.z)]).columns[0]
                z[:, column], beta[:, column], exists[column] = fit.z, fit.a, True
        return Refits(solution, self.rows[exists], replace(self.fits, z=z, beta=beta).on(exists))
