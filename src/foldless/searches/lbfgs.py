"""Descent by L-BFGS-B in log space, from the best of several starts."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from foldless.core.contracts import Stop
from foldless.searches.base import Search
from foldless.searches.nelder_mead import descend_by_simplex
from foldless.searches.starts import best_starts

CLIFF = 1e3  # an undefined point looks this much worse than the best, in units of its size
FLOOR = 1e-3  # values below this part of the first one are as good as zero


@dataclass(frozen=True)
class LBFGS(Search):
    """Limited-memory quasi-Newton descent inside a box.

    All starts are looked at, then descent begins at the best ``n_starts`` of them. A criterion without a gradient (a
    count of errors) is searched by Nelder and Mead's simplex from the same points.

    Parameters
    ----------
    n_starts : int, default=1
        How many descents. Criteria have several local minima in the width: more descents, more of them are found.
    tolerance : float, default=1e-05
        Relative change of the criterion at which a descent is over.
    stride : float, default=1.0
        Length of the first step of a descent, in log units.
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.
    """

    n_starts: int = 1
    tolerance: float = 1e-5
    stride: float = 1.0
    name: ClassVar[str] = "lbfgs"

    @property
    def with_search_accuracy(self):
        """The same search where an evaluation costs much, or another search will follow."""
        return replace(self, tolerance=10 * self.tolerance)

    @property
    def near_optimum(self):
        """The same search near an optimum: short first steps."""
        return replace(self.with_search_accuracy, stride=0.3 * self.stride)

    def run(self, walk, box, starts):
        """Glance at the starts, then descend from the best."""
        tasks = [partial(self._descend, start=start) for start in best_starts(walk, starts, self.n_starts)]
        return Stop.CONVERGED if set(walk.run_parts(tasks)) == {Stop.CONVERGED} else Stop.STALLED

    def _descend(self, walk, start):
        first = walk.evaluate(start, "descent")
        if first.gradient is None:
            return descend_by_simplex(walk, first, self.tolerance)

        def cost(x):  # L-BFGS-B begins with a step of length one: let that be the stride
            step = first if np.array_equal(x, begin) else walk.evaluate(x * self.stride, "descent")
            value, gradient = _finite(walk, step)
            return value / unit, gradient * self.stride / unit

        unit = max(abs(first.value), np.max(np.abs(first.gradient))) or 1.0
        settled = _Settled(first.value / unit, self.tolerance)
        begin = first.theta / self.stride
        bounds = np.column_stack([walk.box.low, walk.box.high]) / self.stride
        options = {"ftol": 0.0, "gtol": 0.0, "maxls": 12}
        end = minimize(
            cost, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=settled
        )
        walk.keep_optimum(end.x * self.stride)
        return Stop.CONVERGED if end.success or settled.reached else Stop.STALLED


class _Settled:
    """Ends a descent whose gain is small against the value: L-BFGS-B itself would call all below 1e-5 alike."""

    def __init__(self, first, tolerance):
        self.last, self.least, self.tolerance = first, FLOOR * abs(first), tolerance
        self.reached = False

    def __call__(self, intermediate_result):
        value = intermediate_result.fun
        self.reached = self.last - value <= self.tolerance * max(abs(value), self.least)
        self.last = value
        if self.reached:
            raise StopIteration


def _finite(walk, look):
    if np.isfinite(look.value) and look.gradient is not None and np.all(np.isfinite(look.gradient)):
        return look.value, look.gradient
    best = walk.best.value
    return best + CLIFF * max(1.0, abs(best)), np.zeros(walk.box.size)
