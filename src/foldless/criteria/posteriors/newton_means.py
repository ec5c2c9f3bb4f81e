r"""Sites of expectation propagation where plain rounds overshoot: Newton's method for the means, with a search along the line.

Many rows with little variance between them make the factors look like kinks, and sites that all move at once jump from one
side of them to the other. For fixed variances v of the cavities, however, the means :math:`\mu = K b` minimise a convex
function,

.. math:: \tfrac12 \mu' K^{-1} \mu + \sum_i \psi_i(s_i), \qquad \psi_i'(s_i) = -d_1(m_i), \qquad
          s_i = y_i \mu_i = m_i + v_i\, d_1(m_i).  \tag{1}

The second derivatives of :math:`\psi` are the precisions of the sites, so that the mean of the next Gaussian is the point
to which Newton's method moves. The step is as long as the slope of (1) along it,

.. math:: \Delta\mu' \bigl(b + t\,\Delta b - y \circ d_1(m(t))\bigr),  \tag{2}

is negative. Then the variances follow halfway, in their logarithms: at full length two sets of them may alternate.
"""

import numpy as np

from foldless.core.contracts import Vector
from foldless.criteria.posteriors.sites import MIN_VARIANCE, Site, Tilted

# Errors of the means of cavities, in deviations, that do not matter far from the fixed point.
CAVITY_TOLERANCE, CAVITY_MAX_STEPS = 1e-4, 30
# Bounds 1 / 1000 on the slope of s in m, which is that of a kink, and on the fraction of an interval that is cut off.
MIN_SLOPE, MIN_CUT = 1e-3, 0.1
# A step along the line ends where the slope (2) is below this fraction of the first one.
SLOPE_FRACTION, LINE_MAX_STEPS = 0.2, 8


class NewtonMeans:
    """The state of one iteration: give :meth:`advance` the Gaussian of the sites ``x``, and ``x`` are the next sites.

    Parameters
    ----------
    site : Site
    y : array of shape (n,)
        Signs of the margins.
    mu, b, v : arrays of shape (n,)
        Where to begin; see :meth:`advance`.
    m : array of shape (n,)
        Means of the cavities there.

    Attributes
    ----------
    x : array of shape (2 n,)
        Precisions and shifts of the sites.
    """

    def __init__(self, site: Site, y: Vector, mu: Vector, b: Vector, v: Vector, m: Vector) -> None:
        self._site, self._y = site, y
        self._mu, self._b, self._v, self._m = mu, b, v, y * m
        self.x = self._sites()

    def advance(self, mu: Vector, b: Vector, v: Vector) -> None:
        """Move the means towards ``mu``, and the sites to where they belong at these means.

        Parameters
        ----------
        mu, b : arrays of shape (n,)
            Means of the Gaussian of the sites, and their coefficients: ``mu = K b``.
        v : array of shape (n,)
            Variances of its cavities.
        """
        self._move(mu - self._mu, b - self._b)
        self._v = np.sqrt(v * self._v)
        self.x = self._sites()

    def _sites(self) -> Vector:
        """Return precisions and shifts of the sites at the means and variances as they are."""
        tilted = self._cavities(self._mu)
        bend, self._pull = tilted.minus_d2, self._y * tilted.d1
        return np.r_[bend, self._pull + self._y * self._m * bend] / np.tile(1 - self._v * bend, 2)

    def _move(self, dmu: Vector, db: Vector) -> None:
        """Go along the line to where the slope (2) is small, at most to its end."""
        mu, b = self._mu, self._b
        low, at_low, high, at_high = 0.0, float(dmu @ (b - self._pull)), 1.0, np.inf
        first, t = abs(at_low), 1.0
        for _ in range(LINE_MAX_STEPS):
            slope = float(dmu @ (b + t * db - self._y * self._cavities(mu + t * dmu).d1))
            if abs(slope) <= SLOPE_FRACTION * first or (t == 1 and slope < 0):
                break
            low, at_low, high, at_high = (low, at_low, t, slope) if slope > 0 else (t, slope, high, at_high)
            t = low + (high - low) * np.clip(at_low / (at_low - at_high), MIN_CUT, 1 - MIN_CUT)
        self._mu, self._b = mu + t * dmu, b + t * db

    def _cavities(self, mu: Vector) -> Tilted:
        """Find the means of the cavities for means ``mu`` and the variances as they are; return the moments there."""
        self._m, tilted = cavity_means(self._site, self._y * mu, self._v, self._m)
        return tilted


def cavity_means(site: Site, s: Vector, v: Vector, m: Vector) -> tuple[Vector, Tilted]:
    """Return the means m of cavities whose tilted means, ``m + v d1(m)``, are s, and the tilted moments there.

    The tilted mean grows with m, and factors that grow with the margin only raise it: Newton's method within an interval.

    Parameters
    ----------
    site : Site
    s : array of shape (n,)
        Tilted means of the margins.
    v : array of shape (n,)
        Variances of the cavities.
    m : array of shape (n,)
        Where to begin.
    """
    low, high, m = np.full(len(s), -np.inf), s, np.minimum(m, s)
    for _ in range(CAVITY_MAX_STEPS):
        tilted = site.tilted(m, v)
        excess = m + v * tilted.d1 - s
        if np.max(np.abs(excess) / np.sqrt(np.maximum(v, MIN_VARIANCE))) <= CAVITY_TOLERANCE:
            break
        low, high = np.where(excess <= 0, m, low), np.where(excess > 0, m, high)
        newton = m - excess / np.maximum(1 - v * tilted.minus_d2, MIN_SLOPE)
        inside = (newton >= low) & (newton <= high)
        m = np.where(inside | np.isinf(low), newton, (low + high) / 2)
    return m, tilted
