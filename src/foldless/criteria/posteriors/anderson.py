r"""Fixed points of maps that overshoot: damped steps, sped up by what the last ones taught.

From a point x with residual :math:`f = g(x) - x` the plain step is :math:`x + \delta f`; the damping :math:`\delta` is halved when
the residual grows and recovers slowly. Near the end the differences :math:`\Delta X, \Delta F` of the last few points tell how f
changes with x (Anderson's mixing [1]_):

.. math:: x + \delta f - (\Delta X + \delta \Delta F)\, \gamma, \qquad \gamma = \arg\min \|f - \Delta F\, \gamma\|.  \tag{1}

A mixed step after which the residual is larger is taken back and the plain one made.

References
----------
.. [1] Anderson, *Iterative procedures for nonlinear integral equations*, 1965.
"""

import numpy as np

FASTEST, SLOWEST = 0.8, 0.005  # damping
GROWTH = 1.2
NEAR = 0.1  # residuals below which steps are mixed
DEPTH = 5  # differences remembered
ROUNDING, PATIENCE = (
    1e-6,
    15,
)  # a residual below the one that has not fallen for so many rounds is all the digits there are


class FixedPoint:
    """The state of one iteration; ask :meth:`settled`, then :meth:`advance`.

    Parameters
    ----------
    x : array of shape (n,)
        Where to begin.

    Attributes
    ----------
    x : array of shape (n,)
        Where to look next.

    Examples
    --------
    >>> point = FixedPoint(np.zeros(1))
    >>> while not point.settled(change := float(abs(np.cos(point.x) - point.x)[0]), 1e-12):
    ...     point.advance(np.cos(point.x) - point.x, change, np.ones(1), np.isfinite)
    >>> round(float(point.x[0]), 10)
    0.7390851332
    """

    def __init__(self, x):
        self.x = x
        self._damping, self._last, self._mixed = FASTEST, np.inf, False
        self._before = None  # the point before and its residual
        self._steps, self._turns = [], []  # the columns of eq. (1)
        self._least, self._since = np.inf, 0

    def settled(self, change, tolerance):
        """Tell whether a residual of size ``change`` is small enough, or as small as rounding lets it be."""
        self._since = 0 if change < self._least else self._since + 1
        self._least = min(self._least, change)
        stuck = self._since >= PATIENCE and self._least <= ROUNDING and change <= 10 * self._least
        return bool(change <= tolerance or stuck)

    def advance(self, f, change, units, valid):
        """Move on.

        Parameters
        ----------
        f : array of shape (n,)
            The residual at ``x``.
        change : float
            Its size.
        units : array of shape (n,)
            Sizes of the entries of ``x``, in which eq. (1) measures.
        valid : callable
            Entry by entry, whether a point may be looked at; plain steps are never asked.
        """
        if self._mixed and not change < self._last:
            x, f = self._before
            self._forget()
            self.x, self._mixed = x + self._damping * f, False
            return
        if change < self._last:
            self._damping = min(FASTEST, GROWTH * self._damping)
            self._learn(f)
        else:
            self._damping = max(SLOWEST, self._damping / 2)
            self._forget()
        self._before, self._last = (self.x, f), change
        mixed = self._mix(f, units) if change < NEAR and len(self._steps) > 1 else None
        self._mixed = mixed is not None and bool(np.all(valid(mixed)))
        self.x = mixed if self._mixed else self.x + self._damping * f

    def _learn(self, f):
        if self._before is not None:
            self._steps = [*self._steps, self.x - self._before[0]][-DEPTH:]
            self._turns = [*self._turns, f - self._before[1]][-DEPTH:]

    def _forget(self):
        self._steps, self._turns = [], []

    def _mix(self, f, units):
        """The point of eq. (1)."""
        X, F = np.column_stack(self._steps), np.column_stack(self._turns)
        gamma = np.linalg.lstsq(F / units[:, None], f / units, rcond=1e-10)[0]
        return self.x + self._damping * (f - F @ gamma) - X @ gamma
