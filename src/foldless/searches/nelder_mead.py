"""Nelder and Mead's simplex, which needs no gradient."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from foldless.core.contracts import Stop
from foldless.searches.base import Search
from foldless.searches.starts import best_starts


@dataclass(frozen=True)
class NelderMead(Search):
    """Descent by a simplex that crawls over the values alone.

    What Cawley and Talbot searched with. It takes several times as many evaluations as :class:`LBFGS`, and more with
    every parameter; with more than ten parameters it is seldom the right choice.

    Parameters
    ----------
    n_starts : int, default=1
        How many descents, from the best of the starts.
    tolerance : float, default=1e-06
        Relative spread of the criterion over the simplex at which a descent is over.
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.
    """

    n_starts: int = 1
    tolerance: float = 1e-6
    name: ClassVar[str] = "nelder-mead"

    def run(self, walk, box, starts):
        """Glance at the starts, then descend from the best."""
        tasks = [partial(self._descend, start=start) for start in best_starts(walk, starts, self.n_starts)]
        return Stop.CONVERGED if set(walk.run_parts(tasks)) == {Stop.CONVERGED} else Stop.STALLED

    def _descend(self, walk, start):
        return descend_by_simplex(walk, walk.evaluate_value(start, "simplex"), self.tolerance)


WIDTH = 1.0  # of the first simplex, at most; a factor e in each parameter
CLOSE = 0.01  # width of the simplex, in theta, at which a descent may be over


def descend_by_simplex(walk, first, tolerance):
    """Walk downhill from the step ``first`` and settle at the end.

    Parameters
    ----------
    walk : SearchRun
    first : Step
        Where to begin; its value is not evaluated again.
    tolerance : float
        Relative spread of the criterion over the simplex at which the descent is over, once it is narrow.
    """
    if not np.isfinite(first.value):
        return Stop.STALLED

    def cost(theta):
        return (
            first.value if np.array_equal(theta, first.theta) else walk.evaluate_value(theta, "simplex").value
        )

    options = {
        "xatol": CLOSE,
        "fatol": tolerance * max(1.0, abs(first.value)),
        "adaptive": walk.box.size > 4,
        "initial_simplex": _corners(walk.box, first.theta),
    }
    bounds = list(zip(walk.box.low, walk.box.high, strict=True))
    end = minimize(cost, first.theta, method="Nelder-Mead", bounds=bounds, options=options)
    walk.keep_optimum(end.x)
    return Stop.CONVERGED if end.success else Stop.STALLED


def _corners(box, start):
    steps = np.minimum(WIDTH, (box.high - box.low) / 4)
    inward = np.where(start + steps <= box.high, steps, -steps)
    return np.vstack([start, start + np.diag(inward)])
