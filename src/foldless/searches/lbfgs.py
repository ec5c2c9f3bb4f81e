"""Descent by L-BFGS-B in log space, from the best of several starts."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from foldless.core.contracts import Step, Stop, Vector
from foldless.searches.base import LocalSearch, Search
from foldless.searches.nelder_mead import descend_by_simplex
from foldless.searches.run import SearchRun

# An undefined point counts as worse than the best one by this many times the best one's size.
UNDEFINED_PENALTY = 1e3
# Gains are relative to the value, or to this fraction of the first value where the value is smaller.
VALUE_FLOOR_FRACTION = 1e-3
# Shortens the first step of a descent that continues another one.
NEAR_OPTIMUM_STRIDE_FACTOR = 0.3
# Loosens the tolerance of a descent that another one will follow.
SEARCH_TOLERANCE_FACTOR = 10.0
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
        Relative change of the criterion at which a descent ends.
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
        """The search with a looser tolerance and short first steps."""
        tolerance = SEARCH_TOLERANCE_FACTOR * self.tolerance
        return replace(self, tolerance=tolerance, stride=NEAR_OPTIMUM_STRIDE_FACTOR * self.stride)

    def descend(self, run: SearchRun, start: Vector, number: int) -> Stop:
        """Descend from one start."""
        first = run.evaluate(start, "descent")
        if first.gradient is None:
            return descend_by_simplex(run, first, self.tolerance)
        unit = max(abs(first.value), np.max(np.abs(first.gradient))) or 1.0
        # L-BFGS-B begins with a step of length one; in units of the stride that is the stride.
        begin = first.theta / self.stride

        def cost(x: Vector) -> tuple[float, Vector]:
            step = first if np.array_equal(x, begin) else run.evaluate(x * self.stride, "descent")
            value, gradient = _finite(run, step)
            return value / unit, gradient * self.stride / unit

        gain = _GainTest(first.value / unit, self.tolerance)
        end = minimize(
            cost,
            begin,
            jac=True,
            method="L-BFGS-B",
            bounds=np.column_stack([run.box.low, run.box.high]) / self.stride,
            options={"ftol": 0.0, "gtol": 0.0, "maxls": MAX_LINE_SEARCH_STEPS},
            callback=gain,
        )
        run.keep_optimum(end.x * self.stride)
        return Stop.CONVERGED if end.success or gain.is_small else Stop.STALLED


class _GainTest:
    """Ends a descent whose gain is small against the value; SciPy's own test is absolute for values below one."""

    def __init__(self, first: float, tolerance: float) -> None:
        self.last, self.floor, self.tolerance = first, VALUE_FLOOR_FRACTION * abs(first), tolerance
        self.is_small = False

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        value = intermediate_result.fun
        self.is_small = self.last - value <= self.tolerance * max(abs(value), self.floor)
        self.last = value
        if self.is_small:
            raise StopIteration


def _finite(run: SearchRun, step: Step) -> tuple[float, Vector]:
    """Return value and gradient of a step; where they do not exist, a high value without a slope."""
    if np.isfinite(step.value) and step.gradient is not None and np.all(np.isfinite(step.gradient)):
        return step.value, step.gradient
    best = run.best.value
    return best + UNDEFINED_PENALTY * max(1.0, abs(best)), np.zeros(run.box.size)
