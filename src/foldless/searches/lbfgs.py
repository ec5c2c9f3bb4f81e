"""Descent by L-BFGS-B in log space, from the best of several starts."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from foldless.contracts import Stop
from foldless.simplex import descend_by_simplex
from foldless.walk import Search, best_starts

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
        tasks = [partial(self._descend, start=start) for start in best_starts(walk, starts, self.n_starts)]
        return Stop.CONVERGED if set(walk.spread(tasks)) == {Stop.CONVERGED} else Stop.STALLED

    def _descend(self, walk, start):
        first = walk.look(start, "descent")
        if first.gradient is None:
            return descend_by_simplex(walk, first, self.tolerance)

        def cost(theta):
            same = np.array_equal(theta, first.theta)
            return _finite(walk, first if same else walk.look(theta, "descent"))

        options = {"ftol": self.tolerance, "gtol": 0.0, "maxls": 12}
        bounds = list(zip(walk.box.low, walk.box.high, strict=True))
        end = minimize(cost, first.theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        walk.settle(end.x)
        return Stop.CONVERGED if end.success else Stop.STALLED


def _finite(walk, look):
    if np.isfinite(look.value) and look.gradient is not None and np.all(np.isfinite(look.gradient)):
        return look.value, look.gradient
    best = walk.best.value
    return best + CLIFF * max(1.0, abs(best)), np.zeros(walk.box.size)
