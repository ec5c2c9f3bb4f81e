"""Descent by L-BFGS-B in log space, from the best of several starts."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from foldless.core.contracts import Step, Stop, Vector
from foldless.searches.base import LocalSearch, Search
from foldless.searches.nelder_mead import descend_by_simplex
from foldless.searches.run import SearchRun

# An undefined point counts as worse than the best one by this many times the scale of the criterion.
UNDEFINED_PENALTY = 1e3
# Changes are compared with the value, or with this fraction of the first value where the value is smaller.
VALUE_FLOOR_FRACTION = 1e-3
# A gradient is small below this times the root of the tolerance: a gain goes with the square of the gradient.
GRADIENT_TOLERANCE_FACTOR = 0.1
# A descent whose gradient is not small ends after so many small gains in a row.
MAX_SMALL_GAINS = 3
# Shortens the first step of a descent that continues another one.
NEAR_OPTIMUM_STRIDE_FACTOR = 0.3
# Loosens the tolerance on parts of the rows: their sampling error is larger still.
SEARCH_TOLERANCE_FACTOR = 100.0
MAX_LINE_SEARCH_STEPS = 12


@dataclass(frozen=True)
class LBFGS(LocalSearch):
    """Limited-memory quasi-Newton descent inside a box.

    All starts are evaluated, then a descent begins at each of the best ``n_starts``. A criterion without a gradient (a
    count of errors) is searched by Nelder and Mead's simplex from the same points.

    Parameters
    ----------
    n_starts : int, default=1
        Number of descents. Criteria have several local minima in the width: more descents find more of them.
    tolerance : float, default=1e-05
        A descent has converged if its last step gained less than this and the gradient is below a tenth of the root of
        it, both relative to the scale of the criterion: the value of a loss, one nat per row of a log likelihood. It
        has stalled if three steps in a row gained less than this and the gradient is larger.
    stride : float, default=1.0
        Length of the first step of a descent, in log units.
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.
    """

    tolerance: float = 1e-5
    stride: float = 1.0
    name: ClassVar[str] = "lbfgs"

    @property
    def with_search_accuracy(self) -> Search:
        """The search with a looser tolerance."""
        return replace(self, tolerance=SEARCH_TOLERANCE_FACTOR * self.tolerance)

    @property
    def near_optimum(self) -> Search:
        """The search with short first steps."""
        return replace(self, stride=NEAR_OPTIMUM_STRIDE_FACTOR * self.stride)

    def descend(self, run: SearchRun, start: Vector, number: int) -> Stop:
        """Descend from one start."""
        first = run.evaluate(start, "descent")
        if first.gradient is None:
            return descend_by_simplex(run, first, self.tolerance)
        descent = _Descent(run, first, self.tolerance, self.stride)
        end = minimize(
            descent.cost,
            descent.begin,
            jac=True,
            method="L-BFGS-B",
            bounds=np.column_stack([run.box.low, run.box.high]) / self.stride,
            options={"ftol": 0.0, "gtol": 0.0, "maxls": MAX_LINE_SEARCH_STEPS},
            callback=descent.check,
        )
        run.keep_optimum(end.x * self.stride)
        return Stop.CONVERGED if descent.has_small_gradient(descent.step_at(end.x)) else Stop.STALLED


class _Descent:
    """One descent in the units of SciPy, and the test whether it is over.

    Parameters
    ----------
    run : SearchRun
    first : Step
        Where the descent begins, with a gradient.
    tolerance : float
        Small gain, relative to the scale of the criterion.
    stride : float
        Unit of theta: SciPy's first step has length one at most.
    """

    def __init__(self, run: SearchRun, first: Step, tolerance: float, stride: float) -> None:
        self.run, self.first, self.tolerance, self.stride = run, first, tolerance, stride
        self.begin = first.theta / stride
        self.unit = max(run.scale(first.value), np.max(np.abs(self._finite(first)[1]))) or 1.0
        self._latest, self._last_value, self._n_small_gains = first, first.value, 0
        self._steps = {self.begin.tobytes(): first}

    def cost(self, x: Vector) -> tuple[float, Vector]:
        """Return value and gradient at ``x``, a theta in units of the stride."""
        key = x.tobytes()
        if key not in self._steps:
            self._latest = self._steps[key] = self.run.evaluate(x * self.stride, "descent")
        value, gradient = self._finite(self._steps[key])
        return value / self.unit, gradient * self.stride / self.unit

    def _finite(self, step: Step) -> tuple[float, Vector]:
        """Return value and gradient of a step; where they do not exist, a high value without a slope."""
        if np.isfinite(step.value) and step.gradient is not None and np.all(np.isfinite(step.gradient)):
            return step.value, step.gradient
        best = self.run.best.value
        return best + UNDEFINED_PENALTY * max(1.0, self.run.scale(best)), np.zeros(self.run.box.size)

    def step_at(self, x: Vector) -> Step:
        """Return the step at ``x``."""
        return self._steps.get(x.tobytes(), self._latest)

    def check(self, intermediate_result: OptimizeResult) -> None:
        """End the descent if its gains are small; called by SciPy after every step."""
        step = self.step_at(intermediate_result.x)
        is_small = self._last_value - step.value <= self.tolerance * self._scale(step)
        self._last_value = step.value
        self._n_small_gains = self._n_small_gains + 1 if is_small else 0
        if is_small and (self.has_small_gradient(step) or self._n_small_gains >= MAX_SMALL_GAINS):
            raise StopIteration

    def has_small_gradient(self, step: Step) -> bool:
        """Return whether the gradient is small, except where it points out of the box."""
        theta, box, gradient = step.theta, self.run.box, self._finite(step)[1]
        outwards = ((theta <= box.low) & (gradient > 0)) | ((theta >= box.high) & (gradient < 0))
        limit = GRADIENT_TOLERANCE_FACTOR * np.sqrt(self.tolerance) * self._scale(step)
        return bool(np.isfinite(step.value) and np.all(outwards | (np.abs(gradient) <= limit)))

    def _scale(self, step: Step) -> float:
        return max(self.run.scale(step.value), VALUE_FLOOR_FRACTION * self.run.scale(self.first.value))
