r"""Expectation propagation: a Gaussian approximation of any posterior with one factor per point.

The posterior is :math:`N(0, K) \prod_i t(s_i)`, :math:`s_i = y_i \theta_i`. Every factor is replaced by a *site*
:math:`\exp(c_i + \nu_i\theta_i - \tau_i\theta_i^2/2)`. With :math:`V = (K^{-1} + T)^{-1}` and :math:`\mu = V\nu`,

.. math:: v_i = \frac{V_{ii}}{1 - \tau_i V_{ii}}, \qquad m_i = \frac{\mu_i - V_{ii}\nu_i}{1 - \tau_i V_{ii}}  \tag{1}

is the cavity, the posterior without site i (the denominator is known without cancellation). The site then takes over
the moments of cavity times factor. With :math:`Z(m, v) = E\,t(s)`, :math:`s \sim N(m, v)`, and :math:`d_1, d_2` the
derivatives of :math:`\ln Z` in m,

.. math:: \tau_i = \frac{-d_2}{1 + v d_2}, \qquad \nu_i = \frac{d_1 - m\,d_2}{1 + v d_2}.  \tag{2}

All sites move at once, damped (k equal rows react to each other, and settle only with a damping of about 1 / k) and mixed
(:mod:`foldless.criteria.posteriors.anderson`); where that is not enough, their means are searched for along a line first
(:mod:`foldless.criteria.posteriors.newton_means`). At the fixed point

.. math:: \ln Z_{EP} = \sum_i c_i - \tfrac12 \ln\det(I + S K S) + \tfrac12 \nu'\mu, \qquad
          c_i = \ln Z_i + \tfrac12 \ln(1 + \tau v) - \frac{2 m\nu + \nu^2 v - m^2\tau}{2(1 + \tau v)},  \tag{3}

and its explicit derivatives are the total ones, :math:`d \ln Z_{EP}/dK = \tfrac12 (b b' - R)` with
:math:`b = \nu - \tau \circ \mu = K^{-1}\mu` and :math:`R = (K + T^{-1})^{-1}`.

A :class:`~foldless.criteria.posteriors.sites.Site` needs one method, ``tilted(m, v) -> Tilted``; log-concave factors keep every :math:`\tau_i \ge 0`.

References
----------
.. [1] Minka (2001), *Expectation propagation for approximate Bayesian inference*.
.. [2] Rasmussen and Williams (2006), *Gaussian processes for machine learning*, section 3.6.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from foldless.core.contracts import Adjoint, Gram, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.gram import Factor
from foldless.criteria.posteriors.anderson import FixedPoint
from foldless.criteria.posteriors.newton_means import NewtonMeans
from foldless.criteria.posteriors.sites import Site, Tilted
from foldless.grams.adjoints import add_symmetric

# Change of the sites, relative to the largest of them, at which the fixed point counts as reached.
SITE_TOLERANCE = 1e-10
EP_MAX_ROUNDS = 300
# Sites that change by more than this fraction after so many plain rounds get the help of Newton's method.
PLAIN_ROUNDS, PLAIN_MAX_CHANGE = 15, 0.1


@dataclass(frozen=True, eq=False)
class EPPosterior:
    """The Gaussian of the sites, as a rule at their fixed point.

    Attributes
    ----------
    tau, nu : arrays of shape (n,)
        Precisions and shifts of the sites; ``start`` of another run.
    mu : array of shape (n,)
        Posterior mean of theta.
    factor : Factor
        The factor of ``I + S K S`` with weights ``tau``: its covariance is that of the posterior.
    mean, variance : arrays of shape (n,)
        Means and variances of the cavities.
    tilted : Tilted
        Moments of cavities times factors.
    rounds : int
        How many times all sites were updated.
    """

    gram: Gram
    y: Vector
    site: Site
    tau: Vector
    nu: Vector
    mu: Vector
    factor: Factor
    mean: Vector
    variance: Vector
    tilted: Tilted
    rounds: int

    @property
    def start(self) -> tuple[Vector, Vector]:
        """Sites, for a warm start."""
        return self.tau, self.nu

    @property
    def b(self) -> Vector:
        """Coefficients of the posterior mean: ``mu = K b``."""
        return self.nu - self.tau * self.mu

    def matching_sites(self) -> tuple[Vector, Vector]:
        """Return the sites that match the moments of cavities times factors; eq. (2)."""
        bend, v = self.tilted.minus_d2, self.variance
        scale = 1 - v * bend
        return bend / scale, (self.y * self.tilted.d1 + self.mean * bend) / scale

    @property
    def constants(self) -> Vector:
        """The constants ``c_i`` of eq. (3)."""
        m, v, grow = self.mean, self.variance, self.tau * self.variance
        square = 2 * m * self.nu + self.nu**2 * v - m**2 * self.tau
        return self.tilted.log_z + np.log1p(grow) / 2 - square / (2 * (1 + grow))

    @property
    def log_z(self) -> float:
        """``ln Z_EP``; eq. (3)."""
        return float(self.constants.sum() - self.factor.logdet() / 2 + self.nu @ self.mu / 2)

    def adjoint(self) -> Adjoint:
        """Return the derivative of ``ln Z_EP`` in K."""
        return add_symmetric(self.factor.resolvent() * (-0.5), self.b[:, None] / 2, self.b[:, None])

    def predict(self, cross: Matrix, own: Vector) -> tuple[Vector, Vector]:
        """Return means and variances of theta at new points from ``k(new, train)`` (m, n) and ``k(new, new)`` (m,)."""
        explained = np.einsum("ij,ji->i", cross, self.factor.solve(cross.T))
        return cross @ self.b, np.maximum(own - explained, 0)


def class_log_odds(site: Site, m: Vector, v: Vector) -> Vector:
    r"""Return :math:`\ln Z(m, v) - \ln Z(-m, v)`, the log-odds of the class +1 at points with means m and variances v."""
    v = np.maximum(v, np.finfo(float).tiny)
    return site.tilted(m, v).log_z - site.tilted(-m, v).log_z


def class_probability(site: Site, m: Vector, v: Vector) -> Vector:
    r"""Return :math:`Z(m, v) / (Z(m, v) + Z(-m, v))`, the probability of the class +1 at points with means m, variances v."""
    return expit(class_log_odds(site, m, v))


def expectation_propagation(
    gram: Gram,
    y: Vector,
    site: Site,
    start: tuple[Vector, Vector] | None = None,
    tolerance: float = SITE_TOLERANCE,
) -> EPPosterior:
    """Iterate the sites to their fixed point and return the posterior there.

    Parameters
    ----------
    gram : Gram
    y : array of shape (n,)
        Signs: the factors are functions of ``y * theta``.
    site : Site
    start : (tau, nu), optional
        ``start`` of a neighbouring posterior.
    tolerance : float
        Relative change of the sites at which the fixed point counts as reached.

    Returns
    -------
    EPPosterior

    Raises
    ------
    Undefined
        If the sites do not settle.
    """
    sites = SettlingSites(np.zeros(2 * gram.n) if start is None else np.concatenate(start))
    for rounds in range(1, EP_MAX_ROUNDS + 1):
        found = _gaussian(gram, y, site, sites.x, rounds)
        tau, nu = found.matching_sites()
        change = max(_relative(tau, found.tau), _relative(nu, found.nu))
        if not np.isfinite(change):
            raise Undefined("expectation propagation left the finite numbers.")
        if sites.settled(change, tolerance):
            return found
        sites.advance(found, tau, nu, change)
    raise Undefined(f"expectation propagation did not settle in {rounds} rounds (last change {change:.1e}).")


def _gaussian(gram: Gram, y: Vector, site: Site, x: Vector, rounds: int) -> EPPosterior:
    """Return the Gaussian of the sites x = (tau, nu), which is the posterior where they are at their fixed point."""
    tau, nu = np.split(x, 2)
    factor = gram.factor(tau)
    V, one_minus, mu = factor.covariance_diag(), factor.inverse_diag(), factor.covariance(nu)
    v, m = V / one_minus, (mu - V * nu) / one_minus  # eq. (1)
    return EPPosterior(gram, y, site, tau, nu, mu, factor, m, v, site.tilted(y * m, v), rounds)


class SettlingSites:
    """Plain rounds, and Newton's method for the means where those do not settle.

    Parameters
    ----------
    x : array of shape (2 n,)
        The first sites: precisions, then shifts.
    """

    def __init__(self, x: Vector) -> None:
        self._plain, self._rounds = FixedPoint(x), 0
        self._newton: NewtonMeans | None = None

    @property
    def x(self) -> Vector:
        """The sites whose Gaussian is next."""
        return self._plain.x if self._newton is None else self._newton.x

    def settled(self, change: float, tolerance: float) -> bool:
        """Return whether a change is small enough, or as small as rounding allows."""
        return self._plain.settled(change, tolerance)

    def advance(self, found: EPPosterior, tau: Vector, nu: Vector, change: float) -> None:
        """Move on from the Gaussian of ``x``, which asks for sites ``tau`` and ``nu``."""
        if self._newton is not None and change <= PLAIN_MAX_CHANGE:
            self._plain, self._rounds, self._newton = FixedPoint(self.x), 0, None
        self._rounds += 1
        if self._newton is not None:
            self._newton.advance(found.mu, found.b, found.variance)
        elif change > PLAIN_MAX_CHANGE and self._rounds > PLAIN_ROUNDS:
            self._newton = NewtonMeans(found.site, found.y, found.mu, found.b, found.variance, found.mean)
        else:
            self._step(
                np.r_[tau - found.tau, nu - found.nu],
                np.repeat([_largest(tau), _largest(nu)], len(tau)),
                change,
            )

    def _step(self, residual: Vector, units: Vector, change: float) -> None:
        """Make a plain or a mixed step; precisions must not become negative."""
        n = len(residual) // 2
        self._plain.advance(residual, change, units, lambda x: np.isfinite(x) & (x[:n] >= 0).all())


def _relative(new: Vector, old: Vector) -> float:
    # All sites may vanish; the relative change is then infinite.
    with np.errstate(over="ignore"):
        return float(np.max(np.abs(new - old)) / _largest(new))


def _largest(x: Vector) -> float:
    return float(max(np.max(np.abs(x)), np.finfo(float).tiny))
