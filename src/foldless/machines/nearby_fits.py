r"""Fits of a smooth machine that are near one quadratic problem, all of them together.

Every column of a matrix is a fit of its own: to the labels of another class, or without another row. All of them have the penalty
:math:`z' K^{-1} z / 2C` of their outputs z (the bias-included limit where there is one), and start from outputs where its slope
:math:`\beta` is known. One factorisation serves them all: that of :math:`V = (K^{-1}/C + W)^{-1}` with the curvatures W of a
*model*. Where the outputs move by :math:`V s` the slope of the penalty moves by :math:`s - W V s`. With minus the slopes
:math:`a` and the curvatures :math:`w` of the losses of a fit, a Newton step solves

.. math:: (V^{-1} + D)\, dz = a - \beta, \qquad D = \operatorname{diag}(w) - W,  \tag{1}

by conjugate gradients with V as preconditioner, so that nothing but products with V is needed. Where these lose digits the outputs
drift away from :math:`C K \beta + b`, unless they are set to that after every step.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from foldless.core.conjugate_gradients import Solved, dots, solve_near
from foldless.core.contracts import Matrix, Vector
from foldless.core.memo import cached_property
from foldless.machines.losses.protocols import SmoothLoss
from foldless.machines.newton import FULL_STEP_DECREMENT, PLANE_DECREMENT, STALLED_DECREMENT
from foldless.machines.step_plane import best_in_plane

MAX_NEWTON_STEPS, MAX_HALVINGS, MAX_CONJUGATE_STEPS = 20, 10, 100
# What conjugate gradients leave of the decrement of a step: this fraction, or the decrement itself if that is less.
ROUGH_FRACTION = 0.01
# A last Newton step with a factorisation squares the error. One by conjugate gradients does not, and so must begin below the tolerance.
INEXACT_FRACTION = 1e-3
# After so many conjugate gradients for one step another model pays.
MAX_MODEL_STEPS = 20
TINY = float(np.finfo(float).tiny)


class Model(NamedTuple):
    """The quadratic problem that is factorised.

    Attributes
    ----------
    V : callable
        Returns the product of V with a matrix.
    w : array of shape (n,)
        Its curvatures W.
    belonging : callable, optional
        Given outputs and slopes of the penalty that belong together up to rounding, it returns both without that; for a V of few digits.
    """

    V: Callable[[Matrix], Matrix]
    w: Vector
    belonging: Callable[[Matrix, Matrix], tuple[Matrix, Matrix]] | None = None


@dataclass(frozen=True, eq=False)
class NearbyFits:
    """Points on the way to several fits.

    Parameters
    ----------
    loss : SmoothLoss
    model : Model
    y, v : arrays of shape (n, k)
        Targets and weights of the rows.
    z : array of shape (n, k)
        Outputs.
    beta : array of shape (n, k)
        Slopes of the penalty there.
    """

    loss: SmoothLoss
    model: Model
    y: Matrix
    v: Matrix
    z: Matrix
    beta: Matrix

    @cached_property
    def _derivatives(self) -> tuple[Matrix, Matrix, Matrix]:
        return self.loss.derivatives(self.y, self.z)

    @cached_property
    def a(self) -> Matrix:
        """Minus the slopes of the losses (n, k)."""
        return -self.v * self._derivatives[0]

    @cached_property
    def w(self) -> Matrix:
        """Curvatures of the losses (n, k)."""
        return self.v * self._derivatives[1]

    @cached_property
    def value(self) -> Vector:
        """The objectives (k,)."""
        return dots(self.z, self.beta) / 2 + np.sum(self.v * self.loss.value(self.y, self.z), axis=0)

    def on(self, columns: NDArray[np.bool_]) -> Self:
        """Return some of the fits; itself if those are all."""
        if columns.all():
            return self
        names = ("y", "v", "z", "beta")
        return replace(self, **{name: getattr(self, name)[:, columns] for name in names})

    def solved(
        self, decrement: float, renewed: Callable[[Matrix], Model] | None = None
    ) -> tuple[Self, NDArray[np.bool_]]:
        """Return the fits after as many Newton steps as they need, and which of them were found.

        Parameters
        ----------
        decrement : float
            Largest decrement of a fit that the factorisation of its own Hessian would have found.
        renewed : callable, optional
            Given the curvatures of the fits, it returns a model that suits them; for fits that begin far from their end.
        """
        goal = INEXACT_FRACTION * decrement
        z, beta, is_solved = self.z.copy(), self.beta.copy(), np.zeros(self.z.shape[1], bool)
        points, left, last = self, np.arange(len(is_solved)), np.full(len(is_solved), np.inf)
        for _ in range(MAX_NEWTON_STEPS):
            step = points._newton_step(goal)
            found = dots(points.a - points.beta, step.x)
            relative = found / np.maximum(1.0, points.value)
            # Where the decrement does not shrink any more, rounding is all that is left.
            stalls = (relative <= STALLED_DECREMENT) & (found >= last)
            is_last = step.is_solved & ((found <= goal) | (stalls & (found <= decrement)))
            is_long = (relative > PLANE_DECREMENT) & (renewed is not None)
            points = points._moved(step, relative > FULL_STEP_DECREMENT, is_long)
            z[:, left], beta[:, left], is_solved[left] = points.z, points.beta, is_last
            goes_on = ~is_last & ~stalls & np.isfinite(found)
            if not goes_on.any():
                break
            points, left, last = points.on(goes_on)._without_drift(), left[goes_on], found[goes_on]
            if renewed is not None and step.n_steps > MAX_MODEL_STEPS:
                points = replace(points, model=renewed(points.w))
        result = replace(self, z=z, beta=beta)
        return result, is_solved & np.isfinite(result.value)

    def _without_drift(self) -> Self:
        if self.model.belonging is None:
            return self
        z, beta = self.model.belonging(self.z, self.beta)
        return replace(self, z=z, beta=beta)

    def _newton_step(self, goal: float) -> Solved:
        def error(size: Vector) -> Vector:
            least = ROUGH_FRACTION * goal / np.maximum(size, TINY)
            return np.maximum(np.minimum(ROUGH_FRACTION, size), least)

        return self.solve(self.a - self.beta, error)

    def solve(self, B: Matrix, error: Callable[[Vector], Vector]) -> Solved:
        """Solve ``(V^{-1} + D) X = B`` of eq. (1)."""
        return solve_near(self.model.V, self.w - self.model.w[:, None], B, error, MAX_CONJUGATE_STEPS)

    def _moved(self, step: Solved, must_fall: NDArray[np.bool_], is_long: NDArray[np.bool_]) -> Self:
        """Return the points after a step, which is halved as long as an objective that must fall does not.

        After long steps they are the best points in the plane of the step, where these are better.
        """
        slope, fraction = step.s - self.model.w[:, None] * step.x, np.ones(len(must_fall))
        for _ in range(MAX_HALVINGS):
            new = replace(self, z=self.z + fraction * step.x, beta=self.beta + fraction * slope)
            rises = must_fall & ~(new.value <= self.value)
            if not rises.any():
                break
            fraction = np.where(rises, fraction / 2, fraction)
        if not is_long.any():
            return new
        z, beta = best_in_plane(self.loss, self.y, self.v, (self.z, self.beta), (step.x, slope))
        found = replace(self, z=z, beta=beta)
        is_better = is_long & (found.value < new.value)
        return replace(self, z=np.where(is_better, z, new.z), beta=np.where(is_better, beta, new.beta))
