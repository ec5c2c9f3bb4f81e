r"""Descent by Nelder and Mead's simplex, for searches that have only values.

References
----------
.. [1] Nelder and Mead (1965), *A simplex method for function minimization*, The Computer Journal 7.
"""

import numpy as np
from scipy.optimize import minimize

from foldless.core.contracts import Stop

WIDTH = 1.0  # of the first simplex, at most; a factor e in each parameter
CLOSE = 0.01  # width of the simplex, in theta, at which a descent may be over


def descend_by_simplex(walk, first, tolerance):
    """Walk downhill from the step ``first`` and settle at the end.

    Parameters
    ----------
    walk : Walk
    first : Step
        Where to begin; its value is not evaluated again.
    tolerance : float
        Relative spread of the criterion over the simplex at which the descent is over, once it is narrow.
    """
    if not np.isfinite(first.value):
        return Stop.STALLED

    def cost(theta):
        return first.value if np.array_equal(theta, first.theta) else walk.glance(theta, "simplex").value

    options = {
        "xatol": CLOSE,
        "fatol": tolerance * max(1.0, abs(first.value)),
        "adaptive": walk.box.size > 4,
        "initial_simplex": _corners(walk.box, first.theta),
    }
    bounds = list(zip(walk.box.low, walk.box.high, strict=True))
    end = minimize(cost, first.theta, method="Nelder-Mead", bounds=bounds, options=options)
    walk.settle(end.x)
    return Stop.CONVERGED if end.success else Stop.STALLED


def _corners(box, start):
    steps = np.minimum(WIDTH, (box.high - box.low) / 4)
    inward = np.where(start + steps <= box.high, steps, -steps)
    return np.vstack([start, start + np.diag(inward)])
