"""Descent by L-BFGS-B in log space, from the best of several starts."""

from dataclasses import dataclass
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
    """

    n_starts: int = 1
    tolerance: float = 1e-6
    name: ClassVar[str] = "lbfgs"

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
        end = method(walk, first, list(zip(box.low, box.high, strict=True)))
        walk.settle(end.x)
        return end.success

    def _gradient(self, walk, first, bounds):
        def cost(theta):
            same = np.array_equal(theta, first.theta)
            return _finite(walk, first if same else walk.look(theta, "descent"))

        options = {"ftol": self.tolerance, "gtol": 0.0, "maxls": 12}
        return minimize(cost, first.theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options)

    def _simplex(self, walk, first, bounds):
        options = {"xatol": 0.02, "fatol": 1e-10, "initial_simplex": _simplex_around(walk.box, first.theta)}
        return minimize(
            lambda theta: walk.look(theta, "simplex").value,
            first.theta,
            method="Nelder-Mead",
            bounds=bounds,
            options=options,
        )


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
