r"""Expectation propagation: a Gaussian approximation of any posterior with one factor per point.

The posterior is :math:`N(0, K) \prod_i t(s_i)`, :math:`s_i = y_i \theta_i`. Every factor is replaced by a *site*
:math:`\exp(c_i + \nu_i\theta_i - \tau_i\theta_i^2/2)`. With :math:`V = (K^{-1} + T)^{-1}` and :math:`\mu = V\nu`,

.. math:: v_i = \frac{V_{ii}}{1 - \tau_i V_{ii}}, \qquad m_i = \frac{\mu_i - V_{ii}\nu_i}{1 - \tau_i V_{ii}}  \tag{1}

is the cavity, the posterior without site i (the denominator is known without cancellation). The site then takes over
the moments of cavity times factor. With :math:`Z(m, v) = E\,t(s)`, :math:`s \sim N(m, v)`, and :math:`d_1, d_2` the
derivatives of :math:`\ln Z` in m,

.. math:: \tau_i = \frac{-d_2}{1 + v d_2}, \qquad \nu_i = \frac{d_1 - m\,d_2}{1 + v d_2}.  \tag{2}

All sites move at once, damped (k equal rows react to each other, and settle only with a damping of about 1 / k) and mixed
(:mod:`foldless.criteria.posteriors.anderson`). At the fixed point

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
from foldless.criteria.posteriors.sites import Site, Tilted
from foldless.grams.adjoints import add_symmetric

# Change of the sites, relative to the largest of them, at which the fixed point counts as reached.
SITE_TOLERANCE = 1e-10
EP_MAX_ROUNDS = 1000
# Sites that still change by half of their size after so many rounds will not settle.
STALL_ROUNDS, STALL_CHANGE = 300, 0.5


@dataclass(frozen=True, eq=False)
class EPPosterior:
    """The Gaussian at the fixed point.

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
    n = gram.n
    sites = FixedPoint(np.zeros(2 * n) if start is None else np.concatenate(start))
    for rounds in range(1, EP_MAX_ROUNDS + 1):
        tau, nu = sites.x[:n], sites.x[n:]
        factor = gram.factor(tau)
        V, one_minus, mu = factor.covariance_diag(), factor.inverse_diag(), factor.covariance(nu)
        v, m = V / one_minus, (mu - V * nu) / one_minus  # eq. (1)
        tilted = site.tilted(y * m, v)
        scale = 1 - v * tilted.minus_d2
        new_tau, new_nu = tilted.minus_d2 / scale, (y * tilted.d1 + m * tilted.minus_d2) / scale  # eq. (2)
        change = max(_relative(new_tau, tau), _relative(new_nu, nu))
        if not np.isfinite(change):
            raise Undefined("expectation propagation left the finite numbers.")
        if rounds > STALL_ROUNDS and change > STALL_CHANGE:
            break
        if sites.settled(change, tolerance):
            return EPPosterior(gram, y, site, tau, nu, mu, factor, m, v, tilted, rounds)
        units = np.repeat([_largest(new_tau), _largest(new_nu)], n)
        sites.advance(
            np.r_[new_tau - tau, new_nu - nu], change, units, lambda x: np.isfinite(x) & (x[:n] >= 0).all()
        )
    raise Undefined(f"expectation propagation did not settle in {rounds} rounds (last change {change:.1e}).")


def _relative(new: Vector, old: Vector) -> float:
    # All sites may vanish; the relative change is then infinite.
    with np.errstate(over="ignore"):
        return float(np.max(np.abs(new - old)) / _largest(new))


def _largest(x: Vector) -> float:
    return float(max(np.max(np.abs(x)), np.finfo(float).tiny))
