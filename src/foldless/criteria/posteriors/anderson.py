r"""Fixed points of maps that overshoot, by damped steps that are accelerated with the help of the last few.

From a point x with residual :math:`f = g(x) - x` the plain step is :math:`x + \delta f`; the damping :math:`\delta` is halved when
the residual grows and recovers slowly. Near the end the differences :math:`\Delta X, \Delta F` of the last few points show how
f changes with x (Anderson's mixing [1]_):

.. math:: x + \delta f - (\Delta X + \delta \Delta F)\, \gamma, \qquad \gamma = \arg\min \|f - \Delta F\, \gamma\|.  \tag{1}

A mixed step after which the residual is larger is taken back and the plain one made.

References
----------
.. [1] Anderson, *Iterative procedures for nonlinear integral equations*, 1965.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Vector

DAMPING_MAX, DAMPING_MIN = 0.8, 0.005
DAMPING_GROWTH = 1.2
# Steps are mixed, eq. (1), once the residual is below this.
MIXING_MAX_RESIDUAL = 0.1
MIXING_MAX_DIFFERENCES = 5
# Stop when the residual is below 1e-6 and has not improved for 15 iterations: rounding prevents more.
ROUNDING_MAX_RESIDUAL, ROUNDING_ITERATIONS = 1e-6, 15


class FixedPoint:
    """The state of one iteration: call :meth:`settled`, and while it is not, :meth:`advance`.

    Parameters
    ----------
    x : array of shape (n,)
        The first point.

    Attributes
    ----------
    x : array of shape (n,)
        The point at which to compute the next residual.

    Examples
    --------
    >>> point = FixedPoint(np.zeros(1))
    >>> while not point.settled(change := float(abs(np.cos(point.x) - point.x)[0]), 1e-12):
    ...     point.advance(np.cos(point.x) - point.x, change, np.ones(1), np.isfinite)
    >>> round(float(point.x[0]), 10)
    0.7390851332
    """

    def __init__(self, x: Vector) -> None:
        self.x = x
        self._damping, self._last, self._mixed = DAMPING_MAX, np.inf, False
        # The point before this one, and its residual.
        self._before: tuple[Vector, Vector] | None = None
        # The columns of Delta X and Delta F in eq. (1).
        self._point_differences: list[Vector] = []
        self._residual_differences: list[Vector] = []
        self._least, self._since = np.inf, 0

    def settled(self, change: float, tolerance: float) -> bool:
        """Return whether a residual of size ``change`` is small enough, or as small as rounding allows."""
        self._since = 0 if change < self._least else self._since + 1
        self._least = min(self._least, change)
        small = self._least <= ROUNDING_MAX_RESIDUAL and change <= 10 * self._least
        stuck = small and self._since >= ROUNDING_ITERATIONS
        return bool(change <= tolerance or stuck)

    def advance(
        self, f: Vector, change: float, units: Vector, valid: Callable[[Vector], NDArray[np.bool_]]
    ) -> None:
        """Move ``x`` by one step.

        Parameters
        ----------
        f : array of shape (n,)
            The residual at ``x``.
        change : float
            Size of the residual.
        units : array of shape (n,)
            Typical sizes of the entries of ``x``; eq. (1) measures in them.
        valid : callable
            Returns, entry by entry, whether a mixed point is allowed. Plain steps are always taken.
        """
        if self._mixed and self._before is not None and not change < self._last:
            x, f = self._before
            self._forget()
            self.x, self._mixed = x + self._damping * f, False
            return
        if change < self._last:
            self._damping = min(DAMPING_MAX, DAMPING_GROWTH * self._damping)
            self._learn(f)
        else:
            self._damping = max(DAMPING_MIN, self._damping / 2)
            self._forget()
        self._before, self._last = (self.x, f), change
        plain = self.x + self._damping * f
        mixes = change < MIXING_MAX_RESIDUAL and len(self._point_differences) > 1
        mixed = self._mix(f, units) if mixes else plain
        self._mixed = mixes and bool(np.all(valid(mixed)))
        self.x = mixed if self._mixed else plain

    def _learn(self, f: Vector) -> None:
        """Keep the differences from the point before."""
        if self._before is not None:
            x, g = self._before
            self._point_differences = [*self._point_differences, self.x - x][-MIXING_MAX_DIFFERENCES:]
            self._residual_differences = [*self._residual_differences, f - g][-MIXING_MAX_DIFFERENCES:]

    def _forget(self) -> None:
        self._point_differences, self._residual_differences = [], []

    def _mix(self, f: Vector, units: Vector) -> Vector:
        """Return the point of eq. (1)."""
        X, F = np.column_stack(self._point_differences), np.column_stack(self._residual_differences)
        gamma = np.linalg.lstsq(F / units[:, None], f / units, rcond=1e-10)[0]
        return self.x + self._damping * (f - F @ gamma) - X @ gamma
