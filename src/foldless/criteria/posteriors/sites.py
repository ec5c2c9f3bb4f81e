r"""Factors of a posterior, one per point, and their moments under a normal density: what expectation propagation matches.

With :math:`Z(m, v) = E\,t(s)`, :math:`s \sim N(m, v)`, a :class:`Site` returns :math:`\ln Z` and its first two derivatives in m.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import erfcx, log_ndtr

from foldless.core.contracts import Vector

# From here on the hazard minus its argument is taken from a series.
SERIES_MIN_X = 50.0
# Margins are of the order of 1. A row whose kernel values are all zero has no variance; this one is as good as none.
MIN_VARIANCE = 1e-30


class Tilted(NamedTuple):
    """Moments of cavity times factor."""

    log_z: Vector  # ln Z
    d1: Vector  # derivative of ln Z in m
    minus_d2: Vector  # minus the second derivative of ln Z in m
    loss: Vector  # expected loss


class Site(Protocol):
    """A factor of the posterior, as a function of the margin ``s``."""

    def tilted(self, m: Vector, v: Vector) -> Tilted:
        """Return the moments of the factor times a normal density of ``s`` with means ``m`` and variances ``v``."""


def normal_hazard(x: Vector) -> Vector:
    r"""Return the hazard rate of the standard normal distribution, :math:`\phi(x) / \Phi(-x)`."""
    return np.sqrt(2 / np.pi) / erfcx(x / np.sqrt(2))


def hazard_minus_x(x: Vector) -> Vector:
    r"""Return :math:`\phi(x) / \Phi(-x) - x > 0`; by its series where the difference cancels."""
    u = np.maximum(x, SERIES_MIN_X) ** -2
    series = (1 - 2 * u + 10 * u**2 - 74 * u**3) / np.maximum(x, 1)
    return np.where(x > SERIES_MIN_X, series, normal_hazard(x) - x)


@dataclass(frozen=True, eq=False)
class HingeSite:
    r"""Factor :math:`e^{-C(1-s)_+}`.

    With :math:`\sigma = \sqrt v`, :math:`a = (1-m)/\sigma`, :math:`w = C\sigma - a`, hazard :math:`\lambda` and :math:`e(x) = \lambda(x) - x`,
    :math:`r = \lambda(a)/(\lambda(a) + \lambda(w))` is the tilted probability of :math:`s < 1` and

    .. math:: Z = \Phi(-a) + e^{(w^2 - a^2)/2}\,\Phi(-w), \quad d_1 = C r, \quad
              -d_2 = r(1-r)\, C\, (e(a) + e(w))/\sigma, \quad \langle\ell\rangle = r \sigma e(w).

    Nothing cancels; the textbook form loses all digits for large :math:`C\sigma`, and then nothing converges.
    """

    C: Vector

    def tilted(self, m: Vector, v: Vector) -> Tilted:
        """Return the tilted moments."""
        v = np.maximum(v, MIN_VARIANCE)
        C, sd = self.C, np.sqrt(v)
        a = (1 - m) / sd
        w = C * sd - a
        log_z = np.logaddexp(log_ndtr(-a), (w - a) * (w + a) / 2 + log_ndtr(-w))
        la, lw = normal_hazard(a), normal_hazard(w)
        r, rest = la / (la + lw), lw / (la + lw)
        return Tilted(
            log_z,
            C * r,
            r * rest * C * (hazard_minus_x(a) + hazard_minus_x(w)) / sd,
            r * sd * hazard_minus_x(w),
        )


@dataclass(frozen=True, eq=False)
class SquaredHingeSite:
    r"""Factor :math:`e^{-C(1-s)_+^2/2}`.

    With :math:`q = 1 + Cv`, :math:`\bar\sigma = \sigma/\sqrt q`, :math:`w = -a/\sqrt q`,
    :math:`h_A = \lambda(a)/\sigma`, :math:`h_B = \lambda(w)/\bar\sigma`, :math:`r = h_A/(h_A + h_B)`,
    :math:`h = h_A h_B/(h_A + h_B)`:

    .. math:: d_1 = C r \bar\sigma e(w), \qquad \langle\ell\rangle = r \bar\sigma^2 (1 - w e(w))/2,

    .. math:: -d_2 v^2 = h\,(\sigma^3 e(a) + \bar\sigma^3 e(w)) + r C v \bar\sigma^2 - r(1-r)(\sigma e(a) + \bar\sigma e(w))^2.
    """

    C: Vector

    def tilted(self, m: Vector, v: Vector) -> Tilted:
        """Return the tilted moments."""
        v = np.maximum(v, MIN_VARIANCE)
        C, sd = self.C, np.sqrt(v)
        q = 1 + C * v
        a, sb = (1 - m) / sd, sd / np.sqrt(q)
        w = -a / np.sqrt(q)
        log_z = np.logaddexp(log_ndtr(-a), -np.log(q) / 2 - C * (1 - m) ** 2 / (2 * q) + log_ndtr(-w))
        ha, hb = normal_hazard(a) / sd, normal_hazard(w) / sb
        r, rest = ha / (ha + hb), hb / (ha + hb)
        ea, ew = sd * hazard_minus_x(a), sb * hazard_minus_x(w)
        minus_d2 = r * hb * (sd**2 * ea + sb**2 * ew) + r * C * v * sb**2 - r * rest * (ea + ew) ** 2
        return Tilted(
            log_z, C * r * ew, np.maximum(minus_d2, 0) / v**2, r * sb**2 * (1 - w * hazard_minus_x(w)) / 2
        )


@dataclass(frozen=True, eq=False)
class ProbitSite:
    r"""Factor :math:`\Phi(s)`: the likelihood of a Gaussian process classifier.

    With :math:`x = m / \sqrt{1 + v}`, the hazard :math:`\lambda` and :math:`e(x) = \lambda(x) - x` at -x,

    .. math:: Z = \Phi(x), \qquad d_1 = \lambda(-x) / \sqrt{1 + v}, \qquad -d_2 = \lambda(-x)\, e(-x) / (1 + v).

    It has no weight C and therefore no expected loss.
    """

    def tilted(self, m: Vector, v: Vector) -> Tilted:
        """Return the tilted moments."""
        sd = np.sqrt(1 + v)
        x = m / sd
        d1 = normal_hazard(-x) / sd
        return Tilted(log_ndtr(x), d1, d1 * hazard_minus_x(-x) / sd, np.full_like(m, np.nan))


# The site of a support vector machine, by the power of its loss.
SITES: dict[int, type[HingeSite] | type[SquaredHingeSite]] = {1: HingeSite, 2: SquaredHingeSite}
