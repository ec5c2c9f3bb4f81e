"""Descent by L-BFGS-B in log space, from the best of several starts."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from foldless.contracts import Stop
from foldless.walk import Search

CLIFF = 1e3  # an undefined point looks this much worse than the best, in units of its size


@dataclass(frozen=True)
class LBFGS(Search):
    """Limited-memory quasi-Newton descent inside a box.

    All starts are looked at, then descent begins at the best ``n_starts`` of them. A criterion without a gradient (a
    count of errors) is searched by Nelder and Mead's simplex from the same points.

    Parameters
    ----------
    n_starts : int
        How many descents. Criteria have several local minima in the width: more descents, more of them are found.
    tolerance : float
        Relative change of the criterion at which a descent is over.
    stride : float
        Length of the first step of a descent, in log units.
    """

    n_starts: int = 1
    tolerance: float = 1e-5
    stride: float = 1.0
    name: ClassVar[str] = "lbfgs"

    @property
    def rough(self):
        """The same search where an evaluation costs much, or another search will follow."""
        return replace(self, tolerance=10 * self.tolerance)

    @property
    def polish(self):
        """The same search near an optimum: short first steps."""
        return replace(self.rough, stride=0.3 * self.stride)

    def run(self, walk, box, starts):
        """Glance at the starts, then descend from the best."""
        if box.size == 0:
            walk.glance(np.zeros(0), "nothing to tune")
            return Stop.NOTHING
        glances = [walk.glance(theta, "start") for theta in starts] if len(starts) > self.n_starts else []
        begin = [step.theta for step in sorted(glances, key=lambda step: step.value)] or starts
        ends = [self._descend(walk, box, theta) for theta in begin[: self.n_starts]]
        return Stop.CONVERGED if all(ends) else Stop.STALLED

    def _descend(self, walk, box, start):
        first = walk.look(start, "descent")
        if not np.isfinite(first.value):
            return False
        method = self._gradient if first.gradient is not None else self._simplex
        return method(walk, first, list(zip(box.low, box.high, strict=True)))

    def _gradient(self, walk, first, bounds):
        def cost(x):  # L-BFGS-B begins with a step of length one: let that be the stride
            theta = np.clip(x * self.stride, walk.box.low, walk.box.high)
            step = first if np.array_equal(x, begin) else walk.look(theta, "descent")
            value, gradient = _finite(walk, step)
            return value, gradient * self.stride

        begin = first.theta / self.stride
        options = {"ftol": self.tolerance, "gtol": 0.0, "maxls": 12}
        end = minimize(
            cost, begin, jac=True, method="L-BFGS-B", bounds=np.array(bounds) / self.stride, options=options
        )
        walk.settle(end.x * self.stride)
        return end.success

    def _simplex(self, walk, first, bounds):
        options = {"xatol": 0.02, "fatol": 1e-10, "initial_simplex": _simplex_around(walk.box, first.theta)}
        end = minimize(
            lambda theta: walk.look(theta, "simplex").value,
            first.theta,
            method="Nelder-Mead",
            bounds=bounds,
            options=options,
        )
        walk.settle(end.x)
        return end.success


def _finite(walk, look):
    if np.isfinite(look.value) and look.gradient is not None and np.all(np.isfinite(look.gradient)):
        return look.value, look.gradient
    best = walk.best.value
    return best + CLIFF * max(1.0, abs(best)), np.zeros(walk.box.size)


def _simplex_around(box, start):
    width = box.high - box.low
    corners = np.tile(start, (box.size + 1, 1))
    for i in range(box.size):
        step = min(1.0, width[i] / 4)
        corners[i + 1, i] += step if start[i] + step <= box.high[i] else -step
    return corners
