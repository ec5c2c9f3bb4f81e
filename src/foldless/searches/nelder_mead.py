"""Nelder and Mead's simplex, which needs no gradient."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from foldless.core.contracts import Box, Matrix, Step, Stop, Vector
from foldless.searches.base import LocalSearch
from foldless.searches.run import SearchRun

# Largest width of the first simplex, in theta: a factor e in each parameter.
FIRST_SIMPLEX_WIDTH = 1.0
# Width of the simplex, in theta, below which a descent may end.
LAST_SIMPLEX_WIDTH = 0.01
# Number of parameters above which SciPy adapts the moves of the simplex to the dimension.
ADAPTIVE_MIN_PARAMETERS = 5


@dataclass(frozen=True)
class NelderMead(LocalSearch):
    """Descent by a simplex that uses the values alone.

    Cawley and Talbot searched with it. It takes several times as many evaluations as :class:`LBFGS`, and more with
    every parameter; with more than ten parameters it is seldom the right choice.

    Parameters
    ----------
    n_starts : int, default=1
        Number of descents, from the best of the starts.
    tolerance : float, default=1e-06
        Spread of the criterion over the simplex, relative to its scale, at which a descent ends.
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.
    """

    tolerance: float = 1e-6
    name: ClassVar[str] = "nelder-mead"

    def descend(self, run: SearchRun, start: Vector, number: int) -> Stop:
        """Descend from one start."""
        return descend_by_simplex(run, run.evaluate(start, "simplex", gradient=False), self.tolerance)


def descend_by_simplex(run: SearchRun, first: Step, tolerance: float) -> Stop:
    """Descend from the step ``first``, keep the end as a local optimum and return why the descent ended.

    Parameters
    ----------
    run : SearchRun
    first : Step
        Where to begin; it is not evaluated again.
    tolerance : float
        Spread of the criterion over the simplex, relative to its scale, at which the descent ends, once the simplex is
        narrow.
    """
    if not np.isfinite(first.value):
        return Stop.STALLED

    def cost(theta: Vector) -> float:
        is_first = np.array_equal(theta, first.theta)
        return first.value if is_first else run.evaluate(theta, "simplex", gradient=False).value

    options = {
        "xatol": LAST_SIMPLEX_WIDTH,
        "fatol": tolerance * run.scale(first.value),
        "adaptive": run.box.size >= ADAPTIVE_MIN_PARAMETERS,
        "initial_simplex": _corners(run.box, first.theta),
    }
    bounds = list(zip(run.box.low, run.box.high, strict=True))
    end = minimize(cost, first.theta, method="Nelder-Mead", bounds=bounds, options=options)
    run.keep_optimum(end.x)
    return Stop.CONVERGED if end.success else Stop.STALLED


def _corners(box: Box, start: Vector) -> Matrix:
    """Return the corners of the first simplex: the start, and one step inwards from it along each parameter."""
    steps = np.minimum(FIRST_SIMPLEX_WIDTH, (box.high - box.low) / 4)
    inward = np.where(start + steps <= box.high, steps, -steps)
    return np.vstack([start, start + np.diag(inward)])
